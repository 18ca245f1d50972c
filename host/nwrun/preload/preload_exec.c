/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that cannot load nwrun.so: under another C library's loader they would end, under the
 * loader of another word size or in another root the loader would complain. Before an exec of such
 * a program nwrun.so leaves the list of LD_PRELOAD. All memory is on the stack: the caller may be
 * the child of a vfork.
 */
#include "host/nwrun/preload/preload.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/nwrun/preload/image.h"

enum { VARIABLES_MAX = 16384, LIST_BYTES = 4096, LINK_BYTES = 32 };

static const char list_name[] = "LD_PRELOAD=";

/* --- the environment --- */

static const char *
variable_get(char *const *environment, const char *name)
{
	size_t n = strlen(name);

	for (; environment != NULL && *environment != NULL; environment++)
		if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
			return *environment + n + 1;
	return NULL;
}

/* The list without nwrun.so, with the variable's name before; empty: nothing else is in the list.
 */
static void
list_without(char out[LIST_BYTES], const char *list, const char *so)
{
	size_t len = sizeof(list_name) - 1, n;

	memcpy(out, list_name, sizeof(list_name));
	while (*list != '\0') {
		n = strcspn(list, ": ");
		if (n > 0 && (strncmp(list, so, n) != 0 || so[n] != '\0') &&
		    len + n + 2 < LIST_BYTES) {
			if (out[len - 1] != '=')
				out[len++] = ':';
			memcpy(out + len, list, n);
			len += n;
			out[len] = '\0';
		}
		list += n + strspn(list + n, ": ");
	}
	if (out[len - 1] == '=')
		out[0] = '\0';
}

static size_t
variables_count(char *const *environment)
{
	size_t n = 0;

	while (environment != NULL && environment[n] != NULL)
		n++;
	return n;
}

static char **
variables_without(char **out, char *const *from, char *list)
{
	char **to = out;

	for (; *from != NULL; from++) {
		if (strncmp(*from, list_name, sizeof(list_name) - 1) != 0)
			*to++ = *from;
		else if (list[0] != '\0')
			*to++ = list;
	}
	*to = NULL;
	return out;
}

/* --- the program --- */

/* The file that execvp(3) would run: the first of the name in PATH. */
static bool
file_find(const char *name, char path[IMAGE_PATH_BYTES])
{
	const char *at = variable_get(environ, "PATH"), *end;
	size_t n, len = strlen(name);

	for (at = at != NULL ? at : "/bin:/usr/bin";; at = end + 1) {
		end = strchrnul(at, ':');
		n = (size_t)(end - at);
		if (n + len + 2 <= IMAGE_PATH_BYTES) {
			memcpy(path, at, n);
			if (n > 0)
				path[n++] = '/';
			memcpy(path + n, name, len + 1);
			if (sys(SYS_faccessat, AT_FDCWD, path, X_OK) == 0)
				return true;
		}
		if (*end == '\0')
			return false;
	}
}

/*
 * Shells start the same few programs very often. A word of the region stands for a program's file
 * as the file is now: a hash of its identity and times in the upper bits, the kind below.
 */
enum { IMAGE_WORD_KIND = 0xf, IMAGE_FRESH_S = 2 };

/* 0: the file cannot be told from a later one, as a change may not show in the times yet. */
static uint64_t
image_word(const char *path)
{
	uint64_t hash = 0, part[7];
	struct timespec now;
	struct statx st;
	size_t i;

	if (sys(SYS_statx, AT_FDCWD, path, 0,
		STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME | STATX_CTIME, &st) < 0 ||
	    !S_ISREG(st.stx_mode) || sys(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now) < 0 ||
	    (now.tv_sec >= st.stx_ctime.tv_sec && now.tv_sec - st.stx_ctime.tv_sec < IMAGE_FRESH_S))
		return 0;
	part[0] = statx_dev(&st);
	part[1] = st.stx_ino;
	part[2] = st.stx_size;
	part[3] = (uint64_t)st.stx_mtime.tv_sec;
	part[4] = st.stx_mtime.tv_nsec;
	part[5] = (uint64_t)st.stx_ctime.tv_sec;
	part[6] = st.stx_ctime.tv_nsec;
	for (i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		hash = (hash ^ part[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return hash & ~(uint64_t)IMAGE_WORD_KIND;
}

/* The kind of a program that has its loader's name, or of a program that refuses a library by its
 * own file; of scripts and all others the answer lies elsewhere, too. */
static bool
image_is_lasting(const struct image *image, const char *path)
{
	return strcmp(image->file, path) == 0 && image->kind != IMAGE_HIDDEN &&
	    (image->kind != IMAGE_LOADS || image->loader[0] != '\0');
}

/* Looks into the file unless an earlier look is known. Returns true if the kind is the file's own
 * and not that of a file without a loader. */
static bool
image_kind_get(const char *path, enum image_kind *kind)
{
	uint64_t word = region != NULL ? image_word(path) : 0, known;
	_Atomic uint64_t *at = NULL;
	struct image image;

	if (word != 0) {
		at = &region->images[word >> 32 & (NWSHM_IMAGES - 1)];
		known = atomic_load_explicit(at, memory_order_relaxed);
		if ((known & ~(uint64_t)IMAGE_WORD_KIND) == word) {
			*kind = (enum image_kind)(known & IMAGE_WORD_KIND);
			return true;
		}
	}
	image_look(path, &image);
	*kind = image.kind;
	if (at != NULL && image_is_lasting(&image, path))
		atomic_store_explicit(at, word | image.kind, memory_order_relaxed);
	return image.loader[0] != '\0';
}

/* In another root the loader would miss nwrun.so. */
static bool
refuses(const char *path, char *const *environment, const char *so)
{
	enum image_kind kind;
	bool has_loader = image_kind_get(path, &kind);

	return image_refuses(kind, variable_get(environment, "ASAN_OPTIONS")) ||
	    (kind == IMAGE_LOADS && has_loader && sys(SYS_faccessat, AT_FDCWD, so, R_OK) < 0);
}

/* Text when LD_PRELOAD has to change for the program: the path of nwrun.so. */
static const char *
unfit(const char *file, bool searched, char *const *environment)
{
	const char *so,
	    *list = environment != NULL ? variable_get(environment, "LD_PRELOAD") : NULL;
	char path[IMAGE_PATH_BYTES];

	if (list == NULL || file == NULL || (so = find_own_path()) == NULL ||
	    strstr(list, so) == NULL || strlen(list) >= LIST_BYTES / 2 ||
	    variables_count(environment) > VARIABLES_MAX)
		return NULL;
	if (sealed) /* the filter stays in force, and may kill at a call of nwrun.so */
		return so;
	if (searched && strchr(file, '/') == NULL) {
		if (!file_find(file, path))
			return NULL;
		file = path;
	}
	return refuses(file, environment, so) ? so : NULL;
}

/* The environment to use, in the caller's frame. */
#define FIT(file, searched, environment)                                                   \
	__extension__({                                                                    \
		const char *so_ = unfit(file, searched, environment);                      \
		char **fit_ = (char **)(environment);                                      \
                                                                                           \
		if (so_ != NULL) {                                                         \
			char *list_ = alloca(LIST_BYTES);                                  \
                                                                                           \
			list_without(list_, variable_get(environment, "LD_PRELOAD"), so_); \
			fit_ = variables_without(                                          \
			    alloca((variables_count(environment) + 1) * sizeof(char *)),   \
			    environment, list_);                                           \
		}                                                                          \
		fit_;                                                                      \
	})

/* The name of a descriptor; returns the bytes. */
static size_t
fd_link(char link[LINK_BYTES], int fd)
{
	static const char directory[] = "/proc/self/fd/";
	unsigned digits = 1, left = (unsigned)fd, n;

	while ((left /= 10) > 0)
		digits++;
	memcpy(link, directory, sizeof(directory));
	n = (unsigned)sizeof(directory) - 1 + digits;
	link[n] = '\0';
	for (left = (unsigned)fd; digits > 0; left /= 10)
		link[sizeof(directory) - 1 + --digits] = (char)('0' + left % 10);
	return n;
}

/* --- exec --- */

EXPORT int
execve(const char *path, char *const argv[], char *const envp[])
{
	return REAL(execve)(path, argv, FIT(path, false, envp));
}

EXPORT int
execv(const char *path, char *const argv[])
{
	return REAL(execve)(path, argv, FIT(path, false, environ));
}

EXPORT int
execvpe(const char *file, char *const argv[], char *const envp[])
{
	return REAL(execvpe)(file, argv, FIT(file, true, envp));
}

EXPORT int
execvp(const char *file, char *const argv[])
{
	return REAL(execvpe)(file, argv, FIT(file, true, environ));
}

EXPORT int
fexecve(int fd, char *const argv[], char *const envp[])
{
	char link[LINK_BYTES];

	fd_link(link, fd);
	return REAL(fexecve)(fd, argv, FIT(link, false, envp));
}

/* The headers promise that the texts are never NULL, and the compiler would believe the headers. */
static __attribute__((noinline)) bool
is_null(const char *text)
{
	KEEP(text);
	return text == NULL;
}

static bool
is_below(int dir, const char *path)
{
	return !is_null(path) && path[0] != '/' && (dir != AT_FDCWD || path[0] == '\0') &&
	    strlen(path) < IMAGE_PATH_BYTES;
}

EXPORT int
execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	char link[LINK_BYTES + IMAGE_PATH_BYTES];
	size_t n;

	if (!is_below(dir, path))
		return REAL(execveat)(dir, path, argv, FIT(path, false, envp), flags);
	n = fd_link(link, dir);
	if (path[0] != '\0') {
		link[n++] = '/';
		strcpy(link + n, path);
	}
	return REAL(execveat)(dir, path, argv, FIT(link, false, envp), flags);
}

/* Arguments of a call as an array in the caller's frame; `ap` stands behind the NULL then. */
static size_t
arguments_count(va_list *ap)
{
	size_t n = 1;

	while (va_arg(*ap, char *) != NULL)
		n++;
	return n;
}

static char **
arguments_take(char **out, const char *first, va_list *ap)
{
	size_t n = 0;

	out[n++] = (char *)first;
	while ((out[n] = va_arg(*ap, char *)) != NULL)
		n++;
	return out;
}

/* `first` may be NULL: then there are no arguments. */
#define EXEC_LIST(name, real, searched, file, env)                                                 \
	EXPORT int name(const char *file, const char *first, ...)                                  \
	{                                                                                          \
		char *const *environment;                                                          \
		char **argv;                                                                       \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, first);                                                               \
		argv = alloca(((!is_null(first) ? arguments_count(&ap) : 0) + 1) * sizeof(*argv)); \
		va_end(ap);                                                                        \
		va_start(ap, first);                                                               \
		argv[0] = NULL;                                                                    \
		if (!is_null(first))                                                               \
			(void)arguments_take(argv, first, &ap);                                    \
		environment = env;                                                                 \
		va_end(ap);                                                                        \
		return REAL(real)(file, argv, FIT(file, searched, environment));                   \
	}
EXEC_LIST(execl, execve, false, path, environ)
EXEC_LIST(execlp, execvpe, true, file, environ)
EXEC_LIST(execle, execve, false, path, va_arg(ap, char *const *))

#define SPAWN(name, searched, file)                                                   \
	EXPORT int name(pid_t *restrict pid, const char *restrict file,               \
	    const posix_spawn_file_actions_t *restrict actions,                       \
	    const posix_spawnattr_t *restrict attributes, char *const argv[restrict], \
	    char *const envp[restrict])                                               \
	{                                                                             \
		return REAL(name)(                                                    \
		    pid, file, actions, attributes, argv, FIT(file, searched, envp)); \
	}
SPAWN(posix_spawn, false, path)
SPAWN(posix_spawnp, true, file)

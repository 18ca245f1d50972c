/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/launch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/lib/procread.h"

enum { LOOKS_MAX = 64, DEPTH_MAX = 3, SCRIPT_BYTES = 65536, HEAD_BYTES = 256 };

/* Characters between the words of a shell's text, and those at the end of a command. */
#define BETWEEN " \t\r\n\"'`;|&(){}$<>"
#define ENDS    "\n`;|&(){"

struct search {
	const char *so;
	struct fit *out;
	char *name;
	int looks, depth;
};

static const char *
base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool
is_one_of(const char *word, const char *const *words)
{
	while (*words != NULL && strcmp(word, *words) != 0)
		words++;
	return *words != NULL;
}

static bool
is_shell(const char *word)
{
	static const char *const shells[] = { "bash", "dash", "ksh", "mksh", "sh", "zsh", NULL };

	return is_one_of(base_of(word), shells);
}

/* Returns true if a program follows the word: the program of its arguments, or, behind a shell's
 * own words, the next command. */
static bool
is_launcher(const char *word)
{
	static const char *const words[] = { "!", "bwrap", "cgexec", "chroot", "chrt", "command",
		"do", "doas", "elif", "else", "env", "exec", "fakeroot", "flock", "if", "ionice",
		"nice", "nohup", "nsenter", "numactl", "parallel", "prlimit", "proot", "runuser",
		"script", "setpriv", "setsid", "stdbuf", "su", "sudo", "systemd-run", "taskset",
		"then", "time", "timeout", "unshare", "until", "while", "xargs", NULL };

	return is_shell(word) || is_one_of(base_of(word), words);
}

static bool
is_file(const char *path, int mode)
{
	struct stat st;

	return access(path, mode) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool
launch_find(const char *name, char path[PATH_MAX])
{
	const char *at = getenv("PATH"), *end;

	if (strchr(name, '/') != NULL)
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	for (at = at != NULL ? at : "/bin:/usr/bin";; at = end + 1) {
		end = strchrnul(at, ':');
		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - at), at, end > at ? "/" : "",
			name) < PATH_MAX &&
		    is_file(path, X_OK))
			return true;
		if (*end == '\0')
			return false;
	}
}

/* --- scripts --- */

static bool text_look(struct search *s, char *text);

static bool
script_is_shell(const char *path)
{
	char head[HEAD_BYTES], *word, *rest;
	bool found = false;

	if (procread_path(path, head, sizeof(head)) < 3 || head[0] != '#' || head[1] != '!')
		return false;
	head[strcspn(head, "\n")] = '\0';
	for (word = strtok_r(head + 2, " \t", &rest); word != NULL && !found;
	     word = strtok_r(NULL, " \t", &rest))
		found = is_shell(word);
	return found;
}

static bool
script_look(struct search *s, const char *path)
{
	char *text;
	bool found;

	if (s->depth == DEPTH_MAX || (text = malloc(SCRIPT_BYTES)) == NULL)
		return false;
	procread_path(path, text, SCRIPT_BYTES);
	s->depth++;
	found = text_look(s, text);
	s->depth--;
	free(text);
	return found;
}

/* --- words --- */

enum word { WORD_PASSED, WORD_PROGRAM, WORD_FOUND };

/* A word where a program may stand. An option, a variable or any other word that is no program is
 * passed, and the program may follow. */
static enum word
word_look(struct search *s, const char *word, bool behind_shell)
{
	char path[PATH_MAX];

	if (word[0] == '-' || word[0] == '\0' || is_launcher(word) || s->looks == LOOKS_MAX)
		return WORD_PASSED;
	s->looks++;
	if (behind_shell && is_file(word, R_OK))
		return script_look(s, word) ? WORD_FOUND : WORD_PROGRAM;
	if (!launch_find(word, path) || !is_file(path, X_OK))
		return WORD_PASSED;
	fit_look_file(path, s->so, s->out);
	if (!s->out->is_proven) {
		snprintf(s->name, PATH_MAX, "%s", word);
		return WORD_FOUND;
	}
	return script_is_shell(path) && script_look(s, path) ? WORD_FOUND : WORD_PROGRAM;
}

/* Returns true if the word is the name of a variable, which may stand for anything. */
static bool
is_variable(const char *text, const char *word)
{
	word -= word > text && word[-1] == '{';
	return word > text && word[-1] == '$';
}

/* The commands of a shell's text, which is divided in place. A word in quotes counts like one
 * without. */
static bool
text_look(struct search *s, char *text)
{
	const char *begin = text;
	bool awaited = true, behind_shell = false;
	enum word found;
	char *end, mark;

	for (; *text != '\0'; text = end) {
		if (*text == '#') {
			text += strcspn(text, "\n");
			end = text;
			continue;
		}
		for (; *text != '\0' && strchr(BETWEEN, *text) != NULL; text++)
			awaited |= strchr(ENDS, *text) != NULL;
		end = text + strcspn(text, BETWEEN);
		mark = *end;
		*end = '\0';
		if (awaited && text < end && *text != '#' && !is_variable(begin, text)) {
			found = word_look(s, text, behind_shell);
			if (found == WORD_FOUND)
				return true;
			awaited = found == WORD_PASSED &&
			    (is_launcher(text) || strchr("-0123456789", *text) != NULL ||
				strchr(text, '=') != NULL);
			behind_shell = is_shell(text);
		}
		*end = mark;
		if (*text == '#')
			end = text;
	}
	return false;
}

static bool
arguments_look(struct search *s, char *const argv[])
{
	bool behind_shell = is_shell(argv[0]);
	enum word found;
	char *text;
	bool is_found;

	for (argv++; *argv != NULL; argv++) {
		if (strpbrk(*argv, BETWEEN) != NULL) { /* a shell's text, perhaps */
			if ((text = strdup(*argv)) == NULL)
				return false;
			is_found = text_look(s, text);
			free(text);
			if (is_found)
				return true;
			continue;
		}
		found = word_look(s, *argv, behind_shell);
		if (found != WORD_PASSED)
			return found == WORD_FOUND;
		if ((*argv)[0] != '-')
			behind_shell = is_shell(*argv);
	}
	return false;
}

bool
launch_look(
    const char *path, char *const argv[], const char *so, struct fit *out, char name[PATH_MAX])
{
	struct search s = { .so = so, .out = out, .name = name };

	if (is_launcher(argv[0]))
		return arguments_look(&s, argv);
	return script_is_shell(path) && script_look(&s, path);
}

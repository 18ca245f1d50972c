/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwrun: runs a program and has its reading, writing, sending and receiving measured.
 *
 * nwrun leaves a collector behind and then becomes the program: same pid, parent, terminal,
 * signals, exit status. The program is told to load nwrun.so, which counts into memory shared with
 * the collector. Whatever fails on the way, the program runs; only then it is not measured.
 */
#include <elf.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/lib/uuid.h"
#include "host/nwrun/collect.h"
#include "narrows/clock.h"
#include "narrows/lastrun.h"

/* There when nwrun itself runs under nwrun. */
void nwrun_detach(void) __attribute__((weak));

struct options {
	bool verbose;
	char *program_name;
	struct collect_run_opts run;
};

static void
usage(FILE *to)
{
	fputs("usage: nwrun [-hVv] [-b box] [-H host] [-i seconds] [-p name] [-t task] program "
	      "[argument ...]\n",
	    to);
}

static void
complain(const struct options *o, const char *why)
{
	if (o->verbose)
		fprintf(stderr, "nwrun: %s: the program runs unmeasured\n", why);
}

/* "auto" or seconds from 0.01 to 3600. */
static bool
parse_interval(const char *text, int64_t *out_ns)
{
	char *end;
	double s;

	*out_ns = 0;
	if (strcmp(text, "auto") == 0)
		return true;
	s = strtod(text, &end);
	if (end == text || *end != '\0' || !(s >= 0.01 && s <= 3600))
		return false;
	*out_ns = (int64_t)(s * 1e9);
	return true;
}

/* Exits where nothing is to be run. */
static void
parse_options(int argc, char *argv[], struct options *o)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 } };
	const char *interval = getenv("NL_INTERVAL");
	int ch;

	*o = (struct options){ .run.final_wait_ns = 5 * INT64_C(1000000000) };
	o->run.box = getenv("NARROWS_BOX");
	o->run.collect.task_id = getenv("NARROWS_TASK");
	o->run.collect.host = getenv("NARROWS_HOST");
	o->run.report_path = getenv("NWRUN_REPORT");
	if (interval != NULL && !parse_interval(interval, &o->run.collect.interval_ns))
		o->run.collect.interval_ns = 0;
	while ((ch = getopt_long(argc, argv, "+b:H:hi:p:t:Vv", longs, NULL)) != -1) {
		switch (ch) {
		case 'b': o->run.box = optarg; break;
		case 'H': o->run.collect.host = optarg; break;
		case 'p': o->program_name = optarg; break;
		case 't': o->run.collect.task_id = optarg; break;
		case 'v': o->verbose = true; break;
		case 'V': puts("nwrun " NW_VERSION); exit(0);
		case 'h': usage(stdout); exit(0);
		case 'i':
			if (parse_interval(optarg, &o->run.collect.interval_ns))
				break;
			fprintf(stderr, "nwrun: -i %s: seconds from 0.01 to 3600, or \"auto\"\n",
			    optarg);
			exit(125);
		default: usage(stderr); exit(125);
		}
	}
	if (optind == argc) {
		usage(stderr);
		exit(125);
	}
}

/* The collector works elsewhere. */
static const char *
absolute(const char *path, char out[PATH_MAX])
{
	char cwd[PATH_MAX];

	if (path == NULL || path[0] == '/')
		return path;
	if (getcwd(cwd, sizeof(cwd)) == NULL ||
	    snprintf(out, PATH_MAX, "%s/%s", cwd, path) >= PATH_MAX)
		return NULL;
	return out;
}

/* --- the environment of the program --- */

/* Looks beside nwrun, and where an installation puts nwrun.so. */
static bool
find_preload(char path[PATH_MAX])
{
	static const char *const places[] = { "nwrun.so", "../lib/narrows/nwrun.so",
		"../lib/nwrun.so" };
	char self[PATH_MAX], try[PATH_MAX + 32], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;

	if (n <= 0)
		return false;
	self[n] = '\0';
	if ((slash = strrchr(self, '/')) == NULL)
		return false;
	slash[1] = '\0';
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(try, sizeof(try), "%s%s", self, places[i]);
		/* the loader splits its list at blanks and colons */
		if (realpath(try, path) != NULL && strpbrk(path, " :") == NULL)
			return true;
	}
	return false;
}

static bool
set_preload(const char *so)
{
	const char *old = getenv("LD_PRELOAD");
	char *text;
	int rc;

	if (old == NULL || old[0] == '\0')
		return setenv("LD_PRELOAD", so, 1) == 0;
	if (strstr(old, so) != NULL)
		return true;
	if (asprintf(&text, "%s:%s", so, old) < 0)
		return false;
	rc = setenv("LD_PRELOAD", text, 1);
	free(text);
	return rc == 0;
}

/* --- the program --- */

/* The file that execvp will run; false when there is none. */
static bool
find_program(const char *name, char path[PATH_MAX])
{
	const char *at = getenv("PATH"), *end;

	if (strchr(name, '/') != NULL)
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	for (at = at != NULL ? at : "/bin:/usr/bin";; at = end + 1) {
		end = strchrnul(at, ':');
		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - at), at, end > at ? "/" : "",
			name) < PATH_MAX &&
		    access(path, X_OK) == 0)
			return true;
		if (*end == '\0')
			return false;
	}
}

static bool
read_elf(const char *path, uint8_t *head, size_t cap, size_t *len)
{
	FILE *f = fopen(path, "re");

	*len = 0;
	if (f == NULL)
		return false;
	*len = fread(head, 1, cap, f);
	fclose(f);
	return *len >= sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0;
}

static bool
has_interpreter(const uint8_t *head, size_t len)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	size_t i;

	memcpy(&eh, head, sizeof(eh));
	for (i = 0; i < eh.e_phnum && eh.e_phoff < len && eh.e_phoff + (i + 1) * sizeof(ph) <= len;
	     i++) {
		memcpy(&ph, head + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/*
 * Text when this program cannot load nwrun.so: for another machine or word size the loader would
 * complain on stderr, where nothing of ours may appear.
 */
static const char *
refuse_program(const struct options *o, const char *name)
{
	static uint8_t own[4096], its[4096];
	char path[PATH_MAX];
	Elf64_Ehdr a, b;
	size_t own_len, its_len;

	if (!find_program(name, path) || !read_elf(path, its, sizeof(its), &its_len) ||
	    !read_elf("/proc/self/exe", own, sizeof(own), &own_len))
		return NULL;
	memcpy(&a, own, sizeof(a));
	memcpy(&b, its, sizeof(b));
	if (a.e_ident[EI_CLASS] != b.e_ident[EI_CLASS] ||
	    a.e_ident[EI_DATA] != b.e_ident[EI_DATA] || a.e_machine != b.e_machine)
		return "it is made for another machine or word size";
	if (o->verbose && !has_interpreter(its, its_len))
		fprintf(stderr,
		    "nwrun: %s is statically linked: only programs it starts are measured\n", name);
	return NULL;
}

/* --- the collector --- */

/* A fork without SIGCHLD: the program must not find a signal of a child it never had. */
static pid_t
fork_quietly(void)
{
	return (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
}

/* The collector is a grandchild in a session of its own; nwrun waits here for the child between. */
static bool
start_collector(struct nwshm *shm, const struct collect_run_opts *run)
{
	pid_t pid = fork_quietly();

	if (pid == 0) {
		if (nwrun_detach != NULL)
			nwrun_detach();
		setsid();
		pid = fork();
		if (pid == 0)
			collect_run(shm, run);
		_exit(pid < 0);
	}
	if (pid > 0) {
		int status = 0;

		while (waitpid(pid, &status, __WALL) < 0)
			if (errno != EINTR)
				return true;
		return WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	return false;
}

/* Text on failure: why the program will run unmeasured. */
static const char *
arrange_measurement(struct options *o, char *argv[])
{
	static char task[UUID_BYTES], region_path[PATH_MAX], report_path[PATH_MAX], host[256];
	char so[PATH_MAX];
	struct nwshm *shm;
	const char *why, *base = strrchr(argv[0], '/');

	if (!find_preload(so))
		return "nwrun.so was not found";
	if ((why = refuse_program(o, argv[0])) != NULL)
		return why;
	if (o->run.collect.task_id == NULL || o->run.collect.task_id[0] == '\0') {
		if (uuid_make(task) < 0)
			return "the kernel gives no random bytes";
		o->run.collect.task_id = task;
	}
	if (o->run.collect.host == NULL || o->run.collect.host[0] == '\0') {
		if (gethostname(host, sizeof(host) - 1) != 0)
			return "this host has no name";
		o->run.collect.host = host;
	}
	o->run.collect.program = o->program_name;
	o->run.program = o->program_name != NULL ? o->program_name
	    : base != NULL                       ? base + 1
						 : argv[0];
	o->run.report_path = absolute(o->run.report_path, report_path);
	if ((shm = region_new(region_path, sizeof(region_path), &why)) == NULL)
		return why;
	shm->root_pid = getpid();
	o->run.region_path = region_path;
	if (!start_collector(shm, &o->run)) {
		region_free(shm, region_path);
		return "no collector could be started";
	}
	if (setenv(NWSHM_ENV, region_path, 1) != 0 ||
	    setenv("NARROWS_TASK", o->run.collect.task_id, 1) != 0 ||
	    setenv("NARROWS_HOST", o->run.collect.host, 1) != 0 ||
	    (o->run.box != NULL && setenv("NARROWS_BOX", o->run.box, 1) != 0) || !set_preload(so))
		return "the environment cannot be changed";
	unsetenv("NWRUN_REPORT"); /* the report belongs to this run, not to a nwrun below */
	if (o->verbose)
		fprintf(stderr, "nwrun: task %s\n", o->run.collect.task_id);
	return NULL;
}

/* Notes the run, so that `narrows report last` knows which session to wait for, or why none comes. */
static void
note_run(const struct options *o, const char *why)
{
	struct lastrun r = { .start_wall_ns = nw_wall_ns() };
	const char *task = o->run.collect.task_id;

	lastrun_text(r.task, task != NULL && task[0] != '\0' ? task : "unmeasured");
	lastrun_text(r.box, o->run.box);
	lastrun_text(r.why, why);
	(void)lastrun_write(&r);
}

int
main(int argc, char *argv[])
{
	struct options o;
	const char *why;
	int saved;

	parse_options(argc, argv, &o);
	if ((why = arrange_measurement(&o, argv + optind)) != NULL)
		complain(&o, why);
	note_run(&o, why);
	execvp(argv[optind], argv + optind);
	saved = errno;
	fprintf(stderr, "nwrun: %s: %s\n", argv[optind], strerror(saved));
	return saved == ENOENT ? 127 : 126;
}

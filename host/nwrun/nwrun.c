/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwrun: runs a program and has its reading, writing, sending and receiving measured.
 *
 * nwrun leaves a collector behind and then becomes the program: same pid, parent, terminal,
 * signals, exit status. The program is told to load nwrun.so, which counts into memory shared with
 * the collector. Whatever fails on the way, the program runs; only then it is not measured.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/lib/conn_addr.h"
#include "host/lib/hostconf.h"
#include "host/lib/hostname.h"
#include "host/lib/uuid.h"
#include "host/nwrun/beside.h"
#include "host/nwrun/collector.h"
#include "host/nwrun/fit.h"
#include "host/nwrun/launch.h"
#include "host/nwrun/outside.h"
#include "host/nwrun/preload/kernel_call.h"
#include "host/nwrun/preload/title.h"
#include "host/nwrun/wait.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/lastrun.h"
#include "narrows/terminal.h"

enum { NOTICE_MS = 150 }; /* patience for the collector's first word */
enum { SCRIPT_BYTES = 256, SCRIPT_WORDS = 16, ARGUMENTS_MAX = 64 };

/* There when nwrun itself runs under nwrun. */
void nwrun_detach(void) __attribute__((weak));

struct options {
	bool verbose, quiet;
	bool waits;   /* nwrun stays, and prints the verdict */
	bool outside; /* measure from outside, whatever the program is */
	char *program_name, *pid, *cgroup, *unit;
	const char *no_outside; /* why nothing can be measured from outside */
	struct collect_run_opts run;
};

static void
usage(FILE *to)
{
	fputs("usage: nwrun [-hoqVv] [--wait] [-b box] [-H host] [-i seconds] [-l label] [-n name] "
	      "[-t task] "
	      "program [argument ...]\n"
	      "       nwrun [-qv] [-b box] [-H host] [-i seconds] [-l label] [-n name] [-t task] "
	      "-p pid | --cgroup dir | --unit name\n"
	      "  -b BOX       host/port or tls://host of the box\n"
	      "  -H HOST      name of this host\n"
	      "  -i SECONDS   length of an interval, 0.01 to 3600; \"auto\" if not given\n"
	      "  -l LABEL     text for the list of sessions\n"
	      "  -n NAME      name of the program in the report\n"
	      "  -t TASK      id of the session; several programs of one id are one session\n"
	      "  -o           measure from outside, by the program's system calls\n"
	      "  -p PID, --cgroup DIR, --unit NAME\n"
	      "               measure what runs already, until its end or Ctrl-C\n"
	      "  --wait       stay as the program's parent, and print the verdict always\n"
	      "  -q           print nothing;  -v  print the task and what is measured\n"
	      "  -V, --version\n",
	    to);
}

static void
complain(const struct options *o, const char *why)
{
	if (!o->quiet)
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

/* What a box takes: longer texts would cost the whole session. */
enum { NAME_MAX_BYTES = 255, LABEL_MAX_BYTES = 1000 };

/* Text when a box cannot take what an option, or its variable, says. */
static const char *
text_fault(int option, const char *text)
{
	struct conn_addr a;

	if (text == NULL)
		return NULL;
	if (option == 'b')
		return text[0] == '\0' || conn_addr_parse(text, &a) == NW_OK ? NULL : CONN_ADDR_WHY;
	if (option == 'l')
		return strlen(text) <= LABEL_MAX_BYTES ? NULL : "a label has at most 1000 bytes";
	return strlen(text) <= NAME_MAX_BYTES ? NULL : "a name has at most 255 bytes";
}

static void
option_check(int option, const char *text)
{
	const char *why = strchr("bHlnt", option) != NULL ? text_fault(option, text) : NULL;

	if (why == NULL)
		return;
	fprintf(stderr, "nwrun: -%c %.60s: %s\n", option, text, why);
	exit(125);
}

/* A faulty variable or file keeps no program from running. */
static const char *
variables_fault(const struct options *o)
{
	const char *why = text_fault('b', o->run.box);

	if (why == NULL)
		why = hostconf_fault();
	if (why == NULL)
		why = text_fault('l', o->run.collect.label);
	if (why == NULL)
		why = text_fault('t', o->run.collect.task_id);
	return why != NULL ? why : text_fault('H', o->run.collect.host);
}

/* Without a program exactly one option names what is measured, and -p a process. */
static void
targets_check(const struct options *o)
{
	const char *why = NULL;
	int pid;

	if ((o->pid != NULL) + (o->cgroup != NULL) + (o->unit != NULL) != 1)
		why = "give one of -p, --cgroup and --unit, or a program";
	else if (o->pid != NULL && !procfile_parse_pid(o->pid, &pid))
		why = "-p without a program needs the number of a process";
	else if ((o->cgroup != NULL && o->cgroup[0] == '\0') ||
	    (o->unit != NULL && o->unit[0] == '\0'))
		why = "--cgroup and --unit need a name";
	if (why == NULL)
		return;
	fprintf(stderr, "nwrun: %s\n", why);
	exit(125);
}

/* Exits where nothing is to be run. */
static void
parse_options(int argc, char *argv[], struct options *o)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { "outside", no_argument, NULL, 'o' },
		{ "cgroup", required_argument, NULL, 'C' },
		{ "unit", required_argument, NULL, 'U' }, { "wait", no_argument, NULL, 'W' },
		{ NULL, 0, NULL, 0 } };
	const char *interval = getenv("NL_INTERVAL");
	int ch;

	*o = (struct options){ .run.final_wait_ns = 5 * INT64_C(1000000000), .run.verdict_fd = -1 };
	o->run.box = hostconf_or(getenv("NARROWS_BOX"), hostconf_get()->box);
	o->run.collect.task_id = getenv("NARROWS_TASK");
	o->run.collect.label = getenv("NARROWS_LABEL");
	o->run.collect.host = hostconf_or(getenv("NARROWS_HOST"), hostconf_get()->host);
	o->run.report_path = getenv("NWRUN_REPORT");
	if (interval != NULL && !parse_interval(interval, &o->run.collect.interval_ns))
		o->run.collect.interval_ns = 0;
	while ((ch = getopt_long(argc, argv, "+b:H:hi:l:n:op:qt:Vv", longs, NULL)) != -1) {
		option_check(ch, optarg);
		switch (ch) {
		case 'b': o->run.box = optarg; break;
		case 'H': o->run.collect.host = optarg; break;
		case 'n': o->program_name = optarg; break;
		case 'p': o->pid = optarg; break;
		case 'o': o->outside = true; break;
		case 'C': o->cgroup = optarg; break;
		case 'U': o->unit = optarg; break;
		case 'q': o->quiet = true; break;
		case 'W': o->waits = true; break;
		case 'l': o->run.collect.label = optarg; break;
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
	if (optind == argc && o->pid == NULL && o->cgroup == NULL && o->unit == NULL) {
		usage(stderr);
		exit(125);
	}
	if (optind == argc)
		targets_check(o);
	/* with a program, -p has named the program since before there was -n */
	if (optind < argc && o->program_name == NULL)
		o->program_name = o->pid;
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

/* The loader splits its list of libraries at blanks and colons. */
static bool
find_preload(char path[PATH_MAX])
{
	static const char *const places[] = { "nwrun.so", "../lib/narrows/nwrun.so",
		"../lib/nwrun.so", NULL };

	return beside_find(path, places, F_OK, " :");
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

/* Warns that nwrun.so cannot see the calls of a program, and names the program's kind. */
static void
warn_blind(const struct options *o, const char *name, const struct fit *fit)
{
	if (!fit->is_proven && !o->quiet)
		fprintf(stderr,
		    "nwrun: %s is %s, and cannot be measured from outside (%s): the box gets the "
		    "kernel's count of its bytes\n",
		    name, fit->words, o->no_outside);
}

/* --- the collector --- */

/* The work of the child between nwrun and the collector. Returns the child's exit status. */
static __attribute__((noinline)) int
between(struct region *region, const struct collect_run_opts *run)
{
	pid_t pid;

	setsid();
	pid = fork();
	if (pid == 0) {
		collector_run(region, run);
		_exit(0);
	}
	return pid < 0;
}

/*
 * A child in nwrun's own memory, while nwrun sleeps: a copy of the memory costs more than all work
 * of the child. The child ends without a signal, as the child of fit_fork(). Below the system
 * call the child calls functions alone, so that nothing in this frame changes. -errno where the
 * system makes no such child.
 */
static __attribute__((noinline)) long
start_between(struct region *region, const struct collect_run_opts *run)
{
	long pid = kernel_call(SYS_clone, CLONE_VM | CLONE_VFORK, 0, 0, 0, 0, 0);

	if (pid == 0)
		_exit(between(region, run));
	return pid;
}

/* The collector is a grandchild in a session of its own; nwrun waits here for the child between. A
 * measured nwrun stays measured: the collector leaves the measurement in another memory. */
static bool
start_collector(struct region *region, const struct collect_run_opts *run)
{
	pid_t pid = nwrun_detach == NULL ? (pid_t)start_between(region, run) : -1;
	int status = 0;

	if (pid < 0 && (pid = fit_fork()) == 0) {
		if (nwrun_detach != NULL)
			nwrun_detach();
		_exit(between(region, run));
	}
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return true;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Above 2, where the collector's own standard descriptors will be. */
static int
fd_above(int fd)
{
	return fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
}

/* Starts the collector, and waits a moment for its first word on the box. */
static bool
start_and_hear(struct options *o, struct region *region)
{
	char text[PIPE_BUF];
	int fds[2] = { -1, -1 };
	struct pollfd p;
	ssize_t n = 0;
	bool started;

	o->run.notice_fd = o->run.complain_fd = -1;
	if (!o->quiet && pipe2(fds, O_CLOEXEC) == 0) {
		o->run.notice_fd = fd_above(fds[1]);
		o->run.complain_fd = fd_above(STDERR_FILENO);
		close(fds[1]);
	}
	started = start_collector(region, &o->run);
	close(o->run.notice_fd);
	close(o->run.complain_fd);
	close(o->run.verdict_fd);
	p = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	if (started && fds[0] >= 0 && poll(&p, 1, NOTICE_MS) > 0)
		n = read(fds[0], text, sizeof(text));
	if (n > 0 && text[0] != COLLECT_NOTICE_OK[0])
		fprintf(stderr, "nwrun: %.*s\n", (int)n, text);
	close(fds[0]);
	return started;
}

/* Joins the arguments with blanks and cuts the text. */
static void
join_arguments(char *argv[], char text[NWSHM_ARGV_BYTES])
{
	size_t len = 0;

	text[0] = '\0';
	for (; *argv != NULL && len < NWSHM_ARGV_BYTES - 1; argv++)
		len += (size_t)snprintf(
		    text + len, NWSHM_ARGV_BYTES - len, "%s%s", len > 0 ? " " : "", *argv);
}

/* Notes the kernel's count of this process so far, which is not the program's. */
static void
own_io_note(struct collect_opts *c)
{
	char text[512];
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	if ((n = read(fd, text, sizeof(text) - 1)) > 0) {
		text[n] = '\0';
		c->root_io_known = procfile_parse_io(text, &c->root_io);
	}
	close(fd);
}

/* Adds the words of the first line of a script, for which the kernel will start an interpreter. */
static size_t
script_words(const char *path, char line[SCRIPT_BYTES], const char *words[])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = fd >= 0 ? read(fd, line, SCRIPT_BYTES - 1) : 0;
	char *rest = line, *word;
	size_t n = 0;

	close(fd);
	line[len > 0 ? len : 0] = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return 0;
	line[strcspn(line, "\n")] = '\0';
	rest += 2;
	while (n < SCRIPT_WORDS && (word = strsep(&rest, " \t")) != NULL)
		if (*word != '\0' && strcmp(word, "-S") != 0) /* env divides the line, too */
			words[n++] = word;
	return n;
}

/* The name that the process will have once the program runs. */
static void
describe_name(const char *path, char *argv[], char name[NWSHM_NAME_BYTES])
{
	const char *words[SCRIPT_WORDS + ARGUMENTS_MAX];
	char line[SCRIPT_BYTES];
	size_t n = script_words(path, line, words), i;

	words[n] = n > 0 ? path : argv[0];
	n++;
	for (i = 1; argv[i] != NULL && i < ARGUMENTS_MAX; i++)
		words[n++] = argv[i];
	title_make(words, n, name, NWSHM_NAME_BYTES);
}

/* Collects the facts for the collector. Text on failure. */
static const char *
describe_run(struct options *o, const char *path, char *argv[])
{
	static char task[UUID_BYTES], report_path[PATH_MAX], host[HOSTNAME_BYTES],
	    arguments[NWSHM_ARGV_BYTES], name[NWSHM_NAME_BYTES];
	struct collect_opts *c = &o->run.collect;

	if (c->task_id == NULL || c->task_id[0] == '\0') {
		if (uuid_make(task) < 0)
			return "the kernel gives no random bytes";
		c->task_id = task;
	}
	c->host = hostname_get(c->host, host);
	join_arguments(argv, arguments);
	c->root_argv = arguments;
	c->root_pid = getpid();
	c->program = o->program_name;
	describe_name(path, argv, name);
	c->root_name = name;
	o->run.program = o->program_name != NULL ? o->program_name : name;
	o->run.report_path = absolute(o->run.report_path, report_path);
	return NULL;
}

/* Sets the variables that lead nwrun.so, and a nwrun below, to the run. */
static bool
set_environment(const struct options *o, const struct region *region, const char *so, bool names_so)
{
	unsetenv("NWRUN_REPORT"); /* the report belongs to this run, not to a nwrun below */
	return setenv(NWSHM_ENV, region->path, 1) == 0 &&
	    setenv("NARROWS_TASK", o->run.collect.task_id, 1) == 0 &&
	    setenv("NARROWS_HOST", o->run.collect.host, 1) == 0 &&
	    (o->run.box == NULL || setenv("NARROWS_BOX", o->run.box, 1) == 0) &&
	    (!names_so || set_preload(so));
}

/* --- from outside --- */

/*
 * A program that nwrun.so fits into may start another that nwrun.so does not fit into, as env(1) or
 * a script does. Then all of them are measured from outside. *name becomes the word of that
 * program.
 */
static void
look_behind(const char *path, char *argv[], const char *so, struct fit *fit, const char **name)
{
	static char word[PATH_MAX];
	struct fit behind;

	if (!launch_look(path, argv, so, &behind, word))
		return;
	*fit = behind;
	fit->blind = 0;       /* of the command itself nothing is hidden */
	fit->may_name = true; /* nwrun.so keeps itself out of the others */
	*name = word;
}

/* Where nwrun.so cannot work, nwflow may be allowed to watch. Returns true if nwflow watches. */
static bool
watch_from_outside(struct options *o, const char *name, const struct fit *fit)
{
	const struct outside_opts outside = {
		.verbose = o->verbose, .quiet = o->quiet || !o->outside, .run = &o->run
	};

	if (!o->outside && fit->is_proven)
		return false;
	if ((o->no_outside = outside_start(&outside)) != NULL) {
		if (o->outside && fit->is_proven && !o->quiet)
			fprintf(
			    stderr, "nwrun: %s: nwrun.so measures the program\n", o->no_outside);
		return false;
	}
	if (!o->quiet && !o->outside)
		fprintf(stderr, "nwrun: %s is %s: measured from outside, by its system calls\n",
		    name, fit->words);
	unsetenv("NWRUN_REPORT");
	return true;
}

/* Without a program: processes that run already. Returns only on failure. */
static int
attach(const struct options *o)
{
	const struct outside_opts outside = { .pid = o->pid,
		.cgroup = o->cgroup,
		.unit = o->unit,
		.verbose = o->verbose,
		.quiet = o->quiet,
		.run = &o->run };

	fprintf(stderr, "nwrun: %s: nothing is measured\n", outside_become(&outside));
	return 125;
}

/* The verdict is for a terminal, or for the nwrun that waits. A run within a run is judged with the
 * whole. */
static void
choose_verdict_fd(struct options *o)
{
	if (o->run.verdict_fd < 0 && !o->quiet && getenv(NWSHM_ENV) == NULL &&
	    isatty(STDERR_FILENO))
		o->run.verdict_fd = fd_above(STDERR_FILENO);
}

/* Text on failure: why the program will run unmeasured. */
static const char *
arrange_measurement(struct options *o, char *argv[])
{
	char so[PATH_MAX] = "", path[PATH_MAX] = "";
	struct nw_cycles clock = { 0 };
	struct region region;
	struct fit fit = { .is_proven = true, .may_name = true };
	const char *why, *name = argv[0];

	nw_cycles_calibrate(&clock, nw_mono_ns());
	if ((why = variables_fault(o)) != NULL)
		return why;
	choose_verdict_fd(o);
	if (!find_preload(so) && !o->outside)
		return "nwrun.so was not found";
	if (launch_find(argv[0], path)) {
		fit_look(path, so, &fit);
		if (fit.is_proven)
			look_behind(path, argv, so, &fit, &name);
	}
	o->run.collect.root_blind = fit.blind;
	if ((why = describe_run(o, path, argv)) != NULL)
		return why;
	if (watch_from_outside(o, name, &fit))
		return NULL;
	if ((why = collector_find(so, o->run.box)) != NULL || (why = region_new(&region)) != NULL)
		return why;
	own_io_note(&o->run.collect);
	if (!start_and_hear(o, &region)) {
		region_free(&region);
		return "no collector could be started";
	}
	region_start_clock(&region, &clock);
	close(region.fd);
	if (!set_environment(o, &region, so, fit.may_name))
		return "the environment cannot be changed";
	warn_blind(o, name, &fit);
	if (o->verbose)
		fprintf(stderr, "nwrun: task %s\n", o->run.collect.task_id);
	return NULL;
}

/* Notes the run, so that `narrows report last` knows which session to wait for, or why none
 * comes. */
static void
note_run(const struct options *o, const char *why)
{
	/* nwrun becomes the program, so the number is the program's */
	struct lastrun r = { .start_wall_ns = nw_wall_ns(), .pid = getpid() };
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

	terminal_guard();
	parse_options(argc, argv, &o);
	if (optind == argc) {
		o.run.collect.program = o.program_name;
		choose_verdict_fd(&o);
		return attach(&o);
	}
	if (o.waits && wait_begin(&o.run.verdict_fd, &saved))
		return saved;
	if ((why = arrange_measurement(&o, argv + optind)) != NULL)
		complain(&o, why);
	note_run(&o, why);
	execvp(argv[optind], argv + optind);
	saved = errno;
	fprintf(stderr, "nwrun: %s: %s\n", argv[optind], strerror(saved));
	return saved == ENOENT ? 127 : 126;
}

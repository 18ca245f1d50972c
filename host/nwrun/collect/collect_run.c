/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sender's life: the sender outlives the program by a moment, then sends the rest and ends. No
 * process waits for the sender, and the sender waits for no process; when the box is away the rest
 * is given up after final_wait_ns.
 */
#include "host/nwrun/collect/collect_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/lib/control_client.h"
#include "host/lib/hostconf.h"
#include "host/lib/uuid.h"
#include "host/nwrun/collect/collect_reader.h"
#include "host/lib/verdict_ask.h"
#include "host/nwrun/collect/exitcode.h"
#include "host/nwrun/collect/firefly_out.h"
#include "host/nwrun/collect/version.h"
#include "host/nwrun/collect/collect_wire.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/frame.h"
#include "narrows/lastrun.h"
#include "narrows/ownfile.h"
#include "narrows/provider.h"
#include "narrows/terminal.h"

#define SECOND_NS INT64_C(1000000000)
/* longest pause between looks; shorter intervals get a look at each end */
#define LOOK_NS (SECOND_NS / 10)
/* the same pause for a first program that does not show: only looks tell the count */
#define HIDDEN_LOOK_NS (SECOND_NS / 50)
/* a later answer means that the reader is lost */
#define READER_NS (60 * SECOND_NS)
/* time in which the sender tells nwrun whether the box is there */
#define NOTICE_NS (SECOND_NS / 10)

/* LINGER_MS: pause before the end: between spawn and the loader nothing shows that a child
 * lives. UNSEEN_*: the share, and the amount, of unseen bytes worth a complaint. */
enum { LINGER_MS = 250, UNSEEN_BYTES_MIN = 1 << 20, UNSEEN_SHARE = 50, COMPLAINT_BYTES = 512 };
/* time from the program's end to the last word on the verdict */
#define VERDICT_NS (SECOND_NS / 10 * 28)

struct run {
	struct region *region;
	const struct collect_run_opts *opts;
	struct collect_opts collect;
	struct nw_provider *provider;
	struct collect_sink box;       /* the provider */
	struct collect_sink sink;      /* the same, by way of the fireflies if they are wanted */
	struct firefly_out *fireflies; /* NULL: nobody wants to hear */
	uint64_t fireflies_sent;
	struct wire wire;
	pid_t reader; /* 0: none, or lost */
	struct wire_done done;
	bool complained;
	bool version_said;         /* of the first program, for the history of the host */
	bool lost;                 /* the reader ended before its time */
	uint64_t root_start_ticks; /* 0: unknown */
	struct proc_facts root;    /* of the first program, once the reader is lost */
	int root_fd;               /* of the first program, for its end; or -1 */
	struct control_client *control;
	int64_t over_mono_ns; /* end of the last program */
	struct verdict verdict;
};

static volatile sig_atomic_t told_to_end;

static void
on_term(int sig)
{
	(void)sig;
	told_to_end = 1;
}

/* --- the sink: a provider, which counts the documents it refuses --- */

static int
sink_meta(void *arg, const char *id, const char *pid, const char *event_type,
    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params, size_t n_params)
{
	return nw_provider_meta(arg, id, pid, event_type, subject, n_subject, params, n_params);
}

static int
sink_data(void *arg, const char *mid, int64_t t_wall_ns, const char *const *fields,
    const double *values, size_t n_fields, const uint8_t *hist, size_t hist_len)
{
	return nw_provider_data(arg, mid, t_wall_ns, fields, values, n_fields, hist, hist_len);
}

static void
sink_end(void *arg, const char *mid)
{
	nw_provider_meta_end(arg, mid);
}

/* --- the reader --- */

static bool
reader_start(struct run *r)
{
	int fds[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return false;
	if ((pid = fork()) == 0) {
		close(fds[0]);
		collect_read(r->region, &r->collect, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return false;
	}
	r->reader = pid;
	r->wire = (struct wire){ .fd = fds[0] };
	return true;
}

/* A reader that still listens ends with the socket. */
static void
reader_stop(struct run *r)
{
	if (r->reader == 0)
		return;
	wire_clear(&r->wire);
	if (r->lost)
		kill(r->reader, SIGKILL);
	while (waitpid(r->reader, NULL, 0) < 0 && errno == EINTR)
		continue;
	r->reader = 0;
}

static int
answer_facts(struct run *r, const struct wire_message *m)
{
	struct proc_facts facts;
	struct proc_question q;

	if (m->len != sizeof(q))
		return NW_EPROTO;
	memcpy(&q, m->body, sizeof(q));
	proc_facts_read(&q, &facts);
	if (wire_put(&r->wire, WIRE_ANSWER, &facts, sizeof(facts)) < 0)
		return NW_ENOMEM;
	return wire_flush(&r->wire, nw_mono_ns() + SECOND_NS);
}

static int
answer_socket(struct run *r, const struct wire_message *m)
{
	struct proc_socket s;

	if (m->len != sizeof(s))
		return NW_EPROTO;
	memcpy(&s, m->body, sizeof(s));
	proc_socket_find(&s);
	if (wire_put(&r->wire, WIRE_ANSWER, &s, sizeof(s)) < 0)
		return NW_ENOMEM;
	return wire_flush(&r->wire, nw_mono_ns() + SECOND_NS);
}

static int
answer_gone(struct run *r, const struct wire_message *m)
{
	struct proc_gone g;

	if (m->len != sizeof(g))
		return NW_EPROTO;
	memcpy(&g, m->body, sizeof(g));
	proc_gone_find(&g);
	if (wire_put(&r->wire, WIRE_ANSWER, &g, sizeof(g)) < 0)
		return NW_ENOMEM;
	return wire_flush(&r->wire, nw_mono_ns() + SECOND_NS);
}

static int
take_done(struct run *r, const struct wire_message *m)
{
	if (m->len != sizeof(r->done))
		return NW_EPROTO;
	memcpy(&r->done, m->body, sizeof(r->done));
	r->done.unseen_by[sizeof(r->done.unseen_by) - 1] = '\0';
	return NW_OK;
}

/* Serves the reader until the look is over. */
static int
reader_serve(struct run *r)
{
	int64_t deadline_mono_ns = nw_mono_ns() + READER_NS;
	struct wire_message m;
	int rc;

	while ((rc = wire_read(&r->wire, deadline_mono_ns, &m)) == NW_OK) {
		if (m.type == WIRE_DONE)
			return take_done(r, &m);
		if (m.type == WIRE_ASK)
			rc = answer_facts(r, &m);
		else if (m.type == WIRE_ASK_SOCKET)
			rc = answer_socket(r, &m);
		else if (m.type == WIRE_ASK_GONE)
			rc = answer_gone(r, &m);
		else
			rc = wire_dispatch(&m, &r->sink);
		if (rc < 0)
			break;
	}
	return rc;
}

/* Returns whether a measured process is alive. */
static bool
reader_look(struct run *r, int64_t now_mono_ns, int64_t interval_ns, bool final)
{
	const struct wire_look look = { now_mono_ns, nw_wall_ns(), interval_ns, final };

	if (r->reader == 0)
		return false;
	if (wire_put(&r->wire, WIRE_LOOK, &look, sizeof(look)) < 0 ||
	    wire_flush(&r->wire, now_mono_ns + SECOND_NS) < 0 || reader_serve(r) < 0) {
		r->lost = true;
		reader_stop(r);
		return false;
	}
	return r->done.alive > 0;
}

/* --- the first program: alive before it shows in the region, and when it never does --- */

static bool
root_is_alive(struct run *r)
{
	const struct proc_question q = { .pid = r->collect.root_pid };
	struct proc_facts f;

	proc_facts_read(&q, &f);
	if (!f.found || f.stat.start_ticks != r->root_start_ticks)
		return false;
	if (f.io_known)
		r->root = f;
	return f.alive;
}

/* A document of the first program, past the region. */
static void
say_root_fields(struct run *r, const struct nw_kv *subject, size_t n_subject,
    const char *const *fields, const double *values, size_t n)
{
	char id[UUID_BYTES];

	if (uuid_make(id) < 0 ||
	    nw_provider_meta(r->provider, id, NULL, NW_TYPE_PROCESS, subject, n_subject, NULL, 0) <
		0)
		return;
	(void)nw_provider_data(r->provider, id, nw_wall_ns(), fields, values, n, NULL, 0);
	nw_provider_meta_end(r->provider, id);
}

/* A program ended by a signal has reported no status; a shell says 128 and the signal. */
static void
say_signal(struct run *r)
{
	static const char *const fields[] = { "exit_status" };
	const struct nw_kv subject[] = {
		{ "task_id", NW_KV_TEXT, { .text = r->collect.task_id } },
		{ "hostname", NW_KV_TEXT, { .text = r->collect.host } },
		{ "pid", NW_KV_INT, { .i = r->collect.root_pid } },
		{ "program", NW_KV_TEXT, { .text = r->opts->program } },
	};
	int status;
	double value;

	if (!exitcode_get(r->root_fd, &status) || !WIFSIGNALED(status))
		return;
	value = 128 + WTERMSIG(status);
	say_root_fields(r, subject, sizeof(subject) / sizeof(subject[0]), fields, &value, 1);
}

/* A program damaged the region: the kernel's count of the first program is all there is. */
static void
say_lost(struct run *r)
{
	static const char *const fields[] = { "rchar", "wchar", "read_bytes", "write_bytes",
		"unseen_read", "unseen_written" };
	const struct procfile_io *io = &r->root.io;
	const double values[] = { (double)io->rchar, (double)io->wchar, (double)io->read_bytes,
		(double)io->write_bytes, (double)io->rchar, (double)io->wchar };
	const struct nw_kv subject[] = {
		{ "task_id", NW_KV_TEXT, { .text = r->collect.task_id } },
		{ "hostname", NW_KV_TEXT, { .text = r->collect.host } },
		{ "pid", NW_KV_INT, { .i = r->collect.root_pid } },
		{ "program", NW_KV_TEXT, { .text = r->opts->program } },
		{ "unseen_by", NW_KV_TEXT, { .text = "damaged" } },
	};

	say_root_fields(r, subject, sizeof(subject) / sizeof(subject[0]), fields, values,
	    sizeof(fields) / sizeof(fields[0]));
}

/* --- words to the user --- */

/* Why nothing will be stored now. */
static void
why_away(const struct run *r, char *text, size_t cap)
{
	struct nw_provider_stats st;

	nw_provider_get_stats(r->provider, &st);
	snprintf(text, cap, "the box does not answer (%s): %s", nw_provider_why(r->provider),
	    st.spooled ? "this run waits in the spool directory"
		       : "nothing of this run will be stored unless the box comes back");
}

/* A terminal or a file may get a line after the program's end; a pipe's reader would have to wait
 * for that line. */
static bool
may_complain_late(const struct run *r)
{
	struct stat st;

	return r->opts->complain_fd >= 0 && fstat(r->opts->complain_fd, &st) == 0 &&
	    (S_ISREG(st.st_mode) || isatty(r->opts->complain_fd));
}

/* Tells nwrun, which waits for the word before becoming the program, how the box answers. */
static void
notice(struct run *r)
{
	int64_t end_mono_ns = nw_mono_ns() + NOTICE_NS;
	char text[COMPLAINT_BYTES] = COLLECT_NOTICE_OK;
	struct nw_provider_stats st;

	if (r->opts->notice_fd < 0 && !(r->collect.outside && may_complain_late(r)))
		return;
	do {
		nw_provider_run(r->provider, SECOND_NS / 500);
		nw_provider_get_stats(r->provider, &st);
	} while (!st.connected && st.connect_failures == 0 && nw_mono_ns() < end_mono_ns);
	if (!st.connected && st.connect_failures > 0) {
		why_away(r, text, sizeof(text));
		r->complained = true;
	}
	if (r->opts->notice_fd < 0) {
		if (r->complained)
			dprintf(r->opts->complain_fd, "nwrun: %s\n", text);
		return;
	}
	if (write(r->opts->notice_fd, text, strlen(text)) < 0)
		r->complained = false;
	close(r->opts->notice_fd);
}

static const char *
advice(const char *by)
{
	if (strcmp(by, "static") == 0)
		return "run a dynamically linked build";
	if (strcmp(by, "set-user-id") == 0)
		return "run nwrun as the program's user";
	if (strcmp(by, "not-loaded") == 0)
		return "let the program's children inherit the environment";
	return "the verdict counts them as unseen";
}

static void
complain_unseen(const struct run *r)
{
	uint64_t unseen = r->done.unseen_bytes;

	if (unseen < UNSEEN_BYTES_MIN || unseen < r->done.kernel_bytes / UNSEEN_SHARE)
		return;
	dprintf(r->opts->complain_fd,
	    "nwrun: %llu of %llu MiB by the kernel's count were not seen (%s): %s\n",
	    (unsigned long long)(unseen >> 20), (unsigned long long)(r->done.kernel_bytes >> 20),
	    r->done.unseen_by[0] != '\0' ? r->done.unseen_by : "calls past the C library",
	    advice(r->done.unseen_by));
}

static void
complain_late(const struct run *r, const struct nw_provider_stats *st)
{
	uint64_t arrived = st->acknowledged ? st->docs_stored : st->docs_sent;

	if (!may_complain_late(r))
		return;
	if (r->lost)
		dprintf(r->opts->complain_fd,
		    "nwrun: the collector lost the memory shared with the program: the run is "
		    "incomplete\n");
	if (r->collect.outside && st->docs_queued == 0)
		dprintf(r->opts->complain_fd,
		    "nwrun: nothing of the processes was seen: nothing is stored\n");
	if (arrived < st->docs_queued && !r->complained)
		dprintf(r->opts->complain_fd, "nwrun: %llu of %llu documents are not stored: %s\n",
		    (unsigned long long)(st->docs_queued - arrived),
		    (unsigned long long)st->docs_queued,
		    terminal_text(nw_provider_why(r->provider)));
	complain_unseen(r);
}

/* --- the run --- */

/* Returns the time from this look to the next. */
static int64_t
orders_apply(struct control_client *o, int64_t base_ns, int64_t now_mono_ns, int64_t *interval)
{
	int64_t interval_ns;

	(void)control_client_step(o, now_mono_ns);
	interval_ns = leases_interval_ns(
	    &o->leases, NW_TYPE_CALIPER, leases_interval_ns(&o->leases, NW_TYPE_RUN, base_ns));
	*interval = interval_ns;
	control_client_status(o, now_mono_ns, "calipers", interval_ns, interval_ns);
	return interval_ns > 0 && interval_ns < LOOK_NS ? interval_ns : LOOK_NS;
}

/* True when nothing of the run has been alive for a while. */
static bool
is_over(bool alive, int64_t now_mono_ns, int64_t *alone_since_mono_ns)
{
	if (alive)
		*alone_since_mono_ns = 0;
	else if (*alone_since_mono_ns == 0)
		*alone_since_mono_ns = now_mono_ns;
	return !alive && now_mono_ns - *alone_since_mono_ns >= LINGER_MS * INT64_C(1000000);
}

/* The other end of the pipe is closed: the counting has ended. */
static bool
outside_is_over(const struct run *r)
{
	struct pollfd p = { .fd = r->opts->outside_fd };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

static void
wait_and_watch(struct run *r, struct control_client *o)
{
	int64_t base_ns = r->collect.interval_ns, interval_ns = base_ns;
	int64_t now_mono_ns, wait_ns;
	bool alive;

	while (!told_to_end) {
		now_mono_ns = nw_mono_ns();
		alive = reader_look(r, now_mono_ns, interval_ns, false);
		if (!alive && r->root_start_ticks != 0)
			alive = root_is_alive(r);
		if (!r->version_said && r->collect.root_pid != 0)
			r->version_said = version_say(
			    r->provider, r->collect.host, r->collect.root_pid, nw_wall_ns());
		if (r->collect.outside ? outside_is_over(r)
				       : is_over(alive, now_mono_ns, &r->over_mono_ns))
			break;
		wait_ns = orders_apply(o, base_ns, now_mono_ns, &interval_ns) -
		    (nw_mono_ns() - now_mono_ns);
		if (r->done.hidden && wait_ns > HIDDEN_LOOK_NS)
			wait_ns = HIDDEN_LOOK_NS;
		if (wait_ns < 1000000)
			wait_ns = 1000000;
		if (nw_provider_run(r->provider, wait_ns) != NW_OK &&
		    nw_mono_ns() - now_mono_ns < 1000000)
			usleep((useconds_t)(wait_ns / 1000));
	}
	if (r->over_mono_ns == 0)
		r->over_mono_ns = nw_mono_ns();
	reader_look(r, nw_mono_ns(), interval_ns, true);
}

/* Complete under its name or absent: a reader may open the report as soon as the name appears. */
static FILE *
report_open(const char *path, char *temp, size_t cap)
{
	if (path == NULL || (size_t)snprintf(temp, cap, "%s.part", path) >= cap)
		return NULL;
	return ownfile_stream(temp, 0666);
}

static void
report_close(FILE *f, const char *temp, const char *path, const struct run *r)
{
	struct nw_provider_stats st;

	if (f == NULL)
		return;
	nw_provider_get_stats(r->provider, &st);
	fprintf(f,
	    "run docs_queued=%llu docs_sent=%llu docs_stored=%llu docs_dropped=%llu connected=%d",
	    (unsigned long long)st.docs_queued, (unsigned long long)st.docs_sent,
	    (unsigned long long)st.docs_stored, (unsigned long long)st.docs_dropped, st.connected);
	if (r->fireflies_sent > 0)
		fprintf(f, " fireflies=%llu", (unsigned long long)r->fireflies_sent);
	if (!st.connected)
		collect_report_text(f, "why", terminal_text(nw_provider_why(r->provider)));
	if (r->lost)
		fputs(" damaged=1", f);
	putc('\n', f);
	if (fclose(f) == 0)
		rename(temp, path);
}

static void
on_order(void *arg, uint16_t opt, const uint8_t *doc, size_t len)
{
	struct run *r = arg;

	if (opt == NW_OPT_VERDICT)
		verdict_take(&r->verdict, doc, len);
	else
		control_client_order(r->control, opt, doc, len);
}

/* Of a box that never answered the user knows. */
static void
verdict_tell(struct run *r)
{
	struct nw_provider_stats st;

	nw_provider_get_stats(r->provider, &st);
	if (r->opts->verdict_fd < 3)
		return;
	if (st.connected || !r->complained) {
		verdict_await(&r->verdict, r->provider, r->over_mono_ns + VERDICT_NS);
		verdict_print(&r->verdict, r->opts->verdict_fd);
	}
	close(r->opts->verdict_fd);
}

/* Waits for the box to take the rest, then complains of the loss. */
static void
deliver(struct run *r)
{
	int64_t end_mono_ns = nw_mono_ns() + r->opts->final_wait_ns, wait_ns = SECOND_NS / 100;
	struct nw_provider_stats st;

	for (;;) {
		nw_provider_get_stats(r->provider, &st);
		if ((st.acknowledged ? st.docs_stored : st.docs_sent) >= st.docs_queued ||
		    nw_mono_ns() >= end_mono_ns)
			break;
		nw_provider_run(r->provider, wait_ns);
		/* away from the box the provider alone wakes up, and connects again */
		if (wait_ns < (st.connected ? LOOK_NS : SECOND_NS))
			wait_ns += st.connected ? wait_ns / 4 : wait_ns;
	}
	complain_late(r, &st);
}

/* Closes every descriptor but those of the sorted list. */
static void
close_others(const int *keep, size_t n)
{
	unsigned from = 0, to;
	size_t i;

	for (i = 0; i <= n; i++) {
		if (i < n && keep[i] < 0)
			continue;
		to = i < n ? (unsigned)keep[i] : (unsigned)sysconf(_SC_OPEN_MAX);
		if (i == n && close_range(from, ~0u, 0) == 0)
			return;
		for (; from < to; from++)
			close((int)from);
		from = to + 1;
	}
}

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Keeps nothing of the program: its pipes see their end, its file systems can be unmounted. The
 * descriptors of the collector are above 2. */
static void
leave_program(const struct run *r)
{
	int keep[] = { r->region->fd, r->opts->notice_fd, r->opts->complain_fd,
		r->opts->verdict_fd > 2 ? r->opts->verdict_fd : -1,
		r->collect.outside ? r->opts->outside_fd : -1,
		r->collect.outside ? r->collect.net_ns_fd : -1 };
	struct sigaction term = { .sa_handler = on_term };
	int fd;

	sigaction(SIGTERM, &term, NULL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	qsort(keep, sizeof(keep) / sizeof(keep[0]), sizeof(keep[0]), by_number);
	close_others(keep, sizeof(keep) / sizeof(keep[0]));
	for (fd = 0; fd < 3; fd++)
		if (open("/dev/null", O_RDWR) != fd)
			_exit(1);
}

/* Closes the provider; a run whose documents did not all arrive gets the reason in its record. */
static int
provider_end(struct nw_provider *p, const char *task)
{
	char why[LASTRUN_TEXT_BYTES] = "";
	int rc;

	if (p != NULL)
		lastrun_text(why, nw_provider_why(p));
	if ((rc = nw_provider_close(p, SECOND_NS)) != NW_OK)
		(void)lastrun_fail(task, why[0] != '\0' ? why : nw_strerror(rc));
	return rc;
}

static void
watch_run(
    struct run *r, const struct nw_provider_opts *provider_opts, struct control_client *control)
{
	const struct proc_question q = { .pid = r->collect.root_pid };
	struct proc_facts root;

	proc_facts_read(&q, &root);
	r->root_start_ticks = root.found ? root.stat.start_ticks : 0;
	r->root_fd = exitcode_open(r->collect.root_pid);
	if (!reader_start(r) || nw_provider_new(provider_opts, &r->provider) != NW_OK)
		return;
	r->box.arg = control->provider = r->provider;
	r->sink = r->box;
	r->fireflies =
	    firefly_out_new(hostconf_get(), r->collect.host, nw_wall_ns(), &r->box, &r->sink);
	notice(r);
	wait_and_watch(r, control);
	r->fireflies_sent = firefly_out_free(r->fireflies, nw_wall_ns());
	if (r->lost)
		say_lost(r);
	say_signal(r);
	if (r->root_fd >= 0)
		close(r->root_fd);
}

void
collect_run(struct region *region, const struct collect_run_opts *opts)
{
	struct nw_provider_opts provider_opts = {
		.box = opts->box,
		.software = opts->software != NULL ? opts->software : "nwrun",
		.host = opts->collect.host,
		.task_id = opts->collect.task_id,
		.program = opts->program,
		.can = "rate stop status",
		.on_order = on_order,
	};
	static struct control_client control; /* static: the leases are large */
	struct run r = { .region = region,
		.opts = opts,
		.collect = opts->collect,
		.control = &control,
		.box = { .meta = sink_meta, .data = sink_data, .end = sink_end },
		.wire = { .fd = -1 } };
	char temp[4096];

	leave_program(&r);
	prctl(PR_SET_NAME, "nwrun-collector"); /* the arguments are the program's */
	r.collect.report = report_open(opts->report_path, temp, sizeof(temp));
	control_client_init(&control, provider_opts.can);
	provider_opts.on_order_arg = &r;
	if (chdir("/") == 0)
		watch_run(&r, &provider_opts, &control);
	reader_stop(&r);
	region_free(region);
	if (r.provider != NULL) {
		report_close(r.collect.report, temp, opts->report_path, &r);
		verdict_tell(&r);
		deliver(&r);
	}
	/* the box is there: earlier runs may have left documents in spools */
	if (provider_end(r.provider, opts->collect.task_id) == NW_OK && r.provider != NULL)
		nw_provider_adopt(&provider_opts, opts->final_wait_ns);
	control_client_clear(&control);
}

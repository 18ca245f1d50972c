/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collector's life: the collector outlives the program by a moment, then sends the rest and
 * ends. Nobody waits for the collector, and the collector waits for nobody; when the box is away
 * the rest is given up after final_wait_ns.
 */
#include "host/nwrun/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "host/lib/control_client.h"
#include "narrows/provider.h"
#include "narrows/lastrun.h"

/* longest pause between looks; shorter intervals get a look at each end */
#define LOOK_NS INT64_C(100000000)

/* pause before the end: between spawn and the loader nothing shows that a child lives */
enum { LINGER_MS = 250 };

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
sink_caliper(void *arg, const char *mid, int64_t t_wall_ns, const struct nw_caliper_window *w)
{
	return nw_provider_caliper(arg, mid, t_wall_ns, w);
}

static int
sink_data(void *arg, const char *mid, int64_t t_wall_ns, const char *const *fields,
    const double *values, size_t n_fields)
{
	return nw_provider_data(arg, mid, t_wall_ns, fields, values, n_fields, NULL, 0);
}

static void
sink_end(void *arg, const char *mid)
{
	nw_provider_meta_end(arg, mid);
}

/* --- the first program: alive before it shows in the region, and when it never does --- */

static uint64_t
start_ticks_of(int pid)
{
	struct procfile_stat st;
	char path[64], text[1024];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if ((f = fopen(path, "re")) != NULL) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	if (!procfile_parse_stat(text, &st) || procfile_is_over(&st))
		return 0;
	return st.start_ticks;
}

/* Returns the time from this look to the next. */
static int64_t
orders_apply(struct collect *c, struct control_client *o, int64_t base_ns, int64_t now_mono_ns)
{
	int64_t interval_ns;

	(void)control_client_step(o, now_mono_ns);
	interval_ns =
	    leases_interval_ns(&o->leases, "nl:", leases_interval_ns(&o->leases, "nw:", base_ns));
	collect_set_interval(c, interval_ns);
	control_client_status(o, now_mono_ns, "calipers", interval_ns, interval_ns);
	return interval_ns > 0 && interval_ns < LOOK_NS ? interval_ns : LOOK_NS;
}

static void
wait_and_watch(struct nwshm *shm, struct collect *c, struct control_client *o, int64_t interval_ns)
{
	uint64_t root_start_ticks = start_ticks_of(shm->root_pid);
	int64_t alone_since_mono_ns = 0, now_mono_ns, wait_ns;
	bool alive;

	while (!told_to_end) {
		now_mono_ns = nw_mono_ns();
		alive = collect_look(c, now_mono_ns, nw_wall_ns()) > 0;
		if (!alive && root_start_ticks != 0)
			alive = start_ticks_of(shm->root_pid) == root_start_ticks;
		if (alive)
			alone_since_mono_ns = 0;
		else if (alone_since_mono_ns == 0)
			alone_since_mono_ns = now_mono_ns;
		else if (now_mono_ns - alone_since_mono_ns >= LINGER_MS * INT64_C(1000000))
			break;
		wait_ns =
		    orders_apply(c, o, interval_ns, now_mono_ns) - (nw_mono_ns() - now_mono_ns);
		if (wait_ns < 1000000)
			wait_ns = 1000000;
		if (nw_provider_run(o->provider, wait_ns) != NW_OK &&
		    nw_mono_ns() - now_mono_ns < 1000000)
			usleep((useconds_t)(wait_ns / 1000));
	}
}

/* Complete under its name or absent: a reader may open the report as soon as the name appears. */
static FILE *
report_open(const char *path, char *temp, size_t cap)
{
	if (path == NULL || (size_t)snprintf(temp, cap, "%s.part", path) >= cap)
		return NULL;
	return fopen(temp, "we");
}

static void
report_close(FILE *f, const char *temp, const char *path, const struct nw_provider *p)
{
	struct nw_provider_stats st;

	if (f == NULL)
		return;
	nw_provider_get_stats(p, &st);
	fprintf(f,
	    "run docs_queued=%llu docs_sent=%llu docs_stored=%llu docs_dropped=%llu connected=%d",
	    (unsigned long long)st.docs_queued, (unsigned long long)st.docs_sent,
	    (unsigned long long)st.docs_stored, (unsigned long long)st.docs_dropped, st.connected);
	if (!st.connected)
		collect_report_text(f, "why", nw_provider_why(p));
	putc('\n', f);
	if (fclose(f) == 0)
		rename(temp, path);
}

/* Keeps nothing of the program: its pipes see their end, its file systems can be unmounted. */
static void
leave_program(void)
{
	struct sigaction term = { .sa_handler = on_term };
	int fd;

	sigaction(SIGTERM, &term, NULL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (close_range(0, ~0u, 0) != 0)
		for (fd = (int)sysconf(_SC_OPEN_MAX) - 1; fd >= 0; fd--)
			close(fd);
	for (fd = 0; fd < 3; fd++)
		if (open("/dev/null", O_RDWR) != fd)
			_exit(1);
}

/* Closes the provider; a run whose documents did not all arrive gets the reason in its record. */
static int
provider_end(struct nw_provider *p, const char *task, int64_t wait_ns)
{
	char why[LASTRUN_TEXT_BYTES] = "";
	int rc;

	if (p != NULL)
		lastrun_text(why, nw_provider_why(p));
	if ((rc = nw_provider_close(p, wait_ns)) != NW_OK)
		(void)lastrun_fail(task, why[0] != '\0' ? why : nw_strerror(rc));
	return rc;
}

void
collect_run(struct nwshm *shm, const struct collect_run_opts *opts)
{
	struct collect_opts collect_opts = opts->collect;
	struct nw_provider_opts provider_opts = {
		.box = opts->box,
		.software = "nwrun",
		.host = collect_opts.host,
		.task_id = collect_opts.task_id,
		.program = opts->program,
		.can = "rate stop status",
		.on_order = control_client_order,
	};
	struct collect_sink sink = { NULL, sink_meta, sink_caliper, sink_data, sink_end };
	static struct control_client control; /* static: the leases are large */
	struct nw_provider *p = NULL;
	struct collect *c = NULL;
	char temp[4096];

	leave_program();
	prctl(PR_SET_NAME, "nwrun-collector"); /* the arguments are the program's */
	collect_opts.report = report_open(opts->report_path, temp, sizeof(temp));
	control_client_init(&control, provider_opts.can);
	provider_opts.on_order_arg = &control;
	if (chdir("/") != 0 || nw_provider_new(&provider_opts, &p) != NW_OK)
		goto out;
	sink.arg = control.provider = p;
	if ((c = collect_new(shm, &collect_opts, &sink)) == NULL)
		goto out;
	wait_and_watch(shm, c, &control, collect_opts.interval_ns);
	collect_finish(c, nw_mono_ns(), nw_wall_ns());
out:
	unlink(opts->region_path);
	if (p != NULL)
		report_close(collect_opts.report, temp, opts->report_path, p);
	collect_free(c);
	/* the box is there: earlier runs may have left documents in spools */
	if (provider_end(p, opts->collect.task_id, opts->final_wait_ns) == NW_OK && p != NULL)
		nw_provider_adopt(&provider_opts, opts->final_wait_ns);
	control_client_clear(&control);
}

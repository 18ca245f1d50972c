/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blipp: sends the state of this host's CPUs, memory, disks, network and clock to a box, once per
 * interval.
 *
 * One thread, one poll(2): the next sample, the socket, answers and pipes of probes. Samples are
 * due at whole multiples of the interval since 1970, so that hosts sample together (ticker.h). The
 * box may order other intervals, probes, and TCP connections to follow, for as long as the box
 * renews its lease (control_client.h). Samples that need not be reported at once wait in the
 * provider for the next report.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

#include "host/lib/addresses.h"
#include "host/lib/ticker.h"
#include "host/blipp/blipp_conf.h"
#include "host/blipp/overhead.h"
#include "host/blipp/settings/configuration.h"
#include "host/blipp/probe/series_diet.h"
#include "host/blipp/follow.h"
#include "host/blipp/giveback.h"
#include "host/blipp/hostinfo.h"
#include "host/blipp/linelog.h"
#include "host/blipp/series_history.h"
#include "host/blipp/scrape.h"
#include "host/blipp/series_show.h"
#include "host/lib/hostconf.h"
#include "host/lib/hostname.h"
#include "host/lib/control_client.h"
#include "host/lib/procread.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/provider.h"
#include "narrows/terminal.h"

#define DEFAULT_FILE    "/etc/narrows/blipp.conf"
#define SECOND_NS       INT64_C(1000000000)
#define GOODBYE_NS      (2 * SECOND_NS)
#define ONCE_GOODBYE_NS (5 * SECOND_NS)
#define AWAY_NS         (10 * SECOND_NS)
/* between the first samples under a diet and the word that it is carried out */
#define DIET_SAID_NS (SECOND_NS + SECOND_NS / 5)
/* between a connection and the moment when its handshake and first samples are over */
#define SETTLED_NS (5 * SECOND_NS)
#define QUEUES_NS  (10 * SECOND_NS)
/* time between looks at the provider, which may try again, without a socket to wait for */
#define AWAY_POLL_NS (SECOND_NS / 4)

enum { COLLECTING_BYTES = 2048, ADDRESSES_BYTES = 1024 };

struct blipp {
	struct blipp_conf conf;
	struct nw_provider *provider;
	struct report report;
	struct procfs_buf buf;
	void *states[BLIPP_PROBES];
	bool warned[BLIPP_PROBES];
	bool absent[BLIPP_PROBES]; /* the system does not offer the probe's file */
	struct ticker tickers[BLIPP_PROBES], report_ticker;
	/* samples that the box wants kept: memory of the probes, when they are due, 0 in
	 * keepers[].interval_ns: the probe keeps none */
	void *keep_states[BLIPP_PROBES];
	struct ticker keepers[BLIPP_PROBES];
	struct history history;
	/* series that the box wants sent seldom; probes all of whose series are on the diet, and
	 * probes whose event types another order samples faster than the diet */
	struct diet diet;
	bool lean[BLIPP_PROBES], urged[BLIPP_PROBES];
	uint32_t diet_number; /* of the diet for which lean[] holds */
	/* lines of events: memory of the probes, and when they are due */
	void *log_states[BLIPP_PROBES];
	struct ticker log_ticker;
	struct linelog linelog;
	struct control_client control;
	struct followers followers;
	struct queues queues;   /* of the followed connections' interfaces */
	int64_t queues_mono_ns; /* of the next look for them */
	struct configuration configuration;
	struct overhead budget;
	struct scrapes scrapes;
	void *scrape_states[BLIPP_PROBES]; /* memory of the probes for /metrics: shares since the
					    * scrape before */
	struct show scraped;
	int64_t interval_ns, report_ns; /* the shortest in force; the period in force */
	uint64_t rejected;              /* orders, as far as logged */
	bool listing;                   /* every probe samples, for show_list() */
	bool for_prometheus;            /* the probe of single processors samples, too */
	char hostname[HOSTNAME_BYTES];
	char trouble[128]; /* of the box, as far as logged */
	bool connected, complained;
	int64_t seen_mono_ns;   /* the box was last connected */
	int64_t settle_mono_ns; /* the code of the start is given back; INT64_MAX: it has been */
	bool once;
};

static volatile sig_atomic_t stop_wanted;
static bool to_syslog, debug;

/* --- words --- */

static void log_line(int priority, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
log_line(int priority, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (priority == LOG_DEBUG && !debug)
		return;
	va_start(ap, fmt);
	if (to_syslog) {
		vsyslog(priority, fmt, ap);
	} else {
		vsnprintf(text, sizeof(text), fmt, ap);
		fprintf(stderr, "blipp: %s\n", terminal_text(text));
	}
	va_end(ap);
}

static void
usage(FILE *to)
{
	fputs(
	    "usage: blipp [-BdhnV] [-b BOX] [-f FILE] [-H HOSTNAME] [-i INTERVAL] [-o "
	    "name=value] [--once]\n"
	    "       blipp [-f FILE] [-i INTERVAL] [-o name=value] --list | --list-configuration | "
	    "--format csv|json|openmetrics\n"
	    "  -b BOX         host/port or tls://host of the box\n"
	    "  -f FILE        configuration (default /etc/narrows/blipp.conf, if it is there)\n"
	    "  -H HOSTNAME    name of this host\n"
	    "  -i INTERVAL    between two samples, such as 1s or 100ms\n"
	    "  -o NAME=VALUE  override a directive\n"
	    "  --once         send two samples, and end\n"
	    "  -B             run in the background, log to syslog\n"
	    "  -d             stay in the foreground, log to stderr\n"
	    "  -n             check the configuration and stop\n"
	    "  --list         print every possible metric\n"
	    "  --list-configuration  print the settings of the host that blipp reports\n"
	    "  --format F     print samples in a format instead of sending\n"
	    "  -V             version\n",
	    to);
}

/* --- sampling --- */

static bool
is_wanted_whole(const struct blipp *b, size_t i)
{
	return b->conf.probes[i] || b->listing || (b->for_prometheus && i == PROBE_percpu) ||
	    leases_started(&b->control.leases, blipp_probes[i]->event_type);
}

static bool
is_wanted(const struct blipp *b, size_t i)
{
	return !b->absent[i] &&
	    (is_wanted_whole(b, i) || (blipp_probes[i]->with_transfers && b->queues.n_irqs > 0));
}

static void
sample_one(struct blipp *b, size_t i, void *state)
{
	const struct probe *probe = blipp_probes[i];
	int rc;

	b->report.why = NULL;
	b->report.only = is_wanted_whole(b, i) ? NULL : &b->queues;
	rc = probe->sample(state, &b->report, &b->buf);
	if (rc == NW_OK || b->warned[i])
		return;
	b->warned[i] = true;
	if (rc == NW_EIO)
		log_line(LOG_WARNING, "probe.off name=%s why=\"%s\"", probe->name, strerror(errno));
	else
		log_line(LOG_WARNING, "probe.error name=%s why=\"%s\"", probe->name,
		    b->report.why != NULL ? b->report.why : nw_strerror(rc));
	b->absent[i] = rc == NW_EIO;
}

/* For struct report: out, with the history as out_arg. */
static int
history_take(
    struct report *r, const struct series *s, const struct series_kind *kind, const double *values)
{
	history_put(r->out_arg, s, kind, r->t_wall_ns, values);
	r->values += kind->n_fields;
	return NW_OK;
}

/* Samples that stay here. They have memory of their own: shares of the samples that are sent go on
 * from one to the next. */
static void
keep_due(struct blipp *b, struct clock_pair now)
{
	struct report saved = b->report;
	size_t i;

	b->report.out = history_take;
	b->report.out_arg = &b->history;
	for (i = 0; i < BLIPP_PROBES; i++) {
		if (b->keepers[i].interval_ns == 0 || !is_wanted(b, i) ||
		    !ticker_is_due(&b->keepers[i], now))
			continue;
		if (b->keep_states[i] == NULL)
			b->keep_states[i] = calloc(1, blipp_probes[i]->state_bytes);
		if (b->keep_states[i] != NULL)
			sample_one(b, i, b->keep_states[i]);
	}
	saved.values = b->report.values;
	b->report = saved;
}

/* Counters between looks, as lines. */
static void
log_due(struct blipp *b, struct clock_pair now)
{
	struct report saved = b->report;
	size_t i;

	if (b->conf.log_to == NULL || !ticker_is_due(&b->log_ticker, now))
		return;
	b->report.out = linelog_take;
	b->report.out_arg = &b->linelog;
	for (i = 0; i < BLIPP_PROBES; i++) {
		if (!linelog_wants(blipp_probes[i]->name) || b->absent[i])
			continue;
		if (b->log_states[i] == NULL &&
		    (b->log_states[i] = calloc(1, blipp_probes[i]->state_bytes)) != NULL)
			sample_one(b, i, b->log_states[i]); /* opens the file, which takes time */
		b->report.t_wall_ns = nw_wall_ns();         /* of this reading, not of the round */
		if (b->log_states[i] != NULL)
			sample_one(b, i, b->log_states[i]);
	}
	b->report = saved;
	linelog_flush(&b->linelog, now.mono_ns);
}

static int64_t
probe_interval_ns(const struct blipp *b, size_t i)
{
	int64_t ns = leases_interval_ns(
	    &b->control.leases, blipp_probes[i]->event_type, b->conf.interval_ns);

	if (b->lean[i] && !b->urged[i] && b->diet.interval_ns > ns)
		ns = b->diet.interval_ns;
	return ns * b->budget.stretch;
}

/* Samples a probe under the diet. Once all its series are on the diet, the probe itself is slow; a
 * probe that answers later, or is urged, is not. */
static void
sample_lean(struct blipp *b, size_t i, struct clock_pair now)
{
	bool before = b->lean[i];

	b->report.diet = b->diet.n == 0 || b->urged[i] ? NULL : &b->diet;
	diet_round(&b->diet, before);
	sample_one(b, i, b->states[i]);
	if (b->report.diet != NULL && blipp_probes[i]->fd == NULL)
		b->lean[i] = diet_is_whole(&b->diet);
	b->report.diet = NULL;
	if (b->lean[i] != before)
		ticker_set(&b->tickers[i], probe_interval_ns(b, i), now);
}

/* Returns whether anything was due. */
static bool
sample_due(struct blipp *b, struct clock_pair now)
{
	uint64_t before = b->report.values;
	bool any = false;
	size_t i;

	b->report.t_wall_ns = now.wall_ns;
	for (i = 0; i < BLIPP_PROBES; i++)
		if (is_wanted(b, i) && ticker_is_due(&b->tickers[i], now)) {
			sample_lean(b, i, now);
			any = true;
		}
	keep_due(b, now);
	log_due(b, now);
	if (followers_sample(&b->followers, &b->report, now) < 0)
		log_line(LOG_DEBUG, "follow.error");
	if (any)
		log_line(LOG_DEBUG, "sample values=%llu",
		    (unsigned long long)(b->report.values - before));
	return any;
}

/* --- the sum of the configuration and the box's orders --- */

/* Lets a probe keep samples between two sent samples. Returns false if the probe has kept
 * samples and now sends at this interval. */
static bool
keeper_set(struct blipp *b, size_t i, int64_t send_ns, struct clock_pair now)
{
	int64_t before_ns = b->keepers[i].interval_ns, keep_ns, ns;

	ns = leases_keep_ns(&b->control.leases, blipp_probes[i]->event_type, &keep_ns) *
	    b->budget.stretch;
	if (ns >= send_ns || blipp_probes[i]->fd != NULL)
		ns = 0;
	if (ns != 0)
		b->history.keep_ns = keep_ns;
	if (ns != 0)
		ticker_set(&b->keepers[i], ns, now);
	else
		b->keepers[i] = (struct ticker){ 0 };
	return ns != 0 || before_ns == 0 || send_ns > before_ns;
}

/* For struct report: ends. */
static size_t
ends_list(void *arg, char out[][PEER_HOST_BYTES], size_t max)
{
	return followers_ends(arg, out, max);
}

/* What was kept goes to the box that has turned from keeping to sending; else no box needs the
 * sample. */
static void
history_look(struct blipp *b, bool wanted)
{
	size_t i, n;

	for (i = 0; i < BLIPP_PROBES; i++)
		if (b->keepers[i].interval_ns != 0 && !wanted)
			return;
	if (b->history.n_stretches == 0)
		return;
	if (!wanted) {
		history_clear(&b->history);
		return;
	}
	n = history_send(&b->history, &b->report);
	log_line(LOG_INFO, "history.sent rows=%zu", n);
}

static void
intervals_set(struct blipp *b, struct clock_pair now)
{
	int64_t ns, shortest = INT64_MAX;
	bool history_wanted = false;
	size_t i;

	for (i = 0; i < BLIPP_PROBES; i++) {
		b->urged[i] =
		    leases_interval_ns(&b->control.leases, blipp_probes[i]->event_type, 0) != 0;
		b->lean[i] = b->lean[i] && b->diet_number == b->diet.number;
		ns = probe_interval_ns(b, i);
		ticker_set(&b->tickers[i], ns, now);
		history_wanted |= !keeper_set(b, i, ns, now);
		if (is_wanted(b, i) && ns < shortest)
			shortest = ns;
	}
	b->diet_number = b->diet.number;
	ticker_set(&b->log_ticker, b->conf.log_interval_ns * b->budget.stretch, now);
	history_look(b, history_wanted);
	b->interval_ns = shortest != INT64_MAX ? shortest : b->conf.interval_ns;
	b->followers.stretch = b->budget.stretch;
	followers_sync(&b->followers, &b->control.leases, b->interval_ns, &b->report, now);
	b->queues_mono_ns = now.mono_ns;
	b->report.ends = ends_list;
	b->report.ends_for_peer = leases_started(&b->control.leases, probe_peer.event_type);
	b->report.ends_for_bandwidth =
	    leases_started(&b->control.leases, probe_bandwidth.event_type);
	b->report.scratch_ordered = leases_started(&b->control.leases, probe_scratch.event_type);
	b->report.transfers = b->followers.n > 0;
	b->report.ends_arg = &b->followers;
	b->report_ns = leases_report_ns(&b->control.leases, b->conf.report_ns);
	nw_provider_hold(b->provider, b->report_ns > b->interval_ns);
	if (b->report_ns > b->interval_ns)
		ticker_set(&b->report_ticker, b->report_ns, now);
	log_line(LOG_DEBUG, "rate interval_ms=%lld report_ms=%lld orders=%zu follows=%zu",
	    (long long)(b->interval_ns / 1000000), (long long)(b->report_ns / 1000000),
	    b->control.leases.n, b->followers.n);
}

/* Orders for a probe whose file the system does not offer, and for connections where it refuses to
 * tell of any. */
static void
note_refused(struct blipp *b)
{
	char *text = b->control.refused, before[CONTROL_REFUSED_BYTES];
	size_t i;

	memcpy(before, text, sizeof(before));
	text[0] = '\0';
	for (i = 0; i < BLIPP_PROBES; i++)
		if (b->absent[i] && leases_started(&b->control.leases, blipp_probes[i]->event_type))
			snprintf(text, CONTROL_REFUSED_BYTES,
			    "the system does not offer the file of the probe %s",
			    blipp_probes[i]->name);
	if (b->followers.n > 0 && b->followers.fd < 0)
		snprintf(text, CONTROL_REFUSED_BYTES,
		    "the system refuses the statistics of TCP connections: %s",
		    strerror(b->followers.error));
	if (text[0] != '\0' && strcmp(text, before) != 0)
		log_line(LOG_WARNING, "order.refused why=\"%s\"", text);
}

/* Orders of replays without a result to come: the box need not wait. */
static void
note_declined(struct blipp *b, int64_t now_mono_ns)
{
	const struct leases *l = &b->control.leases;
	size_t i;

	b->control.declined[0] = '\0';
	for (i = 0; i < l->n; i++)
		if (replay_declines(
			b->states[PROBE_replay], &b->report, &l->list[i].order, now_mono_ns))
			control_client_id_add(b->control.declined, l->list[i].order.id);
}

static void
say_status(struct blipp *b, struct clock_pair now)
{
	char words[COLLECTING_BYTES] = "";
	size_t i, len = 0;

	if (b->report.orders_failed)
		b->control.status_mono_ns = 0;
	b->report.orders_failed = false;
	/* the box should know what is carried out, and looks once a second */
	if (b->conf.diet && b->control.diet_series != (int64_t)b->diet.n_met &&
	    b->control.status_mono_ns > now.mono_ns + DIET_SAID_NS)
		b->control.status_mono_ns = now.mono_ns + DIET_SAID_NS;
	if (now.mono_ns < b->control.status_mono_ns)
		return;
	note_refused(b);
	note_declined(b, now.mono_ns);
	for (i = 0; i < BLIPP_PROBES; i++)
		if (is_wanted(b, i))
			len += (size_t)snprintf(words + len, sizeof(words) - len, "%s%s",
			    len > 0 ? " " : "", blipp_probes[i]->name);
	for (i = 0; i < b->followers.n && len + 128 < sizeof(words); i++) {
		const struct nw_order *o = &b->followers.list[i].order;

		len += (size_t)snprintf(words + len, sizeof(words) - len, " tcp:%s/%u-%s/%u",
		    o->src, o->sport, o->dst, o->dport);
	}
	b->control.samples = (int64_t)b->report.values;
	if (b->conf.diet) {
		b->control.diet_series = (int64_t)b->diet.n_met;
		b->control.diet_unknown = (int64_t)(b->diet.n - b->diet.n_met);
	}
	control_client_status(&b->control, now.mono_ns, words, b->interval_ns, b->report_ns);
}

/* Whether the box has been away for a while: waiting rows then gather in columns, which take a
 * fraction of the memory. */
static bool
is_away(struct blipp *b, struct clock_pair now)
{
	if (b->connected)
		b->seen_mono_ns = now.mono_ns;
	return now.mono_ns - b->seen_mono_ns > AWAY_NS;
}

static void
settle(struct blipp *b, struct clock_pair now)
{
	if (now.mono_ns < b->settle_mono_ns)
		return;
	b->settle_mono_ns = INT64_MAX;
	giveback_code();
}

/* Samples that wait for a report go when the report is due. */
static void
talk(struct blipp *b, struct clock_pair now)
{
	bool report = b->report_ns > b->interval_ns, held = report || is_away(b, now);

	if (report && ticker_is_due(&b->report_ticker, now))
		nw_provider_hold(b->provider, false);
	nw_provider_run(b->provider, 0);
	nw_provider_hold(b->provider, held);
}

static int64_t
next_due(const struct blipp *b)
{
	int64_t due = followers_due(&b->followers), other = control_client_deadline(&b->control);
	size_t i;

	if (other < due)
		due = other;
	if (b->conf.log_to != NULL && b->log_ticker.due_mono_ns < due)
		due = b->log_ticker.due_mono_ns;
	if (b->conf.configuration && b->configuration.due_mono_ns < due)
		due = b->configuration.due_mono_ns;
	if (b->report_ns > b->interval_ns && b->report_ticker.due_mono_ns < due)
		due = b->report_ticker.due_mono_ns;
	if (b->diet.n > 0 && b->diet.until_mono_ns < due)
		due = b->diet.until_mono_ns;
	for (i = 0; i < BLIPP_PROBES; i++)
		if (is_wanted(b, i)) {
			if (b->tickers[i].due_mono_ns < due)
				due = b->tickers[i].due_mono_ns;
			if (b->keepers[i].interval_ns != 0 && b->keepers[i].due_mono_ns < due)
				due = b->keepers[i].due_mono_ns;
		}
	return due;
}

/* --- samples for people and for Prometheus, without a box --- */

/* Samples every wanted probe into w, with memory of its own. */
static void
show_round(struct blipp *b, void **states, struct show *w)
{
	size_t i;

	for (i = 0; i < BLIPP_PROBES; i++) {
		w->probe = blipp_probes[i]->name;
		w->source = blipp_probes[i]->source;
		if (states[i] == NULL)
			states[i] = calloc(1, blipp_probes[i]->state_bytes);
		if (states[i] != NULL && is_wanted(b, i))
			sample_one(b, i, states[i]);
	}
}

/* What blipp itself costs, by the names that every program's metrics have. */
static void
write_self(bool classic, FILE *to)
{
	const char *total = classic ? "_total" : "";
	struct rusage u = { 0 };
	long resident = 0;
	char text[128];

	procread_path("/proc/self/statm", text, sizeof(text));
	if (sscanf(text, "%*s %ld", &resident) != 1)
		resident = 0;
	getrusage(RUSAGE_SELF, &u);
	fprintf(to,
	    "# TYPE process_cpu_seconds%s counter\nprocess_cpu_seconds_total %.6f\n"
	    "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %ld\n",
	    total,
	    (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
	    resident * sysconf(_SC_PAGESIZE));
}

/* The answer to a scrape. Probes that look seldom keep their last samples. The report to the box
 * goes on afterwards as it was. */
static void
write_metrics(void *arg, bool classic, FILE *to)
{
	struct blipp *b = arg;
	struct report saved = b->report;
	size_t before = b->scraped.n;

	b->report.out = show_take;
	b->report.out_arg = &b->scraped;
	b->report.bandwidth = NULL;
	b->report.scratch = NULL;
	b->report.commands = b->report.peers = NULL; /* asking starts no command or connection */
	b->report.t_wall_ns = nw_wall_ns();
	b->for_prometheus = true;
	show_round(b, b->scrape_states, &b->scraped);
	b->for_prometheus = false;
	b->report = saved;
	show_keep_latest(&b->scraped, before);
	write_self(classic, to);
	hostinfo_write(classic, to);
	show_write_metrics(&b->scraped, classic, to);
}

/* --- the loop --- */

static void
log_connection(struct blipp *b)
{
	struct nw_provider_stats s;

	nw_provider_get_stats(b->provider, &s);
	if (s.connect_failures > 0 && !s.connected && !b->complained) {
		b->complained = true; /* set by the first complaint; a new connection clears it */
		log_line(LOG_WARNING, "box.unreachable why=\"%s\"", nw_provider_why(b->provider));
	}
	if (s.connected == b->connected)
		return;
	b->complained = false;
	b->connected = s.connected;
	b->control.status_mono_ns = 0;
	b->settle_mono_ns = nw_mono_ns() + SETTLED_NS;
	if (s.connected)
		log_line(LOG_INFO, "box.connected acknowledges=%s", s.acknowledged ? "yes" : "no");
	else
		log_line(LOG_WARNING, "box.lost why=\"%s\" dropped=%llu",
		    nw_provider_why(b->provider), (unsigned long long)s.docs_dropped);
}

static void
log_trouble(struct blipp *b)
{
	const char *trouble = nw_provider_trouble(b->provider);

	if (strcmp(trouble, b->trouble) == 0)
		return;
	if (trouble[0] != '\0')
		log_line(LOG_WARNING, "box.trouble why=\"%s\"", trouble);
	else
		log_line(LOG_INFO, "box.recovered");
	snprintf(b->trouble, sizeof(b->trouble), "%s", trouble);
}

static void
log_rejected(struct blipp *b)
{
	if (b->control.rejected != b->rejected)
		log_line(LOG_WARNING, "order.rejected why=\"%s\" all=%llu", b->control.why,
		    (unsigned long long)b->control.rejected);
	b->rejected = b->control.rejected;
}

/* Waits for the first of: a socket or pipe, a signal, `until`. */
static void
wait_for_work(struct blipp *b, int64_t until_mono_ns, const sigset_t *while_waiting)
{
	struct pollfd pfds[1 + BLIPP_PROBES + 1 + SCRAPES];
	size_t who[1 + BLIPP_PROBES], i, n = 1, n_scrapes;
	int64_t left_ns = until_mono_ns - nw_mono_ns();
	struct timespec ts;

	pfds[0].fd = nw_provider_fd(b->provider, &pfds[0].events);
	if (!b->connected && left_ns > AWAY_POLL_NS)
		left_ns = AWAY_POLL_NS;
	if (left_ns < 0)
		left_ns = 0;
	for (i = 0; i < BLIPP_PROBES; i++) {
		if (!is_wanted(b, i) || blipp_probes[i]->fd == NULL)
			continue;
		pfds[n] =
		    (struct pollfd){ .fd = blipp_probes[i]->fd(b->states[i]), .events = POLLIN };
		who[n++] = i;
	}
	n_scrapes = scrapes_poll(&b->scrapes, pfds + n);
	if (b->scrapes.n > 0 && left_ns > SECOND_NS)
		left_ns = SECOND_NS; /* a slow peer's time runs out */
	ts.tv_sec = left_ns / SECOND_NS;
	ts.tv_nsec = left_ns % SECOND_NS;
	if (ppoll(pfds, n + n_scrapes, &ts, while_waiting) <= 0 && b->scrapes.n == 0)
		return;
	scrapes_run(&b->scrapes, nw_mono_ns());
	b->report.t_wall_ns = nw_wall_ns();
	for (i = 1; i < n; i++)
		if (pfds[i].revents != 0)
			blipp_probes[who[i]]->ready(b->states[who[i]], &b->report);
}

static void
look_at_budget(struct blipp *b, struct clock_pair now)
{
	if (!overhead_step(&b->budget, now.mono_ns, control_client_cpu_s()))
		return;
	b->control.slowed = b->budget.stretch;
	b->control.overruns = b->budget.overruns;
	b->control.status_mono_ns = 0;
	log_line(LOG_WARNING, "budget.%s percent=%.3g used=%.3g intervals_times=%u",
	    b->budget.stretch > 1 ? "slower" : "kept", b->budget.share * 100, b->budget.used * 100,
	    b->budget.stretch);
	intervals_set(b, now);
}

/* Interrupts move between processors, so the queues are looked for now and then. */
static void
look_at_queues(struct blipp *b, struct clock_pair now)
{
	if (now.mono_ns < b->queues_mono_ns)
		return;
	followers_queues(&b->followers, &b->queues);
	b->queues_mono_ns = b->followers.n > 0 ? now.mono_ns + QUEUES_NS : INT64_MAX;
}

static void
look_at_configuration(struct blipp *b, struct clock_pair now)
{
	uint64_t left_out = b->configuration.left_out;
	size_t n;

	if (!b->conf.configuration)
		return;
	n = configuration_step(
	    &b->configuration, b->provider, b->report.host, &b->report.filter, now);
	if (n > 0)
		log_line(LOG_DEBUG, "configuration.sent documents=%zu", n);
	if (b->configuration.left_out != left_out)
		log_line(LOG_WARNING, "configuration.left_out settings=%llu",
		    (unsigned long long)b->configuration.left_out);
}

static void
run(struct blipp *b, const sigset_t *while_waiting)
{
	struct clock_pair now = clock_pair_now();
	int samples = 0;
	bool ordered;

	b->seen_mono_ns = now.mono_ns;
	b->settle_mono_ns = INT64_MAX;
	overhead_begin(
	    &b->budget, b->conf.budget_percent / 100, now.mono_ns, control_client_cpu_s());
	b->control.budget = b->budget.share;
	intervals_set(b, now);
	while (!stop_wanted) {
		now = clock_pair_now();
		ordered = control_client_step(&b->control, now.mono_ns);
		if (diet_expire(&b->diet, now.mono_ns) || ordered) {
			intervals_set(b, now);
			if (b->control.leases.n > 0)
				configuration_hasten(&b->configuration);
		}
		look_at_configuration(b, now);
		look_at_budget(b, now);
		look_at_queues(b, now);
		log_rejected(b);
		if (sample_due(b, now) && b->once && ++samples == 2)
			return;
		talk(b, now);
		log_connection(b);
		log_trouble(b);
		say_status(b, now);
		settle(b, now);
		if (b->control.changed)
			continue; /* an order has just come */
		wait_for_work(b, next_due(b), while_waiting);
	}
}

static bool
is_stored(const struct blipp *b)
{
	struct nw_provider_stats s;

	nw_provider_get_stats(b->provider, &s);
	return (s.acknowledged ? s.docs_stored : s.docs_sent) >= s.docs_queued;
}

/* A user of --once wants to hear why nothing arrives, and the totals of what is stored. */
static void
await_box(struct blipp *b)
{
	int64_t end_mono_ns = nw_mono_ns() + ONCE_GOODBYE_NS;

	nw_provider_hold(b->provider, false);
	while (!(b->connected && is_stored(b)) && !b->complained && !stop_wanted &&
	    nw_mono_ns() < end_mono_ns) {
		nw_provider_run(b->provider, SECOND_NS / 20);
		log_connection(b);
	}
}

/* --- start and end --- */

static void
on_stop(int signal_number)
{
	(void)signal_number;
	stop_wanted = 1;
}

/* Signals arrive only while blipp waits: no system call elsewhere has to expect them. */
static void
catch_signals(sigset_t *while_waiting)
{
	static const int wanted[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction sa = { .sa_handler = on_stop };
	sigset_t blocked;
	size_t i;

	sigemptyset(&blocked);
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		sigaction(wanted[i], &sa, NULL);
		sigaddset(&blocked, wanted[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, while_waiting);
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		sigdelset(while_waiting, wanted[i]);
	signal(SIGPIPE, SIG_IGN);
}

static int
take_diet(void *arg, const uint8_t *doc, size_t len, const char **why)
{
	struct blipp *b = arg;
	bool changed = false;
	int rc = diet_take(&b->diet, doc, len, nw_mono_ns(), &changed, why);

	b->control.changed |= changed;
	if (changed)
		log_line(LOG_INFO, "diet.taken series=%zu interval_ms=%lld", b->diet.n,
		    (long long)(b->diet.interval_ns / 1000000));
	return rc;
}

static void
blipp_clear(struct blipp *b)
{
	size_t i;

	for (i = 0; i < BLIPP_PROBES; i++) {
		if (b->states[i] != NULL)
			blipp_probes[i]->clear(b->states[i]);
		free(b->states[i]);
		if (b->keep_states[i] != NULL)
			blipp_probes[i]->clear(b->keep_states[i]);
		free(b->keep_states[i]);
		if (b->log_states[i] != NULL)
			blipp_probes[i]->clear(b->log_states[i]);
		free(b->log_states[i]);
		if (b->scrape_states[i] != NULL)
			blipp_probes[i]->clear(b->scrape_states[i]);
		free(b->scrape_states[i]);
	}
	scrapes_close(&b->scrapes);
	show_clear(&b->scraped);
	history_clear(&b->history);
	diet_clear(&b->diet);
	linelog_close(&b->linelog);
	followers_clear(&b->followers);
	control_client_clear(&b->control);
	procfs_buf_clear(&b->buf);
	blipp_conf_clear(&b->conf);
}

static int
blipp_open(struct blipp *b)
{
	static char can[64]; /* on loan to the provider */
	struct nw_provider_opts opts = {
		.box = b->conf.box,
		.software = "blipp",
		.tls_dir = b->conf.tls_dir,
		.queue_max_bytes = (uint32_t)b->conf.queue_bytes,
		.spool_dir = b->conf.spool_dir,
		.spool_max_bytes = b->conf.spool_bytes,
		.spool_max_age_ns = b->conf.spool_age_ns,
		.can = can,
		.on_order = control_client_order,
		.on_order_arg = &b->control,
	};
	char addresses[ADDRESSES_BYTES];
	size_t i;
	int rc;

	snprintf(can, sizeof(can), "start stop rate status keep%s%s", b->conf.diet ? " diet" : "",
	    b->conf.scratch.directory != NULL || b->conf.bandwidth.peers != NULL ? " replay" : "");
	addresses_list(addresses, sizeof(addresses));
	opts.addresses = addresses;
	control_client_init(&b->control, opts.can);
	if (b->conf.diet) {
		b->control.take_diet = take_diet;
		b->control.diet_arg = b;
	}
	followers_init(&b->followers);
	b->followers.all_fields = b->conf.all_tcp_fields;
	b->report.host = opts.host = hostname_get(b->conf.host, b->hostname);
	b->report.interval_s = (double)b->conf.interval_ns / 1e9;
	b->report.filter = (struct filter){ b->conf.include, b->conf.exclude };
	b->report.chronyd = b->conf.chronyd;
	b->report.commands = b->conf.commands;
	b->report.peers = b->conf.peers;
	b->report.bandwidth = &b->conf.bandwidth;
	b->report.scratch = &b->conf.scratch;
	b->report.leases = &b->control.leases;
	b->report.groups = b->conf.groups;
	b->report.programs = b->conf.programs;
	for (i = 0; i < BLIPP_PROBES; i++)
		if ((b->states[i] = calloc(1, blipp_probes[i]->state_bytes)) == NULL)
			return NW_ENOMEM;
	if (b->conf.log_to != NULL && (rc = linelog_open(&b->linelog, b->conf.log_to)) < 0) {
		log_line(LOG_ERR, "log-to %s: %s", b->conf.log_to,
		    rc == NW_EIO ? strerror(errno) : "neither an absolute path nor an address");
		return rc;
	}
	if (b->conf.listen != NULL &&
	    (rc = scrapes_open(&b->scrapes, b->conf.listen, write_metrics, b)) < 0) {
		log_line(LOG_ERR, "listen %s: %s", b->conf.listen,
		    rc == NW_EIO ? strerror(errno) : "not an address");
		return rc;
	}
	rc = nw_provider_new(&opts, &b->provider);
	b->report.provider = b->control.provider = b->provider;
	return rc;
}

/* Logs the totals and their cost, children included. */
static void
log_end(const struct blipp *b)
{
	static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	struct nw_provider_stats s;
	struct rusage u;
	double cpu_ms = 0;
	size_t i;

	for (i = 0; i < 2; i++)
		if (getrusage(whose[i], &u) == 0)
			cpu_ms += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
			    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
	nw_provider_get_stats(b->provider, &s);
	log_line(LOG_INFO,
	    "end values=%llu documents=%llu stored=%llu dropped=%llu cpu_ms=%.1f "
	    "cpu_ms_per_1000=%.2f",
	    (unsigned long long)b->report.values, (unsigned long long)s.docs_queued,
	    (unsigned long long)s.docs_stored, (unsigned long long)s.docs_dropped, cpu_ms,
	    b->report.values ? cpu_ms * 1e3 / (double)b->report.values : 0);
}

/* Waits until then, and takes the answers of probes that ask other processes. */
static void
show_answers(struct blipp *b, struct show *w, int64_t end_mono_ns)
{
	struct pollfd fds[BLIPP_PROBES];
	size_t who[BLIPP_PROBES], i, n;
	int64_t left_ns;

	while ((left_ns = end_mono_ns - nw_mono_ns()) > 0) {
		for (i = n = 0; i < BLIPP_PROBES; i++) {
			if (blipp_probes[i]->fd == NULL || b->states[i] == NULL)
				continue;
			fds[n] = (struct pollfd){ .fd = blipp_probes[i]->fd(b->states[i]),
				.events = POLLIN };
			who[n++] = i;
		}
		if (poll(fds, n, (int)(left_ns / 1000000) + 1) <= 0)
			continue;
		for (i = 0; i < n; i++) {
			w->probe = blipp_probes[who[i]]->name;
			w->source = blipp_probes[who[i]]->source;
			b->report.t_wall_ns = nw_wall_ns();
			if (fds[i].revents != 0)
				blipp_probes[who[i]]->ready(b->states[who[i]], &b->report);
		}
	}
}

/* Lists every metric that blipp can report, with the metrics of followed connections. */
static void
list_metrics(const struct blipp *b, const struct show *w)
{
	static const struct series_kind *const follow_kinds[] = { &follow_kind };
	const struct show_probe follow = { "tcp", "sock_diag(7)", follow_kinds, 1, true };
	struct show_probe probe;
	size_t i;

	for (i = 0; i < BLIPP_PROBES; i++) {
		probe = (struct show_probe){ blipp_probes[i]->name, blipp_probes[i]->source,
			blipp_probes[i]->kinds, PROBE_KINDS_MAX, b->conf.probes[i] };
		show_list(w, &probe, stdout);
	}
	show_list(w, &follow, stdout);
}

/* Prints the samples of two rounds, because shares need two; of a probe the second counts, unless
 * the probe looks seldom. Neither round takes or sends bytes of the bandwidth sensor. */
static int
show_once(struct blipp *b, enum show_format format)
{
	struct show w = { .n = 0 };
	size_t first;
	int status;

	b->listing = format == SHOW_LIST;
	b->for_prometheus = format == SHOW_OPENMETRICS;
	b->report.out = show_take;
	b->report.out_arg = &w;
	b->report.host = hostname_get(b->conf.host, b->hostname);
	b->report.filter = (struct filter){ b->conf.include, b->conf.exclude };
	b->report.chronyd = b->conf.chronyd;
	b->report.commands = b->conf.commands;
	b->report.peers = b->conf.peers;
	b->report.bandwidth = NULL;
	b->report.scratch = NULL;
	b->report.groups = b->conf.groups;
	b->report.programs = b->conf.programs;
	b->report.t_wall_ns = nw_wall_ns();
	show_round(b, b->states, &w);
	first = w.n;
	show_answers(b, &w, nw_mono_ns() + b->conf.interval_ns);
	b->report.t_wall_ns = nw_wall_ns();
	show_round(b, b->states, &w);
	show_answers(b, &w, nw_mono_ns() + SECOND_NS / 2);
	show_keep_latest(&w, first);
	show_keep_last_of_field(&w);
	if (format == SHOW_LIST)
		list_metrics(b, &w);
	show_write(&w, format, stdout);
	status = w.failed || w.n == 0 || fflush(stdout) != 0;
	show_clear(&w);
	blipp_clear(b);
	return status;
}

static int
list_configuration(struct blipp *b)
{
	const struct filter filter = { b->conf.include, b->conf.exclude };
	struct settings s = { 0 };
	size_t i;

	configuration_collect(&s, &filter);
	for (i = 0; i < s.n; i++) {
		terminal_put(stdout, s.list[i].name);
		putchar('=');
		terminal_put(stdout, s.list[i].value);
		putchar('\n');
	}
	settings_clear(&s);
	blipp_conf_clear(&b->conf);
	return fflush(stdout) != 0;
}

struct options {
	const char *file;
	bool check_only, background;
	bool configuration;      /* prints the host's settings */
	enum show_format format; /* what to print instead of sending */
};

/* The file first, whatever the order on the command line: the command line wins. */
static int
read_options(struct blipp *b, int argc, char **argv, struct options *o, char why[CONF_WHY_BYTES])
{
	static const struct option longs[] = { { "once", no_argument, NULL, '1' },
		{ "list", no_argument, NULL, 'L' },
		{ "list-configuration", no_argument, NULL, 'C' },
		{ "format", required_argument, NULL, 'F' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 } };
	static const char shorts[] = "Bb:df:H:hi:no:V";
	int c, rc = NW_OK;

	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1)
		if (c == 'f')
			o->file = optarg;
	if (o->file != NULL)
		rc = blipp_conf_read(&b->conf, o->file, why);
	else if (access(DEFAULT_FILE, F_OK) == 0)
		rc = blipp_conf_read(&b->conf, DEFAULT_FILE, why);
	optind = 0;
	opterr = 0;
	while (rc == NW_OK && (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		switch (c) {
		case 'B': o->background = true; break;
		case 'b': rc = blipp_conf_set(&b->conf, "box", optarg, why); break;
		case 'd': debug = true; break;
		case 'f': break;
		case 'H': rc = blipp_conf_set(&b->conf, "host", optarg, why); break;
		case 'h': usage(stdout); exit(0);
		case 'i': rc = blipp_conf_set(&b->conf, "interval", optarg, why); break;
		case 'n': o->check_only = true; break;
		case 'o': rc = blipp_conf_override(&b->conf, optarg, why); break;
		case 'V': puts("blipp " NW_VERSION); exit(0);
		case '1': b->once = true; break;
		case 'L': o->format = SHOW_LIST; break;
		case 'C': o->configuration = true; break;
		case 'F':
			if ((o->format = show_format_parse(optarg)) != SHOW_NONE)
				break;
			snprintf(why, CONF_WHY_BYTES, "--format %.80s: csv, json or openmetrics",
			    optarg);
			rc = NW_EINVAL;
			break;
		default: rc = NW_EINVAL; break;
		}
	}
	if (rc == NW_OK && optind < argc) {
		snprintf(why, CONF_WHY_BYTES, "%.80s: unexpected argument", argv[optind]);
		rc = NW_EINVAL;
	}
	if (rc == NW_OK && hostconf_fault() != NULL) {
		snprintf(why, CONF_WHY_BYTES, "%s", hostconf_fault());
		rc = NW_EINVAL;
	}
	return rc;
}

int
main(int argc, char **argv)
{
	static struct blipp b;
	struct options o = { 0 };
	char why[CONF_WHY_BYTES] = "";
	sigset_t while_waiting;
	int rc;

	terminal_guard();
	blipp_conf_init(&b.conf);
	b.scrapes.fd = b.linelog.fd = -1;
	if (read_options(&b, argc, argv, &o, why) < 0) {
		if (why[0] != '\0')
			log_line(LOG_ERR, "%s", why);
		usage(stderr);
		return 2;
	}
	if (o.check_only)
		return 0;
	if (o.configuration)
		return list_configuration(&b);
	if (o.format != SHOW_NONE)
		return show_once(&b, o.format);
	if (o.background && daemon(0, 0) < 0) {
		log_line(LOG_ERR, "daemon: %s", strerror(errno));
		return 1;
	}
	if ((to_syslog = o.background))
		openlog("blipp", LOG_PID, LOG_DAEMON);
	catch_signals(&while_waiting);
	if ((rc = blipp_open(&b)) < 0) {
		log_line(LOG_ERR, "start why=\"%s\"", nw_strerror(rc));
		blipp_clear(&b);
		return 1;
	}
	run(&b, &while_waiting);
	if (b.once)
		await_box(&b);
	log_end(&b);
	rc = nw_provider_close(b.provider, b.once ? ONCE_GOODBYE_NS : GOODBYE_NS);
	blipp_clear(&b);
	if (b.once && rc < 0)
		log_line(LOG_ERR, "not everything arrived");
	return b.once && rc < 0 ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwswitch: asks switches and routers for the counters of ports, and sends them to a box. Where the
 * hosts beyond a port take part in a transfer, the port is a witness of its verdict.
 *
 * One thread, one select(2): the next round, answers of switches, the box.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/lib/boxconf.h"
#include "host/lib/ticker.h"
#include "host/switch/poll.h"
#include "narrows/conftable.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/provider.h"
#include "narrows/terminal.h"

#define DEFAULT_FILE "/etc/narrows/switch.conf"
#define SECOND_NS    INT64_C(1000000000)

enum { FAILURES_TOLD = 3 };

struct switch_conf {
	char *box, *tls_dir, *switches, *ports; /* lines of the directives; NULL: none */
	int64_t interval_ns, timeout_ns;
};

struct port_series {
	struct port_line port;
	char id[SWITCH_NAME_BYTES + 32];
	bool announced;
	unsigned failures; /* in a row */
	const char *why;   /* of the last failure; NULL after an answer */
};

struct nwswitch {
	struct switch_conf conf;
	struct nw_provider *provider; /* NULL with --once */
	struct poller *poller;
	struct port_series list[PORTS_MAX];
	size_t n;
	uint64_t answers;
};

static volatile sig_atomic_t stop_wanted;

static const char *const field_names[POLL_FIELDS] = { "octets_in", "octets_out", "discards_in",
	"discards_out", "errors_in", "errors_out", "queue_length", "speed_bit_s", "uptime_s" };

/* --- configuration --- */

static int
switch_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct switch_line parsed;

	(void)row;
	return switch_line_parse(value, &parsed, why) < 0 ? NW_EINVAL
							  : conf_line_add(field, value, why);
}

static int
port_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct port_line parsed;

	(void)row;
	return port_line_parse(value, &parsed, why) < 0 ? NW_EINVAL
							: conf_line_add(field, value, why);
}

static const struct conf_type switch_type = { switch_parse, CONF_LINES };
static const struct conf_type port_type = { port_parse, CONF_LINES };

#define AT(field) offsetof(struct switch_conf, field)
static const struct conf_row rows[] = {
	{ "box", &conf_box, AT(box), NULL, NULL, NULL },
	{ "tls-dir", &conf_text, AT(tls_dir), NULL, NULL, NULL },
	{ "interval", &conf_duration, AT(interval_ns), "1 s", "100 ms", "60 m" },
	{ "timeout", &conf_duration, AT(timeout_ns), "900 ms", "50 ms", "60 s" },
	{ "switch", &switch_type, AT(switches), NULL, NULL, NULL },
	{ "port", &port_type, AT(ports), NULL, NULL, NULL },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]),
	sizeof(struct switch_conf), false };

/* Only the owner may read secrets. */
static bool
file_is_private(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || (st.st_mode & 077) == 0)
		return true;
	fprintf(stderr, "nwswitch: %s has secrets, and other users may read the file: chmod 600\n",
	    path);
	return false;
}

static const char *
next_line(const char *text)
{
	text += strcspn(text, "\n");
	return *text == '\n' ? text + 1 : text;
}

static int
lines_take(struct nwswitch *w)
{
	struct switch_line line;
	struct port_line port;
	struct port_series *s;
	const char *text, *why;
	int rc;

	for (text = w->conf.switches; text != NULL && *text != '\0'; text = next_line(text))
		if ((rc = switch_line_parse(text, &line, &why)) < 0 ||
		    (rc = poller_switch(w->poller, &line)) < 0) {
			fprintf(stderr, "nwswitch: switch %s: %s\n", line.name, nw_strerror(rc));
			return rc;
		}
	for (text = w->conf.ports; text != NULL && *text != '\0'; text = next_line(text)) {
		s = &w->list[w->n];
		if ((rc = port_line_parse(text, &port, &why)) < 0 ||
		    (rc = poller_port(w->poller, &port)) < 0) {
			fprintf(stderr, "nwswitch: port %s %u: %s\n", port.name, port.index,
			    rc == NW_ENOTFOUND ? "no such switch" : nw_strerror(rc));
			return rc;
		}
		s->port = port;
		snprintf(s->id, sizeof(s->id), "%s/port/%u", port.name, port.index);
		w->n++;
	}
	return NW_OK;
}

/* --- answers --- */

static struct port_series *
series_of(struct nwswitch *w, const struct port_line *port)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (w->list[i].port.index == port->index &&
		    strcmp(w->list[i].port.name, port->name) == 0)
			return &w->list[i];
	return NULL;
}

static int
announce(struct nwswitch *w, struct port_series *s, const struct poll_answer *a)
{
	struct nw_kv subject[] = { { "hostname", NW_KV_TEXT, { .text = s->port.name } },
		{ "type", NW_KV_TEXT, { .text = "switch" } },
		{ "port", NW_KV_INT, { .i = s->port.index } },
		{ "interface", NW_KV_TEXT,
		    { .text = a->port_name[0] != '\0' ? a->port_name : NULL } },
		{ "serves", NW_KV_TEXT, { .text = s->port.serves } } };
	const struct nw_kv params[] = { { "collectionInterval", NW_KV_REAL,
					    { .d = (double)w->conf.interval_ns / 1e9 } },
		{ "unit", NW_KV_TEXT, { .text = "By" } },
		{ "kind", NW_KV_TEXT, { .text = "counter" } },
		{ "unit_discards_in", NW_KV_TEXT, { .text = "{packet}" } },
		{ "unit_discards_out", NW_KV_TEXT, { .text = "{packet}" } },
		{ "unit_errors_in", NW_KV_TEXT, { .text = "{packet}" } },
		{ "unit_errors_out", NW_KV_TEXT, { .text = "{packet}" } },
		{ "unit_queue_length", NW_KV_TEXT, { .text = "{packet}" } },
		{ "kind_queue_length", NW_KV_TEXT, { .text = "gauge" } },
		{ "unit_speed_bit_s", NW_KV_TEXT, { .text = "bit/s" } },
		{ "kind_speed_bit_s", NW_KV_TEXT, { .text = "gauge" } },
		{ "unit_uptime_s", NW_KV_TEXT, { .text = "s" } },
		{ "kind_uptime_s", NW_KV_TEXT, { .text = "gauge" } } };
	int rc = nw_provider_meta(w->provider, s->id, NULL, NW_TYPE_PORT, subject,
	    sizeof(subject) / sizeof(subject[0]), params, sizeof(params) / sizeof(params[0]));

	s->announced = rc == NW_OK;
	return rc;
}

static void
answer_print(const struct port_line *port, const struct poll_answer *a)
{
	size_t i;

	printf("%s %u %s", port->name, port->index,
	    a->port_name[0] != '\0' ? terminal_text(a->port_name) : "-");
	for (i = 0; i < POLL_FIELDS; i++)
		if (!isnan(a->values[i]))
			printf(" %s=%.17g", field_names[i], a->values[i]);
	putchar('\n');
}

static void
on_answer(void *arg, const struct port_line *port, const struct poll_answer *a)
{
	struct nwswitch *w = arg;
	struct port_series *s = series_of(w, port);

	w->answers++;
	if (s->failures >= FAILURES_TOLD)
		fprintf(stderr, "nwswitch: %s port %u answers again\n", port->name, port->index);
	s->failures = 0;
	s->why = NULL;
	if (w->provider == NULL) {
		answer_print(port, a);
		return;
	}
	if (s->announced || announce(w, s, a) == NW_OK)
		(void)nw_provider_data(
		    w->provider, s->id, a->t_wall_ns, field_names, a->values, POLL_FIELDS, NULL, 0);
}

static void
on_failure(void *arg, const struct port_line *port, const char *why)
{
	struct port_series *s = series_of(arg, port);

	s->why = why;
	if (++s->failures == FAILURES_TOLD)
		fprintf(stderr, "nwswitch: %s port %u: %s\n", port->name, port->index, why);
}

/* --- the loop --- */

static void
wait_for_work(struct nwswitch *w, int64_t until_mono_ns)
{
	int64_t left_ns = until_mono_ns - nw_mono_ns();
	struct timeval timeout;
	fd_set in, out;
	short events = 0;
	int n_fds = 0, fd = -1;

	left_ns = left_ns < 0 ? 0 : left_ns > SECOND_NS / 4 ? SECOND_NS / 4 : left_ns;
	timeout = (struct timeval){ 0, left_ns / 1000 };
	FD_ZERO(&in);
	FD_ZERO(&out);
	poller_select(w->poller, &n_fds, &in, &timeout);
	if (w->provider != NULL && (fd = nw_provider_fd(w->provider, &events)) >= 0 &&
	    fd < FD_SETSIZE) {
		if ((events & POLLIN) != 0)
			FD_SET(fd, &in);
		if ((events & POLLOUT) != 0)
			FD_SET(fd, &out);
		n_fds = fd >= n_fds ? fd + 1 : n_fds;
	}
	if (select(n_fds, &in, &out, NULL, &timeout) < 0)
		FD_ZERO(&in);
	poller_run(w->poller, &in);
	if (w->provider != NULL)
		nw_provider_run(w->provider, 0);
}

static void
run(struct nwswitch *w)
{
	struct ticker ticker = { 0 };
	struct clock_pair now;

	while (!stop_wanted) {
		now = clock_pair_now();
		ticker_set(&ticker, w->conf.interval_ns, now);
		if (ticker_is_due(&ticker, now))
			poller_ask(w->poller);
		wait_for_work(w, ticker.due_mono_ns);
	}
}

/* A round for people: 0 if every port has answered. */
static int
run_once(struct nwswitch *w)
{
	int round;
	size_t i;

	for (round = 0; round < 2 && w->answers < w->n; round++) { /* v3 gets to know the switch */
		poller_ask(w->poller);
		while (poller_waiting(w->poller) > 0)
			wait_for_work(w, nw_mono_ns() + SECOND_NS);
	}
	for (i = 0; i < w->n; i++)
		if (w->list[i].why != NULL)
			fprintf(stderr, "nwswitch: %s port %u: %s\n", w->list[i].port.name,
			    w->list[i].port.index, w->list[i].why);
	return w->answers >= w->n && w->n > 0 ? 0 : 1;
}

static void
on_stop(int signal_number)
{
	(void)signal_number;
	stop_wanted = 1;
}

static void
usage(FILE *to)
{
	fputs("usage: nwswitch [-hnV] [-b BOX] [-f FILE] [--once]\n", to);
}

static int
watch(struct nwswitch *w)
{
	struct nw_provider_opts opts = {
		.box = w->conf.box, .software = "nwswitch", .tls_dir = w->conf.tls_dir
	};
	int rc = nw_provider_new(&opts, &w->provider);

	if (rc < 0) {
		fprintf(stderr, "nwswitch: %s\n", nw_strerror(rc));
		return 1;
	}
	signal(SIGTERM, on_stop);
	signal(SIGINT, on_stop);
	signal(SIGPIPE, SIG_IGN);
	run(w);
	return nw_provider_close(w->provider, 2 * SECOND_NS) == NW_OK ? 0 : 1;
}

int
main(int argc, char **argv)
{
	static const struct option longs[] = { { "once", no_argument, NULL, '1' },
		{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 } };
	const char *file = DEFAULT_FILE, *box = NULL;
	char why[CONF_WHY_BYTES] = "";
	bool once = false, check = false;
	static struct nwswitch w;
	int c, rc;

	terminal_guard();
	while ((c = getopt_long(argc, argv, "b:f:hnV", longs, NULL)) != -1)
		switch (c) {
		case 'b': box = optarg; break;
		case 'f': file = optarg; break;
		case 'h': usage(stdout); return 0;
		case 'n': check = true; break;
		case 'V': puts("nwswitch " NW_VERSION); return 0;
		case '1': once = true; break;
		default: usage(stderr); return 2;
		}
	if (conftable_init(&table, &w.conf, why) < 0 ||
	    conftable_read(&table, &w.conf, file, NULL, why) < 0 ||
	    (box != NULL && conftable_set(&table, &w.conf, "box", box, why) < 0)) {
		fprintf(stderr, "nwswitch: %s\n", why);
		return 2;
	}
	if (!file_is_private(file))
		return 2;
	if ((w.poller = poller_new(w.conf.timeout_ns, on_answer, on_failure, &w)) == NULL)
		return 1;
	rc = lines_take(&w) < 0 ? 2 : check ? 0 : once ? run_once(&w) : watch(&w);
	poller_free(w.poller);
	conftable_clear(&table, &w.conf);
	return rc;
}

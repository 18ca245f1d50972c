/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/conf.h"

#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/analysis/ruleline.h"
#include "web/answer/expected.h"
#include "narrows/address.h"
#include "narrows/announce.h"
#include "narrows/cert.h"
#include "narrows/err.h"
#include "narrows/siteconf.h"
#include "narrows/speakers.h"
#include "narrows/xmalloc.h"

enum { PORT_FREE_MIN = 1024 }; /* ports below are for privileged processes */

/* --- the types of directives that only the box has --- */

static int
addresses_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	char one[300], host[ADDRESS_HOST_BYTES];
	const char *p = value;
	uint16_t port;
	size_t len;

	(void)row;
	while (!conf_is_none(value) && *p != '\0') {
		len = strcspn(p, " \t");
		if (len >= sizeof(one)) {
			*why = "address too long";
			return NW_EINVAL;
		}
		memcpy(one, p, len);
		one[len] = '\0';
		if (address_parse(one, host, &port) < 0) {
			*why = "not an address: write 127.0.0.1/5006";
			return NW_EINVAL;
		}
		p += len;
		p += strspn(p, " \t");
	}
	return conf_text_set(field, value, why);
}

/* Host names and addresses without port; "none" and "any" have the form of a name, too. */
static int
names_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	const char *p = value;
	char one[256];
	size_t len;

	(void)row;
	for (; *p != '\0'; p += len, p += strspn(p, " \t")) {
		len = strcspn(p, " \t");
		snprintf(one, sizeof(one), "%.*s", (int)len, p);
		if (len >= sizeof(one) || !nw_cert_name_ok(one)) {
			*why = "not a name: write box.example.net";
			return NW_EINVAL;
		}
	}
	return conf_text_set(field, value, why);
}

static int
networks_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct nw_networks parsed;

	(void)row;
	if (!conf_is_none(value) && nw_networks_parse(value, &parsed, why) < 0)
		return NW_EINVAL;
	return conf_text_set(field, value, why);
}

/* One address, kept as host/port in whatever form the file has the address. */
static int
one_address_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	char host[ADDRESS_HOST_BYTES], text[ADDRESS_HOST_BYTES + 8];
	uint16_t port;

	(void)row;
	if (address_parse(value, host, &port) < 0) {
		*why = "not an address: write 127.0.0.1/8080";
		return NW_EINVAL;
	}
	snprintf(text, sizeof(text), "%s/%u", host, port);
	return conf_text_set(field, text, why);
}

static int
address_or_none_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	return conf_is_none(value) ? conf_text_set(field, value, why)
				   : one_address_parse(row, value, field, why);
}

static int
response_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	const char *blank = strchr(value, ' ');

	(void)row;
	if (strcmp(value, "rate") == 0 || strcmp(value, "operation-time") == 0 ||
	    (blank != NULL && blank != value && blank[1] != '\0' && strchr(blank + 1, ' ') == NULL))
		return conf_text_set(field, value, why);
	*why = "write rate, operation-time, or an event type and a field";
	return NW_EINVAL;
}

/* 0 means all the space that the disk gives; between 0 and 16 MiB no store can live. */
static int
ceiling_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	int rc = conf_size.parse(row, value, field, why);

	if (rc == NW_OK && *(uint64_t *)field != 0 &&
	    *(uint64_t *)field < (uint64_t)STORE_MAX_BYTES_MIN) {
		*why = "write 0 or at least 16 MiB";
		return NW_EINVAL;
	}
	return rc;
}

/* Adds a line unless there are `max` already. */
static int
line_add(void *field, const char *value, size_t max, const char *too_many, const char **why)
{
	const char *before = *(char *const *)field, *next;
	size_t lines = 1;

	for (next = before; next != NULL && (next = strchr(next, '\n')) != NULL; next++)
		lines++;
	if (before != NULL && lines >= max) {
		*why = too_many;
		return NW_EINVAL;
	}
	return conf_line_add(field, value, why);
}

static int
rule_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct ruleline parsed;
	const char *next;

	(void)row;
	if (conf_is_none(value))
		return NW_OK;
	if (ruleline_parse(value, &parsed, &next, why) < 0)
		return NW_EINVAL;
	return line_add(field, value, RULELINES_MAX, "more than 16 rules", why);
}

static int
expect_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	struct expected_line parsed;
	const char *next;

	(void)row;
	if (conf_is_none(value))
		return NW_OK;
	if (expected_line_parse(value, &parsed, &next, why) < 0)
		return NW_EINVAL;
	return line_add(field, value, EXPECTED_LINES_MAX, "more than 64 lines", why);
}

static int
speaks_for_parse(const struct conf_row *row, const char *value, void *field, const char **why)
{
	char line[SPEAKERS_LINE_BYTES];

	(void)row;
	if (conf_is_none(value))
		return NW_OK;
	if (speakers_line(value, line, why) < 0)
		return NW_EINVAL;
	return line_add(field, line, SPEAKERS_MAX, "more than 256 grants", why);
}

static const struct conf_type speaks_for = { speaks_for_parse, CONF_LINES };
static const struct conf_type expect = { expect_parse, CONF_LINES };
static const struct conf_type rule = { rule_parse, CONF_LINES };
static const struct conf_type addresses = { addresses_parse, true };
static const struct conf_type one_address = { one_address_parse, true };
static const struct conf_type address_or_none = { address_or_none_parse, true };
static const struct conf_type networks = { networks_parse, true };
static const struct conf_type names = { names_parse, true };
static const struct conf_type response = { response_parse, true };
static const struct conf_type ceiling = { ceiling_parse, false };

#define AT(field) offsetof(struct conf, field)
static const struct conf_row rows[] = {
	SITECONF_ROWS(struct conf),
	{ "user", &conf_text, AT(user), "auto", NULL, NULL },
	{ "listen-xsp", &addresses, AT(listen_xsp), "127.0.0.1/5006", NULL, NULL },
	{ "listen-xsp-tls", &addresses, AT(listen_xsp_tls), "none", NULL, NULL },
	{ "listen-events", &addresses, AT(listen_events), "127.0.0.1/14380", NULL, NULL },
	{ "listen-events-tls", &addresses, AT(listen_events_tls), "none", NULL, NULL },
	{ "listen-announcements", &addresses, AT(listen_announcements), "none", NULL, NULL },
	{ "announce-from", &networks, AT(announce_from), "none", NULL, NULL },
	{ "announce-names", &conf_text, AT(announce_names), "/etc/narrows/scitags.conf", NULL,
	    NULL },
	{ "announce-hide", &conf_word, AT(announce_hide), "none", "none, users, files or all",
	    NULL },
	{ "take-traces", &conf_bool, AT(take_traces), "no", NULL, NULL },
	{ "listen-http", &one_address, AT(listen_http), "127.0.0.1/8080", NULL, NULL },
	{ "listen-https", &address_or_none, AT(listen_https), "none", NULL, NULL },
	{ "login", &conf_word, AT(login), "beyond-loopback", "beyond-loopback, always or never",
	    NULL },
	{ "http-names", &names, AT(http_names), "none", NULL, NULL },
	{ "http-max-connections", &conf_count, AT(http_max_connections), "128", "1", "4096" },
	{ "http-query-cost", &conf_count, AT(http_query_cost), "50000000", "1000", "100000000000" },
	{ "http-max-connections-per-address", &conf_count, AT(http_max_connections_per_address),
	    "32", "1", "4096" },
	{ "http-request-timeout", &conf_duration, AT(http_request_timeout_ns), "10 s", "100 ms",
	    "10 m" },
	{ "http-answer-timeout", &conf_duration, AT(http_answer_timeout_ns), "1 m", "1 s", "1 h" },
	{ "tls-names", &names, AT(tls_names), "none", NULL, NULL },
	{ "plain-xsp-beyond-loopback", &conf_bool, AT(plain_xsp_beyond_loopback), "no", NULL,
	    NULL },
	{ "max-connections", &conf_count, AT(max_connections), "1024", "1", "65536" },
	{ "max-connections-per-address", &conf_count, AT(max_connections_per_address), "512", "1",
	    "65536" },
	{ "max-handshakes", &conf_count, AT(max_handshakes), "512", "1", "65536" },
	{ "max-memory", &conf_size, AT(max_memory_bytes), "256 MiB", "16 MiB", "64 GiB" },
	{ "max-blocks", &conf_count, AT(max_blocks), "64", "1", "65535" },
	{ "max-block-size", &conf_size, AT(max_block_bytes), "1 MiB", "4 KiB", "64 MiB" },
	{ "max-message-size", &conf_size, AT(max_message_bytes), "4 MiB", "4 KiB", "256 MiB" },
	{ "max-queue-size", &conf_size, AT(max_queue_bytes), "64 MiB", "1 MiB", "4 GiB" },
	{ "max-series-per-session", &conf_count, AT(max_series_per_session), "10000", "10",
	    "1000000" },
	{ "handshake-timeout", &conf_duration, AT(handshake_timeout_ns), "10 s", "100 ms", "10 m" },
	{ "idle-timeout", &conf_duration, AT(idle_timeout_ns), "1 h", "1 s", "30 d" },
	{ "flush-interval", &conf_duration, AT(flush_interval_ns), "100 ms", "1 ms", "60 s" },
	{ "commit-interval", &conf_duration, AT(commit_interval_ns), "100 ms", "1 ms", "60 s" },
	{ "durability", &conf_word, AT(durability), "full", "full or normal", NULL },
	{ "keep-raw", &conf_duration, AT(keep_ns[STORE_ROWS]), "0 s", "0 s", "36500 d" },
	{ "keep-10s", &conf_duration, AT(keep_ns[STORE_10S]), "90 d", "0 s", "36500 d" },
	{ "keep-1min", &conf_duration, AT(keep_ns[STORE_1MIN]), "730 d", "0 s", "36500 d" },
	{ "keep-1h", &conf_duration, AT(keep_ns[STORE_1H]), "0 s", "0 s", "36500 d" },
	{ "keep-events", &conf_duration, AT(keep_events_ns), "365 d", "0 s", "36500 d" },
	{ "keep-sessions", &conf_duration, AT(keep_sessions_ns), "0 s", "0 s", "36500 d" },
	{ "max-store-size", &ceiling, AT(max_store_bytes), "0", NULL, NULL },
	{ "session-linger", &conf_duration, AT(session_linger_ns), "1 s", "0 s", "1 h" },
	{ "analysis-interval", &conf_duration, AT(analysis_interval_ns), "10 s", "1 s", "1 d" },
	{ "alpha", &conf_fraction, AT(alpha), "0.05", "0.000001", "0.5" },
	{ "margin", &conf_fraction, AT(margin), "10 %", "0", "10" },
	{ "segment-min-windows", &conf_count, AT(segment_min_windows), "5", "5", "1000" },
	{ "density-bandwidth", &conf_fraction, AT(density_bandwidth), "2", "0.1", "10" },
	{ "density-peak-min", &conf_fraction, AT(density_peak_min), "1 %", "0", "1" },
	{ "density-cutoff", &conf_fraction, AT(density_cutoff), "5 %", "0", "1" },
	{ "reduction-window", &conf_duration, AT(reduction_window_ns), "10 m", "10 s", "1 d" },
	{ "reduction-min-rows", &conf_count, AT(reduction_min_rows), "30", "10", "100000" },
	{ "reduction-response", &response, AT(reduction_response), "rate", NULL, NULL },
	{ "reduction-every", &conf_duration, AT(reduction_every_ns), "1 d", "0", "30 d" },
	{ "reduction-history", &conf_duration, AT(reduction_history_ns), "7 d", "1 m", "366 d" },
	{ "diet-after", &conf_duration, AT(diet_after_ns), "30 d", "0", "366 d" },
	{ "diet-interval", &conf_duration, AT(diet_interval_ns), "60 s", "1 s", "1 h" },
	{ "diet-accept", &names, AT(diet_accept), "none", NULL, NULL },
	{ "reduction-faithful", &conf_bool, AT(reduction_faithful), "no", NULL, NULL },
	{ "escalate", &conf_bool, AT(escalate), "yes", NULL, NULL },
	{ "escalate-interval", &conf_duration, AT(escalate_interval_ns), "100 ms", "10 ms", "1 m" },
	{ "escalate-fastest", &conf_duration, AT(escalate_fastest_ns), "50 ms", "10 ms", "1 m" },
	{ "escalate-report-period", &conf_duration, AT(escalate_report_ns), "500 ms", "10 ms",
	    "1 m" },
	{ "escalate-tcp", &conf_bool, AT(escalate_tcp), "yes", NULL, NULL },
	{ "escalate-kernel", &conf_word, AT(escalate_kernel), "undecided",
	    "no, undecided or always", NULL },
	{ "escalate-replay", &conf_bool, AT(escalate_replay), "yes", NULL, NULL },
	{ "escalate-keep", &conf_duration, AT(escalate_keep_ns), "60 s", "0 s", "10 m" },
	{ "rule", &rule, AT(rules), "none", NULL, NULL },
	{ "speaks-for", &speaks_for, AT(speaks_for), "none", NULL, NULL },
	{ "active-tests", &names, AT(active_tests), "none", NULL, NULL },
	{ "expect", &expect, AT(expect), "none", NULL, NULL },
	{ "escalate-lease", &conf_duration, AT(escalate_lease_ns), "5 s", "1 s", "1 h" },
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };
_Static_assert((int)N_ROWS <= (int)CONF_ROWS_MAX, "a line number for each");
static const struct conf_table table = { rows, N_ROWS, sizeof(struct conf), false };

void
conf_init(struct conf *c)
{
	char why[CONF_WHY_BYTES];

	if (conftable_init(&table, c, why) < 0)
		abort(); /* the table contradicts itself */
}

void
conf_clear(struct conf *c)
{
	conftable_clear(&table, c);
	free(c->path);
	memset(c, 0, sizeof(*c));
}

int
conf_read(struct conf *c, const char *path, char why[CONF_WHY_BYTES])
{
	int rc;

	if ((rc = conftable_read(&table, c, path, c->line, why)) < 0)
		return rc;
	free(c->path);
	c->path = xstrdup(path);
	return NW_OK;
}

int
conf_override(struct conf *c, const char *assignment, char why[CONF_WHY_BYTES])
{
	const struct conf_row *row;
	int rc;

	if ((rc = conftable_override(&table, c, assignment, &row, why)) == NW_OK)
		c->line[row - rows] = 0;
	return rc;
}

bool
conf_is_none(const char *value)
{
	return strcmp(value, "none") == 0;
}

/* Writes the fault of a directive, with the directive's place in the file. */
static int
refuse(const struct conf *c, const char *name, char why[CONF_WHY_BYTES], const char *fmt, ...)
{
	unsigned line = c->line[conftable_find(&table, name) - rows];
	size_t n = 0;
	va_list ap;

	if (line != 0)
		n = (size_t)snprintf(why, CONF_WHY_BYTES, "%.80s:%u: ", c->path, line);
	n += (size_t)snprintf(why + n, CONF_WHY_BYTES - n, "%s ", name);
	va_start(ap, fmt);
	vsnprintf(why + n, CONF_WHY_BYTES - n, fmt, ap);
	va_end(ap);
	return NW_EINVAL;
}

/* Numbers need no lookup; a name must resolve now, as when the box starts. */
static int
address_check(const struct conf *c, const char *name, const char *address, bool in_clear,
    char why[CONF_WHY_BYTES])
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai = NULL;
	char host[ADDRESS_HOST_BYTES];
	uint16_t port;
	int rc;

	if (address_parse(address, host, &port) < 0)
		return refuse(c, name, why, "%.100s: not an address", address);
	if ((rc = getaddrinfo(host, NULL, &hints, &ai)) != 0)
		return refuse(c, name, why, "%.100s: %s", address, gai_strerror(rc));
	freeaddrinfo(ai);
	if (in_clear && !address_is_loopback(host))
		return refuse(c, name, why,
		    "%.60s: measurements would cross the network in clear; use listen-xsp-tls, or "
		    "set \"plain-xsp-beyond-loopback yes\"",
		    address);
	return NW_OK;
}

static bool
addresses_have_low_port(const char *p)
{
	char one[300], host[ADDRESS_HOST_BYTES];
	uint16_t port = 0;
	bool low = false;
	size_t len;

	for (; !conf_is_none(p) && *p != '\0' && !low; p += len, p += strspn(p, " \t")) {
		len = strcspn(p, " \t");
		snprintf(one, sizeof(one), "%.*s", (int)len, p);
		low = address_parse(one, host, &port) == NW_OK && port > 0 && port < PORT_FREE_MIN;
	}
	return low;
}

bool
conf_has_low_port(const struct conf *c)
{
	return addresses_have_low_port(c->listen_xsp) ||
	    addresses_have_low_port(c->listen_xsp_tls) ||
	    addresses_have_low_port(c->listen_events) ||
	    addresses_have_low_port(c->listen_events_tls) ||
	    addresses_have_low_port(c->listen_announcements) ||
	    addresses_have_low_port(c->listen_http) || addresses_have_low_port(c->listen_https);
}

bool
conf_lines_unasked(const struct conf *c)
{
	return strcmp(c->listen_events, conftable_find(&table, "listen-events")->def) == 0;
}

static bool
is_beyond_loopback(const char *address)
{
	char host[ADDRESS_HOST_BYTES];
	uint16_t port;

	return !conf_is_none(address) && address_parse(address, host, &port) == NW_OK &&
	    !address_is_loopback(host);
}

bool
conf_wants_login(const struct conf *c)
{
	return c->login == WEB_ALWAYS ||
	    (c->login == WEB_BEYOND_LOOPBACK && is_beyond_loopback(c->listen_https));
}

static int
addresses_check(const struct conf *c, const char *name, bool in_clear, char why[CONF_WHY_BYTES])
{
	const char *p = *(char *const *)((const char *)c + conftable_find(&table, name)->offset);
	char one[300];
	int rc = NW_OK, n = 0;
	size_t len;

	for (; !conf_is_none(p) && *p != '\0' && rc == NW_OK; p += len, p += strspn(p, " \t")) {
		len = strcspn(p, " \t");
		snprintf(one, sizeof(one), "%.*s", (int)len, p);
		if (++n > CONF_LISTENERS_MAX)
			return refuse(
			    c, name, why, "has more than %d addresses", CONF_LISTENERS_MAX);
		rc = address_check(c, name, one, in_clear, why);
	}
	return rc;
}

int
conf_check(const struct conf *c, char why[CONF_WHY_BYTES])
{
	static const char *const listeners[] = { "listen-xsp", "listen-events", "listen-xsp-tls",
		"listen-events-tls", "listen-announcements", "listen-http", "listen-https" };
	int rc = NW_OK;
	size_t i;

	if (c->max_block_bytes > c->max_message_bytes)
		return refuse(c, "max-block-size", why, "is above max-message-size");
	if (c->escalate_report_ns < c->escalate_interval_ns)
		return refuse(c, "escalate-report-period", why, "is below escalate-interval");
	for (i = 0; i < sizeof(listeners) / sizeof(listeners[0]) && rc == NW_OK; i++)
		rc = addresses_check(c, listeners[i], i < 2 && !c->plain_xsp_beyond_loopback, why);
	if (rc == NW_OK && c->login != WEB_NEVER && is_beyond_loopback(c->listen_http))
		return refuse(c, "listen-http", why,
		    "%.60s: passwords and the report would cross the network in clear; use "
		    "listen-https, or set \"login never\" for a report open to all",
		    c->listen_http);
	return rc;
}

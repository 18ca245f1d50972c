/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/conf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "narrows/xmalloc.h"
#include "narrows/cert.h"
#include "narrows/err.h"

struct directive;
typedef int parse_fn(const struct directive *d, const char *value, void *field, const char **why);

struct directive {
	const char *name;
	parse_fn *parse;
	size_t offset;
	const char *def;
	const char *min, *max; /* in the directive's own syntax; NULL: none */
};

static const char *const E_NUMBER = "not a number";
static const char *const E_RANGE = "out of range";

static int
text_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	char **out = field;

	(void)d;
	if (*value == '\0') {
		*why = "empty";
		return NW_EINVAL;
	}
	free(*out);
	*out = xstrdup(value);
	return NW_OK;
}

static int
addresses_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	char one[300], host[256];
	const char *p = value;
	uint16_t port;
	size_t len;

	while (!conf_is_none(value) && *p != '\0') {
		len = strcspn(p, " \t");
		if (len >= sizeof(one)) {
			*why = "address too long";
			return NW_EINVAL;
		}
		memcpy(one, p, len);
		one[len] = '\0';
		if (conf_address(one, host, &port) < 0) {
			*why = "not an address: write 127.0.0.1/5006";
			return NW_EINVAL;
		}
		p += len;
		p += strspn(p, " \t");
	}
	return text_parse(d, value, field, why);
}

/* Host names and addresses without port; "none" and "any" are of their form. */
static int
names_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	const char *p = value;
	char one[256];
	size_t len;

	for (; *p != '\0'; p += len, p += strspn(p, " \t")) {
		len = strcspn(p, " \t");
		snprintf(one, sizeof(one), "%.*s", (int)len, p);
		if (len >= sizeof(one) || !nw_cert_name_ok(one)) {
			*why = "not a name: write box.example.net";
			return NW_EINVAL;
		}
	}
	return text_parse(d, value, field, why);
}

/* One address, kept as host/port whatever it was written as. */
static int
address_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	char host[256], **out = field;
	uint16_t port;

	(void)d;
	if (conf_address(value, host, &port) < 0) {
		*why = "not an address: write 127.0.0.1/8080";
		return NW_EINVAL;
	}
	free(*out);
	*out = xasprintf("%s/%u", host, port);
	return NW_OK;
}

static int
bool_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	bool *out = field;

	(void)d;
	if (strcmp(value, "yes") == 0)
		*out = true;
	else if (strcmp(value, "no") == 0)
		*out = false;
	else {
		*why = "write yes or no";
		return NW_EINVAL;
	}
	return NW_OK;
}

static int
durability_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	bool *full = field;

	(void)d;
	*full = strcmp(value, "full") == 0;
	if (*full || strcmp(value, "normal") == 0)
		return NW_OK;
	*why = "write full or normal";
	return NW_EINVAL;
}

static int
response_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	bool *operation_time = field;

	(void)d;
	*operation_time = strcmp(value, "operation-time") == 0;
	if (*operation_time || strcmp(value, "rate") == 0)
		return NW_OK;
	*why = "write rate or operation-time";
	return NW_EINVAL;
}

static int
optaddress_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	return conf_is_none(value) ? text_parse(d, value, field, why)
				   : address_parse(d, value, field, why);
}

/* A number with an optional unit out of a table of {unit, factor}; the whole text must be used. */
struct unit {
	const char *name;
	double factor;
};

static int
scaled_parse(const char *value, const struct unit *units, double *out, const char **why)
{
	char *end;
	size_t i;

	errno = 0;
	*out = strtod(value, &end);
	if (end == value || errno != 0 || !(*out >= 0)) {
		*why = E_NUMBER;
		return NW_EINVAL;
	}
	end += strspn(end, " ");
	for (i = 0; units[i].name != NULL; i++)
		if (strcmp(end, units[i].name) == 0) {
			*out *= units[i].factor;
			return NW_OK;
		}
	*why = "unknown unit";
	return NW_EINVAL;
}

static int
bounded_parse(const struct directive *d, const char *value, const struct unit *units, double *out,
    const char **why)
{
	double lo, hi;
	int rc;

	if ((rc = scaled_parse(value, units, out, why)) < 0)
		return rc;
	if ((d->min != NULL && scaled_parse(d->min, units, &lo, why) == NW_OK && *out < lo) ||
	    (d->max != NULL && scaled_parse(d->max, units, &hi, why) == NW_OK && *out > hi)) {
		*why = E_RANGE;
		return NW_EINVAL;
	}
	return NW_OK;
}

static int
duration_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	static const struct unit units[] = { { "s", 1e9 }, { "", 1e9 }, { "ms", 1e6 },
		{ "us", 1e3 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 },
		{ NULL, 0 } };
	double v;
	int rc;

	if ((rc = bounded_parse(d, value, units, &v, why)) == NW_OK)
		*(int64_t *)field = (int64_t)v;
	return rc;
}

int
conf_duration(const char *text, int64_t *out_ns, const char **why)
{
	static const struct directive any = { .name = "", .max = "36500 d" };

	return duration_parse(&any, text, out_ns, why);
}

static int
size_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	static const struct unit units[] = { { "", 1 }, { "B", 1 }, { "KiB", 1024 },
		{ "MiB", 1048576 }, { "GiB", 1073741824 }, { "TiB", 1099511627776 }, { NULL, 0 } };
	double v;
	int rc;

	if ((rc = bounded_parse(d, value, units, &v, why)) == NW_OK)
		*(uint64_t *)field = (uint64_t)v;
	return rc;
}

/* Below the smallest a store can live in there is only 0: as much as the disk gives. */
static int
ceiling_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	int rc = size_parse(d, value, field, why);

	if (rc == NW_OK && *(uint64_t *)field != 0 &&
	    *(uint64_t *)field < (uint64_t)STORE_MAX_BYTES_MIN) {
		*why = "write 0 or at least 16 MiB";
		return NW_EINVAL;
	}
	return rc;
}

static int
count_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	static const struct unit units[] = { { "", 1 }, { NULL, 0 } };
	double v;
	int rc;

	if ((rc = bounded_parse(d, value, units, &v, why)) == NW_OK)
		*(uint64_t *)field = (uint64_t)v;
	return rc;
}

static int
fraction_parse(const struct directive *d, const char *value, void *field, const char **why)
{
	static const struct unit units[] = { { "", 1 }, { "%", 0.01 }, { NULL, 0 } };

	return bounded_parse(d, value, units, field, why);
}

#define AT(field) offsetof(struct conf, field)
static const struct directive directives[] = {
	{ "state-dir", text_parse, AT(state_dir), "/var/lib/narrows", NULL, NULL },
	{ "listen-xsp", addresses_parse, AT(listen_xsp), "127.0.0.1/5006", NULL, NULL },
	{ "listen-xsp-tls", addresses_parse, AT(listen_xsp_tls), "none", NULL, NULL },
	{ "listen-http", address_parse, AT(listen_http), "127.0.0.1/8080", NULL, NULL },
	{ "listen-https", optaddress_parse, AT(listen_https), "none", NULL, NULL },
	{ "http-names", names_parse, AT(http_names), "none", NULL, NULL },
	{ "http-max-connections", count_parse, AT(http_max_connections), "128", "1", "4096" },
	{ "http-max-connections-per-address", count_parse, AT(http_max_connections_per_address),
	    "32", "1", "4096" },
	{ "http-request-timeout", duration_parse, AT(http_request_timeout_ns), "10 s", "100 ms",
	    "10 m" },
	{ "http-answer-timeout", duration_parse, AT(http_answer_timeout_ns), "1 m", "1 s", "1 h" },
	{ "tls-dir", text_parse, AT(tls_dir), "tls", NULL, NULL },
	{ "tls-names", names_parse, AT(tls_names), "none", NULL, NULL },
	{ "plain-xsp-beyond-loopback", bool_parse, AT(plain_xsp_beyond_loopback), "no", NULL,
	    NULL },
	{ "max-connections", count_parse, AT(max_connections), "1024", "1", "65536" },
	{ "max-connections-per-address", count_parse, AT(max_connections_per_address), "512", "1",
	    "65536" },
	{ "max-blocks", count_parse, AT(max_blocks), "64", "1", "65535" },
	{ "max-block-size", size_parse, AT(max_block_bytes), "1 MiB", "4 KiB", "64 MiB" },
	{ "max-message-size", size_parse, AT(max_message_bytes), "4 MiB", "4 KiB", "256 MiB" },
	{ "max-queue-size", size_parse, AT(max_queue_bytes), "64 MiB", "1 MiB", "4 GiB" },
	{ "max-series-per-session", count_parse, AT(max_series_per_session), "10000", "10",
	    "1000000" },
	{ "handshake-timeout", duration_parse, AT(handshake_timeout_ns), "10 s", "100 ms", "10 m" },
	{ "idle-timeout", duration_parse, AT(idle_timeout_ns), "1 h", "1 s", "30 d" },
	{ "flush-interval", duration_parse, AT(flush_interval_ns), "100 ms", "1 ms", "60 s" },
	{ "commit-interval", duration_parse, AT(commit_interval_ns), "100 ms", "1 ms", "60 s" },
	{ "durability", durability_parse, AT(sync_full), "full", NULL, NULL },
	{ "keep-raw", duration_parse, AT(keep_ns[STORE_ROWS]), "7 d", "0 s", "36500 d" },
	{ "keep-10s", duration_parse, AT(keep_ns[STORE_10S]), "90 d", "0 s", "36500 d" },
	{ "keep-1min", duration_parse, AT(keep_ns[STORE_1MIN]), "730 d", "0 s", "36500 d" },
	{ "keep-1h", duration_parse, AT(keep_ns[STORE_1H]), "0 s", "0 s", "36500 d" },
	{ "keep-sessions", duration_parse, AT(keep_sessions_ns), "0 s", "0 s", "36500 d" },
	{ "max-store-size", ceiling_parse, AT(max_store_bytes), "0", NULL, NULL },
	{ "session-linger", duration_parse, AT(session_linger_ns), "1 s", "0 s", "1 h" },
	{ "analysis-interval", duration_parse, AT(analysis_interval_ns), "10 s", "1 s", "1 d" },
	{ "alpha", fraction_parse, AT(alpha), "0.05", "0.000001", "0.5" },
	{ "margin", fraction_parse, AT(margin), "10 %", "0", "10" },
	{ "segment-min-windows", count_parse, AT(segment_min_windows), "5", "5", "1000" },
	{ "density-bandwidth", fraction_parse, AT(density_bandwidth), "2", "0.1", "10" },
	{ "density-peak-min", fraction_parse, AT(density_peak_min), "1 %", "0", "1" },
	{ "density-cutoff", fraction_parse, AT(density_cutoff), "5 %", "0", "1" },
	{ "reduction-window", duration_parse, AT(reduction_window_ns), "10 m", "10 s", "1 d" },
	{ "reduction-min-rows", count_parse, AT(reduction_min_rows), "30", "10", "100000" },
	{ "reduction-response", response_parse, AT(reduction_operation_time), "rate", NULL, NULL },
	{ "reduction-faithful", bool_parse, AT(reduction_faithful), "no", NULL, NULL },
	{ "escalate", bool_parse, AT(escalate), "yes", NULL, NULL },
	{ "escalate-interval", duration_parse, AT(escalate_interval_ns), "100 ms", "10 ms", "1 m" },
	{ "escalate-report-period", duration_parse, AT(escalate_report_ns), "500 ms", "10 ms",
	    "1 m" },
	{ "escalate-tcp", bool_parse, AT(escalate_tcp), "yes", NULL, NULL },
	{ "escalate-lease", duration_parse, AT(escalate_lease_ns), "5 s", "1 s", "1 h" },
};
enum { N_DIRECTIVES = sizeof(directives) / sizeof(directives[0]) };
_Static_assert((int)N_DIRECTIVES <= (int)CONF_DIRECTIVES_MAX, "a line number for each");

static const struct directive *
directive_find(const char *name)
{
	size_t i;

	for (i = 0; i < N_DIRECTIVES; i++)
		if (strcmp(directives[i].name, name) == 0)
			return &directives[i];
	return NULL;
}

static int
directive_set(
    struct conf *c, const struct directive *d, const char *value, char why[CONF_WHY_BYTES])
{
	const char *reason = "";
	int rc;

	rc = d->parse(d, value, (char *)c + d->offset, &reason);
	if (rc < 0) {
		if (reason == E_RANGE)
			snprintf(why, CONF_WHY_BYTES, "%s %s: out of range %s to %s", d->name,
			    value, d->min ? d->min : "0", d->max ? d->max : "any");
		else
			snprintf(why, CONF_WHY_BYTES, "%s %s: %s", d->name, value, reason);
	}
	return rc;
}

void
conf_init(struct conf *c)
{
	char why[CONF_WHY_BYTES];
	size_t i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < N_DIRECTIVES; i++)
		if (directive_set(c, &directives[i], directives[i].def, why) < 0)
			abort(); /* the table contradicts itself */
}

static bool
is_text(const struct directive *d)
{
	return d->parse == text_parse || d->parse == addresses_parse || d->parse == address_parse ||
	    d->parse == optaddress_parse || d->parse == names_parse;
}

static char **
text_of(struct conf *c, const struct directive *d)
{
	return (char **)((char *)c + d->offset);
}

void
conf_clear(struct conf *c)
{
	size_t i;

	for (i = 0; i < N_DIRECTIVES; i++)
		if (is_text(&directives[i]))
			free(*text_of(c, &directives[i]));
	free(c->path);
	memset(c, 0, sizeof(*c));
}

static void
conf_copy(struct conf *to, const struct conf *from)
{
	char **text;
	size_t i;

	*to = *from;
	for (i = 0; i < N_DIRECTIVES; i++)
		if (is_text(&directives[i])) {
			text = text_of(to, &directives[i]);
			*text = xstrdup(*text);
		}
	to->path = xstrdup(from->path);
}

static char *
trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r\n");
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return s;
}

/* One line, already cut at '#'. Empty is fine. Number 0: of the command line, where a name may come
 * again. */
static int
line_apply(struct conf *c, char *line, unsigned number, char why[CONF_WHY_BYTES])
{
	const struct directive *d;
	char *name = trim(line), *value;

	if (*name == '\0')
		return NW_OK;
	value = name + strcspn(name, " \t=");
	if (*value != '\0')
		*value++ = '\0';
	value = trim(value);
	if (*value == '=')
		value = trim(value + 1);
	if ((d = directive_find(name)) == NULL) {
		snprintf(why, CONF_WHY_BYTES, "%.60s: unknown directive", name);
		return NW_EINVAL;
	}
	if (*value == '\0') {
		snprintf(why, CONF_WHY_BYTES, "%s: no value", name);
		return NW_EINVAL;
	}
	if (number != 0 && c->line[d - directives] != 0) {
		snprintf(why, CONF_WHY_BYTES, "%s: given twice", name);
		return NW_EINVAL;
	}
	c->line[d - directives] = number;
	return directive_set(c, d, value, why);
}

int
conf_read(struct conf *c, const char *path, char why[CONF_WHY_BYTES])
{
	char line[1024], reason[CONF_WHY_BYTES];
	struct conf fresh;
	unsigned number = 0;
	int rc = NW_OK;
	FILE *f;

	if ((f = fopen(path, "r")) == NULL) {
		snprintf(why, CONF_WHY_BYTES, "%s: %s", path, strerror(errno));
		return NW_EIO;
	}
	conf_copy(&fresh, c);
	free(fresh.path);
	fresh.path = xstrdup(path);
	memset(fresh.line, 0, sizeof(fresh.line));
	while (rc == NW_OK && fgets(line, sizeof(line), f) != NULL) {
		number++;
		if (strchr(line, '\n') == NULL && !feof(f)) {
			snprintf(reason, sizeof(reason), "line too long");
			rc = NW_EINVAL;
		} else {
			line[strcspn(line, "#")] = '\0';
			rc = line_apply(&fresh, line, number, reason);
		}
	}
	if (rc == NW_OK && ferror(f)) {
		snprintf(reason, sizeof(reason), "%s", strerror(errno));
		rc = NW_EIO;
	}
	fclose(f);
	if (rc < 0) {
		snprintf(why, CONF_WHY_BYTES, "%.80s:%u: %.150s", path, number, reason);
		conf_clear(&fresh);
		return rc;
	}
	conf_clear(c);
	*c = fresh;
	return NW_OK;
}

int
conf_override(struct conf *c, const char *assignment, char why[CONF_WHY_BYTES])
{
	char *line = xstrdup(assignment), reason[CONF_WHY_BYTES];
	int rc;

	if ((rc = line_apply(c, line, 0, reason)) < 0)
		snprintf(why, CONF_WHY_BYTES, "-o %.60s: %.150s", assignment, reason);
	free(line);
	return rc;
}

int
conf_address(const char *text, char host[256], uint16_t *port)
{
	const char *sep = strchr(text, '/'), *end;
	unsigned long number;
	char *rest;
	size_t len;

	if (sep == NULL)
		sep = strrchr(text, ':');
	if (sep == NULL || !isdigit((unsigned char)sep[1]))
		return NW_EINVAL;
	if (strpbrk(text, " \t") != NULL)
		return NW_EINVAL;
	number = strtoul(sep + 1, &rest, 10);
	if (*rest != '\0' || number > 65535)
		return NW_EINVAL;
	end = sep;
	if (*text == '[' && end > text && end[-1] == ']') {
		text++;
		end--;
	}
	len = (size_t)(end - text);
	if (len == 0 || len >= 256)
		return NW_EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	*port = (uint16_t)number;
	return NW_OK;
}

bool
conf_is_loopback(const char *host)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return strcmp(host, "localhost") == 0;
}

bool
conf_is_none(const char *value)
{
	return strcmp(value, "none") == 0;
}

char *
conf_tls_dir(const struct conf *c)
{
	return c->tls_dir[0] == '/' ? xstrdup(c->tls_dir)
				    : xasprintf("%s/%s", c->state_dir, c->tls_dir);
}

/* What is wrong with a directive that parses, and where it stands. */
static int
refuse(const struct conf *c, const char *name, char why[CONF_WHY_BYTES], const char *fmt, ...)
{
	unsigned line = c->line[directive_find(name) - directives];
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

/* Numbers need no lookup; a name must lead somewhere now, as it will have to when the box
 * starts. */
static int
address_check(const struct conf *c, const char *name, const char *address, bool in_clear,
    char why[CONF_WHY_BYTES])
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai = NULL;
	char host[256];
	uint16_t port;
	int rc;

	if (conf_address(address, host, &port) < 0)
		return refuse(c, name, why, "%.100s: not an address", address);
	if ((rc = getaddrinfo(host, NULL, &hints, &ai)) != 0)
		return refuse(c, name, why, "%.100s: %s", address, gai_strerror(rc));
	freeaddrinfo(ai);
	if (in_clear && !conf_is_loopback(host))
		return refuse(c, name, why,
		    "%.60s: measurements would cross the network in clear; "
		    "say \"plain-xsp-beyond-loopback yes\" if that is meant",
		    address);
	return NW_OK;
}

static int
addresses_check(const struct conf *c, const char *name, bool in_clear, char why[CONF_WHY_BYTES])
{
	const char *p = *(char *const *)((const char *)c + directive_find(name)->offset);
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
	static const char *const listeners[] = { "listen-xsp", "listen-xsp-tls", "listen-http",
		"listen-https" };
	int rc = NW_OK;
	size_t i;

	if (c->max_block_bytes > c->max_message_bytes)
		return refuse(c, "max-block-size", why, "is above max-message-size");
	if (c->escalate_report_ns < c->escalate_interval_ns)
		return refuse(c, "escalate-report-period", why, "is below escalate-interval");
	for (i = 0; i < sizeof(listeners) / sizeof(listeners[0]) && rc == NW_OK; i++)
		rc = addresses_check(c, listeners[i], i == 0 && !c->plain_xsp_beyond_loopback, why);
	return rc;
}

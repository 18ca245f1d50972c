/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/linelog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lib/conn.h"
#include "narrows/err.h"

#define AGAIN_NS  INT64_C(5000000000)
#define SECOND_NS INT64_C(1000000000)

enum { LINE_BYTES = 600 };

/* The paper's list of values, under the paper's keyword for a value if the paper has a keyword. */
static const struct keyword {
	const char *probe, *event_type, *field, *keyword;
	bool share; /* a share of the interval, written as percent */
} keywords[] = {
	{ "snmp", SERIES_PREFIX "network:tcp:utilization", "retrans", "NETSTAT_RETRANSSEGS",
	    false },
	{ "cpu", NW_TYPE_CPU, "user", "VMSTAT_CPU_USER", true },
	{ "cpu", NW_TYPE_CPU, "system", "VMSTAT_CPU_SYS", true },
	{ "cpu", SERIES_PREFIX "cpu:activity", "interrupts", "VMSTAT_INTERRUPTS", false },
	{ "cpu", SERIES_PREFIX "cpu:activity", "context_switches", "VMSTAT_CONTEXT_SWITCHES",
	    false },
	{ "net", NW_TYPE_NETWORK, "drops_in", "NETSTAT_IF_DROPS_IN", false },
	{ "net", NW_TYPE_NETWORK, "drops_out", "NETSTAT_IF_DROPS_OUT", false },
	{ "net", NW_TYPE_NETWORK, "errors_in", "NETSTAT_IF_ERRORS_IN", false },
	{ "qdisc", SERIES_PREFIX "network:qdisc", "drops", "NETSTAT_QUEUE_DROPS", false },
	{ "softnet", SERIES_PREFIX "network:softnet", "dropped", "NETSTAT_BACKLOG_DROPS", false },
};
enum { N_KEYWORDS = sizeof(keywords) / sizeof(keywords[0]) };

bool
linelog_wants(const char *probe)
{
	size_t i;

	for (i = 0; i < N_KEYWORDS && strcmp(keywords[i].probe, probe) != 0; i++)
		continue;
	return i < N_KEYWORDS;
}

/* --- lines --- */

static void
line_put(struct linelog *l, const char *line, size_t len)
{
	size_t cap = l->cap > 0 ? 2 * l->cap : 8192;
	char *grown;

	if (l->len + len > LINELOG_BYTES_MAX) {
		l->lost++;
		return;
	}
	if (l->len + len > l->cap) {
		if ((grown = realloc(l->text, cap)) == NULL) {
			l->lost++;
			return;
		}
		l->text = grown;
		l->cap = cap;
	}
	memcpy(l->text + l->len, line, len);
	l->len += len;
	l->lines++;
}

static void
interval_put(struct linelog *l, const struct report *r, const struct keyword *k,
    const struct linelog_last *from, double count)
{
	char line[LINE_BYTES];
	int len = snprintf(line, sizeof(line),
	    "%s; %.255s; %" PRId64 "; %09" PRId64 "; %.10g; %" PRId64 "; %09" PRId64 "%s%s;\n",
	    k->keyword, r->host, r->t_wall_ns / SECOND_NS, r->t_wall_ns % SECOND_NS, count,
	    from->t_wall_ns / SECOND_NS, from->t_wall_ns % SECOND_NS,
	    from->device[0] != '\0' ? "; " : "", from->device);

	if (len > 0 && (size_t)len < sizeof(line))
		line_put(l, line, (size_t)len);
}

static struct linelog_last *
last_of(struct linelog *l, size_t keyword, const char *device)
{
	struct linelog_last *last;
	size_t i;

	for (i = 0; i < l->n_last; i++)
		if (l->last[i].keyword == keyword && strcmp(l->last[i].device, device) == 0)
			return &l->last[i];
	if (l->n_last == LINELOG_LAST_MAX)
		return NULL;
	last = &l->last[l->n_last++];
	*last = (struct linelog_last){ .keyword = keyword, .value = NAN };
	snprintf(last->device, sizeof(last->device), "%s", device);
	return last;
}

/* A share belongs to the time since the sample before; a counter that steps back begins anew. */
static void
value_take(
    struct linelog *l, const struct report *r, size_t keyword, const char *device, double value)
{
	struct linelog_last *last = last_of(l, keyword, device);
	const struct keyword *k = &keywords[keyword];

	if (last == NULL || isnan(value))
		return;
	if (last->t_wall_ns != 0 && k->share)
		interval_put(l, r, k, last, value * 100);
	else if (last->t_wall_ns != 0 && value > last->value)
		interval_put(l, r, k, last, value - last->value);
	last->value = value;
	last->t_wall_ns = r->t_wall_ns;
}

int
linelog_take(
    struct report *r, const struct series *s, const struct series_kind *kind, const double *values)
{
	struct linelog *l = r->out_arg;
	size_t i, f;

	for (i = 0; i < N_KEYWORDS; i++) {
		if (strncmp(keywords[i].event_type, kind->event_type,
			strlen(keywords[i].event_type)) != 0)
			continue;
		for (f = 0; f < kind->n_fields; f++)
			if (strcmp(kind->fields[f].name, keywords[i].field) == 0)
				value_take(l, r, i, s->device, values[f]);
	}
	return NW_OK;
}

/* --- where lines go --- */

static int
peer_connect(struct linelog *l)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV },
			*found = NULL;
	struct conn_addr a;
	int fd;

	if (conn_addr_parse(l->target, &a) < 0 || a.tls ||
	    getaddrinfo(a.host, a.port, &hints, &found) != 0)
		return NW_EINVAL;
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) < 0 && errno != EINPROGRESS) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	l->fd = fd;
	return NW_OK;
}

int
linelog_open(struct linelog *l, const char *target)
{
	*l = (struct linelog){ .fd = -1, .target = target, .to_peer = target[0] != '/' };
	if (l->to_peer)
		return peer_connect(l);
	l->fd =
	    open(target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0640);
	return l->fd >= 0 ? NW_OK : NW_EIO;
}

/* Forgets lines up to a whole one: a new connection begins with a whole line. */
static void
peer_lost(struct linelog *l)
{
	char *end = l->len > 0 ? memchr(l->text, '\n', l->len) : NULL;
	size_t cut = end != NULL ? (size_t)(end - l->text) + 1 : l->len;

	close(l->fd);
	l->fd = -1;
	l->lost += cut > 0;
	if (cut > 0)
		memmove(l->text, l->text + cut, l->len - cut);
	l->len -= cut;
}

void
linelog_flush(struct linelog *l, int64_t now_mono_ns)
{
	ssize_t n;

	if (l->fd < 0 && l->to_peer && now_mono_ns >= l->again_mono_ns) {
		l->again_mono_ns = now_mono_ns + AGAIN_NS;
		(void)peer_connect(l);
	}
	if (l->fd < 0 || l->len == 0)
		return;
	n = l->to_peer ? send(l->fd, l->text, l->len, MSG_NOSIGNAL) : write(l->fd, l->text, l->len);
	if (n < 0 && l->to_peer && errno != EAGAIN && errno != EINTR && errno != ENOTCONN)
		peer_lost(l);
	if (n <= 0)
		return;
	l->len -= (size_t)n;
	memmove(l->text, l->text + n, l->len);
}

void
linelog_close(struct linelog *l)
{
	if (l->fd >= 0)
		close(l->fd);
	free(l->text);
	*l = (struct linelog){ .fd = -1 };
}

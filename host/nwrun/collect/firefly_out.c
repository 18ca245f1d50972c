/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/collect/firefly_out.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lib/uuid.h"
#include "narrows/announce.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/format.h"
#include "narrows/jsontext.h"

#define ONGOING_NS (30 * INT64_C(1000000000))

/* DATAGRAM_BYTES: the least MTU of IPv6 without its headers. NAME_BYTES: of host and program, which
 * the datagram has room for in their longest form. */
enum { FLOWS_MAX = 256, DATAGRAM_BYTES = 1232, NAME_BYTES = 32 };

/* Account of TCP by the field of a row, with the unit of the datagram. */
static const struct {
	const char *field, *name;
	double unit;
} numbers[] = {
#define X(field, name, unit) { #field, name, unit },
	NW_FIREFLY_TCP(X)
#undef X
	    { "notsent_bytes", "notsentBytes", 1 },
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

struct flow {
	char id[UUID_BYTES]; /* empty: this place is free */
	char program[NAME_BYTES];
	struct net_addr here, there;
	int64_t begin_wall_ns, last_wall_ns, said_wall_ns; /* 0: nothing moved, nothing said yet */
	double bytes_in, bytes_out, cwnd_bytes, number[NUMBERS];
};

struct firefly_out {
	struct hostconf_listeners to;
	unsigned experiment, activity;
	char host[NAME_BYTES];
	const struct collect_sink *next;
	int fd[2]; /* of IPv4 and IPv6; -1: none */
	uint64_t sent;
	int64_t look_wall_ns, before_wall_ns; /* times of the newest rows, and of older rows */
	struct flow flow[FLOWS_MAX];
};

/* --- the datagram --- */

struct text {
	char bytes[DATAGRAM_BYTES + 1];
	size_t len;
	bool cut;
};

static void __attribute__((format(printf, 2, 3))) text_add(struct text *t, const char *form, ...)
{
	va_list ap;
	int n;

	va_start(ap, form);
	n = vsnprintf(t->bytes + t->len, sizeof(t->bytes) - t->len, form, ap);
	va_end(ap);
	t->cut |= n < 0 || (size_t)n >= sizeof(t->bytes) - t->len;
	t->len = t->cut ? t->len : t->len + (size_t)n;
}

/* JSON has no number that is not finite. */
static void
text_number(struct text *t, const char *before, const char *name, double value)
{
	if (isfinite(value))
		text_add(t, "%s\"%s\":%.15g", before, name, value);
}

static void
text_name(struct text *t, const char *name)
{
	char out[JSONTEXT_CHAR_BYTES * NAME_BYTES + 2];

	text_add(t, "%.*s", (int)jsontext_write(out, name, strlen(name)), out);
}

static void
text_flow(struct text *t, const struct flow *f)
{
	char here[INET6_ADDRSTRLEN], there[INET6_ADDRSTRLEN];

	text_add(t,
	    "\"flow-id\":{\"afi\":\"%s\",\"src-ip\":\"%s\",\"dst-ip\":\"%s\",\"protocol\":\"tcp\","
	    "\"src-port\":%u,\"dst-port\":%u},",
	    f->here.family == AF_INET ? "ipv4" : "ipv6",
	    inet_ntop(f->here.family, f->here.ip, here, sizeof(here)),
	    inet_ntop(f->there.family, f->there.ip, there, sizeof(there)), f->here.port,
	    f->there.port);
}

static void
text_account(struct text *t, const struct flow *f)
{
	const char *before = "";
	size_t i;

	text_add(t, ",\"netlink\":{\"tcpInfo\":{");
	for (i = 0; i < NUMBERS; i++) {
		text_number(t, before, numbers[i].name, f->number[i] / numbers[i].unit);
		before = t->bytes[t->len - 1] == '{' ? "" : ",";
	}
	for (i = 0; i < NUMBERS; i++)
		if (strcmp(numbers[i].field, "snd_mss") == 0 && f->number[i] > 0)
			text_number(t, before, "sndCwnd", round(f->cwnd_bytes / f->number[i]));
	text_add(t, "}}");
}

static void
datagram_make(struct text *t, const struct firefly_out *o, const struct flow *f, const char *state)
{
	const struct fmt now = fmt_iso(f->last_wall_ns, 6);

	*t = (struct text){ .len = 0 };
	text_add(t, "<134>1 %s %s narrows - firefly-json - {\"version\":1,", now.s, o->host);
	text_add(t, "\"flow-lifecycle\":{\"state\":\"%s\",\"current-time\":\"%s\",", state, now.s);
	if (strcmp(state, "end") == 0)
		text_add(t, "\"end-time\":\"%s\",", now.s);
	text_add(t, "\"start-time\":\"%s\"},", fmt_iso(f->begin_wall_ns, 6).s);
	text_flow(t, f);
	text_add(t,
	    "\"context\":{\"experiment-id\":%u,\"activity-id\":%u,\"application\":", o->experiment,
	    o->activity);
	text_name(t, f->program);
	text_add(t, "},\"usage\":{\"received\":%.0f,\"sent\":%.0f}", f->bytes_in, f->bytes_out);
	text_account(t, f);
	text_add(t, "}");
}

/* --- the network --- */

static void
send_to(struct firefly_out *o, const struct text *t, const struct net_addr *a, uint16_t port)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	bool is_v6 = a->family == AF_INET6;
	const void *to = is_v6 ? (const void *)&v6 : &v4;
	int *fd = &o->fd[is_v6];

	memcpy(is_v6 ? (void *)&v6.sin6_addr : &v4.sin_addr, a->ip, is_v6 ? 16 : 4);
	if (*fd < 0)
		*fd = socket(a->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd >= 0 &&
	    sendto(*fd, t->bytes, t->len, MSG_NOSIGNAL, to, is_v6 ? sizeof(v6) : sizeof(v4)) ==
		(ssize_t)t->len)
		o->sent++;
}

static void
say(struct firefly_out *o, struct flow *f, const char *state)
{
	struct text t;
	size_t i;

	datagram_make(&t, o, f, state);
	f->said_wall_ns = f->last_wall_ns;
	if (t.cut)
		return;
	if (o->to.destination)
		send_to(o, &t, &f->there, HOSTCONF_FIREFLY_PORT);
	for (i = 0; i < o->to.n; i++)
		send_to(o, &t, &o->to.at[i], o->to.at[i].port);
}

/* --- flows --- */

/* Also for an empty id: a free place; NULL without one. */
static struct flow *
flow_find(struct firefly_out *o, const char *id)
{
	size_t i;

	for (i = 0; i < FLOWS_MAX; i++)
		if (strcmp(o->flow[i].id, id) == 0)
			return &o->flow[i];
	return NULL;
}

/* False: no connection between two hosts. */
static bool
subject_read(struct flow *f, const struct nw_kv *kv, size_t n)
{
	const char *src = nw_kv_text(kv, n, "src"), *dst = nw_kv_text(kv, n, "dst"),
		   *program = nw_kv_text(kv, n, "program");
	const uint16_t sport = (uint16_t)nw_kv_int(kv, n, "sport", 0),
		       dport = (uint16_t)nw_kv_int(kv, n, "dport", 0);

	snprintf(f->program, sizeof(f->program), "%s", program != NULL ? program : "");
	/* a connection within a host is nobody else's */
	return src != NULL && dst != NULL && sport != 0 && dport != 0 &&
	    net_addr_parse(&f->here, src, sport) && net_addr_parse(&f->there, dst, dport) &&
	    f->here.family == f->there.family && !net_addr_is_loopback(&f->there) &&
	    memcmp(f->here.ip, f->there.ip, sizeof(f->here.ip)) != 0;
}

static void
flow_begin(struct firefly_out *o, const char *id, const struct nw_kv *subject, size_t n)
{
	struct flow *f, fresh = { .cwnd_bytes = NAN };
	size_t i;

	for (i = 0; i < NUMBERS; i++)
		fresh.number[i] = NAN;
	if (strlen(id) >= sizeof(fresh.id) || id[0] == '\0' || flow_find(o, id) != NULL ||
	    !subject_read(&fresh, subject, n) || (f = flow_find(o, "")) == NULL)
		return;
	*f = fresh;
	snprintf(f->id, sizeof(f->id), "%s", id);
}

static void
flow_add(struct flow *f, const char *const *fields, const double *values, size_t n)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		if (strcmp(fields[i], "bytes_in") == 0)
			f->bytes_in += values[i];
		else if (strcmp(fields[i], "bytes_out") == 0)
			f->bytes_out += values[i];
		else if (strcmp(fields[i], "cwnd_bytes") == 0)
			f->cwnd_bytes = values[i];
		for (k = 0; k < NUMBERS; k++)
			if (strcmp(fields[i], numbers[k].field) == 0)
				f->number[k] = values[i];
	}
}

static void
flow_end(struct firefly_out *o, struct flow *f)
{
	if (f->begin_wall_ns != 0)
		say(o, f, "end");
	f->id[0] = '\0';
}

/* --- the sink --- */

static int
on_meta(void *arg, const char *id, const char *pid, const char *event_type,
    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params, size_t n_params)
{
	struct firefly_out *o = arg;

	if (strcmp(event_type, NW_TYPE_CONNECTION) == 0)
		flow_begin(o, id, subject, n_subject);
	return o->next->meta(
	    o->next->arg, id, pid, event_type, subject, n_subject, params, n_params);
}

/* A row is of the time before it: its connection began after the rows of the look before. */
static int
on_data(void *arg, const char *mid, int64_t t_wall_ns, const char *const *fields,
    const double *values, size_t n_fields, const uint8_t *hist, size_t hist_len)
{
	struct firefly_out *o = arg;
	struct flow *f = mid[0] != '\0' ? flow_find(o, mid) : NULL;

	if (t_wall_ns > o->look_wall_ns) {
		o->before_wall_ns = o->look_wall_ns;
		o->look_wall_ns = t_wall_ns;
	}
	if (f != NULL) {
		flow_add(f, fields, values, n_fields);
		f->last_wall_ns = t_wall_ns;
		if (f->begin_wall_ns == 0) {
			f->begin_wall_ns = o->before_wall_ns;
			say(o, f, "start");
		} else if (t_wall_ns - f->said_wall_ns >= ONGOING_NS) {
			say(o, f, "ongoing");
		}
	}
	return o->next->data(
	    o->next->arg, mid, t_wall_ns, fields, values, n_fields, hist, hist_len);
}

static void
on_end(void *arg, const char *mid)
{
	struct firefly_out *o = arg;
	struct flow *f = mid[0] != '\0' ? flow_find(o, mid) : NULL;

	if (f != NULL)
		flow_end(o, f);
	o->next->end(o->next->arg, mid);
}

struct firefly_out *
firefly_out_new(const struct hostconf *conf, const char *host, int64_t now_wall_ns,
    const struct collect_sink *next, struct collect_sink *sink)
{
	struct firefly_out *o;
	size_t i;

	if (conf->fireflies == NULL || (o = calloc(1, sizeof(*o))) == NULL)
		return NULL;
	o->fd[0] = o->fd[1] = -1;
	o->next = next;
	o->look_wall_ns = o->before_wall_ns = now_wall_ns;
	if (hostconf_listeners(conf->fireflies, &o->to) < 0 ||
	    hostconf_scitag(
		conf->scitag != NULL ? conf->scitag : "1.1", &o->experiment, &o->activity) < 0) {
		free(o);
		return NULL;
	}
	snprintf(o->host, sizeof(o->host), "%s", host);
	for (i = 0; o->host[i] != '\0'; i++)
		if (o->host[i] <= ' ' || o->host[i] > '~')
			o->host[i] = '_';
	*sink = (struct collect_sink){ .arg = o, .meta = on_meta, .data = on_data, .end = on_end };
	return o;
}

uint64_t
firefly_out_free(struct firefly_out *o, int64_t now_wall_ns)
{
	uint64_t sent;
	size_t i;

	if (o == NULL)
		return 0;
	for (i = 0; i < FLOWS_MAX; i++)
		if (o->flow[i].id[0] != '\0') {
			if (o->flow[i].last_wall_ns != 0)
				o->flow[i].last_wall_ns = now_wall_ns;
			flow_end(o, &o->flow[i]);
		}
	for (i = 0; i < 2; i++)
		if (o->fd[i] >= 0)
			close(o->fd[i]);
	sent = o->sent;
	free(o);
	return sent;
}

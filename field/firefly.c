/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fireflies, of XRootD 5, dCache 10 and flowd-go. Units differ by the writer: `netlink.rtt` is in
 * milliseconds (XRootD, and flowd in its compatible form, whose other times are microseconds), all
 * of `tcpInfo` as the kernel has it, in microseconds; dCache writes ISO 8601 durations.
 */
#include "narrows/announce.h"

#include <math.h>
#include <string.h>

#include "field/fieldtext.h"
#include "field/jsonscan.h"
#include "narrows/err.h"

const char *const nw_announced_names[NW_ANNOUNCED_COUNT] = {
#define X(name) #name,
	NW_ANNOUNCED_FIELDS(X)
#undef X
};

enum { VERSION = 1, ID_MAX = 65535 };

struct reading {
	struct nw_announcement *a;
	int64_t version, end_wall_ns;
	bool state_said;
	double cwnd_segments;
	double sent, received; /* by the kernel, for writers without usage */
	const char *why;
};

/* --- keys --- */

static bool
port_read(const struct jsonscan_value *v, uint16_t *out)
{
	if (v->whole < 1 || v->whole > UINT16_MAX)
		return false;
	*out = (uint16_t)v->whole;
	return true;
}

static bool
state_read(struct reading *r, const char *text)
{
	static const char *const words[] = { "start", "ongoing", "end" };
	int i;

	for (i = NW_ANNOUNCE_START; i <= NW_ANNOUNCE_END; i++)
		if (strcmp(text, words[i]) == 0) {
			r->a->state = (enum nw_announce_state)i;
			r->state_said = true;
			return true;
		}
	return false;
}

/* Keys of the flow and the state: a wrong value spoils the datagram. */
static int
identity_read(struct reading *r, const char *path, const struct jsonscan_value *v, bool *known)
{
	struct nw_announcement *a = r->a;
	const char *text = v->kind == JSONSCAN_TEXT ? v->text : "";
	bool ok = true;

	*known = true;
	if (strcmp(path, "version") == 0)
		r->version = v->whole;
	else if (strcmp(path, "flow-lifecycle.state") == 0)
		ok = state_read(r, text);
	else if (strcmp(path, "flow-lifecycle.start-time") == 0)
		ok = fieldtext_time(text, &a->start_wall_ns);
	else if (strcmp(path, "flow-lifecycle.current-time") == 0)
		ok = fieldtext_time(text, &a->t_wall_ns);
	else if (strcmp(path, "flow-lifecycle.end-time") == 0)
		ok = fieldtext_time(text, &r->end_wall_ns);
	else if (strcmp(path, "flow-id.src-ip") == 0)
		ok = fieldtext_address(text, a->src);
	else if (strcmp(path, "flow-id.dst-ip") == 0)
		ok = fieldtext_address(text, a->dst);
	else if (strcmp(path, "flow-id.src-port") == 0)
		ok = port_read(v, &a->sport);
	else if (strcmp(path, "flow-id.dst-port") == 0)
		ok = port_read(v, &a->dport);
	else if (strcmp(path, "flow-id.protocol") == 0)
		ok = strcmp(text, "tcp") == 0 || strcmp(text, "udp") == 0;
	else
		*known = false;
	if (!ok)
		r->why = "a flow's state, time, address or port is wrong";
	return ok ? NW_OK : NW_EPROTO;
}

static int64_t
id_read(const struct jsonscan_value *v)
{
	return v->whole >= 0 && v->whole <= ID_MAX ? v->whole : -1;
}

/* Evidence by path below netlink, netlink.tcpInfo and skOps.tcpInfo. */
static const struct {
	const char *path;
	enum nw_announced_field field;
	double unit;
} numbers[] = {
	{ "usage.received", NW_ANNOUNCED_bytes_in, 1 }, { "usage.sent", NW_ANNOUNCED_bytes_out, 1 },
	{ "storage-stats.bytes-transferred", NW_ANNOUNCED_storage_bytes, 1 },
	{ "storage-stats.connection-time", NW_ANNOUNCED_connection_s, 1e-3 },
	{ "netlink.rtt", NW_ANNOUNCED_rtt_s, 1e-3 },
	{ "netlink.min_rtt", NW_ANNOUNCED_rtt_min_s, 1e-6 },
	{ "netlink.total_retrans", NW_ANNOUNCED_retrans, 1 },
	{ "netlink.delivery_rate", NW_ANNOUNCED_delivery_rate, 1 },
	{ "netlink.busy_time", NW_ANNOUNCED_busy_s, 1e-6 },
	{ "netlink.rwnd_limited", NW_ANNOUNCED_rwnd_limited_s, 1e-6 },
	{ "netlink.sndbuf_limited", NW_ANNOUNCED_sndbuf_limited_s, 1e-6 },
	{ "netlink.snd_mss", NW_ANNOUNCED_snd_mss, 1 },
#define X(field, name, unit) { "tcpInfo." name, NW_ANNOUNCED_##field, unit },
	NW_FIREFLY_TCP(X)
#undef X
};

static const struct {
	const char *path;
	enum nw_announced_field field;
} durations[] = {
	{ "storage-stats.read-active", NW_ANNOUNCED_read_wait_s },
	{ "storage-stats.read-idle", NW_ANNOUNCED_read_net_s },
	{ "storage-stats.write-active", NW_ANNOUNCED_write_wait_s },
	{ "storage-stats.write-idle", NW_ANNOUNCED_write_net_s },
};

/* The part of a path below the source of the kernel's account. */
static const char *
account_path(const char *path)
{
	if (strncmp(path, "netlink.tcpInfo.", 16) == 0)
		return path + 8;
	return strncmp(path, "skOps.tcpInfo.", 14) == 0 ? path + 6 : path;
}

static void
evidence_read(struct reading *r, const char *path, const struct jsonscan_value *v)
{
	const char *of = account_path(path);
	size_t i;

	if (v->kind == JSONSCAN_NUMBER && v->number >= 0) {
		if (strcmp(of, "tcpInfo.sndCwnd") == 0 || strcmp(of, "netlink.snd_cwnd") == 0)
			r->cwnd_segments = v->number;
		if (strcmp(of, "tcpInfo.bytesSent") == 0 || strcmp(of, "netlink.bytes_acked") == 0)
			r->sent = v->number;
		if (strcmp(of, "tcpInfo.bytesRecv") == 0 ||
		    strcmp(of, "netlink.bytes_received") == 0)
			r->received = v->number;
		for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			if (strcmp(of, numbers[i].path) == 0)
				r->a->value[numbers[i].field] = v->number * numbers[i].unit;
	}
	for (i = 0; v->kind == JSONSCAN_TEXT && i < sizeof(durations) / sizeof(durations[0]); i++)
		if (strcmp(of, durations[i].path) == 0)
			r->a->value[durations[i].field] = fieldtext_duration(v->text);
}

static int
on_value(void *arg, const char *path, const struct jsonscan_value *v)
{
	struct reading *r = arg;
	bool known;
	int rc = identity_read(r, path, v, &known);

	if (rc < 0 || known)
		return rc;
	if (strcmp(path, "context.application") == 0 && v->kind == JSONSCAN_TEXT)
		fieldtext_copy(
		    r->a->application, sizeof(r->a->application), v->text, strlen(v->text));
	else if (strcmp(path, "context.experiment-id") == 0)
		r->a->experiment = id_read(v);
	else if (strcmp(path, "context.activity-id") == 0)
		r->a->activity = id_read(v);
	else
		evidence_read(r, path, v);
	return NW_OK;
}

/* --- the whole --- */

/* What the keys together must say. */
static int
flow_check(struct reading *r)
{
	struct nw_announcement *a = r->a;

	if (r->version != VERSION) {
		r->why = "a firefly of another version";
		return NW_EUNSUPPORTED;
	}
	if (!r->state_said || a->src[0] == '\0' || a->dst[0] == '\0' || a->sport == 0 ||
	    a->dport == 0 || a->start_wall_ns == 0) {
		r->why = "a firefly without state, start or flow";
		return NW_EPROTO;
	}
	if (a->state == NW_ANNOUNCE_END && r->end_wall_ns != 0)
		a->t_wall_ns = r->end_wall_ns;
	if (a->t_wall_ns == 0)
		a->t_wall_ns = a->start_wall_ns;
	if (a->t_wall_ns < a->start_wall_ns) {
		r->why = "a flow ends before its start";
		return NW_EPROTO;
	}
	return NW_OK;
}

void
nw_announcement_init(struct nw_announcement *a)
{
	int i;

	memset(a, 0, sizeof(*a));
	a->experiment = a->activity = -1;
	for (i = 0; i < NW_ANNOUNCED_COUNT; i++)
		a->value[i] = NAN;
}

int
nw_firefly_read(const uint8_t *bytes, size_t len, struct nw_announcement *out, const char **why)
{
	const char *text = (const char *)bytes, *json;
	struct reading r = {
		.a = out, .version = -1, .cwnd_segments = NAN, .sent = NAN, .received = NAN
	};
	int rc;

	nw_announcement_init(out);
	*why = "longer than a firefly may be";
	if (len > NW_ANNOUNCE_MAX_BYTES)
		return NW_ETOOBIG;
	*why = "no firefly";
	if (len == 0 || (*text != '<' && *text != '{'))
		return NW_EPROTO;
	if ((json = memchr(text, '{', len)) == NULL)
		return NW_EPROTO;
	rc = jsonscan(json, len - (size_t)(json - text), on_value, &r, why);
	if (rc == NW_OK)
		rc = flow_check(&r);
	if (r.why != NULL)
		*why = r.why;
	if (isnan(out->value[NW_ANNOUNCED_bytes_out]))
		out->value[NW_ANNOUNCED_bytes_out] = r.sent;
	if (isnan(out->value[NW_ANNOUNCED_bytes_in]))
		out->value[NW_ANNOUNCED_bytes_in] = r.received;
	out->value[NW_ANNOUNCED_cwnd_bytes] = r.cwnd_segments * out->value[NW_ANNOUNCED_snd_mss];
	out->value[NW_ANNOUNCED_elapsed_s] = (double)(out->t_wall_ns - out->start_wall_ns) * 1e-9;
	out->value[NW_ANNOUNCED_over] = out->state == NW_ANNOUNCE_END;
	return rc;
}

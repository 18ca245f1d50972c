/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/gate/hearsay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "daemon/gate/datagram.h"
#include "narrows/announce.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"
#include "narrows/xrootd.h"

/* Announcements a second that sources share: twice those of a large site. */
enum { PER_S = 40000, NAMES_BYTES = 1 << 18, RECORD_BYTES = 1024, PACKET_BYTES = 1472 };

struct announce {
	struct announce_ops ops;
	struct nw_networks from;
	const struct nw_scitags *names;
	enum announce_hide hide;
	struct nw_xrootd *xrootd;
	struct nw_flows *flows;
	struct nw_wholes *wholes;
	struct datagrams *datagrams;
};

struct told {
	void *session; /* the daemon's record */
	int64_t layout_id;
};

/* --- flows --- */

static void
text_put(json_t *o, const char *key, const char *text)
{
	if (text[0] != '\0')
		json_object_set_new(o, key, json_string(text));
}

static void
name_put(struct announce *a, json_t *o, const char *key, const char *name, enum announce_hide hides)
{
	char hidden[ANNOUNCE_HIDDEN_BYTES];

	if (name[0] != '\0' && (a->hide & hides) != 0) {
		a->ops.hide(a->ops.arg, name, hidden);
		name = hidden;
	}
	text_put(o, key, name);
}

static char *
subject_text(struct announce *a, const char *source, const struct nw_announcement *n)
{
	char label[NW_SCITAGS_LABEL_BYTES], *text;
	json_t *o = json_pack("{s:s,s:s,s:i,s:s,s:i,s:s,s:s}", "type", "network", "src", n->src,
	    "sport", n->sport, "dst", n->dst, "dport", n->dport, "announced_by",
	    nw_announce_form_name(n->form), "source", source);

	if (o == NULL)
		return NULL;
	nw_scitags_label(a->names, n->experiment, n->activity, label);
	text_put(o, "label", label);
	text_put(o, "program", n->application);
	name_put(a, o, "user", n->user, ANNOUNCE_HIDE_USERS);
	name_put(a, o, "file", n->file, ANNOUNCE_HIDE_FILES);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

static void
series_put(
    struct announce *a, const char *source, const char *subject, int64_t session_id, struct told *t)
{
	const struct announce_ops *ops = &a->ops;
	struct nw_meta_rec meta = { .id = ops->next->meta++,
		.session_id = session_id,
		.host_id = ops->host(ops->arg, source),
		.mid = "announced",
		.event_type = NW_TYPE_ANNOUNCED,
		.subject_json = subject,
		.params_json = "{}",
		.first_wall_ns = nw_wall_ns() };
	struct nw_layout_rec layout = { .id = ops->next->layout++,
		.meta_id = meta.id,
		.n_fields = NW_ANNOUNCED_COUNT,
		.fields = nw_announced_names };

	t->layout_id = layout.id;
	while (nw_batch_meta(ops->batch(ops->arg), &meta) < 0)
		xmalloc_spend();
	while (nw_batch_layout(ops->batch(ops->arg), &layout) < 0)
		xmalloc_spend();
}

/* The transfer of a flow, by the announcements of other programs. */
static void
group_find(struct announce *a, const char *source, struct nw_announcement *n)
{
	const char *whole = nw_wholes_find(a->wholes, n);

	if (n->form == NW_ANNOUNCE_FIREFLY)
		nw_xrootd_group(a->xrootd, source, n);
	/* a trace stands behind its server's announcements, which may be a measured session's */
	if (n->form == NW_ANNOUNCE_RUCIO && whole != NULL)
		strcpy(n->group, whole);
	else if (n->form == NW_ANNOUNCE_RUCIO)
		nw_xrootd_file_group(a->xrootd, n->group, n);
	else if (n->also[0] == '\0' && whole != NULL)
		strcpy(n->also, whole);
	else if (n->also[0] == '\0' && n->form == NW_ANNOUNCE_FTS)
		nw_xrootd_file_group(a->xrootd, n->also, n);
}

static struct told *
begin_in_group(struct announce *a, const char *source, const struct nw_announcement *n)
{
	char *subject = subject_text(a, source, n);
	int64_t session_id = 0;
	struct told *t = NULL;
	void *session = subject != NULL ? a->ops.begin(a->ops.arg, n, &session_id) : NULL;

	if (session != NULL) {
		t = xcalloc(1, sizeof(*t));
		t->session = session;
		series_put(a, source, subject, session_id, t);
		a->ops.charge(a->ops.arg, 4 * RECORD_BYTES);
	}
	free(subject);
	return t;
}

static void *
on_begin(void *arg, const char *source, const struct nw_announcement *n)
{
	struct announce *a = arg;
	struct nw_announcement grouped = *n;

	group_find(a, source, &grouped);
	return begin_in_group(a, source, &grouped);
}

static void
on_row(void *arg, void *flow, const struct nw_announcement *n)
{
	struct announce *a = arg;
	struct told *t = flow;

	while (nw_batch_rows(a->ops.batch(a->ops.arg), t->layout_id, NW_ANNOUNCED_COUNT, 1,
		   &n->t_wall_ns, n->value, NULL, 0) < 0)
		xmalloc_spend();
	a->ops.charge(a->ops.arg, sizeof(n->value));
	a->ops.more(a->ops.arg, t->session);
}

static void
on_end(void *arg, void *flow)
{
	struct announce *a = arg;
	struct told *t = flow;

	a->ops.end(a->ops.arg, t->session);
	free(t);
}

/* --- datagrams --- */

static enum announce_fate
fate_of(enum nw_flows_answer answer)
{
	switch (answer) {
	case NW_FLOWS_TAKEN: return ANNOUNCE_TAKEN;
	case NW_FLOWS_LIMIT: return ANNOUNCE_OVER_LIMIT;
	default: return ANNOUNCE_STALE;
	}
}

/* Records of one datagram of XRootD. */
struct records {
	struct announce *a;
	const struct nw_xrootd_datagram *d;
	unsigned n;
	enum announce_fate fate;
};

/* Each record counts against the rate of the source, as a datagram does. */
static bool
on_record(void *arg, const struct nw_announcement *n)
{
	struct records *r = arg;
	struct announce *a = r->a;
	enum announce_fate fate;

	if ((r->n++ > 0 && !nw_flows_may(a->flows, r->d->source, r->d->now_mono_ns)) ||
	    a->ops.is_full(a->ops.arg)) {
		r->fate = ANNOUNCE_OVER_LIMIT;
		return false;
	}
	fate =
	    fate_of(nw_flows_take(a->flows, r->d->source, n, r->d->now_wall_ns, r->d->now_mono_ns));
	if (r->n == 1 || fate == ANNOUNCE_OVER_LIMIT)
		r->fate = fate;
	return true;
}

static void
on_late(void *arg, const char *source, const struct nw_announcement *n)
{
	struct announce *a = arg;

	if (!a->ops.is_full(a->ops.arg))
		nw_flows_take(a->flows, source, n, nw_wall_ns(), nw_mono_ns());
}

static enum announce_fate
xrootd_take(struct announce *a, const struct datagram *of, const char **why)
{
	const struct nw_xrootd_datagram d = { of->source, of->bytes, of->len, nw_wall_ns(),
		nw_mono_ns() };
	struct records r = { .a = a, .d = &d, .fate = ANNOUNCE_TAKEN };
	struct nw_xrootd_got got;
	size_t left;
	int rc;

	/* a datagram costs as many as its bytes would fill on the way */
	for (left = of->len; left > PACKET_BYTES; left -= PACKET_BYTES)
		if (!nw_flows_may(a->flows, of->source, d.now_mono_ns))
			return ANNOUNCE_OVER_LIMIT;
	rc = nw_xrootd_take(a->xrootd, &d, on_record, &r, &got, why);

	if (got.lost > 0)
		a->ops.lost(a->ops.arg, (unsigned)got.lost);
	if (rc < 0)
		return ANNOUNCE_MALFORMED;
	return got.is_repeated ? ANNOUNCE_STALE : r.fate;
}

static enum announce_fate
datagram_take(struct announce *a, const struct datagram *d, const char **why)
{
	struct nw_announcement n;
	int64_t now = nw_mono_ns();

	if (!nw_networks_have(&a->from, d->ip))
		return ANNOUNCE_FOREIGN;
	if (!nw_flows_may(a->flows, d->source, now) || a->ops.is_full(a->ops.arg))
		return ANNOUNCE_OVER_LIMIT;
	if (nw_xrootd_is(d->bytes, d->len))
		return xrootd_take(a, d, why);
	if (nw_firefly_read(d->bytes, d->len, &n, why) < 0)
		return ANNOUNCE_MALFORMED;
	if (!nw_networks_have_text(&a->from, n.src) && !nw_networks_have_text(&a->from, n.dst))
		return ANNOUNCE_FOREIGN;
	return fate_of(nw_flows_take(a->flows, d->source, &n, nw_wall_ns(), now));
}

/* A transfer begins and ends at once. */
static enum announce_fate
whole_take(struct announce *a, const char *source, const struct nw_announcement *n)
{
	struct nw_announcement grouped = *n;
	struct told *flow;

	if (a->ops.is_full(a->ops.arg) || !nw_flows_may_begin(a->flows, source, nw_mono_ns()))
		return ANNOUNCE_OVER_LIMIT;
	group_find(a, source, &grouped);
	if ((flow = begin_in_group(a, source, &grouped)) == NULL)
		return ANNOUNCE_OVER_LIMIT;
	on_row(a, flow, &grouped);
	on_end(a, flow);
	/* two accounts of a transfer have one group for the flows that begin later */
	if (grouped.also[0] != '\0')
		strcpy(grouped.group, grouped.also);
	nw_wholes_put(a->wholes, &grouped);
	return ANNOUNCE_TAKEN;
}

void
announce_event(struct announce *a, const char *host, const struct nw_event *e)
{
	struct nw_announcement n;

	if (nw_transfer_event_read(e, host, &n))
		a->ops.note(a->ops.arg, whole_take(a, host, &n), host, NULL);
}

enum announce_fate
announce_whole(struct announce *a, const char *sender, const struct nw_announcement *n)
{
	enum announce_fate fate = ANNOUNCE_FOREIGN;

	if (nw_networks_have_text(&a->from, sender) &&
	    (nw_networks_have_text(&a->from, n->src) || nw_networks_have_text(&a->from, n->dst)))
		fate = whole_take(a, sender, n);
	a->ops.note(a->ops.arg, fate, sender, NULL);
	return fate;
}

static void
on_datagram(void *arg, const struct datagram *d)
{
	struct announce *a = arg;
	const char *why = NULL;
	enum announce_fate fate = datagram_take(a, d, &why);

	a->ops.note(a->ops.arg, fate, d->source, why);
}

/* --- life --- */

int
announce_names(const char *path, struct nw_scitags **out, char why[CONF_WHY_BYTES])
{
	FILE *f = fopen(path, "re");
	const char *fault;
	unsigned line;
	size_t n = 0;
	char *text;
	int rc;

	*out = NULL;
	if (f == NULL && errno == ENOENT)
		return NW_OK;
	text = xcalloc(1, NAMES_BYTES);
	if (f != NULL)
		n = fread(text, 1, NAMES_BYTES - 1, f);
	if (f == NULL || ferror(f) || n == NAMES_BYTES - 1) {
		snprintf(why, CONF_WHY_BYTES, "announce-names %.150s: cannot be read whole", path);
		rc = NW_EIO;
	} else if ((rc = nw_scitags_read(text, out, &line, &fault)) < 0)
		snprintf(why, CONF_WHY_BYTES, "%.150s:%u: %s", path, line, fault);
	if (f != NULL)
		fclose(f);
	free(text);
	return rc;
}

int
announce_start(struct event_base *base, const struct announce_conf *c,
    const struct announce_ops *ops, struct announce **out, char why[CONF_WHY_BYTES])
{
	struct announce *a = xcalloc(1, sizeof(*a));
	const struct nw_flows_ops calls = { on_begin, on_row, on_end, a };
	const char *fault;
	int rc = NW_OK;

	a->ops = *ops;
	a->names = c->names;
	a->hide = c->hide;
	if ((a->flows = nw_flows_new(&calls, PER_S)) == NULL ||
	    (a->xrootd = nw_xrootd_new()) == NULL || (a->wholes = nw_wholes_new()) == NULL)
		fatalx("out of memory");
	if (strcmp(c->from, "none") != 0 && (rc = nw_networks_parse(c->from, &a->from, &fault)) < 0)
		snprintf(why, CONF_WHY_BYTES, "announce-from: %s", fault);
	if (rc == NW_OK)
		rc = datagrams_start(base, "listen-announcements", c->listen, NW_XROOTD_MAX_BYTES,
		    on_datagram, a, &a->datagrams, why);
	if (rc < 0)
		announce_stop(a);
	else
		*out = a;
	return rc;
}

void
announce_tick(struct announce *a)
{
	nw_flows_tick(a->flows, nw_mono_ns());
	nw_xrootd_tick(a->xrootd, nw_mono_ns(), on_late, a);
}

void
announce_stop(struct announce *a)
{
	if (a == NULL)
		return;
	datagrams_stop(a->datagrams);
	nw_flows_free(a->flows);
	nw_xrootd_free(a->xrootd);
	nw_wholes_free(a->wholes);
	free(a);
}

const char *
announce_addresses(const struct announce *a)
{
	return datagrams_addresses(a->datagrams);
}

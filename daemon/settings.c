/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/settings.h"

#include <string.h>

#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/hostlist.h"
#include "daemon/xsess.h"
#include "narrows/clock.h"
#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/store.h"

/* A host may send this many documents at once, and one more each second. */
enum { DOCUMENTS_AT_ONCE = 128, SUBJECT_KEYS_MAX = 16 };
#define SECOND_NS INT64_C(1000000000)
/* age of a document that waited for the box; an older document counts from its arrival */
#define AGE_MAX_NS   (INT64_C(30) * 86400 * SECOND_NS)
#define AHEAD_MAX_NS (60 * SECOND_NS)

/* The range of names of which a document says everything. */
struct range {
	const char *from, *until;
	int64_t t_wall_ns;
};

bool
settings_are(const struct nw_meta *m)
{
	return strcmp(m->event_type, NW_TYPE_CONFIG) == 0;
}

/* A program speaks of programs only; a collector of the host reports every group. */
static bool
range_is_mine(const struct xsess *x, const struct range *r)
{
	return x->for_host || strncmp(r->from, "program.", 8) == 0;
}

/* Both ends are in one group: "net." or "net.eth0" as the first, "net/" as the last end at most. */
static bool
range_is_good(const struct range *r)
{
	const char *dot;
	size_t group;

	if (r->from == NULL || r->until == NULL || strlen(r->from) > SETTING_NAME_MAX ||
	    strlen(r->until) > SETTING_NAME_MAX || (dot = strchr(r->from, '.')) == NULL ||
	    dot == r->from || strcmp(r->from, r->until) >= 0)
		return false;
	group = (size_t)(dot - r->from);
	return strncmp(r->from, r->until, group) == 0 &&
	    (r->until[group] == '.' || strcmp(r->until + group, "/") == 0);
}

static int
range_read(const struct nw_meta *m, int64_t now_wall_ns, struct nw_kv *kv, struct range *out)
{
	const char *why;
	size_t n;
	int rc;

	if ((rc = nw_kv_decode_member(
		 m->raw, m->raw_len, "subject", kv, SUBJECT_KEYS_MAX, &n, &why)) < 0)
		return rc;
	out->from = nw_kv_text(kv, n, "from");
	out->until = nw_kv_text(kv, n, "until");
	out->t_wall_ns = nw_kv_int(kv, n, "t_ns", now_wall_ns);
	if (out->t_wall_ns < now_wall_ns - AGE_MAX_NS ||
	    out->t_wall_ns > now_wall_ns + AHEAD_MAX_NS)
		out->t_wall_ns = now_wall_ns;
	return range_is_good(out) ? NW_OK : NW_EPROTO;
}

/* True if the host has not sent too much lately. */
static bool
host_may(struct host *h, int64_t now_mono_ns)
{
	int64_t since_ns = now_mono_ns - DOCUMENTS_AT_ONCE * SECOND_NS;

	if (h->settings_mono_ns < since_ns)
		h->settings_mono_ns = since_ns;
	if (h->settings_mono_ns >= now_mono_ns)
		return false;
	h->settings_mono_ns += SECOND_NS;
	return true;
}

static bool
setting_is_good(const struct nw_kv *kv, const struct range *r)
{
	return kv->type == NW_KV_TEXT && strlen(kv->key) <= SETTING_NAME_MAX &&
	    strlen(kv->v.text) <= SETTING_VALUE_MAX && strcmp(kv->key, r->from) >= 0 &&
	    strcmp(kv->key, r->until) < 0;
}

int
settings_take(struct xsess *x, const struct nw_meta *m)
{
	struct nw_kv subject[SUBJECT_KEYS_MAX], kv[SETTINGS_PER_DOCUMENT];
	struct nw_batch *batch = commit_batch(x->box->commit);
	struct range r;
	const char *why;
	size_t i, n;
	int rc;

	if ((rc = range_read(m, x->in.now_wall_ns, subject, &r)) < 0 ||
	    (rc = nw_kv_decode_member(
		 m->raw, m->raw_len, "parameters", kv, SETTINGS_PER_DOCUMENT, &n, &why)) < 0)
		return rc;
	if (!range_is_mine(x, &r) || !host_may(x->host, nw_mono_ns())) {
		counter_add(&x->box->counters.refused_settings, n);
		return NW_OK;
	}
	for (i = 0; rc == NW_OK && i < n; i++) {
		struct nw_setting_rec rec = { .host_id = x->host->id,
			.t_wall_ns = r.t_wall_ns,
			.name = kv[i].key,
			.value = kv[i].v.text };

		if (setting_is_good(&kv[i], &r))
			rc = nw_batch_setting(batch, &rec);
		else
			counter_add(&x->box->counters.refused_settings, 1);
	}
	if (rc != NW_OK)
		return rc;
	counter_add(&x->box->counters.settings, n);
	return nw_batch_settings_end(
	    batch, x->host->id, r.t_wall_ns, r.from, r.until, m->params_json);
}

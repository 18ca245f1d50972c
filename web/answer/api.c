/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <jansson.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/http/body.h"
#include "web/answer/health.h"
#include "narrows/counters.h"

/* What is known without an analysis: also the session of a result document before the first run. */
static json_t *
session_state(const struct nw_session_rec *s)
{
	json_t *v = json_object();

	result_put_int(v, KEY_listed_id, s->id);
	result_put_text(v, KEY_listed_task_id, s->task_id);
	result_put_text(v, KEY_listed_state, s->closed_wall_ns != 0 ? "closed" : "open");
	result_put_text(v, KEY_listed_program, s->program);
	result_put_iso(v, KEY_listed_start, s->opened_wall_ns);
	result_put_ns(v, KEY_listed_start_ns, s->opened_wall_ns);
	result_put_iso(v, KEY_listed_end, s->closed_wall_ns);
	result_put_ns(v, KEY_listed_end_ns, s->closed_wall_ns);
	result_put_flag(v, KEY_listed_pinned, s->pinned);
	result_put_flag(v, KEY_listed_announced, s->announced);
	return v;
}

struct listing {
	json_t *sessions;
};

static int
on_listed(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct listing *list = arg;
	json_t *v = session_state(s);

	if (res != NULL) {
		if (res->program != NULL)
			result_put_text(v, KEY_listed_program, res->program);
		if (res->start_wall_ns != 0) {
			result_put_iso(v, KEY_listed_start, res->start_wall_ns);
			result_put_ns(v, KEY_listed_start_ns, res->start_wall_ns);
		}
		result_put_text(v, KEY_listed_route, res->route);
		result_put_real(v, KEY_listed_duration_s, (double)res->duration_ns / 1e9);
		result_put_real(v, KEY_listed_bytes, res->bytes);
		result_put_real(v, KEY_listed_bytes_per_s, res->bytes_per_s);
		result_put_text(v, KEY_listed_stage, res->stage);
		result_put_text(v, KEY_listed_confidence, res->confidence);
		result_put_real(v, KEY_listed_effect, res->effect);
		result_put_text(v, KEY_listed_sentence, res->sentence);
		result_put_real(v, KEY_listed_usual, res->usual);
		result_put_text(v, KEY_listed_label, res->label);
		result_put_real(v, KEY_listed_exit_status, res->exit_status);
	}
	result_put_flag(v, KEY_listed_imported, res != NULL && res->imported);
	result_put_flag(v, KEY_listed_analysed, res != NULL);
	return json_array_append_new(list->sessions, v) == 0 ? 0 : NW_ENOMEM;
}

int
api_sessions(struct evbuffer *out, struct store_reader *r, struct session_index *x,
    const struct session_filter *f)
{
	struct listing list = { .sessions = json_array() };
	json_t *doc = json_object();
	struct session_listed listed;
	int rc;

	if ((rc = session_list(x, r, f, on_listed, &list, &listed)) < 0) {
		json_decref(list.sessions);
		json_decref(doc);
		return rc;
	}
	result_put_text(doc, KEY_sessions_schema, "narrows-sessions/1");
	result_set(doc, KEY_sessions_sessions, list.sessions);
	result_set(doc, KEY_sessions_next_before,
	    listed.next > 0 ? json_integer(listed.next) : json_null());
	return body_put_document(out, doc);
}

static int
on_one(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct evbuffer *out = arg;
	json_t *doc;

	if (res != NULL && res->json != NULL)
		return evbuffer_add(out, res->json, strlen(res->json)) == 0 ? 0 : NW_ENOMEM;
	doc = json_object();
	result_put_text(doc, KEY_result_schema, "narrows-result/1");
	result_set(doc, KEY_result_session, session_state(s));
	result_set(doc, KEY_result_verdict, json_null());
	return body_put_document(out, doc);
}

int
api_session(struct evbuffer *out, struct store_reader *r, int64_t id)
{
	return store_session_get(r, id, on_one, out);
}

static int
on_keeplist(void *arg, const struct nw_keeplist_rec *list)
{
	json_t *v = list->json != NULL ? json_loads(list->json, 0, NULL) : NULL;

	return v == NULL || json_array_append_new(arg, v) == 0 ? 0 : NW_ENOMEM;
}

int
api_keep(struct evbuffer *out, struct store_reader *r)
{
	json_t *doc = json_object(), *lists = json_array();
	int rc = store_keeplists(r, on_keeplist, lists);

	result_put_text(doc, KEY_keeplists_schema, "narrows-keep/1");
	result_set(doc, KEY_keeplists_lists, lists);
	if (rc < 0) {
		json_decref(doc);
		return rc;
	}
	return body_put_document(out, doc);
}

/* Rows and roll-ups: bytes of each tier, and how many rows left the tier since the start. */
static json_t *
tiers_array(const struct store_stats *s)
{
	static const char *const names[STORE_TIERS] = { "rows", "10 s", "1 min", "1 h" };
	json_t *list = json_array(), *v;
	int t;

	for (t = 0; t < STORE_TIERS; t++) {
		v = json_object();
		result_put_text(v, KEY_health_tier_tier, names[t]);
		result_put_int(v, KEY_health_tier_bytes, s->tier_bytes[t]);
		result_put_int(v, KEY_health_tier_rolled_up, s->rolled_rows[t]);
		result_put_int(v, KEY_health_tier_deleted, s->expired_rows[t]);
		json_array_append_new(list, v);
	}
	return list;
}

static json_t *
store_object(const struct store_stats *s)
{
	json_t *v = json_object();

	result_put_int(v, KEY_health_store_queued_batches, s->queued_batches);
	result_put_int(v, KEY_health_store_queued_bytes, s->queued_bytes);
	result_put_int(v, KEY_health_store_commits, s->commits);
	result_put_int(v, KEY_health_store_batches, s->batches);
	result_put_int(v, KEY_health_store_rows, s->rows);
	result_put_int(v, KEY_health_store_samples, s->samples);
	result_put_int(v, KEY_health_store_failed_batches, s->failed_batches);
	result_put_iso(v, KEY_health_store_last_commit, s->last_commit_wall_ns);
	result_put_real(
	    v, KEY_health_store_last_commit_took_s, (double)s->last_commit_took_ns / 1e9);
	result_put_int(v, KEY_health_store_file_bytes, s->file_bytes);
	result_set(v, KEY_health_store_max_bytes,
	    s->max_bytes > 0 ? json_integer((json_int_t)s->max_bytes) : json_null());
	result_put_int(v, KEY_health_store_forgotten_sessions, s->forgotten_sessions);
	result_put_int(v, KEY_health_store_late_rows, s->late_rows);
	result_put_int(v, KEY_health_store_lost_chunks, s->lost_chunks);
	result_put_int(v, KEY_health_store_lost_hists, s->lost_hists);
	result_put_int(v, KEY_health_store_lost_commits, s->lost_commits);
	result_put_real(v, KEY_health_store_days_left, s->days_left);
	result_set(v, KEY_health_store_tiers, tiers_array(s));
	result_put_text(v, KEY_health_store_trouble, s->trouble[0] != '\0' ? s->trouble : NULL);
	return v;
}

static json_t *
clock_object(const struct nw_health *health)
{
	json_t *v = json_object();

	result_put_flag(v, KEY_clock_known, health->clock_known);
	result_put_flag(v, KEY_clock_synchronised, health->clock_synchronised);
	result_put_real(v, KEY_clock_offset_s, health->clock_known ? health->clock_offset_s : NAN);
	result_put_real(v, KEY_clock_bound_s, health->clock_known ? health->clock_bound_s : NAN);
	return v;
}

static json_t *
grants_array(const char *lines)
{
	json_t *list = json_array(), *grant;
	const char *blank, *end;

	for (; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
		if ((blank = memchr(lines, ' ', (size_t)(end - lines))) == NULL)
			continue;
		grant = json_object();
		result_set(
		    grant, KEY_health_grant_owner, json_stringn(lines, (size_t)(blank - lines)));
		result_set(grant, KEY_health_grant_thing,
		    json_stringn(blank + 1, (size_t)(end - blank - 1)));
		json_array_append_new(list, grant);
	}
	return list;
}

/* Each part of the box: "ok", or why it failed. */
static json_t *
parts_object(const struct nw_health *health)
{
	struct health_part list[HEALTH_PARTS];
	json_t *v = json_object();
	size_t i;

	health_parts(health, list);
	for (i = 0; i < HEALTH_PARTS; i++)
		result_put_text(v, list[i].key, list[i].ok ? "ok" : list[i].why);
	return v;
}

int
api_ready(struct evbuffer *out, const struct nw_health *health, bool can_read)
{
	json_t *doc = json_object(), *parts = parts_object(health);

	result_put_text(
	    parts, KEY_health_parts_report, can_read ? "ok" : "the report cannot read the store");
	result_put_flag(doc, KEY_ready_ready, can_read && health_is_ready(health));
	result_set(doc, KEY_ready_parts, parts);
	return body_put_document(out, doc);
}

int
api_health(struct evbuffer *out, const struct nw_health *health)
{
	json_t *doc = json_object(), *count;

	if (health == NULL) {
		result_set(doc, KEY_health_ok, json_false());
		result_put_text(
		    doc, KEY_health_problem, "this server shows a store without its box");
		return body_put_document(out, doc);
	}
	result_put_flag(doc, KEY_health_ok, health->ok);
	result_put_text(doc, KEY_health_problem, health->ok ? NULL : health->problem);
	result_set(doc, KEY_health_parts, parts_object(health));
	result_put_text(doc, KEY_health_version, health->version);
	result_put_iso(doc, KEY_health_started, health->started_wall_ns);
	result_put_iso(doc, KEY_health_now, health->now_wall_ns);
	result_put_text(doc, KEY_health_listen_xsp, health->listen_xsp);
	result_put_text(doc, KEY_health_listen_xsp_tls, health->listen_xsp_tls);
	result_put_text(doc, KEY_health_listen_http, health->listen_http);
	result_put_text(doc, KEY_health_listen_https, health->listen_https);
	result_set(doc, KEY_health_speaks_for, grants_array(health->speaks_for));
	result_set(doc, KEY_health_store, store_object(&health->store));
	result_set(doc, KEY_health_clock, clock_object(health));
	result_set(doc, KEY_health_disk_free_bytes,
	    health->disk_free_bytes >= 0 ? json_integer(health->disk_free_bytes) : json_null());
	result_put_iso(doc, KEY_health_last_backup, health->backup_wall_ns);
	result_set(doc, KEY_health_last_backup_bytes,
	    health->backup_wall_ns != 0 ? json_integer(health->backup_bytes) : json_null());
	result_put_text(doc, KEY_health_last_backup_file,
	    health->backup_wall_ns != 0 ? health->backup_path : NULL);
	result_put_iso(doc, KEY_health_last_analysis, health->last_analysis_wall_ns);
	result_put_real(
	    doc, KEY_health_last_analysis_took_s, (double)health->last_analysis_took_ns / 1e9);
	count = json_object();
#define X(name, section, kind, words) \
	result_put_int(count, KEY_counters_##name, health->counts.name);
	NW_COUNTERS(X)
#undef X
	result_set(doc, KEY_health_counters, count);
	return body_put_document(out, doc);
}

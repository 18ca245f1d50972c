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

/* A text, or null for NULL and for text that is not UTF-8. */
static json_t *
text_or_null(const char *text)
{
	json_t *v = text != NULL ? json_string(text) : NULL;

	return v != NULL ? v : json_null();
}

static json_t *
number_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *
time_or_null(int64_t t_wall_ns)
{
	return t_wall_ns != 0 ? json_string(fmt_iso_ns(t_wall_ns).s) : json_null();
}

/* Nanoseconds exceed what a JSON number holds exactly in most readers. */
static json_t *
ns_or_null(int64_t t_wall_ns)
{
	return t_wall_ns != 0 ? json_string(fmt_int(t_wall_ns).s) : json_null();
}

/* What is known without an analysis: also the session of a result document before the first run. */
static json_t *
session_state(const struct nw_session_rec *s)
{
	json_t *v = json_object();

	result_set(v, KEY_listed_id, json_integer(s->id));
	result_set(v, KEY_listed_task_id, text_or_null(s->task_id));
	result_set(v, KEY_listed_state, json_string(s->closed_wall_ns != 0 ? "closed" : "open"));
	result_set(v, KEY_listed_program, text_or_null(s->program));
	result_set(v, KEY_listed_start, time_or_null(s->opened_wall_ns));
	result_set(v, KEY_listed_start_ns, ns_or_null(s->opened_wall_ns));
	result_set(v, KEY_listed_end, time_or_null(s->closed_wall_ns));
	result_set(v, KEY_listed_end_ns, ns_or_null(s->closed_wall_ns));
	result_set(v, KEY_listed_pinned, json_boolean(s->pinned));
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
			result_set(v, KEY_listed_program, text_or_null(res->program));
		if (res->start_wall_ns != 0) {
			result_set(v, KEY_listed_start, time_or_null(res->start_wall_ns));
			result_set(v, KEY_listed_start_ns, ns_or_null(res->start_wall_ns));
		}
		result_set(v, KEY_listed_route, text_or_null(res->route));
		result_set(
		    v, KEY_listed_duration_s, number_or_null((double)res->duration_ns / 1e9));
		result_set(v, KEY_listed_bytes, number_or_null(res->bytes));
		result_set(v, KEY_listed_bytes_per_s, number_or_null(res->bytes_per_s));
		result_set(v, KEY_listed_stage, text_or_null(res->stage));
		result_set(v, KEY_listed_confidence, text_or_null(res->confidence));
		result_set(v, KEY_listed_effect, number_or_null(res->effect));
		result_set(v, KEY_listed_sentence, text_or_null(res->sentence));
		result_set(v, KEY_listed_usual, number_or_null(res->usual));
		result_set(v, KEY_listed_label, text_or_null(res->label));
		result_set(v, KEY_listed_exit_status, number_or_null(res->exit_status));
	}
	result_set(v, KEY_listed_imported, json_boolean(res != NULL && res->imported));
	result_set(v, KEY_listed_analysed, json_boolean(res != NULL));
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
	result_set(doc, KEY_sessions_schema, json_string("narrows-sessions/1"));
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
	result_set(doc, KEY_result_schema, json_string("narrows-result/1"));
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

	result_set(doc, KEY_keeplists_schema, json_string("narrows-keep/1"));
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
		result_set(v, KEY_health_tier_tier, json_string(names[t]));
		result_set(v, KEY_health_tier_bytes, json_integer((json_int_t)s->tier_bytes[t]));
		result_set(
		    v, KEY_health_tier_rolled_up, json_integer((json_int_t)s->rolled_rows[t]));
		result_set(
		    v, KEY_health_tier_deleted, json_integer((json_int_t)s->expired_rows[t]));
		json_array_append_new(list, v);
	}
	return list;
}

static json_t *
store_object(const struct store_stats *s)
{
	json_t *v = json_object();

	result_set(v, KEY_health_store_queued_batches, json_integer((json_int_t)s->queued_batches));
	result_set(v, KEY_health_store_queued_bytes, json_integer((json_int_t)s->queued_bytes));
	result_set(v, KEY_health_store_commits, json_integer((json_int_t)s->commits));
	result_set(v, KEY_health_store_batches, json_integer((json_int_t)s->batches));
	result_set(v, KEY_health_store_rows, json_integer((json_int_t)s->rows));
	result_set(v, KEY_health_store_samples, json_integer((json_int_t)s->samples));
	result_set(v, KEY_health_store_failed_batches, json_integer((json_int_t)s->failed_batches));
	result_set(v, KEY_health_store_last_commit, time_or_null(s->last_commit_wall_ns));
	result_set(v, KEY_health_store_last_commit_took_s,
	    json_real((double)s->last_commit_took_ns / 1e9));
	result_set(v, KEY_health_store_file_bytes, json_integer((json_int_t)s->file_bytes));
	result_set(v, KEY_health_store_max_bytes,
	    s->max_bytes > 0 ? json_integer((json_int_t)s->max_bytes) : json_null());
	result_set(v, KEY_health_store_forgotten_sessions,
	    json_integer((json_int_t)s->forgotten_sessions));
	result_set(v, KEY_health_store_late_rows, json_integer((json_int_t)s->late_rows));
	result_set(v, KEY_health_store_lost_chunks, json_integer((json_int_t)s->lost_chunks));
	result_set(v, KEY_health_store_lost_hists, json_integer((json_int_t)s->lost_hists));
	result_set(v, KEY_health_store_lost_commits, json_integer((json_int_t)s->lost_commits));
	result_set(v, KEY_health_store_days_left, number_or_null(s->days_left));
	result_set(v, KEY_health_store_tiers, tiers_array(s));
	result_set(v, KEY_health_store_trouble,
	    s->trouble[0] != '\0' ? text_or_null(s->trouble) : json_null());
	return v;
}

static json_t *
clock_object(const struct nw_health *health)
{
	json_t *v = json_object();

	result_set(v, KEY_clock_known, json_boolean(health->clock_known));
	result_set(v, KEY_clock_synchronised, json_boolean(health->clock_synchronised));
	result_set(v, KEY_clock_offset_s,
	    number_or_null(health->clock_known ? health->clock_offset_s : NAN));
	result_set(v, KEY_clock_bound_s,
	    number_or_null(health->clock_known ? health->clock_bound_s : NAN));
	return v;
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
		result_set(v, list[i].key, text_or_null(list[i].ok ? "ok" : list[i].why));
	return v;
}

int
api_ready(struct evbuffer *out, const struct nw_health *health, bool can_read)
{
	json_t *doc = json_object(), *parts = parts_object(health);

	result_set(parts, KEY_health_parts_report,
	    json_string(can_read ? "ok" : "the report cannot read the store"));
	result_set(doc, KEY_ready_ready, json_boolean(can_read && health_is_ready(health)));
	result_set(doc, KEY_ready_parts, parts);
	return body_put_document(out, doc);
}

int
api_health(struct evbuffer *out, const struct nw_health *health)
{
	json_t *doc = json_object(), *count;

	if (health == NULL) {
		result_set(doc, KEY_health_ok, json_false());
		result_set(doc, KEY_health_problem,
		    json_string("this server shows a store without its box"));
		return body_put_document(out, doc);
	}
	result_set(doc, KEY_health_ok, json_boolean(health->ok));
	result_set(
	    doc, KEY_health_problem, health->ok ? json_null() : text_or_null(health->problem));
	result_set(doc, KEY_health_parts, parts_object(health));
	result_set(doc, KEY_health_version, text_or_null(health->version));
	result_set(doc, KEY_health_started, time_or_null(health->started_wall_ns));
	result_set(doc, KEY_health_now, time_or_null(health->now_wall_ns));
	result_set(doc, KEY_health_listen_xsp, text_or_null(health->listen_xsp));
	result_set(doc, KEY_health_listen_xsp_tls, text_or_null(health->listen_xsp_tls));
	result_set(doc, KEY_health_listen_http, text_or_null(health->listen_http));
	result_set(doc, KEY_health_listen_https, text_or_null(health->listen_https));
	result_set(doc, KEY_health_store, store_object(&health->store));
	result_set(doc, KEY_health_clock, clock_object(health));
	result_set(doc, KEY_health_disk_free_bytes,
	    health->disk_free_bytes >= 0 ? json_integer(health->disk_free_bytes) : json_null());
	result_set(doc, KEY_health_last_backup, time_or_null(health->backup_wall_ns));
	result_set(doc, KEY_health_last_backup_bytes,
	    health->backup_wall_ns != 0 ? json_integer(health->backup_bytes) : json_null());
	result_set(doc, KEY_health_last_backup_file,
	    health->backup_wall_ns != 0 ? text_or_null(health->backup_path) : json_null());
	result_set(doc, KEY_health_last_analysis, time_or_null(health->last_analysis_wall_ns));
	result_set(doc, KEY_health_last_analysis_took_s,
	    json_real((double)health->last_analysis_took_ns / 1e9));
	count = json_object();
#define X(name, section, kind, words) \
	result_set(count, KEY_counters_##name, json_integer((json_int_t)health->counts.name));
	NW_COUNTERS(X)
#undef X
	result_set(doc, KEY_health_counters, count);
	return body_put_document(out, doc);
}

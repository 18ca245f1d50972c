/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/analysis/imported.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/log.h"
#include "narrows/result.h"
#include "narrows/task.h"
#include "narrows/xmalloc.h"

enum { SENDERS_MAX = 16, TEXT_MAX_BYTES = RESULT_REPORT_PART_BYTES * RESULT_REPORT_PARTS_MAX };

struct reading {
	struct store_reader *r;
	int64_t session_id;
	char *task;
	int64_t hosts[SENDERS_MAX]; /* in the order of their first protocol session */
	size_t n_hosts;
	char *host; /* name of the sender */
	/* of the sender in hand: the next part, the number of all parts, the text so far */
	int64_t next, parts;
	char *text;
	size_t len;
};

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct reading *in = arg;

	(void)res;
	if (result_task_is_report(s->task_id))
		in->task = xstrdup(s->task_id);
	return 0;
}

static int
on_xsp(void *arg, const struct nw_xsp_rec *x)
{
	struct reading *in = arg;
	size_t i;

	for (i = 0; i < in->n_hosts && in->hosts[i] != x->host_id; i++)
		continue;
	if (i == in->n_hosts && i < SENDERS_MAX)
		in->hosts[in->n_hosts++] = x->host_id;
	return 0;
}

static const struct nw_attr *
attr_get(const struct nw_event *e, const char *key, enum nw_attr_type type)
{
	size_t i;

	for (i = 0; i < e->n_attrs; i++)
		if (strcmp(e->attrs[i].key, key) == 0)
			return e->attrs[i].type == type ? &e->attrs[i] : NULL;
	return NULL;
}

/* Adds the next part. Events out of order, or of another number of parts, do not count. */
static int
on_part(void *arg, const struct nw_event_rec *rec)
{
	struct reading *in = arg;
	const struct nw_attr *part = attr_get(&rec->event, "part", NW_ATTR_INT),
			     *parts = attr_get(&rec->event, "parts", NW_ATTR_INT),
			     *text = attr_get(&rec->event, "text", NW_ATTR_TEXT);
	size_t len;

	if (part == NULL || parts == NULL || text == NULL || part->v.i != in->next ||
	    parts->v.i < 1 || parts->v.i > RESULT_REPORT_PARTS_MAX ||
	    (in->next > 0 && parts->v.i != in->parts))
		return 0;
	len = strlen(text->v.text);
	if (len > TEXT_MAX_BYTES - in->len)
		return 1;
	in->text = xreallocarray(in->text, in->len + len + 1, 1);
	memcpy(in->text + in->len, text->v.text, len + 1);
	in->len += len;
	in->parts = parts->v.i;
	return ++in->next == in->parts;
}

/* The document of the sender in hand, or NULL if the hash of the text is not in the task. */
static json_t *
document_of(const struct reading *in)
{
	char *task =
	    in->parts > 0 && in->next == in->parts ? task_of_report(in->text, in->len) : NULL;
	const char *why = NULL;
	json_t *doc = NULL;

	if (task != NULL && strcmp(task, in->task) == 0)
		doc = json_loadb(in->text, in->len, JSON_REJECT_DUPLICATES, NULL);
	if (doc != NULL && result_check(doc, &why) < 0) {
		log_warnx(
		    "imported.refuse session=%lld why=\"%s\"", (long long)in->session_id, why);
		json_decref(doc);
		doc = NULL;
	}
	free(task);
	return doc;
}

static int
on_host(void *arg, const struct nw_host_rec *h)
{
	struct reading *in = arg;

	in->host = xstrdup(h->name);
	return 0;
}

/* Takes the document of the first sender with the right text. */
static int
document_find(struct reading *in, json_t **doc)
{
	size_t i;
	int rc;

	for (i = 0; i < in->n_hosts; i++) {
		in->next = in->parts = 0;
		in->len = 0;
		rc = store_events(in->r,
		    &(struct nw_event_select){ .session_id = in->session_id,
			.host_id = in->hosts[i],
			.name = RESULT_REPORT_EVENT },
		    on_part, in);
		if (rc < 0)
			return rc;
		if ((*doc = document_of(in)) != NULL)
			return store_host_get(in->r, in->hosts[i], on_host, in);
	}
	return NW_ENOTFOUND;
}

static void
document_mark(const struct reading *in, json_t *doc, int64_t now_wall_ns)
{
	json_t *session = json_object_get(doc, result_key_name(KEY_result_session)),
	       *mark = json_object();

	json_object_set(mark, result_key_name(KEY_imported_session),
	    json_object_get(session, result_key_name(KEY_session_id)));
	result_put_text(mark, KEY_imported_host, in->host);
	result_put_text(mark, KEY_imported_at, fmt_iso_ns(now_wall_ns).s);
	result_set(doc, KEY_result_imported, mark);
	result_put_int(session, KEY_session_id, in->session_id);
	result_put_text(session, KEY_session_state, "closed");
}

int
imported_read(struct store_reader *r, int64_t session_id, int64_t now_wall_ns, json_t **doc)
{
	struct reading in = { .r = r, .session_id = session_id };
	int rc = store_session_get(r, session_id, on_session, &in);

	*doc = NULL;
	if (rc == NW_OK && in.task == NULL)
		rc = NW_ENOTFOUND;
	if (rc == NW_OK && (rc = store_xsp_of_session(r, session_id, on_xsp, &in)) == NW_OK)
		rc = document_find(&in, doc);
	if (rc == NW_OK)
		document_mark(&in, *doc, now_wall_ns);
	else
		json_decref(*doc);
	free(in.task);
	free(in.text);
	free(in.host);
	return rc;
}

void
imported_outcome(const json_t *doc, struct analysis_outcome *out)
{
	const json_t *s = result_get(doc, KEY_result_session),
		     *v = result_get(doc, KEY_result_verdict),
		     *usual = result_get(doc, KEY_result_usual);
	double duration_s = result_number(s, KEY_session_duration_s);

	*out = (struct analysis_outcome){ .route = result_text(s, KEY_session_route),
		.program = result_text(s, KEY_session_program),
		.stage = result_text(v, KEY_verdict_stage),
		.confidence = result_text(v, KEY_verdict_confidence),
		.sentence = result_text(v, KEY_verdict_sentence),
		.effect = result_number(v, KEY_verdict_effect),
		.usual = result_text(usual, KEY_usual_sentence) != NULL
		    ? result_number(usual, KEY_usual_ratio)
		    : NAN,
		.label = result_text(s, KEY_session_label),
		.exit_status = result_number(s, KEY_session_exit_status),
		.bytes = result_number(s, KEY_session_bytes),
		.bytes_per_s = result_number(s, KEY_session_bytes_per_s),
		.duration_s = duration_s >= 0 && duration_s < 9e9 ? duration_s : 0,
		.start_wall_ns = result_ns(s, KEY_session_start_ns) };
}

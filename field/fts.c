/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/fts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "field/fieldtext.h"
#include "field/jsonscan.h"
#include "narrows/err.h"

/* FTS's times are milliseconds since 1970, as a number or as a text of digits; 0: not known. */
#define MS_NS   INT64_C(1000000)
#define MS_LAST INT64_C(7258118400000) /* 2200-01-01 */
enum { WORD_BYTES = 3 };

/* The spans of a message, from two times each. */
enum span { TRANSFER, PREPARE, SOURCE_CHECK, TARGET_CHECK, STAGING, SPANS };

struct reading {
	struct nw_fts_message *m;
	int64_t begin_ms[SPANS], end_ms[SPANS];
	int64_t message_ms, taken_ms, over_ms, submit_ms;
};

/* A whole number of a key, or of a text of digits; -1 for anything else. */
static int64_t
whole_of(const struct jsonscan_value *v)
{
	int64_t n = 0;
	const char *p;

	if (v->kind == JSONSCAN_NUMBER) {
		/* FTS's writer of JSON prints large numbers with an exponent */
		if (v->whole >= 0)
			return v->whole;
		return v->number >= 0 && v->number < 9e15 ? (int64_t)v->number : -1;
	}
	if (v->kind != JSONSCAN_TEXT || *v->text == '\0' || strlen(v->text) > 15)
		return -1;
	for (p = v->text; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return -1;
		n = 10 * n + (*p - '0');
	}
	return n;
}

/* --- keys --- */

static bool
text_read(struct nw_fts_message *m, const char *path, const struct jsonscan_value *v)
{
	const struct fieldtext_place texts[] = { { "job_id", m->job, sizeof(m->job) },
		{ "src_url", m->src_url, sizeof(m->src_url) },
		{ "dst_url", m->dst_url, sizeof(m->dst_url) }, { "vo", m->vo, sizeof(m->vo) },
		{ "vo_name", m->vo, sizeof(m->vo) },
		{ "t_final_transfer_state", m->state, sizeof(m->state) },
		{ "file_state", m->state, sizeof(m->state) },
		{ "t__error_message", m->why, sizeof(m->why) },
		{ "reason", m->why, sizeof(m->why) } };

	return fieldtext_take(texts, sizeof(texts) / sizeof(texts[0]), path, v);
}

static bool
time_read(struct reading *r, const char *path, int64_t ms)
{
	const struct {
		const char *path;
		int64_t *at;
	} times[] = { { "timestamp_tr_st", &r->begin_ms[TRANSFER] },
		{ "timestamp_tr_comp", &r->end_ms[TRANSFER] },
		{ "timestamp_chk_src_st", &r->begin_ms[SOURCE_CHECK] },
		{ "timestamp_chk_src_ended", &r->end_ms[SOURCE_CHECK] },
		{ "timestamp_checksum_dest_st", &r->begin_ms[TARGET_CHECK] },
		{ "timestamp_checksum_dest_ended", &r->end_ms[TARGET_CHECK] },
		{ "time_srm_prep_st", &r->begin_ms[PREPARE] },
		{ "time_srm_prep_end", &r->end_ms[PREPARE] },
		{ "staging_start", &r->begin_ms[STAGING] },
		{ "staging_finished", &r->end_ms[STAGING] }, { "timestamp", &r->message_ms },
		{ "tr_timestamp_start", &r->taken_ms }, { "tr_timestamp_complete", &r->over_ms },
		{ "submit_time", &r->submit_ms } };
	size_t i;

	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (strcmp(path, times[i].path) == 0) {
			*times[i].at = ms > 0 && ms < MS_LAST ? ms : 0;
			return true;
		}
	return false;
}

static int
on_value(void *arg, const char *path, const struct jsonscan_value *v)
{
	struct reading *r = arg;
	struct nw_fts_message *m = r->m;
	int64_t n;

	if (text_read(m, path, v))
		return NW_OK;
	if ((n = whole_of(v)) < 0 || time_read(r, path, n))
		return NW_OK;
	if (strcmp(path, "file_id") == 0)
		m->file_id = n;
	else if (strcmp(path, "retry") == 0 || strcmp(path, "retry_counter") == 0)
		m->retry = n;
	else if (strcmp(path, "tr_bt_transfered") == 0)
		m->bytes = (double)n;
	else if (strcmp(path, "nstreams") == 0)
		m->streams = (double)n;
	else if (strcmp(path, "scitag") == 0 && n <= UINT16_MAX && n > 0)
		m->scitag = n;
	return NW_OK;
}

/* --- the whole --- */

static double
span_s(const struct reading *r, enum span s)
{
	const int64_t begin = r->begin_ms[s], end = r->end_ms[s];

	return begin > 0 && end >= begin ? (double)(end - begin) * 1e-3 : NAN;
}

/* What the keys together must say. */
static int
message_check(struct reading *r, const char **why)
{
	struct nw_fts_message *m = r->m;
	const int64_t end_ms = r->end_ms[TRANSFER] > 0 ? r->end_ms[TRANSFER] : r->over_ms;
	const int64_t begin_ms = r->begin_ms[TRANSFER] > 0 ? r->begin_ms[TRANSFER] : r->taken_ms;

	m->prepare_s = span_s(r, PREPARE);
	m->source_check_s = span_s(r, SOURCE_CHECK);
	m->target_check_s = span_s(r, TARGET_CHECK);
	m->staging_s = span_s(r, STAGING);
	m->submit_wall_ns = r->submit_ms * MS_NS;
	m->t_wall_ns = (m->kind == NW_FTS_COMPLETE ? end_ms : r->message_ms) * MS_NS;
	m->begin_wall_ns = begin_ms * MS_NS;
	m->taken_wall_ns = r->taken_ms * MS_NS;
	*why = "a message of FTS without job, file or time";
	if (m->job[0] == '\0' || m->file_id < 0 || m->t_wall_ns == 0)
		return NW_EPROTO;
	*why = "a transfer of FTS without source, target or begin, or one that ends before its "
	       "begin";
	if (m->kind == NW_FTS_COMPLETE &&
	    (m->src_url[0] == '\0' || m->dst_url[0] == '\0' || m->begin_wall_ns == 0 ||
		m->begin_wall_ns > m->t_wall_ns))
		return NW_EPROTO;
	return NW_OK;
}

int
nw_fts_read(const char *bytes, size_t len, struct nw_fts_message *out, const char **why)
{
	static const char *const words[] = { "ST ", "SS ", "CO " };
	struct reading r = { .m = out };
	int kind, rc;

	memset(out, 0, sizeof(*out));
	out->file_id = out->retry = out->scitag = -1;
	out->bytes = out->prepare_s = out->source_check_s = out->target_check_s = NAN;
	out->streams = out->staging_s = NAN;
	*why = "not a message of FTS";
	for (kind = NW_FTS_COMPLETE; kind >= NW_FTS_START; kind--)
		if (len > WORD_BYTES && memcmp(bytes, words[kind], WORD_BYTES) == 0)
			break;
	if (kind < NW_FTS_START)
		return NW_EUNSUPPORTED;
	out->kind = (enum nw_fts_kind)kind;
	rc = jsonscan(bytes + WORD_BYTES, len - WORD_BYTES, on_value, &r, why);
	return rc < 0 ? rc : message_check(&r, why);
}

void
nw_fts_file(const struct nw_fts_message *m, char out[NW_FTS_ID_BYTES])
{
	(void)snprintf(out, NW_FTS_ID_BYTES, "%.40s/%" PRId64, m->job, m->file_id);
}

/* --- events --- */

static void
text_add(struct nw_fts_event *out, const char *key, const char *text)
{
	if (text[0] != '\0')
		out->attrs[out->e.n_attrs++] =
		    (struct nw_attr){ .key = key, .type = NW_ATTR_TEXT, .v.text = text };
}

static void
real_add(struct nw_fts_event *out, const char *key, double v)
{
	if (isfinite(v))
		out->attrs[out->e.n_attrs++] =
		    (struct nw_attr){ .key = key, .type = NW_ATTR_REAL, .v.d = v };
}

static void
int_add(struct nw_fts_event *out, const char *key, int64_t v)
{
	if (v >= 0)
		out->attrs[out->e.n_attrs++] =
		    (struct nw_attr){ .key = key, .type = NW_ATTR_INT, .v.i = v };
}

void
nw_fts_event(const struct nw_fts_message *m, int64_t submit_wall_ns, double staging_s,
    struct nw_fts_event *out)
{
	static const char *const names[] = { "fts.start", "fts.state", "transfer.fts" };
	const int64_t taken = m->taken_wall_ns > 0 ? m->taken_wall_ns : m->begin_wall_ns;

	out->e = (struct nw_event){ .t_wall_ns = m->t_wall_ns,
		.program = "fts",
		.name = names[m->kind],
		.level = "Info",
		.attrs = out->attrs };
	(void)snprintf(out->id, sizeof(out->id), "%.40s/%" PRId64 "/%" PRId64, m->job, m->file_id,
	    m->retry > 0 ? m->retry : 0);
	fieldtext_url_host(m->src_url, out->src, sizeof(out->src));
	fieldtext_url_host(m->dst_url, out->dst, sizeof(out->dst));
	text_add(out, "transfer_id", out->id);
	out->attrs[0].is_id = true;
	text_add(out, "src", out->src);
	text_add(out, "dst", out->dst);
	text_add(out, "file", m->dst_url);
	text_add(out, "from", m->src_url);
	text_add(out, "vo", m->vo);
	text_add(out, "state", m->state);
	text_add(out, "why", m->why);
	int_add(out, "scitag", m->scitag);
	if (m->kind == NW_FTS_START)
		return;
	real_add(out, "staging_s", m->kind == NW_FTS_STATE ? m->staging_s : staging_s);
	if (m->kind == NW_FTS_STATE)
		return;
	real_add(out, "bytes", m->bytes);
	real_add(out, "seconds", (double)(m->t_wall_ns - m->begin_wall_ns) * 1e-9);
	/* the time of tapes is no time of the queue */
	if (submit_wall_ns > 0 && submit_wall_ns <= taken)
		real_add(out, "queue_s",
		    fmax(0,
			(double)(taken - submit_wall_ns) * 1e-9 -
			    (isfinite(staging_s) ? staging_s : 0)));
	real_add(out, "prepare_s", m->prepare_s);
	real_add(out, "source_check_s", m->source_check_s);
	real_add(out, "target_check_s", m->target_check_s);
	real_add(out, "streams", m->streams);
}

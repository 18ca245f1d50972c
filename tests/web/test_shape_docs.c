/* SPDX-License-Identifier: BSD-3-Clause */
/* Metadata as it was sent, byte for byte, or turned into another generation; rows in the shape of
 * each. */
#include "web/export/bson_document.h"

#include "narrows/hist.h"
#include "narrows/web.h"
#include "tests/bsontext.h"
#include "tests/filled.h"

#define T0      INT64_C(1795162331250000000)
#define G1_TIME INT64_C(1297112636750000128) /* what a reader makes of sample 1 below */

static const uint8_t hist[] = { 1, NW_HIST_BITS, 5, 3, 1, 0xff, 1 };

/* What peers sent, in JSON; NULL: nobody did. */
static const struct series {
	int64_t id;
	const char *mid, *pid, *event_type, *subject, *params, *sent;
	size_t n_fields;
	const char *fields[3];
	int64_t t;
	double values[3];
} series[] = {
	{ 1, "x", NULL, "xfer.xsp.xio", "{\"size\":5}", "{}",
	    "{\"_id\":\"x\",\"event_type\":\"xfer.xsp.xio\",\"params\":{},\"subject\":{\"size\":{"
	    "\"$numberLong\":\"5\"}}}",
	    0, { NULL }, 0, { 0 } },
	{ 2, "c", "x", "nl.read.summary", "{}", "{\"dt\":5,\"ts\":1297112631.75}",
	    "{\"_id\":\"c\",\"_pid\":\"x\",\"event_type\":\"nl.read.summary\",\"params\":{\"dt\":{"
	    "\"$numberDouble\":\"5.0\"},"
	    "\"ts\":{\"$numberDouble\":\"1297112631.75\"}},\"subject\":{}}",
	    3, { "sum_v", "mean_vv", "count" }, G1_TIME, { 1.5, NAN, 7 } },
	{ 3, "h", NULL, "ps:host:host", "{\"hostname\":\"h\"}", "{}",
	    "{\"id\":\"h\",\"type\":\"ps:host:host\",\"subject\":{\"hostname\":\"h\"}}", 0,
	    { NULL }, 0, { 0 } },
	{ 4, "u", "h", "ps:user", "{}", "{}",
	    "{\"id\":\"u\",\"pid\":\"h\",\"event_type\":\"ps:user\",\"subject\":[],\"params\":{}}",
	    1, { "value" }, T0 + 250000000, { 0.25 } },
	{ 5, "g", NULL, "nl:read", "{}", "{}",
	    "{\"id\":\"g\",\"eventType\":\"nl:read\",\"subject\":{},\"parameters\":{},\"more\":"
	    "true}",
	    3, { "sum_v", "value", "dur" }, T0 + 1, { 1, 2, NAN } },
	{ 6, "k", NULL, "nw:clock", "{\"a\":[1,9007199254740993,1.5,true,null,{\"b\":\"c\"}]}",
	    "{}", NULL, 1, { "value" }, T0 + 1, { 3 } },
	{ 7, "d", NULL, "e", "{}", "{}",
	    "{\"id\":\"d\",\"event_type\":\"e\",\"type\":\"x\",\"$schema\":\"s\"}", 1, { "count" },
	    T0, { 0.5 } },
	{ 8, "o", NULL, "untyped", "{\"process\":1}", "{}",
	    "{\"id\":\"o\",\"subject\":{\"process\":1},\"$schema\":\"s\"}", 1, { "value" }, T0 + 7,
	    { -0.0 } },
	/* the id of another one; it inherited a subject */
	{ 9, "d", NULL, "nl:again", "{\"k\":5,\"more\":7}", "{}",
	    "{\"id\":\"d\",\"eventType\":\"nl:again\",\"parameters\":{},"
	    "\"subject\":{\"k\":{\"$numberDouble\":\"5.0\"}}}",
	    2, { "value", "dur" }, T0, { 1, 2 } },
};
enum { N_SERIES = sizeof(series) / sizeof(series[0]) };

static void
put(struct nw_batch *b, const struct series *s)
{
	bson_error_t e;
	bson_t *sent =
	    s->sent != NULL ? bson_new_from_json((const uint8_t *)s->sent, -1, &e) : NULL;
	struct nw_meta_rec m = { .id = s->id,
		.session_id = 7,
		.host_id = 1,
		.xsp_id = s->id < 6 ? 1 : 2,
		.mid = s->mid,
		.pid = s->pid,
		.event_type = s->event_type,
		.subject_json = s->subject,
		.params_json = s->params };

	CHECK((sent != NULL) == (s->sent != NULL));
	if (sent != NULL) {
		m.raw = bson_get_data(sent);
		m.raw_len = sent->len;
	}
	CHECK_INT(nw_batch_meta(b, &m), NW_OK);
	if (sent != NULL)
		bson_destroy(sent);
	if (s->n_fields == 0)
		return;
	CHECK_INT(
	    nw_batch_layout(b,
		&(struct nw_layout_rec){
		    .id = s->id, .meta_id = s->id, .n_fields = s->n_fields, .fields = s->fields }),
	    NW_OK);
	CHECK_INT(nw_batch_rows(b, s->id, s->n_fields, 1, &s->t, s->values,
		      s->id == 5 ? hist : NULL, s->id == 5 ? sizeof(hist) : 0),
	    NW_OK);
}

static void
fill(struct store *st)
{
	struct nw_batch *b = nw_batch_new();
	size_t i;

	CHECK_INT(nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = "dtn1" }), NW_OK);
	CHECK_INT(
	    nw_batch_session(b, &(struct nw_session_rec){ .id = 7, .task_id = "job" }), NW_OK);
	CHECK_INT(nw_batch_session(b, &(struct nw_session_rec){ .id = 8 }), NW_OK);
	CHECK_INT(nw_batch_xsp(b,
		      &(struct nw_xsp_rec){
			  .id = 1, .host_id = 1, .session_id = 7, .sess_id_hex = "0A" }),
	    NW_OK);
	CHECK_INT(nw_batch_xsp(b,
		      &(struct nw_xsp_rec){ .id = 2,
			  .host_id = 1,
			  .session_id = 7,
			  .sess_id_hex = "0B",
			  .provider = "p",
			  .software = "sw" }),
	    NW_OK);
	for (i = 0; i < N_SERIES; i++)
		put(b, &series[i]);
	CHECK_INT(nw_batch_meta(b,
		      &(struct nw_meta_rec){ .id = 20,
			  .session_id = 8,
			  .host_id = 1,
			  .mid = "bad",
			  .event_type = "e",
			  .subject_json = "{}",
			  .params_json = "{}",
			  .raw = (const uint8_t *)"\6\0\0\0\0",
			  .raw_len = 5 }),
	    NW_OK);
	filled_commit(st, b);
}

struct bytes {
	uint8_t *p;
	size_t len;
};

static int
append(void *arg, const char *s, size_t len)
{
	struct bytes *t = arg;

	t->p = realloc(t->p, t->len + len);
	memcpy(t->p + t->len, s, len);
	t->len += len;
	return 0;
}

#define A "{ \"sender\" : \"1\", \"host\" : \"dtn1\", \"task_id\" : \"job\" }"
#define B                                                                                          \
	"{ \"sender\" : \"2\", \"host\" : \"dtn1\", \"task_id\" : \"job\", \"software\" : \"sw\" " \
	"}"
#define META(item) "{ \"version\" : \"0.1\", \"meta\" : [ " item " ], \"data\" : [ ] }"
#define DATA(item) "{ \"version\" : \"0.1\", \"meta\" : [ ], \"data\" : [ " item " ] }"
#define INT(n)     "{ \"$numberInt\" : \"" n "\" }"
#define DOUBLE(n)  "{ \"$numberDouble\" : \"" n "\" }"
#define NS(n)      "{ \"$numberLong\" : \"" n "\" }"
#define LIST                                                             \
	"{ \"a\" : [ " INT("1") ", " NS("9007199254740993") ", " DOUBLE( \
	    "1.5") ", true, null, { \"b\" : \"c\" } ] }"
#define HIST "\"h_dur\" : { \"$binary\" : { \"base64\" : \"AQcFAwH/AQ==\", \"subType\" : \"00\" } }"

/* The formatter would indent the strings beyond the right edge. */
/* clang-format off */
static const struct {
	const char *query;
	const char *want[32];
} exports[] = {
	/* as they came */
	{ "",
	    { A,
		META("{ \"_id\" : \"x\", \"event_type\" : \"xfer.xsp.xio\", \"params\" : { }, "
		     "\"subject\" : { \"size\" : " NS("5") " } }"),
		META("{ \"_id\" : \"c\", \"_pid\" : \"x\", \"event_type\" : \"nl.read.summary\", "
		     "\"params\" : { \"dt\" : " DOUBLE("5.0") ", \"ts\" : " DOUBLE(
			 "1297112631.75") " }, \"subject\" : { } }"),
		DATA("{ \"_mid\" : \"c\", \"event_type\" : \"nl.read.summary\", \"values\" : { "
		     "\"_sample\" : " INT("1") ", \"sum.v\" : " DOUBLE(
			 "1.5") ", \"mean_vv\" : " DOUBLE("NaN") ", \"count\" : " INT("7") " } }"),
		META("{ \"id\" : \"h\", \"type\" : \"ps:host:host\", \"subject\" : { \"hostname\" "
		     ": \"h\" } }"),
		META("{ \"id\" : \"u\", \"pid\" : \"h\", \"event_type\" : \"ps:user\", \"subject\" "
		     ": [ ], \"params\" : { } }"),
		DATA("{ \"mid\" : \"u\", \"values\" : [ [ " DOUBLE("1795162331.5") ", " DOUBLE(
		    "0.25") " ] ] }"),
		"{ \"id\" : \"g\", \"eventType\" : \"nl:read\", \"subject\" : { }, \"parameters\" "
		": { }, \"more\" : true }",
		"{ \"mid\" : \"g\", \"data\" : { \"ts\" : " DOUBLE(
		    "1795162331.25") ", \"ts_ns\" "
				     ": " NS(
		    "179516"
		    "233125"
		    "000000"
		    "1") ","
		    " "
		    "\"sum_v\" : " DOUBLE("1.0") ", \"value\" : " DOUBLE(
		    "2.0") ", \"dur\" : " DOUBLE("NaN") ", " HIST
		    " } }",
		B,
		"{ \"id\" : \"k\", \"eventType\" : \"nw:clock\", \"subject\" : " LIST
		", \"parameters\" : { } }",
		"{ \"mid\" : \"k\", \"data\" : { \"ts\" : " DOUBLE(
		    "1795162331.25") ", \"ts_ns\" : " NS("1795162331250000001") ", \"value\" "
		    ": " DOUBLE(
		    "3.0") " } }",
		"{ \"id\" : \"d\", \"event_type\" : \"e\", \"type\" : \"x\", \"$schema\" : \"s\" }",
		"{ \"mid\" : \"d\", \"data\" : { \"ts\" : " DOUBLE(
		    "1795162331.25") ", \"count\" : " DOUBLE("0.5") " } }",
		META("{ \"id\" : \"o\", \"subject\" : { \"process\" : " INT(
		    "1") " }, \"$schema\" : \"s\" }"),
		DATA("{ \"mid\" : \"o\", \"data\" : { \"ts\" : " DOUBLE(
		    "1795162331.25") ", \"ts_ns\" : " NS("1795162331250000007") ", \"value\" "
		    ": " DOUBLE(
		    "-0.0") " } }"),
		"{ \"id\" : \"d\", \"eventType\" : \"nl:again\", \"parameters\" : { }, \"subject\" "
		": { \"k\" : " DOUBLE("5.0") " } }",
		"{ \"mid\" : \"d\", \"eventType\" : \"nl:again\", \"data\" : { \"ts\" : " DOUBLE(
		    "1795162331.25") ", \"value\" : " DOUBLE("1.0") ", \"dur\" : " DOUBLE("2.0") " "
		    "}"
		    " "
		    "}" } },
	{ "?shape=g1&series=n",
	    { A,
		META("{ \"_id\" : \"c\", \"_pid\" : \"x\", \"event_type\" : \"nl.read.summary\", "
		     "\"params\" : { \"dt\" : " DOUBLE("5.0") ", \"ts\" : " DOUBLE(
			 "1297112631.75") " }, \"subject\" : { } }"),
		DATA("{ \"_mid\" : \"c\", \"event_type\" : \"nl.read.summary\", \"values\" : { "
		     "\"_sample\" : " INT("1") ", \"sum.v\" : " DOUBLE(
			 "1.5") ", \"mean_vv\" : " DOUBLE("NaN") ", \"count\" : " INT("7") " } }"),
		META("{ \"_id\" : \"g\", \"event_type\" : \"nl:read\", \"subject\" : { }, "
		     "\"params\" : { } }"),
		DATA(
		    "{ \"_mid\" : \"g\", \"event_type\" : \"nl:read\", \"values\" : { \"ts\" "
		    ": " DOUBLE("1795162331.25") ", \"ts_ns\" : " NS(
			"1795162331250000001") ", \"sum.v\" : " DOUBLE("1.0") ", \"value\" "
		    ": " DOUBLE(
		    "2.0") ","
		    " "
		    "\"dur\" "
		    ":"
		    " " DOUBLE(
		    "NaN") ", " HIST
		    " } }"),
		B,
		META("{ \"_id\" : \"k\", \"event_type\" : \"nw:clock\", \"subject\" : " LIST
		     ", \"params\" : { } }"),
		DATA("{ \"_mid\" : \"k\", \"event_type\" : \"nw:clock\", \"values\" : { \"ts\" "
		     ": " DOUBLE("1795162331.25") ", \"ts_ns\" : " NS(
			 "1795162331250000001") ", \"value\" : " DOUBLE("3.0") " } }"),
		META("{ \"_id\" : \"d\", \"event_type\" : \"nl:again\", \"subject\" : { \"k\" "
		     ": " DOUBLE("5.0") ", \"more\" : " INT("7") " }, \"params\" : { } }"),
		DATA("{ \"_mid\" : \"d\", \"event_type\" : \"nl:again\", \"values\" : { \"ts\" "
		     ": " DOUBLE("1795162331.25") ", \"value\" : " DOUBLE(
			 "1.0") ", \"dur\" : " DOUBLE("2.0") " } }") } },
	/* "d" alone shares nothing with anybody in this one */
	{ "?shape=g2&series=nl:",
	    { A,
		META("{ \"id\" : \"g\", \"event_type\" : \"nl:read\", \"subject\" : { }, "
		     "\"params\" : { } }"),
		META("{ \"id\" : \"g:sum_v\", \"pid\" : \"g\", \"event_type\" : \"nl:read:sum_v\", "
		     "\"subject\" : { }, \"params\" : { } }"),
		META("{ \"id\" : \"g:dur\", \"pid\" : \"g\", \"event_type\" : \"nl:read:dur\", "
		     "\"subject\" : { }, \"params\" : { } }"),
		DATA("{ \"mid\" : \"g:sum_v\", \"values\" : [ [ " DOUBLE(
		    "1795162331.25") ", " DOUBLE("1.0") " ] ] }, "
		    "{ \"mid\" : \"g\", \"values\" : [ "
		    "[ " DOUBLE("1795162331.25") ", " DOUBLE(
		    "2.0") " ] ] }"),
		B,
		META("{ \"id\" : \"d\", \"event_type\" : \"nl:again\", \"subject\" : { \"k\" "
		     ": " DOUBLE("5.0") ", \"more\" : " INT("7") " }, \"params\" : { } }"),
		META("{ \"id\" : \"d:dur\", \"pid\" : \"d\", \"event_type\" : \"nl:again:dur\", "
		     "\"subject\" : { \"k\" : " DOUBLE("5.0") ", \"more\" : " INT(
			 "7") " }, \"params\" : { } }"),
		DATA("{ \"mid\" : \"d\", \"values\" : [ [ " DOUBLE("1795162331.25") ", " DOUBLE(
		    "1.0") " ] ] }, "
			   "{ \"mid\" : \"d:dur\", \"values\" : [ [ " DOUBLE(
			       "1795162331.25") ", " DOUBLE("2.0") " ] ] }") } },
	{ "?shape=g3&series=ps:user",
	    { A,
		"{ \"id\" : \"u\", \"pid\" : \"h\", \"eventType\" : \"ps:user\", \"subject\" : { "
		"}, \"parameters\" : { } }",
		"{ \"mid\" : \"u\", \"data\" : { \"ts\" : " DOUBLE(
		    "1795162331.5") ", \"value\" : " DOUBLE("0.25") " } }" } },
};
/* clang-format on */

static void
check_export(struct store_reader *r, const char *query, const char *const *want)
{
	struct bytes t = { 0 };
	int status = 0;
	uint32_t len;
	size_t at;
	bson_t doc;
	char path[80], *json;

	snprintf(path, sizeof(path), "/session/7.bson%s", query);
	CHECK_INT(web_answer(r, path, append, &t, &status), NW_OK);
	CHECK_INT(status, 200);
	for (at = 0; at + 4 <= t.len; at += len) {
		memcpy(&len, t.p + at, 4);
		len = BSON_UINT32_FROM_LE(len);
		CHECK(len <= t.len - at && bson_init_static(&doc, t.p + at, len) &&
		    bson_validate(&doc, BSON_VALIDATE_UTF8, NULL));
		if (len > t.len - at || len < 5)
			break;
		json = bson_text(&doc);
		CHECK_STR(json, *want != NULL ? *want++ : "nothing");
		bson_free(json);
	}
	CHECK_INT(at, t.len);
	CHECK(*want == NULL);
	free(t.p);
}

/* The stored bytes themselves, not what is made of them. */
static void
check_bytes(struct store_reader *r)
{
	struct bytes t = { 0 };
	bson_t *sent;
	int status;
	size_t i;

	CHECK_INT(web_answer(r, "/session/7.bson", append, &t, &status), NW_OK);
	for (i = 0; i < N_SERIES; i++) {
		if (series[i].sent == NULL)
			continue;
		sent = bson_new_from_json((const uint8_t *)series[i].sent, -1, NULL);
		CHECK(memmem(t.p, t.len, bson_get_data(sent), sent->len) != NULL);
		bson_destroy(sent);
	}
	free(t.p);
}

int
main(void)
{
	struct store *st = filled_open(NULL);
	struct store_reader *r = NULL;
	char why[STORE_WHY_BYTES];
	struct bytes t = { 0 };
	int status = 0;
	size_t i;

	fill(st);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	for (i = 0; i < sizeof(exports) / sizeof(exports[0]); i++)
		check_export(r, exports[i].query, exports[i].want);
	check_bytes(r);
	/* what is in the store is no document: nothing is made up */
	CHECK_INT(web_answer(r, "/session/8.bson", append, &t, &status), NW_ECORRUPT);
	CHECK_INT(web_answer(r, "/session/7.bson?shape=g4", append, &t, &status), NW_OK);
	CHECK_INT(status, 400);
	free(t.p);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("test_shape_docs");
}

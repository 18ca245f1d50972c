/* SPDX-License-Identifier: BSD-3-Clause */
/* The view of lifelines: page, JSON, CSV, spans and drawing of a session with a planted delay, of
 * hostile names, of clocks that are wrong. */
#include "web/lines/lines.h"

#include <event2/buffer.h>
#include <jansson.h>

#include "tests/check.h"
#include "tests/lifelog.h"

static char file[64];
static struct store_reader *reader;
static struct lines_cache *cache;

static const struct sim plain = { .lists = 40,
	.blocks = 30,
	.servers = 3,
	.period_s = 0.4,
	.queues = true,
	.place = SIM_DISK,
	.share = 0.05,
	.size_s = 0.1 };

/* The answer as text on the heap, or NULL with the code. */
static char *
ask(enum lines_form form, const char *query, int *rc)
{
	struct evbuffer *b = evbuffer_new();
	struct html h = { .out = b };
	const char *why = NULL;
	char *text = NULL;
	size_t len;

	*rc = lines_answer(&h, reader, cache, 1, form, query, &why);
	if (*rc == NW_OK) {
		len = evbuffer_get_length(b);
		text = calloc(1, len + 1);
		evbuffer_remove(b, text, len);
	} else
		CHECK(*rc != NW_EINVAL || why != NULL);
	evbuffer_free(b);
	return text;
}

static json_t *
ask_json(const char *query)
{
	int rc;
	char *text = ask(LINES_JSON, query, &rc);
	json_t *doc = text != NULL ? json_loads(text, 0, NULL) : NULL;

	CHECK_INT(rc, NW_OK);
	CHECK(json_is_object(doc));
	free(text);
	return doc;
}

static double
number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static const char *
word(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static size_t
count(const char *text, const char *part)
{
	size_t n = 0;

	for (; text != NULL && (text = strstr(text, part)) != NULL; text += strlen(part))
		n++;
	return n;
}

static void
begin(struct lifelog *l)
{
	char why[STORE_WHY_BYTES];

	(void)why;
	strcpy(file, "/tmp/test_lines.XXXXXX");
	close(mkstemp(file));
	unlink(file);
	CHECK_INT(lifelog_begin(l, file), NW_OK);
}

static void
end(struct lifelog *l)
{
	char why[STORE_WHY_BYTES];

	lifelog_end(l);
	CHECK_INT(store_reader_open(file, &reader, why), NW_OK);
}

static void
clear(void)
{
	char more[80];

	store_reader_close(reader);
	lines_cache_free(cache);
	cache = NULL;
	unlink(file);
	snprintf(more, sizeof(more), "%s-wal", file);
	unlink(more);
	snprintf(more, sizeof(more), "%s-shm", file);
	unlink(more);
	snprintf(more, sizeof(more), "%s.lock", file);
	unlink(more);
}

static void
event(struct lifelog *l, const char *name, const char *host, int64_t t, const char *id,
    const char *server)
{
	const struct nw_attr attrs[] = {
		{ .key = "guid", .type = NW_ATTR_TEXT, .is_id = true, .v.text = id },
		{ .key = "server", .type = NW_ATTR_TEXT, .v.text = server },
	};
	const struct nw_event e = { .t_wall_ns = t,
		.host = host,
		.name = name,
		.n_attrs = id == NULL ? 0
		    : server == NULL  ? 1
				      : 2,
		.attrs = attrs };

	CHECK_INT(lifelog_put(l, &e), NW_OK);
}

/* --- a planted delay --- */

static void
test_document(void)
{
	json_t *doc = ask_json(NULL), *f = json_object_get(doc, "finding"), *m;

	CHECK(strstr(word(doc, "sentence"), "From DPSS_START_READ to DPSS_END_READ") != NULL);
	CHECK_STR(word(f, "from"), "DPSS_START_READ");
	CHECK_NEAR(number(f, "size_s"), 0.1, 0.1, 0);
	CHECK_INT(number(doc, "lifelines"), 1200);
	CHECK_INT(number(doc, "finished"), 1200);
	CHECK_STR(word(doc, "path_source"), "known");
	CHECK_INT(json_array_size(json_object_get(doc, "segments")), 7);
	CHECK_INT(json_array_size(json_object_get(doc, "servers")), 3);
	CHECK(json_array_size(json_object_get(
		  json_array_get(json_object_get(doc, "segments"), 4), "density")) > 10);
	json_decref(doc);
	doc = ask_json("server=1&percentile=90-100");
	CHECK(number(doc, "chosen") > 10 && number(doc, "chosen") < 130);
	json_decref(doc);
	doc = ask_json("from=0&to=0.2");
	CHECK_INT(number(doc, "chosen"), 30);
	json_decref(doc);
	doc = ask_json("a=7+0@APP_SEND&b=7%200@APP_RECEIVE");
	m = json_object_get(doc, "measure");
	CHECK(number(m, "seconds") > 0.005 && number(m, "seconds") < 0.5);
	CHECK_STR(word(m, "b_point"), "APP_RECEIVE");
	json_decref(doc);
	doc = ask_json("path=APP_SEND,APP_RECEIVE&by=block");
	CHECK_INT(json_array_size(json_object_get(doc, "segments")), 1);
	CHECK_STR(word(doc, "path_source"), "declared");
	json_decref(doc);
}

static void
test_tables(void)
{
	int rc;
	char *text = ask(LINES_CSV, NULL, &rc), *at;
	json_t *doc, *spans;

	CHECK_INT(count(text, "\n"), 1201);
	CHECK_INT(count(text, ",finished,"), 1200);
	free(text);
	text = ask(LINES_OTLP, "id=7+0", &rc);
	doc = json_loads(text, 0, NULL);
	spans = json_object_get(
	    json_array_get(json_object_get(json_array_get(json_object_get(doc, "resourceSpans"), 0),
			       "scopeSpans"),
		0),
	    "spans");
	CHECK(json_array_size(spans) > 0 && json_array_size(spans) % 8 == 0);
	CHECK_INT(strlen(word(json_array_get(spans, 0), "traceId")), 32);
	CHECK_STR(word(json_array_get(spans, 0), "parentSpanId"),
	    word(json_array_get(spans, 7), "spanId"));
	json_decref(doc);
	free(text);
	text = ask(LINES_SVG, NULL, &rc);
	CHECK_INT(count(text, "<title>"), 1200);
	CHECK_INT(count(text, "<a "), 0);
	at = strstr(text, "viewBox");
	CHECK(at != NULL && strncmp(text, "<svg", 4) == 0);
	free(text);
	text = ask(LINES_PAGE, NULL, &rc);
	CHECK_INT(count(text, "<a href=\"?id="), 1200 + 20);
	CHECK(strstr(text, "Share of excess") != NULL);
	free(text);
}

static void
test_refusals(void)
{
	static const char *const bad[] = { "percentile=101", "percentile=9-3", "from=x", "a=b",
		"clock=fast", "none=1", "id", "id=%4", "id=%00", "to=nan" };
	size_t i;
	int rc;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		free(ask(LINES_JSON, bad[i], &rc));
		CHECK_INT(rc, NW_EINVAL);
	}
	free(ask(LINES_JSON, "id=nobody", &rc));
	CHECK_INT(rc, NW_OK);
	free(ask(LINES_PAGE, "id=nobody", &rc));
	CHECK_INT(rc, NW_OK);
}

static void
test_planted(void)
{
	struct sim_lines s;
	struct lifelog l;

	begin(&l);
	sim_run(&plain, &s);
	lifelog_sim(&l, &s);
	sim_free(&s);
	end(&l);
	test_document();
	cache = lines_cache_new();
	test_document();
	test_tables();
	test_refusals();
	clear();
}

static void
sim_session(const struct sim *m)
{
	struct sim_lines s;
	struct lifelog l;

	begin(&l);
	sim_run(m, &s);
	lifelog_sim(&l, &s);
	sim_free(&s);
	end(&l);
}

/* A single stall is spoken, with its length and the lines behind it; a delay of some lines speaks
 * of no stall. */
static void
test_stalled_once(void)
{
	struct sim m = { .lists = 60,
		.blocks = 12,
		.servers = 3,
		.period_s = 0.4,
		.queues = true,
		.place = SIM_LOSS,
		.who = SIM_ONCE,
		.size_s = 1.5 };
	json_t *doc;

	sim_session(&m);
	doc = ask_json(NULL);
	CHECK(strncmp(word(doc, "sentence"), "Between DPSS_START_WRITE and APP_RECEIVE, server ",
		  49) == 0);
	CHECK(strstr(word(doc, "sentence"), "stood still once, for 1.5") != NULL);
	CHECK(strstr(word(doc, "sentence"), " lines waited, with ") != NULL);
	CHECK(strstr(word(doc, "sentence"), "let no line through") == NULL);
	json_decref(doc);
	clear();
	m.place = SIM_DISK;
	m.who = SIM_SOME;
	m.size_s = 0.5;
	m.share = 0.02;
	sim_session(&m);
	doc = ask_json(NULL);
	CHECK(json_array_size(json_object_get(doc, "stalls")) > 0);
	CHECK(strstr(word(doc, "sentence"), "take ") != NULL);
	CHECK(strstr(word(doc, "sentence"), "let no line through") == NULL);
	json_decref(doc);
	clear();
}

/* The link of the third stretch leads to fewer lines, and the pictures of all lines fall away. */
static bool
stretch_is_chosen(const char *page)
{
	char query[80], *text;
	bool fewer;
	int i, rc;

	for (i = 0; i < 3 && page != NULL; i++)
		page = strstr(page + 1, "<a href=\"?from=");
	if (page == NULL)
		return false;
	snprintf(query, sizeof(query), "%.*s", (int)strcspn(page + 10, "\""), page + 10);
	for (text = query; (text = strstr(text, "&amp;")) != NULL; text++)
		memmove(text + 1, text + 5, strlen(text + 5) + 1);
	text = ask(LINES_PAGE, query, &rc);
	fewer = text != NULL && strstr(text, "chosen: 1") != NULL &&
	    strstr(text, "class=\"pick\"") == NULL;
	free(text);
	return fewer;
}

/* Of many lines, durations over time, the delayed minority apart; of few, the lines alone. */
static void
test_many(void)
{
	struct sim m = { .lists = 100,
		.blocks = 30,
		.servers = 3,
		.period_s = 0.4,
		.queues = true,
		.place = SIM_DISK,
		.who = SIM_SOME,
		.share = 0.02,
		.size_s = 0.1 };
	const char *slow;
	char *text;
	int rc;

	sim_session(&m);
	text = ask(LINES_PAGE, NULL, &rc);
	CHECK(strstr(text, "Durations of the lifelines over the time of their beginning") != NULL);
	CHECK(strstr(text, "In colour: the lines of the finding.") != NULL);
	slow = strstr(text, "<g class=\"slow\"");
	CHECK(slow != NULL && strncmp(strstr(slow, "d=\""), "d=\"M", 4) == 0);
	CHECK_INT(count(text, "class=\"pick\""), 20);
	CHECK(stretch_is_chosen(text));
	free(text);
	text = ask(LINES_PAGE, "percentile=60-100", &rc);
	CHECK(strstr(text, "class=\"slow\"") == NULL);
	free(text);
	clear();
}

/* --- strange logs --- */

#define T0 INT64_C(1795162331000000000)
#define MS INT64_C(1000000)

static void
test_hostile(void)
{
	static const char evil[] = "<script>alert(1)</script>\"'&=1+1";
	struct lifelog l;
	char id[300], *text;
	int64_t i;
	int rc, form;

	begin(&l);
	for (i = 0; i < 50; i++) {
		snprintf(id, sizeof(id), "%s%d", evil, (int)i);
		event(&l, evil, evil, T0 + i * MS, id, evil);
		event(&l, "b", evil, T0 + i * MS + MS / 2, id, evil);
	}
	event(&l, "c", "host", INT64_MAX, "far", NULL);
	event(&l, "b", "host", INT64_MIN, "far", NULL);
	event(&l, evil, evil, T0, NULL, NULL);
	end(&l);
	for (form = 0; form < LINES_FORMS; form++) {
		text = ask((enum lines_form)form, NULL, &rc);
		CHECK_INT(rc, NW_OK);
		CHECK(text != NULL);
		if (form == LINES_PAGE || form == LINES_SVG)
			CHECK(strstr(text, "<script>") ==
			    NULL); /* the page has one script with an address */
		if (form == LINES_CSV)
			CHECK(strstr(text, "\n=1") == NULL);
		free(text);
	}
	clear();
}

/* A line that stops, a flushed line, a line that passes the path twice; learned order. */
static void
test_states(void)
{
	struct lifelog l;
	json_t *doc;
	int64_t i;
	char id[20];

	begin(&l);
	for (i = 0; i < 30; i++) {
		snprintf(id, sizeof(id), "r%d", (int)i);
		event(&l, "zeta.begin", "c", T0 + i * 10 * MS, id, NULL);
		event(&l, "mid", i % 2 ? "s1" : "s2", T0 + i * 10 * MS + MS, id, NULL);
		if (i == 3)
			event(&l, "FLUSHED", "s1", T0 + i * 10 * MS + 2 * MS, id, NULL);
		if (i != 3 && i != 4)
			event(&l, "alpha.end", "c", T0 + i * 10 * MS + 3 * MS, id, NULL);
	}
	event(&l, "zeta.begin", "c", T0 + 9000 * MS, "r1", NULL);
	event(&l, "alpha.end", "c", T0 + 9001 * MS, "r1", NULL);
	event(&l, "NETSTAT_RETRANSSEGS", "s1", T0 + 5 * MS, NULL, NULL);
	end(&l);
	doc = ask_json(NULL);
	CHECK_INT(number(doc, "lifelines"), 31);
	CHECK_INT(number(doc, "flushed"), 1);
	CHECK_INT(number(doc, "unfinished"), 1);
	CHECK_STR(word(doc, "path_source"), "learned");
	CHECK_STR(json_string_value(json_array_get(json_object_get(doc, "path"), 0)), "zeta.begin");
	CHECK_STR(json_string_value(json_array_get(json_object_get(doc, "path"), 2)), "alpha.end");
	CHECK_STR(word(doc, "server_by"), "host");
	json_decref(doc);
	clear();
}

/* --- clocks --- */

static void
clock_put(struct lifelog *l, int64_t host, const char *name, double offset_s, double bound_s)
{
	static const char *const fields[] = { "offset_s", "bound_s" };
	const struct nw_host_rec h = { .id = host, .name = name };
	const struct nw_meta_rec meta = { .id = host,
		.host_id = host,
		.mid = name,
		.event_type = "nw:clock",
		.subject_json = "{}",
		.params_json = "{}",
		.first_wall_ns = T0 };
	const struct nw_layout_rec layout = {
		.id = host, .meta_id = host, .n_fields = 2, .fields = fields
	};
	const double values[2] = { offset_s, bound_s };
	int64_t t = T0;

	CHECK_INT(nw_batch_host(l->b, &h), NW_OK);
	CHECK_INT(nw_batch_meta(l->b, &meta), NW_OK);
	CHECK_INT(nw_batch_layout(l->b, &layout), NW_OK);
	CHECK_INT(nw_batch_rows(l->b, host, 2, 1, &t, values, NULL, 0), NW_OK);
}

/* A server whose clock is 5 ms behind: with and without an exchange of time stamps. */
static void
clock_session(bool known)
{
	struct lifelog l;
	char id[20];
	int64_t i;

	begin(&l);
	if (known)
		clock_put(&l, 2, "s1", -0.005, 0.0002);
	for (i = 0; i < 60; i++) {
		snprintf(id, sizeof(id), "r%d", (int)i);
		event(&l, "ask", "c", T0 + i * 10 * MS, id, NULL);
		event(&l, "take", "s1", T0 + i * 10 * MS + MS - 5 * MS, id, NULL);
		event(&l, "give", "s1", T0 + i * 10 * MS + 2 * MS - 5 * MS, id, NULL);
		event(&l, "get", "c", T0 + i * 10 * MS + 3 * MS, id, NULL);
	}
	end(&l);
}

static const json_t *
clock_of(const json_t *doc, const char *host)
{
	const json_t *c;
	size_t i;

	json_array_foreach(
	    json_object_get(doc, "clocks"), i, c) if (strcmp(word(c, "host"), host) == 0) return c;
	return NULL;
}

static void
test_clocks(void)
{
	static const char path[] = "path=ask,take,give,get";
	const json_t *wrong;
	json_t *doc;
	char *text;
	int rc;

	clock_session(false);
	doc = ask_json(path);
	CHECK(strncmp(word(doc, "sentence"), "The clock of s1 is 4", 20) == 0);
	CHECK(strstr(word(doc, "sentence"), "behind that of c. ") != NULL);
	CHECK(strstr(word(doc, "sentence"), "taken off: Nothing stands out") != NULL);
	CHECK(strstr(word(doc, "sentence"), "backwards") == NULL);
	CHECK_NEAR(number(clock_of(doc, "s1"), "corrected_s"), -0.005, 1e-6, 0);
	CHECK_NEAR(number(clock_of(doc, "s1"), "bound_s"), 0.001, 1e-6, 0);
	wrong = json_array_get(json_object_get(doc, "wrong_clocks"), 0);
	CHECK_STR(word(wrong, "host"), "s1");
	CHECK_STR(word(wrong, "against"), "c");
	CHECK_NEAR(number(wrong, "high_s"), -0.004, 1e-6, 0);
	CHECK_NEAR(number(wrong, "low_s"), -0.006, 1e-6, 0);
	CHECK_STR(word(wrong, "kind"), "constant");
	json_decref(doc);
	doc = ask_json(NULL); /* the order of a learnt path comes from the wrong clock itself */
	CHECK(strstr(word(doc, "sentence"), "The clock of") == NULL);
	CHECK_NEAR(number(clock_of(doc, "s1"), "corrected_s"), 0, 0, 0);
	json_decref(doc);
	doc = ask_json("clock=raw&path=ask,take,give,get");
	CHECK(strncmp(word(doc, "sentence"), "The clock of s1 is 4", 20) == 0);
	CHECK(strstr(word(doc, "sentence"), "60 segments run backwards in time") != NULL);
	CHECK_NEAR(number(clock_of(doc, "s1"), "lead_by_causality_high_s"), -0.004, 1e-6, 0);
	CHECK_NEAR(number(clock_of(doc, "s1"), "lead_by_causality_low_s"), -0.006, 1e-6, 0);
	json_decref(doc);
	text = ask(LINES_PAGE, "clock=raw&path=ask,take,give,get", &rc);
	CHECK(strstr(text, "class=\"impossible\"") != NULL);
	free(text);
	clear();
	clock_session(true);
	doc = ask_json(NULL);
	CHECK(strstr(word(doc, "sentence"), "By exchanged time stamps s1 5") != NULL);
	CHECK(strstr(word(doc, "sentence"), "behind the box. Times are corrected") != NULL);
	CHECK(strstr(word(doc, "sentence"), "may be wrong by 200") != NULL);
	CHECK(strstr(word(doc, "sentence"), "backwards") == NULL);
	CHECK_NEAR(number(clock_of(doc, "s1"), "corrected_s"), -0.005, 1e-6, 0);
	CHECK_STR(json_string_value(json_array_get(json_object_get(doc, "path"), 1)), "take");
	json_decref(doc);
	doc = ask_json("clock=raw&path=ask,take,give,get");
	CHECK(strstr(word(doc, "sentence"), "60 segments run backwards") != NULL);
	CHECK_NEAR(number(clock_of(doc, "s1"), "bound_s"), 0.0052, 1e-6, 0);
	CHECK_INT(
	    number(json_array_get(json_object_get(doc, "segments"), 0), "order_impossible"), 60);
	json_decref(doc);
	clear();
}

/* One host logs two points in either order: its clock cannot be wrong about that. */
static void
test_one_host(void)
{
	struct lifelog l;
	char id[20];
	int64_t i;
	json_t *doc;
	char *text;
	int rc;

	begin(&l);
	for (i = 0; i < 60; i++) {
		snprintf(id, sizeof(id), "r%d", (int)i);
		event(&l, "ask", "c", T0 + i * 10 * MS, id, NULL);
		event(&l, "take", "c", T0 + i * 10 * MS + (i % 3 == 0 ? -MS : MS), id, NULL);
	}
	end(&l);
	doc = ask_json(NULL);
	CHECK(strstr(word(doc, "sentence"), "clock is wrong") == NULL);
	CHECK(strstr(word(doc, "sentence"),
		  "20 segments run against the path by the clock of a single host") != NULL);
	CHECK_INT(
	    number(json_array_get(json_object_get(doc, "segments"), 0), "order_reversed"), 20);
	CHECK_INT(
	    number(json_array_get(json_object_get(doc, "segments"), 0), "order_impossible"), 0);
	json_decref(doc);
	text = ask(LINES_PAGE, "id=r3", &rc);
	CHECK(strstr(text, "against the path") != NULL);
	CHECK(strstr(text, "impossible order") == NULL);
	free(text);
	clear();
}

/* Lines of 1000 bytes each but one of 5000, one every 10 ms; the last one tells no size. */
static void
test_rates(void)
{
	struct nw_attr attrs[2] = { { .key = "guid", .type = NW_ATTR_TEXT, .is_id = true },
		{ .key = "NBYTES", .type = NW_ATTR_INT } };
	struct nw_event e = { .name = "ask", .host = "c", .attrs = attrs, .n_attrs = 2 };
	struct lifelog l;
	const json_t *m;
	json_t *doc;
	char id[20], *text;
	int i, rc;

	begin(&l);
	for (i = 0; i < 12; i++) {
		snprintf(id, sizeof(id), "r%02d", i);
		attrs[0].v.text = id;
		attrs[1].v.i = i == 4 ? 5000 : 1000;
		e.t_wall_ns = T0 + i * 10 * MS;
		e.n_attrs = i == 11 ? 1 : 2;
		CHECK_INT(lifelog_put(&l, &e), NW_OK);
		event(&l, "get", "c", T0 + i * 10 * MS + 5 * MS, id, NULL);
	}
	end(&l);
	doc = ask_json("a=r00@get&b=r10@get");
	m = json_object_get(doc, "measure");
	CHECK_INT(number(m, "lines_between"), 10);
	CHECK_NEAR(number(m, "bytes_between"), 14000, 0, 0);
	CHECK_NEAR(number(m, "bytes_per_s"), 140000, 1e-9, 0);
	json_decref(doc);
	doc = ask_json("a=r00@ask&b=r11@get");
	CHECK(json_is_null(json_object_get(json_object_get(doc, "measure"), "bytes_per_s")));
	json_decref(doc);
	doc = ask_json("a=r09@get&b=r11@get&bytes=3000"); /* own sizes count before the query's */
	m = json_object_get(doc, "measure");
	CHECK_NEAR(number(m, "bytes_between"), 4000, 0, 0);
	json_decref(doc);
	text = ask(LINES_PAGE, "a=r00@get&b=r10@get", &rc);
	CHECK(strstr(text, "<b>140\xc2\xa0kB/s</b>") != NULL);
	free(text);
	clear();
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 3);
	test_planted();
	test_stalled_once();
	test_many();
	test_hostile();
	test_states();
	test_clocks();
	test_one_host();
	test_rates();
	return check_done("lines");
}

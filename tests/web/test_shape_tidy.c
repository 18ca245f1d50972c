/* SPDX-License-Identifier: BSD-3-Clause */
/* What was stored comes out, every value to the last bit, in order, whatever the names; in slices
 * and in little memory. */
#include "narrows/export.h"

#include <inttypes.h>
#include <malloc.h>

#include "narrows/web.h"
#include "tests/filled.h"

enum { COLUMNS = 10, LONG_ROWS = 100000, MANY_METAS = 600 };

#define T0 INT64_C(1795162331250000000)
static const char evil[] = "b \"q\", <i>\nnew\r line;=1+1";

static struct export_opts opts;

/* --- the store --- */

/* The session's tidy table, as a request without a query gets it. */
static int
tidy(struct store_reader *r, int64_t session_id, export_write_fn *write, void *arg)
{
	struct export_opts o;
	const char *why;
	int rc = export_opts_parse(&o, ".csv", NULL, &why);

	return rc < 0 ? rc : export_session(r, session_id, &o, write, arg);
}

static void
add_meta(struct nw_batch *b, int64_t id, int64_t session, int64_t host, const char *type,
    const char *subject, const char *params)
{
	CHECK_INT(nw_batch_meta(b,
		      &(struct nw_meta_rec){ .id = id,
			  .session_id = session,
			  .host_id = host,
			  .xsp_id = host,
			  .mid = "m",
			  .event_type = type,
			  .subject_json = subject,
			  .params_json = params,
			  .first_wall_ns = T0 }),
	    NW_OK);
}

static void
add_layout(struct nw_batch *b, int64_t id, int64_t meta, const char *const *fields, size_t n)
{
	CHECK_INT(nw_batch_layout(b,
		      &(struct nw_layout_rec){
			  .id = id, .meta_id = meta, .n_fields = n, .fields = fields }),
	    NW_OK);
}

static void
add_row(struct nw_batch *b, int64_t layout, size_t n_fields, int64_t t, const double *values)
{
	CHECK_INT(nw_batch_rows(b, layout, n_fields, 1, &t, values, NULL, 0), NW_OK);
}

static double
long_value(int i)
{
	return i % 3 == 0 ? i : sqrt(i) * 1e-7;
}

/* The hosts' own series, counted within the session's time only. */
static void
fill_hosts(struct nw_batch *b)
{
	static const char *const one[] = { "value" };
	int i;

	add_meta(b, 20, 0, 1, "cpu", "{}", "{\"unit\":\"%\",\"unit_value\":\"1\"}");
	add_layout(b, 200, 20, one, 1);
	for (i = -2; i <= 12; i++)
		add_row(b, 200, 1, T0 + i * INT64_C(1000000000), (double[]){ i });
	for (i = 0; i < MANY_METAS; i++) {
		add_meta(b, 1000 + i, 0, 2, "few", "{}", "{}");
		add_layout(b, 1000 + i, 1000 + i, one, 1);
		if (i % 100 == 99)
			add_row(b, 1000 + i, 1, T0 + i, (double[]){ i });
	}
}

/* A series longer than what is read at once. */
static void
fill_long(struct nw_batch *b)
{
	static const char *const one[] = { "value" };
	int64_t *t = calloc(LONG_ROWS, sizeof(*t));
	double *v = calloc(LONG_ROWS, sizeof(*v));
	int i;

	add_meta(b, 12, 7, 1, "many", "{}", NULL);
	add_layout(b, 120, 12, one, 1);
	for (i = 0; i < LONG_ROWS; i++) {
		t[i] = T0 + i / 5 * 1000; /* five of each time */
		v[i] = long_value(i);
	}
	CHECK_INT(nw_batch_rows(b, 120, 1, LONG_ROWS, t, v, NULL, 0), NW_OK);
	free(t);
	free(v);
}

static void
fill(struct store *st)
{
	static const char *const two[] = { "sum_v", "dur" },
				 *const three[] = { "sum_v", "mean_r", "odd,\"name" },
				 *const one[] = { "value" };
	struct nw_batch *b = nw_batch_new();
	int i;

	CHECK_INT(nw_batch_host(b,
		      &(struct nw_host_rec){ .id = 1, .name = "dtn-a", .first_seen_wall_ns = T0 }),
	    NW_OK);
	CHECK_INT(nw_batch_host(
		      b, &(struct nw_host_rec){ .id = 2, .name = evil, .first_seen_wall_ns = T0 }),
	    NW_OK);
	CHECK_INT(nw_batch_session(b,
		      &(struct nw_session_rec){ .id = 7,
			  .task_id = "t",
			  .opened_wall_ns = T0,
			  .closed_wall_ns = T0 + 10000000000,
			  .last_data_wall_ns = T0 + 9000000000 }),
	    NW_OK);
	CHECK_INT(
	    nw_batch_session(
		b, &(struct nw_session_rec){ .id = 8, .task_id = "empty", .opened_wall_ns = T0 }),
	    NW_OK);
	for (i = 1; i <= 2; i++)
		CHECK_INT(nw_batch_xsp(b,
			      &(struct nw_xsp_rec){ .id = i,
				  .host_id = i,
				  .session_id = 7,
				  .sess_id_hex = i == 1 ? "00000000000000000000000000000001"
							: "00000000000000000000000000000002",
				  .opened_wall_ns = T0 }),
		    NW_OK);

	/* one series in two layouts that alternate, with holes and values that are hard to print */
	add_meta(b, 10, 7, 1, "nl:tools:calipers:summary:read",
	    "{\"sport\":50432,\"dport\":50001,\"path\":\"/a;b\"}", "{}");
	add_layout(b, 100, 10, two, 2);
	add_layout(b, 101, 10, three, 3);
	add_row(b, 100, 2, T0 + 1, (double[]){ 1, 0.1 });
	add_row(b, 101, 3, T0 + 2, (double[]){ 2, 1.0 / 3, NAN });
	add_row(b, 100, 2, T0 + 3, (double[]){ NAN, 5e-324 });
	add_row(b, 101, 3, T0 + 4, (double[]){ -INFINITY, INFINITY, -0.0 });

	add_meta(b, 11, 7, 2, evil, "not json", "{\"unit\":\"W\"}");
	add_layout(b, 110, 11, one, 1);
	add_row(b, 110, 1, T0 + 5, (double[]){ 9007199254740993.0 });

	fill_long(b);
	fill_hosts(b);
	filled_commit(st, b);
}

/* --- reading CSV as RFC 4180 says --- */

struct table {
	char *text, *cells;
	size_t n_rows;
	char ***rows;
	bool bad;
};

static void
table_parse(struct table *tab)
{
	const char *s = tab->text;
	char *out = tab->cells = malloc(strlen(s) + 1);
	size_t column = 0, cap = 0;

	while (*s != '\0') {
		if (tab->n_rows == cap) {
			cap = cap > 0 ? 2 * cap : 1024;
			tab->rows = realloc(tab->rows, cap * sizeof(*tab->rows));
		}
		if (column == 0)
			tab->rows[tab->n_rows] = calloc(COLUMNS, sizeof(char *));
		tab->bad |= column == COLUMNS;
		if (tab->bad)
			return;
		tab->rows[tab->n_rows][column++] = out;
		if (*s == '"') {
			for (s++; *s != '\0' && (*s != '"' || s[1] == '"'); s++) {
				s += *s == '"';
				*out++ = *s;
			}
			tab->bad |= *s++ != '"';
		} else
			while (*s != '\0' && *s != ',' && *s != '\n') {
				tab->bad |= *s == '"' || *s == '\r';
				*out++ = *s++;
			}
		*out++ = '\0';
		tab->bad |= *s != ',' && *s != '\n';
		if (*s == '\n') {
			tab->bad |= column != COLUMNS;
			tab->n_rows++;
			column = 0;
		}
		s++;
	}
	tab->bad |= column != 0;
}

static void
table_clear(struct table *tab)
{
	size_t i;

	for (i = 0; i < tab->n_rows; i++)
		free(tab->rows[i]);
	free(tab->rows);
	free(tab->cells);
	free(tab->text);
}

struct sink {
	char *text;
	size_t len, cap, largest, peak;
	int64_t stop_after;
};

static int
collect(void *arg, const char *text, size_t len)
{
	struct sink *s = arg;

	if (s->stop_after > 0 && --s->stop_after == 0)
		return NW_ECLOSED;
	if (s->len + len + 1 > s->cap) {
		s->cap = 2 * (s->len + len + 1);
		s->text = realloc(s->text, s->cap);
	}
	memcpy(s->text + s->len, text, len);
	s->len += len;
	s->text[s->len] = '\0';
	if (len > s->largest)
		s->largest = len;
	return 0;
}

static int
measure(void *arg, const char *text, size_t len)
{
	struct sink *s = arg;
	struct mallinfo2 now = mallinfo2();
	size_t used = now.uordblks + now.hblkhd;

	(void)text;
	s->len += len;
	if (used > s->peak)
		s->peak = used;
	return 0;
}

/* --- the tests --- */

static void
check_row(const struct table *tab, size_t row, const char *const want[COLUMNS])
{
	int i;

	if (row >= tab->n_rows) {
		CHECK(row < tab->n_rows);
		return;
	}
	for (i = 0; i < COLUMNS; i++)
		CHECK_STR(tab->rows[row][i], want[i]);
}

static void
check_long(const struct table *tab, size_t row)
{
	int i, bad = 0;
	int64_t last = 0;

	for (i = 0; i < LONG_ROWS && row + (size_t)i < tab->n_rows; i++) {
		char **c = tab->rows[row + (size_t)i];
		int64_t t = strtoll(c[8], NULL, 10);

		bad += strcmp(c[1], "12") != 0 || t != T0 + i / 5 * 1000 || t < last ||
		    strtod(c[9], NULL) != long_value(i);
		last = t;
	}
	CHECK_INT(i, LONG_ROWS);
	CHECK_INT(bad, 0);
}

static void
test_content(struct store_reader *r, struct sink *s)
{
	static const char *const read = "nl:tools:calipers:summary:read",
				 *const subject = "sport=50432;dport=50001;path=/a;b";
	const char *const first[][COLUMNS] = {
		{ "session", "series_id", "host", "subject", "event_type", "field", "unit", "time",
		    "t_ns", "value" },
		{ "7", "10", "dtn-a", subject, read, "sum_v", "By",
		    "2026-11-20T08:12:11.250000001Z", "1795162331250000001", "1" },
		{ "7", "10", "dtn-a", subject, read, "dur", "s", "2026-11-20T08:12:11.250000001Z",
		    "1795162331250000001", "0.1" },
		{ "7", "10", "dtn-a", subject, read, "sum_v", "By",
		    "2026-11-20T08:12:11.250000002Z", "1795162331250000002", "2" },
		{ "7", "10", "dtn-a", subject, read, "mean_r", "By/ns",
		    "2026-11-20T08:12:11.250000002Z", "1795162331250000002", "0.3333333333333333" },
		{ "7", "10", "dtn-a", subject, read, "dur", "s", "2026-11-20T08:12:11.250000003Z",
		    "1795162331250000003", "5e-324" },
		{ "7", "10", "dtn-a", subject, read, "sum_v", "By",
		    "2026-11-20T08:12:11.250000004Z", "1795162331250000004", "-Inf" },
		{ "7", "10", "dtn-a", subject, read, "mean_r", "By/ns",
		    "2026-11-20T08:12:11.250000004Z", "1795162331250000004", "Inf" },
		{ "7", "10", "dtn-a", subject, read, "odd,\"name", "",
		    "2026-11-20T08:12:11.250000004Z", "1795162331250000004", "-0" },
		{ "7", "11", evil, "not json", evil, "value", "W", "2026-11-20T08:12:11.250000005Z",
		    "1795162331250000005", "9007199254740992" },
	};
	enum { FIRST = sizeof(first) / sizeof(first[0]), CPU = 11, FEW = MANY_METAS / 100 };
	struct table tab = { 0 };
	size_t i;

	CHECK_INT(tidy(r, 7, collect, s), NW_OK);
	tab.text = strdup(s->text);
	table_parse(&tab);
	CHECK(!tab.bad);
	CHECK_INT(tab.n_rows, FIRST + LONG_ROWS + CPU + FEW);
	for (i = 0; i < FIRST; i++)
		check_row(&tab, i, first[i]);
	check_long(&tab, FIRST);
	for (i = 0; i < CPU && FIRST + LONG_ROWS + i < tab.n_rows; i++) {
		char **c = tab.rows[FIRST + LONG_ROWS + i];

		CHECK(strcmp(c[1], "20") == 0 && strcmp(c[6], "1") == 0 && atoi(c[9]) == (int)i);
	}
	for (i = 0; i < FEW && FIRST + LONG_ROWS + CPU + i < tab.n_rows; i++) {
		char **c = tab.rows[FIRST + LONG_ROWS + CPU + i];

		CHECK_INT(atoi(c[1]), 1000 + 100 * (int)i + 99);
		CHECK_STR(c[2], evil);
	}
	table_clear(&tab);
}

static void
test_slices(struct store_reader *r, const struct sink *whole)
{
	struct export *x = NULL;
	struct sink s = { 0 };
	size_t before, largest = 0, n = 0;
	bool done = false;
	int rc = NW_OK;

	CHECK_INT(export_new(r, 7, &opts, &x), NW_OK);
	while (rc == NW_OK && !done && n < 100000) {
		before = s.len;
		rc = export_next(x, collect, &s, &done);
		if (s.len - before > largest)
			largest = s.len - before;
		n++;
	}
	CHECK_INT(rc, NW_OK);
	CHECK(n > 20 && largest < 70000 && s.largest <= 65536);
	CHECK(s.len == whole->len && memcmp(s.text, whole->text, s.len) == 0);
	export_free(x);
	free(s.text);
}

static void
test_limits(struct store_reader *r)
{
	struct sink s = { 0 }, stopped = { .stop_after = 3 };
	struct export *x = NULL;
	struct mallinfo2 start = mallinfo2();
	int status = 0;

	/* 8 MB of text in little more than its buffers */
	CHECK_INT(tidy(r, 7, measure, &s), NW_OK);
	CHECK(s.len > 6000000);
	CHECK(s.peak < start.uordblks + start.hblkhd + 3000000);
	CHECK_INT(tidy(r, 7, collect, &stopped), NW_ECLOSED);
	free(stopped.text);

	s = (struct sink){ 0 };
	CHECK_INT(tidy(r, 8, collect, &s), NW_OK);
	CHECK_STR(s.text, "session,series_id,host,subject,event_type,field,unit,time,t_ns,value\n");
	free(s.text);
	CHECK_INT(tidy(r, 9, collect, &s), NW_ENOTFOUND);
	CHECK_INT(export_new(r, 9, &opts, &x), NW_ENOTFOUND);

	s = (struct sink){ 0 };
	CHECK_INT(web_answer(r, "/session/last.csv", collect, &s, &status), NW_OK);
	CHECK(status == 200 && s.len > 0 && s.text[s.len - 1] == '\n');
	s.len = 0;
	CHECK_INT(web_answer(r, "/session/8.json", collect, &s, &status), NW_OK);
	CHECK(status == 200 && strstr(s.text, "\"state\": \"open\"") != NULL);
	s.len = 0;
	CHECK_INT(web_answer(r, "/sessions.json?before=8", collect, &s, &status), NW_OK);
	CHECK(status == 200 && strstr(s.text, "\"id\": 7") != NULL &&
	    strstr(s.text, "\"id\": 8") == NULL);
	s.len = 0;
	CHECK_INT(web_answer(r, "/session/9.json", collect, &s, &status), NW_OK);
	CHECK(status == 404 && s.len == 0);
	CHECK_INT(web_answer(r, "/sessions.json?before=x", collect, &s, &status), NW_OK);
	CHECK(status == 400 && s.len == 0);
	CHECK_INT(web_answer(r, "/health", collect, &s, &status), NW_OK);
	CHECK(status == 404 && s.len == 0);
	free(s.text);
}

int
main(void)
{
	struct store *st = filled_open(NULL);
	struct store_reader *r = NULL;
	struct sink whole = { 0 };
	char why[STORE_WHY_BYTES];
	const char *bad;

	fill(st);
	CHECK_INT(export_opts_parse(&opts, ".csv", NULL, &bad), NW_OK);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	test_content(r, &whole);
	test_slices(r, &whole);
	test_limits(r);
	free(whole.text);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("test_shape_tidy");
}

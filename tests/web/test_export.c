/* SPDX-License-Identifier: BSD-3-Clause */
/* Every shape, byte for byte; what a query may ask for. */
#include "narrows/export.h"

#include "narrows/hist.h"
#include "narrows/web.h"
#include "tests/filled.h"

enum { LONG_ROWS = 80000 };
#define T0   INT64_C(1795162331250000000)
#define EVEN INT64_C(1795162330000000000)
#define TIDY "session,series_id,host,subject,event_type,field,unit,time,t_ns,value\n"

static void
add_meta(struct nw_batch *b, const struct nw_meta_rec *m, const char *const *fields, size_t n)
{
	CHECK_INT(nw_batch_meta(b, m), NW_OK);
	if (n > 0)
		CHECK_INT(nw_batch_layout(b,
			      &(struct nw_layout_rec){
				  .id = m->id, .meta_id = m->id, .n_fields = n, .fields = fields }),
		    NW_OK);
}

static void
add_row(struct nw_batch *b, int64_t layout, size_t n, int64_t t, const double *values)
{
	CHECK_INT(nw_batch_rows(b, layout, n, 1, &t, values, NULL, 0), NW_OK);
}

/* Series of session 7: two layouts of one, and two of one id. */
static void
fill_series(struct nw_batch *b)
{
	static const char *const two[] = { "mean_r", "count" },
				 *const three[] = { "mean_r", "count", "a b" },
				 *const one[] = { "value" };

	add_meta(b,
	    &(struct nw_meta_rec){ .id = 1,
		.session_id = 7,
		.host_id = 1,
		.xsp_id = 1,
		.mid = "h",
		.event_type = "ps:host:host",
		.subject_json = "{\"hostname\":\"dtn 1\"}",
		.params_json = "{}" },
	    NULL, 0);
	add_meta(b,
	    &(struct nw_meta_rec){ .id = 2,
		.session_id = 7,
		.host_id = 1,
		.xsp_id = 1,
		.mid = "r",
		.pid = "h",
		.event_type = "nl:read",
		.subject_json = "{\"file\":\"/a\\\\\",\"n\":5,\"e\":\"\"}",
		.params_json = "{\"unit\":\"By\",\"dt\":1.5}" },
	    two, 2);
	CHECK_INT(
	    nw_batch_layout(b,
		&(struct nw_layout_rec){ .id = 20, .meta_id = 2, .n_fields = 3, .fields = three }),
	    NW_OK);
	add_meta(b,
	    &(struct nw_meta_rec){ .id = 3,
		.session_id = 7,
		.host_id = 1,
		.xsp_id = 1,
		.mid = "s",
		.pid = "s",
		.event_type = "ps x",
		.subject_json = "{}",
		.params_json = "{}" },
	    one, 1);
	add_meta(b,
	    &(struct nw_meta_rec){ .id = 4,
		.session_id = 7,
		.host_id = 1,
		.xsp_id = 1,
		.mid = "s",
		.pid = "lost",
		.event_type = "ps x",
		.subject_json = "{\"k\":\"v\"}",
		.params_json = "{}" },
	    one, 1);
	add_row(b, 2, 2, T0, (double[]){ 0.25, 3 });
	add_row(b, 2, 2, T0 + 1, (double[]){ -0.0, NAN });
	add_row(b, 20, 3, T0 + 2000000000, (double[]){ 5e-324, NAN, INFINITY });
	add_row(b, 20, 3, T0 + 60000000000, (double[]){ NAN, NAN, NAN });
	add_row(b, 3, 1, -500000000, (double[]){ 1e15 });
	add_row(b, 4, 1, T0 + 1, (double[]){ 2 });
	add_row(b, 4, 1, T0 + 2, (double[]){ 1 });
}

/* Session 8 is long, and session 9 has a histogram. */
static void
fill_others(struct nw_batch *b)
{
	static const char *const one[] = { "value" };
	static const uint8_t hist[] = { 1, NW_HIST_BITS, 5, 3, 1, 0xff, 1 };

	CHECK_INT(nw_batch_session(b,
		      &(struct nw_session_rec){ .id = 8, .task_id = "long", .opened_wall_ns = T0 }),
	    NW_OK);
	add_meta(b,
	    &(struct nw_meta_rec){ .id = 5,
		.session_id = 8,
		.host_id = 1,
		.xsp_id = 1,
		.mid = "l",
		.event_type = "ps long",
		.subject_json = "{}",
		.params_json = "{}" },
	    one, 1);
	CHECK_INT(nw_batch_session(b,
		      &(struct nw_session_rec){ .id = 9, .task_id = "hist", .opened_wall_ns = T0 }),
	    NW_OK);
	add_meta(b,
	    &(struct nw_meta_rec){ .id = 6,
		.session_id = 9,
		.host_id = 1,
		.xsp_id = 1,
		.mid = "h",
		.event_type = "e",
		.subject_json = "{}",
		.params_json = "{}" },
	    one, 1);
	CHECK_INT(
	    nw_batch_rows(b, 6, 1, 1, &(int64_t){ 1 }, &(double){ 2 }, hist, sizeof(hist)), NW_OK);
	CHECK_INT(nw_batch_rows(b, 6, 1, 1, &(int64_t){ 2 }, &(double){ 3 }, NULL, 0), NW_OK);
	for (int i = 0; i < LONG_ROWS; i++)
		add_row(b, 5, 1, EVEN + i * INT64_C(1000000000), (double[]){ i });
}

static void
fill(struct store *st)
{
	struct nw_batch *b = nw_batch_new();

	CHECK_INT(nw_batch_host(b,
		      &(struct nw_host_rec){ .id = 1, .name = "=dtn,1", .first_seen_wall_ns = T0 }),
	    NW_OK);
	CHECK_INT(nw_batch_session(
		      b, &(struct nw_session_rec){ .id = 7, .task_id = "t", .opened_wall_ns = T0 }),
	    NW_OK);
	CHECK_INT(nw_batch_xsp(b,
		      &(struct nw_xsp_rec){ .id = 1,
			  .host_id = 1,
			  .session_id = 7,
			  .opened_wall_ns = T0,
			  .sess_id_hex = "00000000000000000000000000000001" }),
	    NW_OK);
	fill_series(b);
	fill_others(b);
	filled_commit(st, b);
}

struct text {
	char *s;
	size_t len;
};

static int
append(void *arg, const char *s, size_t len)
{
	struct text *t = arg;

	t->s = realloc(t->s, t->len + len + 1);
	memcpy(t->s + t->len, s, len);
	t->len += len;
	t->s[t->len] = '\0';
	return 0;
}

static const struct {
	const char *path, *want;
} shapes[] = {
	{ "/session/7.csv",
	    TIDY
	    "7,2,\"=dtn,1\",\"file=/"
	    "a\\;n=5;e=\",nl:read,mean_r,By,2026-11-20T08:12:11.250000000Z,1795162331250000000,0."
	    "25\n"
	    "7,2,\"=dtn,1\",\"file=/"
	    "a\\;n=5;e=\",nl:read,count,By,2026-11-20T08:12:11.250000000Z,1795162331250000000,3\n"
	    "7,2,\"=dtn,1\",\"file=/"
	    "a\\;n=5;e=\",nl:read,mean_r,By,2026-11-20T08:12:11.250000001Z,1795162331250000001,-0\n"
	    "7,2,\"=dtn,1\",\"file=/"
	    "a\\;n=5;e=\",nl:read,mean_r,By,2026-11-20T08:12:13.250000000Z,1795162333250000000,5e-"
	    "324\n"
	    "7,2,\"=dtn,1\",\"file=/a\\;n=5;e=\",nl:read,a "
	    "b,By,2026-11-20T08:12:13.250000000Z,1795162333250000000,Inf\n"
	    "7,3,\"=dtn,1\",\"\",ps x,value,,1969-12-31T23:59:59.500000000Z,-500000000,1e+15\n"
	    "7,4,\"=dtn,1\",\"k=v\",ps "
	    "x,value,,2026-11-20T08:12:11.250000001Z,1795162331250000001,2\n"
	    "7,4,\"=dtn,1\",\"k=v\",ps "
	    "x,value,,2026-11-20T08:12:11.250000002Z,1795162331250000002,1\n" },
	{ "/session/"
	  "7.csv?shape=tidy&series=ps%20x&safe=1&eol=crlf&from=2026-11-20T08:12:11.250000002Z",
	    "session,series_id,host,subject,event_type,field,unit,time,t_ns,value\r\n"
	    "7,4,\"'=dtn,1\",\"k=v\",ps "
	    "x,value,,2026-11-20T08:12:11.250000002Z,1795162331250000002,1\r\n" },
	{ "/session/7.csv?shape=keys&to=1795162331250000002",
	    "key,timestamp,value\n"
	    "r:mean_r,1795162331.250000000,0.25\n"
	    "r:count,1795162331.250000000,3\n"
	    "r:mean_r,1795162331.250000001,-0\n"
	    "s@3,-0.500000000,1e+15\n"
	    "s@4,1795162331.250000001,2\n" },
	{ "/session/7.csv?shape=keys-long&series=nl:",
	    "key,type,subject,param,timestamp,value\n"
	    "r:mean_r,ps:host:host/nl:read:mean_r,\"hostname=dtn "
	    "1/file=/a\\;n=5;e=\",\"/unit=By;dt=1.5\",1795162331.250000000,0.25\n"
	    "r:count,ps:host:host/nl:read:count,\"hostname=dtn "
	    "1/file=/a\\;n=5;e=\",\"/unit=By;dt=1.5\",1795162331.250000000,3\n"
	    "r:mean_r,ps:host:host/nl:read:mean_r,\"hostname=dtn "
	    "1/file=/a\\;n=5;e=\",\"/unit=By;dt=1.5\",1795162331.250000001,-0\n"
	    "r:mean_r,ps:host:host/nl:read:mean_r,\"hostname=dtn "
	    "1/file=/a\\;n=5;e=\",\"/unit=By;dt=1.5\",1795162333.250000000,5e-324\n"
	    "r:a b,ps:host:host/nl:read:a b,\"hostname=dtn "
	    "1/file=/a\\;n=5;e=\",\"/unit=By;dt=1.5\",1795162333.250000000,Inf\n" },
	/* a series as parent of the same series, and a parent that is absent */
	{ "/session/7.csv?shape=keys-long&series=ps&from=0&to=1795162331250000002",
	    "key,type,subject,param,timestamp,value\n"
	    "s@4,ps x,\"k=v\",\"\",1795162331.250000001,2\n" },
	{ "/session/7.csv?shape=wide",
	    "time,t_ns,\"=dtn,1/nl:read:mean_r [By]\",\"=dtn,1/nl:read:count "
	    "[By]\",\"=dtn,1/nl:read:a b [By]\","
	    "\"=dtn,1/ps x{}#3 []\",\"=dtn,1/ps x{k=v}#4 []\"\n"
	    "1969-12-31T23:59:59.000000000Z,-1000000000,,,,1e+15,\n"
	    "2026-11-20T08:12:11.000000000Z,1795162331000000000,-0,3,,,1\n"
	    "2026-11-20T08:12:13.000000000Z,1795162333000000000,5e-324,,Inf,,\n" },
	{ "/session/7.csv?shape=wide&resolution=1ns&series=ps&from=0&safe=1",
	    "time,t_ns,\"'=dtn,1/ps x{}#3 []\",\"'=dtn,1/ps x{k=v}#4 []\"\n"
	    "2026-11-20T08:12:11.250000001Z,1795162331250000001,,2\n"
	    "2026-11-20T08:12:11.250000002Z,1795162331250000002,,1\n" },
	{ "/session/7.csv?shape=wide&series=nothing", "time,t_ns\n" },
	/* a row for each second: the mean of a gauge, at the time of the last */
	{ "/session/7.csv?shape=keys&resolution=1s&series=ps",
	    "key,timestamp,value\n"
	    "s@3,-0.500000000,1e+15\n"
	    "s@4,1795162331.250000002,1.5\n" },
	{ "/session/7.ndjson?to=1795162331250000002",
	    "{\"series_id\":1,\"session\":7,\"host\":\"=dtn,1\",\"id\":\"h\",\"event_type\":\"ps:"
	    "host:host\",\"subject\":{\"hostname\":\"dtn 1\"},\"parameters\":{}}\n"
	    "{\"series_id\":2,\"session\":7,\"host\":\"=dtn,1\",\"id\":\"r\",\"pid\":\"h\",\"event_"
	    "type\":\"nl:read\","
	    "\"subject\":{\"file\":\"/"
	    "a\\\\\",\"n\":5,\"e\":\"\"},\"parameters\":{\"unit\":\"By\",\"dt\":1.5}}\n"
	    "{\"series_id\":2,\"time\":\"2026-11-20T08:12:11.250000000Z\",\"t_ns\":"
	    "\"1795162331250000000\",\"data\":{\"mean_r\":0.25,\"count\":3}}\n"
	    "{\"series_id\":2,\"time\":\"2026-11-20T08:12:11.250000001Z\",\"t_ns\":"
	    "\"1795162331250000001\",\"data\":{\"mean_r\":-0.0}}\n"
	    "{\"series_id\":3,\"session\":7,\"host\":\"=dtn,1\",\"id\":\"s\",\"pid\":\"s\",\"event_"
	    "type\":\"ps x\",\"subject\":{},\"parameters\":{}}\n"
	    "{\"series_id\":3,\"time\":\"1969-12-31T23:59:59.500000000Z\",\"t_ns\":\"-500000000\","
	    "\"data\":{\"value\":1e+15}}\n"
	    "{\"series_id\":4,\"session\":7,\"host\":\"=dtn,1\",\"id\":\"s\",\"pid\":\"lost\","
	    "\"event_type\":\"ps x\",\"subject\":{\"k\":\"v\"},\"parameters\":{}}\n"
	    "{\"series_id\":4,\"time\":\"2026-11-20T08:12:11.250000001Z\",\"t_ns\":"
	    "\"1795162331250000001\",\"data\":{\"value\":2}}\n" },
	{ "/session/9.ndjson",
	    "{\"series_id\":6,\"session\":9,\"host\":\"\",\"id\":\"h\",\"event_type\":\"e\","
	    "\"subject\":{},\"parameters\":{}}\n"
	    "{\"series_id\":6,\"time\":\"1970-01-01T00:00:00.000000001Z\",\"t_ns\":\"1\",\"data\":{"
	    "\"value\":2,\"h_dur\":\"0107050301ff01\"}}\n"
	    "{\"series_id\":6,\"time\":\"1970-01-01T00:00:00.000000002Z\",\"t_ns\":\"2\",\"data\":{"
	    "\"value\":3}}\n" },
	{ "/session/9.xml",
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<nmwg:store xmlns:nmwg=\"http://ggf.org/ns/nmwg/base/2.0/\"\n"
	    "    xmlns:nmwgt=\"http://ggf.org/ns/nmwg/topology/2.0/\" "
	    "xmlns:own=\"urn:narrows:nmwg\">\n"
	    "<nmwg:metadata id=\"m6\" own:host=\"\" own:id=\"h\">\n"
	    " <nmwg:subject id=\"s6\"><nmwgt:interface><nmwgt:hostName></nmwgt:hostName>"
	    "</nmwgt:interface></nmwg:subject>\n"
	    " <nmwg:eventType>e</nmwg:eventType>\n <nmwg:parameters id=\"p6\">\n"
	    " </nmwg:parameters></nmwg:metadata>\n"
	    "<nmwg:data id=\"d6\" metadataIdRef=\"m6\">\n"
	    " <nmwg:commonTime type=\"unix\" value=\"0.000000001\">\n"
	    "  <nmwg:datum name=\"value\" value=\"2\"/>\n"
	    "  <nmwg:datum name=\"h_dur\" value=\"0107050301ff01\"/>\n"
	    " </nmwg:commonTime>\n"
	    " <nmwg:datum timeType=\"unix\" timeValue=\"0.000000002\" value=\"3\"/>\n"
	    "</nmwg:data>\n</nmwg:store>\n" },
	{ "/session/9.log?shape=g0",
	    "ts=1970-01-01T00:00:00.000000001Z event=e value=2 id=6\n"
	    "ts=1970-01-01T00:00:00.000000002Z event=e value=3 id=6\n" },
	/* no NaN, no infinity, no empty tag, no line without a field */
	{ "/session/7.lp",
	    "nl:read,session=7,host=\\=dtn\\,1,series_id=2,file=/a\\\\ ,n=5 mean_r=0.25,count=3 "
	    "1795162331250000000\n"
	    "nl:read,session=7,host=\\=dtn\\,1,series_id=2,file=/a\\\\ ,n=5 mean_r=-0 "
	    "1795162331250000001\n"
	    "nl:read,session=7,host=\\=dtn\\,1,series_id=2,file=/a\\\\ ,n=5 mean_r=5e-324 "
	    "1795162333250000000\n"
	    "ps\\ x,session=7,host=\\=dtn\\,1,series_id=3 value=1e+15 -500000000\n"
	    "ps\\ x,session=7,host=\\=dtn\\,1,series_id=4,k=v value=2 1795162331250000001\n"
	    "ps\\ x,session=7,host=\\=dtn\\,1,series_id=4,k=v value=1 1795162331250000002\n" },
};

static void
test_shapes(struct store_reader *r)
{
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct text t = { 0 };
		int status = 0;

		CHECK_INT(web_answer(r, shapes[i].path, append, &t, &status), NW_OK);
		CHECK_INT(status, 200);
		CHECK_STR(t.s, shapes[i].want);
		free(t.s);
	}
}

/* More steps than are read at once: none is lost, doubled or made of a part where reading goes
 * on. */
static void
test_steps(struct store_reader *r)
{
	struct text t = { 0 };
	int i, status = 0, bad = 0;
	char *line;

	CHECK_INT(
	    web_answer(r, "/session/8.csv?shape=keys&resolution=2s", append, &t, &status), NW_OK);
	CHECK_INT(status, 200);
	if (t.s == NULL)
		return;
	line = t.s + strcspn(t.s, "\n") + 1;
	for (i = 0; *line != '\0'; i++, line += strcspn(line, "\n") + 1) {
		double s = 0, v = 0;

		bad += sscanf(line, "l,%lf,%lf", &s, &v) != 2 || v != 2 * i + 0.5 ||
		    s != 1795162330 + 2.0 * i + 1;
	}
	CHECK_INT(i, LONG_ROWS / 2);
	CHECK_INT(bad, 0);
	free(t.s);
}

static void
test_queries(struct store_reader *r)
{
	static const char *const bad[] = {
		".csv?shape=ndjson",
		".csv?shape=bson",
		".bson?shape=ndjson",
		".csv?shape=",
		".ndjson?shape=tidy",
		".csv?eol=cr",
		".csv?safe=yes",
		".csv?from=today",
		".csv?to=",
		".csv?to=99999999999999999999",
		".csv?resolution=1",
		".csv?shape=wide&resolution=0s",
		".csv?shape=wide&resolution=1",
		".csv?shape=wide&resolution=25h",
		".csv?shape=wide&resolution=-1s",
		".csv?shape=wide&resolution=9999999999999999999s",
		".csv?a",
		".csv?=",
	};
	struct export_opts o;
	const char *why = NULL;
	char path[128];
	struct text t = { 0 };
	size_t i;
	int status;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(path, sizeof(path), "/session/7%s", bad[i]);
		CHECK_INT(web_answer(r, path, append, &t, &status), NW_OK);
		CHECK_INT(status, 400);
		if (status != 400)
			fprintf(stderr, "  %s\n", path);
		CHECK(t.len == 0);
	}
	CHECK_INT(export_opts_parse(&o, ".csv", "shape=wide&resolution=250ms&x=y", &why), NW_OK);
	CHECK_INT(o.resolution_ns, 250000000);
	CHECK_STR(export_ending(&o), ".csv");
	CHECK_INT(export_opts_parse(&o, ".lp", "", &why), NW_OK);
	CHECK_STR(export_content_type(&o), "text/plain; charset=utf-8");
	CHECK_INT(export_opts_parse(&o, ".csv", "from=x", &why), NW_EINVAL);
	CHECK(strstr(why, "2026-11-20T") != NULL);
	free(t.s);
}

int
main(void)
{
	struct store *st = filled_open(NULL);
	struct store_reader *r = NULL;
	char why[STORE_WHY_BYTES];

	fill(st);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	test_shapes(r);
	test_steps(r);
	test_queries(r);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("test_export");
}

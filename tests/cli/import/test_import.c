/* SPDX-License-Identifier: BSD-3-Clause */
/* Small files of each notation as series and rows, and the place of each fault. */
#include "cli/import/import.h"

#include <stdarg.h>

#include "narrows/err.h"
#include "narrows/frame.h"
#include "tests/check.h"

enum { DUMP_BYTES = 4096 };

struct dump {
	char text[DUMP_BYTES];
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) put(struct dump *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	d->len += (size_t)vsnprintf(d->text + d->len, sizeof(d->text) - d->len, fmt, ap);
	va_end(ap);
	if (d->len >= sizeof(d->text))
		abort();
}

static int
on_data(void *arg, const struct nw_data *data)
{
	struct dump *d = arg;
	size_t i;

	put(d, "%s@%lld", data->mid, (long long)data->t_wall_ns[0]);
	for (i = 0; i < data->n_fields; i++)
		put(d, " %s=%.17g", data->fields[i], data->values[i]);
	put(d, "\n");
	return 0;
}

/* Series with host, event type, subject and parameters; then rows in the order of the file. */
static void
dump_import(struct import *im, struct dump *d)
{
	struct nw_doc_decoder *decoder = nw_doc_decoder_new(NULL);
	struct nw_doc_sink sink = { .arg = d, .on_data = on_data };
	struct import_series *s, *tmp;
	struct spooled head;
	char *subject, *params;
	uint8_t doc[4096];
	const char *why;

	HASH_ITER (hh, im->series, s, tmp) {
		subject = json_dumps(s->subject, JSON_COMPACT | JSON_SORT_KEYS);
		params = json_dumps(s->params, JSON_COMPACT | JSON_SORT_KEYS);
		put(d, "%s %s %s %s %s\n", s->mid, im->hosts[s->host].name, s->event_type, subject,
		    params);
		free(subject);
		free(params);
	}
	rewind(im->spool);
	while (fread(&head, sizeof(head), 1, im->spool) == 1) {
		CHECK(head.len <= sizeof(doc) && fread(doc, 1, head.len, im->spool) == head.len);
		if (head.opt == NW_OPT_DATA)
			CHECK_INT(
			    nw_doc_decode(decoder, NW_OPT_DATA, doc, head.len, &sink, &why), NW_OK);
	}
	nw_doc_decoder_free(decoder);
}

#define NMWG "<n:s xmlns:n='http://ggf.org/ns/nmwg/base/2.0/' xmlns:w='urn:narrows:nmwg'>"
#define TYPE "<n:eventType>http://ggf.org/ns/nmwg/"

#define HEAD "host,subject,event_type,field,unit,t_ns,value\n"

static const struct {
	const char *what, *format, *text, *want;
} cases[] = {
	{ "NM-WG: a text of a datum is a series; a unit by the type; an interval's end", NULL,
	    NMWG "<n:metadata id='a'>" TYPE "tools/traceroute/2.0</n:eventType></n:metadata>"
		 "<n:data metadataIdRef='a'><n:datum startTime='1' endTime='3' hop='h1' ttl='2' "
		 "value='5'/></n:data></n:s>",
	    "a import http://ggf.org/ns/nmwg/tools/traceroute/2.0 {} {}\n"
	    "a:hop=h1 import http://ggf.org/ns/nmwg/tools/traceroute/2.0 {\"hop\":\"h1\"} "
	    "{\"unit_interval_s\":\"s\",\"unit_value\":\"ms\"}\n"
	    "a:hop=h1@3000000000 ttl=2 value=5 interval_s=2\n" },
	{ "NM-WG: three spellings, inherited subjects and types, bytes per second, words for times",
	    "nmwg",
	    NMWG "<n:metadata id='a'>" TYPE "characteristics/bandwidth/acheiveable/2.0/"
		 "</n:eventType></n:metadata><n:metadata id='b' metadataIdRef='a'><n:parameters>"
		 "<n:parameter name='p' value='q'/></n:parameters></n:metadata>"
		 "<n:data metadataIdRef='b'><n:datum timeType='ISO' timeValue="
		 "'Thu Jan 1 00:00:01 UTC 1970' value='2' valueUnits='Bps'/></n:data></n:s>",
	    "a import http://ggf.org/ns/nmwg/characteristics/bandwidth/achievable/2.0 {} {}\n"
	    "b import http://ggf.org/ns/nmwg/characteristics/bandwidth/achievable/2.0 {} "
	    "{\"p\":\"q\",\"unit_value\":\"By/s\"}\nb@1000000000 value=2\n" },
	{ "NM-WG: buckets of a histogram are series", NULL,
	    NMWG "<n:metadata id='a'>" TYPE "tools/owamp/2.0</n:eventType></n:metadata>"
		 "<n:data metadataIdRef='a'><n:datum endTime='1' loss='0'><n:value_bucket "
		 "value='7' count='3'/></n:datum></n:data></n:s>",
	    "a import http://ggf.org/ns/nmwg/tools/owamp/2.0 {} {}\n"
	    "a:value_bucket:7 import http://ggf.org/ns/nmwg/tools/owamp/2.0 "
	    "{\"value_bucket\":\"7\"} {}\n"
	    "a@1000000000 loss=0\na:value_bucket:7@1000000000 count=3\n" },
	{ "NM-WG: our own attributes", NULL,
	    NMWG "<n:metadata id='m1' w:host='h' w:id='x' w:pid='p'><n:eventType>e</n:eventType>"
		 "<n:parameters><n:parameter name='k' w:of='subject' w:json='1' value='5'/>"
		 "</n:parameters></n:metadata><n:data metadataIdRef='m1'><n:datum timeValue="
		 "'0.000000005' value='1'/></n:data></n:s>",
	    "x h e {\"k\":5} {}\nx@5 value=1\n" },
	{ "NM-WG: data before their metadata", NULL,
	    NMWG "\n<n:data metadataIdRef='a'><n:datum timeValue='1' value='2'/></n:data></n:s>",
	    "f:2:61: data of a metadata that does not stand before" },
	{ "NM-WG: no time", NULL,
	    NMWG "<n:metadata id='a'><n:eventType>e</n:eventType></n:metadata>\n"
		 "<n:data metadataIdRef='a'><n:datum timeValue='now' value='2'/></n:data></n:s>",
	    "f:2:63: a datum's time is neither seconds since 1970 nor a date of UTC" },
	{ "NM-WG: no XML", "nmwg", "<a>\n</b>", "f:2:3: mismatched tag" },
	{ "the text of January 2011: a transfer and its calipers", NULL,
	    "user=(null),task_id=t,sport=5,dport=0,resource=/a,b,size=9,src=s,dst=d\n"
	    "ts=1970-01-01T00:00:01.000005Z event=write.summary v.sum=2.000000 r.sd=-1.000000 "
	    "count=3 dur.i=0.500000 h.gd=1,2 id=-7 type=1\n",
	    "transfer:t:network import xfer.xsp.xio {\"dst\":\"d\",\"resource\":\"/a,b\","
	    "\"size\":\"9\",\"sport\":\"5\",\"src\":\"s\",\"task_id\":\"t\","
	    "\"type\":\"network\"} {}\n"
	    "-7:nl.write.summary import nl.write.summary {\"type\":\"disk\"} {}\n"
	    "-7:nl.write.summary@1000005000 sum_v=2 count=3 dur_inst=0.5\n" },
	{ "the text of January 2011: a line that is none", "g0",
	    "ts=1970-01-01T00:00:01Z event=e a=1 id=1 type=0\nuser\n",
	    "f:2:1: length of the document differs from its own" },
	{ "values of one time are a row, until a field repeats", NULL,
	    HEAD "h,k=v,e,a,W,5,1\nh,k=v,e,b,,5,2\nh,k=v,e,a,,5,3\nh,k=v,e,a,,6,4\n",
	    "1 h e {\"k\":\"v\"} {\"unit_a\":\"W\"}\n1@5 a=1 b=2\n1@5 a=3\n1@6 a=4\n" },
	{ "all cells about the series tell series apart", NULL,
	    HEAD "h,,e,a,,5,1\ng,,e,a,,5,2\nh,x,e,a,,5,3\nh,,f,a,,5,4\n",
	    "1 h e {} {}\n2 g e {} {}\n3 h e {\"subject\":\"x\"} {}\n4 h f {} {}\n"
	    "1@5 a=1\n2@5 a=2\n3@5 a=3\n4@5 a=4\n" },
	{ "a part of a subject without a new name belongs to the value before", NULL,
	    HEAD "h,a=1;b;c=2;a=3;d=,e,v,,5,1\n",
	    "1 h e {\"a\":\"1;b\",\"c\":\"2;a=3\",\"d\":\"\"} {}\n1@5 value=1\n" },
	{ "quotes, a quote within, a line end within", NULL,
	    HEAD "\"h,1\",\"k=\"\"x\"\"\ny\",e,v,,5,1\r\n",
	    "1 h,1 e {\"k\":\"\\\"x\\\"\\ny\"} {}\n1@5 value=1\n" },
	{ "what a box takes for no value is left out", NULL,
	    HEAD "h,,e,a,,5,nan\nh,,e,b,,5,inf\nh,,e,sd_v,,5,-1\nh,,e,sd_x,,5,-1\nh,,e,c,,5,-1\n"
		 "h,,e,sd_value,,5,-1\nh,,e,sd_r,,5,1\n",
	    "1 h e {} {}\n1@5 sd_x=-1 c=-1 sd_value=-1 sd_r=1\n" },
	{ "a time instead of nanoseconds", NULL,
	    "event_type,time,field,value\ne,1970-01-01T00:00:01Z,v,1\n",
	    "1 import e {} {}\n1@1000000000 value=1\n" },
	{ "nanoseconds win over the time", NULL,
	    "event_type,time,t_ns,field,value\ne,1970-01-01T00:00:01Z,7,v,1\n",
	    "1 import e {} {}\n1@7 value=1\n" },
	{ "no row of numbers", NULL, HEAD "h,,e,a,,5,1,2\n",
	    "f:2:1: 8 cells, but the header has 7" },
	{ "no column of values", NULL, "event_type,field,t_ns,valued\ne,a,5,1\n",
	    "f:1:1: no column value" },
	{ "a number that is none", NULL, HEAD "h,,e,a,,5,1\nh,,e,a,,6,1x\n",
	    "f:3:11: not a number" },
	{ "a name that rows use themselves", NULL, HEAD "h,,e,ts_ns,,5,1\n",
	    "f:2:15: a field cannot be named ts_ns" },
	{ "columns of a wide table", "wide",
	    "time,t_ns,h/e [By],h/a/b{k=v}#3,x{y [z]\n,5,1,2,3\n,6,,4,\n",
	    "1 h e {} {\"unit_value\":\"By\"}\n2 h a/b {\"k\":\"v\"} {}\n"
	    "3 import x{y {} {\"unit_value\":\"z\"}\n"
	    "2@5 value=2\n1@5 value=1\n2@6 value=4\n3@5 value=3\n" },
	{ "a column twice", "wide", "time,t_ns,a,a\n,5,1,2\n",
	    "f:1:13: this column is there twice" },
	{ "keys with and without a field", "keys", "key,timestamp,value\nk:a,1,2\nk:b,1,3\nk,2,4\n",
	    "1 import untyped {\"key\":\"k\"} {}\n1@1000000000 a=2 b=3\n1@2000000000 value=4\n" },
	{ "a chain of subjects: the inner one wins, and the host comes from it", "keys-long",
	    "key,type,subject,param,timestamp,value\n"
	    "k,x/nl:read,hostname=h;a=/b/c/a=2/=3,u=1,1,2\n",
	    "1 h nl:read {\"a\":\"2/=3\",\"hostname\":\"h\"} {\"u\":\"1\"}\n1@1000000000 "
	    "value=2\n" },
	{ "a field counts only if key and type end with it", "keys-long",
	    "key,type,subject,param,timestamp,value\nk:f,e:f,,,1,2\nk:g,e,,,1,3\n",
	    "1 import e {} {}\n2 import e {} {}\n1@1000000000 f=2\n2@1000000000 value=3\n" },
	{ "tags, escapes, booleans and texts of line protocol", "influx",
	    "a\\,b\\ c,host=h,x\\=y=1\\,2,session=9 u=1i,t=T,s=\"a \\\" b, c=1\",f=f,w\\ w=-2.5 "
	    "7\n",
	    "1 h a,b c {\"x=y\":\"1,2\"} {}\n1@7 u=1 t=1 f=0 w w=-2.5\n" },
	{ "a backslash before another character is itself", "influx", "a\\b v=1 7\n",
	    "1 import a\\b {} {}\n1@7 value=1\n" },
	{ "no value", "influx", "a v=1,w= 7\n", "f:1:9: not a value" },
	{ "no time", "influx", "a v=1 7\na v=1 x\n", "f:2:7: not a time in nanoseconds" },
	{ "a text without end", "influx", "a v=\"1 7\n", "f:1:1: a text has no end" },
	{ "a transfer's duration, its streams, its peer", "ulm",
	    "DATE=19700101000010.500000 HOST=d PROG=g NL.EVNT=FTP_INFO START=19700101000008.000000 "
	    "USER=u FILE=/a b NBYTES=7 BUFFER=4 NBYTES=9 DEST=1[192.0.2.1] TASKID=none "
	    "retrans=1,2,3\n",
	    "1 d nl:FTP_INFO "
	    "{\"dst\":\"192.0.2.1\",\"hostname\":\"d\",\"prog\":\"g\",\"user\":\"u\"} "
	    "{\"unit_buffer\":\"By\",\"unit_bytes\":\"By\",\"unit_dur_s\":\"s\","
	    "\"unit_retrans\":\"1\"}\n"
	    "1@10500000000 buffer=4 bytes=9 dur_s=2.5 retrans=6\n" },
	{ "a clock that stepped has no duration, and an event counts itself", "ulm",
	    "DATE=19700101000010 HOST=d NL.EVNT=E START=19700101000011\n",
	    "1 d nl:E {\"hostname\":\"d\"} {\"unit_count\":\"1\"}\n1@10000000000 count=1\n" },
	{ "best practices: ids by their ending, quotes, numbers", "bp",
	    "ts=1970-01-01T00:00:01Z event=x.y guid=g1 job.id=7 msg=\"a \\\"b\\\" n=5 m=6\" "
	    "dur=2.5 "
	    "size=12 status=ok\n",
	    "1 import nl:x.y {\"guid\":\"g1\",\"job.id\":\"7\"} {\"unit_dur\":\"s\"}\n"
	    "1@1000000000 dur=2.5 size=12\n" },
	{ "things and units of sar", "sadf",
	    "{\"sysstat\":{\"hosts\":[{\"nodename\":\"n\",\"statistics\":[{\"timestamp\":"
	    "{\"date\":\"1970-01-01\",\"time\":\"00:00:01\",\"utc\":1},"
	    "\"cpu-load\":[{\"cpu\":\"all\",\"idle\":9.5}],"
	    "\"network\":{\"net-dev\":[{\"iface\":\"e0\",\"rxkB\":1,\"rxpck\":2,\"ifutil-percent\":"
	    "3}]"
	    "}}]}]}}",
	    "1 n sar:cpu-load {\"cpu\":\"all\"} {\"kind\":\"gauge\",\"unit_idle\":\"%\"}\n"
	    "2 n sar:network:net-dev {\"iface\":\"e0\"} "
	    "{\"kind\":\"gauge\",\"unit_ifutil-percent\":"
	    "\"%\",\"unit_rxkB\":\"KiBy/s\",\"unit_rxpck\":\"1/s\"}\n"
	    "1@1000000000 idle=9.5\n2@1000000000 rxkB=1 rxpck=2 ifutil-percent=3\n" },
};

static void
test_cases(void)
{
	struct stat_error err;
	struct import im;
	struct dump d;
	size_t i;
	int rc, failed;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		failed = check_failed;
		err.text[0] = '\0';
		d.len = 0;
		import_init(&im, "f", cases[i].text, strlen(cases[i].text), NULL, NULL, &err);
		if ((rc = import_parse(&im, cases[i].format)) == NW_OK)
			dump_import(&im, &d);
		CHECK_STR(rc == NW_OK ? d.text : err.text, cases[i].want);
		if (check_failed > failed)
			fprintf(stderr, "above: %s\n", cases[i].what);
		import_clear(&im);
	}
}

/* The name of the session: the user's, else that of the series, else that of the file. */
static void
test_session(void)
{
	static const struct {
		const char *file, *given, *text, *want;
	} names[] = {
		{ "dir/run-3.csv.gz", NULL, HEAD "h,,e,v,,5,1\n", "run-3" },
		{ "dir/.hidden.csv", NULL, HEAD "h,,e,v,,5,1\n", ".hidden" },
		{ "-", NULL, HEAD "h,,e,v,,5,1\n", "-" },
		{ "", NULL, HEAD "h,,e,v,,5,1\n", "import" },
		{ "a", NULL, HEAD "h,task_id=t,e,v,,5,1\n", "t" },
		{ "a", NULL, HEAD "h,task_id=t,e,v,,5,1\nh,task_id=u,e,v,,5,1\n", "t" },
		{ "a", "mine", HEAD "h,task_id=t,e,v,,5,1\n", "mine" },
	};
	struct stat_error err = { "" };
	struct import_series *s, *tmp;
	struct import im;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		import_init(&im, names[i].file, names[i].text, strlen(names[i].text),
		    names[i].given, NULL, &err);
		CHECK_INT(import_parse(&im, NULL), NW_OK);
		CHECK_STR(im.session, names[i].want);
		HASH_ITER (hh, im.series, s, tmp)
			CHECK_INT(json_object_get(s->subject, "source_task_id") != NULL,
			    names[i].given != NULL);
		import_clear(&im);
	}
}

/* The same file with the same names is the same provider; another byte, host or session is not. */
static void
test_provider(void)
{
	static const struct {
		const char *text, *session;
	} files[] = {
		{ HEAD "h,,e,v,,5,1\n", "a" },
		{ HEAD "h,,e,v,,5,1\n", "b" },
		{ HEAD "h,,e,v,,5,2\n", "a" },
		{ HEAD "h,,e,v,,6,1\n", "a" },
		{ HEAD "h,k=v,e,v,,5,1\n", "a" },
		{ HEAD "g,,e,v,,5,1\n", "a" },
	};
	enum { N = sizeof(files) / sizeof(files[0]) };
	struct stat_error err = { "" };
	char id[N + 1][64];
	struct import im;
	size_t i, k;

	for (i = 0; i <= N; i++) {
		import_init(&im, "f", files[i % N].text, strlen(files[i % N].text),
		    files[i % N].session, NULL, &err);
		CHECK_INT(import_parse(&im, NULL), NW_OK);
		import_provider(&im, 0, id[i]);
		import_clear(&im);
	}
	for (i = 0; i <= N; i++)
		for (k = 0; k < i; k++)
			CHECK_INT(strcmp(id[i], id[k]) == 0, i == N && k == 0);
}

int
main(void)
{
	test_cases();
	test_session();
	test_provider();
	return check_done("test_import");
}

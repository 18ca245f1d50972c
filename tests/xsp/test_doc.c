/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents of every generation to the canonical form and back; the histogram's stored form.
 *
 * Documents are written as libbson's extended JSON. After encoding, every '@' becomes the byte ff
 * and every '`' a NUL, which JSON cannot say. What the decoder delivers is written down as text and
 * compared.
 */
#include "narrows/doc.h"

#include <inttypes.h>
#include <stdarg.h>

#include "narrows/err.h"
#include "narrows/frame.h"
#include "narrows/hist.h"
#include "tests/bsontext.h"
#include "tests/check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

#define NS(s, frac) (INT64_C(s) * 1000000000 + (frac))

static char seen[1 << 18];
static size_t seen_len;

static void
see(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(seen + seen_len, sizeof(seen) - seen_len, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(seen) - seen_len)
		seen_len += (size_t)n;
}

static void
see_number(double v)
{
	if (isnan(v))
		see(" -");
	else
		see(" %.15g", v);
}

static int
on_meta(void *arg, const struct nw_meta *m)
{
	const struct nw_subject *s = &m->subject;
	const char *const texts[] = { s->task_id, s->xfer_id, s->stream_id, s->type, s->src, s->dst,
		s->resource, s->hostname };
	static const char *const names[] = { "task", "xfer", "stream", "type", "src", "dst",
		"resource", "hostname" };
	size_t i;

	see("meta %s %s %s g%d%s %s %s", m->id, m->pid ? m->pid : "-", m->event_type,
	    (int)m->generation, m->structural ? " structural" : "", m->subject_json,
	    m->params_json);
	for (i = 0; i < 8; i++)
		if (texts[i] != NULL)
			see(" %s=%s", names[i], texts[i]);
	if (s->sport != 0 || s->dport != 0)
		see(" ports=%u:%u", s->sport, s->dport);
	if (s->size_bytes != -1)
		see(" size=%" PRId64, s->size_bytes);
	if (!isnan(m->dt_s))
		see(" dt=%.15g", m->dt_s);
	if (!isnan(m->ts_s))
		see(" ts=%.15g", m->ts_s);
	see("\n");
	CHECK(m->raw_len >= 5 && (size_t)(m->raw[0] | m->raw[1] << 8) == (m->raw_len & 0xffff));
	return arg != NULL ? *(int *)arg : 0;
}

static int
on_data(void *arg, const struct nw_data *d)
{
	size_t i, k;

	see("data %s", d->mid);
	if (d->event_type != NULL)
		see(" %s", d->event_type);
	see(" (");
	for (i = 0; i < d->n_fields; i++)
		see("%s%s", i ? " " : "", d->fields[i]);
	see(")");
	for (i = 0; i < d->n_rows; i++) {
		if (d->t_wall_ns[i] == NW_TIME_BY_SAMPLE)
			see(" ?");
		else
			see(" %" PRId64, d->t_wall_ns[i]);
		if (d->sample_number[i] >= 0)
			see("#%" PRId64, d->sample_number[i]);
		see(":");
		for (k = 0; k < d->n_fields; k++)
			see_number(d->values[i * d->n_fields + k]);
	}
	if (d->hist != NULL)
		see(" hist %zu", d->hist_len);
	see("\n");
	return arg != NULL ? *(int *)arg : 0;
}

static const struct nw_doc_sink sink = { NULL, on_meta, on_data };

/* The tables say ' where JSON says ", for the reader's sake. */
static const char *
quoted(const char *text)
{
	static char out[2][4096];
	static int turn;
	char *p = out[turn ^= 1];
	size_t i;

	for (i = 0; text[i] != '\0'; i++)
		p[i] = text[i] == '\'' ? '"' : text[i];
	p[i] = '\0';
	return p;
}

/* Free with bson_destroy. */
static bson_t *
doc_new(const char *json)
{
	bson_error_t error;
	bson_t *b = bson_new_from_json((const uint8_t *)json, -1, &error);
	uint8_t *p;
	uint32_t i;

	if (b == NULL) {
		fprintf(stderr, "%s: %s\n", json, error.message);
		abort();
	}
	p = (uint8_t *)(uintptr_t)bson_get_data(b);
	for (i = 4; strpbrk(json, "@`") != NULL && i < b->len; i++)
		p[i] = p[i] == '@' ? 0xff : p[i] == '`' ? 0 : p[i];
	return b;
}

static int
decode_bytes(const struct nw_doc_limits *lim, const void *p, size_t len, const char **why)
{
	struct nw_doc_decoder *d = nw_doc_decoder_new(lim);
	int rc;

	seen_len = 0;
	seen[0] = '\0';
	*why = "";
	rc = nw_doc_decode(d, NW_OPT_META, p, len, &sink, why);
	nw_doc_decoder_free(d);
	return rc;
}

static int
decode_json(const struct nw_doc_limits *lim, const char *json, const char **why)
{
	bson_t *b = doc_new(json);
	int rc = decode_bytes(lim, bson_get_data(b), b->len, why);

	bson_destroy(b);
	return rc;
}

/* The generations as their programs sent them. */
static const struct {
	const char *json, *want;
} generations[] = {
	/* 1: transfer and caliper, dotted names, times by sample number; data before meta on the
	 * wire */
	{ "{'version':'0.1','data':[{'_id':'4f5b0a1b2c3d4e5f60718293','_mid':'c2d86f34','event_"
	  "type':'nl.write.summary',"
	  "'values':{'_sample':0,'sum.v':2707947520.0,'min.v':262144.0,'max.v':262144.0,'count':"
	  "10330,'dur.i':2.5}}],"
	  "'meta':[{'_id':'c2d870ef','event_type':'xfer.xsp.xio','params':{},'subject':{'task_id':'"
	  "job-42','type':'network',"
	  "'src':'192.0.2.10','dst':'198.51.100.7','sport':'50432','dport':'50001'}},"
	  "{'_id':'c2d86f34','_pid':'c2d870ef','event_type':'nl.write.summary','params':{'dt':5.0,'"
	  "ts':1297112631.70669},"
	  "'subject':{'stream_id':'50432:50001'}}]}",
	    "meta c2d870ef - xfer.xsp.xio g1 "
	    "{'task_id':'job-42','type':'network','src':'192.0.2.10','dst':'198.51.100.7',"
	    "'sport':'50432','dport':'50001'} {} task=job-42 type=network src=192.0.2.10 "
	    "dst=198.51.100.7 ports=50432:50001\n"
	    "meta c2d86f34 c2d870ef nl.write.summary g1 {'stream_id':'50432:50001'} "
	    "{'dt':5,'ts':1297112631.70669}"
	    " stream=50432:50001 ports=50432:50001 dt=5 ts=1297112631.70669\n"
	    "data c2d86f34 nl.write.summary (sum_v min_v max_v count dur_inst) ?#0: 2707947520 "
	    "262144 262144 10330 2.5\n" },
	/* 2: structure, leaves, pairs; both `type` and `event_type` are kept */
	{ "{'version':'0.1','meta':[{'id':'a','type':'ps:host:host','subject':{'hostname':'dtn1."
	  "example.net','ipv4':'192.0.2.10'}},"
	  "{'id':'c','pid':'a','type':'ps:host:timeseries','params':{'ts':1332349451.25,'dt':1.0},'"
	  "subject':{}},"
	  "{'id':'p','pid':'c','subject':{'process':4711}},"
	  "{'id':'f','pid':'a','type':'ps:host:tcp','subject':{'LocalAddress':'192.0.2.10','"
	  "LocalPort':50432,"
	  "'RemAddress':'198.51.100.7','RemPort':50001,'task_id':'job-42'}},"
	  "{'id':'g','pid':'f','event_type':'ps:host:tcp:SmoothedRTT','subject':{},'params':{}}],"
	  "'data':[{'mid':'e','values':[[1332349452.25,0.13],[1332349453.25,0.17]]},{'mid':'g','"
	  "values':[[1332349452.25,100]]},"
	  "{'mid':'prog','values':[[1332349452.25,'rsync']]}]}",
	    "meta a - ps:host:host g2 structural "
	    "{'hostname':'dtn1.example.net','ipv4':'192.0.2.10'} {} hostname=dtn1.example.net\n"
	    "meta c a ps:host:timeseries g2 structural {} {'ts':1332349451.25,'dt':1} dt=1 "
	    "ts=1332349451.25\n"
	    "meta p c untyped g2 structural {'process':4711} {}\n"
	    "meta f a ps:host:tcp g2 structural "
	    "{'LocalAddress':'192.0.2.10','LocalPort':50432,'RemAddress':'198.51.100.7',"
	    "'RemPort':50001,'task_id':'job-42'} {} task=job-42 src=192.0.2.10 dst=198.51.100.7 "
	    "ports=50432:50001\n"
	    "meta g f ps:host:tcp:SmoothedRTT g2 {} {}\n"
	    "data e (value) 1332349452250000000: 0.13 1332349453250000000: 0.17\n"
	    "data g (value) 1332349452250000000: 100\n" },
	/* 3 */
	{ "{'id':'7b6f0e02','eventType':'nl:tools:calipers:summary:read','parameters':{'"
	  "collectionInterval':1.0,"
	  "'datumSchema':'http://unis.incntre.iu.edu/schema/20120709/"
	  "datum#'},'subject':{'task_id':'job-42','xfer_id':'7b6f0d00',"
	  "'type':'disk','resource':'/data/in.dat','size':107374182400}}",
	    "meta 7b6f0e02 - nl:tools:calipers:summary:read g3 "
	    "{'task_id':'job-42','xfer_id':'7b6f0d00','type':'disk',"
	    "'resource':'/data/in.dat','size':107374182400} {'collectionInterval':1,"
	    "'datumSchema':'http://unis.incntre.iu.edu/schema/20120709/datum#'} task=job-42 "
	    "xfer=7b6f0d00 type=disk"
	    " resource=/data/in.dat size=107374182400 dt=1\n" },
	{ "{'mid':'7b6f0e02','data':{'ts':1347900123.501,'_sample':3,'sum_v':524288000.0,'mean_r':"
	  "0.91,'count':2000,"
	  "'dur':1.0002,'dur_inst':0.58,'h_gm':0.1,'h_gw':0.5,'h_gd':[1,2,3]}}",
	    "data 7b6f0e02 (sum_v mean_r count dur dur_inst h_gm h_gw) 1347900123501000000#3:"
	    " 524288000 0.91 2000 1.0002 0.58 0.1 0.5\n" },
	/* 4: microseconds, whatever the number's type; the interval has no unit */
	{ "{'$schema':'http://unis.crest.iu.edu/schema/20160630/"
	  "metadata#','id':'535f','selfRef':'http://x/metadata/535f',"
	  "'ts':1398785926407953,'subject':{'href':'http://x/nodes/dtn1','rel':'full'},"
	  "'eventType':'ps:tools:blipp:linux:cpu:utilization:user','parameters':{'"
	  "collectionInterval':30000}}",
	    "meta 535f - ps:tools:blipp:linux:cpu:utilization:user g4 "
	    "{'href':'http://x/nodes/dtn1','rel':'full'}"
	    " {'collectionInterval':30000}\n" },
	{ "{'mid':'535f','data':[{'ts':1398785931409112,'value':0.042},{'ts':1398785936410257.25,'"
	  "value':0.051}]}",
	    "data 535f (value) 1398785931409112000: 0.042 1398785936410257000: 0.051\n" },
	/* a list of items as one document, as UNIS answers */
	{ "{'0':{'mid':'a','data':[{'ts':1398785931409112,'value':1}]},'1':{'mid':'b','data':{'ts':"
	  "1398785931409112,'value':2}}}",
	    "data a (value) 1398785931409112000: 1\ndata b (value) 1398785931409112000: 2\n" },
	/* nothing in it, and test data of 2011-02, which is ignored */
	{ "{'version':'0.1','data':[],'meta':[]}", "" },
	{ "{'version':[0,0,0],'subject':{},'param':{},'data':{'http://x/"
	  "':{'ts':1,'n':2,'values':{'value':[1,2]}}}}",
	    "" },
};

/* Odd shapes, units and markers: {mid, data} or {mid, values} to rows. */
static const struct {
	const char *json, *want;
} rows[] = {
	/* pairs and objects under both names; seconds under `values`, microseconds under `data`
	 * unless calipers */
	{ "{'mid':'m','values':[{'ts':1347900123,'value':1},{'ts':1347900124,'v':2}]}",
	    "data m (value) 1347900123000000000: 1 1347900124000000000: 2\n" },
	{ "{'mid':'m','data':[[1398785931409112,1.5],[1398785931409113,2.5]]}",
	    "data m (value) 1398785931409112000: 1.5 1398785931409113000: 2.5\n" },
	{ "{'mid':'m','data':[{'ts':1347900123,'sum_v':1},{'ts':1347900124.5,'sum_v':2,'max_v':3}]"
	  "}",
	    "data m (sum_v max_v) 1347900123000000000: 1 - 1347900124500000000: 2 3\n" },
	{ "{'_mid':'m','data':{'0':{'ts':1398785931409112,'value':1},'1':{'ts':1398785931409113,'"
	  "value':2}}}",
	    "data m (value) 1398785931409112000: 1 1398785931409113000: 2\n" },
	{ "{'mid':'m','data':{'ts':1398785931409112,'f1':1,'f2':2}}",
	    "data m (f1 f2) 1398785931409112000: 1 2\n" },
	{ "{'mid':'m','data':{'95th':7,'ts':1347900123.25}}",
	    "data m (95th) 1347900123250000000: 7\n" },
	{ "{'mid':'m','data':{'ts':1347900123.25,'value':1}}",
	    "data m (value) 1347900123250000000: 1\n" },
	{ "{'mid':'m','data':{'ts':{'$date':{'$numberLong':'1398785931409'}},'sum_v':1}}",
	    "data m (sum_v) 1398785931409000000: 1\n" },
	{ "{'mid':'m','data':{'ts':-0.5,'sum_v':1}}", "data m (sum_v) -500000000: 1\n" },
	/* our own exact time wins over the rounded one */
	{ "{'mid':'m','data':{'ts':1.5,'ts_ns':{'$numberLong':'1347900123501000007'},'value':1}}",
	    "data m (value) 1347900123501000007: 1\n" },
	{ "{'mid':'m','data':{'ts_ns':{'$numberLong':'1347900123501000007'},'ts':1.5,'_sample':7,'"
	  "value':1}}",
	    "data m (value) 1347900123501000007#7: 1\n" },
	/* no time, no impossible time, no number: no row */
	{ "{'mid':'m','data':{'sum_v':1}}", "" },
	{ "{'mid':'m','data':{'ts':1e300,'sum_v':1}}", "" },
	{ "{'mid':'m','data':{'ts':{'$numberDouble':'NaN'},'sum_v':1}}", "" },
	{ "{'mid':'m','data':{'ts':{'$numberLong':'9223372036854775807'},'sum_v':1}}", "" },
	{ "{'mid':'m','data':{'ts':'1347900123','sum_v':1}}", "" },
	{ "{'mid':'m','data':{'ts':1347900123.0}}", "" },
	{ "{'mid':'m','data':[]}", "" },
	{ "{'mid':'m','data':{}}", "" },
	{ "{'mid':'m','data':[1,[1],[1,2,3],'x',[1398785931409112,1]]}",
	    "data m (value) 1398785931409112000: 1\n" },
	{ "{'mid':'m','data':{'ts':{'$numberDouble':'NaN'},'_sample':4,'sum_v':1}}",
	    "data m (sum_v) ?#4: 1\n" },
	/* markers are not numbers, but -1 is one where it is no deviation */
	{ "{'mid':'m','data':{'ts':1.0,'min_v':1.7976931348623157e308,'max_v':0.0,'sd_v':-1.0,'"
	  "mean_r':{'$numberDouble':'NaN'},"
	  "'sum_g':{'$numberDouble':'Infinity'},'sum_r':-1.0,'min_r':null}}",
	    "data m (min_v max_v sd_v mean_r sum_g sum_r min_r) 1000000000: - 0 - - - -1 -\n" },
	{ "{'mid':'m','data':{'ts':1.0,'sd.v':-1.0,'count':1}}",
	    "data m (sd_v count) 1000000000: - 1\n" },
	/* only a caliper's deviations are undefined below 0 */
	{ "{'mid':'m','data':{'ts':1.0,'sd_load':-1.0,'sd_r':-2.0,'count':1}}",
	    "data m (sd_load sd_r count) 1000000000: -1 - 1\n" },
	/* a command's output: the whole string or nothing */
	{ "{'mid':'m','data':[{'ts':1,'value':'0.085'},{'ts':2,'value':'-1e3'},{'ts':3,'value':'12 "
	  "ms'},{'ts':4,'value':''},"
	  "{'ts':5,'value':'0x10'},{'ts':6,'value':'nan'},{'ts':7,'value':' "
	  "1'},{'ts':8,'value':'7'},{'ts':9,'value':'1`2'}]}",
	    "data m (value) 1000: 0.085 2000: -1000 8000: 7\n" },
	{ "{'mid':'m','data':{'ts':1.0,'a':true,'b':false,'c':{'$numberLong':'5000000000'},'d':-3}"
	  "}",
	    "data m (a b c d) 1000000000: 1 0 5000000000 -3\n" },
	/* the first of equal keys counts, in whatever spelling */
	{ "{'mid':'m','mid':'n','data':{'ts':1.0,'ts':2.0,'sum.v':1,'sum_v':2,'sum_v':3}}",
	    "data m (sum_v) 1000000000: 1\n" },
	{ "{'mid':'m','_mid':'n','data':{'ts':1.0,'dur.i':1,'dur.inst':2,'a.b.c':3}}",
	    "data m (dur_inst a_b_c) 1000000000: 1 3\n" },
	/* columns appear while reading; rows read before have no value there */
	{ "{'mid':'m','data':[{'ts':1,'a':1},{'ts':2,'b':2},{'ts':3,'c':3,'d':4,'e':5},{'ts':4},{'"
	  "ts':5,'a':6,'e':7}]}",
	    "data m (a b c d e) 1000: 1 - - - - 2000: - 2 - - - 3000: - - 3 4 5 5000: 6 - - - "
	    "7\n" },
	{ "{'mid':'m','data':[{'a':1},{'ts':2,'b':2},{'ts':3,'a':3}]}",
	    "data m (a b) 2000: - 2 3000: 3 -\n" },
	{ "{'mid':{'$oid':'535ff2a59449314ec5630ee9'},'data':{'ts':1.0,'v':1}}",
	    "data 535ff2a59449314ec5630ee9 (value) 1000000000: 1\n" },
	{ "{'data':{'ts':1.0,'v':1},'mid':'m'}", "data m (value) 1000000000: 1\n" },
	{ "{'mid':'m','data':{'ts':1.0,'\u00fc':1}}", "data m (\u00fc) 1000000000: 1\n" },
};

static const struct {
	const char *json, *want;
} metas[] = {
	/* stream_id as a number; ports as numbers beside it win */
	{ "{'id':'i','eventType':'e','subject':{'stream_id':5,'sport':1,'dport':'2'}}",
	    "meta i - e g3 {'stream_id':5,'sport':1,'dport':'2'} {} stream=5 ports=1:2\n" },
	{ "{'id':'i','eventType':'e','subject':{'stream_id':'50432:50001','dport':7}}",
	    "meta i - e g3 {'stream_id':'50432:50001','dport':7} {} stream=50432:50001 "
	    "ports=50432:7\n" },
	{ "{'id':'i','eventType':'e','subject':{'stream_id':'50432:x','sport':'99999','dport':-1}}",
	    "meta i - e g3 {'stream_id':'50432:x','sport':'99999','dport':-1} {} "
	    "stream=50432:x\n" },
	{ "{'id':'i','eventType':'e','subject':{'stream_id':'1:65536'}}",
	    "meta i - e g3 {'stream_id':'1:65536'} {} stream=1:65536\n" },
	/* synonyms, and the first of them */
	{ "{'id':'i','event_type':'e','param':{'dt_s':0.5},'subject':{'source':'a','destination':'"
	  "b','FILE':'f','size':'12'}}",
	    "meta i - e g3 {'source':'a','destination':'b','FILE':'f','size':'12'} {'dt_s':0.5}"
	    " src=a dst=b resource=f size=12 dt=0.5\n" },
	{ "{'_id':'i','_pid':'p','eventType':'e','type':'t','params':{'ts':{'$date':{'$numberLong':"
	  "'1500'}}},"
	  "'subject':{'endPointPair':{'src':'a','dst':'b'},'filename':'f','src':'c'}}",
	    "meta i p e g1 {'endPointPair':{'src':'a','dst':'b'},'filename':'f','src':'c'} "
	    "{'ts':1500}"
	    " src=a dst=b resource=f ts=1.5\n" },
	{ "{'_id':{'$oid':'535ff2a59449314ec5630ee9'},'id':'i','pid':'','eventType':'e','subject':"
	  "null}",
	    "meta i - e g3 {} {}\n" },
	/* one id with two event types is two series */
	{ "{'meta':[{'id':'i','eventType':'read'},{'id':'i','eventType':'write'}]}",
	    "meta i - read g2 {} {}\nmeta i - write g2 {} {}\n" },
	/* text that identifies nothing is repaired, and JSON stays JSON */
	{ "{'id':'i','eventType':'e','subject':{'resource':'/data/"
	  "caf@.dat','x':'a`b','y@':'\\u0001\\\"\\\\\\n<\u00e9>'}}",
	    "meta i - e g3 {'resource':'/data/caf\xef\xbf\xbd.dat',"
	    "'x':'a\xef\xbf\xbd"
	    "b','y\xef\xbf\xbd':'\\u0001\\\"\\\\\\u000a<\u00e9>'} {}"
	    " resource=/data/caf\xef\xbf\xbd.dat\n" },
	{ "{'id':'i','eventType':'e','subject':{'task_id':'','a':1,'a':2,'b':[1,[],{'c':null}],'d':"
	  "{'$numberDouble':'NaN'},"
	  "'e':0.1,'f':1e300,'g':{'$numberLong':'-9223372036854775808'},'h':true,"
	  "'i':{'$binary':{'base64':'AAAA','subType':'00'}}}}",
	    "meta i - e g3 "
	    "{'task_id':'','a':1,'b':[1,[],{'c':null}],'d':null,'e':0.1,'f':1e+300,'g':-"
	    "9223372036854775808,"
	    "'h':true,'i':null} {}\n" },
	{ "{'id':'i','eventType':'e','subject':['a',{'b':1}],'params':[]}",
	    "meta i - e g3 {'0':'a','1':{'b':1}} {}\n" },
	{ "{'0':{'id':'i','eventType':'e'},'1':{'id':'j','eventType':'e'}}",
	    "meta i - e g3 {} {}\nmeta j - e g3 {} {}\n" },
};

static void
test_good(void)
{
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
		CHECK_INT(decode_json(NULL, quoted(generations[i].json), &why), NW_OK);
		CHECK_STR(seen, quoted(generations[i].want));
	}
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_INT(decode_json(NULL, quoted(rows[i].json), &why), NW_OK);
		CHECK_STR(seen, rows[i].want);
	}
	for (i = 0; i < sizeof(metas) / sizeof(metas[0]); i++) {
		CHECK_INT(decode_json(NULL, quoted(metas[i].json), &why), NW_OK);
		CHECK_STR(seen, quoted(metas[i].want));
	}
}

/* calipers of 2012-10 declare `data` an array, give it names, and leave three fields out. */
static void
test_array_with_names(void)
{
	bson_t *b = doc_new(quoted("{'mid':'m','data':{'ts':1347900123.5,'_sample':0,'sum_v':5.0,'"
				   "sum_r':2.0,'count':3}}"));
	uint8_t *p = (uint8_t *)(uintptr_t)bson_get_data(b);
	const char *why;
	uint32_t i;

	for (i = 4; i + 6 < b->len; i++)
		if (memcmp(p + i, "\3data", 6) == 0)
			p[i] = 4;
	CHECK_INT(decode_bytes(NULL, p, b->len, &why), NW_OK);
	CHECK_STR(seen, "data m (sum_v sum_r count) 1347900123500000000#0: 5 2 3\n");
	bson_destroy(b);
}

static void
test_bad(void)
{
	static const struct {
		const char *json;
		const char *why;
	} cases[] = {
		{ "{}", "neither metadata nor data: no id" },
		{ "{'a':1}", "neither metadata nor data: no id" },
		{ "{'0':1}", "neither metadata nor data: no id" },
		{ "{'id':'','eventType':'e'}", "an id or event type is empty" },
		{ "{'id':5,'eventType':'e'}", "an id or event type is not text" },
		{ "{'id':'a@','eventType':'e'}", "an id or event type is not UTF-8" },
		{ "{'id':'a`b','eventType':'e'}", "an id or event type is not UTF-8" },
		{ "{'id':'i'}", "metadata without an event type" },
		{ "{'id':'i','eventType':''}", "an id or event type is empty" },
		{ "{'id':'i','eventType':{}}", "an id or event type is not text" },
		{ "{'id':'i','pid':7,'eventType':'e'}", "an id or event type is not text" },
		{ "{'id':'i','eventType':'e','subject':'s'}",
		    "subject or parameters is not a document" },
		{ "{'id':'i','eventType':'e','params':1}",
		    "subject or parameters is not a document" },
		{ "{'mid':''}", "an id or event type is empty" },
		{ "{'mid':'m'}", "data without values" },
		{ "{'mid':'m','data':5}", "data without values" },
		{ "{'mid':'m','event_type':'@','data':{}}", "an id or event type is not UTF-8" },
		{ "{'mid':'m','data':{'ts':1,'a@':1}}", "bad field name" },
		{ "{'mid':'m','data':{'ts':1,'':1}}", "bad field name" },
		{ "{'meta':5}", "an item is not a document" },
		{ "{'meta':[5]}", "an item is not a document" },
		{ "{'data':[{'values':[]}]}", "neither metadata nor data: no id" },
		{ "{'data':[{'mid':'m'}]}", "data without values" },
	};
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(decode_json(NULL, quoted(cases[i].json), &why), NW_EPROTO);
		CHECK_STR(why, cases[i].why);
		CHECK_STR(seen, "");
	}
	/* What came before the bad item has been delivered. */
	CHECK_INT(decode_json(NULL,
		      quoted("{'meta':[{'id':'i','eventType':'e'},{'id':'j'}],'data':[]}"), &why),
	    NW_EPROTO);
	CHECK_STR(seen, "meta i - e g2 {} {}\n");
}

/* Bytes no encoder writes. Offsets: 0 length, 4 first element. */
static void
test_broken(void)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "", 0 },
		{ "\5\0\0\0", 4 },
		{ "\4\0\0\0\0", 5 },
		{ "\6\0\0\0\0", 5 },
		{ "\5\0\0\0\1", 5 },
		{ "\5\0\0\0\0\0", 6 },
		{ "\xff\xff\xff\xff\0", 5 },
		{ "\7\0\0\0\x0a"
		  "a\0",
		    7 },                                   /* the key's NUL is the document's */
		{ "\x10\0\0\0\1mid\0\0\0\0\0\0\0\0", 16 }, /* double one byte short */
		{ "\x0e\0\0\0\2id\0\1\0\0\0\0", 13 },      /* length one too many */
		{ "\x0d\0\0\0\2id\0\0\0\0\0\0", 14 },      /* and one too few */
		{ "\x0e\0\0\0\2id\0\0\0\0\0\0\0", 14 },    /* string of length 0 */
		{ "\x0e\0\0\0\2id\0\2\0\0\0\0\0", 14 },    /* string runs into the end */
		{ "\x0e\0\0\0\2id\0\1\0\0\0a\0", 14 },     /* string without NUL */
		{ "\x0e\0\0\0\2id\0\xff\xff\xff\xff\0\0", 14 },
		{ "\x0f\0\0\0\3data\0\5\0\0\0\0", 15 }, /* document without its own NUL */
		{ "\x10\0\0\0\3data\0\4\0\0\0\0\0", 16 },
		{ "\x10\0\0\0\3data\0\7\0\0\0\0\0", 16 },
		{ "\x0f\0\0\0\5b\0\7\0\0\0\0\0\0\0", 15 }, /* binary too long */
		{ "\x09\0\0\0\x08"
		  "a\0\2\0",
		    9 }, /* neither true nor false */
		{ "\x08\0\0\0\x20"
		  "a\0\0",
		    8 },                 /* no such type */
		{ "\x06\0\0\0\0\0", 6 }, /* ends before its end */
		{ "\x0b\0\0\0\x0b"
		  "a\0xyz\0",
		    11 }, /* half a regular expression */
		/* {mid: "m", data: {a: {}, a: {broken}}}: a part that counts for nothing is checked
		 * all the same */
		{ "\x31\0\0\0\2mid\0\2\0\0\0m\0\3data\0\x1b\0\0\0\3a\0\5\0\0\0\0\3a\0\x0b\0\0\0\1b"
		  "\0\0\0\0\0\0\0",
		    49 },
	};
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* on the heap, where a sanitizer sees one byte too far */
		uint8_t *exact = malloc(cases[i].len + 1);

		memcpy(exact, cases[i].bytes, cases[i].len);
		exact = realloc(exact, cases[i].len ? cases[i].len : 1);
		CHECK_INT(decode_bytes(NULL, exact, cases[i].len, &why), NW_EPROTO);
		CHECK(why[0] != '\0');
		free(exact);
	}
}

/* No part of a good document is a good document, nor is one with a byte behind or another length in
 * front. */
static void
test_cuts(void)
{
	const char *why;
	size_t i, cut;

	for (i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
		bson_t *b = doc_new(quoted(generations[i].json));
		uint8_t *p = malloc(b->len + 1);

		memcpy(p, bson_get_data(b), b->len);
		p[b->len] = 0;
		for (cut = 0; cut < b->len; cut++)
			CHECK_INT(decode_bytes(NULL, p, cut, &why), NW_EPROTO);
		CHECK_INT(decode_bytes(NULL, p, b->len + 1, &why), NW_EPROTO);
		p[0]++;
		CHECK_INT(decode_bytes(NULL, p, b->len, &why), NW_EPROTO);
		CHECK_STR(why, "length of the document differs from its own");
		free(p);
		bson_destroy(b);
	}
}

static void
test_limits(void)
{
	static const struct {
		struct nw_doc_limits lim;
		const char *json;
		int rc;
	} cases[] = {
		{ { 72, 16, 9, 9, 9, 99 },
		    "{'mid':'m','data':{'ts':1.0,'a':1,'bcdefghijklmnopqrstu':1}}", NW_OK },
		{ { 71, 16, 9, 9, 9, 99 },
		    "{'mid':'m','data':{'ts':1.0,'a':1,'bcdefghijklmnopqrstu':1}}", NW_ETOOBIG },
		{ { 999, 2, 9, 9, 9, 99 }, "{'mid':'m','data':{'ts':1.0,'a':1}}", NW_OK },
		{ { 999, 1, 9, 9, 9, 99 }, "{'mid':'m','data':{'ts':1.0,'a':1}}", NW_ETOOBIG },
		{ { 999, 3, 9, 9, 9, 99 }, "{'mid':'m','data':[[1,2]]}", NW_OK },
		{ { 999, 2, 9, 9, 9, 99 }, "{'mid':'m','data':[[1,2]]}", NW_ETOOBIG },
		{ { 999, 4, 9, 9, 9, 99 }, "{'mid':'m','data':{'ts':1.0,'a':1,'h_gd':[[]]}}",
		    NW_OK },
		{ { 999, 3, 9, 9, 9, 99 }, "{'mid':'m','data':{'ts':1.0,'a':1,'h_gd':[[]]}}",
		    NW_ETOOBIG },
		{ { 999, 5, 9, 9, 9, 99 },
		    "{'meta':[{'id':'i','eventType':'e','subject':{'a':{}}}]}", NW_OK },
		{ { 999, 4, 9, 9, 9, 99 },
		    "{'meta':[{'id':'i','eventType':'e','subject':{'a':{}}}]}", NW_ETOOBIG },
		{ { 999, 16, 2, 9, 9, 99 },
		    "{'meta':[{'id':'i','type':'e'}],'data':[{'mid':'m','values':[]}]}", NW_OK },
		{ { 999, 16, 1, 9, 9, 99 },
		    "{'meta':[{'id':'i','type':'e'}],'data':[{'mid':'m','values':[]}]}",
		    NW_ETOOBIG },
		{ { 999, 16, 9, 2, 9, 99 }, "{'mid':'m','data':{'ts':1.0,'a':1,'b':2}}", NW_OK },
		{ { 999, 16, 9, 2, 9, 99 }, "{'mid':'m','data':{'ts':1.0,'a':1,'b':2,'c':3}}",
		    NW_ETOOBIG },
		{ { 999, 16, 9, 2, 9, 99 }, "{'id':'i','eventType':'e','subject':{'a':1,'b':2}}",
		    NW_OK },
		{ { 999, 16, 9, 2, 9, 99 },
		    "{'id':'i','eventType':'e','subject':{'a':1,'b':2,'c':3}}", NW_ETOOBIG },
		{ { 999, 16, 9, 9, 2, 99 }, "{'mid':'m','data':[[1,1],[2,2]]}", NW_OK },
		{ { 999, 16, 9, 9, 2, 99 }, "{'mid':'m','data':[[1,1],[2,2],[3,3]]}", NW_ETOOBIG },
		{ { 999, 16, 9, 9, 9, 9 },
		    "{'id':'123456789','eventType':'e','subject':{'123456789':1}}", NW_OK },
		{ { 999, 16, 9, 9, 9, 9 }, "{'id':'1234567890','eventType':'e'}", NW_ETOOBIG },
		{ { 999, 16, 9, 9, 9, 9 }, "{'id':'i','eventType':'e','subject':{'1234567890':1}}",
		    NW_ETOOBIG },
		{ { 999, 16, 9, 9, 9, 9 },
		    "{'id':'i','eventType':'e','subject':{'a':['1234567890']}}", NW_ETOOBIG },
	};
	struct nw_doc_limits lim = nw_doc_limits_default;
	char json[1024];
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(decode_json(&cases[i].lim, quoted(cases[i].json), &why), cases[i].rc);
		CHECK(cases[i].rc == NW_OK || why[0] != '\0');
	}
	/* A field name has 255 bytes at most. */
	snprintf(json, sizeof(json), "{\"mid\":\"m\",\"data\":{\"ts\":1.0,\"%0255d\":1}}", 7);
	CHECK_INT(decode_json(&lim, json, &why), NW_OK);
	snprintf(json, sizeof(json), "{\"mid\":\"m\",\"data\":{\"ts\":1.0,\"%0256d\":1}}", 7);
	CHECK_INT(decode_json(&lim, json, &why), NW_ETOOBIG);
}

/* 256 fields, a new one in each of 256 rows, is fine; the same with 60,000 more rows would be
 * mostly nothing. */
static void
test_wide(void)
{
	bson_t *b = bson_new(), data, row;
	char key[16], name[16];
	const char *why;
	int i, last = 256;

	BSON_APPEND_UTF8(b, "mid", "m");
	BSON_APPEND_ARRAY_BEGIN(b, "data", &data);
	for (i = 0; i < 60000; i++) {
		snprintf(key, sizeof(key), "%d", i);
		snprintf(name, sizeof(name), "f%d", i % last);
		BSON_APPEND_DOCUMENT_BEGIN(&data, key, &row);
		BSON_APPEND_BOOL(&row, name, i & 1);
		BSON_APPEND_INT32(&row, "_sample", i);
		bson_append_document_end(&data, &row);
		if (i == last - 1) {
			bson_t *copy;

			bson_append_array_end(b, &data);
			copy = bson_copy(b);
			CHECK_INT(decode_bytes(NULL, bson_get_data(copy), copy->len, &why), NW_OK);
			CHECK(strstr(seen, "(f0 f1 ") != NULL &&
			    strstr(seen, " f254 f255) ?#0: 0 - -") != NULL);
			CHECK(strcmp(seen + seen_len - 9, " - - - 1\n") == 0);
			bson_destroy(copy);
			bson_reinit(b);
			BSON_APPEND_UTF8(b, "mid", "m");
			BSON_APPEND_ARRAY_BEGIN(b, "data", &data);
		}
	}
	bson_append_array_end(b, &data);
	CHECK(b->len > nw_doc_limits_default.doc_max_bytes);
	{
		struct nw_doc_limits lim = nw_doc_limits_default;

		lim.doc_max_bytes = b->len;
		CHECK_INT(decode_bytes(&lim, bson_get_data(b), b->len, &why), NW_ETOOBIG);
		CHECK_STR(why, "too many rows of too many fields");
	}
	bson_destroy(b);
}

/* Names of other documents must neither show up nor fill the decoder. */
static void
test_many_names(void)
{
	struct nw_doc_decoder *d = nw_doc_decoder_new(NULL);
	char json[200], want[200];
	const char *why;
	int i;

	for (i = 0; i < 3000; i++) {
		bson_t *b;

		snprintf(json, sizeof(json),
		    "{\"mid\":\"m\",\"data\":{\"ts\":1.0,\"a.%d\":%d,\"b%d\":2,\"sum.v\":3}}", i, i,
		    i / 2);
		snprintf(want, sizeof(want), "data m (a_%d b%d sum_v) 1000000000: %d 2 3\n", i,
		    i / 2, i);
		b = doc_new(json);
		seen_len = 0;
		CHECK_INT(
		    nw_doc_decode(d, NW_OPT_DATA, bson_get_data(b), b->len, &sink, &why), NW_OK);
		CHECK_STR(seen, want);
		bson_destroy(b);
	}
	nw_doc_decoder_free(d);
}

/* Of equal keys the first counts; text, and what cannot be a number or a time, is left out. */
static void
test_oddities(void)
{
	static const struct {
		const char *json, *want;
	} cases[] = {
		{ "{'id':'i','eventType':'e','subject':{'a':1,'a':2,'b':{'c':1,'c':2}}}",
		    "meta i - e g3 {\"a\":1,\"b\":{\"c\":1}} {}\n" },
		{ "{'id':'i','id':'j','eventType':'e','event_type':'f'}", "meta i - e g3 {} {}\n" },
		{ "{'id':'i','eventType':'e','subject':{'sport':'http','size':[]}}",
		    "meta i - e g3 {\"sport\":\"http\",\"size\":[]} {}\n" },
		{ "{'mid':'m','data':{'ts':1.0,'a':1,'a':2,'b':'x','c':null,'h_gd':[1]}}",
		    "data m (a c) 1000000000: 1 -\n" },
		{ "{'mid':'m','data':{'ts':1.0,'a':1,'b':{},'c':{'$oid':'535ff2a59449314ec5630ee9'}"
		  ",'_sample':-1}}",
		    "data m (a) 1000000000: 1\n" },
		{ "{'mid':'m','data':[{'a':1},[1],2,{'ts':1,'a':1}]}", "data m (a) 1000: 1\n" },
		{ "{'mid':'m','data':{'ts':1.0,'ts_ns':1.0,'a':1}}", "data m (a) 1000000000: 1\n" },
	};
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(decode_json(NULL, quoted(cases[i].json), &why), NW_OK);
		CHECK_STR(seen, cases[i].want);
	}
}

/* Texts of generation 0 in blocks of a transfer. */
static void
test_text(struct nw_doc_decoder *d)
{
	static const struct {
		const char *text, *want;
		int rc;
	} texts[] = {
		{ "user=u,task_id=,sport=1,dport=2,resource=,size=0,192.0.2.1:5/192.0.2.2:6",
		    "meta transfer::network - xfer.xsp.xio g3", NW_OK },
		{ "user=,task_id=t,sport=0,dport=0,resource=,size=0,filename=/a,fsize=,fsize=3",
		    "meta transfer:t:disk - xfer.xsp.xio g3", NW_OK },
		{ "ts=2011-02-03T00:33:34.25Z event=read.summary v.sum=4 dur.inst=2 id=7 type=0",
		    "meta 7:nl.read.summary - nl.read.summary g3 {\"type\":\"network\"} {}",
		    NW_OK },
		{ "ts=2011-02-03 event=e v.sum=4", "", NW_EPROTO },
		{ "ts=2011-02-03T00:33:34.25Z v.sum=4", "", NW_EPROTO },
		{ "ts=2011-02-03T00:33:34.25Z event=e word", "", NW_EPROTO },
		{ "user=u", "", NW_EPROTO },
		{ "user=u,task_id=t,nothing", "", NW_EPROTO },
		{ "user=\xff,task_id=t", "", NW_EPROTO },
	};
	const char *why = NULL;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		seen_len = 0;
		seen[0] = '\0';
		CHECK_INT(nw_doc_decode(d, NW_OPT_XFER_UPDATE, (const uint8_t *)texts[i].text,
			      strlen(texts[i].text), &sink, &why),
		    texts[i].rc);
		if (strlen(texts[i].want) < sizeof(seen))
			seen[strlen(texts[i].want)] = '\0';
		CHECK_STR(seen, texts[i].want);
	}
}

static void
test_calls(void)
{
	struct nw_doc_decoder *d = nw_doc_decoder_new(NULL);
	bson_t *b = doc_new("{\"meta\":[{\"id\":\"i\",\"eventType\":\"e\"}],\"data\":[{\"mid\":"
			    "\"i\",\"values\":[[1,2]]}]}");
	int answer = NW_EFULL;
	const struct nw_doc_sink refusing = { &answer, on_meta, on_data },
				 deaf = { NULL, NULL, NULL };
	const char *why = NULL;

	seen_len = 0;
	CHECK_INT(
	    nw_doc_decode(d, NW_OPT_XFER_NEW, bson_get_data(b), b->len, &refusing, &why), NW_EFULL);
	CHECK_STR(seen, "meta i - e g2 {} {}\n");
	CHECK(why != NULL);
	answer = 1; /* not negative: go on */
	CHECK_INT(
	    nw_doc_decode(d, NW_OPT_XFER_END, bson_get_data(b), b->len, &refusing, &why), NW_OK);
	CHECK_INT(
	    nw_doc_decode(d, NW_OPT_XFER_UPDATE, bson_get_data(b), b->len, &deaf, &why), NW_OK);
	CHECK_INT(nw_doc_decode(d, 0x99, bson_get_data(b), b->len, &sink, &why), NW_EUNSUPPORTED);
	test_text(d);
	bson_destroy(b);
	nw_doc_decoder_free(d);
	nw_doc_decoder_free(NULL);
}

/* Our own allocations are counted, and the one after `allocations_left` fails. A sanitizer has its
 * own malloc. */
static long allocations, allocations_left = -1;

#if !HAS_SANITIZER
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

static bool
allocation_fails(void)
{
	allocations++;
	if (allocations_left < 0)
		return false;
	return allocations_left-- == 0;
}

void *
malloc(size_t n)
{
	return allocation_fails() ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	return allocation_fails() ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	return allocation_fails() ? NULL : __libc_realloc(p, n);
}
#endif

static void
test_no_allocation(void)
{
	struct nw_doc_decoder *d = nw_doc_decoder_new(NULL);
	const char *why;
	long before = 0;
	int round;
	size_t i;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			bson_t *b = doc_new(quoted(rows[i].json));

			before = allocations;
			seen_len = 0;
			CHECK_INT(
			    nw_doc_decode(d, NW_OPT_DATA, bson_get_data(b), b->len, &sink, &why),
			    NW_OK);
			CHECK(round == 0 || allocations == before);
			bson_destroy(b);
		}
	}
	nw_doc_decoder_free(d);
}

/* Everything that allocates, once with every allocation failing. */
static int
use_memory(const bson_t *meta, const bson_t *data, struct nw_doc_buf *buf)
{
	static const char *const field = "a";
	static const double value = 1;
	struct nw_doc_decoder *d = nw_doc_decoder_new(NULL);
	const char *why;
	int rc = NW_ENOMEM;

	if (d == NULL)
		goto out;
	if ((rc = nw_doc_decode(d, NW_OPT_META, bson_get_data(meta), meta->len, &sink, &why)) < 0)
		goto out;
	if ((rc = nw_doc_decode(d, NW_OPT_DATA, bson_get_data(data), data->len, &sink, &why)) < 0)
		goto out;
	rc = nw_data_encode(buf, "m", 7, &field, &value, 1, NULL, 0);
out:
	nw_doc_decoder_free(d);
	return rc;
}

static void
test_no_memory(void)
{
	bson_t *meta = doc_new(quoted(generations[2].json)), *data = bson_new(), list, pair;
	struct nw_doc_buf buf;
	char key[16];
	int i, rc;

	BSON_APPEND_UTF8(data, "mid", "m");
	BSON_APPEND_ARRAY_BEGIN(data, "data", &list);
	for (i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "%d", i);
		BSON_APPEND_ARRAY_BEGIN(&list, key, &pair);
		BSON_APPEND_INT32(&pair, "0", i);
		BSON_APPEND_INT32(&pair, "1", i);
		bson_append_array_end(&list, &pair);
	}
	bson_append_array_end(data, &list);
	for (i = 0, rc = NW_ENOMEM; rc != NW_OK && i < 100; i++) {
		memset(&buf, 0, sizeof(buf));
		seen_len = 0;
		allocations_left = i;
		rc = use_memory(meta, data, &buf);
		allocations_left = -1;
		nw_doc_buf_clear(&buf);
		if (rc != NW_OK)
			CHECK_INT(rc, NW_ENOMEM);
	}
	CHECK(rc == NW_OK && (HAS_SANITIZER || i > 15));
	bson_destroy(meta);
	bson_destroy(data);
}

static size_t
hist_example(uint8_t out[NW_HIST_ENCODED_MAX_BYTES])
{
	static uint64_t counts[NW_HIST_BUCKETS];

	memset(counts, 0, sizeof(counts));
	counts[0] = 1;
	counts[nw_hist_index(150000)] = 300;
	counts[NW_HIST_BUCKETS - 1] = UINT64_MAX;
	return nw_hist_encode(out, counts);
}

static void
test_encode_data(void)
{
	static const char *const fields[] = { "sum_v", "mean_r", "sd_v", "dur_inst" };
	static const double values[] = { 524288000, 0.91, NAN, 0.58 };
	static uint8_t hist[NW_HIST_ENCODED_MAX_BYTES];
	size_t hist_len = hist_example(hist);
	struct nw_doc_buf buf = { 0 };
	char want[300];
	const char *why;
	bson_t b;

	CHECK_INT(
	    nw_data_encode(&buf, "m", NS(1347900123, 501000007), fields, values, 4, hist, hist_len),
	    NW_OK);
	CHECK(
	    bson_init_static(&b, buf.data, buf.len) && bson_validate(&b, BSON_VALIDATE_UTF8, NULL));
	CHECK_INT(decode_bytes(NULL, buf.data, buf.len, &why), NW_OK);
	snprintf(want, sizeof(want),
	    "data m (sum_v mean_r dur_inst) 1347900123501000007: 524288000 0.91 0.58 hist %zu\n",
	    hist_len);
	CHECK_STR(seen, want);
	/* A broken histogram goes, its row stays. */
	hist[0] = 2;
	CHECK_INT(nw_data_encode(&buf, "m", 7, fields, values, 1, hist, hist_len), NW_OK);
	CHECK_INT(decode_bytes(NULL, buf.data, buf.len, &why), NW_OK);
	CHECK_STR(seen, "data m (sum_v) 7: 524288000\n");
	/* No histogram, and an original's reader sees double seconds. */
	CHECK_INT(nw_data_encode(&buf, "m", NS(2, 500000000), fields, values, 1, NULL, 0), NW_OK);
	CHECK(memmem(buf.data, buf.len, "\1ts\0\0\0\0\0\0\0\4\x40", 12) != NULL);
	CHECK_INT(nw_data_encode(&buf, "", 7, fields, values, 1, NULL, 0), NW_EINVAL);
	CHECK_INT(nw_data_encode(&buf, NULL, 7, fields, values, 1, NULL, 0), NW_EINVAL);
	CHECK_INT(buf.len, 0);
	nw_doc_buf_clear(&buf);
	CHECK(buf.data == NULL && buf.cap == 0);
}

/* The same bytes as libbson's. */
static void
test_encode_as_libbson(void)
{
	static const char *const fields[] = { "sum_v", "", "sd_v", "count" };
	static const double values[] = { -0.0, 1e300, NAN, 42 };
	const int64_t t[] = { NS(1347900123, 501000007), NS(1347900124, 1) };
	const struct nw_data two = { .mid = "host/cpu",
		.n_rows = 2,
		.n_fields = 2,
		.fields = fields,
		.t_wall_ns = t,
		.values = values };
	static uint8_t hist[NW_HIST_ENCODED_MAX_BYTES];
	size_t hist_len = hist_example(hist), i;
	bson_t doc = BSON_INITIALIZER, list = BSON_INITIALIZER, row, each;
	struct nw_doc_buf buf = { 0 };

	bson_append_utf8(&doc, "mid", -1, "host/cpu", -1);
	bson_append_document_begin(&doc, "data", -1, &row);
	bson_append_double(&row, "ts", -1, (double)t[0] / 1e9);
	bson_append_int64(&row, "ts_ns", -1, t[0]);
	for (i = 0; i < 4; i++)
		if (i != 2)
			bson_append_double(&row, fields[i], -1, values[i]);
	bson_append_binary(&row, "h_dur", -1, BSON_SUBTYPE_BINARY, hist, (uint32_t)hist_len);
	bson_append_document_end(&doc, &row);
	CHECK_INT(nw_data_encode(&buf, "host/cpu", t[0], fields, values, 4, hist, hist_len), NW_OK);
	CHECK_INT(buf.len, doc.len);
	CHECK(buf.len == doc.len && memcmp(buf.data, bson_get_data(&doc), buf.len) == 0);

	bson_append_utf8(&list, "mid", -1, "host/cpu", -1);
	bson_append_array_begin(&list, "data", -1, &row);
	for (i = 0; i < 2; i++) {
		bson_append_document_begin(&row, i == 0 ? "0" : "1", -1, &each);
		bson_append_double(&each, "ts", -1, (double)t[i] / 1e9);
		bson_append_int64(&each, "ts_ns", -1, t[i]);
		if (i == 0)
			bson_append_double(&each, fields[0], -1, values[0]);
		bson_append_double(&each, fields[1], -1, values[2 * i + 1]);
		bson_append_document_end(&row, &each);
	}
	bson_append_array_end(&list, &row);
	CHECK_INT(nw_list_doc_encode(&buf, &two), NW_OK);
	CHECK(buf.len == list.len && memcmp(buf.data, bson_get_data(&list), buf.len) == 0);
	bson_destroy(&doc);
	bson_destroy(&list);
	nw_doc_buf_clear(&buf);
}

#define ROW_WITH_HIST "{'ts':1,'a':1,'h_dur':{'$binary':{'base64':'AQcAAQ==','subType':'00'}}}"

static void
test_hist_in_data(void)
{
	static const struct {
		uint8_t bytes[16];
		size_t len;
		bool ok;
	} cases[] = {
		{ { 1, 7, 0, 1 }, 4, true },
		{ { 1, 7, 5, 0x80, 1, 1, 1 }, 7, true },
		{ { 1, 7 }, 2, false },
		{ { 1 }, 1, false },
		{ { 2, 7, 0, 1 }, 4, false },
		{ { 1, 6, 0, 1 }, 4, false },
		{ { 1, 7, 0, 0 }, 4, false },
		{ { 1, 7, 0 }, 3, false },
		{ { 1, 7, 0, 1, 0, 1 }, 6, false }, /* an index twice */
		{ { 1, 7, 0, 0x80 }, 4, false },    /* a number that does not end */
		/* bucket 4351, and 4352 */
		{ { 1, 7, 0xff, 0x21, 1 }, 5, true },
		{ { 1, 7, 0x80, 0x22, 1 }, 5, false },
	};
	static const char *const field = "a";
	static const double value = 1;
	static uint64_t counts[NW_HIST_BUCKETS];
	struct nw_doc_buf buf = { 0 };
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(
		    nw_data_encode(&buf, "m", 7, &field, &value, 1, cases[i].bytes, cases[i].len),
		    NW_OK);
		CHECK_INT(decode_bytes(NULL, buf.data, buf.len, &why), NW_OK);
		CHECK((strstr(seen, " hist ") != NULL) == cases[i].ok);
		/* The same answer as the decoder of the stored form, which takes nothing for an
		 * empty one. */
		if (cases[i].len > 2)
			CHECK((nw_hist_decode_add(cases[i].bytes, cases[i].len, counts) == NW_OK) ==
			    cases[i].ok);
	}
	nw_doc_buf_clear(&buf);
	/* A histogram belongs to one row. */
	CHECK_INT(decode_json(NULL, quoted("{'mid':'m','data':[" ROW_WITH_HIST "]}"), &why), NW_OK);
	CHECK(strstr(seen, " hist 4") != NULL);
	CHECK_INT(decode_json(
		      NULL, quoted("{'mid':'m','data':[" ROW_WITH_HIST ",{'ts':2,'a':1}]}"), &why),
	    NW_OK);
	CHECK(strstr(seen, " hist ") == NULL && strstr(seen, ": 1 ") != NULL);
}

static void
test_encode_meta(void)
{
	static const struct nw_kv subject[] = {
		{ "task_id", NW_KV_TEXT, { .text = "job-42" } },
		{ "size", NW_KV_INT, { .i = INT64_C(107374182400) } },
		{ "resource", NW_KV_TEXT, { .text = NULL } },
		{ "share", NW_KV_REAL, { .d = 0.5 } },
		{ "tls", NW_KV_BOOL, { .i = 1 } },
	};
	static const struct nw_kv params[] = { { "dt_s", NW_KV_REAL, { .d = 0.1 } } };
	struct nw_doc_buf buf = { 0 };
	const char *why;
	char *json;
	bson_t b;

	CHECK_INT(nw_meta_encode(&buf, "i", "p", "nw:disk:read", subject, 5, params, 1), NW_OK);
	CHECK(
	    bson_init_static(&b, buf.data, buf.len) && bson_validate(&b, BSON_VALIDATE_UTF8, NULL));
	CHECK_INT(decode_bytes(NULL, buf.data, buf.len, &why), NW_OK);
	CHECK_STR(seen,
	    quoted("meta i p nw:disk:read g3 "
		   "{'task_id':'job-42','size':107374182400,'share':0.5,'tls':true}"
		   " {'dt_s':0.1} task=job-42 size=107374182400 dt=0.1\n"));
	CHECK_INT(nw_meta_encode(&buf, "i", NULL, "e", NULL, 0, NULL, 0), NW_OK);
	CHECK_INT(decode_bytes(NULL, buf.data, buf.len, &why), NW_OK);
	CHECK_STR(seen, "meta i - e g3 {} {}\n");
	CHECK_INT(nw_envelope_encode(&buf, (const uint8_t *)"\5\0\0\0\0", 5), NW_OK);
	CHECK(
	    bson_init_static(&b, buf.data, buf.len) && bson_validate(&b, BSON_VALIDATE_UTF8, NULL));
	json = bson_text(&b);
	CHECK_STR(json, quoted("{ 'version' : '0.1', 'meta' : [ { } ], 'data' : [ ] }"));
	bson_free(json);
	CHECK_INT(nw_envelope_encode(&buf, (const uint8_t *)"\6\0\0\0\0", 5), NW_EINVAL);
	CHECK_INT(nw_meta_encode(&buf, "", NULL, "e", NULL, 0, NULL, 0), NW_EINVAL);
	CHECK_INT(nw_meta_encode(&buf, "i", NULL, NULL, NULL, 0, NULL, 0), NW_EINVAL);
	nw_doc_buf_clear(&buf);
}

static void
test_kv(void)
{
	static const struct nw_kv in[] = {
		{ "software", NW_KV_TEXT, { .text = "blipp" } },
		{ "seq", NW_KV_INT, { .i = INT64_MIN } },
		{ "offset_s", NW_KV_REAL, { .d = -1.5 } },
		{ "tls", NW_KV_BOOL, { .i = 1 } },
	};
	struct nw_kv out[8];
	struct nw_doc_buf buf = { 0 };
	const char *why = NULL;
	size_t i, n;
	bson_t *b;

	CHECK_INT(nw_kv_encode(&buf, in, 4), NW_OK);
	CHECK_INT(nw_kv_decode(buf.data, buf.len, out, 8, &n, &why), NW_OK);
	CHECK_INT(n, 4);
	for (i = 0; i < 4; i++) {
		CHECK_STR(out[i].key, in[i].key);
		CHECK_INT(out[i].type, in[i].type);
	}
	CHECK_STR(out[0].v.text, "blipp");
	CHECK(out[1].v.i == INT64_MIN && out[2].v.d == -1.5 && out[3].v.i == 1);
	CHECK_INT(nw_kv_decode(buf.data, buf.len, out, 4, &n, &why), NW_OK);
	CHECK_INT(nw_kv_decode(buf.data, buf.len, out, 3, &n, &why), NW_ETOOBIG);
	CHECK_INT(n, 3);
	for (i = 0; i < buf.len; i++)
		CHECK_INT(nw_kv_decode(buf.data, i, out, 8, &n, &why), NW_EPROTO);
	CHECK_INT(nw_kv_encode(&buf, NULL, 0), NW_OK);
	CHECK_INT(nw_kv_decode(buf.data, buf.len, out, 8, &n, &why), NW_OK);
	CHECK_INT(n, 0);
	nw_doc_buf_clear(&buf);

	b = doc_new("{\"a\":1,\"a\":2,\"b\":[],\"c\":\"x@\",\"d\":null,\"e\":false,\"f@\":1,\"g\":"
		    "\"x`y\"}");
	CHECK_INT(nw_kv_decode(bson_get_data(b), b->len, out, 8, &n, &why), NW_OK);
	CHECK_INT(n, 2);
	CHECK(n == 2 && out[0].v.i == 1 && out[1].type == NW_KV_BOOL && out[1].v.i == 0);
	bson_destroy(b);
}

static void
test_hist(void)
{
	static uint64_t counts[NW_HIST_BUCKETS], back[NW_HIST_BUCKETS];
	static uint8_t buf[NW_HIST_ENCODED_MAX_BYTES];
	double lo, hi, last_hi = 0;
	uint64_t ns;
	uint32_t i;
	size_t n, cut;

	/* The buckets cover the line without gaps, and are narrow. */
	for (i = 0; i < NW_HIST_BUCKETS; i++) {
		nw_hist_bounds(i, &lo, &hi);
		CHECK(lo == last_hi && hi > lo);
		CHECK(i < NW_HIST_SUB || (hi - lo) / lo <= 1.0 / NW_HIST_SUB);
		CHECK_INT(nw_hist_index((uint64_t)lo), i);
		CHECK_INT(nw_hist_index((uint64_t)hi - 1), i);
		last_hi = hi;
	}
	for (ns = 1; ns != 0; ns <<= 1) {
		CHECK(nw_hist_index(ns) < NW_HIST_BUCKETS);
		CHECK(nw_hist_index(ns - 1) <= nw_hist_index(ns));
	}
	CHECK_INT(nw_hist_index(UINT64_MAX), NW_HIST_BUCKETS - 1);

	CHECK_INT(nw_hist_encode(buf, counts), 0);
	for (i = 0; i < NW_HIST_BUCKETS; i += 1 + i % 300)
		counts[i] = i % 2 ? UINT64_MAX : i + 1u;
	n = nw_hist_encode(buf, counts);
	CHECK_INT(nw_hist_decode_add(buf, n, back), NW_OK);
	CHECK(memcmp(counts, back, sizeof(counts)) == 0);
	CHECK_INT(nw_hist_decode_add(buf, n, back), NW_ECORRUPT); /* sums that do not fit */
	for (cut = 0; cut < 2; cut++)
		CHECK_INT(nw_hist_decode_add(buf, cut, back), NW_ECORRUPT);
	memset(back, 0, sizeof(back));
	CHECK_INT(nw_hist_decode_add(buf, n - 1, back), NW_ECORRUPT);
	for (i = 0; i < NW_HIST_BUCKETS; i++)
		counts[i] = UINT64_MAX;
	CHECK(nw_hist_encode(buf, counts) <= sizeof(buf));
}

int
main(void)
{
	test_good();
	test_array_with_names();
	test_bad();
	test_broken();
	test_cuts();
	test_limits();
	test_wide();
	test_many_names();
	test_oddities();
	test_calls();
	test_no_allocation();
	test_no_memory();
	test_encode_data();
	test_encode_as_libbson();
	test_hist_in_data();
	test_encode_meta();
	test_kv();
	test_hist();
	return check_done("doc");
}

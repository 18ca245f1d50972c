/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/event_line.h"

#include "narrows/err.h"
#include "tests/check.h"

static struct nw_event_line *l;

static int
take(const char *line, struct nw_event *e)
{
	const char *why = NULL;
	int rc = nw_event_line_read(l, line, strlen(line), e, &why);

	if (rc == NW_EPROTO)
		CHECK(why != NULL);
	return rc;
}

/* Lines as programs write them, and the same events as BP. */
static void
test_read(void)
{
	static const struct {
		const char *line, *bp;
	} cases[] = {
		{ "ts=2026-05-04T10:00:01.118305Z event=org.example.xfer.start level=Info "
		  "guid=8ae1154d-b79e-49b6-ab77-575d956fce4d status=0 msg=\"text with "
		  "\\\"quotes\\\"\"",
		    "ts=2026-05-04T10:00:01.118305Z event=org.example.xfer.start level=Info "
		    "guid=8ae1154d-b79e-49b6-ab77-575d956fce4d status=0 msg=\"text with "
		    "\\\"quotes\\\"\"" },
		{ "ts=1297112631.70669 event=a p.id=007 x=1.50 y=1e3 z=00 w=1.",
		    "ts=2011-02-07T21:03:51.706690Z event=a p.id=007 x=1.5 y=1000.0 z=\"00\" "
		    "w=\"1.\"" },
		{ "event=b ts=2010-02-20T23:14:06.5+01:00 wf.id=12345678901234567890 e=",
		    "ts=2010-02-20T22:14:06.500000Z event=b wf.id=12345678901234567890 e=\"\"" },
		{ "DATE=20260504100431.204417 HOST=dtn1.example.net PROG=globus-gridftp-server "
		  "NL.EVNT=FTP_INFO START=20260504100001.118305 USER=alice FILE=/data/a b.dat "
		  "BUFFER=235104 DEST=[198.51.100.7] TASKID=none retrans=36,17",
		    "ts=2026-05-04T10:04:31.204417Z event=FTP_INFO host=dtn1.example.net "
		    "prog=globus-gridftp-server START=\"20260504100001.118305\" USER=alice "
		    "FILE=\"/data/a b.dat\" BUFFER=235104 DEST=[198.51.100.7] TASKID=none "
		    "retrans=36,17" },
		{ "DATE=20020329210355.2102 HOST=h PROG=p LVL=Usage NL.EVNT=e VAL=6 DELTA=-0.25",
		    "ts=2002-03-29T21:03:55.002102Z event=e level=Usage host=h prog=p VAL=6 "
		    "DELTA=-0.25" },
		{ "HOST=h PROG=p NL.EVNT=old NL.SEC=900000000 NL.USEC=5 SIZE=1",
		    "ts=1998-07-09T16:00:00.000005Z event=old host=h prog=p SIZE=1" },
		{ "TV_REQ_TILE; h.lbl.gov; 900000000; 000000123; 17; 3.5; a tile;",
		    "ts=1998-07-09T16:00:00.000000123Z event=TV_REQ_TILE host=h.lbl.gov prog=TV "
		    "d1=17 d2=3.5 d3=\"a tile\"" },
		{ "DPSS_START_READ;s1;900000000;5;42;7;0;12",
		    "ts=1998-07-09T16:00:00.000000005Z event=DPSS_START_READ host=s1 prog=DPSS "
		    "block=42 set=7 session=0 list=12" },
		{ "<34>1 2003-10-11T22:14:15.003Z mymachine su - ID47 - ts=2010-02-20T23:14:06Z "
		  "event=x",
		    "ts=2010-02-20T23:14:06.000000Z event=x host=mymachine prog=su" },
		{ "<34>1 2003-10-11T22:14:15.003-07:00 mymachine su 17 ID47 [a b=\"]\\\"\"] it = "
		  "so",
		    "ts=2003-10-12T05:14:15.003000Z event=ID47 host=mymachine prog=su "
		    "msg=\"it = so\"" },
		{ "<13>Oct  1 22:14:15 web1 app[123]: ts=2010-02-20T23:14:06Z event=x host=other",
		    "ts=2010-02-20T23:14:06.000000Z event=x host=other prog=app" },
		{ "Oct 11 22:14:15 web1 app: ts=2010-02-20T23:14:06Z event=x",
		    "ts=2010-02-20T23:14:06.000000Z event=x host=web1 prog=app" },
		{ "ts=20061208T183918.958443Z event=x", "ts=2006-12-08T18:39:18.958443Z event=x" },
		{ "  ts=2010-02-20T23:14:06Z\tevent=x junk more=1\r",
		    "ts=2010-02-20T23:14:06.000000Z event=x more=1" },
		{ "ts=2010-02-20T23:14:06Z event=x f=caf\xe9 g=\xc3\xa9",
		    "ts=2010-02-20T23:14:06.000000Z event=x f=caf\xef\xbf\xbd g=\xc3\xa9" },
	};
	struct nw_event e, back;
	char text[1024], again[1024];
	size_t i, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(take(cases[i].line, &e), NW_OK);
		n = nw_event_line_print(NW_EVENT_BP, &e, text, sizeof(text));
		CHECK(n > 0 && n < sizeof(text) && text[n - 1] == '\n');
		text[n - 1] = '\0';
		CHECK_STR(text, cases[i].bp);
		CHECK_INT(take(text, &back), NW_OK); /* what is printed reads as the same */
		n = nw_event_line_print(NW_EVENT_BP, &back, again, sizeof(again));
		again[n - 1] = '\0';
		CHECK_STR(again, text);
	}
}

static void
test_refuse(void)
{
	static const char *const lines[] = { "hello", "ts=2010-02-20T23:14:06Z", "event=x",
		"ts=yesterday event=x", "ts=2010-02-30T00:00:00Z event=x",
		"ts=1969-12-31T23:59:59Z event=x", "ts=2100-01-01T00:00:00Z event=x",
		"ts=99999999999 event=x", "ts=-5 event=x",
		"ts=2010-02-20T23:14:06Z event=x msg=\"no end",
		"ts=2010-02-20T23:14:06Z event=\"\"", "ts=2010-02-20T23:14:06Z event=\xff",
		"DATE=2010 NL.EVNT=x", "DATE=20100220231406.x NL.EVNT=x", "K; h; 1; 1000000000",
		"K; h; -1; 0", "K; h; x; 0", "; h; 1; 0", "K; h", "a;b;c;d;e",
		"<34>1 - h p - - - msg" };
	char *big = malloc(1000001), many[64 * 8 + 64];
	const char *why;
	struct nw_event e;
	size_t i;
	int n;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (take(lines[i], &e) != NW_EPROTO)
			fprintf(stderr, "taken: %s\n", lines[i]);
		CHECK_INT(take(lines[i], &e), NW_EPROTO);
	}
	CHECK_INT(take("", &e), NW_ENOTFOUND);
	CHECK_INT(take(" \t\r", &e), NW_ENOTFOUND);
	CHECK_INT(take("# comment", &e), NW_ENOTFOUND);
	memset(big, 'x', 1000000);
	memcpy(big, "ts=2010-02-20T23:14:06Z event=", 30);
	CHECK_INT(nw_event_line_read(l, big, 1000000, &e, &why), NW_EPROTO);
	CHECK_INT(nw_event_line_read(l, big, 40000, &e, &why), NW_OK);
	CHECK_INT(nw_event_line_read(l, "ts=1500000000 event=a\0b", 23, &e, &why), NW_EPROTO);
	n = sprintf(many, "ts=1500000000 event=a");
	for (i = 0; i < 65; i++)
		n += sprintf(many + n, " k=%zu", i);
	CHECK_INT(take(many, &e), NW_EPROTO);
	free(big);
}

static void
test_print(void)
{
	struct nw_event e;
	char text[256];
	size_t n;

	CHECK_INT(take("DPSS_SERV_IN; s1; 900000000; 000000005; 42; 7", &e), NW_OK);
	n = nw_event_line_print(NW_EVENT_COMMON, &e, text, sizeof(text));
	text[n] = '\0';
	CHECK_STR(text, "DPSS_SERV_IN; s1; 900000000; 000000005; 42; 7\n");
	n = nw_event_line_print(NW_EVENT_ULM, &e, text, sizeof(text));
	text[n] = '\0';
	CHECK_STR(text,
	    "DATE=19980709160000.000000005 HOST=s1 PROG=DPSS NL.EVNT=DPSS_SERV_IN block=42 "
	    "set=7\n");
	CHECK_INT(nw_event_line_print(NW_EVENT_ULM, &e, text, 10), n);
	/* a sender's text adds no line, and no pair */
	e = (struct nw_event){ .name = "a\nts=1 event=b",
		.host = "h; x",
		.n_attrs = 1,
		.attrs = &(struct nw_attr){
		    "k\nev=1 ;", NW_ATTR_TEXT, false, { .text = "\n\x1b[2J" } } };
	n = nw_event_line_print(NW_EVENT_BP, &e, text, sizeof(text));
	text[n] = '\0';
	CHECK_STR(text,
	    "ts=1970-01-01T00:00:00.000000Z event=\"a ts=1 event=b\" host=\"h; x\" k_ev_1__=\"  "
	    "[2J\"\n");
	n = nw_event_line_print(NW_EVENT_COMMON, &e, text, sizeof(text));
	text[n] = '\0';
	CHECK_STR(text, "a ts=1 event=b; h, x; 0; 000000000;   [2J\n");
	CHECK(nw_event_format_find("common") == NW_EVENT_COMMON);
	CHECK(nw_event_format_find("x") == NW_EVENT_FORMATS);
}

int
main(void)
{
	l = nw_event_line_new();
	test_read();
	test_refuse();
	test_print();
	nw_event_line_free(l);
	return check_done("event_line");
}

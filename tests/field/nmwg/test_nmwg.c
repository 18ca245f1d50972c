/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of NM-WG as metadata and data, and what is refused. */
#include "narrows/nmwg.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"

#define NMWG  "xmlns:n=\"" NMWG_SPACE "base/2.0/\""
#define T     "xmlns:t=\"" NMWG_SPACE "topology/2.0/\""
#define IPERF "xmlns:i=\"" NMWG_SPACE "tools/iperf/2.0/\""

static char seen[4096];

static void __attribute__((format(printf, 1, 2))) put(const char *fmt, ...)
{
	size_t len = strlen(seen);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(seen + len, sizeof(seen) - len, fmt, ap);
	va_end(ap);
}

static const char *
text(const char *t)
{
	return t != NULL ? t : "-";
}

static void
put_pairs(const struct nmwg_pair *p, size_t n)
{
	for (; n > 0; n--, p++)
		put(" %s%s%s=%s", p->of_subject ? "*" : "", p->is_json ? "#" : "", p->name,
		    p->value);
	put("\n");
}

static int
on_meta(void *arg, size_t at, const struct nmwg_meta *m)
{
	(void)arg, (void)at;
	put("meta %s %s %s %s %s %s", text(m->id), text(m->ref), text(m->event_type), text(m->host),
	    text(m->own_id), text(m->own_pid));
	put_pairs(m->pairs, m->n_pairs);
	return m->id != NULL && strcmp(m->id, "stop") == 0 ? NW_EFULL : NW_OK;
}

static int
on_datum(void *arg, size_t at, const struct nmwg_datum *d)
{
	(void)arg, (void)at;
	put("datum %s %s %s %s", text(d->ref), text(d->time), text(d->from), text(d->unit));
	put_pairs(d->pairs, d->n_pairs);
	return NW_OK;
}

static const struct nmwg_sink sink = { NULL, on_meta, on_datum };

static const struct {
	const char *xml, *want, *why;
	int rc;
} cases[] = {
	/* a message within an envelope of SOAP; a slash behind the event type; words around it */
	{ "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body>"
	  "<n:message " NMWG " " T " " IPERF "><n:metadata id=\"m\"><i:subject id=\"s\">"
	  "<t:endPointPair><t:src type=\"ipv4\" value=\"192.0.2.1\" port=\"5\"/>"
	  "<t:dst type=\"ipv4\" value=\"192.0.2.2\"/></t:endPointPair></i:subject>"
	  "<n:eventType> " NMWG_SPACE "tools/iperf/2.0/\n</n:eventType>"
	  "<n:parameters id=\"p\"><n:parameter name=\"protocol\">TCP</n:parameter>"
	  "<n:parameter name=\"w\" value=\"9\"/></n:parameters></n:metadata>"
	  "<n:data id=\"d\" metadataIdRef=\"m\"><i:datum timeType=\"unix\" timeValue=\"7.5\" "
	  "throughput=\"9.1e+08\" jitter=\"\"/></n:data></n:message></e:Body></e:Envelope>",
	    "meta m - " NMWG_SPACE "tools/iperf/2.0 - - - *src=192.0.2.1 *sport=5 *dst=192.0.2.2 "
	    "protocol=TCP w=9\ndatum m 7.5 - - throughput=9.1e+08 jitter=\n",
	    NULL, NW_OK },
	/* without an event type the subject's tool is one; a child names its parent */
	{ "<n:store " NMWG " " IPERF "><n:metadata id=\"a\"><i:subject/></n:metadata>"
	  "<n:metadata id=\"b\" metadataIdRef=\"a\"><n:eventType>own</n:eventType></n:metadata>"
	  "</n:store>",
	    "meta a - " NMWG_SPACE "tools/iperf/2.0 - - -\nmeta b a own - - -\n", NULL, NW_OK },
	/* all datums of one time together; an interval; units; buckets; an interface's texts */
	{ "<n:store " NMWG " " T "><n:metadata id=\"a\"><n:subject><t:interface><t:ifName>eth0"
	  "</t:ifName></t:interface></n:subject></n:metadata><n:data metadataIdRef=\"a\">"
	  "<n:commonTime type=\"unix\" value=\"3\"><n:datum name=\"minRtt\" value=\"1\"/>"
	  "<n:datum name=\"maxRtt\" value=\"2\"/></n:commonTime>"
	  "<n:datum startTime=\"4\" endTime=\"5\" loss=\"0\"><n:value_buckets>"
	  "<n:value_bucket value=\"12\" count=\"3\"/></n:value_buckets></n:datum>"
	  "<n:datum timeValue=\"6\" value=\"8\" valueUnits=\"Bps\"/>"
	  "<n:datum>Query returned 0 results</n:datum></n:data></n:store>",
	    "meta a - - - - - *ifName=eth0\ndatum a 3 - - minRtt=1 maxRtt=2\n"
	    "datum a 5 4 - loss=0 value_bucket:12=3\ndatum a 6 - Bps value=8\n",
	    NULL, NW_OK },
	/* attributes of our own */
	{ "<n:store " NMWG " xmlns:w=\"" NMWG_OWN "\"><n:metadata id=\"m1\" w:host=\"h\" "
	  "w:id=\"x&#10;y\" w:pid=\"p\"><n:parameters><n:parameter name=\"k\" w:of=\"subject\" "
	  "w:json=\"1\" value=\"5\"/></n:parameters></n:metadata></n:store>",
	    "meta m1 - - h x\ny p *#k=5\n", NULL, NW_OK },
	/* other namespaces are passed over */
	{ "<store xmlns=\"urn:x\"><metadata id=\"m\"/></store>", "", NULL, NW_OK },
	/* the sink ends the reading */
	{ "<n:s " NMWG "><n:metadata id=\"stop\"/><n:metadata id=\"b\"/></n:s>",
	    "meta stop - - - - -\n", NULL, NW_EFULL },
	{ "<!DOCTYPE x [<!ENTITY a \"b\">]><x>&a;</x>", "", "a document type is not allowed",
	    NW_EPROTO },
	{ "<n:s " NMWG "><n:metadata", "", "unclosed token", NW_EPROTO },
	{ "", "", "no element found", NW_EPROTO },
};

static void
test_cases(void)
{
	const char *why;
	size_t i, at;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		seen[0] = '\0';
		CHECK_INT(
		    nmwg_read(cases[i].xml, strlen(cases[i].xml), &sink, &at, &why), cases[i].rc);
		CHECK_STR(seen, cases[i].want);
		CHECK_STR(text(why), text(cases[i].why));
	}
}

/* A file of one beginning, n times a middle, and an end. */
static int
read_repeated(const char *begin, const char *middle, size_t n, const char *end, const char **why)
{
	char *xml = NULL;
	size_t len = 0, at;
	FILE *f = open_memstream(&xml, &len);
	int rc;

	seen[0] = '\0';
	fputs(begin, f);
	for (; n > 0; n--)
		fputs(middle, f);
	fputs(end, f);
	fclose(f);
	rc = nmwg_read(xml, len, &sink, &at, why);
	free(xml);
	return rc;
}

static void
test_limits(void)
{
	const char *why;

	CHECK_INT(read_repeated("", "<a>", NMWG_DEPTH_MAX + 1, "", &why), NW_ETOOBIG);
	CHECK_STR(why, "too many elements within elements");
	CHECK_INT(read_repeated("<n:s " NMWG "><n:metadata id=\"", "x", NMWG_TEXT_MAX_BYTES + 1,
		      "\"/></n:s>", &why),
	    NW_ETOOBIG);
	CHECK_INT(read_repeated("<n:s " NMWG "><n:metadata><n:eventType>", "x",
		      NMWG_TEXT_MAX_BYTES + 1, "</n:eventType></n:metadata></n:s>", &why),
	    NW_ETOOBIG);
	CHECK_INT(read_repeated("<n:s " NMWG "><n:metadata>", "<n:parameter name='a' value='b'/>",
		      NMWG_PAIRS_MAX + 1, "</n:metadata></n:s>", &why),
	    NW_ETOOBIG);
	CHECK_INT(read_repeated("<n:s " NMWG "><n:metadata>", "<n:parameter name='a' value='b'/>",
		      NMWG_PAIRS_MAX, "</n:metadata></n:s>", &why),
	    NW_OK);
	/* a file of several pieces of the reader */
	CHECK_INT(read_repeated("<n:s " NMWG ">", "<n:q a='0123456789'/>", 100000, "</n:s>", &why),
	    NW_OK);
}

static void
test_words(void)
{
	static const char *const bad[] = { "", "1282734091", "Wed Aug 25 11:01:31 CEST 2010",
		"Wed Aug 32 11:01:31 UTC 2010", "Wed Bug 25 11:01:31 UTC 2010",
		"Wed Aug 25 11:01:31 UTC 2010 x" };
	long long t = 0;
	size_t i;

	CHECK(nmwg_time_words("Wed Aug 25 11:01:31.3918981026 UTC 2010", &t));
	CHECK_INT(t, 1282734091391898102);
	CHECK(nmwg_time_words("Thu Jan 1 00:00:01 GMT 1970", &t));
	CHECK_INT(t, 1000000000);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!nmwg_time_words(bad[i], &t));
}

static void
test_is(void)
{
	CHECK(nmwg_is("\n<n:s " NMWG ">", strlen("\n<n:s " NMWG ">")));
	CHECK(!nmwg_is("<html>", 6));
	CHECK(!nmwg_is(NMWG, strlen(NMWG)));
	CHECK(!nmwg_is("", 0));
}

int
main(void)
{
	test_cases();
	test_limits();
	test_words();
	test_is();
	return check_done("test_nmwg");
}

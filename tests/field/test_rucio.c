/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of Rucio, and whole transfers that have the file of a flow. */
#include "narrows/rucio.h"

#include "narrows/err.h"
#include "tests/check.h"

static struct nw_announcement last;
static struct nw_rucio_got got;
static const char *why;

static void
on_transfer(void *arg, const struct nw_announcement *a)
{
	(void)arg;
	last = *a;
}

static int
take(const char *text)
{
	return nw_rucio_read(text, strlen(text), "::ffff:192.0.2.9", on_transfer, NULL, &got, &why);
}

/* As rucio's client of 2026 sends it. */
#define DOWNLOAD                                                                                \
	"{\"hostname\": \"wn1\", \"account\": \"jdoe\", \"eventType\": \"download\", "          \
	"\"eventVersion\": \"38.1\", \"localSite\": \"HERE\", \"uuid\": \"0f3c\", \"scope\": "  \
	"\"data26\", \"filename\": \"AOD.1.root\", \"datasetScope\": null, \"dataset\": null, " \
	"\"filesize\": 5000000000, \"clientState\": \"DONE\", \"stateReason\": \"OK\", "        \
	"\"remoteSite\": \"SITE_DISK\", \"protocol\": \"root\", \"transferStart\": "            \
	"1795827805.25, \"transferEnd\": 1795827865.75}"
/* As a pilot sends it: its own steps, and the URL. */
#define PILOT                                                                                   \
	"{\"eventType\": \"get_sm\", \"clientState\": \"DONE\", \"localSite\": \"HERE\", "      \
	"\"remoteSite\": \"SITE_DISK\", \"timeStart\": 1795827700.0, \"catStart\": null, "      \
	"\"relativeStart\": 1795827790.0, \"transferStart\": 1795827805.0, \"validateStart\": " \
	"1795827865.0, \"timeEnd\": 1795827873.5, \"scope\": \"data26\", \"filename\": "        \
	"\"EVNT.2\", \"filesize\": 1000, \"uuid\": \"77\", \"ip\": \"2001:db8::7\", \"url\": "  \
	"\"root://u@se1.example:1094//data26/ab/cd/EVNT.2\"}"

static void
test_client(void)
{
	CHECK_INT(take(DOWNLOAD), NW_OK);
	CHECK_INT(got.transfers, 1);
	CHECK_INT(last.form, NW_ANNOUNCE_RUCIO);
	CHECK_STR(last.src, "SITE_DISK");
	CHECK_STR(last.dst, "192.0.2.9");
	CHECK_STR(last.file, "AOD.1.root");
	CHECK_STR(last.user, "jdoe");
	CHECK_NEAR((double)last.start_wall_ns, 1795827805.25e9, 0, 1000);
	CHECK_NEAR((double)last.t_wall_ns, 1795827865.75e9, 0, 1000);
	CHECK_NEAR(last.value[NW_ANNOUNCED_bytes_out], 5e9, 0, 0);
	CHECK_NEAR(last.value[NW_ANNOUNCED_elapsed_s], 60.5, 0, 1e-6);
	CHECK(isnan(last.value[NW_ANNOUNCED_prepare_s]));
	CHECK(isnan(last.value[NW_ANNOUNCED_target_check_s]));
}

static void
test_pilot(void)
{
	CHECK_INT(take(PILOT), NW_OK);
	CHECK_INT(got.transfers, 1);
	CHECK_STR(last.src, "se1.example");
	CHECK_STR(last.dst, "2001:db8::7");
	CHECK_NEAR(last.value[NW_ANNOUNCED_elapsed_s], 60, 0, 1e-6);
	CHECK_NEAR(last.value[NW_ANNOUNCED_prepare_s], 15, 0, 1e-6);
	CHECK_NEAR(last.value[NW_ANNOUNCED_target_check_s], 8.5, 0, 1e-6);
}

static void
test_list(void)
{
	static char many[200 * 65];
	size_t n = 1, i;

	CHECK_INT(take(" [" DOWNLOAD " , " PILOT "]\n"), NW_OK);
	CHECK_INT(got.traces, 2);
	CHECK_INT(got.transfers, 2);
	CHECK_STR(last.file, "EVNT.2");
	many[0] = '[';
	for (i = 0; i < 65; i++)
		n += (size_t)sprintf(many + n, "%s{\"eventType\":\"touch ]}\"}", i > 0 ? "," : "");
	strcpy(many + n, "]");
	CHECK_INT(take(many), NW_ETOOBIG);
	CHECK_INT(got.traces, NW_RUCIO_TRACES_MAX);
	CHECK_INT(got.transfers, 0);
}

static void
test_refused(void)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		/* no transfer that is done: no fault */
		{ "{\"eventType\": \"download\", \"clientState\": \"FAILED\", "
		  "\"transferStart\": 5, \"transferEnd\": 6, \"filename\": \"x\", "
		  "\"remoteSite\": \"y\"}",
		    NW_OK },
		{ "{\"eventType\": \"touch\", \"clientState\": \"DONE\"}", NW_OK },
		{ "{\"eventType\": \"upload\", \"clientState\": \"DONE\", \"transferStart\": 5, "
		  "\"filename\": \"x\", \"remoteSite\": \"y\"}",
		    NW_OK },
		{ "{\"eventType\": \"upload\", \"clientState\": \"DONE\", \"transferStart\": 5, "
		  "\"transferEnd\": 4, \"filename\": \"x\", \"remoteSite\": \"y\"}",
		    NW_OK },
		{ "{\"eventType\": \"upload\", \"clientState\": \"DONE\", \"transferStart\": 5, "
		  "\"transferEnd\": 1e300, \"filename\": \"x\", \"remoteSite\": \"y\"}",
		    NW_OK },
		/* no trace */
		{ "", NW_EPROTO },
		{ "{}", NW_EPROTO },
		{ "[]", NW_EPROTO },
		{ "[" PILOT, NW_EPROTO },
		{ "[" PILOT ",]", NW_EPROTO },
		{ "[" PILOT "]]", NW_EPROTO },
		{ PILOT PILOT, NW_EPROTO },
		{ "[5]", NW_EPROTO },
		{ "[\"", NW_EPROTO },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		last.form = NW_ANNOUNCE_LOG;
		CHECK_INT(take(cases[i].text), cases[i].rc);
		CHECK(cases[i].rc < 0 || got.transfers == 0);
		CHECK(cases[i].rc < 0 || last.form == NW_ANNOUNCE_LOG);
	}
}

/* --- files of flows --- */

static void
test_files(void)
{
	static const int64_t s = INT64_C(1000000000);
	static const struct {
		const char *file, *dst;
		int64_t later_s; /* begin of the flow, behind that of the transfer of 60.5 s */
		bool is;
	} cases[] = {
		{ "/data26/ab/cd/AOD.1.root", "192.0.2.9", 1, true },
		{ "AOD.1.root", "192.0.2.9", -50, true },
		{ "AOD.1.root", "192.0.2.9", -70, false },
		{ "AOD.1.root", "192.0.2.9", 64, true },
		{ "AOD.1.root", "192.0.2.9", 70, false },
		{ "/AOD.1.root.2", "192.0.2.9", 1, false },
		{ "/x/", "192.0.2.9", 1, false },
		{ "/x/AOD.1.root", "192.0.2.8", 1, false },
		{ "/x/AOD.1.root", "wn1.example", 1, true },
	};
	struct nw_announcement trace, flow;
	struct nw_wholes *w = nw_wholes_new();
	const char *group;
	size_t i;

	CHECK_INT(take(DOWNLOAD), NW_OK);
	trace = last;
	nw_wholes_put(w, &trace);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		nw_announcement_init(&flow);
		flow.form = NW_ANNOUNCE_XROOTD;
		strcpy(flow.src, "192.0.2.1");
		strcpy(flow.dst, cases[i].dst);
		strcpy(flow.file, cases[i].file);
		flow.start_wall_ns = trace.start_wall_ns + cases[i].later_s * s;
		group = nw_wholes_find(w, &flow);
		CHECK_INT(group != NULL, cases[i].is);
		CHECK(group == NULL || strcmp(group, trace.group) == 0);
	}
	/* transfers of the same program are different ones, and two that fit decide nothing */
	strcpy(flow.dst, "192.0.2.9");
	flow.form = NW_ANNOUNCE_RUCIO;
	CHECK(nw_wholes_find(w, &flow) == NULL);
	flow.form = NW_ANNOUNCE_LOG;
	CHECK(nw_wholes_find(w, &flow) != NULL);
	strcpy(trace.group, "another");
	nw_wholes_put(w, &trace);
	CHECK(nw_wholes_find(w, &flow) == NULL);
	/* the newest are kept */
	strcpy(trace.file, "other");
	for (i = 0; i < NW_WHOLES_MAX - 1; i++)
		nw_wholes_put(w, &trace);
	group = nw_wholes_find(w, &flow);
	CHECK(group != NULL && strcmp(group, "another") == 0);
	/* two accounts of one transfer are no contradiction */
	trace.form = NW_ANNOUNCE_FTS;
	strcpy(trace.file, "of both");
	strcpy(flow.file, "of both");
	nw_wholes_put(w, &trace);
	trace.form = NW_ANNOUNCE_RUCIO;
	nw_wholes_put(w, &trace);
	group = nw_wholes_find(w, &flow);
	CHECK(group != NULL && strcmp(group, "another") == 0);
	strcpy(trace.group, "yet another");
	nw_wholes_put(w, &trace);
	CHECK(nw_wholes_find(w, &flow) == NULL);
	nw_wholes_free(w);
}

int
main(void)
{
	test_client();
	test_pilot();
	test_list();
	test_refused();
	test_files();
	return check_done("rucio");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a partner's bytes is believed: signatures, connections, documents. */
#include <stdlib.h>
#include <string.h>

#include <bson.h>

#include "cli/partner/partner.h"
#include "narrows/cert.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "tests/check.h"

#define T0 INT64_C(1700000000000000000)

static struct nw_cert cert, other;

/* --- windows --- */

static void
test_windows(void)
{
	static const char docs[] = "documents\nof a partner";
	char why[PARTNER_WHY_BYTES], *bytes, *copy;
	struct windows w;
	size_t len, i;

	bytes = windows_seal(
	    json_pack("{s:s}", "site", "b"), docs, sizeof(docs), cert.key_pem, &len, why);
	CHECK(bytes != NULL);
	CHECK_INT(windows_open(bytes, len, cert.cert_pem, &w, why), NW_OK);
	CHECK(w.docs_len == sizeof(docs) && memcmp(w.docs, docs, sizeof(docs)) == 0);
	CHECK_STR(json_string_value(json_object_get(w.head, "site")), "b");
	windows_close(&w);
	CHECK_INT(windows_open(bytes, len, other.cert_pem, &w, why), NW_EPROTO);
	copy = malloc(len);
	for (i = 0; i < len; i++) {
		memcpy(copy, bytes, len);
		copy[i] ^= 1;
		CHECK_INT(windows_open(copy, len, cert.cert_pem, &w, why), NW_EPROTO);
		CHECK_INT(windows_open(bytes, i, cert.cert_pem, &w, why), NW_EPROTO);
	}
	free(copy);
	free(bytes);
}

/* --- connections --- */

static void
test_ends(void)
{
	static const struct {
		const char *json;
		int rc;
	} cases[] = {
		{ "[[\"192.0.2.1\", 1, \"::ffff:192.0.2.2\", 65535]]", NW_OK },
		{ "[[\"192.0.2.1\", 0, \"192.0.2.2\", 5]]", NW_EPROTO },
		{ "[[\"192.0.2.1\", 65536, \"192.0.2.2\", 5]]", NW_EPROTO },
		{ "[[\"192.0.2.1' OR 1\", 4, \"192.0.2.2\", 5]]", NW_EPROTO },
		{ "[[\"host.example\", 4, \"192.0.2.2\", 5]]", NW_EPROTO },
		{ "[[\"192.0.2.1\", 4, \"192.0.2.2\"]]", NW_EPROTO },
		{ "[]", NW_EPROTO },
		{ "{}", NW_EPROTO },
	};
	struct partner_end ends[PARTNER_ENDS_MAX], turned;
	json_t *list;
	size_t i, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		list = json_loads(cases[i].json, 0, NULL);
		CHECK_INT(ends_read(list, ends, &n), cases[i].rc);
		if (cases[i].rc == NW_OK) {
			CHECK_STR(ends[0].dst, "192.0.2.2");
			turned = end_turned(&ends[0]);
			CHECK(turned.sport == 65535 && strcmp(turned.dst, "192.0.2.1") == 0);
			CHECK(end_in(ends, n, &ends[0]) && !end_in(ends, n, &turned));
		}
		json_decref(list);
	}
	list = json_array();
	for (i = 0; i <= PARTNER_ENDS_MAX; i++)
		json_array_append_new(
		    list, json_loads("[\"192.0.2.1\", 1, \"192.0.2.2\", 2]", 0, NULL));
	CHECK_INT(ends_read(list, ends, &n), NW_EPROTO);
	json_decref(list);
}

/* --- documents --- */

struct made {
	char bytes[16384];
	size_t len;
};

static void
make(struct made *m, bson_t *doc)
{
	memcpy(m->bytes + m->len, bson_get_data(doc), doc->len);
	m->len += doc->len;
	bson_destroy(doc);
}

static void
make_sender(struct made *m, const char *host)
{
	make(m, BCON_NEW("sender", "1", "host", host, "task_id", "task-of-theirs"));
}

static void
make_meta(
    struct made *m, const char *id, const char *type, const char *task, const char *src, int sport)
{
	bson_t *doc = bson_new(), subject;

	bson_append_utf8(doc, "id", -1, id, -1);
	bson_append_utf8(doc, "event_type", -1, type, -1);
	bson_append_document_begin(doc, "subject", -1, &subject);
	if (task != NULL)
		bson_append_utf8(&subject, "task_id", -1, task, -1);
	if (src != NULL) {
		bson_append_utf8(&subject, "src", -1, src, -1);
		bson_append_utf8(&subject, "dst", -1, "192.0.2.1", -1);
		bson_append_int32(&subject, "sport", -1, sport);
		bson_append_int32(&subject, "dport", -1, 4000);
	}
	bson_append_document_end(doc, &subject);
	make(m, doc);
}

static void
make_row(struct made *m, const char *id, int64_t t_wall_ns)
{
	bson_t *doc = bson_new(), row;

	bson_append_utf8(doc, "mid", -1, id, -1);
	bson_append_document_begin(doc, "data", -1, &row);
	bson_append_int64(&row, "ts_ns", -1, t_wall_ns);
	bson_append_double(&row, "ts", -1, (double)t_wall_ns / 1e9);
	bson_append_double(&row, "bytes", -1, 5);
	bson_append_document_end(doc, &row);
	make(m, doc);
}

static bool
has(const struct clean *c, const char *text)
{
	return c->out != NULL && memmem(c->out, c->out_len, text, strlen(text)) != NULL;
}

static const struct partner_end end = { "192.0.2.9", "192.0.2.1", 5000, 4000 };

static struct clean
cleaned(const struct made *m, int want, double boxes_bound_s)
{
	struct clean c = { .site = "b",
		.task = "order:7",
		.ends = &end,
		.n_ends = 1,
		.from_wall_ns = T0,
		.to_wall_ns = T0 + 1000000000,
		.boxes_bound_s = boxes_bound_s };
	const char *why = NULL;

	CHECK_INT(clean_take(&c, m->bytes, m->len, &why), want);
	return c;
}

static void
test_clean(void)
{
	struct made m = { .len = 0 };
	struct clean c;

	make_sender(&m, "dtn2");
	make_meta(&m, "net", "nw:connection", "task-of-theirs", "192.0.2.9", 5000);
	make_row(&m, "net", T0 + 5);
	make_meta(&m, "foreign", "nw:connection", "task-of-theirs", "192.0.2.9", 5001);
	make_row(&m, "foreign", T0 + 5);
	make_meta(&m, "elsewhere", "nw:connection", "task-of-theirs", "192.0.2.7", 5000);
	make_meta(&m, "setting", "ps:host:config", NULL, NULL, 0);
	make_meta(&m, "agent", NW_TYPE_COLLECTOR, NULL, NULL, 0);
	make_meta(&m, "said", "nw:announced", "task-of-theirs", NULL, 0);
	make_meta(&m, "cpu", "ps:tools:blipp:linux:cpu:utilization", NULL, NULL, 0);
	make_row(&m, "cpu", T0 + 6);
	make_row(&m, "net", T0 - INT64_C(61000000000));
	make_row(&m, "net", T0 + INT64_C(62000000000));
	make_row(&m, "never", T0);
	make_sender(&m, "dtn1@a");
	make_meta(&m, "forged", "nw:process", "task-of-theirs", NULL, 0);
	c = cleaned(&m, NW_OK, 0);
	CHECK(has(&c, "dtn2@b") && has(&c, "order:7") && has(&c, "nw:connection"));
	CHECK(!has(&c, "task-of-theirs") && has(&c, "partner"));
	CHECK(has(&c, "cpu:utilization"));
	CHECK(!has(&c, "foreign") && !has(&c, "elsewhere") && !has(&c, "setting") &&
	    !has(&c, "agent"));
	CHECK(!has(&c, "said") && !has(&c, "never") && !has(&c, "forged") && !has(&c, "dtn1"));
	CHECK_STR(c.hosts, "dtn2@b");
	CHECK_INT(c.n_series, 2);
	CHECK_INT(c.n_values, 2);
	CHECK_INT(c.n_left_out, 5);
	CHECK(!has(&c, NW_TYPE_BOXES));
	clean_clear(&c);
	c = cleaned(&m, NW_OK, 0.25);
	CHECK(has(&c, NW_TYPE_BOXES) && has(&c, "bound_s"));
	CHECK_INT(c.n_series, 2);
	clean_clear(&c);

	m.len -= 3;
	c = cleaned(&m, NW_EPROTO, 0);
	clean_clear(&c);
}

static void
test_own(void)
{
	struct made m = { .len = 0 };
	size_t len, want;
	char *own;

	make_sender(&m, "dtn1");
	make_row(&m, "mine", T0);
	want = m.len;
	make_sender(&m, "dtn2@b");
	make_row(&m, "theirs", T0);
	own = clean_own(m.bytes, m.len, &len);
	CHECK(own != NULL && len == want && memcmp(own, m.bytes, len) == 0);
	free(own);
}

int
main(void)
{
	const struct nw_cert_opts o = {
		.use = NW_CERT_BOTH, .name = "b", .from_wall_s = 1700000000, .to_wall_s = 1800000000
	};

	CHECK_INT(nw_cert_make(&o, NULL, &cert), NW_OK);
	CHECK_INT(nw_cert_make(&o, NULL, &other), NW_OK);
	test_windows();
	test_ends();
	test_clean();
	test_own();
	return check_done("partner");
}

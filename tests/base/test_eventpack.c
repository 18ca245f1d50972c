/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/event.h"

#include "narrows/err.h"
#include "tests/check.h"

static struct nw_attr
integer(const char *key, int64_t i)
{
	return (struct nw_attr){ key, NW_ATTR_INT, nw_event_key_is_id(key), { .i = i } };
}

static void
test_keys(void)
{
	static const struct {
		const char *key;
		bool is_id;
	} cases[] = { { "id", true }, { "ID", true }, { "guid", true }, { "p.id", true },
		{ "block_id", true }, { "job.guid", true }, { "TASKID", true }, { "task_id", true },
		{ "grid", false }, { "idle", false }, { "VAL", false }, { ".id", false },
		{ "", false } };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(nw_event_key_is_id(cases[i].key), cases[i].is_id);
}

static void
test_round_trip(void)
{
	struct nw_attr attrs[4] = { integer("p.id", INT64_MIN), integer("n", INT64_MAX),
		{ "x", NW_ATTR_REAL, false, { .d = -0.125 } },
		{ "msg", NW_ATTR_TEXT, false, { .text = "a \"b\" \xc3\xa4" } } };
	struct nw_event e = { .t_wall_ns = 20,
		.host = "h1",
		.name = "io.end",
		.level = "Info",
		.n_attrs = 4,
		.attrs = attrs };
	struct nw_event f = { .t_wall_ns = INT64_MIN, .program = "", .name = "first" }, got;
	struct nw_events *b = nw_events_new(NW_EVENT_SENT_BYTES);
	struct nw_event_block *r = nw_event_block_new();
	const uint8_t *bytes;
	const char *why;
	size_t len;

	CHECK_INT(nw_events_finish(b, &bytes, &len), NW_EINVAL);
	CHECK_INT(nw_events_add(b, &e), NW_OK);
	CHECK_INT(nw_events_add(b, &f), NW_OK);
	e.t_wall_ns = INT64_MAX;
	attrs[0].v.i = 7;
	CHECK_INT(nw_events_add(b, &e), NW_OK);
	CHECK_INT(nw_events_finish(b, &bytes, &len), NW_OK);
	CHECK(len <= nw_events_bytes(b));
	CHECK_INT(nw_event_block_read(r, bytes, len, &why), NW_OK);
	CHECK_INT(nw_event_block_count(r), 3);
	nw_event_block_get(r, 0, &got);
	CHECK(got.t_wall_ns == INT64_MIN && got.host == NULL && got.n_attrs == 0);
	CHECK_STR(got.program, "");
	nw_event_block_get(r, 1, &got);
	CHECK_STR(got.host, "h1");
	CHECK_STR(got.level, "Info");
	CHECK(got.attrs[0].is_id && got.attrs[0].v.i == INT64_MIN && got.attrs[1].v.i == INT64_MAX);
	CHECK(got.attrs[2].v.d == -0.125);
	CHECK_STR(got.attrs[3].v.text, "a \"b\" \xc3\xa4");
	nw_event_block_get(r, 2, &got);
	CHECK(got.t_wall_ns == INT64_MAX && got.attrs[0].v.i == 7);
	nw_event_block_free(r);
	nw_events_free(b);
}

/* Many blocks through one builder: no block is larger than it may be, and every event comes back in
 * order. */
static void
test_many(void)
{
	struct nw_events *b = nw_events_new(NW_EVENT_SENT_BYTES);
	struct nw_event_block *r = nw_event_block_new();
	struct nw_attr attrs[2] = { integer("block.id", 0), integer("bytes", 65536) };
	struct nw_event e = { .host = "h", .n_attrs = 2, .attrs = attrs }, got;
	const uint8_t *bytes;
	size_t i, k, n, len, n_blocks = 0, n_back = 0;
	const char *why;
	char name[16];
	int rc;

	for (i = 0; i <= 40000; i++) {
		snprintf(name, sizeof(name), "e%zu", i % 1000);
		e.name = name;
		e.t_wall_ns = (int64_t)(i ^ 7);
		attrs[0].v.i = (int64_t)i;
		if (i < 40000 && (rc = nw_events_add(b, &e)) == NW_OK)
			continue;
		CHECK_INT(nw_events_finish(b, &bytes, &len), NW_OK);
		CHECK(len <= NW_EVENT_SENT_BYTES);
		CHECK_INT(nw_event_block_read(r, bytes, len, &why), NW_OK);
		n = nw_event_block_count(r);
		for (k = 0; k < n; k++) {
			nw_event_block_get(r, k, &got);
			check_failed += got.attrs[0].v.i != (got.t_wall_ns ^ 7) ||
			    (k > 0 && got.t_wall_ns < nw_event_block_time(r, k - 1)) ||
			    atol(got.name + 1) != got.attrs[0].v.i % 1000;
		}
		n_back += n;
		n_blocks++;
		nw_events_clear(b);
		if (i < 40000)
			CHECK_INT(nw_events_add(b, &e), NW_OK);
	}
	CHECK_INT(n_back, 40000);
	CHECK(n_blocks > 5);
	nw_event_block_free(r);
	nw_events_free(b);
}

static void
test_refused(void)
{
	struct nw_events *b = nw_events_new(NW_EVENT_SENT_BYTES);
	char *text = malloc(NW_EVENT_TEXT_MAX_BYTES + 1);
	struct nw_attr attrs[NW_EVENT_ATTRS_MAX + 1] = { { "msg", NW_ATTR_TEXT, false,
	    { .text = text } } };
	struct nw_event e = { .name = "e", .n_attrs = 1, .attrs = attrs };

	memset(text, 'x', NW_EVENT_TEXT_MAX_BYTES);
	text[NW_EVENT_TEXT_MAX_BYTES] = '\0';
	CHECK_INT(nw_events_add(b, &e), NW_EINVAL);
	text[NW_EVENT_TEXT_MAX_BYTES - 1] = '\0';
	CHECK_INT(nw_events_add(b, &e), NW_OK);
	text[0] = 'y';
	CHECK_INT(nw_events_add(b, &e), NW_ETOOBIG);
	e.n_attrs = NW_EVENT_ATTRS_MAX + 1;
	CHECK_INT(nw_events_add(b, &e), NW_EINVAL);
	e = (struct nw_event){ .name = "" };
	CHECK_INT(nw_events_add(b, &e), NW_EINVAL);
	CHECK_INT(nw_events_count(b), 1);
	free(text);
	nw_events_free(b);
}

/* Every byte of a block changed in every bit, and every length: no crash, and never more events. */
static void
test_damaged(void)
{
	struct nw_attr attrs[2] = { integer("id", 5),
		{ "t", NW_ATTR_TEXT, false, { .text = "text" } } };
	struct nw_event e = { .name = "e", .host = "h", .n_attrs = 2, .attrs = attrs }, got;
	struct nw_events *b = nw_events_new(NW_EVENT_SENT_BYTES);
	struct nw_event_block *r = nw_event_block_new();
	const uint8_t *bytes;
	uint8_t copy[256];
	const char *why;
	size_t len, i, bit;

	for (i = 0; i < 5; i++, e.t_wall_ns += 1000)
		nw_events_add(b, &e);
	CHECK_INT(nw_events_finish(b, &bytes, &len), NW_OK);
	CHECK(len < sizeof(copy));
	for (i = 0; i < len; i++) {
		CHECK_INT(nw_event_block_read(r, bytes, i, &why), NW_EPROTO);
		for (bit = 0; bit < 8; bit++) {
			memcpy(copy, bytes, len);
			copy[i] ^= (uint8_t)(1 << bit);
			if (nw_event_block_read(r, copy, len, &why) == NW_OK) {
				CHECK_INT(nw_event_block_count(r), 5);
				nw_event_block_get(r, 4, &got);
			}
		}
	}
	memcpy(copy, bytes, len);
	copy[len] = 0;
	CHECK_INT(nw_event_block_read(r, copy, len + 1, &why), NW_EPROTO);
	nw_event_block_free(r);
	nw_events_free(b);
}

int
main(void)
{
	test_keys();
	test_round_trip();
	test_many();
	test_refused();
	test_damaged();
	return check_done("eventpack");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between the collector's processes: whole through a socket, and harmless when a
 * reader that a program has taken over sends anything else.
 */
#include "host/nwrun/collect/collect_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lib/caliper_doc.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "tests/check.h"

#define SECOND_NS INT64_C(1000000000)

static unsigned metas, datas, ends;
static double sum;
static char texts[4096];

static int
on_meta(void *arg, const char *id, const char *pid, const char *event_type,
    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params, size_t n_params)
{
	size_t i;

	(void)arg;
	metas++;
	snprintf(texts, sizeof(texts), "%s %s %s", id, pid != NULL ? pid : "-", event_type);
	for (i = 0; i < n_subject; i++)
		if (subject[i].type == NW_KV_TEXT && subject[i].v.text != NULL)
			sum += (double)strlen(subject[i].v.text) + (double)strlen(subject[i].key);
	for (i = 0; i < n_params; i++)
		sum += params[i].type == NW_KV_REAL ? params[i].v.d : 0;
	return NW_OK;
}

static int
on_data(void *arg, const char *mid, int64_t t_wall_ns, const char *const *fields,
    const double *values, size_t n_fields, const uint8_t *hist, size_t hist_len)
{
	size_t i;

	(void)arg;
	(void)t_wall_ns;
	datas++;
	sum += (double)strlen(mid);
	for (i = 0; i < n_fields; i++)
		sum += values[i] + (double)strlen(fields[i]);
	for (i = 0; i < hist_len; i++)
		sum += hist[i];
	return NW_OK;
}

static void
on_end(void *arg, const char *mid)
{
	(void)arg;
	ends++;
	sum += (double)strlen(mid);
}

static const struct collect_sink sink = { .meta = on_meta, .data = on_data, .end = on_end };

static void
open_pair(struct wire *a, struct wire *b)
{
	int fds[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	*a = (struct wire){ .fd = fds[0] };
	*b = (struct wire){ .fd = fds[1] };
}

static void
test_round_trip(void)
{
	const struct nw_kv subject[] = {
		{ "stage", NW_KV_TEXT, { .text = "disk.read" } },
		{ "argv", NW_KV_TEXT, { .text = NULL } },
		{ "pid", NW_KV_INT, { .i = 7 } },
	};
	const struct nw_kv params[] = { { "interval", NW_KV_REAL, { .d = 0.5 } } };
	static uint64_t hist[NW_HIST_BUCKETS] = { [5] = 3 };
	const struct nw_caliper_window w = { .n = 3, .v.sum = 12, .hist = hist };
	struct wire_message m;
	struct collect_sink out;
	struct wire a, b;

	open_pair(&a, &b);
	wire_sink_init(&out, &a);
	CHECK_INT(out.meta(out.arg, "id", NULL, "type", subject, 3, params, 1), NW_OK);
	CHECK_INT(out.caliper(out.arg, "mid", 5, &w), NW_OK);
	out.end(out.arg, "mid");
	CHECK_INT(wire_flush(&a, nw_mono_ns() + SECOND_NS), NW_OK);
	while (ends == 0 && wire_read(&b, nw_mono_ns() + SECOND_NS, &m) == NW_OK)
		CHECK_INT(wire_dispatch(&m, &sink), NW_OK);
	CHECK_STR(texts, "id - type");
	CHECK(metas == 1 && datas == 1 && ends == 1);
	CHECK(wire_read(&b, nw_mono_ns(), &m) == NW_EAGAIN);
	wire_clear(&a);
	CHECK(wire_read(&b, nw_mono_ns() + SECOND_NS, &m) == NW_ECLOSED);
	wire_clear(&b);
}

static void
test_too_long(void)
{
	static const uint8_t head[] = { 0xff, 0xff, 0xff, 0x7f, WIRE_DATA };
	struct wire_message m;
	struct wire a, b;

	open_pair(&a, &b);
	CHECK(write(a.fd, head, sizeof(head)) == sizeof(head));
	CHECK_INT(wire_read(&b, nw_mono_ns() + SECOND_NS, &m), NW_EPROTO);
	wire_clear(&a);
	wire_clear(&b);
}

/* Good messages with bytes changed, cut short, or of chance. */
static void
test_hostile(void)
{
	const struct nw_kv kv[] = { { "key", NW_KV_TEXT, { .text = "value" } },
		{ "n", NW_KV_INT, { .i = 1 } } };
	const char *const fields[] = { "one", "two" };
	const double values[] = { 1, 2 };
	uint8_t bytes[1024], changed[1024];
	struct wire w = { .fd = -1 };
	struct collect_sink out;
	struct wire_message m;
	unsigned i, k, good = 0;
	size_t len;

	wire_sink_init(&out, &w);
	srandom(17);
	for (i = 0; i < 200000; i++) {
		w.out_len = 0;
		if (i % 2 == 0)
			out.meta(out.arg, "id", "pid", "type", kv, 2, kv, 2);
		else
			out.data(out.arg, "mid", 1, fields, values, 2, (const uint8_t *)"abc", 3);
		len = w.out_len - 5;
		memcpy(bytes, w.out + 5, len);
		m.type = i % 2 == 0 ? WIRE_META : WIRE_DATA;
		memcpy(changed, bytes, len);
		for (k = 0; k < 1 + (unsigned)random() % 3; k++)
			changed[(size_t)random() % len] = (uint8_t)random();
		m.len = (size_t)random() % 4 == 0 ? (size_t)random() % len : len;
		m.body = memcpy(malloc(m.len + 1), changed, m.len); /* bounds, for the sanitizer */
		good += wire_dispatch(&m, &sink) == NW_OK;
		free((void *)(uintptr_t)m.body);
	}
	CHECK(good > 1000 && good < 190000);
	wire_clear(&w);
}

int
main(void)
{
	test_round_trip();
	test_too_long();
	test_hostile();
	return check_done("wire");
}

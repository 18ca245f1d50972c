/* SPDX-License-Identifier: BSD-3-Clause */
/* XSP sessions without connection: a test plays the wire and hears what the session sends. */
#ifndef WIRED_H
#define WIRED_H

#include "daemon/xsess.h"
#include "tests/daemon/boxed.h"

struct wired {
	struct xsess *x;
	struct xsess_wire wire;
	int64_t stored; /* of the last HELLO answer or STORED, -1 before */
	unsigned hellos, stored_count;
	const char *failed; /* reason for which the session ended its connection, or NULL */
};

static inline void
wired_on_send(void *arg, uint16_t opt, const uint8_t *data, size_t len)
{
	struct wired *w = arg;
	struct nw_kv kv[16];
	const char *why;
	size_t n = 0, i;

	CHECK_INT(nw_kv_decode(data, len, kv, 16, &n, &why), NW_OK);
	w->hellos += opt == NW_OPT_HELLO;
	w->stored_count += opt == NW_OPT_STORED;
	for (i = 0; i < n; i++)
		if (kv[i].type == NW_KV_INT && strcmp(kv[i].key, "stored") == 0)
			w->stored = kv[i].v.i;
}

static inline void
wired_on_fail(void *arg, int code, const char *why)
{
	struct wired *w = arg;

	CHECK(code < 0);
	w->failed = why;
}

/* certified_name NULL: a peer in clear. */
static inline void
wired_open(struct wired *w, const char *address, const char *certified_name)
{
	static uint8_t sess_id[16];

	*w = (struct wired){ .stored = -1,
		.wire = { .name = address,
		    .address = address,
		    .certified_name = certified_name,
		    .owner = certified_name != NULL ? certified_name : address,
		    .send = wired_on_send,
		    .fail = wired_on_fail,
		    .arg = w } };
	sess_id[0]++;
	w->x = xsess_open(&box, &w->wire, sess_id);
}

static inline void
wired_close(struct wired *w)
{
	xsess_close(w->x, "closed by the test");
	w->x = NULL;
}

/* Text may be NULL: left out. */
static inline int
wired_hello(struct wired *w, const char *provider, int64_t first_seq, int64_t lost,
    const char *task_id, const char *host)
{
	struct nw_kv kv[] = { { "provider", NW_KV_TEXT, { .text = provider } },
		{ "first_seq", NW_KV_INT, { .i = first_seq } },
		{ "lost", NW_KV_INT, { .i = lost } },
		{ "task_id", NW_KV_TEXT, { .text = task_id } },
		{ "host", NW_KV_TEXT, { .text = host } } };
	struct nw_doc_buf doc = { 0 };
	const char *why = NULL;
	int rc;

	CHECK_INT(nw_kv_encode(&doc, kv, sizeof(kv) / sizeof(kv[0])), NW_OK);
	rc = xsess_block(w->x, NW_OPT_HELLO, doc.data, doc.len, &why);
	nw_doc_buf_clear(&doc);
	return rc;
}

static inline int
wired_meta(struct wired *w, const char *mid, const char *event_type, const char *task_id)
{
	struct nw_kv subject[] = { { "task_id", NW_KV_TEXT, { .text = task_id } } };
	struct nw_doc_buf doc = { 0 };
	const char *why = NULL;
	int rc;

	CHECK_INT(
	    nw_meta_encode(&doc, mid, NULL, event_type, subject, task_id != NULL, NULL, 0), NW_OK);
	rc = xsess_block(w->x, NW_OPT_META, doc.data, doc.len, &why);
	nw_doc_buf_clear(&doc);
	return rc;
}

static inline int
wired_data(struct wired *w, const char *mid, double value)
{
	static const char *const fields[] = { "bytes" };
	static int64_t t_wall_ns = INT64_C(1700000000000000000);
	struct nw_doc_buf doc = { 0 };
	const char *why = NULL;
	int rc;

	t_wall_ns += 1000000000;
	CHECK_INT(nw_data_encode(&doc, mid, t_wall_ns, fields, &value, 1, NULL, 0), NW_OK);
	rc = xsess_block(w->x, NW_OPT_DATA, doc.data, doc.len, &why);
	nw_doc_buf_clear(&doc);
	return rc;
}

/* Everything so far is on disk, and the providers know. */
static inline void
wired_store(void)
{
	commit_drain(box.commit);
}

#endif

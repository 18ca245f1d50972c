/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream of frames: whatever the bytes, the parser keeps its promises, and what it took apart can
 * be put together. */
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/frame.h"

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
check_contents(const struct nw_frame *f)
{
	char name[NW_AUTH_NAME_BYTES + 1];
	const uint8_t *token;
	const char *why = NULL;
	struct nw_open open;
	size_t n;

	if (nw_auth_parse(f, name, &why) == NW_OK)
		MUST(strlen(name) > 0);
	else
		MUST(why != NULL);
	if (nw_token_parse(f, &token, &n, &why) == NW_OK)
		MUST(token >= f->body && token + n <= f->body + f->body_len);
	if (nw_open_parse(f, &nw_frame_limits_default, &open, &why) == NW_OK)
		MUST(open.n_native <= open.n_hops &&
		    open.n_hops <= nw_frame_limits_default.hops_max);
}

/* The blocks lie inside the body, one behind the other; written again they parse to the same. */
static void
check_blocks(const struct nw_frame *f)
{
	static uint8_t copy[4 << 20];
	struct nw_block blocks[64], b, again;
	size_t cursor = 0, at = 0, need;
	const char *why;
	struct nw_frame g;
	unsigned n = 0;
	long len;

	while (nw_frame_next_block(f, &cursor, &b)) {
		MUST(n < f->n_blocks && n < 64);
		MUST(b.data >= f->body && b.data + b.len <= f->body + f->body_len);
		blocks[n++] = b;
	}
	MUST(n == f->n_blocks && cursor == f->body_len);
	len = nw_frame_write(
	    copy, sizeof(copy), f->version, f->type, f->sess_id, blocks, (uint16_t)n);
	MUST(len > 0 && (size_t)len <= f->len);
	MUST(nw_frame_parse(copy, (size_t)len, &nw_frame_limits_default, &g, &need, &why) == NW_OK);
	MUST(g.type == f->type && g.n_blocks == n && g.len == (size_t)len);
	MUST(memcmp(g.sess_id, f->sess_id, sizeof(g.sess_id)) == 0);
	for (cursor = 0; nw_frame_next_block(f, &cursor, &b);) {
		MUST(nw_frame_next_block(&g, &at, &again));
		MUST(again.type == b.type && again.len == b.len &&
		    memcmp(again.data, b.data, b.len) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nw_frame f;
	const char *why;
	size_t need;
	int rc;

	for (;;) {
		why = NULL;
		need = 0;
		rc = nw_frame_parse(data, len, &nw_frame_limits_default, &f, &need, &why);
		if (rc != NW_OK)
			break;
		MUST(f.len > 0 && f.len <= len);
		check_contents(&f);
		check_blocks(&f);
		if (f.len > nw_frame_limits_preauth.message_max_bytes)
			MUST(nw_frame_parse(data, len, &nw_frame_limits_preauth, &f, &need, &why) ==
			    NW_ETOOBIG);
		data += f.len;
		len -= f.len;
	}
	if (rc == NW_EAGAIN)
		MUST(need > len && need <= nw_frame_limits_default.message_max_bytes);
	else
		MUST(why != NULL);
	return 0;
}

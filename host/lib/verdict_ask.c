/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/verdict_ask.h"

#include <stdio.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/frame.h"
#include "narrows/provider.h"

enum { KEYS_MAX = 16 };
#define LOOK_NS INT64_C(50000000)

/* A text of the box must give no orders to the terminal. */
static void
text_take(char out[VERDICT_BYTES], const char *text)
{
	size_t i;

	for (i = 0; text[i] != '\0' && i + 1 < VERDICT_BYTES; i++)
		out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
	out[i] = '\0';
}

void
verdict_take(struct verdict *v, const uint8_t *doc, size_t len)
{
	struct nw_kv kv[KEYS_MAX];
	const char *why, *sentence;
	int64_t session;
	size_t n;

	if (!v->asked || nw_kv_decode(doc, len, kv, KEYS_MAX, &n, &why) < 0)
		return;
	if ((session = nw_kv_int(kv, n, "session", 0)) > 0)
		v->session = session;
	if ((sentence = nw_kv_text(kv, n, "sentence")) == NULL || v->session == 0)
		return;
	text_take(v->sentence, sentence);
	v->told = true;
}

/* NW_EAGAIN: not yet. */
static int
verdict_ask(struct verdict *v, struct nw_provider *p)
{
	struct nw_provider_stats st;
	struct nw_doc_buf doc = { 0 };
	int rc = NW_EAGAIN;

	nw_provider_get_stats(p, &st);
	if (st.connected && st.docs_sent >= st.docs_queued &&
	    (rc = nw_kv_encode(&doc, NULL, 0)) == NW_OK)
		rc = nw_provider_tell(p, NW_OPT_VERDICT, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
	v->asked = rc == NW_OK;
	return rc;
}

void
verdict_await(struct verdict *v, struct nw_provider *p, int64_t end_mono_ns)
{
	int64_t wait_ns;
	int rc;

	while (!v->told && (wait_ns = end_mono_ns - nw_mono_ns()) > 0) {
		if (!v->asked && (rc = verdict_ask(v, p)) < 0 && rc != NW_EAGAIN)
			return;
		if (nw_provider_run(p, wait_ns < LOOK_NS ? wait_ns : LOOK_NS) < 0)
			return;
	}
}

/* A terminal shows a prompt by now: the words begin on a line of their own. */
void
verdict_print(const struct verdict *v, int fd)
{
	const char *before = isatty(fd) ? "\n" : "";

	if (v->told)
		dprintf(fd, "%snwrun: %s (narrows report %lld)\n", before, v->sentence,
		    (long long)v->session);
	else if (v->session != 0)
		dprintf(fd, "%snwrun: not judged yet: narrows report %lld\n", before,
		    (long long)v->session);
	else
		dprintf(fd, "%snwrun: not judged yet: narrows report last\n", before);
}

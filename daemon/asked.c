/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/asked.h"

#include <string.h>

#include <event2/event.h>
#include <utlist.h>

#include "daemon/analysis/behaviour.h"
#include "daemon/box.h"
#include "daemon/session.h"
#include "daemon/xsess.h"
#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/frame.h"

enum { LOOK_US = 50000 };

static void
answer_send(struct xsess *x, const struct nw_kv *kv, size_t n)
{
	struct nw_doc_buf out = { 0 };

	if (nw_kv_encode(&out, kv, n) == NW_OK)
		x->wire.send(x->wire.arg, NW_OPT_VERDICT, out.data, out.len);
	nw_doc_buf_clear(&out);
}

int
asked_take(struct xsess *x, const char **why)
{
	const struct timeval soon = { 0, LOOK_US };
	struct nw_kv kv = { "session", NW_KV_INT, { .i = 0 } };
	struct session *s = x->session = session_now(x->session);

	if (!x->hello || s == NULL || !session_may_hear(s, x->task_id, x->wire.owner)) {
		*why = "a verdict is for senders of its session alone";
		return NW_EPROTO;
	}
	kv.v.i = s->id;
	answer_send(x, &kv, 1);
	if (x->asked)
		return NW_OK;
	x->asked = true;
	DL_APPEND2(x->box->asking, x, asked_prev, asked_next);
	xsess_leave(x);
	if (x->box->look != NULL)
		event_add(x->box->look, &soon);
	return NW_OK;
}

static void
verdict_send(struct xsess *x, const struct session_outcome *o)
{
	const struct nw_kv kv[] = {
		{ "session", NW_KV_INT, { .i = o->session_id } },
		{ "sentence", NW_KV_TEXT, { .text = o->sentence } },
		{ "confidence", NW_KV_TEXT, { .text = o->confidence } },
		{ "stage", NW_KV_TEXT, { .text = o->stage[0] != '\0' ? o->stage : NULL } },
	};

	answer_send(x, kv, sizeof(kv) / sizeof(kv[0]));
}

void
asked_judged(struct box *box, const struct session_outcome *o)
{
	struct xsess *x, *tmp;

	if (!o->is_final)
		return;
	DL_FOREACH_SAFE2(box->asking, x, tmp, asked_next)
	{
		x->session = session_now(x->session);
		/* the session may have opened again since the analysis */
		if (x->session->id != o->session_id || x->session->state != SESSION_CLOSED)
			continue;
		asked_forget(x);
		if (session_may_hear(x->session, x->task_id, x->wire.owner))
			verdict_send(x, o);
	}
}

void
asked_forget(struct xsess *x)
{
	if (x->asked)
		DL_DELETE2(x->box->asking, x, asked_prev, asked_next);
	x->asked = false;
}

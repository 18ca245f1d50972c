/* SPDX-License-Identifier: BSD-3-Clause */
/* A verdict on request: for senders of the session alone, of the whole session alone. */
#include "tests/daemon/wired.h"

#include "daemon/analysis/behaviour.h"
#include "daemon/asked.h"

#define SECRET "8a6e0804-2bd0-4672-b79d-d97027f9071a"

static struct heard {
	int64_t session; /* of the newest answer, 0 before */
	char sentence[BEHAVIOUR_SENTENCE_BYTES];
	unsigned answers;
} heard;

static void
on_send(void *arg, uint16_t opt, const uint8_t *data, size_t len)
{
	const char *why, *sentence;
	struct nw_kv kv[16];
	size_t n;

	wired_on_send(arg, opt, data, len);
	if (opt != NW_OPT_VERDICT)
		return;
	CHECK_INT(nw_kv_decode(data, len, kv, 16, &n, &why), NW_OK);
	heard.answers++;
	heard.session = nw_kv_int(kv, n, "session", 0);
	sentence = nw_kv_text(kv, n, "sentence");
	snprintf(heard.sentence, sizeof(heard.sentence), "%s", sentence != NULL ? sentence : "");
}

static void
sender_open(struct wired *w, const char *address, const char *task)
{
	wired_open(w, address, NULL);
	w->x->wire.send = on_send;
	CHECK_INT(wired_hello(w, address, 1, 0, task, address), NW_OK);
}

/* Returns whether the box answers, with the session's id. */
static bool
ask(struct wired *w)
{
	struct nw_doc_buf doc = { 0 };
	unsigned before;
	const char *why;

	heard = (struct heard){ 0 };
	before = heard.answers;
	CHECK_INT(nw_kv_encode(&doc, NULL, 0), NW_OK);
	CHECK_INT(xsess_block(w->x, NW_OPT_VERDICT, doc.data, doc.len, &why), NW_OK);
	nw_doc_buf_clear(&doc);
	return heard.answers > before && heard.session == w->x->session->id;
}

static void
judge(int64_t session_id, bool is_final, const char *sentence)
{
	struct session_outcome o = { .session_id = session_id, .is_final = is_final };

	snprintf(o.sentence, sizeof(o.sentence), "%s", sentence);
	asked_judged(&box, &o);
}

static void
test_whole(void)
{
	struct wired mine, far;
	int64_t id;

	sender_open(&mine, "192.0.2.1", SECRET);
	sender_open(&far, "192.0.2.2", SECRET);
	id = mine.x->session->id;
	CHECK(ask(&mine));
	CHECK_STR(heard.sentence, "");
	CHECK_INT(mine.x->session->live, 1); /* the other end still sends */
	judge(id, false, "interim");
	judge(id, true, "of a session that has opened again");
	judge(id + 1, true, "of another");
	CHECK_INT(heard.answers, 1);
	CHECK(ask(&far)); /* a secret task is proof */
	CHECK_INT(mine.x->session->live, 0);
	CHECK_INT(mine.x->session->state, SESSION_LINGERING);
	session_close_all(&box);
	heard = (struct heard){ 0 };
	judge(id, true, "whole");
	CHECK_INT(heard.answers, 2);
	CHECK_INT(heard.session, id);
	CHECK_STR(heard.sentence, "whole");
	judge(id, true, "once more");
	CHECK_INT(heard.answers, 2);
	/* the connections end after the session */
	wired_close(&mine);
	wired_close(&far);
	CHECK(box.asking == NULL);
}

static void
test_strangers(void)
{
	struct wired owner, guest, host;

	sender_open(&owner, "192.0.2.1", "nightly");
	sender_open(&guest, "192.0.2.9", "nightly");
	CHECK(guest.x->session == owner.x->session);
	CHECK(!ask(&guest));
	CHECK_INT(guest.x->rejected, 1);
	CHECK_INT(owner.x->session->live, 2);
	CHECK(ask(&owner));
	/* once both name each other, the guest belongs to the session */
	session_name_address(owner.x->session,
	    &(struct session_guest){ .owner = "192.0.2.1", .address = "192.0.2.1" }, "192.0.2.9");
	CHECK(!ask(&guest));
	session_name_address(owner.x->session,
	    &(struct session_guest){ .owner = "192.0.2.9", .address = "192.0.2.9" }, "192.0.2.1");
	CHECK(ask(&guest));
	/* after a restart the box has forgotten who was first */
	owner.x->session->restored = true;
	CHECK(!ask(&owner) && !ask(&guest));
	wired_close(&owner);
	wired_close(&guest);
	CHECK(box.asking == NULL);
	sender_open(&host, "192.0.2.3", NULL);
	CHECK(!ask(&host));
	wired_close(&host);
}

/* A provider that goes on after the question, and one that asks for ever. */
static void
test_restless(void)
{
	struct wired w;
	int i;

	sender_open(&w, "192.0.2.1", SECRET "0");
	CHECK(ask(&w));
	CHECK_INT(w.x->session->live, 0);
	CHECK_INT(wired_meta(&w, "m", "nw:x", SECRET "0"), NW_OK);
	CHECK_INT(wired_data(&w, "m", 1), NW_OK);
	CHECK_INT(w.x->session->live, 0);
	for (i = 0; i < 100; i++)
		ask(&w);
	CHECK(!ask(&w));
	CHECK(w.x->rejected > 80);
	wired_close(&w);
	CHECK(box.asking == NULL);
}

int
main(void)
{
	boxed_begin();
	test_whole();
	test_strangers();
	test_restless();
	boxed_end();
	return check_done("test_asked");
}

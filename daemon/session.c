/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "daemon/session.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/conf.h"
#include "narrows/provoked.h"
#include "narrows/task.h"
#include "narrows/address.h"
#include "narrows/hex.h"
#include "narrows/order.h"
#include "narrows/tls.h"
#include "narrows/catalog.h"
#include "narrows/clock.h"

enum { SENDERS_MAX = 64, NAMED_MAX = 64 }; /* senders of a session; addresses that each named */
enum { CLOSED_KEEP = 10000 }; /* remembered closed sessions, for XSP sessions that come late */
#define WITNESS_KEEP_NS   (60 * (int64_t)1000000000)
#define RESTORE_LINGER_NS (30 * (int64_t)1000000000)

static void
session_write(struct session *s)
{
	struct nw_session_rec rec = {
		.id = s->id,
		.task_id = s->label,
		.program = s->program,
		.opened_wall_ns = s->opened_wall_ns,
		.closed_wall_ns = s->state == SESSION_CLOSED ? s->closed_wall_ns : 0,
		.last_data_wall_ns = s->last_data_wall_ns,
	};

	while (nw_batch_session(commit_batch(s->box->commit), &rec) < 0)
		xmalloc_spend();
}

/* Changes the state, drawn in session.h; no other function does. */
static void
session_set_state(struct session *s, enum session_state next)
{
	if (s->state == next)
		return;
	if (next == SESSION_CLOSED)
		counter_sub(&s->box->counters.sessions_open, 1);
	else if (s->state == SESSION_CLOSED)
		counter_add(&s->box->counters.sessions_open, 1);
	s->state = next;
}

static void
session_close(struct session *s)
{
	event_del(s->linger);
	session_set_state(s, SESSION_CLOSED);
	s->closed_wall_ns = s->last_data_wall_ns ? s->last_data_wall_ns : nw_wall_ns();
	session_write(s);
	while (nw_batch_seal(commit_batch(s->box->commit), s->id) < 0)
		xmalloc_spend();
	commit_note_session(s->box->commit, s->id, session_get_owner(s), true);
	provoked_info(
	    &s->box->log_rate, session_get_owner(s), "session.close id=%lld", (long long)s->id);
}

static void
on_linger(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	session_close(arg);
}

static void
session_linger(struct session *s, int64_t linger_ns)
{
	struct timeval tv = { (time_t)(linger_ns / 1000000000),
		(suseconds_t)(linger_ns % 1000000000 / 1000) };

	session_set_state(s, SESSION_LINGERING);
	event_add(s->linger, &tv);
}

/* --- sessions by label --- */

static struct session *
label_find(struct box *box, const char *label)
{
	struct session *s;

	HASH_FIND_STR(box->sessions, label, s);
	return s;
}

/* The session becomes the newest of its label. */
static void
label_put(struct session *s)
{
	struct session *head = label_find(s->box, s->label);

	if (head != NULL)
		HASH_DEL(s->box->sessions, head);
	s->older = head;
	HASH_ADD_KEYPTR(hh, s->box->sessions, s->label, strlen(s->label), s);
	s->box->n_sessions++;
}

static void
label_drop(struct session *s)
{
	struct session *newer = label_find(s->box, s->label);

	s->box->n_sessions--;
	if (newer != s) {
		while (newer->older != s)
			newer = newer->older;
		newer->older = s->older;
		return;
	}
	HASH_DEL(s->box->sessions, s);
	if (s->older != NULL)
		HASH_ADD_KEYPTR(
		    hh, s->box->sessions, s->older->label, strlen(s->older->label), s->older);
}

static struct session *
session_new(struct box *box, int64_t id, const char *label)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->box = box;
	s->id = id;
	s->label = xstrdup(label);
	s->state = SESSION_CLOSED;
	while ((s->linger = event_new(box->base, -1, 0, on_linger, s)) == NULL)
		xmalloc_spend();
	label_put(s);
	return s;
}

#define ALIAS_PREFIX "order:"
enum { ALIAS_HASH_BYTES = 16 };

struct alias_search {
	int64_t id;
	struct session *found;
};

static void
senders_free(struct session *s)
{
	struct session_sender *w;

	for (w = s->senders; w < s->senders + s->n_senders; w++) {
		free(w->owner);
		free(w->address);
		free(w->certified);
		while (w->n_named > 0)
			free(w->named[--w->n_named]);
		free(w->named);
	}
	free(s->senders);
}

static void
session_free(struct session *s)
{
	label_drop(s);
	event_free(s->linger);
	if (s->join != NULL)
		s->join_free(s->join);
	session_release(s->merged_into);
	senders_free(s);
	free(s->label);
	free(s->task_id);
	free(s->program);
	free(s);
}

/* --- admission of senders --- */

static struct session_sender *
sender_find(const struct session *s, const char *owner)
{
	struct session_sender *w;

	for (w = s->senders; w < s->senders + s->n_senders; w++)
		if (strcmp(w->owner, owner) == 0)
			return w;
	return NULL;
}

bool
session_guest_is(const struct session_guest *guest, const char *address)
{
	return (guest->address != NULL && strcmp(guest->address, address) == 0) ||
	    nw_order_word(guest->certified, address);
}

static struct session_guest
sender_guest(const struct session_sender *w)
{
	return (struct session_guest){
		.owner = w->owner, .address = w->address, .certified = w->certified
	};
}

static bool
sender_names(const struct session_sender *w, const struct session_guest *guest)
{
	size_t i;

	for (i = 0; i < w->n_named; i++)
		if (session_guest_is(guest, w->named[i]))
			return true;
	return false;
}

static bool
is_named(const struct session *s, const struct session_guest *guest)
{
	const struct session_sender *w;

	for (w = s->senders; w < s->senders + s->n_senders; w++)
		if (sender_names(w, guest))
			return true;
	return false;
}

/* The newest session in which the guest took part; else, of other senders, the newest that the
 * guest may open again; else the newest open session. No other sender can draw the guest out of the
 * guest's own session. */
static struct session *
session_pick(struct box *box, const char *task_id, const struct session_guest *guest)
{
	struct session *s, *now, *named = NULL, *open = NULL;
	bool secret = task_is_secret(task_id);
	char *label = task_label(task_id);

	for (s = label_find(box, label); s != NULL; s = s->older) {
		for (now = s; now->merged_into != NULL; now = now->merged_into)
			continue;
		if (secret || sender_find(now, guest->owner) != NULL)
			break;
		if (named == NULL && is_named(now, guest))
			named = now;
		if (open == NULL && now->state != SESSION_CLOSED)
			open = now;
	}
	free(label);
	return s != NULL ? now : named != NULL ? named : open;
}

/* Keeps the verdict of a closed session before another run replaces the verdict; frees why. */
static void
verdict_keep(struct session *s, char *why)
{
	while (nw_batch_keep_result(commit_batch(s->box->commit), s->id, nw_wall_ns(), why) < 0)
		xmalloc_spend();
	free(why);
}

/* Opens a new session, or a closed one again; then the verdict so far is kept. */
static void
session_open(struct session *s, const char *owner)
{
	session_set_state(s, SESSION_OPEN);
	session_write(s);
	if (s->closed_wall_ns == 0) {
		provoked_info(&s->box->log_rate, owner, "session.open id=%lld", (long long)s->id);
		return;
	}
	verdict_keep(s, xasprintf("%s added to the session after its end", owner));
	provoked_info(&s->box->log_rate, owner, "session.reopen id=%lld owner=\"%s\"",
	    (long long)s->id, owner);
}

struct session *
session_join(struct box *box, const char *task_id, const struct session_guest *guest)
{
	struct session *s = session_pick(box, task_id, guest);
	char *label;

	if (s == NULL) {
		label = task_label(task_id);
		s = session_new(box, box->next.session++, label);
		s->opened_wall_ns = nw_wall_ns();
		counter_add(&box->counters.sessions_total, 1);
		free(label);
	}
	if (s->task_id == NULL)
		s->task_id = xstrdup(task_id);
	if (s->state == SESSION_CLOSED)
		session_open(s, guest->owner);
	s->refs++;
	return s;
}

struct session *
session_find(struct box *box, const char *task_id, const struct session_guest *guest)
{
	struct session *s = session_pick(box, task_id, guest);

	if (s != NULL)
		s->refs++;
	return s;
}

void
session_alias(const struct session *s, const char *host, char out[SESSION_ALIAS_BYTES])
{
	uint8_t hash[NW_TLS_PIN_BYTES];
	char *text = xasprintf("%lld %s", (long long)s->id, host);
	size_t len = strlen(text), key = sizeof(s->box->alias_key);
	uint8_t *bytes = xmalloc(key + len);
	int n;

	memcpy(bytes, s->box->alias_key, key);
	memcpy(bytes + key, text, len);
	nw_tls_sha256(bytes, key + len, hash);
	n = snprintf(out, SESSION_ALIAS_BYTES, ALIAS_PREFIX "%lld:", (long long)s->id);
	nw_hex_put(out + n, hash, ALIAS_HASH_BYTES);
	free(bytes);
	free(text);
}

static void
on_alias(struct session *s, void *arg)
{
	struct alias_search *a = arg;

	if (s->id == a->id)
		a->found = s;
}

struct session *
session_of_alias(struct box *box, const char *alias, const char *host)
{
	struct alias_search a = { 0 };
	char text[SESSION_ALIAS_BYTES];

	if (strncmp(alias, ALIAS_PREFIX, sizeof(ALIAS_PREFIX) - 1) != 0)
		return NULL;
	a.id = strtoll(alias + sizeof(ALIAS_PREFIX) - 1, NULL, 10);
	session_each(box, on_alias, &a);
	if (a.found == NULL)
		return NULL;
	session_alias(a.found, host, text);
	if (strcmp(text, alias) != 0)
		return NULL;
	a.found->refs++;
	return session_now(a.found);
}

const char *
session_get_owner(const struct session *s)
{
	return s->n_senders > 0 ? s->senders[0].owner : "";
}

static struct session_sender *
sender_get(struct session *s, const struct session_guest *guest)
{
	struct session_sender *w = sender_find(s, guest->owner);

	if (w == NULL && s->n_senders == SENDERS_MAX)
		return NULL;
	if (w == NULL) {
		s->senders = xreallocarray(s->senders, s->n_senders + 1, sizeof(*s->senders));
		w = &s->senders[s->n_senders++];
		*w = (struct session_sender){ .owner = xstrdup(guest->owner) };
	}
	if (guest->address != NULL && !address_is_loopback(guest->address) &&
	    (w->address == NULL || strcmp(w->address, guest->address) != 0)) {
		free(w->address);
		w->address = xstrdup(guest->address);
	}
	if (guest->certified != NULL) {
		free(w->certified);
		w->certified = xstrdup(guest->certified);
	}
	return w;
}

void
session_take_part(struct session *s, const struct session_guest *guest)
{
	(void)sender_get(s, guest);
}

static bool
name_each_other(const struct session_sender *a, const struct session_sender *b)
{
	const struct session_guest one = sender_guest(a), other = sender_guest(b);

	return sender_names(a, &other) && sender_names(b, &one);
}

/* Returns true if the sender and a sender of the session name each other. */
static bool
is_tied(const struct session *s, const struct session_sender *stranger)
{
	const struct session_sender *w;

	for (w = s->senders; w < s->senders + s->n_senders; w++)
		if (name_each_other(w, stranger))
			return true;
	return false;
}

bool
session_may_hear(const struct session *s, const char *task_id, const char *owner)
{
	const struct session_sender *w = sender_find(s, owner);

	if (task_id == NULL)
		return false;
	if (task_is_secret(task_id))
		return true;
	if (w == NULL || s->restored)
		return false;
	return w == s->senders || name_each_other(w, s->senders);
}

/* An open session of the same label, each of whose senders and a sender of s name each other. */
static struct session *
stranger_find(struct session *s)
{
	struct session *t;
	size_t i;

	for (t = label_find(s->box, s->label); t != NULL; t = t->older) {
		if (t == s || t->merged_into != NULL || t->state == SESSION_CLOSED)
			continue;
		for (i = 0; i < t->n_senders && is_tied(s, &t->senders[i]); i++)
			continue;
		if (i == t->n_senders && i > 0)
			return t;
	}
	return NULL;
}

/* A name is no address: certificates name peers, and the text of a subject proves nothing. */
void
session_name_address(struct session *s, const struct session_guest *guest, const char *address)
{
	const struct session_guest named = { .address = address };
	struct session_sender *w;
	struct session *t;

	if (address == NULL || address_is_loopback(address) || (w = sender_get(s, guest)) == NULL ||
	    w->n_named == NAMED_MAX || sender_names(w, &named))
		return;
	w->named = xreallocarray(w->named, w->n_named + 1, sizeof(*w->named));
	w->named[w->n_named++] = xstrdup(address);
	while (
	    s->state != SESSION_CLOSED && s->merged_into == NULL && (t = stranger_find(s)) != NULL)
		session_merge(t->id < s->id ? s : t, t->id < s->id ? t : s);
}

/* Copies the senders of a session, with the addresses that each named, to another session. */
static void
senders_give(const struct session *from, struct session *into)
{
	const struct session_sender *w;
	struct session_guest guest;
	size_t i;

	for (w = from->senders; w < from->senders + from->n_senders; w++) {
		guest = sender_guest(w);
		session_take_part(into, &guest);
		for (i = 0; i < w->n_named; i++)
			session_name_address(into, &guest, w->named[i]);
	}
}

struct session *
session_now(struct session *s)
{
	struct session *next;

	while (s != NULL && (next = s->merged_into) != NULL) {
		next->refs++;
		session_release(s);
		s = next;
	}
	return s;
}

void
session_merge(struct session *from, struct session *into)
{
	event_del(from->linger);
	if (from->closed_wall_ns != 0)
		verdict_keep(from,
		    xasprintf(
			"session %lld turned out to be the same transfer", (long long)into->id));
	session_set_state(from, SESSION_CLOSED);
	from->merged_into = into;
	into->refs++;
	into->live += from->live - from->announced;
	from->announced = 0;
	if (from->opened_wall_ns < into->opened_wall_ns)
		into->opened_wall_ns = from->opened_wall_ns;
	if (from->last_data_wall_ns > into->last_data_wall_ns)
		into->last_data_wall_ns = from->last_data_wall_ns;
	into->fresh = true;
	senders_give(from, into);
	session_name(into, from->program);
	session_write(into);
	while (nw_batch_merge(commit_batch(into->box->commit), from->id, into->id) < 0)
		xmalloc_spend();
	provoked_info(&into->box->log_rate, session_get_owner(from),
	    "session.merge id=%lld into=%lld", (long long)from->id, (long long)into->id);
}

void
session_release(struct session *s)
{
	if (s != NULL)
		s->refs--;
}

/* Opens a session that lingers or is closed. */
static void
session_wake(struct session *s, const char *owner)
{
	event_del(s->linger);
	if (s->state == SESSION_CLOSED)
		session_open(s, owner);
	else
		session_set_state(s, SESSION_OPEN);
}

void
session_attach(struct session *s, const char *owner)
{
	s->live++;
	session_wake(s, owner);
}

void
session_detach(struct session *s)
{
	if (--s->live == 0 && s->state == SESSION_OPEN)
		session_linger(s, s->box->conf->session_linger_ns);
}

void
session_end(struct session *s)
{
	if (s->state == SESSION_OPEN)
		session_linger(s, s->box->conf->session_linger_ns);
}

void
session_touch(struct session *s, const char *owner, int64_t now_wall_ns)
{
	if (s->state == SESSION_CLOSED || s->live > 0)
		session_wake(s, owner); /* the transfer goes on after its end */
	if (s->live == 0)
		session_linger(s, s->box->conf->session_linger_ns); /* no sender will detach */
	s->last_data_wall_ns = now_wall_ns;
	s->fresh = true;
}

void
session_judge_again(struct session *s, const char *why)
{
	if (s->state != SESSION_CLOSED || s->merged_into != NULL)
		return;
	verdict_keep(s, xstrdup(why));
	commit_note_session(s->box->commit, s->id, session_get_owner(s), true);
}

void
session_announced(struct session *s, bool begins)
{
	if (begins) {
		s->announced++;
		session_attach(s, SESSION_ANNOUNCER);
	} else if (s->announced > 0) {
		s->announced--;
		session_detach(s);
	}
}

void
session_name(struct session *s, const char *program)
{
	if (program == NULL || s->program != NULL)
		return;
	s->program = xstrdup(program);
	session_write(s);
}

void
session_series_forget(struct series *gone)
{
	session_release(gone->session);
}

bool
session_series_is_over(struct series *s, int64_t now_wall_ns)
{
	if (!s->witness || (s->session = session_now(s->session)) == NULL)
		return false;
	return s->session->state == SESSION_CLOSED &&
	    now_wall_ns - s->session->closed_wall_ns > WITNESS_KEEP_NS;
}

struct session *
session_restore(struct box *box, int64_t id, const char *label, const char *program,
    int64_t opened_wall_ns, int64_t closed_wall_ns, int64_t last_data_wall_ns)
{
	struct session *s;

	if (label == NULL)
		return NULL;
	s = session_new(box, id, label);
	if (!task_is_label(label)) /* a chosen name is its own label */
		s->task_id = xstrdup(label);
	s->program = xstrdup(program);
	s->restored = true;
	s->opened_wall_ns = opened_wall_ns;
	s->closed_wall_ns = closed_wall_ns;
	s->last_data_wall_ns = last_data_wall_ns;
	if (closed_wall_ns == 0)
		session_linger(s, RESTORE_LINGER_NS);
	return s;
}

/* Turns the list of a label round: sessions were restored with the newest first. */
static void
label_reverse(struct box *box, struct session *head)
{
	struct session *s = head, *older, *newest = NULL;

	if (s->older == NULL)
		return;
	HASH_DEL(box->sessions, head);
	for (; s != NULL; s = older) {
		older = s->older;
		s->older = newest;
		newest = s;
	}
	HASH_ADD_KEYPTR(hh, box->sessions, newest->label, strlen(newest->label), newest);
}

static int
older_first(const struct session *a, const struct session *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

void
session_restored(struct box *box)
{
	struct session *s, *tmp;
	unsigned left = HASH_COUNT(box->sessions);

	HASH_ITER (hh, box->sessions, s, tmp) {
		if (left-- == 0) /* the rest was added again */
			break;
		label_reverse(box, s);
	}
	HASH_SORT(box->sessions, older_first);
}

void
session_each(struct box *box, void (*fn)(struct session *s, void *arg), void *arg)
{
	struct session *head, *tmp, *s, *older;

	HASH_ITER (hh, box->sessions, head, tmp)
		for (s = head; s != NULL; s = older) {
			older = s->older;
			fn(s, arg);
		}
}

struct tick {
	int64_t now_mono_ns;
	size_t spare; /* sessions to forget */
};

/* A session with rows since the last analysis, and not open for less than an interval: a short
 * session is judged when it ends. */
static bool
is_due(struct session *s, int64_t now_mono_ns)
{
	bool first = s->analysed_mono_ns == 0;

	if (s->state == SESSION_CLOSED || !s->fresh ||
	    now_mono_ns - s->analysed_mono_ns < s->box->conf->analysis_interval_ns)
		return false;
	s->analysed_mono_ns = now_mono_ns;
	return !first;
}

static void
on_tick(struct session *s, void *arg)
{
	struct tick *t = arg;

	if (s->state == SESSION_OPEN && s->live == 0 && s->refs == 0)
		session_linger(s, s->box->conf->session_linger_ns); /* no sender is left */
	if (is_due(s, t->now_mono_ns)) {
		s->fresh = false;
		session_write(s);
		commit_note_session(s->box->commit, s->id, session_get_owner(s), false);
	} else if (t->spare > 0 && s->state == SESSION_CLOSED && s->refs == 0) {
		session_free(s); /* the hash keeps the order of insertion: oldest first */
		t->spare--;
	}
}

void
session_tick(struct box *box, int64_t now_mono_ns)
{
	struct tick t = { .now_mono_ns = now_mono_ns,
		.spare = box->n_sessions > CLOSED_KEEP ? box->n_sessions - CLOSED_KEEP : 0 };

	session_each(box, on_tick, &t);
}

static void
on_close(struct session *s, void *arg)
{
	(void)arg;
	if (s->state != SESSION_CLOSED)
		session_close(s);
}

void
session_close_all(struct box *box)
{
	session_each(box, on_close, NULL);
}

static void
on_unmerge(struct session *s, void *arg)
{
	(void)arg;
	s->merged_into = NULL; /* a session that may be freed first */
}

static void
on_free(struct session *s, void *arg)
{
	(void)arg;
	session_free(s);
}

void
session_free_all(struct box *box)
{
	session_each(box, on_unmerge, NULL);
	session_each(box, on_free, NULL);
}

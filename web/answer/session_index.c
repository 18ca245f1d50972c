/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/session_index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/fnv.h"
#include "narrows/splitmix.h"

enum {
	READ_AGAIN = 2000,      /* newest sessions, read again after each change of the store */
	SESSIONS_MAX = 1000000, /* in the index; a search does not find older sessions */
	NAMES_SPARE = 1 << 20   /* bytes of texts that no session has any more, before all is read
				    again */
};
/* The last verdict of an open session may come so long after the end. */
#define WATCH_NS (INT64_C(600) * 1000000000)

/* --- texts, each once --- */

/* Text i begins at bytes + at[i]; text 0 is the absent text. */
struct names {
	char *bytes;
	size_t len, size;
	uint32_t *at, *hash;
	uint32_t n, n_size;
	uint32_t *slot; /* numbers of texts by their hash; 0: free */
	uint32_t n_slots;
	uint32_t seed; /* of the hash: no sender can choose texts that meet in a slot */
};

static void
names_clear(struct names *t)
{
	const uint32_t seed = t->seed;

	free(t->bytes);
	free(t->at);
	free(t->hash);
	free(t->slot);
	*t = (struct names){ .seed = seed };
}

/* FNV-1a from a seed, and the seed mixed in again: texts that meet for one seed part for others. */
static uint32_t
name_hash(const struct names *t, const char *text)
{
	uint64_t h = fnv_text(FNV_BEGIN ^ t->seed, text);

	h ^= (uint64_t)t->seed << 32;
	return (uint32_t)(nw_splitmix(&h) >> 32);
}

static const char *
name_text(const struct names *t, uint32_t i)
{
	return i != 0 ? t->bytes + t->at[i] : NULL;
}

/* The slot that has the text, or the free slot where the text belongs. */
static uint32_t
name_slot(const struct names *t, const char *text, uint32_t hash)
{
	uint32_t i = hash & (t->n_slots - 1);

	while (t->slot[i] != 0 &&
	    (t->hash[t->slot[i]] != hash || strcmp(name_text(t, t->slot[i]), text) != 0))
		i = (i + 1) & (t->n_slots - 1);
	return i;
}

/* The number of a text; 0: no session has the text. */
static uint32_t
name_find(const struct names *t, const char *text)
{
	return t->n_slots > 0 ? t->slot[name_slot(t, text, name_hash(t, text))] : 0;
}

static int
slots_grow(struct names *t)
{
	const uint32_t n = t->n_slots > 0 ? 2 * t->n_slots : 1024;
	uint32_t *slot = calloc(n, sizeof(*slot)), i, k;

	if (slot == NULL)
		return NW_ENOMEM;
	free(t->slot);
	t->slot = slot;
	t->n_slots = n;
	for (i = 1; i < t->n; i++) {
		for (k = t->hash[i] & (n - 1); slot[k] != 0; k = (k + 1) & (n - 1))
			;
		slot[k] = i;
	}
	return NW_OK;
}

static int
room_make(struct names *t, size_t len)
{
	const size_t size = 2 * t->size + len;
	const uint32_t n = t->n_size > 0 ? 2 * t->n_size : 512;
	char *bytes;
	uint32_t *at, *hash;

	if (t->len + len > t->size) {
		if (size > UINT32_MAX || (bytes = realloc(t->bytes, size)) == NULL)
			return NW_ENOMEM;
		t->bytes = bytes;
		t->size = size;
	}
	if (t->n + 1 >= t->n_size) {
		if ((at = reallocarray(t->at, n, sizeof(*at))) == NULL)
			return NW_ENOMEM;
		t->at = at;
		if ((hash = reallocarray(t->hash, n, sizeof(*hash))) == NULL)
			return NW_ENOMEM;
		t->hash = hash;
		t->n_size = n;
	}
	return t->n_slots / 2 <= t->n ? slots_grow(t) : NW_OK;
}

/* The number of a text, which is added if the text is new. */
static int
name_take(struct names *t, const char *text, uint32_t *out)
{
	size_t len;
	uint32_t hash;
	int rc;

	*out = 0;
	if (text == NULL)
		return NW_OK;
	hash = name_hash(t, text);
	if (t->n_slots > 0 && (*out = t->slot[name_slot(t, text, hash)]) != 0)
		return NW_OK;
	len = strlen(text) + 1;
	if ((rc = room_make(t, len)) < 0)
		return rc;
	if (t->n == 0)
		t->n = 1;
	t->at[t->n] = (uint32_t)t->len;
	memcpy(t->bytes + t->len, text, len);
	t->len += len;
	t->hash[t->n] = hash;
	t->slot[name_slot(t, text, hash)] = t->n;
	*out = t->n++;
	return NW_OK;
}

/* --- sessions --- */

struct entry {
	int64_t id, start_wall_ns, duration_ns;
	int64_t watch_until_mono_ns; /* read again until then; INT64_MAX: open, or not judged */
	double bytes, bytes_per_s;
	float usual, exit_status;
	uint32_t task, route, program, label, stage, sentence; /* numbers of texts */
	bool judged, open;
	bool gone; /* forgotten; the entry is still a place in the order */
};

struct session_index {
	struct entry *entry; /* rising in id */
	size_t n, size;
	struct names names;
	size_t names_fresh; /* bytes of texts when everything was read */
	int64_t version;    /* of the store's data, as followed */
	bool complete;      /* all sessions of that version were read */
};

struct session_index *
session_index_new(void)
{
	struct session_index *x = calloc(1, sizeof(*x));

	if (x != NULL &&
	    getrandom(&x->names.seed, sizeof(x->names.seed), 0) != sizeof(x->names.seed))
		x->names.seed = (uint32_t)nw_mono_ns();
	return x;
}

static void
index_clear(struct session_index *x)
{
	free(x->entry);
	names_clear(&x->names);
	*x = (struct session_index){ .names = x->names };
}

void
session_index_free(struct session_index *x)
{
	if (x == NULL)
		return;
	index_clear(x);
	free(x);
}

/* Reads the texts and numbers of a session. */
static int
entry_read(struct names *t, struct entry *e, const struct nw_session_rec *s,
    const struct nw_result_rec *res)
{
	const char *program = res != NULL && res->program != NULL ? res->program : s->program;
	const bool watched = e->watch_until_mono_ns == INT64_MAX;
	int rc;

	e->id = s->id;
	e->open = s->closed_wall_ns == 0;
	e->judged = res != NULL;
	e->gone = false;
	e->start_wall_ns = session_start_wall_ns(s, res);
	e->duration_ns = res != NULL ? res->duration_ns : 0;
	e->bytes = res != NULL ? res->bytes : NAN;
	e->bytes_per_s = res != NULL ? res->bytes_per_s : NAN;
	e->usual = res != NULL ? (float)res->usual : NAN;
	e->exit_status = res != NULL ? (float)res->exit_status : NAN;
	e->watch_until_mono_ns = e->open || res == NULL ? INT64_MAX
	    : watched                                   ? nw_mono_ns() + WATCH_NS
							: e->watch_until_mono_ns;
	if ((rc = name_take(t, s->task_id, &e->task)) < 0 ||
	    (rc = name_take(t, program, &e->program)) < 0 || res == NULL)
		return rc;
	if ((rc = name_take(t, res->route, &e->route)) < 0 ||
	    (rc = name_take(t, res->label, &e->label)) < 0 ||
	    (rc = name_take(t, res->stage, &e->stage)) < 0)
		return rc;
	return name_take(t, res->sentence, &e->sentence);
}

/* The first entry from `id` on. */
static size_t
place_of(const struct session_index *x, int64_t id)
{
	size_t low = 0, high = x->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (x->entry[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The entries from `at` on are read again, as far as the store has the sessions. */
struct reading {
	struct session_index *x;
	size_t at, end; /* entries behind end stay */
	size_t n;       /* sessions that came */
};

static void
gone_until(struct reading *to, int64_t id)
{
	for (; to->at < to->end && to->x->entry[to->at].id < id; to->at++) {
		to->x->entry[to->at].gone = true;
		to->x->entry[to->at].watch_until_mono_ns = 0;
	}
}

static int
on_read(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct reading *to = arg;
	struct session_index *x = to->x;
	struct entry *more;

	gone_until(to, s->id);
	to->n++;
	if (to->at < to->end && x->entry[to->at].id == s->id)
		return entry_read(&x->names, &x->entry[to->at++], s, res);
	if (to->end < x->n)
		return 1; /* beyond the stretch */
	if (x->n == x->size) {
		const size_t size = x->size > 0 ? 2 * x->size : 1024;

		if ((more = reallocarray(x->entry, size, sizeof(*more))) == NULL)
			return NW_ENOMEM;
		x->entry = more;
		x->size = size;
	}
	x->entry[x->n++] = (struct entry){ 0 };
	to->at = to->end = x->n;
	return entry_read(&x->names, &x->entry[x->n - 1], s, res);
}

/* Reads the sessions behind `after`: the stretch at..end of the index, or what is new behind it. */
static int
stretch_read(struct session_index *x, struct store_reader *r, size_t at, size_t end, int64_t after,
    size_t limit, size_t *n)
{
	struct reading to = { .x = x, .at = at, .end = end };
	int rc = store_sessions_after(r, after, limit, on_read, &to);

	if (rc == NW_OK && (to.n < limit || end < x->n))
		gone_until(&to, end < x->n ? x->entry[end].id : INT64_MAX);
	*n = to.n;
	return rc;
}

/* Entries with a chance of another verdict by now: the newest, and the watched. */
static int
young_read(struct session_index *x, struct store_reader *r)
{
	const size_t young = x->n > READ_AGAIN ? x->n - READ_AGAIN : 0;
	const int64_t now = nw_mono_ns();
	size_t i, end, n;
	int rc = NW_OK;

	for (i = 0; i < young && rc == NW_OK; i = end) {
		for (end = i; end < young && x->entry[end].watch_until_mono_ns > now; end++)
			;
		if (end > i)
			rc = stretch_read(x, r, i, end, x->entry[i].id - 1, end - i, &n);
		else
			end++;
	}
	if (rc == NW_OK && young < x->n)
		rc = stretch_read(x, r, young, x->n, x->entry[young].id - 1, x->n - young, &n);
	return rc;
}

/* Begins again where the store has been replaced, and where old texts pile up. */
static int
stale_drop(struct session_index *x, struct store_reader *r)
{
	int64_t last;
	int rc = store_session_last(r, &last);

	if (rc == NW_ENOTFOUND)
		last = 0;
	else if (rc < 0)
		return rc;
	if ((x->n > 0 && last < x->entry[x->n - 1].id) ||
	    (x->complete && x->names.len > 2 * x->names_fresh + NAMES_SPARE))
		index_clear(x);
	return NW_OK;
}

int
session_index_follow(struct session_index *x, struct store_reader *r, size_t limit, bool *done)
{
	int64_t version, after;
	size_t n;
	int rc = store_data_version(r, &version);

	*done = rc == NW_OK && x->complete && version == x->version;
	if (rc < 0 || *done)
		return rc;
	if (x->complete && ((rc = stale_drop(x, r)) < 0 || (rc = young_read(x, r)) < 0))
		return rc;
	if (x->complete || x->n == 0)
		x->version = version; /* of the first of several stretches */
	after = x->n > 0 ? x->entry[x->n - 1].id : 0;
	if (x->n == 0 && store_session_last(r, &after) == NW_OK)
		after = after > SESSIONS_MAX ? after - SESSIONS_MAX : 0;
	if ((rc = stretch_read(x, r, x->n, x->n, after, limit, &n)) < 0)
		return rc;
	*done = n < limit;
	if (*done && !x->complete)
		x->names_fresh = x->names.len;
	x->complete = *done;
	return NW_OK;
}

/* --- what passes --- */

enum { MARK_TEXT = 1, MARK_HOST = 2 };

struct wanted {
	const struct session_filter *f;
	uint32_t route, program, label, stage; /* numbers of texts; 0: any, or none of the stage */
	bool nothing;                          /* no session matches: a wanted text is in none */
	uint8_t *mark; /* by number of a text; NULL: no text is looked for */
};

static uint32_t
wanted_name(struct wanted *w, const struct session_index *x, const char *text)
{
	const uint32_t i = *text != '\0' ? name_find(&x->names, text) : 0;

	w->nothing |= *text != '\0' && i == 0;
	return i;
}

static int
wanted_init(struct wanted *w, const struct session_index *x, const struct session_filter *f)
{
	uint32_t i;

	*w = (struct wanted){ .f = f };
	w->route = wanted_name(w, x, f->route);
	w->program = wanted_name(w, x, f->program);
	w->label = wanted_name(w, x, f->label);
	w->stage = strcmp(f->stage, "none") != 0 ? wanted_name(w, x, f->stage) : 0;
	if (w->nothing || (f->text[0] == '\0' && f->host[0] == '\0'))
		return NW_OK;
	if ((w->mark = calloc(x->names.n + 1, 1)) == NULL)
		return NW_ENOMEM;
	for (i = 1; i < x->names.n; i++) {
		const char *text = name_text(&x->names, i);

		if (f->text[0] != '\0' && strcasestr(text, f->text) != NULL)
			w->mark[i] |= MARK_TEXT;
		if (f->host[0] != '\0' && session_route_has(text, f->host))
			w->mark[i] |= MARK_HOST;
	}
	return NW_OK;
}

static bool
entry_passes(const struct wanted *w, const struct entry *e)
{
	const struct session_filter *f = w->f;

	if (e->gone || (w->route != 0 && e->route != w->route) ||
	    (w->program != 0 && e->program != w->program) ||
	    (w->label != 0 && e->label != w->label) ||
	    (f->stage[0] != '\0' && e->stage != w->stage))
		return false;
	if (f->host[0] != '\0' && !(w->mark[e->route] & MARK_HOST))
		return false;
	if (!session_state_passes(f->state, e->open, (double)e->exit_status, (double)e->usual) ||
	    !session_numbers_pass(f, e->start_wall_ns, e->bytes_per_s))
		return false;
	return f->text[0] == '\0' ||
	    (w->mark[e->task] | w->mark[e->route] | w->mark[e->program] | w->mark[e->label] |
		w->mark[e->sentence]) &
	    MARK_TEXT;
}

/* --- the order --- */

/* The highest comes first; NaN for a session without the number. */
static double
rank_of(enum session_sort sort, const struct entry *e)
{
	if (sort == SORT_NEWEST)
		return 0;
	if (!(e->bytes > 0))
		return NAN;
	switch (sort) {
	case SORT_SLOWEST: return -e->bytes_per_s;
	case SORT_FASTEST: return e->bytes_per_s;
	case SORT_LONGEST: return (double)e->duration_ns;
	default: return e->bytes;
	}
}

struct ranked {
	double rank;
	int64_t id;
};

/* Of equal sessions the newest comes first. */
static bool
is_before(const struct ranked *a, const struct ranked *b)
{
	return a->rank > b->rank || (a->rank == b->rank && a->id > b->id);
}

/* A session of a number that the index does not have is the place where its number would be. */
static struct ranked
behind_of(const struct session_index *x, enum session_sort sort, int64_t behind)
{
	const size_t at = place_of(x, behind);
	struct ranked k = { INFINITY, behind };

	if (sort == SORT_NEWEST)
		k.rank = 0;
	else if (behind > 0 && at < x->n && x->entry[at].id == behind)
		k.rank = rank_of(sort, &x->entry[at]);
	return k;
}

static int
ranked_compare(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : is_before(b, a);
}

/* The first `limit` of many, in room for twice as many: a full room is sorted and cut. */
struct first {
	struct ranked k[2 * (SESSION_LIST_LIMIT_MAX + 1)];
	size_t n, limit;
	bool cut; /* whether k[limit - 1] is the last place so far */
};

static void
first_cut(struct first *l)
{
	qsort(l->k, l->n, sizeof(l->k[0]), ranked_compare);
	l->cut = l->n >= l->limit;
	l->n = l->cut ? l->limit : l->n;
}

static void
first_take(struct first *l, struct ranked k)
{
	if (l->cut && !is_before(&k, &l->k[l->limit - 1]))
		return;
	l->k[l->n++] = k;
	if (l->n == 2 * l->limit)
		first_cut(l);
}

int
session_index_find(const struct session_index *x, const struct session_filter *f, int64_t behind,
    size_t limit, struct session_found *found)
{
	const struct ranked from = behind_of(x, f->sort, behind);
	struct first first = { .limit = limit + 1 };
	struct wanted w;
	size_t i;
	int rc = wanted_init(&w, x, f);

	found->n = found->n_pass = 0;
	found->more = false;
	for (i = x->n; rc == NW_OK && !w.nothing && i-- > 0;) {
		const struct entry *e = &x->entry[i];
		const struct ranked k = { rank_of(f->sort, e), e->id };

		if (isnan(k.rank) || !entry_passes(&w, e))
			continue;
		found->n_pass++;
		if (behind == 0 || is_before(&from, &k))
			first_take(&first, k);
	}
	free(w.mark);
	first_cut(&first);
	found->more = first.n > limit;
	for (i = 0; i < first.n && i < limit; i++)
		found->id[found->n++] = first.k[i].id;
	return rc;
}

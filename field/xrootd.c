/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers, their logins and files. A server is a source with the number that the server gives
 * itself, new at each start. A login comes by its map packet at once; its files come by map packets
 * at once and by the f-stream some seconds later, whose records have times of whole seconds.
 */
#include "narrows/xmalloc.h"
#define uthash_malloc(size) xmalloc(size)
#include "narrows/xrootd.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>
#include <utlist.h>

#include "field/fieldtext.h"
#include "field/xrdwire.h"
#include "narrows/err.h"
#include "narrows/fairq.h"
#include "narrows/fnv.h"

enum { SERVER_KEY_BYTES = 96, SOURCES_MAX = 1024, SEEN = 64, AHEAD_MAX = 128 };
enum { LOGINS_LOOKED_AT = 64 };
#define S_NS      INT64_C(1000000000)
#define SILENT_NS (24 * 3600 * S_NS)
#define ENDED_NS  (60 * S_NS)
/* A third-party copy waits for the f-streams of both servers, which come every few seconds. */
#define COPY_NS (10 * S_NS)
enum { COPIES_MAX = 64 };
/* Longest time from a client's open of a copy's file to the begin of the copy. */
#define CLIENT_NS (60 * S_NS)
/* Longest time between a file's map packet and the start in its firefly. */
#define NAMED_NS (2 * S_NS)

/* Sizes of copies are printed modulo 4 GiB by old servers; a link of 10 Gbit/s. */
static const double CUT_BYTES = 4294967296, FASTEST_BYTES_PER_S = 1.25e9;

/* Numbers of datagrams (8 bits) of one kind. Bit i of `seen`: the number newest - i came. */
struct numbering {
	bool is_begun;
	uint8_t newest;
	uint64_t seen;
};

enum stream { STREAM_MAPS, STREAM_FILES, STREAM_COPIES, STREAM_COUNT };

struct login {
	uint32_t id; /* hash key */
	struct xrd_client client;
	char name
	    [NW_ANNOUNCE_NAME_BYTES]; /* of the certificate or token; empty: the client's user */
	int64_t named_wall_ns; /* arrival of the newest map packet of a file; 0: none, or claimed */
	char program[NW_ANNOUNCE_NAME_BYTES];
	int64_t experiment, activity, begun_wall_ns;
	struct server *of;
	struct fairq_item place;
	struct login *prev, *next; /* by age */
	UT_hash_handle hh;
};

struct file {
	uint32_t id, login; /* hash key; 0: no login is known */
	char path[NW_ANNOUNCE_FILE_BYTES];
	struct xrd_client client; /* of the map packet; an empty host without one */
	bool is_open, writes, is_ended;
	bool has_moved;        /* bytes, as far as the server said */
	uint32_t group_login;  /* of its announcements; 0: the file is a group alone */
	int64_t named_wall_ns; /* arrival of the map packet; 0: none came */
	int64_t start_wall_ns, t_wall_ns;
	double size_bytes, slack_s;
	int lost_before; /* the server's lost datagrams at the open */
	struct server *of;
	struct fairq_item place;
	struct file *prev, *next; /* by age */
	int64_t ended_mono_ns;
	struct file *ended_prev, *ended_next; /* by the end */
	UT_hash_handle hh;
};

struct server {
	char key[SERVER_KEY_BYTES]; /* "source sid": hash key */
	size_t source_len;
	uint64_t sid;
	unsigned port; /* 0: not known */
	struct numbering numbering[STREAM_COUNT];
	int lost;             /* datagrams */
	bool has_whole_sizes; /* of third-party copies, by the server's version */
	struct login *logins, *oldest_login;
	struct file *files, *oldest_file;
	int64_t heard_mono_ns;
	struct fairq_item place;
	struct server *prev, *next; /* the server silent longest is the first */
	UT_hash_handle hh;
};

/* A third-party copy whose files no server has told of yet. */
struct copy {
	struct server *of;
	struct xrd_json json;
	int64_t came_mono_ns;
	struct copy *prev, *next; /* by age */
};

struct nw_xrootd {
	struct server *servers, *longest_silent;
	struct file *ended; /* kept for the records of third-party copies, which come later */
	struct copy *copies;
	int n_copies;
	struct fairq *server_places, *login_places, *file_places;
};

/* One datagram's way. */
struct take {
	struct nw_xrootd *x;
	const struct nw_xrootd_datagram *d;
	nw_xrootd_fn *fn;
	void *arg;
	struct nw_xrootd_got *got;
	int64_t begin_wall_ns, end_wall_ns; /* of the f-stream's window, whole seconds */
	bool is_first;                      /* record of the window */
	bool is_refused;
};

static struct fairq *
places_new(size_t all, size_t of_source)
{
	const struct fairq_limits limits = {
		.items_max = all, .owner_items_max = of_source, .owners_max = SOURCES_MAX
	};

	return fairq_new(&limits);
}

struct nw_xrootd *
nw_xrootd_new(void)
{
	struct nw_xrootd *x = xcalloc(1, sizeof(*x));

	x->server_places = places_new(NW_XROOTD_SERVERS_MAX, NW_XROOTD_SERVERS_OF_SOURCE_MAX);
	x->login_places = places_new(NW_XROOTD_LOGINS_MAX, NW_XROOTD_LOGINS_OF_SOURCE_MAX);
	x->file_places = places_new(NW_XROOTD_FILES_MAX, NW_XROOTD_FILES_OF_SOURCE_MAX);
	if (x->server_places != NULL && x->login_places != NULL && x->file_places != NULL)
		return x;
	nw_xrootd_free(x);
	return NULL;
}

/* --- lifetimes --- */

static void
login_free(struct nw_xrootd *x, struct login *l)
{
	fairq_remove(x->login_places, &l->place);
	HASH_DEL(l->of->logins, l);
	DL_DELETE(l->of->oldest_login, l);
	free(l);
}

static void
file_free(struct nw_xrootd *x, struct file *f)
{
	fairq_remove(x->file_places, &f->place);
	HASH_DEL(f->of->files, f);
	DL_DELETE(f->of->oldest_file, f);
	if (f->is_ended)
		DL_DELETE2(x->ended, f, ended_prev, ended_next);
	free(f);
}

static void
file_end(struct take *t, struct file *f)
{
	f->is_ended = true;
	f->ended_mono_ns = t->d->now_mono_ns;
	DL_APPEND2(t->x->ended, f, ended_prev, ended_next);
}

static void
copy_free(struct nw_xrootd *x, struct copy *c)
{
	DL_DELETE(x->copies, c);
	x->n_copies--;
	free(c);
}

static void
server_free(struct nw_xrootd *x, struct server *s)
{
	struct copy *c, *next;

	DL_FOREACH_SAFE(x->copies, c, next)
	if (c->of == s)
		copy_free(x, c);
	while (s->oldest_login != NULL)
		login_free(x, s->oldest_login);
	while (s->oldest_file != NULL)
		file_free(x, s->oldest_file);
	fairq_remove(x->server_places, &s->place);
	HASH_DEL(x->servers, s);
	DL_DELETE(x->longest_silent, s);
	free(s);
}

void
nw_xrootd_free(struct nw_xrootd *x)
{
	if (x == NULL)
		return;
	while (x->longest_silent != NULL)
		server_free(x, x->longest_silent);
	fairq_free(x->server_places);
	fairq_free(x->login_places);
	fairq_free(x->file_places);
	free(x);
}

static bool
is_of(const struct server *s, const char *source)
{
	return strncmp(s->key, source, s->source_len) == 0 && source[s->source_len] == '\0';
}

/* The server of a source that was silent longest makes room for the source's new server. */
static bool
server_place(struct take *t, struct server *s)
{
	struct fairq_item *displaced = NULL;
	struct server *old;
	int rc = fairq_put(t->x->server_places, t->d->source, &s->place, &displaced);

	if (rc == NW_EFULL) {
		DL_FOREACH (t->x->longest_silent, old)
			if (is_of(old, t->d->source))
				break;
		if (old != NULL)
			server_free(t->x, old);
		rc = fairq_put(t->x->server_places, t->d->source, &s->place, &displaced);
	}
	if (displaced != NULL)
		server_free(t->x, fairq_of(displaced, struct server, place));
	return rc == NW_OK;
}

/* NULL: no place for another server. */
static struct server *
server_get(struct take *t, uint64_t sid)
{
	struct nw_xrootd *x = t->x;
	char key[SERVER_KEY_BYTES];
	struct server *s;

	snprintf(key, sizeof(key), "%.60s %" PRIu64, t->d->source, sid);
	HASH_FIND_STR(x->servers, key, s);
	if (s == NULL) {
		s = xcalloc(1, sizeof(*s));
		if (!server_place(t, s)) {
			free(s);
			return NULL;
		}
		memcpy(s->key, key, sizeof(key));
		s->source_len = strcspn(key, " ");
		s->sid = sid;
		HASH_ADD_STR(x->servers, key, s);
	} else {
		DL_DELETE(x->longest_silent, s);
	}
	s->heard_mono_ns = t->d->now_mono_ns;
	DL_APPEND(x->longest_silent, s);
	return s;
}

/* Frees the oldest login or file of the source's server that was silent longest. */
static void
source_make_room(struct take *t, bool of_logins)
{
	struct server *s;

	DL_FOREACH (t->x->longest_silent, s)
		if (is_of(s, t->d->source) &&
		    (of_logins ? s->oldest_login != NULL : s->oldest_file != NULL))
			break;
	if (s != NULL && of_logins)
		login_free(t->x, s->oldest_login);
	else if (s != NULL)
		file_free(t->x, s->oldest_file);
}

/* NULL: no place for another login. */
static struct login *
login_get(struct take *t, struct server *s, uint32_t id)
{
	struct fairq *q = t->x->login_places;
	struct fairq_item *displaced = NULL;
	struct login *l;
	int rc;

	HASH_FIND(hh, s->logins, &id, sizeof(id), l);
	if (l != NULL)
		return l;
	l = xcalloc(1, sizeof(*l));
	rc = fairq_put(q, t->d->source, &l->place, &displaced);
	if (rc == NW_EFULL) {
		source_make_room(t, true);
		rc = fairq_put(q, t->d->source, &l->place, &displaced);
	}
	if (displaced != NULL)
		login_free(t->x, fairq_of(displaced, struct login, place));
	if (rc < 0) {
		free(l);
		return NULL;
	}
	l->id = id;
	l->of = s;
	l->experiment = l->activity = -1;
	l->begun_wall_ns = t->d->now_wall_ns;
	HASH_ADD(hh, s->logins, id, sizeof(l->id), l);
	DL_APPEND(s->oldest_login, l);
	return l;
}

static struct file *
file_find(const struct server *s, uint32_t id)
{
	struct file *f;

	HASH_FIND(hh, s->files, &id, sizeof(id), f);
	return f;
}

/* NULL: no place for another file. */
static struct file *
file_get(struct take *t, struct server *s, uint32_t id)
{
	struct fairq *q = t->x->file_places;
	struct fairq_item *displaced = NULL;
	struct file *f = file_find(s, id);
	int rc;

	if (f != NULL)
		return f;
	f = xcalloc(1, sizeof(*f));
	rc = fairq_put(q, t->d->source, &f->place, &displaced);
	if (rc == NW_EFULL) {
		source_make_room(t, false);
		rc = fairq_put(q, t->d->source, &f->place, &displaced);
	}
	if (displaced != NULL)
		file_free(t->x, fairq_of(displaced, struct file, place));
	if (rc < 0) {
		free(f);
		return NULL;
	}
	f->id = id;
	f->of = s;
	f->size_bytes = NAN;
	f->lost_before = s->lost;
	HASH_ADD(hh, s->files, id, sizeof(f->id), f);
	DL_APPEND(s->oldest_file, f);
	return f;
}

/* --- numbers of datagrams --- */

/* Counts what is missing. Returns false for a number that came before. */
static bool
number_take(struct take *t, struct server *s, enum stream stream, uint8_t number)
{
	struct numbering *n = &s->numbering[stream];
	unsigned ahead = (uint8_t)(number - n->newest), behind = (uint8_t)(n->newest - number);

	if (stream == STREAM_COPIES && n->is_begun && ahead > 0 && ahead < AHEAD_MAX) {
		/* the identifications of each g-stream count with its records, and look alike */
		n->seen = ahead < SEEN ? n->seen << (ahead - 1) : 0;
		n->newest = (uint8_t)(number - 1);
		ahead = 1;
	}
	if (!n->is_begun) {
		*n = (struct numbering){ true, number, UINT64_MAX };
	} else if (ahead > 0 && ahead < AHEAD_MAX) {
		n->newest = number;
		n->seen = (ahead < SEEN ? n->seen << ahead : 0) | 1;
		t->got->lost = (int)ahead - 1;
	} else if (behind < SEEN && (n->seen >> behind & 1) == 0) {
		n->seen |= UINT64_C(1) << behind;
		t->got->lost = -1;
	} else {
		t->got->is_repeated = true;
		return false;
	}
	s->lost += t->got->lost;
	return true;
}

/* --- announcements --- */

static void
say(struct take *t, struct nw_announcement *a)
{
	t->got->records++;
	if (!t->fn(t->arg, a))
		t->is_refused = true;
}

static void
group_put(const struct server *s, uint32_t login, uint32_t file, char out[NW_ANNOUNCE_GROUP_BYTES])
{
	snprintf(out, NW_ANNOUNCE_GROUP_BYTES, "xrootd:%.*s/%" PRIu64 "/%s%" PRIu32,
	    (int)s->source_len, s->key, s->sid, login != 0 ? "" : "file ",
	    login != 0 ? login : file);
}

static void
numbers_put(const struct file *f, const struct xrd_client *c, const struct xrd_record *r,
    double value[NW_ANNOUNCED_COUNT])
{
	/* XRootD counts no byte of an upload by HTTP (its issue 2368): 0 is no count there */
	bool is_blind = c->is_http && f->writes && r->written_bytes == 0;

	value[NW_ANNOUNCED_bytes_out] = r->read_bytes + r->vector_bytes;
	value[NW_ANNOUNCED_bytes_in] = is_blind ? NAN : r->written_bytes;
	value[NW_ANNOUNCED_reads] = r->reads;
	value[NW_ANNOUNCED_vector_reads] = r->vector_reads;
	value[NW_ANNOUNCED_writes] = is_blind ? NAN : r->writes_done;
}

/* NULL: no login is known. */
static const struct login *
file_login(const struct file *f)
{
	struct login *l;

	HASH_FIND(hh, f->of->logins, &f->login, sizeof(f->login), l);
	return l;
}

static void
file_say(struct take *t, struct file *f, enum nw_announce_state state, const struct xrd_record *r)
{
	const struct server *s = f->of;
	const struct login *l = file_login(f);
	const struct xrd_client *c = l != NULL ? &l->client : &f->client;
	struct nw_announcement a;

	if (c->host[0] == '\0')
		return; /* a login from before the box's start */
	nw_announcement_init(&a);
	a.form = NW_ANNOUNCE_XROOTD;
	a.state = state;
	a.start_wall_ns = f->start_wall_ns;
	a.t_wall_ns = f->t_wall_ns;
	snprintf(a.src, sizeof(a.src), "%.*s", (int)s->source_len, s->key);
	memcpy(a.dst, c->host, sizeof(a.dst));
	a.sport = (uint16_t)(c->is_http ? 0 : s->port);
	snprintf(a.id, sizeof(a.id), "%" PRIu64 "/%" PRIu32, s->sid, f->id);
	f->group_login = l != NULL ? l->id : 0;
	f->has_moved |= r != NULL && r->read_bytes + r->vector_bytes + r->written_bytes > 0;
	group_put(s, f->group_login, f->id, a.group);
	memcpy(a.file, f->path, sizeof(a.file));
	memcpy(a.user, c->user, sizeof(a.user));
	if (l != NULL && l->name[0] != '\0')
		memcpy(a.user, l->name, sizeof(a.user));
	if (l != NULL) {
		memcpy(a.application, l->program, sizeof(a.application));
		a.experiment = l->experiment;
		a.activity = l->activity;
	}
	if (a.application[0] == '\0')
		strcpy(a.application, c->is_http ? "http" : "xrootd");
	if (r != NULL)
		numbers_put(f, c, r, a.value);
	a.value[NW_ANNOUNCED_size_bytes] = f->size_bytes;
	a.value[NW_ANNOUNCED_elapsed_s] = (double)(a.t_wall_ns - a.start_wall_ns) * 1e-9;
	a.value[NW_ANNOUNCED_over] = state == NW_ANNOUNCE_END;
	a.value[NW_ANNOUNCED_slack_s] = f->slack_s;
	a.value[NW_ANNOUNCED_lost] = fmax(0, s->lost - f->lost_before);
	say(t, &a);
}

/* --- maps --- */

static void
on_user(struct take *t, struct server *s, const struct xrd_map *m)
{
	struct login *l = login_get(t, s, m->id);

	if (l == NULL)
		return;
	l->client = m->client;
	(void)xrd_map_word(m, "x", l->program, sizeof(l->program));
	(void)xrd_map_word(m, "n", l->name, sizeof(l->name));
}

static void
on_flow(struct server *s, const struct xrd_map *m)
{
	uint32_t id = (uint32_t)xrd_map_number(m, "Uc", UINT32_MAX);
	struct login *l;

	HASH_FIND(hh, s->logins, &id, sizeof(id), l);
	if (l == NULL)
		return;
	l->experiment = xrd_map_number(m, "Ec", UINT16_MAX);
	l->activity = xrd_map_number(m, "Ac", UINT16_MAX);
}

static void
path_put(struct file *f, const char *text, size_t len)
{
	fieldtext_copy(f->path, sizeof(f->path), text, len);
}

/* The newest login of a client, of the newest few: NULL without one. */
static struct login *
login_of(const struct server *s, const struct xrd_client *c)
{
	struct login *l = s->oldest_login != NULL ? s->oldest_login->prev : NULL;
	int n;

	for (n = 0; l != NULL && n < LOGINS_LOOKED_AT; n++, l = l->prev) {
		if (l->client.pid == c->pid && strcmp(l->client.user, c->user) == 0 &&
		    strcmp(l->client.host, c->host) == 0)
			return l;
		if (l == s->oldest_login)
			break;
	}
	return NULL;
}

static void
on_path(struct take *t, struct server *s, const struct xrd_map *m)
{
	struct file *f = file_get(t, s, m->id);
	struct login *l;

	if (f == NULL)
		return;
	f->client = m->client;
	f->named_wall_ns = t->d->now_wall_ns;
	path_put(f, m->rest, m->rest_len);
	if ((l = login_of(s, &m->client)) != NULL)
		l->named_wall_ns = t->d->now_wall_ns;
}

static int
map_take(struct take *t, const struct xrd_datagram *d, const char **why)
{
	struct server *s;
	struct xrd_map m;
	int rc = xrd_map_read(d, &m, why);

	if (rc < 0 || (s = server_get(t, m.sid)) == NULL)
		return rc;
	if (!number_take(t, s, STREAM_MAPS, d->seq))
		return NW_OK;
	switch (d->code) {
	case XRD_SERVER:
		s->port = (unsigned)fmax(0, (double)xrd_map_number(&m, "port", 65535));
		break;
	case XRD_USER: on_user(t, s, &m); break;
	case XRD_FLOW: on_flow(s, &m); break;
	case XRD_PATH: on_path(t, s, &m); break;
	default: break;
	}
	return NW_OK;
}

/* --- the f-stream --- */

/* The time of a record, and how wrong it may be: the first record began the window, the others lie
 * somewhere in it. */
static int64_t
record_time(const struct take *t, double *slack_s)
{
	int64_t last = t->is_first ? t->begin_wall_ns : t->end_wall_ns;
	int64_t half = (last + S_NS - t->begin_wall_ns) / 2;

	*slack_s = (double)half * 1e-9;
	return t->begin_wall_ns + half;
}

/* The open lies in the window of its record. Its map packet came at that moment, and is exact if
 * the clocks of server and box agree. */
static void
on_open(struct take *t, struct server *s, const struct xrd_record *r)
{
	struct file *f = file_get(t, s, r->id);

	if (f == NULL || f->is_open || f->is_ended)
		return;
	f->is_open = true;
	f->login = r->login;
	f->writes = r->writes;
	f->size_bytes = r->size_bytes;
	f->lost_before = s->lost;
	f->start_wall_ns = record_time(t, &f->slack_s);
	if (f->named_wall_ns > t->begin_wall_ns - S_NS &&
	    f->named_wall_ns < t->end_wall_ns + 2 * S_NS) {
		f->start_wall_ns = f->named_wall_ns;
		f->slack_s = 0;
	}
	f->t_wall_ns = f->start_wall_ns;
	if (r->path != NULL)
		path_put(f, r->path, r->path_len);
	file_say(t, f, NW_ANNOUNCE_START, NULL);
}

static void
on_moved(struct take *t, struct server *s, const struct xrd_record *r)
{
	struct file *f = file_find(s, r->id);
	bool is_end = r->type == XRD_CLOSE;
	double slack_s, before;
	int64_t at;

	if (f == NULL || f->is_ended)
		return;
	at = record_time(t, &slack_s);
	if (f->start_wall_ns == 0) /* the datagram with the open is lost, its map packet came */
		f->start_wall_ns = f->named_wall_ns;
	f->t_wall_ns = at > f->t_wall_ns ? at : f->t_wall_ns + 1;
	if (f->t_wall_ns < f->start_wall_ns)
		f->t_wall_ns = f->start_wall_ns;
	before = f->slack_s;
	f->slack_s += slack_s;
	file_say(t, f, is_end ? NW_ANNOUNCE_END : NW_ANNOUNCE_ONGOING, r);
	f->slack_s = before;
	if (is_end)
		file_end(t, f);
}

/* The login is gone, and with it the files whose close was lost. */
static void
on_gone(struct take *t, struct server *s, uint32_t login)
{
	struct file *f, *tmp;
	struct login *l;

	HASH_FIND(hh, s->logins, &login, sizeof(login), l);
	if (l == NULL)
		return;
	DL_FOREACH_SAFE(s->oldest_file, f, tmp)
	if (f->is_open && !f->is_ended && f->login == login) {
		f->t_wall_ns++;
		file_say(t, f, NW_ANNOUNCE_END, NULL);
		file_end(t, f);
	}
	login_free(t->x, l);
}

static int
files_take(struct take *t, const struct xrd_datagram *d, const char **why)
{
	const uint8_t *p = d->body, *end = p + d->len;
	struct xrd_record r;
	struct server *s;
	int rc = xrd_record_take(&p, end, &r, why);

	if (rc == NW_OK && (r.type != XRD_TIME || r.sid == 0)) {
		*why = "an f-stream of XRootD does not begin with time and server";
		rc = NW_EPROTO;
	}
	if (rc < 0 || (s = server_get(t, r.sid)) == NULL ||
	    !number_take(t, s, STREAM_FILES, d->seq))
		return rc;
	t->begin_wall_ns = r.begin_s * S_NS;
	t->end_wall_ns = (r.end_s > r.begin_s ? r.end_s : r.begin_s) * S_NS;
	for (t->is_first = true; p < end && !t->is_refused; t->is_first = false) {
		if ((rc = xrd_record_take(&p, end, &r, why)) < 0)
			return rc;
		if (r.type == XRD_OPEN)
			on_open(t, s, &r);
		else if (r.type == XRD_TRANSFER || r.type == XRD_CLOSE)
			on_moved(t, s, &r);
		else if (r.type == XRD_GONE)
			on_gone(t, s, r.id);
	}
	return NW_OK;
}

/* --- third-party copies --- */

/* The host of "prot://user@host:port/path"; the port is 0 without one. */
static void
url_read(const char *url, char host[NW_ANNOUNCE_ADDRESS_BYTES], uint16_t *port)
{
	const char *p = strstr(url, "://"), *end, *at;
	long n = 0;

	p = p != NULL ? p + 3 : url;
	end = p + strcspn(p, "/?");
	if ((at = memchr(p, '@', (size_t)(end - p))) != NULL)
		p = at + 1;
	at = *p == '[' ? memchr(p, ']', (size_t)(end - p)) : p;
	at = at != NULL ? memchr(at, ':', (size_t)(end - at)) : NULL;
	if (at != NULL)
		n = strtol(at + 1, NULL, 10);
	*port = (uint16_t)(n > 0 && n <= UINT16_MAX ? n : 0);
	xrd_host_copy(host, p, (size_t)((at != NULL ? at : end) - p));
}

/*
 * Up to 5.5 XRootD prints the low 32 bits of a copy's size (its issue 1989). The size is right
 * where no link known is fast enough for more.
 */
static bool
is_cut(const struct server *s, const struct xrd_json *j)
{
	return !s->has_whole_sizes &&
	    (double)(j->end_wall_ns - j->begin_wall_ns) * 1e-9 >= CUT_BYTES / FASTEST_BYTES_PER_S;
}

/* "v5.5.3"; any text that is no such version stands for an old one. */
static bool
version_is_whole(const char *version)
{
	unsigned major, minor;

	return sscanf(version, "v%4u.%4u", &major, &minor) == 2 &&
	    (major > 5 || (major == 5 && minor > 5));
}

/* Whether a URL has the path, with any number of slashes in front. */
static bool
url_has_path(const char *url, const char *path)
{
	const char *p = strstr(url, "://");
	size_t n;

	p = p != NULL ? strchr(p + 3, '/') : url;
	if (p == NULL)
		return false;
	p += strspn(p, "/");
	path += strspn(path, "/");
	n = strcspn(p, "?");
	return n > 0 && strlen(path) == n && memcmp(p, path, n) == 0;
}

static bool
is_of_client(const struct file *f, const struct xrd_json *j)
{
	return f->client.pid == j->pid && strcmp(f->client.user, j->user) == 0;
}

/* The only file that the client of a copy opened at its server. */
static const struct file *
file_of_client(const struct server *s, const char *url, const struct xrd_json *j)
{
	const struct file *f, *only = NULL;

	DL_FOREACH (s->oldest_file, f)
		if (is_of_client(f, j) && f->start_wall_ns < j->end_wall_ns &&
		    f->start_wall_ns > j->begin_wall_ns - CLIENT_NS && url_has_path(url, f->path)) {
			if (only != NULL)
				return NULL;
			only = f;
		}
	return only;
}

/* The only file whose bytes the other server gave to the copying server, or took. The client of the
 * copy may have opened the file there, too. */
static const struct file *
file_of_peer(const struct nw_xrootd *x, const struct server *ours, const char *host,
    const char *url, const struct xrd_json *j)
{
	const struct file *f, *only = NULL;
	const struct server *s;

	DL_FOREACH (x->longest_silent, s)
		if (is_of(s, host))
			DL_FOREACH (s->oldest_file, f)
				if (!is_of_client(f, j) && (f->has_moved || !f->is_ended) &&
				    f->start_wall_ns > j->begin_wall_ns - S_NS &&
				    f->start_wall_ns < j->end_wall_ns + S_NS &&
				    is_of(ours, f->client.host) && url_has_path(url, f->path)) {
					if (only != NULL)
						return NULL;
					only = f;
				}
	return only;
}

/* The sessions that a copy is part of: the other server's, with the bytes, and the client's. False
 * if one is not known. */
static bool
copy_group(const struct nw_xrootd *x, const struct server *s, const struct xrd_json *j,
    struct nw_announcement *a)
{
	const struct file *client = file_of_client(s, j->is_push ? j->from : j->to, j);
	const struct file *peer = file_of_peer(x, s, a->dst, j->is_push ? j->to : j->from, j);

	if (client == peer)
		client = NULL;
	if (peer != NULL)
		group_put(peer->of, peer->group_login, peer->id, a->group);
	if (client != NULL)
		group_put(
		    client->of, client->group_login, client->id, peer != NULL ? a->also : a->group);
	return client != NULL && peer != NULL;
}

/* False: the files of both servers are not known. */
static bool
copy_read(const struct nw_xrootd *x, const struct server *s, const struct xrd_json *j,
    struct nw_announcement *a)
{
	const char *ours = j->is_push ? j->from : j->to, *theirs = j->is_push ? j->to : j->from;
	char host[NW_ANNOUNCE_ADDRESS_BYTES];

	nw_announcement_init(a);
	a->form = NW_ANNOUNCE_XROOTD_TPC;
	a->state = NW_ANNOUNCE_END;
	a->start_wall_ns = j->begin_wall_ns;
	a->t_wall_ns = j->end_wall_ns;
	snprintf(a->src, sizeof(a->src), "%.*s", (int)s->source_len, s->key);
	url_read(ours, host, &a->sport);
	url_read(theirs, a->dst, &a->dport);
	snprintf(
	    a->id, sizeof(a->id), "%" PRIu64 "/%016" PRIx64, s->sid, fnv_text(FNV_BEGIN, ours));
	strcpy(a->application, "xrootd tpc");
	memcpy(a->file, ours, sizeof(a->file));
	memcpy(a->user, j->user, sizeof(a->user));
	/* copies by the program of ofs.tpc have size 0 in 5.5, and large ones a negative size */
	if (j->status == 0 && j->size_bytes > 0 && !is_cut(s, j))
		a->value[j->is_push ? NW_ANNOUNCED_bytes_out : NW_ANNOUNCED_bytes_in] =
		    (double)j->size_bytes;
	a->value[NW_ANNOUNCED_elapsed_s] = (double)(a->t_wall_ns - a->start_wall_ns) * 1e-9;
	a->value[NW_ANNOUNCED_over] = 1;
	return copy_group(x, s, j, a);
}

/* A copy waits until the files of both servers are known: the streams of a server, and of two, come
 * in any order. */
static void
copy_take(struct take *t, struct server *s, const struct xrd_json *j)
{
	struct nw_announcement a;
	struct copy *c;

	if (copy_read(t->x, s, j, &a) || t->x->n_copies == COPIES_MAX) {
		say(t, &a);
		return;
	}
	c = xcalloc(1, sizeof(*c));
	c->of = s;
	c->json = *j;
	c->came_mono_ns = t->d->now_mono_ns;
	DL_APPEND(t->x->copies, c);
	t->x->n_copies++;
}

static void
copies_say(struct nw_xrootd *x, int64_t now_mono_ns, nw_xrootd_late_fn *fn, void *arg)
{
	struct copy *c, *next;
	struct nw_announcement a;

	DL_FOREACH_SAFE(x->copies, c, next)
	if (copy_read(x, c->of, &c->json, &a) || now_mono_ns - c->came_mono_ns > COPY_NS) {
		fn(arg, a.src, &a);
		copy_free(x, c);
	}
}

/* The lines of a g-stream in JSON: its header, then records. */
static int
json_take(struct take *t, const char **why)
{
	const char *p = (const char *)t->d->bytes, *end = p + t->d->len, *line;
	struct server *s = NULL;
	struct xrd_json j;
	size_t len;
	int rc;

	for (; p < end && !t->is_refused; p += len + 1) {
		line = p;
		for (len = 0; p + len < end && p[len] != '\n' && p[len] != '\0';)
			len++;
		if (len == 0)
			continue;
		if ((rc = xrd_json_read(line, len, &j, why)) < 0)
			return rc;
		*why = "a g-stream of XRootD does not begin with its header";
		if (s == NULL) {
			if (j.code == '\0' || j.sid <= 0 || j.seq < 0)
				return NW_EPROTO;
			if ((s = server_get(t, (uint64_t)j.sid & UINT64_C(0xffffffffffff))) == NULL)
				return NW_OK;
			if (j.code == '=')
				s->has_whole_sizes = version_is_whole(j.version);
			if (j.kind != 'P' || !number_take(t, s, STREAM_COPIES, (uint8_t)j.seq))
				return NW_OK; /* or a stream that is not read */
		} else if (j.is_copy && j.begin_wall_ns != 0 && j.end_wall_ns >= j.begin_wall_ns &&
		    j.from[0] != '\0' && j.to[0] != '\0') {
			copy_take(t, s, &j);
		}
	}
	return NW_OK;
}

/* --- the whole --- */

bool
nw_xrootd_is(const uint8_t *bytes, size_t len)
{
	static const char json[] = "{\"code\":";

	if (len == 0)
		return false;
	if (bytes[0] == '{')
		return len >= sizeof(json) - 1 && memcmp(bytes, json, sizeof(json) - 1) == 0;
	return strchr("=dfgiprtTuUx", bytes[0]) != NULL && bytes[0] != '\0';
}

int
nw_xrootd_take(struct nw_xrootd *x, const struct nw_xrootd_datagram *d, nw_xrootd_fn *fn, void *arg,
    struct nw_xrootd_got *got, const char **why)
{
	struct take t = { .x = x, .d = d, .fn = fn, .arg = arg, .got = got };
	struct xrd_datagram of;
	int rc;

	memset(got, 0, sizeof(*got));
	*why = "longer than a datagram of XRootD may be";
	if (d->len > NW_XROOTD_MAX_BYTES)
		return NW_ETOOBIG;
	if (d->len > 0 && d->bytes[0] == '{')
		return json_take(&t, why);
	if ((rc = xrd_datagram_read(d->bytes, d->len, &of, why)) < 0)
		return rc;
	if (of.code == XRD_FILES)
		return files_take(&t, &of, why);
	if (strchr("=duUTi", of.code) != NULL && of.code != '\0')
		return map_take(&t, &of, why);
	return NW_OK; /* traces, redirections, stagings and binary g-streams are not read */
}

void
nw_xrootd_tick(struct nw_xrootd *x, int64_t now_mono_ns, nw_xrootd_late_fn *fn, void *arg)
{
	copies_say(x, now_mono_ns, fn, arg);
	while (
	    x->longest_silent != NULL && now_mono_ns - x->longest_silent->heard_mono_ns > SILENT_NS)
		server_free(x, x->longest_silent);
	while (x->ended != NULL && now_mono_ns - x->ended->ended_mono_ns > ENDED_NS)
		file_free(x, x->ended);
}

/* Whether a firefly can be of the login: the login opened a file at that time, which no firefly has
 * claimed. Fireflies of HTTP name no program. */
static bool
is_like(const struct login *l, const struct nw_announcement *n)
{
	return strcmp(l->client.host, n->dst) == 0 &&
	    l->client.is_http == (n->application[0] == '\0') &&
	    (l->client.is_http || strcmp(l->program, n->application) == 0) &&
	    l->named_wall_ns > n->start_wall_ns - NAMED_NS &&
	    l->named_wall_ns < n->start_wall_ns + NAMED_NS;
}

void
nw_xrootd_group(struct nw_xrootd *x, const char *source, struct nw_announcement *n)
{
	const struct server *s;
	struct login *l, *only = NULL;

	if (strcmp(n->src, source) != 0)
		return;
	DL_FOREACH (x->longest_silent, s)
		if (is_of(s, source))
			DL_FOREACH (s->oldest_login, l)
				if (is_like(l, n)) {
					if (only != NULL)
						return;
					only = l;
				}
	if (only == NULL)
		return;
	group_put(only->of, only->id, 0, n->group);
	only->named_wall_ns = 0;
}

void
nw_xrootd_file_group(
    struct nw_xrootd *x, char group[NW_ANNOUNCE_GROUP_BYTES], const struct nw_announcement *n)
{
	const struct file *f, *only = NULL;
	const struct server *s;
	const struct login *l;
	struct nw_flow_file of;

	DL_FOREACH (x->longest_silent, s)
		DL_FOREACH (s->oldest_file, f) {
			l = file_login(f);
			of = (struct nw_flow_file){ .file = f->path,
				.src = "",
				.dst = l != NULL ? l->client.host : f->client.host,
				.start_wall_ns = f->start_wall_ns };
			if (!nw_flow_file_is(&of, n))
				continue;
			if (only != NULL)
				return;
			only = f;
		}
	if (only != NULL)
		group_put(only->of, only->group_login, only->id, group);
}

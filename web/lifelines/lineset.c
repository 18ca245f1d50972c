/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading events into lines; see lineset.h. */
#include "web/lifelines/lineset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <uthash.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "web/lifelines/hostclocks.h"
#include "web/lifelines/keys.h"
#include "web/lifelines/lineclock.h"
#include "web/lifelines/linepackets.h"

enum { LABEL_BYTES = 512 };
#define BYTES_MOST 1e15 /* of an object */

struct object {
	uint32_t line;  /* newest */
	uint32_t first; /* name of the event that began the newest line */
	UT_hash_handle hh;
	char label[];
};

struct row {
	int64_t t;
	uint32_t line;
	uint16_t name, host;
};

struct reading {
	struct lineset *s;
	const struct lineset_opts *o;
	struct object *objects;
	struct linepackets packets;
	bool packets_alone; /* the lines are the packets' own */
	struct row *rows;
	size_t n_rows, cap_rows, n_lines, cap_lines, cap_side;
	uint32_t *lane;                  /* by line; UINT32_MAX: not told */
	char **label;                    /* by line */
	uint8_t *flags;                  /* by line: LINESET_FLUSH, LINESET_MEMORY */
	uint64_t *seen;                  /* by line: mask of the line's names below 64 */
	double *bytes;                   /* by line; NaN: not told */
	size_t count[LINESET_NAMES_MAX]; /* events of lines by name */
};

/* The known path: the points of the storage system (dpss(1)), and of packets on their way. */
static const char known_path[] = "APP_SEND,DPSS_MASTER_IN,DPSS_MASTER_OUT,DPSS_SERV_IN,"
				 "DPSS_START_READ,DPSS_END_READ,DPSS_START_WRITE,"
				 "ip.tx,access.tx,qdisc.enqueue,qdisc.dequeue,driver.tx,access.rx,"
				 "ip.rx,transport.rx,socket.rx,APP_RECEIVE";

/* --- one event --- */

static const struct nw_attr *
attr_find(const struct nw_event *e, const char *key)
{
	size_t i;

	for (i = 0; i < e->n_attrs; i++)
		if (strcmp(e->attrs[i].key, key) == 0)
			return &e->attrs[i];
	return NULL;
}

/* Ids of the event, in the order of the keys. Returns false if an id is missing. */
static bool
label_of(const struct reading *d, const struct nw_event *e, char *out)
{
	const struct nw_attr *a;
	size_t i, len = 0;

	for (i = 0; i < d->s->n_keys && len < LABEL_BYTES - 2; i++) {
		if ((a = attr_find(e, d->s->keys[i])) == NULL)
			return false;
		if (i > 0)
			out[len++] = ' ';
		key_text(a, out + len, LABEL_BYTES - len);
		len += strlen(out + len);
	}
	return d->s->n_keys > 0;
}

static int
line_new(struct reading *d, const char *label)
{
	size_t cap[4] = { d->cap_lines, d->cap_lines, d->cap_lines, d->cap_lines }, n = d->n_lines;

	if (!array_room(&d->lane, &cap[0], n + 1, sizeof(*d->lane)) ||
	    !array_room(&d->label, &cap[1], n + 1, sizeof(*d->label)) ||
	    !array_room(&d->flags, &cap[2], n + 1, sizeof(*d->flags)) ||
	    !array_room(&d->bytes, &cap[3], n + 1, sizeof(*d->bytes)) ||
	    !array_room(&d->seen, &d->cap_lines, n + 1, sizeof(*d->seen)) ||
	    (d->label[n] = strdup(label)) == NULL)
		return NW_ENOMEM;
	d->lane[n] = UINT32_MAX;
	d->flags[n] = 0;
	d->seen[n] = 0;
	d->bytes[n] = NAN;
	d->n_lines++;
	return NW_OK;
}

/* The object of a label; *out NULL without an error: too many lines. */
static int
object_find(struct reading *d, const char *label, uint32_t name, struct object **out)
{
	size_t len = strlen(label);
	struct object *o;

	HASH_FIND(hh, d->objects, label, len, o);
	*out = o;
	if (o != NULL || d->n_lines >= LINESET_LINES_MAX)
		return NW_OK;
	if ((o = malloc(sizeof(*o) + len + 1)) == NULL)
		return NW_ENOMEM;
	memcpy(o->label, label, len + 1);
	o->line = (uint32_t)d->n_lines;
	o->first = name;
	HASH_ADD_KEYPTR(hh, d->objects, o->label, len, o);
	*out = o;
	return line_new(d, label);
}

/* The flags of a line that an event sets by its name alone. */
static uint8_t
flags_of(const char *name)
{
	static const struct {
		const char *word;
		uint8_t flag;
	} words[] = { { "flush", LINESET_FLUSH }, { "from_memory", LINESET_MEMORY },
		{ "from.memory", LINESET_MEMORY }, { "cache_hit", LINESET_MEMORY },
		{ "cache.hit", LINESET_MEMORY } };
	uint8_t flags = 0;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		flags |= strcasestr(name, words[i].word) != NULL ? words[i].flag : 0;
	return flags;
}

static int
row_put(struct reading *d, int64_t t, uint32_t line, uint32_t name, uint32_t host)
{
	if (!array_room(&d->rows, &d->cap_rows, d->n_rows + 1, sizeof(*d->rows)))
		return NW_ENOMEM;
	d->rows[d->n_rows++] = (struct row){ t, line, (uint16_t)name, (uint16_t)host };
	d->count[name]++;
	if (name < 64)
		d->seen[line] |= UINT64_C(1) << name;
	return NW_OK;
}

/* The size of an event's object; NaN: none. */
static double
bytes_of(const struct nw_event *e)
{
	static const char *const keys[] = { "bytes", "nbytes", "size", "length", "len" };
	const struct nw_attr *a;
	double v;
	size_t i, k;

	for (k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
		for (i = 0; i < e->n_attrs; i++) {
			a = &e->attrs[i];
			if (a->is_id || strcasecmp(a->key, keys[k]) != 0)
				continue;
			v = a->type == NW_ATTR_INT    ? (double)a->v.i
			    : a->type == NW_ATTR_REAL ? a->v.d
						      : strtod(a->v.text, NULL);
			if (v > 0 && v < BYTES_MOST)
				return v;
		}
	return NAN;
}

/* The attribute of an event that names a server; NULL: none. */
static const struct nw_attr *
lane_of(const struct reading *d, const struct nw_event *e)
{
	return attr_find(e, d->o->lane != NULL && *d->o->lane != '\0' ? d->o->lane : "server");
}

static int
point_put(
    struct reading *d, const struct nw_event *e, const char *label, uint32_t name, uint32_t host)
{
	const struct nw_attr *lane = lane_of(d, e);
	uint8_t flags = flags_of(e->name);
	char text[128];
	struct object *o;
	bool tied = false;
	int rc = object_find(d, label, name, &o);

	if (rc != NW_OK || o == NULL) {
		d->s->n_left_out += rc == NW_OK;
		return rc;
	}
	if ((rc = linepackets_tie(&d->packets, e, o->line, host, &tied)) != NW_OK || tied)
		return rc;
	/* the first point again: the same event by another log, or a new line */
	if (name == o->first && name < 64 && (d->seen[o->line] & ~(UINT64_C(1) << name)) != 0 &&
	    d->n_lines < LINESET_LINES_MAX) {
		o->line = (uint32_t)d->n_lines;
		if ((rc = line_new(d, label)) != NW_OK)
			return rc;
	}
	if (lane != NULL && d->lane[o->line] == UINT32_MAX) {
		key_text(lane, text, sizeof(text));
		if ((d->lane[o->line] = linename_put(&d->s->lanes, text)) == UINT32_MAX)
			return NW_ENOMEM;
	}
	d->bytes[o->line] = fmax(d->bytes[o->line], bytes_of(e));
	d->flags[o->line] |= flags;
	if (flags != 0)
		return NW_OK;
	return row_put(d, e->t_wall_ns, o->line, name, host);
}

static int
side_put(struct reading *d, const struct nw_event *e, uint32_t name, uint32_t host)
{
	const struct nw_attr *server = lane_of(d, e);
	struct lineset *s = d->s;
	uint32_t number = NW_LINE_ANY;
	char text[128];

	if (s->n_side >= LINESET_SIDE_MAX) {
		s->n_left_out++;
		return NW_OK;
	}
	if (!array_room(&s->side, &d->cap_side, s->n_side + 1, sizeof(*s->side)))
		return NW_ENOMEM;
	if (server != NULL) {
		key_text(server, text, sizeof(text));
		if ((number = linename_put(&s->side_servers, text)) == UINT32_MAX)
			return NW_ENOMEM;
	}
	s->side[s->n_side++] = (struct lineset_side){ e->t_wall_ns, name, host, number };
	return NW_OK;
}

static int
event_put(struct reading *d, const struct nw_event *e, bool may_be_point)
{
	uint32_t name = linename_put(&d->s->names, e->name),
		 host = linename_put(&d->s->hosts, e->host != NULL ? e->host : "unknown");
	char label[LABEL_BYTES];

	bool side;
	int rc;

	if (name == UINT32_MAX || host == UINT32_MAX)
		return NW_ENOMEM;
	if (linepackets_is(e)) {
		rc = linepackets_put(&d->packets, e, name, host, &side);
		return rc == NW_OK && side ? side_put(d, e, name, host) : rc;
	}
	return may_be_point && label_of(d, e, label) ? point_put(d, e, label, name, host)
						     : side_put(d, e, name, host);
}

static int
on_event(void *arg, const struct nw_event_rec *rec)
{
	struct reading *d = arg;
	struct lineset *s = d->s;

	if (lineset_stopped(s))
		return NW_ECLOSED;
	if (s->n_events >= LINESET_EVENTS_MAX) {
		s->n_left_out++;
		return 1;
	}
	if (s->n_events++ == 0)
		s->first_wall_ns = rec->event.t_wall_ns;
	s->last_wall_ns = rec->event.t_wall_ns;
	return event_put(d, &rec->event, true);
}

/* Events of no session in the time of the session: of its hosts alone. */
static int
on_other(void *arg, const struct nw_event_rec *rec)
{
	struct reading *d = arg;

	return lineset_stopped(d->s) ? NW_ECLOSED : event_put(d, &rec->event, false);
}

/* --- points --- */

/* The most frequent names become points. Returns their number; column[name]: its number. */
static size_t
points_choose(const struct reading *d, uint32_t *name_of, uint8_t *column)
{
	size_t n = 0, name, best;

	memset(column, UINT8_MAX, LINESET_NAMES_MAX);
	for (; n < NW_LINE_POINTS_MAX && (n + 1) * d->n_lines <= LINESET_CELLS_MAX; n++) {
		for (best = LINESET_NAMES_MAX, name = 0; name < d->s->names.n; name++)
			if (d->count[name] > 0 && column[name] == UINT8_MAX &&
			    (best == LINESET_NAMES_MAX || d->count[name] > d->count[best]))
				best = name;
		if (best == LINESET_NAMES_MAX)
			break;
		column[best] = (uint8_t)n;
		name_of[n] = (uint32_t)best;
	}
	return n;
}

static void
before_count(const int64_t *t, size_t n_lines, size_t n, uint32_t *before)
{
	size_t i, a, b;

	for (i = 0; i < n_lines; i++, t += n)
		for (a = 0; a < n; a++)
			for (b = 0; t[a] != NW_LINE_NEVER && b < n; b++)
				before[a * n + b] += t[b] != NW_LINE_NEVER && t[a] < t[b];
}

/* rank by a declared list; points that the list lacks are dropped: rank UINT32_MAX. Returns how
 * many points remain. */
static size_t
path_declared(const struct lineset *s, char **words, size_t n_words, const uint32_t *name_of,
    size_t n, uint32_t *rank)
{
	size_t i, w, next = 0;

	for (i = 0; i < n; i++)
		rank[i] = UINT32_MAX;
	for (w = 0; w < n_words; w++)
		for (i = 0; i < n; i++)
			if (rank[i] == UINT32_MAX &&
			    strcmp(s->names.text[name_of[i]], words[w]) == 0)
				rank[i] = (uint32_t)next++;
	return next;
}

/* Orders the points: as declared, as known, or as learned. */
static int
path_find(struct reading *d, const uint32_t *name_of, size_t n, const int64_t *t, uint32_t *rank,
    size_t *n_left)
{
	const char *list = d->o->path != NULL && *d->o->path != '\0' ? d->o->path : known_path;
	char *words[NW_LINE_POINTS_MAX] = { NULL };
	uint32_t *before = calloc(n * n + 1, sizeof(*before));
	size_t i, n_words = 0;
	int rc =
	    before != NULL ? keys_declare(list, words, NW_LINE_POINTS_MAX, &n_words) : NW_ENOMEM;

	if (rc == NW_OK) {
		*n_left = path_declared(d->s, words, n_words, name_of, n, rank);
		d->s->path_source = list == known_path ? LINESET_KNOWN : LINESET_DECLARED;
		if (list == known_path && *n_left < n) {
			d->s->path_source = LINESET_LEARNED;
			*n_left = n;
			before_count(t, d->n_lines, n, before);
			nw_lines_path(before, n, rank);
		}
	}
	for (i = 0; i < NW_LINE_POINTS_MAX; i++)
		free(words[i]);
	free(before);
	return rc;
}

/* Times by line and column, first come; host by line and column. */
static void
rows_place(struct reading *d, const uint8_t *column, size_t n, int64_t *t, uint16_t *host)
{
	const struct row *r;
	size_t at, i;

	for (i = 0; i < d->n_lines * n; i++)
		t[i] = NW_LINE_NEVER;
	for (r = d->rows; r < d->rows + d->n_rows; r++) {
		if (column[r->name] == UINT8_MAX) {
			d->s->n_left_out++;
			continue;
		}
		at = r->line * n + column[r->name];
		if (t[at] == NW_LINE_NEVER) {
			if (__builtin_sub_overflow(r->t, d->s->clock[r->host].lead_ns, &t[at]))
				t[at] = r->t;
			host[at] = r->host;
		} else
			d->s->n_repeats += t[at] != r->t - d->s->clock[r->host].lead_ns;
	}
}

static void
columns_reorder(struct lineset *s, const int64_t *t, const uint16_t *host, const uint32_t *rank,
    size_t n, size_t n_left, uint16_t *new_host)
{
	size_t i, c, at;

	for (i = 0; i < s->lines.n; i++)
		for (c = 0; c < n; c++)
			if (rank[c] < n_left) {
				at = i * n_left + rank[c];
				s->t[at] = t[i * n + c];
				new_host[at] = host[i * n + c];
			}
}

/* --- lanes --- */

/* The point at which lines are on the most different hosts. */
static size_t
point_of_hosts(const struct lineset *s, const uint16_t *host, uint32_t *seen)
{
	size_t p, i, best = 0, most = 0, count, stamp = 0;

	for (p = 0; p < s->lines.n_points; p++) {
		for (stamp++, count = 0, i = 0; i < s->lines.n; i++) {
			size_t at = i * s->lines.n_points + p;

			if (s->t[at] != NW_LINE_NEVER && seen[host[at]] != stamp) {
				seen[host[at]] = (uint32_t)stamp;
				count++;
			}
		}
		if (count > most) {
			most = count;
			best = p;
		}
	}
	return best;
}

static int
lanes_by_host(struct lineset *s, const uint16_t *host)
{
	uint32_t *seen = calloc(s->hosts.n + 1, sizeof(*seen));
	size_t i, at, p = seen != NULL ? point_of_hosts(s, host, seen) : 0;

	free(seen);
	if (seen == NULL)
		return NW_ENOMEM;
	snprintf(s->lane_key, sizeof(s->lane_key), "host");
	for (i = 0; i < s->lines.n; i++) {
		at = i * s->lines.n_points + p;
		s->lane[i] = linename_put(
		    &s->lanes, s->t[at] != NW_LINE_NEVER ? s->hosts.text[host[at]] : "unknown");
		if (s->lane[i] == UINT32_MAX)
			return NW_ENOMEM;
	}
	return NW_OK;
}

/* The lane of each host that lines of one lane alone pass; NW_LINE_ANY: none, or of several. */
static void
lane_of_hosts(const struct lineset *s, const uint16_t *host, uint32_t *lane, bool *several)
{
	size_t i, at, points = s->lines.n_points;

	for (i = 0; i < s->hosts.n; i++)
		lane[i] = NW_LINE_ANY;
	for (at = 0; at < s->lines.n * points; at++) {
		i = s->lane[at / points];
		if (s->t[at] == NW_LINE_NEVER || i == NW_LINE_ANY)
			continue;
		several[host[at]] |= lane[host[at]] != NW_LINE_ANY && lane[host[at]] != i;
		lane[host[at]] = (uint32_t)i;
	}
	for (i = 0; i < s->hosts.n; i++)
		if (several[i])
			lane[i] = NW_LINE_ANY;
}

/* A line may end before an event names a server. On a host that the lines of a single server pass,
 * such a line belongs to the server. */
static int
lanes_complete(struct lineset *s, const uint16_t *host)
{
	uint32_t *lane = calloc(s->hosts.n + 1, sizeof(*lane));
	bool *several = calloc(s->hosts.n + 1, sizeof(*several));
	bool both = lane != NULL && several != NULL;
	size_t i, p, at;

	if (both)
		lane_of_hosts(s, host, lane, several);
	for (i = 0; both && s->lanes.n > 1 && i < s->lines.n; i++)
		for (p = 0; p < s->lines.n_points && s->lane[i] == NW_LINE_ANY; p++) {
			at = i * s->lines.n_points + p;
			if (s->t[at] != NW_LINE_NEVER)
				s->lane[i] = lane[host[at]];
		}
	free(lane);
	free(several);
	return both ? NW_OK : NW_ENOMEM;
}

static int
lanes_find(struct reading *d, const uint16_t *host)
{
	struct lineset *s = d->s;
	bool asked = d->o->lane != NULL && *d->o->lane != '\0';
	size_t i, p;
	int rc = NW_OK;

	if (s->lanes.n == 0 && s->lines.n_points > 0)
		rc = lanes_by_host(s, host);
	else
		snprintf(s->lane_key, sizeof(s->lane_key), "%s",
		    d->packets_alone ? "flow"
			: asked      ? d->o->lane
				     : "server");
	if (rc == NW_OK)
		rc = lanes_complete(s, host);
	s->lane_unknown = NW_LINE_ANY;
	for (i = 0; i < s->lines.n && rc == NW_OK; i++)
		if (s->lane[i] == NW_LINE_ANY) {
			s->lane[i] = s->lane_unknown = linename_put(&s->lanes, "unknown");
			rc = s->lane[i] != UINT32_MAX ? NW_OK : NW_ENOMEM;
		}
	if (rc == NW_OK)
		s->lane_host = calloc(s->lanes.n * s->lines.n_points + 1, sizeof(*s->lane_host));
	if (rc != NW_OK || s->lane_host == NULL)
		return NW_ENOMEM;
	for (i = s->lines.n; i-- > 0;)
		for (p = 0; p < s->lines.n_points; p++)
			if (s->t[i * s->lines.n_points + p] != NW_LINE_NEVER)
				s->lane_host[s->lane[i] * s->lines.n_points + p] =
				    host[i * s->lines.n_points + p];
	return NW_OK;
}

/* --- all of it --- */

static void
states_find(struct lineset *s, const uint8_t *flags)
{
	size_t i;

	for (i = 0; i < s->lines.n; i++)
		s->state[i] = s->lines.n_points > 0 && isfinite(nw_line_total(&s->lines, i))
		    ? LINESET_FINISHED
		    : flags[i] & LINESET_FLUSH ? LINESET_FLUSHED
					       : LINESET_UNFINISHED;
}

static void
lines_point(struct lineset *s)
{
	s->lines.n_lanes = s->lanes.n;
	s->lines.n_hosts = s->hosts.n;
	s->lines.t_ns = s->t;
	s->lines.lane = s->lane;
	s->lines.host = s->lane_host;
	s->lines.bound_s = s->bound;
}

/* Takes lane and label from the reading, and fills the rest of the set. */
static int
lines_make(struct reading *d)
{
	uint32_t name_of[NW_LINE_POINTS_MAX], rank[NW_LINE_POINTS_MAX] = { 0 };
	uint8_t column[LINESET_NAMES_MAX];
	size_t n = points_choose(d, name_of, column), n_left = 0, c, cells = d->n_lines * n + 1;
	struct lineset *s = d->s;
	int64_t *t = calloc(cells, sizeof(*t));
	uint16_t *host = calloc(cells, sizeof(*host)), *new_host = calloc(cells, sizeof(*host));
	int rc = NW_ENOMEM;

	s->t = calloc(cells, sizeof(*s->t));
	s->state = calloc(d->n_lines + 1, sizeof(*s->state));
	if (t != NULL && host != NULL && new_host != NULL && s->t != NULL && s->state != NULL) {
		rows_place(d, column, n, t, host);
		rc = path_find(d, name_of, n, t, rank, &n_left);
	}
	if (rc == NW_OK) {
		for (c = 0; c < n; c++)
			if (rank[c] < n_left)
				s->point_name[rank[c]] = name_of[c];
		s->lines =
		    (struct nw_lines){ .n = n_left > 0 ? d->n_lines : 0, .n_points = n_left };
		columns_reorder(s, t, host, rank, n, n_left, new_host);
		rc = lanes_find(d, new_host);
	}
	if (rc == NW_OK) {
		lines_point(s);
		rc = lineclock_settle(s, new_host, d->o->raw);
	}
	if (rc == NW_OK)
		states_find(s, s->flags);
	free(t);
	free(host);
	free(new_host);
	return rc;
}

static int
clocks_fill(struct store_reader *r, struct lineset *s, bool raw)
{
	size_t i;
	int rc;

	s->clock = calloc(s->hosts.n + 1, sizeof(*s->clock));
	s->bound = calloc(s->hosts.n + 1, sizeof(*s->bound));
	if (s->clock == NULL || s->bound == NULL)
		return NW_ENOMEM;
	if ((rc = hostclocks_read(r, s)) != NW_OK)
		return rc;
	for (i = 0; i < s->hosts.n; i++)
		s->bound[i] = hostclock_settle(&s->clock[i], raw);

	return NW_OK;
}

static void
reading_clear(struct reading *d)
{
	struct object *o, *next;
	size_t i;

	HASH_ITER (hh, d->objects, o, next) {
		HASH_DEL(d->objects, o);
		free(o);
	}
	for (i = 0; i < d->n_lines && d->s->label == NULL; i++)
		free(d->label[i]);
	if (d->s->label == NULL)
		free(d->label);
	if (d->s->lane == NULL)
		free(d->lane);
	if (d->s->bytes == NULL)
		free(d->bytes);
	if (d->s->flags == NULL)
		free(d->flags);
	linepackets_clear(&d->packets);
	free(d->rows);
	free(d->seen);
}

static int
by_time(const void *a, const void *b)
{
	const struct lineset_side *x = a, *y = b;

	return (x->t_wall_ns > y->t_wall_ns) - (x->t_wall_ns < y->t_wall_ns);
}

static void
sides_correct(struct lineset *s)
{
	size_t i;

	for (i = 0; i < s->n_side; i++)
		if (__builtin_sub_overflow(s->side[i].t_wall_ns,
			lineclock_lead_ns(&s->clock[s->side[i].host], s->side[i].t_wall_ns),
			&s->side[i].t_wall_ns))
			s->side[i].t_wall_ns = INT64_MAX;
	if (s->n_side > 1)
		qsort(s->side, s->n_side, sizeof(*s->side), by_time);
}

static int
on_note(void *arg, const struct nw_note_rec *rec)
{
	struct lineset *s = arg;
	struct lineset_note *n;

	if (rec->line[0] == STORE_NOTE_OTHER)
		return NW_OK;
	n = reallocarray(s->notes, s->n_notes + 1, sizeof(*n));
	if (n == NULL)
		return NW_ENOMEM;
	s->notes = n;
	n += s->n_notes;
	*n = (struct lineset_note){ rec->id, rec->t_wall_ns, strdup(rec->line), strdup(rec->point),
		strdup(rec->text) };
	s->n_notes++;
	return n->line != NULL && n->point != NULL && n->text != NULL ? NW_OK : NW_ENOMEM;
}

static void
notes_clear(struct lineset *s)
{
	size_t i;

	for (i = 0; i < s->n_notes; i++) {
		free(s->notes[i].line);
		free(s->notes[i].point);
		free(s->notes[i].text);
	}
	free(s->notes);
	s->notes = NULL;
	s->n_notes = 0;
}

int
lineset_notes(struct store_reader *r, struct lineset *s)
{
	notes_clear(s);
	return store_notes(r, s->session_id, on_note, s);
}

static int
events_read(struct store_reader *r, struct reading *d)
{
	struct lineset *s = d->s;
	const struct nw_event_select own = { .session_id = s->session_id };
	int rc = store_events(r, &own, on_event, d);

	if (rc == NW_OK && s->n_events > 0 && s->last_wall_ns < INT64_MAX) {
		const struct nw_event_select others = { .session_id = STORE_SESSION_NONE,
			.from_wall_ns = s->first_wall_ns,
			.to_wall_ns = s->last_wall_ns + 1 };

		rc = store_events(r, &others, on_other, d);
	}
	return rc;
}

/* --- packets --- */

static int
on_packet_line(void *arg, const char *label, const char *flow, uint32_t *line)
{
	struct reading *d = arg;
	int rc = d->n_lines < LINESET_LINES_MAX ? line_new(d, label) : NW_EFULL;

	if (rc != NW_OK)
		return rc;
	*line = (uint32_t)d->n_lines - 1;
	d->lane[*line] = linename_put(&d->s->lanes, flow);
	return d->lane[*line] != UINT32_MAX ? NW_OK : NW_ENOMEM;
}

static int
on_packet_point(void *arg, int64_t t_wall_ns, uint32_t line, uint32_t name, uint32_t host)
{
	struct reading *d = arg;

	/* the program's own event tells its read better than the end of the call */
	if (!d->packets_alone && strcmp(d->s->names.text[name], "socket.rx") == 0)
		return NW_OK;
	return row_put(d, t_wall_ns, line, name, host);
}

/* A recording alone has no objects: each write to a socket, or packet, is a line then. */
static int
packets_join(struct reading *d)
{
	struct lineset *s = d->s;
	int rc = NW_OK;

	if (d->packets.n == 0)
		return NW_OK;
	if (d->n_lines == 0) {
		d->packets_alone = true;
		rc = linepackets_lines(&d->packets, &s->names, on_packet_line, d);
		if (rc == NW_EFULL)
			rc = NW_OK;
	}
	return rc == NW_OK ? linepackets_join(&d->packets, &s->names, on_packet_point, d) : rc;
}

/* What the lines say of the clocks, of the times as they are used. */
static int
causal_fill(struct lineset *s)
{
	struct nw_line_clock *c = calloc(s->hosts.n + 1, sizeof(*c));
	size_t i;

	if (c == NULL)
		return NW_ENOMEM;
	if (s->lines.n_points > 0)
		nw_lines_clocks(&s->lines, c);
	for (i = 0; i < s->hosts.n; i++)
		s->clock[i].causal = c[i];
	free(c);
	return NW_OK;
}

int
lineset_load(
    struct store_reader *r, int64_t session_id, const struct lineset_opts *o, struct lineset **out)
{
	struct lineset *s = calloc(1, sizeof(*s));
	struct reading *d = calloc(1, sizeof(*d));
	int rc = s != NULL && d != NULL ? NW_OK : NW_ENOMEM;

	if (rc == NW_OK) {
		s->session_id = session_id;
		s->stop = o->stop;
		*d = (struct reading){ .s = s, .o = o };
		rc = keys_find(r, o, s);
	}
	if (rc == NW_OK)
		rc = events_read(r, d);
	if (rc == NW_OK)
		rc = packets_join(d);
	if (rc == NW_OK)
		rc = lineset_notes(r, s);
	if (rc == NW_OK)
		rc = clocks_fill(r, s, o->raw);
	if (rc == NW_OK) {
		s->lane = d->lane;
		s->label = d->label;
		s->bytes = d->bytes;
		s->flags = d->flags;
		s->n_labels = d->n_lines;
		rc = lines_make(d);
		sides_correct(s);
	}
	if (rc == NW_OK)
		rc = lineset_stopped(s) ? NW_ECLOSED : causal_fill(s);
	if (d != NULL)
		reading_clear(d);
	free(d);
	if (rc != NW_OK) {
		lineset_free(s);
		s = NULL;
	}
	*out = s;
	return rc;
}

void
lineset_free(struct lineset *s)
{
	size_t i;

	if (s == NULL)
		return;
	for (i = 0; s->label != NULL && i < s->n_labels; i++)
		free(s->label[i]);
	for (i = 0; i < s->n_keys; i++)
		free(s->keys[i]);
	notes_clear(s);
	linenames_clear(&s->names);
	linenames_clear(&s->hosts);
	linenames_clear(&s->lanes);
	linenames_clear(&s->side_servers);
	free(s->label);
	free(s->t);
	free(s->lane);
	free(s->lane_host);
	free(s->bound);
	free(s->state);
	free(s->bytes);
	free(s->flags);
	free(s->clock);
	free(s->wrong);
	free(s->side);
	free(s);
}

const char *
lineset_point(const struct lineset *s, unsigned point)
{
	return s->names.text[s->point_name[point]];
}

const char *
lineset_host(const struct lineset *s, size_t line, unsigned point)
{
	return s->hosts.text[s->lane_host[s->lane[line] * s->lines.n_points + point]];
}

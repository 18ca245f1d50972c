/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The series that one sender has described: metadata in, series out. The catalogue resolves what
 * documents leave open (which of several series with one id reports, the times of rows that carry
 * only a number, what a series inherits from its parents), and holds documents whose metadata has
 * not arrived.
 *
 * A sender fills the catalogue: every function that takes memory returns NW_ENOMEM instead of
 * ending the program, and `bytes` says what the catalogue holds. No clock, no store; one thread.
 */
#ifndef NARROWS_CATALOG_H
#define NARROWS_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uthash.h>

#include "narrows/doc.h"

struct held;
struct json_t;
struct session;

enum { CATALOG_HELD_MAX_BYTES = 256 << 10, CATALOG_LAYOUTS_MAX = 16, CATALOG_FIELDS_MAX = 256 };

/* Fields that arrive together; the newest layout of a series has every field seen so far. */
struct layout {
	int64_t id;
	size_t n_fields;
	char **fields;
};

/* One metadata of one sender. */
struct series {
	char *mid; /* hash key */
	char *event_type, *pid, *params_json, *subject_json;
	struct json_t
	    *whole_subject;       /* own subject over the transfer's; NULL if that adds nothing */
	char *inherited_json;     /* text of whole_subject */
	char *task_id, *hostname; /* own or inherited text */
	double dt_s, ts_s;        /* interval and base time, own or inherited */
	struct layout layout;
	unsigned n_layouts;
	int64_t last_wall_ns; /* time of the series' newest row, 0 before the first row */
	int64_t waited_ns;    /* pause between the last two reports, 0 while fewer are known */
	int64_t next_sample;  /* number that follows the newest row's, where rows have numbers */
	struct series *older; /* series with the same mid but another event type or parameters */
	size_t bytes;         /* memory of this series */
	UT_hash_handle hh;

	/* fields of the catalogue's user; the catalogue clears them in a new series */
	int64_t meta_id;
	struct session *session; /* session that the series feeds, NULL for a host's own series */
	bool witness;            /* the sender reports about another sender's transfer */
};

struct catalog {
	struct series *series;                 /* newest series of each mid */
	size_t n_series, series_max, n_fields; /* n_fields: sum over the newest layouts */
	struct held *held;
	size_t n_held, held_bytes;
	size_t bytes;                           /* memory of series and held documents */
	void (*on_forget)(struct series *gone); /* called before a series is freed; may be NULL */
};

void catalog_init(struct catalog *c, size_t series_max, void (*on_forget)(struct series *gone));
/* Forgets all series and held documents; the catalogue is empty and usable. */
void catalog_clear(struct catalog *c);

/* Newest series of a mid (with that event type unless event_type is NULL), or NULL. */
struct series *catalog_find(struct catalog *c, const char *mid, const char *event_type);
/*
 * Finds or makes the series that m describes; *is_new tells which. NW_ETOOBIG at series_max,
 * NW_ENOMEM.
 */
int catalog_add(struct catalog *c, const struct nw_meta *m, struct series **out, bool *is_new);
/*
 * Forgets every series but `keep` for which is_over returns true. Returns the number of forgotten
 * series.
 */
size_t catalog_prune(struct catalog *c, const struct series *keep,
    bool (*is_over)(struct series *s, int64_t now_wall_ns), int64_t now_wall_ns);

/*
 * Series that a data document belongs to, NULL if its metadata is unknown. Calipers of one file or
 * connection share an id, and their data of generation 3 do not say which caliper reports: then the
 * series is the one whose report can have begun where this report begins. Times must be sane.
 */
struct series *catalog_series_of(struct catalog *c, const struct nw_data *d);
/* False for a time before 1970 or after 2199: a mistake with which arithmetic would overflow. */
bool data_times_are_sane(const struct nw_data *d);
/* Time of one row, from the row or from its number; without either now_wall_ns. The series
 * remembers the row as its newest. */
int64_t series_row_time(struct series *s, const struct nw_data *d, size_t row, int64_t now_wall_ns);
/* Adds to `subject` what only the transfer's metadata says; the text lives as long as s. */
void series_subject(const struct series *s, struct nw_subject *subject);

/*
 * Column of each field of d in the series' layout, written to where[d->n_fields]. False if a field
 * is not in the layout.
 */
bool layout_map(const struct layout *l, const struct nw_data *d, uint32_t *where);
/*
 * Puts the fields of d that the layout lacks behind its fields. The caller gives the layout a new
 * id; older rows keep the old one. NW_ENOMEM.
 */
int layout_extend(struct catalog *c, struct series *s, const struct nw_data *d);

/* Holds a document until metadata `mid` arrives. NW_EFULL, NW_ENOMEM. */
int catalog_hold(struct catalog *c, const char *mid, uint16_t opt, const uint8_t *doc, size_t len);
/* Takes out the next document held for mid; the caller frees it. NULL without a further one. */
uint8_t *catalog_held_take(struct catalog *c, const char *mid, uint16_t *opt, size_t *len);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Import: files that others (and we) wrote, into the box.
 *
 *	FILE --a parser--> series and values --grouped into rows--> documents in a spool --whole and valid--> the box
 *
 * A parser walks over the bytes once and says what it finds; the first thing that is wrong ends
 * everything, with "file:line:column: why". Nothing reaches a store before the last byte was right.
 * Series stay in memory, rows do not.
 *
 * Text handed in is copied unless said otherwise. Memory that ends is fatal. One thread.
 */
#ifndef IMPORT_H
#define IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>
#include <uthash.h>

#include "cli/stat/stat.h"
#include "narrows/catalog.h"
#include "narrows/doc.h"

enum {
	IMPORT_FIELDS_MAX = 10000, /* of one host: what a box takes unless it is told otherwise */
	/* of one series: so often may a field come that was not there before */
	IMPORT_LAYOUTS_MAX = 16,
	IMPORT_ROW_FIELDS_MAX = 250,
	IMPORT_TEXT_MAX_BYTES = 4096,
};

struct slice {
	const char *s;
	size_t len;
};

struct import_field {
	char *name;
	bool set;
	double value;
};

struct import_series {
	char *key;                    /* hash key: what tells it from others in this file */
	const char *at;               /* where in the file it was met first */
	size_t host;                  /* index into hosts */
	char *mid, *pid, *event_type; /* pid may be NULL */
	json_t *subject, *params;     /* objects for the parser to fill */
	struct import_field *fields;
	size_t n_fields, n_sent, n_set; /* n_sent: fields that some document had */
	unsigned n_layouts;
	int64_t t_wall_ns; /* of the row being made, when n_set > 0 */
	uint8_t *hist;     /* of that row, or NULL */
	size_t hist_len;
	UT_hash_handle hh;
};

struct import_host {
	char *name, *sender; /* sender NULL: all of that host are one */
	size_t n_fields;
	uint64_t n_docs; /* with data */
	struct catalog catalog; /* series of documents that are sent as they came */
};

struct import {
	const char *name, *bytes, *end; /* the file */
	char *session; /* NULL until known; may stay so: then all belongs to the hosts */
	char *host;    /* of what does not say */
	struct import_series *series;
	struct import_host *hosts;
	size_t n_hosts;
	FILE *spool;                   /* struct spooled and the document, one after the other */
	uint64_t n_values, n_left_out; /* left out: what a box takes for "no value" */
	uint64_t hash[2];              /* of all that was spooled */
	int64_t t_min_wall_ns, t_max_wall_ns;
	struct nw_doc_buf doc;
	struct stat_error *err;
};

struct spooled {
	uint32_t host, opt, len;
}; /* opt: NW_OPT_META, NW_OPT_DATA */

/* --- a whole import: import.c --- */

/* session and host may be NULL. The bytes and err must outlive it. */
void import_init(struct import *im, const char *name, const char *bytes, size_t len,
    const char *session, const char *host, struct stat_error *err);
void import_clear(struct import *im);
/* Parses everything; format NULL: found out. NW_OK, or NW_EPROTO and what else is in err. */
int import_parse(struct import *im, const char *format);
/* A metadata document of a parsed series into im->doc. */
void import_meta(struct import *im, const struct import_series *s);
/* --- for parsers --- */

/* "file:line:column: ..." of a place in the file. Returns NW_EPROTO. */
int import_fail(struct import *im, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* What jansson says of a text in the file. */
int import_fail_json(struct import *im, struct slice text, const json_error_t *e);
struct import_series *import_series_find(struct import *im, const char *key, size_t len);
/* A new one; host empty: the import's. NULL, and err says why. */
struct import_series *import_series_add(struct import *im, const char *at, struct slice key,
    struct slice host, struct slice event_type);
/* One value; values of one series and time become one row, until a field comes twice. */
int import_value(struct import *im, struct import_series *s, const char *at, int64_t t_wall_ns,
    struct slice field, double value);
/* The histogram of the row of that time, after its values, as narrows/hist.h has it. A row without
 * values has none. */
int import_hist(struct import *im, struct import_series *s, const char *at, int64_t t_wall_ns,
    const uint8_t *hist, size_t len);
/* Sets a text in an object of a series; an empty value is not set. */
int
import_set(struct import *im, const char *at, json_t *object, struct slice key, struct slice value);
void import_set_unit(struct import_series *s, struct slice field, const char *unit);

/* The next line, without its end. False behind the last. */
bool import_line(const char **at, const char *end, struct slice *line);
/* A copy of text for a document: 1 to max bytes of UTF-8 without NUL. NULL, and err says what is
 * wrong with the "what". free() it. */
char *import_text_take(
    struct import *im, const char *at, struct slice text, const char *what, size_t max);
bool slice_is(struct slice a, const char *text);
bool slice_starts(struct slice a, const char *text);
static inline struct slice
slice_of(const char *text)
{
	return (struct slice){ text, __builtin_strlen(text) };
}

/* Of the host, or of one of several senders there. */
size_t import_host_index(struct import *im, const char *name, const char *sender);
/* A document that is to be sent as it is. */
int import_spool(struct import *im, size_t host, uint16_t opt, const uint8_t *doc, size_t len);

/* Ends the row in hand of a series: the row goes to the spool. */
int import_row_flush(struct import *im, struct import_series *s, const char *at);
/* Whether a box would take the metadata of a series. */
int import_meta_check(struct import *im, const struct import_series *s);
void import_series_free(struct import_series *s);

/* --- import_value.c: numbers and times as others write them --- */

/* A decimal number, or Inf, NaN (any case). False: neither. */
bool import_number(struct slice text, double *v);
bool import_integer(struct slice text, int64_t *v);
/* ISO 8601 in UTC, with T or a blank between date and time, Z optional; or seconds since 1970 with
 * a fraction. */
bool import_time(struct slice text, int64_t *t_wall_ns);
/*
 * 20260504100431.204417. Old servers wrote microseconds without leading zeros: .2102 is 0.002102 s, so fewer than six
 * digits are padded on the left.
 */
bool import_time_ulm(struct slice text, int64_t *t_wall_ns);

/* --- parsers --- */

int import_tidy(struct import *im);
int import_wide(struct import *im);
int import_keys(struct import *im);
int import_keys_long(struct import *im);
int import_ndjson(struct import *im);
int import_sadf(struct import *im);
int import_influx(struct import *im);
int import_bp(struct import *im);
int import_ulm(struct import *im);
int import_bson(struct import *im);
bool import_is_bson(const struct import *im);

/* --- where it goes; both say on err why not --- */

struct progress;
struct import_done {
	uint64_t n_docs, n_known;
}; /* n_known: had been imported before */

/* To a box, "host/port"; NW_OK once it says that all is stored. import_xsp.c */
int import_to_box(struct import *im, const char *box, struct progress *p, struct import_done *done);
/* Into the store of a directory where no box runs. import_store.c */
int
import_to_store(struct import *im, const char *path, struct progress *p, struct import_done *done);
/* The provider id of a host's part: the same file with the same names is the same provider. */
void import_provider(const struct import *im, size_t host, char out[64]);

#endif

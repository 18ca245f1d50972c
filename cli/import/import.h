/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Import: files of other programs, and exported files, into the box.
 *
 *	FILE --a parser--> series and values --into rows--> documents in a spool --> the box
 *
 * A parser walks over the bytes once and reports series and values; the first error ends the import
 * with "file:line:column: why". Nothing reaches a store before the last byte was right. Series stay
 * in memory, rows do not.
 *
 * Text arguments are copied unless a comment says otherwise. Lack of memory is fatal. One thread.
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
	IMPORT_FIELDS_MAX = 10000, /* series of one host: the default limit of a box */
	/* layouts of one series: limit of late new fields */
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
	char *key;                    /* hash key, unique in this file */
	const char *at;               /* first place in the file */
	size_t host;                  /* index into hosts */
	char *mid, *pid, *event_type; /* pid may be NULL */
	json_t *subject, *params;     /* objects for the parser to fill */
	struct import_field *fields;
	size_t n_fields, n_sent, n_set; /* n_sent: fields of any document so far */
	unsigned n_layouts;
	int64_t t_wall_ns; /* of the row being made, when n_set > 0 */
	uint8_t *hist;     /* histogram of the same row, or NULL */
	size_t hist_len;
	UT_hash_handle hh;
};

struct import_host {
	char *name, *sender; /* sender: NULL where the host has one sender */
	size_t n_fields;
	uint64_t n_docs;        /* with data */
	struct catalog catalog; /* series of documents that are sent unchanged */
};

struct import {
	const char *name, *bytes, *end; /* the file */
	/* pages of the file before this place are given back; NULL keeps all pages, of a file that
	 * is not mapped */
	const char *released;
	char *session; /* NULL until known; may stay so: then all belongs to the hosts */
	char *host;    /* host of rows without a host */
	struct import_series *series;
	struct import_host *hosts;
	size_t n_hosts;
	FILE *spool;                   /* alternating struct spooled and document */
	uint64_t n_values, n_left_out; /* n_left_out: values that a box takes for "no value" */
	uint64_t n_events, n_bad_lines;
	char bad_line[768]; /* the first line that is no event: where, why, its beginning */
	uint64_t hash[2];   /* hash of all spooled bytes */
	int64_t t_min_wall_ns, t_max_wall_ns;
	struct nw_doc_buf doc;
	struct stat_error *err;
};

struct spooled {
	uint32_t host, opt, len;
}; /* opt: NW_OPT_META, NW_OPT_DATA */

/* --- a whole import: import.c --- */

/* session and host may be NULL. The bytes and err outlive the import. */
void import_init(struct import *im, const char *name, const char *bytes, size_t len,
    const char *session, const char *host, struct stat_error *err);
void import_clear(struct import *im);
/* Parses the whole file; format NULL means "find out". NW_OK, or NW_EPROTO and other codes with
 * a text in err. */
int import_parse(struct import *im, const char *format);
/* A metadata document of a parsed series into im->doc. */
void import_meta(struct import *im, const struct import_series *s);
/* --- for parsers --- */

/* "file:line:column: ..." of a place in the file. Returns NW_EPROTO. */
int import_fail(struct import *im, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, with jansson's message about a text in the file. */
int import_fail_json(struct import *im, struct slice text, const json_error_t *e);
struct import_series *import_series_find(struct import *im, const char *key, size_t len);
/* Adds a series; an empty host means the import's host. NULL on failure, with the reason in err. */
struct import_series *import_series_add(struct import *im, const char *at, struct slice key,
    struct slice host, struct slice event_type);
/* Names a series by the sender's id, or "id@key" where another series of the host has the id. */
void
import_series_name(struct import *im, struct import_series *s, const char *id, struct slice key);
/* Adds a value. Values of one series and time form one row, until a field repeats. */
int import_value(struct import *im, struct import_series *s, const char *at, int64_t t_wall_ns,
    struct slice field, double value);
/* Adds the histogram (narrows/hist.h) of the row at t_wall_ns, behind the row's values. A row
 * without values has no histogram. */
int import_hist(struct import *im, struct import_series *s, const char *at, int64_t t_wall_ns,
    const uint8_t *hist, size_t len);
/* The same from hexadecimal digits. */
int import_hist_hex(
    struct import *im, struct import_series *s, const char *at, int64_t t_wall_ns, const char *hex);
/* Sets a text in an object of a series; an empty value is not set. */
int
import_set(struct import *im, const char *at, json_t *object, struct slice key, struct slice value);
void import_set_unit(struct import_series *s, struct slice field, const char *unit);

/* Takes the next line, without its end. False behind the last line. */
bool import_line(const char **at, const char *end, struct slice *line);
/* Copies text for a document: 1 to max bytes of UTF-8 without NUL. NULL on failure; err names
 * the "what" and the fault. free() the copy. */
char *import_text_take(
    struct import *im, const char *at, struct slice text, const char *what, size_t max);
bool slice_is(struct slice a, const char *text);
bool slice_starts(struct slice a, const char *text);
static inline struct slice
slice_of(const char *text)
{
	return (struct slice){ text, __builtin_strlen(text) };
}

/* Index of a host, or of one of several senders on a host. */
size_t import_host_index(struct import *im, const char *name, const char *sender);
/* Spools a document for sending unchanged. */
int import_spool(struct import *im, size_t host, uint16_t opt, const uint8_t *doc, size_t len);

/* Ends the row in hand of a series: the row goes to the spool. */
int import_row_flush(struct import *im, struct import_series *s, const char *at);
/* --- events: import_events.c --- */

struct nw_event;
struct nw_events;
struct import_events { /* im is the caller's to set, the rest is zero before begin */
	struct import *im;
	struct nw_events *block; /* in hand */
	size_t host;             /* index of the sender */
};
int import_events_begin(struct import_events *to, const char *host);
/* NW_EINVAL: no event for a block. Other codes come with a text in err. */
int import_events_put(struct import_events *to, const struct nw_event *e);
/* Ends also after an error rc; returns that rc. */
int import_events_end(struct import_events *to, int rc);

/* Whether a box would take the metadata of a series. */
int import_meta_check(struct import *im, const struct import_series *s);
void import_series_free(struct import_series *s);

/* --- import_value.c: numbers and times in foreign notations --- */

/* A decimal number, or Inf, NaN (any case). Returns false for any other text. */
bool import_number(struct slice text, double *v);
bool import_integer(struct slice text, int64_t *v);
/* ISO 8601 in UTC, with T or a blank between date and time, Z optional; or seconds since 1970 with
 * a fraction. */
bool import_time(struct slice text, int64_t *t_wall_ns);
/*
 * 20260504100431.204417. Old servers wrote microseconds without leading zeros: .2102 is 0.002102 s,
 * so fewer than six digits are padded on the left.
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
int import_events(struct import *im);
int import_magnet(struct import *im);
bool import_is_magnet(const struct import *im);
/* Whether one of the first lines is an event. */
bool import_is_events(const struct import *im);
int import_report(struct import *im);
bool import_is_report(const struct import *im);
int import_ulm(struct import *im);
int import_g0(struct import *im);
bool import_is_g0(const struct import *im);
int import_nmwg(struct import *im);
bool import_is_nmwg(const struct import *im);
int import_bson(struct import *im);
bool import_is_bson(const struct import *im);

/* --- active tests: import_pscheduler.c --- */

/* Whether the file begins as results of pScheduler's tests do. */
bool import_is_pscheduler(const struct import *im);
/*
 * Reads the whole file, and keeps its tests in a store, which a box may have open; path NULL: reads
 * alone. Prints what became of the tests. NW_EPROTO and other codes with a text in err.
 */
int import_pscheduler(struct import *im, const char *path);

/* --- targets; both write their reason to err --- */

struct progress;
struct import_done {
	uint64_t n_docs, n_known;
}; /* n_known: had been imported before */

/* Sends to a box at "host/port"; NW_OK after the box has stored everything. import_xsp.c */
int import_to_box(struct import *im, const char *box, struct progress *p, struct import_done *done);
/* Into the store of a directory where no box runs. import_store.c */
int
import_to_store(struct import *im, const char *path, struct progress *p, struct import_done *done);
/* The provider id of a host's part: the same file with the same names is the same provider. */
void import_provider(const struct import *im, size_t host, char out[64]);

#endif

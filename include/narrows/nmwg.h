/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages and store files of NM-WG, the XML of perfSONAR until 2015: metadata and data of
 * measurements, found at any place of a file, also within an envelope of SOAP.
 *
 * Namespaces of NM-WG begin alike (NMWG_SPACE) and end with the name of a tool; the reader looks at
 * local names within those namespaces. Narrows' own files carry attributes of a further namespace
 * (NMWG_OWN), which keep what NM-WG has no place for:
 *
 *	host, id, pid   attributes of a metadata: its host, its id and its parent's id in the box
 *	of="subject"    attribute of a parameter that belongs to the subject
 *	json="1"        attribute of a parameter whose value is JSON and not text
 */
#ifndef NARROWS_NMWG_H
#define NARROWS_NMWG_H

#include <stdbool.h>
#include <stddef.h>

#define NMWG_SPACE "http://ggf.org/ns/nmwg/"
#define NMWG_OWN   "urn:narrows:nmwg"

enum {
	NMWG_DEPTH_MAX = 32,        /* elements within elements */
	NMWG_PAIRS_MAX = 512,       /* names and values of one metadata or datum */
	NMWG_TEXT_MAX_BYTES = 4096, /* one text or attribute */
};

struct nmwg_pair {
	char *name, *value;
	bool of_subject, is_json;
	bool is_topology; /* an element of the subject, not a parameter */
};

struct nmwg_meta {
	const char *id, *ref; /* NULL where the file has none; ref: metadataIdRef */
	/* Event type without a last slash. A type outside of NM-WG's namespaces goes before the
	 * others. NULL without any. */
	const char *event_type;
	const char *host, *own_id, *own_pid; /* attributes of NMWG_OWN, or NULL */
	bool own;                            /* whether Narrows wrote the metadata */
	const struct nmwg_pair *pairs;       /* topology of the subject, and parameters */
	size_t n_pairs;
};

struct nmwg_datum {
	const char *ref;  /* metadataIdRef of the data, or NULL */
	const char *time; /* seconds since 1970, or a date in words; NULL without time */
	const char *from; /* begin of an interval that ends at `time`, or NULL */
	const char *unit; /* unit of the field "value", or NULL */
	/* Other attributes; a datum of a name and a value, and a bucket of a histogram, is a pair.
	 * All datums of one commonTime come together. */
	const struct nmwg_pair *pairs;
	size_t n_pairs;
};

/* Called in the order of the file. `at` is the offset of the element's end in the file. Everything
 * passed is on loan until the call returns. A negative return ends the reading. */
struct nmwg_sink {
	void *arg;
	int (*on_meta)(void *arg, size_t at, const struct nmwg_meta *m);
	int (*on_datum)(void *arg, size_t at, const struct nmwg_datum *d);
};

/*
 * Reads a whole file. NW_EPROTO or NW_ETOOBIG with *why (static text) and *at for what is no XML,
 * has a document type, or passes a limit; the sink's negative code is passed through, then *why is
 * NULL. Lack of memory is fatal. Any thread.
 */
int nmwg_read(
    const char *bytes, size_t len, const struct nmwg_sink *sink, size_t *at, const char **why);
/* Returns true if the text begins as XML with an element or a namespace of NM-WG. */
bool nmwg_is(const char *bytes, size_t len);
/* Reads "Wed Aug 25 11:01:31.3918981026 UTC 2010", which the originals call "iso". Returns false
 * for any other text, and for other zones than UTC and GMT. */
bool nmwg_time_words(const char *text, long long *t_wall_ns);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the chosen lifelines say: a sentence first, then figures, as one JSON document. */
#ifndef LINESET_LINEREPORT_H
#define LINESET_LINEREPORT_H

#include <jansson.h>

#include "web/lifelines/choice.h"

enum { LINEREPORT_SENTENCE_BYTES = 2048 };

/* Events of one name on one host, of one server if the finding has a server and the events name
 * servers, within the stretches of the finding. */
struct linereport_with {
	uint32_t name, host;
	uint32_t server; /* number in side_servers, or NW_LINE_ANY: all of them */
	bool apt; /* the events may explain the finding: they name its server, or no server */
	struct nw_line_with with;
};

struct linereport {
	struct nw_line_segments segments;
	struct nw_line_findings found;
	struct nw_line_stall *stall; /* of the finding's segment, else of the last one */
	size_t n_stalls;
	struct linereport_with *with; /* the most surprising first */
	size_t n_with;
	size_t n_memory;           /* finished lines whose object a server had in memory */
	double memory_s, others_s; /* median time of these, and of the other finished lines; NaN */
	size_t n_finished, n_flushed, n_unfinished, n_backwards, n_reversed;
	char sentence[LINEREPORT_SENTENCE_BYTES];
};

int linereport_make(const struct lineset *s, const struct chosen *k, struct linereport **out);
void linereport_free(struct linereport *p);

/* The document; NULL: no memory. */
json_t *linereport_json(const struct lineset *s, const struct choice *c, const struct chosen *k,
    const struct linereport *p);

/* The time between the two marks of the choice, and the rate of lines at the second point
 * meanwhile; JSON's null without two marks. */
json_t *linereport_measure(const struct lineset *s, const struct choice *c);
/* Why the points of a wished measurement have no times; empty: they have, or there is no wish. */
void linereport_lacks(
    const struct lineset *s, const struct choice *c, char out[LINEREPORT_SENTENCE_BYTES]);

struct linereport_spot { /* a point of a line */
	size_t line;
	unsigned point;
	int64_t t_wall_ns;
};
/* The point of a mark. Returns false if there is no mark, or no line has the point. */
bool
linereport_spot(const struct lineset *s, const struct choice_mark *m, struct linereport_spot *out);
/* The line whose ids are, or else contain, a mark's text; lines.n: none. */
size_t linereport_line(const struct lineset *s, const char *text);
/* The point of a name; lines.n_points: none. */
unsigned linereport_point(const struct lineset *s, const char *name);

/* Writes CSV with a line of text for each lifeline. free() *text. */
int linecsv_make(const struct lineset *s, const struct chosen *k, char **text, size_t *len);
/* Spans of OpenTelemetry as OTLP JSON: a trace per lifeline, a span per segment. free() *text. */
int lineotlp_make(const struct lineset *s, const struct chosen *k, char **text, size_t *len);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/stat/stat_curve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

json_t *
curve_json(const struct nw_io_curve *c)
{
	char *text = NULL;
	size_t len, i;
	FILE *f = open_memstream(&text, &len);
	json_t *out = NULL;
	int k;

	if (f == NULL)
		return NULL;
	for (i = 0; i < c->n; i++) {
		fprintf(f, "%s%.15g %.0f %.5g %.5g", i > 0 ? ";" : "", c->points[i].size_bytes,
		    c->points[i].n, c->points[i].mean_s, c->points[i].slowest_s);
		for (k = 0; k < NW_IO_QUANTILES; k++)
			fprintf(f, " %.5g", exp(c->points[i].ln_s[k]));
	}
	if (fclose(f) == 0)
		out = json_string(text);
	free(text);
	return out;
}

/* A number above `min`, after blanks. */
static bool
number_take(const char **text, double min, double *out)
{
	char *end;

	*out = strtod(*text, &end);
	if (end == *text || !isfinite(*out) || *out < min)
		return false;
	*text = end;
	return true;
}

static bool
point_parse(const char **text, struct nw_io_point *p)
{
	static const double SHORTEST_S = 1e-12;
	double s, before = 0;
	int k;

	*p = (struct nw_io_point){ 0 };
	if (!number_take(text, 0, &p->size_bytes) || !number_take(text, 1, &p->n) ||
	    !number_take(text, SHORTEST_S, &p->mean_s) ||
	    !number_take(text, SHORTEST_S, &p->slowest_s))
		return false;
	for (k = 0; k < NW_IO_QUANTILES; k++) {
		if (!number_take(text, SHORTEST_S, &s) || s < before)
			return false;
		p->ln_s[k] = log(s);
		before = s;
	}
	return true;
}

int
curve_parse(const char *text, struct nw_io_curve *out)
{
	struct nw_io_point *points;
	size_t n = 0, room = 1;
	const char *at;
	int rc = NW_OK;

	for (at = text; *at != '\0'; at++)
		room += *at == ';';
	*out = (struct nw_io_curve){ NW_STATUS_INSUFFICIENT, NAN, 0, NULL };
	if ((points = malloc(room * sizeof(*points))) == NULL)
		return NW_ENOMEM;
	for (at = text; *at != '\0' && rc == NW_OK; at += *at == ';')
		if (!point_parse(&at, &points[n++]) || (*at != ';' && *at != '\0'))
			rc = NW_EPROTO;
	if (rc == NW_OK)
		rc = nw_io_curve_make(points, n, out);
	free(points);
	return rc;
}

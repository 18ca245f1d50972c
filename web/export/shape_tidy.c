/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tidy CSV: one value per line, which any statistics program reads without further options.
 * series_id is the id of the metadata in the store; series_id and `field` name one series. Lines
 * are ordered by series_id (the session's own first, then each host's), then time. Missing values
 * have no line.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/csv.h"
#include "web/query/flat.h"
#include "narrows/format.h"
#include "web/export/shape.h"

static int
prefix(struct export *x, FILE *f, const struct walk_meta *m)
{
	char *subject = flat_text(m->subject_json);
	unsigned how = shape_cell_how(x);

	if (subject == NULL)
		return NW_ENOMEM;
	fprintf(f, "%s,", fmt_int(x->session_id).s);
	fprintf(f, "%s,", fmt_int(m->id).s);
	csv_cell(f, m->host, how);
	putc(',', f);
	csv_cell(f, subject, how | CSV_QUOTED);
	putc(',', f);
	csv_cell(f, m->event_type, how);
	putc(',', f);
	free(subject);
	return NW_OK;
}

static void
label(const struct export *x, FILE *f, const struct walk_meta *m, const char *field)
{
	char unit[128];

	csv_cell(f, field, shape_cell_how(x));
	putc(',', f);
	if (store_unit(x->reader, m->id, field, unit, sizeof(unit)) != NW_OK)
		unit[0] = '\0'; /* the rows meet the same error */
	csv_cell(f, unit, shape_cell_how(x));
	putc(',', f);
}

static int
row(struct export *x, const char *before, const struct merge_row *r)
{
	struct fmt time = fmt_iso_ns(r->t_wall_ns), t_ns = fmt_int(r->t_wall_ns);
	char tail[3 * sizeof(struct fmt)];
	size_t k;
	int rc;

	for (k = 0; k < r->n_fields; k++) {
		if (isnan(r->values[k]))
			continue;
		snprintf(tail, sizeof(tail), "%s,%s,%s", time.s, t_ns.s, fmt_exact(r->values[k]).s);
		if ((rc = textout_puts(&x->out, before)) < 0 ||
		    (rc = textout_puts(&x->out, r->labels[k])) < 0 ||
		    (rc = textout_puts(&x->out, tail)) < 0 || (rc = shape_end_line(x)) < 0)
			return rc;
	}
	return NW_OK;
}

const struct shape shape_tidy = {
	.name = "tidy",
	.ending = ".csv",
	.content_type = "text/csv; charset=utf-8; header=present",
	.header = "session,series_id,host,subject,event_type,field,unit,time,t_ns,value",
	.prefix = prefix,
	.label = label,
	.row = row,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recorded text of generation 0, one block of the original XIO driver a line:
 * "user=...,task_id=..." of a transfer's begin and end, "ts=... event=... id=N type=N" of its
 * calipers (xsp/doc_g0.c).
 */
#include <math.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/err.h"
#include "narrows/frame.h"
#include "narrows/xmalloc.h"

struct reading {
	struct import *im;
	const char *at; /* the line in hand */
};

static int
on_meta(void *arg, const struct nw_meta *m)
{
	struct reading *r = arg;
	struct import_series *s = import_series_find(r->im, m->id, strlen(m->id));
	json_t *subject;

	if (s != NULL)
		return NW_OK;
	if ((s = import_series_add(
		 r->im, r->at, slice_of(m->id), slice_of(""), slice_of(m->event_type))) == NULL)
		return NW_EPROTO;
	import_series_name(r->im, s, m->id, slice_of(m->id));
	subject = json_loads(m->subject_json, 0, NULL);
	json_object_update(s->subject, subject);
	json_decref(subject);
	return NW_OK;
}

static int
on_data(void *arg, const struct nw_data *d)
{
	struct reading *r = arg;
	struct import_series *s = import_series_find(r->im, d->mid, strlen(d->mid));
	size_t i;
	int rc = NW_OK;

	for (i = 0; s != NULL && i < d->n_fields && rc == NW_OK; i++)
		if (!isnan(d->values[i]))
			rc = import_value(
			    r->im, s, r->at, d->t_wall_ns[0], slice_of(d->fields[i]), d->values[i]);
	return rc;
}

int
import_g0(struct import *im)
{
	struct reading r = { .im = im };
	struct nw_doc_sink sink = { .arg = &r, .on_meta = on_meta, .on_data = on_data };
	struct nw_doc_decoder *d = nw_doc_decoder_new(NULL);
	const char *at = im->bytes, *why;
	struct slice line;
	int rc = d != NULL ? NW_OK : NW_ENOMEM;

	while (rc == NW_OK && import_line(&at, im->end, &line)) {
		if (line.len == 0 || line.s[0] == '#')
			continue;
		r.at = line.s;
		im->err->text[0] = '\0';
		rc = nw_doc_decode(
		    d, NW_OPT_XFER_UPDATE, (const uint8_t *)line.s, line.len, &sink, &why);
		if (rc < 0 && im->err->text[0] == '\0')
			rc = import_fail(im, line.s, "%s", why);
	}
	nw_doc_decoder_free(d);
	return rc;
}

/* NetLogger's BP begins alike, but its lines have no handle and no stack at the end. */
bool
import_is_g0(const struct import *im)
{
	const char *at = im->bytes;
	struct slice line;

	do
		if (!import_line(&at, im->end, &line))
			return false;
	while (line.len == 0 || line.s[0] == '#');
	if (slice_starts(line, "user="))
		return memmem(line.s, line.len, ",task_id=", 9) != NULL;
	return slice_starts(line, "ts=") && line.len > 8 &&
	    memmem(line.s, line.len, " id=", 4) != NULL &&
	    memmem(line.s + line.len - 7, 7, " type=", 6) != NULL;
}

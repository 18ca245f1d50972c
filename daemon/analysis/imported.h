/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports that another box made (narrows/result.h, TASK_REPORT): the events of a session
 * carry the document. The session's task is a hash of the text, so events with another text do not
 * count, from any sender.
 */
#ifndef IMPORTED_H
#define IMPORTED_H

#include <stdint.h>

#include <jansson.h>

#include "narrows/analysis.h"

/*
 * NW_OK: the session is an imported report. *doc is a new reference to the document as it is to be
 * stored: with this box's number of the session, and the origin of the report. NW_ENOTFOUND: the
 * session is no report. Other codes are the store's.
 */
int imported_read(struct store_reader *r, int64_t session_id, int64_t now_wall_ns, json_t **doc);
/* The document in short; texts are on loan from the document. */
void imported_outcome(const json_t *doc, struct analysis_outcome *out);

#endif

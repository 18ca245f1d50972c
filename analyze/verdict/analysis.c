/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

static int
analysis_read(struct store_reader *r, int64_t session_id, const struct analysis_params *p,
    struct analysis *out)
{
	int rc;

	if ((rc = store_reader_begin(r)) < 0)
		return rc;
	rc = evidence_load(r, session_id, &out->evidence);
	if (rc == NW_OK)
		rc = reductions_load(r, &out->evidence, &p->reduction, &out->reductions);
	store_reader_end(r);
	return rc;
}

int
analysis_run(struct store_reader *r, int64_t session_id, const struct analysis_params *p,
    struct analysis *out)
{
	const struct evidence *e = &out->evidence;
	char *story;
	int rc;

	memset(out, 0, sizeof(*out));
	if ((rc = analysis_read(r, session_id, p, out)) < 0 ||
	    (rc = judge(e, &p->judge, &out->judgement)) < 0 ||
	    (rc = segments_find(e, &out->judgement.path, &p->segments, &out->segments)) < 0 ||
	    (rc = classes_find(e, &p->classes, &out->classes)) < 0 ||
	    (rc = reductions_find(&p->reduction, &out->reductions)) < 0) {
		analysis_clear(out);
		return rc;
	}
	story = segments_story(e, &out->judgement.path, &out->segments);
	judge_add_story(&out->judgement, story);
	free(story);
	return NW_OK;
}

void
analysis_clear(struct analysis *a)
{
	reductions_clear(&a->reductions);
	classes_clear(&a->classes);
	segments_clear(&a->segments);
	judgement_clear(&a->judgement);
	evidence_clear(&a->evidence);
}

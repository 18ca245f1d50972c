/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/analysis_in.h"
#include "analyze/verdict/chained.h"
#include "analyze/verdict/put/resultdoc_usual.h"
#include "analyze/verdict/usual/memo.h"
#include "analyze/verdict/question.h"
#include "analyze/verdict/resultdoc_in.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

/* Name of the limiting stage; NULL: cannot tell. */
static const char *
judgement_stage(const struct judgement *j)
{
	enum nw_stage_kind kind;

	return judge_stage(j, &kind) ? nw_stage_kind_name(kind) : NULL;
}

static int
analysis_read(struct store_reader *r, int64_t session_id, const struct analysis_params *p,
    struct analysis *out)
{
	int rc;

	if ((rc = store_reader_begin(r)) < 0)
		return rc;
	rc = evidence_load(r, session_id, EVIDENCE_OF_TIED, &out->evidence);
	if (rc == NW_OK)
		rc = evidence_switches(r, &p->speakers, &out->evidence);
	if (rc == NW_OK)
		rc = evidence_paths(r, &out->evidence);
	if (rc == NW_OK)
		rc = iotime_load(r, &out->evidence, &out->iotime);
	if (rc == NW_OK)
		rc = reductions_load(r, &out->evidence, &p->reduction, &out->reductions);
	store_reader_end(r);
	return rc;
}

/* The verdict with the data of all senders, where those of some were set aside. */
static int
strangers_judge(struct store_reader *r, const struct analysis_params *p, struct analysis *a)
{
	struct evidence all;
	struct judgement j;
	int rc;

	if (a->evidence.owners.n_set_aside == 0)
		return NW_OK;
	if ((rc = store_reader_begin(r)) < 0)
		return rc;
	rc = evidence_load(r, a->evidence.session_id, EVIDENCE_OF_ALL, &all);
	if (rc == NW_OK && (rc = evidence_switches(r, &p->speakers, &all)) < 0)
		evidence_clear(&all);
	store_reader_end(r);
	if (rc < 0)
		return rc;
	if ((rc = judge(&all, &p->judge, &j)) == NW_OK) {
		a->with_all.stage = judgement_stage(&j);
		a->with_all.sentence = xstrdup(j.sentence);
		judgement_clear(&j);
	}
	evidence_clear(&all);
	return rc;
}

/* Tells whose data the verdict leaves out, among the reasons. */
static void
set_aside_tell(struct analysis *a)
{
	const struct owners *o = &a->evidence.owners;
	size_t i;

	for (i = 0; i < o->n; i++)
		if (!o->owner[i].used) {
			struct claims told = { 0 };

			CLAIM_SAY(&told, set_aside, CLAIM_NO_STAGE, claim_text(o->owner[i].name));
			judge_add_reason(&a->judgement, &told);
			claims_clear(&told);
		}
}

/* Tells why an undecided session is not repeated, among the reasons. */
static void
short_tell(struct analysis *a)
{
	struct claims told = { 0 };

	if (a->question.short_s > 0) {
		CLAIM_SAY(
		    &told, too_short_to_repeat, CLAIM_NO_STAGE, claim_number(a->question.short_s));
		judge_add_reason(&a->judgement, &told);
	}
	claims_clear(&told);
}

/* The differences from the usual sessions, if the session is unusual; and advice. */
static int
change_explain(struct store_reader *r, const struct analysis_params *p, struct analysis *a)
{
	struct changed_ask ask = { .session = a->usual.session,
		.n = a->usual.n,
		.split = a->usual.split,
		.low = a->usual.low,
		.high = a->usual.high,
		.evidence = &a->evidence,
		.memo = p->memo };
	json_t *own;
	int rc;

	own = resultdoc_facts(a, &p->judge);
	ask.own = own;
	rc = ask.n > 0 ? changed_find(r, &ask, &a->changed) : NW_OK;
	result_set(own, KEY_result_usual, resultdoc_usual(&a->usual));
	result_set(own, KEY_result_changed, resultdoc_changed(&a->changed));
	if (rc == NW_OK)
		rc = advice_find(
		    r, &a->evidence, own, a->judgement.route, a->judgement.program, &a->advice);
	json_decref(own);
	return rc;
}

static void
history_add(const struct usual *u, struct judgement *j)
{
	const struct gain_history h = { .low = u->reached.low,
		.about = u->reached.about,
		.high = u->reached.high,
		.best = u->best_bytes_per_s,
		.best_wall_ns = u->best_wall_ns };

	if (u->known && u->reached.n > 0)
		judge_add_history(j, &h);
}

/* All that is decided before the words. */
static int
analysis_decide(struct store_reader *r, int64_t session_id, const struct analysis_params *p,
    struct analysis *out)
{
	const struct evidence *e = &out->evidence;
	int rc;

	if ((rc = analysis_read(r, session_id, p, out)) < 0 ||
	    (rc = judge_decide(e, &p->judge, &out->judgement)) < 0 ||
	    (rc = evidence_tests(r, out->judgement.route, &out->evidence)) < 0 ||
	    (rc = evidence_processors(r, &out->evidence)) < 0)
		return rc;
	chain_find(e, &out->chain);
	steps_find(e, &out->chain, &out->steps);
	chained_decide(e, &out->chain, &out->judgement);
	if ((rc = usual_find(r, p->memo, e, &out->judgement, &out->usual)) < 0 ||
	    (rc = segments_find(e, &out->judgement.path, &p->segments, &out->segments)) < 0 ||
	    (rc = classes_find(e, &p->classes, &out->classes)) < 0)
		return rc;
	return reductions_find(&p->reduction, &out->reductions);
}

int
analysis_run(struct store_reader *r, int64_t session_id, const struct analysis_params *p,
    struct analysis *out)
{
	const struct evidence *e = &out->evidence;
	struct claims story = { 0 }, shape = { 0 };
	size_t i;
	int rc;

	memset(out, 0, sizeof(*out));
	if ((rc = analysis_decide(r, session_id, p, out)) < 0) {
		analysis_clear(out);
		return rc;
	}
	history_add(&out->usual, &out->judgement);
	out->judgement.is_usual_rate = usual_is_rate(&out->usual);
	judge_say(e, &p->judge, &out->judgement);
	segments_story(e, &out->judgement.path, &out->segments, &story);
	judge_add_story(&out->judgement, &story);
	segments_shape(e, &out->segments, &shape);
	if (shape.n > 0)
		judge_add_reason(&out->judgement, &shape);
	claims_clear(&shape);
	chained_say(e, &out->chain, &out->judgement);
	others_find(e, &out->judgement, &out->others);
	for (i = 0; i < out->others.n; i++)
		judge_add_reason(&out->judgement, &out->others.other[i].told);
	for (i = 0; i < out->steps.n; i++)
		judge_add_reason(&out->judgement, &out->steps.loop[i].told);
	set_aside_tell(out);
	question_find(e, &out->iotime, &out->judgement, &out->question);
	short_tell(out);
	if (e->open)
		judge_add_interim(&out->judgement);
	if ((rc = strangers_judge(r, p, out)) < 0 || (rc = change_explain(r, p, out)) < 0) {
		analysis_clear(out);
		return rc;
	}
	headline_say(out, &out->headline);
	remedy_say(out, &out->remedy);
	return NW_OK;
}

void
analysis_clear(struct analysis *a)
{
	free(a->with_all.sentence);
	claims_clear(&a->headline);
	claims_clear(&a->remedy);
	advice_clear(&a->advice);
	changed_clear(&a->changed);
	usual_clear(&a->usual);
	reductions_clear(&a->reductions);
	iotime_clear(&a->iotime);
	classes_clear(&a->classes);
	segments_clear(&a->segments);
	others_clear(&a->others);
	steps_clear_found(&a->steps);
	chain_clear(&a->chain);
	judgement_clear(&a->judgement);
	evidence_clear(&a->evidence);
}

struct analysis_memo *
analysis_memo_new(void)
{
	return memo_new();
}

void
analysis_memo_free(struct analysis_memo *m)
{
	memo_free(m);
}

int
analysis_new(struct store_reader *r, int64_t session_id, const struct analysis_params *p,
    struct analysis **out)
{
	struct analysis *a = xcalloc(1, sizeof(*a));
	int rc = analysis_run(r, session_id, p, a);

	if (rc < 0)
		free(a);
	else
		*out = a;
	return rc;
}

void
analysis_free(struct analysis *a)
{
	if (a == NULL)
		return;
	analysis_clear(a);
	free(a);
}

void
analysis_outcome(const struct analysis *a, struct analysis_outcome *out)
{
	const struct judgement *j = &a->judgement;

	*out = (struct analysis_outcome){ .route = j->route,
		.program = j->program,
		.stage = judgement_stage(j),
		.confidence = j->confidence,
		.sentence = j->sentence,
		.is_final = !a->evidence.open,
		.question = &a->question,
		.effect = j->limit.effect,
		.usual = a->usual.known && a->usual.sentence != NULL ? a->usual.usual.ratio : NAN,
		.label = a->evidence.label,
		.exit_status = a->evidence.exit_status,
		.bytes = j->bytes,
		.bytes_per_s = j->bytes_per_s,
		.duration_s = j->duration_s,
		.start_wall_ns =
		    j->first_wall_ns != 0 ? j->first_wall_ns : a->evidence.opened_wall_ns };
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/usual/story.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "narrows/format.h"
#include "narrows/xmalloc.h"

static struct nw_job
job_of(const struct past_session *s)
{
	const time_t at = (time_t)(s->start_wall_ns / 1000000000);
	struct tm tm = { 0 };

	localtime_r(&at, &tm);
	return (struct nw_job){ .start_wall_ns = s->start_wall_ns,
		.bytes_per_s = s->bytes_per_s,
		.bytes = s->bytes,
		.hour = (unsigned)tm.tm_hour,
		.weekday = (unsigned)tm.tm_wday,
		.suspicion = s->suspicion };
}

int
story_make(const struct past_session *session, size_t n, const struct past *past,
    struct nw_story_memo *memo, struct nw_story *out)
{
	struct nw_job *job = xcalloc(n + 1, sizeof(*job));
	size_t i;
	int rc;

	for (i = 0; i < n; i++)
		job[i] = job_of(&session[i]);
	rc = nw_story_go_on(
	    memo, job, n, past->accepted_wall_ns, past->n_accepted, n > 0 ? n - 1 : 0, out);
	free(job);
	return rc;
}

const char *
incident_kind_word(enum nw_incident_kind kind)
{
	return kind == NW_INCIDENT_DRIFT ? "drift" : "step";
}

const char *
incident_state_word(enum nw_incident_state state)
{
	switch (state) {
	case NW_INCIDENT_OPEN: return "open";
	case NW_INCIDENT_ENDED: return "ended";
	case NW_INCIDENT_IS_ACCEPTED: break;
	}
	return "accepted";
}

static void
incident_say(const struct nw_incident *in, struct incident_told *t)
{
	const struct claim_value times = claim_number(in->ratio),
				 session = claim_number((double)t->session_id),
				 when = claim_text(fmt_time(t->at_wall_ns).s);

	if (in->kind == NW_INCIDENT_DRIFT)
		CLAIM_SAY(&t->told, incident_drifts, CLAIM_NO_STAGE, claim_number(in->per_week),
		    session, when, times);
	else if (in->low == in->high)
		CLAIM_SAY(&t->told, incident_since, CLAIM_NO_STAGE, times, session, when,
		    claim_number(in->usual), claim_number(in->since));
	else
		CLAIM_SAY(&t->told, incident_since_about, CLAIM_NO_STAGE, times, session,
		    claim_text(fmt_time(t->from_wall_ns).s), claim_text(fmt_time(t->to_wall_ns).s),
		    claim_number(in->usual), claim_number(in->since));
	if (in->state == NW_INCIDENT_ENDED)
		CLAIM_SAY(&t->told, incident_ended, CLAIM_NO_STAGE,
		    claim_number((double)t->end_session_id),
		    claim_text(fmt_time(t->end_wall_ns).s));
	else if (in->state == NW_INCIDENT_IS_ACCEPTED)
		CLAIM_SAY(&t->told, incident_accepted, CLAIM_NO_STAGE);
	t->sentence = claims_text(&t->told);
}

void
incident_tell(const struct past_session *session, const struct nw_story *s,
    const struct nw_incident *in, struct incident_told *out)
{
	*out = (struct incident_told){ .id = session[in->opened].id,
		.kind = in->kind,
		.state = in->state,
		.session_id = session[in->begin].id,
		.at_wall_ns = session[in->begin].start_wall_ns,
		.from_wall_ns = session[in->low > 0 ? in->low - 1 : 0].start_wall_ns,
		.to_wall_ns = session[in->high].start_wall_ns,
		.end_session_id = in->end < s->n ? session[in->end].id : 0,
		.end_wall_ns = in->end < s->n ? session[in->end].start_wall_ns : 0,
		.accepted_wall_ns = in->accepted_wall_ns,
		.n_sessions = (in->end < s->n ? in->end : s->n) - in->begin,
		.before = in->usual,
		.since = in->since,
		.ratio = in->ratio,
		.ratio_low = in->ratio_low,
		.ratio_high = in->ratio_high,
		.per_week = in->kind == NW_INCIDENT_DRIFT ? in->per_week : NAN,
		.p = in->p };
	incident_say(in, out);
}

void
incident_told_clear(struct incident_told *t)
{
	free(t->sentence);
	claims_clear(&t->told);
}

void
level_tell(const struct past_session *session, const struct nw_level *level, struct level_told *out)
{
	const double ratio = level->before / level->after;

	*out = (struct level_told){ .session_id = session[level->begin].id,
		.at_wall_ns = session[level->begin].start_wall_ns,
		.from_wall_ns = session[level->low > 0 ? level->low - 1 : 0].start_wall_ns,
		.to_wall_ns = session[level->high].start_wall_ns,
		.before = level->before,
		.after = level->after,
		.ratio = ratio };
	if (ratio >= 1)
		CLAIM_SAY(&out->told, level_slower, CLAIM_NO_STAGE, claim_number(ratio),
		    claim_number((double)out->session_id), claim_number(out->before),
		    claim_number(out->after));
	else
		CLAIM_SAY(&out->told, level_faster, CLAIM_NO_STAGE, claim_number(1 / ratio),
		    claim_number((double)out->session_id), claim_number(out->before),
		    claim_number(out->after));
	out->sentence = claims_text(&out->told);
}

void
level_told_clear(struct level_told *t)
{
	free(t->sentence);
	claims_clear(&t->told);
}

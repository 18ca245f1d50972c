/* SPDX-License-Identifier: BSD-3-Clause */
/* The incidents and levels of a route (narrows/incident.h), from its sessions and in words. */
#ifndef STORY_H
#define STORY_H

#include "analyze/verdict/claim/claim.h"
#include "analyze/verdict/usual/past.h"
#include "narrows/incident.h"

/* The story of the sessions, in their order, with the acceptances of `past`; usual[] of the newest
 * session and of the next one alone. The route's memo may be NULL. NW_ENOMEM */
int story_make(const struct past_session *session, size_t n, const struct past *past,
    struct nw_story_memo *memo, struct nw_story *out);

/* An incident, or a new level, in numbers and words. */
struct incident_told {
	int64_t id; /* session that convinced the test: of a single incident */
	enum nw_incident_kind kind;
	enum nw_incident_state state;
	int64_t session_id, at_wall_ns; /* first session */
	/* begins of the last session surely before the incident, and of the first session surely
	 * in the incident */
	int64_t from_wall_ns, to_wall_ns;
	int64_t end_session_id, end_wall_ns; /* first session after the incident; 0: open */
	int64_t accepted_wall_ns;            /* the operator's acceptance; 0: none */
	size_t n_sessions;
	double before, since, ratio, ratio_low, ratio_high, per_week, p;
	char *sentence;
	struct claims told; /* the sentence's */
};

void incident_tell(const struct past_session *session, const struct nw_story *s,
    const struct nw_incident *in, struct incident_told *out);
void incident_told_clear(struct incident_told *t);

struct level_told {
	int64_t session_id, at_wall_ns, from_wall_ns, to_wall_ns;
	double before, after, ratio;
	char *sentence;
	struct claims told; /* the sentence's */
};
/* Of a level after the first. */
void level_tell(
    const struct past_session *session, const struct nw_level *level, struct level_told *out);
void level_told_clear(struct level_told *t);

/* The words of the document. */
const char *incident_kind_word(enum nw_incident_kind kind);
const char *incident_state_word(enum nw_incident_state state);

#endif

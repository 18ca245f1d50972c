/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verdict on a session without any measured host, from what its own program announced. The
 * account of a server's storage, or of a kernel, may name a stage; bytes and times alone name none.
 */
#ifndef JUDGE_ANNOUNCED_H
#define JUDGE_ANNOUNCED_H

#include <stdbool.h>

#include "analyze/verdict/evidence/evidence.h"
#include "narrows/stage.h"

struct judgement;

enum announced_from { ANNOUNCED_NOTHING, ANNOUNCED_STORAGE, ANNOUNCED_TCP };

struct announced {
	bool alone; /* the session has announcements, and no measured path */
	bool known; /* a stage is named */
	enum nw_stage_kind stage;
	enum announced_from from;
	const struct evidence_announced *by; /* the flow with the account; on loan */
	const struct evidence_announced
	    *phases; /* what FTS or Rucio says; on loan; NULL: nothing */
	const struct evidence_announced
	    *resent;        /* flow with most segments sent again; on loan; NULL: none */
	bool is_told;       /* by events of hosts alone, not by datagrams */
	bool is_uncounted;  /* bytes of a file, by XRootD, and no other account has them */
	double slack_s;     /* how wrong the session's duration may be */
	double lost;        /* datagrams of the server, of which some may be the session's */
	double share;       /* of the time that the stage held the bytes */
	double other_share; /* the same of the network if storage is the stage, and the reverse */
	const char *sender, *receiver; /* addresses by the direction of the bytes; on loan */
};

/* Bytes, times, route and program, and the stage that an account names. Does nothing for a session
 * with a measured path. */
void announced_find(struct judgement *j, const struct evidence *e);

#endif

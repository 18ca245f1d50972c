/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verdict along the chain. The end of the chain of waits limits, not the first waiting program.
 * Where the path's stages name the same limit, the sentence names the chain behind; where
 * they do not cover the session's time, or leave the program open, the chain decides.
 * A full network or an idle disk is the path's matter, and so are bytes past the measured calls,
 * unless the chain ends at a program that computes or pauses.
 */
#ifndef CHAINED_H
#define CHAINED_H

#include "analyze/verdict/chain/chain_find.h"
#include "analyze/verdict/judge/judge.h"

/* Decides whether the chain agrees, or takes the verdict over: then limit, gain and, where the path
 * did not cover the session, bytes and times are the chain's. Before judge_say(). */
void chained_decide(const struct evidence *e, const struct chain *c, struct judgement *j);
/* The user of the processors that a node waited for; NW_CHAIN_USERS_N if not known. */
enum nw_chain_user chained_user(const struct evidence *e, const struct chain *c, size_t node);
/* Puts the decision into words, after judge_say() and judge_add_story(). */
void chained_say(const struct evidence *e, const struct chain *c, struct judgement *j);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verdicts on request (option VERDICT): a provider that has sent everything asks, and hears the
 * verdict of the whole session on the same connection. Net thread. A task with a name can be
 * guessed, and a guest may add to the session. So only a sender that knows a secret task, the
 * session's first sender, and a sender tied to the first one get the verdict.
 */
#ifndef ASKED_H
#define ASKED_H

struct box;
struct session_outcome;
struct xsess;

/* Answers with the session's id. The provider adds nothing more, so its connection keeps the
 * session open no longer. NW_EPROTO with static *why: the provider may not ask. */
int asked_take(struct xsess *x, const char **why);
/* A judged session: the providers that asked get the verdict of the whole. */
void asked_judged(struct box *box, const struct session_outcome *o);
/* The connection ends. */
void asked_forget(struct xsess *x);

#endif

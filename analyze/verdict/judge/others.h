/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other users of the limiting resource: the sessions of the box on the disk or the link, and the
 * bytes of the rest, in the windows limited by the stage.
 */
#ifndef OTHERS_H
#define OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/judge/judge.h"

enum { OTHERS_MAX = 8 };

struct other {
	size_t host;
	bool link;           /* else a disk */
	bool out;            /* written or sent, else read or received */
	const char *place;   /* device or interface; on loan from the evidence */
	int64_t session_id;  /* 0: no session of the box */
	const char *program; /* on loan; NULL if unknown */
	double bytes, share; /* of all bytes of the resource in the direction */
	char *sentence;
	struct claims told; /* the sentence's */
};

struct others {
	struct other other[OTHERS_MAX];
	size_t n;
};

/* Finds nothing where no stage limited, and where totals and their parts disagree. */
void others_find(const struct evidence *e, const struct judgement *j, struct others *out);
void others_clear(struct others *o);

#endif

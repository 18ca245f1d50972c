/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/stage_words.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name, *words;
} stages[] = {
#define STAGE(id, name, words) { name, words },
#include "narrows/stage_words.def"
};

const char *
nw_stage_kind_name(enum nw_stage_kind kind)
{
	return stages[kind].name;
}

const char *
nw_stage_kind_words(enum nw_stage_kind kind)
{
	return stages[kind].words;
}

bool
nw_stage_kind_find(const char *name, enum nw_stage_kind *out)
{
	int kind;

	for (kind = 0; name != NULL && kind < NW_STAGE_COUNT; kind++)
		if (strcmp(stages[kind].name, name) == 0) {
			*out = (enum nw_stage_kind)kind;
			return true;
		}
	return false;
}

enum nw_stage_kind
nw_op_stage(enum nw_op op)
{
	static const enum nw_stage_kind stage_of[NW_OP_COUNT] = { NW_STAGE_DISK_READ,
		NW_STAGE_NET_WRITE, NW_STAGE_NET_READ, NW_STAGE_DISK_WRITE };

	return stage_of[op];
}

const char *
nw_op_name(enum nw_op op)
{
	return nw_stage_kind_name(nw_op_stage(op));
}

const char *
nw_says_name(enum nw_says says)
{
	static const char *const names[] = {
		[NW_SAYS_NOTHING] = NULL,
#define STAGE(id, name, words) name,
#define SAYS(id, name)         name,
#include "narrows/stage_words.def"
	};

	return names[says];
}

const char *
nw_witness_name(enum nw_witness witness)
{
	static const char *const names[] = {
#define WITNESS(id, name) name,
#include "narrows/stage_words.def"
	};

	return names[witness];
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stages, operations, witnesses and what witnesses say, as enumerators and as words. The words
 * stand in stage_words.def alone. All functions return static text.
 */
#ifndef NARROWS_STAGE_WORDS_H
#define NARROWS_STAGE_WORDS_H

#include <stdbool.h>

enum nw_stage_kind {
#define STAGE(id, name, words) NW_STAGE_##id,
#include "narrows/stage_words.def"
	NW_STAGE_COUNT
};

enum nw_op { NW_OP_DISK_READ, NW_OP_NET_WRITE, NW_OP_NET_READ, NW_OP_DISK_WRITE, NW_OP_COUNT };

/* A stage, an end of the path, or what keeps a stage waiting. */
enum nw_says {
	NW_SAYS_NOTHING,
#define STAGE(id, name, words) NW_SAYS_##id,
#define SAYS(id, name)         NW_SAYS_##id,
#include "narrows/stage_words.def"
};

enum nw_witness {
#define WITNESS(id, name) NW_WITNESS_##id,
#include "narrows/stage_words.def"
	NW_WITNESS_COUNT
};

/* "disk.read", "sender.host", ...: the name in documents. */
const char *nw_stage_kind_name(enum nw_stage_kind kind);
/* "disk read", "sending program", ... */
const char *nw_stage_kind_words(enum nw_stage_kind kind);
/* Returns true if a stage has the name, which may be NULL. */
bool nw_stage_kind_find(const char *name, enum nw_stage_kind *out);
/* The stage of the operation, and its name. */
enum nw_stage_kind nw_op_stage(enum nw_op op);
const char *nw_op_name(enum nw_op op);
/* The stage's name or "the sending end", "processor", ...; NULL for NW_SAYS_NOTHING. */
const char *nw_says_name(enum nw_says says);
/* "calipers", "tcp", ... */
const char *nw_witness_name(enum nw_witness witness);

/* Whether bytes come from files there, or go to files. */
static inline bool
nw_stage_kind_reads(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_DISK_READ || kind == NW_STAGE_STORAGE_READ;
}

static inline bool
nw_stage_kind_writes(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_DISK_WRITE || kind == NW_STAGE_STORAGE_WRITE;
}

/* Whether the files of a stage are no device's of the host. */
static inline bool
nw_stage_kind_is_storage(enum nw_stage_kind kind)
{
	return kind == NW_STAGE_STORAGE_READ || kind == NW_STAGE_STORAGE_WRITE;
}

static inline enum nw_says
nw_says_stage(enum nw_stage_kind kind)
{
	return (enum nw_says)(NW_SAYS_NOTHING + 1 + (int)kind);
}

#endif

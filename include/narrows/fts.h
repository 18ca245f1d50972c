/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of FTS3, the file transfer service of the LHC's experiments, from a broker: a word of
 * two letters, a blank, JSON. ST is the start of a transfer, SS a new state of a file or job, CO
 * the end of a transfer. CO has all phases but the time in the queue, from the submission (SS) to
 * the begin.
 */
#ifndef NARROWS_FTS_H
#define NARROWS_FTS_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/event.h"

enum {
	NW_FTS_URL_BYTES = 256,
	NW_FTS_NAME_BYTES = 64,
	NW_FTS_ID_BYTES = 80, /* job, file and retry, with slashes */
	NW_FTS_ATTRS_MAX = 24
};

enum nw_fts_kind { NW_FTS_START, NW_FTS_STATE, NW_FTS_COMPLETE };

/* Times are 0 where the message says none, numbers NaN. */
struct nw_fts_message {
	enum nw_fts_kind kind;
	char job[NW_FTS_NAME_BYTES];
	int64_t file_id, retry; /* -1: not said */
	int64_t t_wall_ns;      /* of the message: of CO, the end of the transfer */
	int64_t begin_wall_ns;  /* of CO: the bytes' begin */
	int64_t taken_wall_ns;  /* of CO: FTS took the transfer out of its queue */
	int64_t submit_wall_ns; /* of SS */
	double staging_s;       /* of SS: time of tapes */
	double bytes, prepare_s, source_check_s, target_check_s, streams;
	char src_url[NW_FTS_URL_BYTES], dst_url[NW_FTS_URL_BYTES];
	char vo[NW_FTS_NAME_BYTES], state[NW_FTS_NAME_BYTES], why[NW_FTS_URL_BYTES];
	int64_t scitag; /* -1: none */
};

/* Reads a message. NW_EPROTO or NW_ETOOBIG with static *why; NW_EUNSUPPORTED for another word, as
 * OP of the optimiser. Unknown keys are skipped. */
int nw_fts_read(const char *bytes, size_t len, struct nw_fts_message *out, const char **why);

/* What identifies the file of a job: "JOB/FILE". `out` has NW_FTS_ID_BYTES. */
void nw_fts_file(const struct nw_fts_message *m, char out[NW_FTS_ID_BYTES]);

/* An event with the memory of its attributes. */
struct nw_fts_event {
	struct nw_event e;
	struct nw_attr attrs[NW_FTS_ATTRS_MAX];
	char id[NW_FTS_ID_BYTES], src[NW_FTS_NAME_BYTES], dst[NW_FTS_NAME_BYTES];
};

/*
 * The event of a message: fts.start, fts.state, or transfer.fts, for a box a transfer
 * (narrows/announce.h). submit_wall_ns and staging_s are those of the file's SS, 0 and NaN if none
 * was seen. Texts are on loan from the message.
 */
void nw_fts_event(const struct nw_fts_message *m, int64_t submit_wall_ns, double staging_s,
    struct nw_fts_event *out);

#endif

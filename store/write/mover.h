/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer's tail: committed rows in memory, as in the file, and their way into chunks. The
 * memory changes only after COMMIT succeeded, so a failed transaction needs no undo; when memory
 * runs out, the tail is dropped and read again.
 */
#ifndef STORE_MOVER_H
#define STORE_MOVER_H

#include "store/write/compact.h"
#include "store/ground/tail.h"

struct mover {
	struct connection *c;
	struct compactor *k;
	struct tail *tail;
	bool stale; /* memory ran out: the tail is to be read again */
	int64_t next_tail_id;
	/* the newest blob at the last look, and the time of that look */
	int64_t mark_id, mark_wall_ns;
	int64_t due_id;        /* rows in blobs up to this id have been in the tail long enough */
	struct id_list seals;  /* sessions with layouts still to be listed */
	struct id_list finals; /* finished layouts, still to be moved */
};

enum writer_work { WRITER_DONE, WRITER_MORE }; /* both >= 0, unlike errors */

int mover_init(struct mover *m, struct connection *c, struct compactor *k);
void mover_clear(struct mover *m);
/* Reads the committed tail into memory, without the rows that are in chunks already. */
int mover_load(struct mover *m);
/* Takes over a committed blob with the id m->next_tail_id. */
void mover_add(struct mover *m, uint8_t *blob, size_t len);
/* Notes the end of the session's rows. */
void mover_seal(struct mover *m, int64_t session_id);

/* Turns sealed sessions into layouts, marks old rows, and all rows of a long tail if the writer is
 * idle; true if rows are to be moved. */
int mover_look(struct mover *m, bool idle, bool *due);
/* Moves a bounded number of rows into chunks, in a transaction. */
int mover_step(struct mover *m);
/* For want of room: moves the oldest rows, of one layout at least. WRITER_MORE, WRITER_DONE or an
 * error. */
int mover_step_oldest(struct mover *m);

#endif

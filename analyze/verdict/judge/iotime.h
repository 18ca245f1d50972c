/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the time of file operations went: which class each operation of a session belongs to, and
 * the seconds that were lost against cached operations of the same sizes (Kunkel). The models of
 * the host's baseline decide, and call an operation that two of them explain "either". Without a
 * baseline the kernel's count of bytes from devices decides, if that count is next to nothing;
 * else the classes of the file's own durations, whose fastest stands for the cache. Of files
 * over a network the first two say nothing.
 */
#ifndef IOTIME_H
#define IOTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict/evidence/baseline.h"
#include "analyze/verdict/evidence/evidence.h"

enum io_named_by { IO_BY_BASELINE, IO_BY_EVIDENCE, IO_BY_OWN };
enum { IO_STEPS = 5, IO_CLASSES_MAX = 16 };

/* Words of the document. */
const char *io_named_by_word(enum io_named_by by);
extern const char *const io_step_names[IO_STEPS];

struct io_class {
	char name[64];
	bool by_administrator;
	double ops, time_s, lost_s;
};

/* A file and direction, or all files without a name. */
struct io_file {
	size_t host; /* index into the evidence's hosts */
	int64_t pid; /* negative if unknown */
	char *path;
	bool write, far;  /* far: the file lies on no device of the host */
	uint64_t *counts; /* NW_HIST_BUCKETS, a table of cells (narrows/cells.h) */
	double ops, bytes, time_s, lost_s;
	double steps[IO_STEPS], pause_s[IO_STEPS];
	enum io_named_by by;
	const struct baseline *baseline; /* on loan from iotime; NULL without */
	struct io_class classes[IO_CLASSES_MAX];
	size_t n_classes;
};

struct iotime {
	struct baselines *baselines; /* of each host of the evidence */
	size_t n_hosts;
	struct io_file *files; /* most time first */
	size_t n_files;
};

/* Between store_reader_begin() and _end(), after evidence_load(). NW_ENOMEM or the store's
 * error. */
int iotime_load(struct store_reader *r, const struct evidence *e, struct iotime *out);
void iotime_clear(struct iotime *t);
/* A sentence for people, to be freed; NULL if no file operation was counted. */
char *iotime_sentence(const struct iotime *t);

#endif

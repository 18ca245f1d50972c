/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output files of the io-model benchmark, in the layouts that exist:
 *
 *   operations   header "start_time, duration, " (blanks, trailing comma), rows
 *                "0.000087030,0.000000831000" in seconds. Operation 0 is missing; the last row is
 *                fsync + close, not an operation. Newer writers add columns named size, offset, op
 *                and error, and mark the row of fsync + close with the op "sync".
 *   statistics   header "start_time,self_rchar:,..": absolute counters, names with blanks and
 *                colons
 *   text         standard output: a line "... accessSize:4096 localityMem:0-0-0 ..", and in the
 *                first version "Times per operation: t0, t1, .." and
 *                "Offset per operation: o0, o1, .."
 *
 * All other lines of a text file belong to a log around the output and are skipped.
 */
#ifndef CLI_IO_FILE_H
#define CLI_IO_FILE_H
#include <stdbool.h>
#include <stddef.h>

enum io_file_layout { IO_FILE_UNKNOWN, IO_FILE_OPERATIONS, IO_FILE_STATISTICS, IO_FILE_TEXT };

#define IO_FILE_PARAMS_MAX 32
#define IO_FILE_NAME_MAX   40

struct io_file_param {
	char name[IO_FILE_NAME_MAX];
	double value;
};

struct io_file {
	enum io_file_layout layout;
	size_t n_columns;             /* of the header */
	size_t n_rows;                /* rows that were read, with sync and negative durations */
	size_t n_rejected;            /* rows with fewer than two numbers */
	size_t n_negative;            /* durations below 0: counted, not kept */
	size_t n;                     /* operations kept */
	double *start_s, *duration_s; /* start_s NULL in text */
	double *size_bytes;           /* NULL if there is no such column */
	/* offset of each operation, n_offsets of them; NULL without offsets */
	double *offset_bytes;
	size_t n_offsets;
	double sync_s; /* NaN: there was none */
	size_t n_params;
	struct io_file_param param[IO_FILE_PARAMS_MAX];
	size_t n_locality; /* 3 of memory, then 3 of the file; 0 if not said */
	double locality[6];
};

/* The layout by the first line, or for text by a line that only text has. O(bytes). */
enum io_file_layout io_file_sniff(const char *bytes, size_t n_bytes);
/* Parses; `keep_last` counts the last row as an operation. NW_ENOMEM, NW_EPROTO (IO_FILE_UNKNOWN).
 * Free with io_file_clear in any case. */
int io_file_parse(const char *bytes, size_t n_bytes, bool keep_last, struct io_file *out);
void io_file_clear(struct io_file *f);
/* NaN if the file did not say. */
double io_file_param(const struct io_file *f, const char *name);
/* Parameters from a run's file name, TYPE-FILE_MEM_SIZE_REPEATS_TRUNC_ACCESS_..-N.txt, when the
 * file has none: accessSize, fileSizeInMiB, memBuffer, maxRepeats, truncate. Returns false if the
 * name has another form. */
bool io_file_params_from_name(struct io_file *f, const char *path);

#endif

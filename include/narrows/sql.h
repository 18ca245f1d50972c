/* SPDX-License-Identifier: BSD-3-Clause */
/* Foreign SQL on a store: the documented views, all tables, and the samples as sample and
 * v_sample. It reads only. */
#ifndef NARROWS_SQL_H
#define NARROWS_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/store.h"

struct store_sql;

struct store_cell {
	enum { CELL_NULL, CELL_INT, CELL_REAL, CELL_TEXT, CELL_BLOB } type;
	int64_t i;
	double d;
	/* text or blob of len bytes and a NUL; on loan until the call ends */
	const char *bytes;
	size_t len;
};

/* Called for each row, and before the first row of a statement with columns once with cells NULL. A
 * result other than 0 ends the text: NW_ECLOSED. */
typedef int
store_sql_fn(void *arg, size_t n, const char *const *names, const struct store_cell *cells);

int store_sql_open(const char *path, struct store_sql **out, char why[STORE_WHY_BYTES]);
void store_sql_close(struct store_sql *s);
/* Runs all statements of a text, up to the first failure: NW_EINVAL with why, NW_ECORRUPT,
 * NW_ENOMEM, ...; NW_ECLOSED after an interruption. */
int store_sql_run(
    struct store_sql *s, const char *text, store_sql_fn *fn, void *arg, char why[STORE_WHY_BYTES]);
/* Opens a store, runs a text and closes the store; `why` begins with the path. */
enum { STORE_SQL_WHY_BYTES = 512 };
int store_sql_ask(
    const char *path, const char *text, store_sql_fn *fn, void *arg, char why[STORE_SQL_WHY_BYTES]);
/* Does the text end where a statement ends? */
bool store_sql_complete(const char *text);
/* Ends a running statement. Any thread, and signal handlers. */
void store_sql_interrupt(struct store_sql *s);

#endif

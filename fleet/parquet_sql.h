/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions about a directory of Parquet files, by DuckDB's library, which is loaded with the first
 * question. Tables: those of fleet_tables, of all files, and `site`, of all manifests. A site is
 * named as its directory, whatever a file says: a writer of one directory speaks for one site.
 */
#ifndef FLEET_PARQUET_SQL_H
#define FLEET_PARQUET_SQL_H

#include "fleet/fleet.h"

/* Stands in a site's directory while days are written: a session that moves from one day to another
 * may then be in both. */
#define PARQUET_WRITING "writing"

/* As ask() of struct fleet_engine. library: path or name of libduckdb.so. NW_EUNSUPPORTED with
 * why: no such library. Blocks; DuckDB's own threads end before the return. */
int parquet_ask(const char *library, const char *directory, const char *sql, const char *parameter,
    fleet_table_fn *fn, void *arg, char why[FLEET_WHY_BYTES]);
/* The end of the name of a file of the table, behind the day. */
const char *parquet_ending(enum fleet_table_id table);
/* The statement of a report. */
const char *parquet_report(enum fleet_report which);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of two papers: Tables 1 to 4 of Kunkel (2016), measured on Mistral (Lustre), and
 * Tables I and II of Kissel et al. (2012). A row without a name ends a table; NaN stands for a
 * number that was not published. */
#ifndef CLI_STAT_PAPER_H
#define CLI_STAT_PAPER_H
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum { PAPER_COLUMNS_1 = 9 };
struct paper_column {
	const char *name;
	double size_bytes;
	bool with_outliers;
};
extern const struct paper_column paper_columns_1[PAPER_COLUMNS_1];

struct paper_throughput {
	const char *table, *row, *state, *direction, *layout;
	double bytes_per_s[PAPER_COLUMNS_1];
};
extern const struct paper_throughput paper_table_1[];

struct paper_counters { /* accesses of 256 KiB */
	const char *row, *state, *direction, *layout;
	double read_bytes, write_bytes, bytes_per_s;
};
extern const struct paper_counters paper_table_2[];

struct paper_model {
	const char *row, *state, *direction, *memory;
	bool large;
	double intercept_s, slope, abs_err_s, rel_err_pct, outliers_exp_pct, outliers_model_pct;
};
extern const struct paper_model paper_table_3[];

struct paper_classes {
	const char *row, *state, *direction, *memory, *layout;
	double pct[5]; /* discard off0, discard rnd, cached off0, cached rnd, uncached */
};
extern const struct paper_classes paper_table_4[];

/* Kissel et al., Table I: gigabits per second with one decimal. A network has no read and write, a
 * disk no latency. */
struct paper_rate {
	const char *resource; /* "H_A", "H_B", "TCP", "UDT" */
	unsigned latency_ms, streams;
	double read_gbps, write_gbps, network_gbps;
};
extern const struct paper_rate paper_rates[];

/* Kissel et al., Table II: a transfer from H_B to H_A, and its printed bottleneck. */
struct paper_transfer {
	const char *resources; /* "disk to disk", "memory to disk" */
	const char *protocol;
	unsigned streams, latency_ms;
	double loss;         /* share of packets */
	const char *printed; /* NULL: "n/a" in the paper */
	const char *why;     /* what misled the calls; NULL where the print agrees with Table I */
};
extern const struct paper_transfer paper_transfers[];

/* --- judgement of a cell of Table II (stat_paper_cell.c) --- */
enum { PAPER_STAGES_MAX = 3 };
struct paper_stages {
	size_t n;
	const char *name[PAPER_STAGES_MAX]; /* in alphabetical order */
	double gbps[PAPER_STAGES_MAX];      /* rates of Table I; under loss an upper bound */
};
/* The stages of a transfer with their rates by Table I. Under loss the network's rate is the
 * smaller of Table I's and CUBIC's response (RFC 9438, equation 5) at 9000 bytes a packet. */
void paper_stages(const struct paper_transfer *t, struct paper_stages *out);
/* The printed table as rows: {table_1, table_2, ..}. `ttest_run` calls this for --paper. */
struct stat_args;
struct stat_error;
int paper_cells_run(const struct stat_args *a, json_t **out, struct stat_error *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of Tables 1 to 4 of Kunkel (2016), measured on Mistral (Lustre). A row without a name
 * ends a table. NaN: not published. */
#ifndef CLI_STAT_PAPER_H
#define CLI_STAT_PAPER_H
#include <stdbool.h>

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

#endif

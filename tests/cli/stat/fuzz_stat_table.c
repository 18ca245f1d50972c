/* SPDX-License-Identifier: BSD-3-Clause */
/* CSV: whatever the bytes, there is a table whose columns are whole, or one line that says where it
 * is wrong. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/stat.h"

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
check_column(struct stat_table *t, size_t col)
{
	struct stat_error err = { "" };
	const double *v = stat_table_numbers_at(t, col, &err);
	const char *const *text;
	size_t row, n_nan = 0;

	MUST((v == NULL) == (t->cols[col].n_text > 0));
	MUST((v == NULL) == (err.text[0] != '\0'));
	for (row = 0; row < t->n_rows; row++) {
		MUST(!isinf(t->cols[col].value[row]));
		n_nan += isnan(t->cols[col].value[row]) != 0;
	}
	MUST(n_nan == t->cols[col].n_missing + t->cols[col].n_text);
	err.text[0] = '\0';
	text = stat_table_texts(t, t->cols[col].name, &err);
	MUST(text != NULL);
	for (row = 0; row < t->n_rows; row++) {
		json_t *s = json_string(text[row]);

		MUST(s != NULL); /* it is UTF-8 */
		json_decref(s);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct stat_error err = { "" };
	struct stat_table *t;
	size_t col;

	if (stat_table_parse("fuzz", (const char *)data, len, &t, &err) != NW_OK) {
		MUST(t == NULL && strncmp(err.text, "fuzz:", 5) == 0 &&
		    strchr(err.text, '\n') == NULL);
		return 0;
	}
	MUST(err.text[0] == '\0' && t->n_cols > 0);
	for (col = 0; col < t->n_cols; col++) {
		MUST(stat_table_find(t, t->cols[col].name) == (long)col);
		check_column(t, col);
	}
	stat_table_free(t);
	return 0;
}

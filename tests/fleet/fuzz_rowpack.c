/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as rows: rows that are taken have their keys, and are the same after a second way. */
#include <stdlib.h>
#include <string.h>

#include "fleet/rowpack.h"
#include "narrows/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fleet_rows rows = { 0 }, again = { 0 };
	char *bytes;
	size_t n, i, c;

	if (rowpack_read((const char *)data, len, &rows) == NW_OK) {
		for (i = 0; i < rows.n; i++)
			for (c = 1; c < fleet_tables[rows.table].n_key; c++)
				if (!rows.row[i].cell[c].known)
					abort();
		if (rows.n <= ROWPACK_ROWS_MAX) {
			if (rowpack_write(&rows, &bytes, &n) != NW_OK ||
			    rowpack_read(bytes, n, &again) != NW_OK || again.n != rows.n ||
			    again.table != rows.table)
				abort();
			free(bytes);
		}
	}
	fleet_rows_clear(&again);
	fleet_rows_clear(&rows);
	return 0;
}

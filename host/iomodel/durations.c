/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/iomodel/durations.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/err.h"

enum { PATH_BYTES = 1024, LINE_BYTES = 256, SHARE_FIELD = 6, ERROR_FIELD = 5 };

/* The text of a field of a CSV line, counted from 0; NULL where the line has fewer. */
static const char *
field_of(const char *line, int field)
{
	for (; field > 0; field--) {
		while (*line != ',' && *line != '\0')
			line++;
		if (*line++ == '\0')
			return NULL;
	}
	return line;
}

static bool
is_kept(const char *line, enum durations_keep keep)
{
	const char *error = field_of(line, ERROR_FIELD), *share = field_of(line, SHARE_FIELD);

	if (error != NULL && strtol(error, NULL, 10) != 0)
		return false;
	if (keep == KEEP_ALL || share == NULL || *share == '\n')
		return keep == KEEP_ALL;
	return (strtod(share, NULL) >= 1) == (keep == KEEP_IN_MEMORY);
}

static void
file_add(struct durations *d, FILE *f, enum durations_keep keep)
{
	char line[LINE_BYTES];
	double start, s;

	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%lf,%lf", &start, &s) == 2 && s >= 0 && is_kept(line, keep)) {
			d->counts[nw_hist_index((uint64_t)llround(s * 1e9))]++;
			d->sum_s += s;
			d->n++;
		}
}

int
durations_add(struct durations *d, const char *folder, enum durations_keep keep)
{
	char path[PATH_BYTES];
	unsigned thread;
	FILE *f;

	for (thread = 0;; thread++) {
		snprintf(path, sizeof(path), "%s/out-%u.csv", folder, thread);
		if ((f = fopen(path, "re")) == NULL)
			return thread > 0 ? NW_OK : NW_ENOTFOUND;
		file_add(d, f, keep);
		fclose(f);
	}
}

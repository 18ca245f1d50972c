/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns of documents that evidence is made of, found by the names of a layout's fields. */
#include "analyze/verdict/evidence_in.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *name;
	size_t at;
} column_names[] = {
#define COLUMN(c)                               \
	{                                       \
#c, offsetof(struct columns, c) \
	}
	COLUMN(sum_v),
	COLUMN(mean_v),
	COLUMN(mean_r),
	COLUMN(sd_r),
	COLUMN(count),
	COLUMN(dur_inst),
	COLUMN(window),
	COLUMN(busy),
	COLUMN(busy_max),
	COLUMN(wait),
	COLUMN(threads),
	COLUMN(cpu_user),
	COLUMN(cpu_sys),
	COLUMN(cpu_wait),
	COLUMN(combined_bytes),
	COLUMN(report),
	COLUMN(seen_read),
	COLUMN(seen_written),
	COLUMN(rchar),
	COLUMN(wchar),
	COLUMN(pipe_read_bytes),
	COLUMN(pipe_write_bytes),
	COLUMN(pipe_read_s),
	COLUMN(pipe_write_s),
	COLUMN(read_bytes),
	COLUMN(write_bytes),
	COLUMN(bytes_in),
	COLUMN(bytes_out),
	COLUMN(rtt_s),
	COLUMN(rtt_min_s),
	COLUMN(retrans),
	COLUMN(cwnd_bytes),
	COLUMN(busy_s),
	COLUMN(rwnd_limited_s),
	COLUMN(sndbuf_limited_s),
	COLUMN(idle),
	COLUMN(iowait),
	COLUMN(disk_busy),
	COLUMN(offset_s),
	COLUMN(bound_s),
	COLUMN(kernel_synced),
	COLUMN(io_ms),
	COLUMN(written_bytes),
};

void
columns_find(struct columns *c, const struct nw_layout_rec *l)
{
	size_t i, k;

	for (k = 0; k < sizeof(column_names) / sizeof(column_names[0]); k++) {
		int *out = (int *)(void *)((char *)c + column_names[k].at);

		*out = -1;
		for (i = 0; i < l->n_fields; i++)
			if (strcmp(l->fields[i], column_names[k].name) == 0)
				*out = (int)i;
	}
}

double
row_cell(const struct row *r, int column)
{
	return column >= 0 ? r->b->columns[column][r->i] : NAN;
}

double
known_or_0(double v)
{
	return isfinite(v) ? v : 0;
}

void
last_known(double *out, double v)
{
	if (isfinite(v))
		*out = v;
}

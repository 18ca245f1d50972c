/* SPDX-License-Identifier: BSD-3-Clause */
/* io-model files: what is kept is finite and not negative, and every row is accounted for once. */
#include "cli/stat/io_file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "narrows/err.h"

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct io_file f, all;
	size_t i;
	int rc = io_file_parse((const char *)data, len, false, &f);

	MUST(rc == (io_file_sniff((const char *)data, len) == IO_FILE_UNKNOWN ? NW_EPROTO : NW_OK));
	for (i = 0; i < f.n; i++)
		MUST(f.duration_s[i] >= 0 && isfinite(f.duration_s[i]));
	for (i = 0; i < f.n_params; i++)
		MUST(!isnan(io_file_param(&f, f.param[i].name)));
	MUST(f.n_locality <= 6 && f.n_params <= IO_FILE_PARAMS_MAX);
	if (f.layout != IO_FILE_STATISTICS)
		MUST(f.n + f.n_negative <= f.n_rows);
	MUST(io_file_parse((const char *)data, len, true, &all) == rc);
	MUST(all.n == f.n || all.n == f.n + 1);
	io_file_clear(&all);
	io_file_clear(&f);
	return 0;
}

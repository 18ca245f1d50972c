/* SPDX-License-Identifier: BSD-3-Clause */
/* Any line as one of a foreign log: what becomes an event has no end of line, and fits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/nwlog/logformat.h"
#include "narrows/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const formats[] = {
		"event a\nprogram b\ntime unix\nline %{time} %{client} \"%{file}\"\n",
		"event a\nprogram b\ntime clf\nline %{client} - %{user} [%{time}] \"%{file}\" "
		"%{bytes}\n",
		"event a\nprogram b\ntime iso\nline {\"o\":\"%{file}\",\"time\":\"%{time}\"}\n",
		"event a\nprogram b\ntime slashes\nline %{time} INFO  : %{file}: Copied\n",
		"event a\nprogram b\ntime ctime\nline %{time} %{seconds} %{client} %{-} _ %{file}\n"
	};
	struct logformat *f;
	const char *why;
	char out[512];
	unsigned line;
	size_t i;
	int n;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (logformat_read(formats[i], &f, &line, &why) < 0)
			abort();
		n = logformat_line(f, (const char *)data, len, out, sizeof(out));
		if (n >= (int)sizeof(out) ||
		    (n >= 0 && ((int)strlen(out) != n || strchr(out, '\n') != NULL)))
			abort();
		logformat_free(f);
	}
	return 0;
}

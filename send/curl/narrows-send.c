/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows-send: makes the exchange that standard input asks for (send/sendtext.h). */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "narrows/err.h"
#include "send/curl/transfer.h"
#include "send/sendtext.h"

enum { HEAD_MAX_BYTES = 1 << 16 };

/* All of standard input and a NUL; NULL without memory, or if there is too much. */
static char *
input_read(size_t *len)
{
	size_t cap = 1 << 14, n = 0;
	char *bytes = malloc(cap), *more;
	ssize_t got = 1;

	while (bytes != NULL && got > 0) {
		if (n + 1 == cap) {
			cap *= 2;
			more = cap <= 2 * (size_t)EXCHANGE_BODY_MAX_BYTES + HEAD_MAX_BYTES
			    ? realloc(bytes, cap)
			    : NULL;
			if (more == NULL)
				free(bytes);
			if ((bytes = more) == NULL)
				return NULL;
		}
		if ((got = read(0, bytes + n, cap - n - 1)) > 0)
			n += (size_t)got;
		else if (got < 0 && errno == EINTR)
			got = 1;
	}
	if (bytes != NULL)
		bytes[n] = '\0';
	*len = n;
	return bytes;
}

struct said {
	bool headed;
	int status;
};

static int
part_write(void *arg, const char *data, size_t len)
{
	struct said *s = arg;

	if (!s->headed && printf("%d\n", s->status) < 0)
		return NW_EIO;
	s->headed = true;
	return fwrite(data, 1, len, stdout) == len ? NW_OK : NW_EIO;
}

int
main(void)
{
	const struct rlimit none = { 0, 0 };
	char why[EXCHANGE_WHY_BYTES] = "";
	struct said said = { 0 };
	struct exchange x;
	size_t len = 0;
	char *bytes;
	int rc;

	setrlimit(RLIMIT_CORE, &none); /* a core would have the secrets */
	bytes = input_read(&len);
	rc = bytes != NULL ? sendtext_read(bytes, len, &x) : NW_ENOMEM;
	if (rc == NW_OK)
		rc = transfer(&x, part_write, &said, &said.status, why);
	if (rc == NW_OK)
		rc = part_write(&said, "", 0);
	if (fflush(stdout) != 0 && rc == NW_OK)
		rc = NW_EIO;
	if (rc < 0)
		fprintf(stderr, "%s", why[0] != '\0' ? why : nw_strerror(rc));
	free(bytes);
	return -rc;
}

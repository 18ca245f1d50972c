/* SPDX-License-Identifier: BSD-3-Clause */
/* The same documents as over HTTP, for those who have the file: one path, one body. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "narrows/err.h"
#include "narrows/web.h"
#include "web/api.h"

typedef int write_fn(void *arg, const char *text, size_t len);

/* "17.json" with suffix ".json": 17. 0: not of that form. */
static int64_t
id_parse(const char *text, const char *suffix)
{
	char *end;
	long long id;

	errno = 0;
	id = strtoll(text, &end, 10);
	return errno == 0 && id > 0 && strcmp(end, suffix) == 0 ? id : 0;
}

static int
body_pass(struct evbuffer *body, write_fn *write, void *arg)
{
	size_t len;
	int rc = NW_OK;

	while (rc == NW_OK && (len = evbuffer_get_contiguous_space(body)) > 0) {
		rc = write(arg, (const char *)evbuffer_pullup(body, (ev_ssize_t)len), len);
		evbuffer_drain(body, len);
	}
	return rc;
}

int
web_answer(struct store_reader *r, const char *path, write_fn *write, void *arg, int *status)
{
	struct evbuffer *body = evbuffer_new();
	int64_t id;
	int rc;

	if (body == NULL)
		return NW_ENOMEM;
	if (strcmp(path, "/sessions.json") == 0)
		rc = api_sessions(body, r, 0);
	else if (strncmp(path, "/sessions.json?before=", 22) == 0 && (id = id_parse(path + 22, "")) > 0)
		rc = api_sessions(body, r, id);
	else if (strncmp(path, "/session/", 9) == 0 && (id = id_parse(path + 9, ".json")) > 0)
		rc = api_session(body, r, id);
	else if (strncmp(path, "/session/", 9) == 0 && (id = id_parse(path + 9, ".csv")) > 0)
		rc = web_csv_session(r, id, write, arg);
	else
		rc = NW_ENOTFOUND;
	*status = rc == NW_ENOTFOUND ? 404 : 200;
	if (rc == NW_OK)
		rc = body_pass(body, write, arg);
	evbuffer_free(body);
	return rc == NW_ENOTFOUND ? NW_OK : rc;
}

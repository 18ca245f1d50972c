/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/blocklog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpss/proto.h"
#include "narrows/clock.h"
#include "narrows/err.h"

#define NS_PER_S INT64_C(1000000000)
#define FLUSH_NS INT64_C(100000000)
enum { HOST_BYTES = 256, TEXT_BYTES = 64 << 10, LINE_BYTES = 2048 };

const char *const dpss_point_words[DPSS_POINTS] = { "APP_SEND", "DPSS_MASTER_IN", "DPSS_MASTER_OUT",
	"DPSS_SERV_IN", "DPSS_START_READ", "DPSS_END_READ", "DPSS_START_WRITE", "APP_RECEIVE" };

struct blocklog {
	int fd, error; /* error: of the first failed write */
	size_t len;
	int64_t flushed_mono_ns;
	pthread_mutex_t lock;
	char host[HOST_BYTES];
	char text[TEXT_BYTES]; /* whole lines */
};

int
blocklog_open(
    const char *path, const char *host, struct blocklog **out, char why[EVENTLOG_WHY_BYTES])
{
	struct blocklog *l;

	*out = NULL;
	if (path == NULL)
		return NW_OK;
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NW_ENOMEM;
	if ((l->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) < 0) {
		snprintf(why, EVENTLOG_WHY_BYTES, "%.180s: %s", path, strerror(errno));
		free(l);
		return NW_EIO;
	}
	pthread_mutex_init(&l->lock, NULL);
	if (host != NULL)
		snprintf(l->host, sizeof(l->host), "%s", host);
	else if (gethostname(l->host, sizeof(l->host) - 1) < 0)
		strcpy(l->host, "localhost");
	*out = l;
	return NW_OK;
}

static void
write_out(struct blocklog *l)
{
	ssize_t n = l->len > 0 ? write(l->fd, l->text, l->len) : 0;

	if ((n < 0 || (size_t)n < l->len) && l->error == 0)
		l->error = n < 0 ? errno : ENOSPC;
	l->len = 0;
	l->flushed_mono_ns = nw_mono_ns();
}

int
blocklog_close(struct blocklog *l)
{
	int rc;

	if (l == NULL)
		return NW_OK;
	write_out(l);
	rc = close(l->fd) != 0 || l->error != 0 ? NW_EIO : NW_OK;
	pthread_mutex_destroy(&l->lock);
	free(l);
	return rc;
}

void
blocklog_flush(struct blocklog *l)
{
	if (l == NULL)
		return;
	pthread_mutex_lock(&l->lock);
	if (l->len > 0 && nw_mono_ns() - l->flushed_mono_ns >= FLUSH_NS)
		write_out(l);
	pthread_mutex_unlock(&l->lock);
}

void
blocklog_write(struct blocklog *l)
{
	if (l == NULL)
		return;
	pthread_mutex_lock(&l->lock);
	write_out(l);
	pthread_mutex_unlock(&l->lock);
}

void
blocklog_put(struct blocklog *l, const char *keyword, const char *host, int64_t t_wall_ns,
    const uint64_t *data, size_t n)
{
	char line[LINE_BYTES];
	size_t len, i;

	if (l == NULL)
		return;
	len = (size_t)snprintf(line, sizeof(line) / 2, "%.255s; %.255s; %" PRId64 "; %09" PRId64,
	    keyword, host != NULL ? host : l->host, t_wall_ns / NS_PER_S, t_wall_ns % NS_PER_S);
	for (i = 0; i < n && len < sizeof(line) - 32; i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, "; %" PRIu64, data[i]);
	line[len++] = '\n';
	pthread_mutex_lock(&l->lock);
	if (len > sizeof(l->text) - l->len)
		write_out(l);
	memcpy(l->text + l->len, line, len);
	l->len += len;
	pthread_mutex_unlock(&l->lock);
	blocklog_flush(l);
}

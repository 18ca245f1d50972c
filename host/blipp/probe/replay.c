/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "host/blipp/probe/bandwidth_sink.h"
#include "host/blipp/probe/scratch.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/splitmix.h"

/* Written bytes go to the device at least so often, so that the time bounds them. */
#define SYNC_BYTES INT64_C(4194304)
/* Shorter pauses are slept together. */
#define NAP_NS     INT64_C(1000000)
#define PATIENCE_S 5

enum { PAGE = 4096, LINE_BYTES = 96 };

/* A replay on its way. */
struct replay {
	const struct nw_replay *pattern;
	uint64_t *block; /* of an operation */
	uint64_t file_bytes, at, random;
	int64_t max_ns, owed_ns, slept_ns;
	int fd;
};

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Bytes of the program's operations within both bounds, whole operations. */
static int64_t
bytes_within(const struct nw_replay *p, uint64_t configured)
{
	int64_t most = least(p->bytes, (int64_t)configured);

	return most - most % p->op_bytes;
}

static bool
replay_init(struct replay *r, const struct nw_replay *p, uint64_t bytes, int64_t max_ns)
{
	void *block = NULL;
	size_t words = (size_t)p->op_bytes / sizeof(uint64_t) + 1;

	*r = (struct replay){ .pattern = p, .file_bytes = bytes, .max_ns = max_ns, .fd = -1 };
	r->random = (uint64_t)nw_mono_ns();
	if (posix_memalign(&block, PAGE, words * sizeof(uint64_t)) != 0)
		return false;
	r->block = block;
	scratch_draw(r->block, words, 1, &r->random);
	return true;
}

/* No two pages are alike, for a device that would store them once. */
static void
block_renew(struct replay *r)
{
	scratch_draw(r->block, (size_t)r->pattern->op_bytes / sizeof(uint64_t) + 1,
	    PAGE / sizeof(uint64_t), &r->random);
}

/* The program's own time between two operations. */
static void
replay_pause(struct replay *r)
{
	int64_t begin_ns;
	struct timespec nap;

	r->owed_ns += r->pattern->pause_ns;
	if (r->owed_ns < NAP_NS)
		return;
	begin_ns = nw_mono_ns();
	nap = (struct timespec){ r->owed_ns / 1000000000, r->owed_ns % 1000000000 };
	nanosleep(&nap, NULL);
	begin_ns = nw_mono_ns() - begin_ns;
	r->slept_ns += begin_ns;
	r->owed_ns -= begin_ns;
}

/* The place of the next operation: behind the last, or anywhere among the operations' places. */
static uint64_t
place_next(struct replay *r)
{
	const uint64_t op = (uint64_t)r->pattern->op_bytes, places = r->file_bytes / op;
	const double share = (double)(nw_splitmix(&r->random) >> 11) * 0x1p-53;
	uint64_t at;

	if (share < r->pattern->random_share)
		r->at = nw_splitmix(&r->random) % places * op;
	at = r->at;
	r->at = (at + op) % (places * op);
	return at;
}

/* --- files --- */

static int
operation(struct replay *r, bool write)
{
	const size_t len = (size_t)r->pattern->op_bytes;
	const off_t at = (off_t)place_next(r);
	ssize_t n = write ? pwrite(r->fd, r->block, len, at) : pread(r->fd, r->block, len, at);

	return n == (ssize_t)len ? NW_OK : NW_EIO;
}

/* A moment of a replay. */
struct moment {
	int64_t bytes, at_ns, slept_ns;
};

static int
bytes_sync(const struct replay *r, int64_t *unsynced)
{
	*unsynced = 0;
	return fdatasync(r->fd) < 0 ? NW_EIO : NW_OK;
}

/* The operations, up to all bytes or the end of the time. The first half of the bytes does not
 * count: throttles and caches let a burst pass. */
static int
operations(struct replay *r, bool write, struct replay_result *out)
{
	const int64_t begin_ns = nw_mono_ns(), op = r->pattern->op_bytes;
	const int64_t stretch = least(SYNC_BYTES, (int64_t)r->file_bytes / 4);
	struct moment half = { 0, begin_ns, 0 };
	int64_t done = 0, unsynced = 0;

	while (done + op <= (int64_t)r->file_bytes && nw_mono_ns() - begin_ns < r->max_ns) {
		if (write)
			block_renew(r);
		if (operation(r, write) < 0)
			return NW_EIO;
		done += op;
		unsynced += op;
		if (write && unsynced >= stretch && bytes_sync(r, &unsynced) < 0)
			return NW_EIO;
		if (half.bytes == 0 && done >= (int64_t)r->file_bytes / 2 &&
		    (!write || unsynced == 0))
			half = (struct moment){ done, nw_mono_ns(), r->slept_ns };
		replay_pause(r);
	}
	if (write && bytes_sync(r, &unsynced) < 0)
		return NW_EIO;
	if (done == half.bytes)
		half = (struct moment){ 0, begin_ns, 0 };
	out->bytes = (uint64_t)(done - half.bytes);
	out->took_ns = nw_mono_ns() - half.at_ns;
	out->calls_ns = out->took_ns - (r->slept_ns - half.slept_ns);
	out->cost_bytes += (uint64_t)done;
	return NW_OK;
}

/* Fills the file within half of the time, as far as it gets, and drops its pages. Returns whether
 * all that was written is on the device alone. */
static bool
file_fill(struct replay *r, struct replay_result *out)
{
	const int64_t begin_ns = nw_mono_ns();
	const uint64_t op = (uint64_t)r->pattern->op_bytes;
	uint64_t n = 0, synced = 0;

	while (n + op <= r->file_bytes && nw_mono_ns() - begin_ns < r->max_ns) {
		block_renew(r);
		if (pwrite(r->fd, r->block, op, (off_t)n) != (ssize_t)op)
			return false;
		n += op;
		if (n - synced >= (uint64_t)SYNC_BYTES && fdatasync(r->fd) < 0)
			return false;
		synced = n - synced >= (uint64_t)SYNC_BYTES ? n : synced;
	}
	out->cost_bytes += n;
	if (n == 0 || fdatasync(r->fd) < 0)
		return false;
	r->file_bytes = n;
	(void)posix_fadvise(r->fd, 0, 0, POSIX_FADV_DONTNEED);
	return scratch_is_on_device(r->fd, n);
}

int
replay_file(const struct nw_replay *p, const struct scratch_conf *of, struct replay_result *out)
{
	const int64_t begin_ns = nw_mono_ns(), bytes = bytes_within(p, of->bytes),
		      max_ns = least(p->time_ns, of->time_ns);
	const bool write = p->way == NW_REPLAY_WRITE;
	struct replay r = { .fd = -1 };
	int rc = NW_EIO;

	*out = (struct replay_result){ 0 };
	if (bytes == 0)
		return NW_EFULL;
	if (!replay_init(&r, p, (uint64_t)bytes, write ? max_ns : max_ns / 2))
		return NW_ENOMEM;
	r.fd = open(of->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (r.fd >= 0 && !scratch_has_room(r.fd, (uint64_t)bytes))
		rc = NW_EFULL;
	else if (r.fd >= 0)
		rc = write || file_fill(&r, out) ? operations(&r, write, out) : NW_OK;
	out->cost_ns = nw_mono_ns() - begin_ns;
	if (r.fd >= 0)
		close(r.fd);
	free(r.block);
	return rc;
}

/* --- sending --- */

static bool
line_read(int fd, char line[LINE_BYTES])
{
	size_t len = 0;
	ssize_t n;

	while (len < LINE_BYTES - 1 && (n = recv(fd, line + len, LINE_BYTES - 1 - len, 0)) > 0) {
		len += (size_t)n;
		line[len] = '\0';
		if (strchr(line, '\n') != NULL)
			return true;
	}
	return false;
}

static bool
send_all(struct replay *r)
{
	const char *at = (const char *)r->block;
	size_t left = (size_t)r->pattern->op_bytes;
	ssize_t n;

	for (; left > 0; left -= (size_t)n, at += n)
		if ((n = send(r->fd, at, left, MSG_NOSIGNAL)) <= 0)
			return false;
	return true;
}

/* "16711680 130271244 142606336": the far end's count, without the first bytes. */
static int
answer_take(struct replay *r, int64_t sent, struct replay_result *out)
{
	char line[LINE_BYTES];
	int64_t bytes, ns;

	if (!line_read(r->fd, line) || sscanf(line, "%" SCNd64 " %" SCNd64, &bytes, &ns) != 2 ||
	    bytes <= 0 || bytes > sent || ns <= 0)
		return NW_EIO;
	out->bytes = (uint64_t)bytes;
	out->took_ns = ns;
	out->calls_ns = ns > r->slept_ns ? ns - r->slept_ns : ns;
	return NW_OK;
}

static int
bytes_send(struct replay *r, struct replay_result *out)
{
	const int64_t begin_ns = nw_mono_ns(), op = r->pattern->op_bytes;
	char line[LINE_BYTES];
	int64_t sent = 0;

	if (!line_read(r->fd, line))
		return NW_EIO;
	if (strcmp(line, BANDWIDTH_READY) != 0)
		return strcmp(line, BANDWIDTH_BUSY) == 0 ? NW_EFULL : NW_EIO;
	while (sent + op <= (int64_t)r->file_bytes && nw_mono_ns() - begin_ns < r->max_ns) {
		block_renew(r);
		if (!send_all(r))
			return NW_EIO;
		sent += op;
		replay_pause(r);
	}
	out->cost_bytes = (uint64_t)sent;
	shutdown(r->fd, SHUT_WR);
	return answer_take(r, sent, out);
}

int
replay_send(const struct nw_replay *p, const struct bandwidth_conf *of, const struct sockaddr *to,
    unsigned to_len, struct replay_result *out)
{
	const struct timeval patience = { PATIENCE_S, 0 };
	const int64_t begin_ns = nw_mono_ns(), bytes = bytes_within(p, of->bytes);
	const int64_t max_ns = least(p->time_ns, of->time_ns);
	struct replay r = { .fd = -1 };
	int rc = NW_EIO;

	*out = (struct replay_result){ 0 };
	if (bytes == 0)
		return NW_EFULL;
	if (!replay_init(&r, p, (uint64_t)bytes, max_ns))
		return NW_ENOMEM;
	r.fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)setsockopt(r.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	(void)setsockopt(r.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (r.fd >= 0 && connect(r.fd, to, to_len) == 0)
		rc = bytes_send(&r, out);
	out->cost_ns = nw_mono_ns() - begin_ns;
	if (r.fd >= 0)
		close(r.fd);
	free(r.block);
	return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An application of libdpss.so, by the public header alone: reads by frames and tiles with and
 * without a prediction, has blocks delivered to another handle, places blocks itself, watches
 * servers. The master is that of DPSS_MASTER.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "narrows/dpss.h"
#include "narrows/err.h"

static char why[DPSS_WHY_BYTES];
static uint8_t *file;
static uint64_t file_bytes, n_predicted;

static int
fail(const char *what, int rc)
{
	fprintf(stderr, "%s: %s %s\n", what, nw_strerror(rc), why);
	exit(1);
}

static struct dpss *
opened(const struct dpss_opts *opts, const char *set)
{
	struct dpss *d;
	int rc = dpss_open(opts, set, &d, why);

	return rc == NW_OK ? d : (fail(set, rc), NULL);
}

static void
file_read(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (f == NULL || (file = malloc(64 << 20)) == NULL)
		fail(path, NW_EIO);
	file_bytes = fread(file, 1, 64 << 20, f);
	fclose(f);
}

static size_t
predict(void *arg, uint64_t logical, uint64_t *out, size_t max)
{
	size_t i;

	(void)arg;
	for (i = 0; i < 4 && i < max; i++)
		out[i] = logical + 3 * i; /* some beyond the end */
	n_predicted++;
	return i;
}

/* --- cases --- */

static void
frames(struct dpss *d, uint64_t frame_bytes, int64_t step)
{
	uint64_t n = file_bytes / frame_bytes, at = step < 0 ? n - 1 : 0, i;
	uint8_t *buf = malloc(frame_bytes);
	int rc;

	for (i = 0; i < n && at < n; i++, at += (uint64_t)step) {
		if ((rc = dpss_frame(d, frame_bytes, at, buf)) != NW_OK)
			fail("frame", rc);
		if (memcmp(buf, file + at * frame_bytes, frame_bytes) != 0)
			fail("a frame has other bytes", NW_ECORRUPT);
	}
	if (dpss_frame(d, frame_bytes, n, buf) != NW_EINVAL)
		fail("a frame behind the end", NW_OK);
	free(buf);
}

static void
tiles(struct dpss *d)
{
	struct dpss_tiles t = { 5000, 8, 8, 4 };
	uint8_t buf[5000];
	uint64_t at, i;
	unsigned state = 11;
	uint32_t x, y, level;
	int rc;

	for (i = 0; i < 200; i++) {
		level = (uint32_t)rand_r(&state) % 4;
		x = (uint32_t)rand_r(&state) % (8U >> level);
		y = (uint32_t)rand_r(&state) % (8U >> level);
		at = dpss_tile_number(&t, x, y, level) * t.tile_bytes;
		if ((rc = dpss_tile(d, &t, x, y, level, buf)) != NW_OK)
			fail("tile", rc);
		if (memcmp(buf, file + at, sizeof(buf)) != 0)
			fail("a tile has other bytes", NW_ECORRUPT);
	}
}

static int
case_access(char **args)
{
	struct dpss_opts opts = { 0 };
	struct dpss *d = opened(&opts, args[0]);

	file_read(args[1]);
	frames(d, 30011, 1);
	frames(d, 1001, -1);
	frames(d, 4000, 7);
	tiles(d);
	dpss_predict_by(d, predict, NULL);
	frames(d, 4000, 5);
	tiles(d);
	dpss_close(d);
	return n_predicted > 200 ? 0 : 1;
}

/* One handle asks, another takes: the bytes come straight to the second. */
static int
case_third(char **args)
{
	struct dpss_opts opts = { .accepts = true }, plain = { 0 };
	struct dpss *d = opened(&opts, args[0]);
	char address[DPSS_ADDRESS_CHARS + 1];
	uint64_t list[] = { 3, 9, 1, 60 };
	uint32_t block = dpss_layout_of(d).block_bytes;
	struct dpss_block b;
	size_t i;
	int rc;

	file_read(args[1]);
	dpss_address(d, address);
	if ((rc = dpss_deliver(&plain, address, list, 4, why)) != NW_OK)
		fail("deliver", rc);
	for (i = 0; i < 4; i++) {
		if ((rc = dpss_next(d, 10000, &b)) != NW_OK || b.rc != NW_OK)
			fail("next", rc);
		if (memcmp(b.data, file + b.logical * block, b.len) != 0)
			fail("other bytes", NW_ECORRUPT);
		dpss_block_free(&b);
	}
	address[3] = address[3] == '0' ? '1' : '0';
	rc = dpss_deliver(&plain, address, list, 4, why);
	dpss_close(d);
	return rc == NW_ENOTFOUND ? 0 : 1;
}

static void
second_disk(void *arg, uint64_t logical, uint32_t *server, uint32_t *disk)
{
	*server = logical % 4 == 0 ? *(uint32_t *)arg : UINT32_MAX;
	*disk = 1;
}

static int
case_layout(char **args)
{
	struct dpss_opts opts = { 0 };
	uint32_t server = (uint32_t)atoi(args[1]);
	struct dpss_layout l = { 4096, 40 * 4096, 1, 0, second_disk, &server };
	static uint8_t data[4096];
	struct dpss *d;
	uint64_t i;
	int rc = dpss_create(&opts, args[0], &l, &d, why);

	if (rc != NW_OK)
		fail(args[0], rc);
	for (i = 40; i-- > 0;) /* in any order */
		if ((rc = dpss_write(d, i, data)) != NW_OK)
			fail("write", rc);
	rc = dpss_finish(d);
	dpss_close(d);
	return rc == NW_OK ? 0 : 1;
}

static void
on_server(void *arg, uint32_t server, const char *host, uint16_t port, bool alive)
{
	struct timespec t;

	(void)arg;
	(void)server;
	(void)host;
	clock_gettime(CLOCK_REALTIME, &t);
	printf("%ld.%03ld %u %s\n", (long)t.tv_sec, t.tv_nsec / 1000000, (unsigned)port,
	    alive ? "alive" : "dead");
	fflush(stdout);
}

static int
case_watch(char **args)
{
	struct dpss_opts opts = { .on_server = on_server };
	struct dpss *d = opened(&opts, args[0]);

	sleep((unsigned)atoi(args[1]));
	dpss_close(d);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **args);
	} cases[] = { { "access", case_access }, { "third", case_third }, { "layout", case_layout },
		{ "watch", case_watch } };
	size_t i;

	for (i = 0; argc == 4 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run(argv + 2);
	fputs("usage: dpss-cases access|third|layout|watch SET ARGUMENT\n", stderr);
	return 2;
}

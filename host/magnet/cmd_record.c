/* SPDX-License-Identifier: BSD-3-Clause */
/* magnet record: writes events to a file or a pipe until a signal, a time, or a count ends it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/magnet/magnet_cmd.h"
#include "host/magnet/ring.h"
#include "host/magnet/selection.h"
#include "host/magnet/stream.h"
#include "narrows/clock.h"

struct recording {
	FILE *file;
	struct kernel *kernel;
	struct ring *ring;
	uint64_t n, n_max, n_wait, ring_bytes, watermark_bytes, payload_bytes;
	int64_t until_mono_ns;
	int timeout_ms;
};

/* Writes all waiting records, and leaves no record in the file's buffer. */
static int
drain(struct recording *r)
{
	const struct magnet_record *rec;

	while ((r->n_max == 0 || r->n < r->n_max) && (rec = ring_peek(r->ring)) != NULL) {
		if (fwrite(rec, rec->size_bytes, 1, r->file) != 1)
			return -1;
		ring_pass(r->ring);
		r->n++;
	}
	return fflush(r->file) != 0 ? -1 : 0;
}

static int
remaining_ms(const struct recording *r)
{
	int64_t ms;

	if (r->until_mono_ns == 0)
		return r->timeout_ms;
	ms = (r->until_mono_ns - nw_mono_ns()) / 1000000;
	return ms < 0 ? 0 : ms < r->timeout_ms ? (int)ms : r->timeout_ms;
}

static void
watermark_set(struct recording *r, uint64_t bytes)
{
	kernel_control(r->kernel)->watermark_bytes = bytes;
	ring_watermark_set(r->ring, bytes);
}

/* Bytes that wait at the least when all wanted records do, within half of the ring. */
static uint64_t
bytes_of(const struct recording *r, uint64_t held_bytes, uint64_t n_missing)
{
	uint64_t bytes = held_bytes + n_missing * ring_record_bytes(sizeof(struct magnet_record));

	return bytes < r->ring_bytes / 2 ? bytes : r->ring_bytes / 2;
}

/*
 * Sleeps until the watermark and the count of option -m are reached, the ring is half full, or the
 * time is over. The kernel knows bytes only: where records are longer than the shortest, it wakes
 * the reader early, and the reader moves the watermark on by what the missing records take.
 */
static void
records_wait(struct recording *r)
{
	uint64_t left = r->n_max == 0 ? UINT64_MAX : r->n_max - r->n, held, bytes, n;
	uint64_t wanted = left < r->n_wait ? left : r->n_wait;
	int64_t until_mono_ns = nw_mono_ns() + remaining_ms(r) * (int64_t)1000000, left_ns;

	while (!stop_wanted && (left_ns = until_mono_ns - nw_mono_ns()) > 0) {
		held = ring_waiting_bytes(r->ring); /* before the records: of no more */
		n = ring_waiting_records(r->ring);
		if (held >= r->watermark_bytes && (n >= wanted || held >= r->ring_bytes / 2))
			return;
		bytes = n >= wanted ? 0 : bytes_of(r, held, wanted - n);
		watermark_set(r, bytes > r->watermark_bytes ? bytes : r->watermark_bytes);
		ring_wait(r->ring, (int)((left_ns + 999999) / 1000000));
	}
}

static int
record(struct recording *r)
{
	int rc = stream_begin(r->file, r->kernel);

	if (rc == 0 && fflush(r->file) != 0) /* tells a reader of the begin */
		rc = -1;
	while (rc == 0 && !stop_wanted && (r->n_max == 0 || r->n < r->n_max) &&
	    (r->until_mono_ns == 0 || nw_mono_ns() < r->until_mono_ns)) {
		if (r->n_wait > 0)
			records_wait(r);
		else
			ring_wait(r->ring, remaining_ms(r));
		rc = drain(r);
	}
	if (rc == 0) /* what came after the last look, also when a signal ends the recording */
		rc = drain(r);
	if (rc == 0)
		rc = stream_counts(r->file, r->kernel);
	return rc != 0 || fflush(r->file) != 0 ? fail("%s", strerror(errno)) : 0;
}

static int
view_open(struct recording *r)
{
	uint32_t view;
	int ring_fd, armed_fd;

	kernel_control(r->kernel)->watermark_bytes = r->watermark_bytes;
	kernel_control(r->kernel)->payload_bytes = (uint32_t)r->payload_bytes;
	if (kernel_view_add(r->kernel, r->ring_bytes, &(struct view_of){ 0 }, &view) < 0)
		return fail("%s", kernel_why(r->kernel));
	if (kernel_view_fds(r->kernel, view, &ring_fd, &armed_fd) < 0 ||
	    ring_open(ring_fd, armed_fd, r->ring_bytes, r->watermark_bytes, &r->ring) < 0)
		return fail("the ring cannot be mapped: %s", strerror(errno));
	return 0;
}

static int
option_take(struct recording *r, int o, const char *value)
{
	char why[KERNEL_WHY_BYTES];
	double v = 0;

	switch (o) {
	case 'b': r->ring_bytes = size_of(value); return r->ring_bytes == 0 ? -1 : 0;
	case 'w': r->watermark_bytes = size_of(value); return r->watermark_bytes == 0 ? -1 : 0;
	case 'B': v = r->payload_bytes = size_of(value); return v == 0 ? -1 : 0;
	case 'n':
		v = number_of(value, 1, 1e18, "-n");
		r->n_max = (uint64_t)v;
		break;
	case 'm':
		v = number_of(value, 1, 1e9, "-m");
		r->n_wait = (uint64_t)v;
		break;
	case 'T':
		v = number_of(value, 1, 1e6, "-T");
		r->timeout_ms = (int)v;
		break;
	case 't':
		v = number_of(value, 0.001, 1e7, "-t");
		r->until_mono_ns = nw_mono_ns() + (int64_t)(v * 1e9);
		break;
	case 'o':
		r->file = strcmp(value, "-") == 0 ? stdout : fopen(value, "we");
		if (r->file == NULL)
			return fail("%s: %s", value, strerror(errno)), -1;
		break;
	default:
		if (selection_option(r->kernel, o, value, why) < 0)
			return fail("%s", why), -1;
	}
	return v < 0 ? -1 : 0;
}

static int
record_run(int argc, char **argv)
{
	struct recording r = { .file = stdout, .ring_bytes = 8 << 20, .timeout_ms = 100 };
	int o, rc = 0;
	uint64_t lost;

	if ((r.kernel = kernel_or_fail()) == NULL)
		return 1;
	while (rc == 0 && (o = getopt(argc, argv, "a:p:f:s:e:o:b:w:m:B:n:t:T:")) != -1)
		rc = o == '?' ? -1 : option_take(&r, o, optarg);
	if (r.watermark_bytes == 0) /* a count alone decides when the reader wakes */
		r.watermark_bytes = r.n_wait > 0 ? 1 : 256 << 10;
	if (rc == 0 && (optind < argc || selection_points_on(r.kernel) == 0))
		rc = -1;
	if (rc < 0) {
		kernel_close(r.kernel);
		return usage(&magnet_cmd_record);
	}
	if (r.file == stdout && isatty(STDOUT_FILENO))
		rc = fail("a terminal cannot show a stream: use -o FILE, or a pipe to magnet dump");
	setvbuf(r.file, NULL, _IOFBF, 1 << 20);
	if (rc == 0 && (rc = view_open(&r)) == 0)
		rc = record(&r);
	lost = losses_print(r.kernel);
	fprintf(stderr, "magnet: %" PRIu64 " records, %" PRIu64 " lost\n", r.n, lost);
	ring_close(r.ring);
	kernel_close(r.kernel);
	return rc != 0 ? 1 : lost > 0 ? EXIT_LOST : 0;
}

const struct command magnet_cmd_record = { "record",
	"record -p POINTS [-a \"NAME PLACE [FIELD ...]\"] [-f KIND=VALUE] [-s N] [-e MS] [-o FILE] "
	"[-b BYTES] [-w BYTES] [-m COUNT] [-B BYTES]"
	" [-T MS] [-n COUNT] [-t SECONDS]",
	"writes events to a file or a pipe", record_run };

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring's ceiling: records of 64 to 4,000 bytes that one processor makes as fast as the
 * kernel can while another writes them to a file in memory, without a loss; and how soon a switch
 * takes effect. The producer rests while the ring has no room, which is what "without loss" means.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/magnet/magnet_kernel.h"
#include "host/magnet/ring.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum { POINT = 50, RING_BYTES = 32 << 20, ROUNDS = 7, SWITCHES = 201, WRITE_BYTES = 1 << 20 };
#define RUN_NS (INT64_C(1000000000) / 2)

static struct {
	struct kernel *kernel;
	struct ring *ring;
	uint32_t burst, record_bytes;
	volatile int stop;
	uint64_t made;
} bench;

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
sort_doubles(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), by_value);
}

static void
cpu_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void *
produce(void *arg)
{
	uint64_t need = (uint64_t)bench.burst * (bench.record_bytes + 8);

	(void)arg;
	cpu_pin(1);
	while (!bench.stop) {
		if (ring_waiting_bytes(bench.ring) + need > RING_BYTES - RING_BYTES / 8) {
			sched_yield();
			continue;
		}
		if (kernel_burst(bench.kernel, POINT, bench.burst) < 0)
			break;
		bench.made += bench.burst;
	}
	return NULL;
}

static char *written;
static size_t n_written;

static void
flush(int fd)
{
	if (n_written > 0 && pwrite(fd, written, n_written, 0) != (ssize_t)n_written)
		perror("write");
	n_written = 0;
}

/* Writes what waits; returns the number of records. The file is written over and over. */
static uint64_t
drain(int fd)
{
	const struct magnet_record *r;
	uint64_t n = 0;

	while ((r = ring_peek(bench.ring)) != NULL) {
		if (n_written + r->size_bytes > WRITE_BYTES)
			flush(fd);
		memcpy(written + n_written, r, r->size_bytes);
		n_written += r->size_bytes;
		ring_pass(bench.ring);
		n++;
	}
	return n;
}

/* Records per second of one run; negative after a loss. */
static double
run(int fd)
{
	int64_t begin, end;
	pthread_t producer;
	uint64_t n = 0;

	bench.stop = 0;
	bench.made = 0;
	if (pthread_create(&producer, NULL, produce, NULL) != 0)
		return -1;
	begin = nw_mono_ns();
	do {
		ring_wait(bench.ring, 10);
		n += drain(fd);
		end = nw_mono_ns();
	} while (end - begin < RUN_NS);
	bench.stop = 1;
	pthread_join(producer, NULL);
	ring_wait(bench.ring, 0);
	n += drain(fd);
	flush(fd);
	if (n != bench.made || ring_lost(bench.ring) > 0)
		return -1;
	return (double)n / ((double)(end - begin) / 1e9);
}

static int
ceiling(int fd, const char *what, uint32_t payload_bytes, uint32_t record_bytes, uint32_t burst)
{
	double rates[ROUNDS];
	int i;

	bench.burst = burst;
	bench.record_bytes = record_bytes;
	kernel_control(bench.kernel)->payload_bytes = payload_bytes;
	for (i = 0; i < ROUNDS; i++)
		if ((rates[i] = run(fd)) < 0)
			return fprintf(stderr, "%s: records were lost\n", what), 1;
	sort_doubles(rates, ROUNDS);
	printf("%-18s %6.2f M records/s  %6.2f GB/s  (slowest run %.2f M/s, %.2f GB/s)\n", what,
	    rates[ROUNDS / 2] / 1e6, rates[ROUNDS / 2] * record_bytes / 1e9, rates[0] / 1e6,
	    rates[0] * record_bytes / 1e9);
	return 0;
}

static void *
produce_always(void *arg)
{
	(void)arg;
	cpu_pin(1);
	while (!bench.stop)
		(void)kernel_burst(bench.kernel, POINT, 100000);
	return NULL;
}

/* First record after the switch, and last record after the switch back, against the stores. */
static void
switch_once(double *on_ns, double *off_ns)
{
	volatile struct magnet_control *c = kernel_control(bench.kernel);
	const struct magnet_record *r;
	uint64_t first = 0, last = 0;
	int64_t on, off;

	on = nw_mono_ns();
	c->on[POINT] = 1;
	while ((r = ring_peek(bench.ring)) == NULL)
		continue;
	off = nw_mono_ns();
	c->on[POINT] = 0;
	usleep(100);
	for (; (r = ring_peek(bench.ring)) != NULL; ring_pass(bench.ring)) {
		first = first == 0 ? r->t_mono_ns : first;
		last = r->t_mono_ns;
	}
	*on_ns = (double)((int64_t)first - on);
	*off_ns = (int64_t)last > off ? (double)((int64_t)last - off) : 0;
}

static void
switches(void)
{
	double on[SWITCHES], off[SWITCHES];
	pthread_t producer;
	int i;

	bench.stop = 0;
	kernel_control(bench.kernel)->payload_bytes = 0;
	kernel_control(bench.kernel)->on[POINT] = 0;
	if (pthread_create(&producer, NULL, produce_always, NULL) != 0)
		return;
	usleep(10000);
	for (i = 0; i < SWITCHES; i++) {
		switch_once(&on[i], &off[i]);
		usleep(200);
	}
	bench.stop = 1;
	pthread_join(producer, NULL);
	sort_doubles(on, SWITCHES);
	sort_doubles(off, SWITCHES);
	printf("switched on        first event after %.0f ns, of 95 %% below %.0f ns\n",
	    on[SWITCHES / 2], on[SWITCHES * 95 / 100]);
	printf("switched off       last event after %.0f ns, of 95 %% below %.0f ns\n",
	    off[SWITCHES / 2], off[SWITCHES * 95 / 100]);
}

int
main(void)
{
	char why[KERNEL_WHY_BYTES], path[] = "/dev/shm/bench_ring.XXXXXX";
	int ring_fd, armed_fd, fd = mkstemp(path), rc;
	uint32_t view;

	if (kernel_open(&bench.kernel, why) < 0) {
		printf("kernel events: %s\n", why);
		unlink(path);
		return 0;
	}
	unlink(path);
	written = malloc(WRITE_BYTES);
	kernel_control(bench.kernel)->watermark_bytes = 256 << 10;
	kernel_control(bench.kernel)->on[POINT] = 1;
	rc = written == NULL ||
	    kernel_view_add(bench.kernel, RING_BYTES, &(struct view_of){ 0 }, &view) < 0 ||
	    kernel_view_fds(bench.kernel, view, &ring_fd, &armed_fd) < 0 ||
	    ring_open(ring_fd, armed_fd, RING_BYTES, 256 << 10, &bench.ring) < 0;
	if (!rc && kernel_burst(bench.kernel, POINT, 0) < 0)
		rc = fprintf(stderr, "%s\n", kernel_why(bench.kernel)) > 0;
	cpu_pin(0);
	rc = rc || ceiling(fd, "64 bytes", 0, 64, 8192);
	rc = rc || ceiling(fd, "256 bytes", 216, 256, 4096);
	rc = rc || ceiling(fd, "1,024 bytes", 984, 1024, 1024);
	rc = rc || ceiling(fd, "4,000 bytes", 3960, 4000, 256);
	if (!rc)
		switches();
	ring_close(bench.ring);
	kernel_close(bench.kernel);
	free(written);
	close(fd);
	return rc;
}

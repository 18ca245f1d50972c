/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What events cost the program that causes them: processor time of a UDP sender per packet, between
 * two network namespaces over veth, in pairs of a run with and a run without. The sender is on one
 * processor, the receiver on another. A reader writes the records to a file in memory; or
 * statistics are kept, or all events are filtered out. A run without attaches nothing.
 *
 * usage: bench_cost [PAIRS]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/magnet/magnet_kernel.h"
#include "host/magnet/ring.h"
#include "host/magnet/selection.h"
#include "narrows/clock.h"

enum { PACKETS = 200000, BYTES = 1472, PORT = 5001, RING_BYTES = 8 << 20, PAIRS_MAX = 99 };

static const struct config {
	const char *name, *points;
	bool statistics, filtered;
	uint32_t one_in, payload_bytes;
	double limit; /* of the ratio; 0: none is promised */
} configs[] = {
	{ "1 point", "access.tx", false, false, 0, 0, 1.15 },
	{ "4 points", "socket.tx,ip.tx,access.tx,access.rx", false, false, 0, 0, 1.35 },
	{ "4 points, 1 in 40", "socket.tx,ip.tx,access.tx,access.rx", false, false, 40, 0, 0 },
	{ "4 points, statistics", "socket.tx,ip.tx,access.tx,access.rx", true, false, 0, 0, 0 },
	{ "4 points, all filtered", "socket.tx,ip.tx,access.tx,access.rx", false, true, 0, 0, 0 },
};
enum { N_CONFIGS = sizeof(configs) / sizeof(configs[0]) };

/* What a run tells, in memory that the child shares. */
struct outcome {
	double sender_ns, reader_share, seconds;
	uint64_t records, lost;
	bool failed;
};

static char names[2][32];
static struct outcome *outcome;
static volatile int over;
static int written_fd;

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), by_value);
	return x[n / 2];
}

static int64_t
thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void
place(const char *netns, int cpu)
{
	char path[64];
	cpu_set_t set;
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 || setns(fd, CLONE_NEWNET) != 0)
		outcome->failed = true;
	close(fd);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static struct sockaddr_in
receiver_address(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, "10.93.0.2", &a.sin_addr);
	return a;
}

static void *
receive(void *ready)
{
	struct sockaddr_in a = receiver_address();
	struct timeval patience = { .tv_usec = 50000 };
	int size = 16 << 20, s;
	char b[2048];

	place(names[1], 1);
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (bind(s, (const struct sockaddr *)&a, sizeof(a)) != 0)
		outcome->failed = true;
	*(volatile int *)ready = 1;
	while (!over)
		(void)recv(s, b, sizeof(b), 0);
	close(s);
	return NULL;
}

static void
send_all(void)
{
	struct sockaddr_in a = receiver_address();
	static char b[BYTES];
	int64_t begin_ns;
	int i, s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (connect(s, (const struct sockaddr *)&a, sizeof(a)) != 0)
		outcome->failed = true;
	for (i = 0; i < PACKETS / 10; i++)
		(void)send(s, b, sizeof(b), 0);
	begin_ns = thread_cpu_ns();
	for (i = 0; i < PACKETS; i++)
		(void)send(s, b, sizeof(b), 0);
	outcome->sender_ns = (double)(thread_cpu_ns() - begin_ns) / PACKETS;
	close(s);
}

static void *
read_ring(void *arg)
{
	static char block[1 << 20];
	const struct magnet_record *r;
	struct ring *ring = arg;
	int64_t begin_ns = nw_mono_ns();
	size_t n = 0;
	bool last;

	do {
		last = over;
		ring_wait(ring, 100);
		for (; (r = ring_peek(ring)) != NULL; ring_pass(ring)) {
			if (n + r->size_bytes > sizeof(block)) {
				(void)!pwrite(written_fd, block, n, 0);
				n = 0;
			}
			memcpy(block + n, r, r->size_bytes);
			n += r->size_bytes;
			outcome->records++;
		}
	} while (!last);
	outcome->reader_share = (double)thread_cpu_ns() / (double)(nw_mono_ns() - begin_ns);
	return NULL;
}

static struct ring *
events_begin(const struct config *c, struct kernel **k)
{
	char why[KERNEL_WHY_BYTES] = "";
	struct ring *ring = NULL;
	int ring_fd, armed_fd;
	uint32_t view;

	if (kernel_open(k, why) < 0 || selection_option(*k, 'p', c->points, why) < 0 ||
	    kernel_view_add(*k, RING_BYTES, &(struct view_of){ 0 }, &view) < 0 ||
	    kernel_view_fds(*k, view, &ring_fd, &armed_fd) < 0 ||
	    ring_open(ring_fd, armed_fd, RING_BYTES, 256 << 10, &ring) < 0) {
		outcome->failed = true;
		fprintf(stderr, "bench_cost: %s\n", why);
		return NULL;
	}
	kernel_control(*k)->statistics = c->statistics;
	kernel_control(*k)->one_in = c->one_in;
	if (c->filtered)
		(void)kernel_filter_add(*k, FILTER_PORT, 9);
	return ring;
}

/* One run in a child, so that nothing of it is attached afterwards. */
static void
run_here(const struct config *c)
{
	pthread_t receiver, reader;
	struct kernel *k = NULL;
	struct ring *ring = NULL;
	volatile int ready = 0;
	uint32_t p;
	struct magnet_counts counts;

	place(names[0], 0);
	if (c != NULL && (ring = events_begin(c, &k)) == NULL)
		return;
	pthread_create(&receiver, NULL, receive, (void *)&ready);
	while (!ready)
		usleep(1000);
	if (ring != NULL)
		pthread_create(&reader, NULL, read_ring, ring);
	send_all();
	over = 1;
	pthread_join(receiver, NULL);
	if (ring == NULL)
		return;
	pthread_join(reader, NULL);
	for (p = 1; p < MAGNET_POINTS_MAX; p++) {
		kernel_counts(k, p, &counts);
		outcome->lost += counts.lost;
	}
	ring_close(ring);
	kernel_close(k);
}

static struct outcome
run(const struct config *c)
{
	pid_t child;

	memset(outcome, 0, sizeof(*outcome));
	if ((child = fork()) == 0) {
		run_here(c);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return *outcome;
}

static int
shell(const char *format, const char *a, const char *b)
{
	char command[512];

	snprintf(command, sizeof(command), format, a, b);
	return system(command);
}

static int
network_make(void)
{
	snprintf(names[0], sizeof(names[0]), "mca%d", (int)getpid());
	snprintf(names[1], sizeof(names[1]), "mcb%d", (int)getpid());
	return shell("ip netns add %s && ip netns add %s", names[0], names[1]) ||
	    shell("ip -n %s link add v0 mtu 9000 type veth peer name v1 netns %s mtu 9000",
		names[0], names[1]) ||
	    shell("ip -n %1$s addr add 10.93.0.1/24 dev v0 && ip -n %2$s addr add 10.93.0.2/24 dev "
		  "v1 && ip -n %1$s link set v0 up && ip -n %2$s link set v1 up",
		names[0], names[1]);
}

static int
pairs_run(const struct config *c, int pairs)
{
	double ratios[PAIRS_MAX], added[PAIRS_MAX], shares[PAIRS_MAX], ratio;
	struct outcome with, without;
	uint64_t records = 0, lost = 0;
	int i;

	for (i = 0; i < pairs; i++) {
		without = i % 2 ? run(NULL) : (struct outcome){ 0 };
		with = run(c);
		if (i % 2 == 0)
			without = run(NULL);
		if (with.failed || without.failed)
			return 1;
		ratios[i] = with.sender_ns / without.sender_ns;
		added[i] = with.sender_ns - without.sender_ns;
		shares[i] = with.reader_share;
		records += with.records;
		lost += with.lost;
	}
	ratio = median(ratios, (size_t)pairs);
	printf("%-24s %6.3f x  %6.0f ns a packet  reader %4.1f %%  %9.0f records a run, %llu lost",
	    c->name, ratio, median(added, (size_t)pairs), 100 * median(shares, (size_t)pairs),
	    (double)records / pairs, (unsigned long long)lost);
	if (c->limit > 0)
		printf("  (%s %.2f)", ratio <= c->limit ? "within" : "ABOVE", c->limit);
	putchar('\n');
	fflush(stdout);
	return 0;
}

int
main(int argc, char **argv)
{
	char why[KERNEL_WHY_BYTES], path[] = "/dev/shm/bench_cost.XXXXXX";
	int pairs = argc > 1 ? atoi(argv[1]) : 7, rc = 0;
	struct kernel *k;
	size_t i;

	if (kernel_open(&k, why) < 0)
		return printf("kernel events: %s\n", why), 0;
	kernel_close(k);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || pairs < 1 || pairs > PAIRS_MAX)
		return puts("bench_cost: two processors are needed, and 1 to 99 pairs"), 0;
	outcome =
	    mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	written_fd = mkstemp(path);
	unlink(path);
	rc = outcome == MAP_FAILED || network_make() != 0;
	for (i = 0; i < N_CONFIGS && rc == 0; i++)
		rc = pairs_run(&configs[i], pairs);
	shell("ip netns del %s; ip netns del %s", names[0], names[1]);
	return rc;
}

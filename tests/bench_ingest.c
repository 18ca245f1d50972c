/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole box over TCP: caliper documents of 18 samples from 1, 20 and 500 providers through real sockets into the
 * real store, one fsynced commit per second, compaction included. Reported per million samples, beside what a bare
 * libbson walk over the same documents costs in the same run.
 *
 * Cost model: per document one frame (184 bytes and the document) is parsed where it was read, the document is walked
 * once, its values are copied into the batch, the batch into the tail; a chunk is encoded once per 1,024 rows.
 * usage: bench_ingest [documents]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bson/bson.h>

#include "narrows/caliper.h"
#include "narrows/doc.h"
#include "narrows/frame.h"

enum { FIELDS = 18, SLICE_DOCS = 64 };

static const char *const fields[FIELDS] = {
	"sum_v", "min_v", "max_v", "mean_v", "sd_v", "sum_r", "min_r", "max_r", "mean_r", "sd_r", "sum_g", "min_g", "max_g",
	"mean_g", "sd_g", "count", "dur", "dur_inst"
};

struct box { pid_t pid; char dir[64], xsp[64]; };

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static void
box_start(struct box *b, const char *self)
{
	char program[512], state[128], run[128], line[128];
	const char *slash = strrchr(self, '/');
	FILE *f = NULL;
	int tries, null;

	snprintf(b->dir, sizeof(b->dir), "/tmp/bench_ingest.XXXXXX");
	if (mkdtemp(b->dir) == NULL)
		die("mkdtemp");
	snprintf(program, sizeof(program), "%.*s/../bin/narrowsd", slash ? (int)(slash - self) : 1, slash ? self : ".");
	snprintf(state, sizeof(state), "state-dir=%s", b->dir);
	snprintf(run, sizeof(run), "%s/narrowsd.run", b->dir);
	if ((b->pid = fork()) == 0) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, 2);
		execl(program, program, "-d", "-o", state, "-o", "listen-xsp=127.0.0.1/0", "-o", "listen-http=127.0.0.1/0", "-o",
		    "commit-interval=1s", "-o", "max-connections-per-address=1024", (char *)NULL);
		_exit(127);
	}
	for (tries = 0; tries < 200 && (f = fopen(run, "r")) == NULL; tries++)
		usleep(50000);
	if (f == NULL)
		die(program);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "xsp %63s", b->xsp) == 1)
			break;
	fclose(f);
}

static int
box_connect(const struct box *b)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	sa.sin_port = htons((uint16_t)atoi(strchr(b->xsp, '/') + 1));
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0)
		die("connect");
	return fd;
}

struct bytes { uint8_t *p; size_t len, cap; };

static void
frame_add(struct bytes *out, uint16_t type, const uint8_t *sid, uint16_t block_type, const uint8_t *data, size_t len)
{
	struct nw_block b = { .type = block_type, .sport = 1, .data = data, .len = len };
	long n = nw_frame_write(NULL, 0, 1, type, sid, &b, 1);

	if (out->len + (size_t)n > out->cap) {
		out->cap = (out->len + (size_t)n) * 2;
		if ((out->p = realloc(out->p, out->cap)) == NULL)
			die("realloc");
	}
	nw_frame_write(out->p + out->len, (size_t)n, 1, type, sid, &b, 1);
	out->len += (size_t)n;
}

static void
hello_add(struct bytes *out, const uint8_t *sid, int number)
{
	struct nw_doc_buf doc = { 0 };
	uint8_t open[20];
	char provider[32], task[32];

	snprintf(provider, sizeof(provider), "bench-%d", number);
	snprintf(task, sizeof(task), "task-%d", number);
	struct nw_kv kv[] = {
		{ .key = "provider", .type = NW_KV_TEXT, .v.text = provider },
		{ .key = "first_seq", .type = NW_KV_INT, .v.i = 1 },
		{ .key = "task_id", .type = NW_KV_TEXT, .v.text = task },
	};
	struct nw_kv subject[] = { { .key = "type", .type = NW_KV_TEXT, .v.text = "disk" } };

	frame_add(out, NW_MSG_AUTH_TYPE, sid, NW_BLOCK_AUTH_TYP, (const uint8_t *)"ANON\0\0\0\0\0", 10);
	nw_open_write(open, sid);
	frame_add(out, NW_MSG_SESS_OPEN, sid, NW_BLOCK_HOP, open, sizeof(open));
	nw_kv_encode(&doc, kv, 3);
	frame_add(out, NW_MSG_APP_DATA, sid, NW_OPT_HELLO, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
	nw_meta_encode(&doc, "m", NULL, "nl:tools:calipers:summary:read", subject, 1, NULL, 0);
	frame_add(out, NW_MSG_APP_DATA, sid, NW_OPT_META, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
}

/* One second apart, values as calipers give them: integers, and doubles with noise in every bit. */
static void
slice_make(struct bytes *out, const uint8_t *sid, int64_t first, unsigned *seed)
{
	struct nw_doc_buf doc = { 0 };
	double v[FIELDS];
	int i, k;

	out->len = 0;
	for (i = 0; i < SLICE_DOCS; i++) {
		for (k = 0; k < FIELDS; k++) {
			*seed = *seed * 1103515245u + 12345u;
			v[k] = k < 3 || k == 15 ? (double)(*seed >> 12) : (double)*seed / 3.0;
		}
		doc.len = 0;
		nw_data_encode(&doc, "m", 1700000000000000000 + (first + i) * 1000000000, fields, v, FIELDS, NULL, 0);
		frame_add(out, NW_MSG_APP_DATA, sid, NW_OPT_DATA, doc.data, doc.len);
	}
	nw_doc_buf_clear(&doc);
}

static double
cpu_of_child(pid_t pid)
{
	char path[64], buf[1024];
	unsigned long user = 0, sys = 0;
	FILE *f;
	char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((f = fopen(path, "r")) == NULL || fgets(buf, sizeof(buf), f) == NULL || (p = strrchr(buf, ')')) == NULL)
		die(path);
	fclose(f);
	sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys);
	return (double)(user + sys) / (double)sysconf(_SC_CLK_TCK);
}

struct peer { int fd; struct bytes out; size_t sent; int64_t made, stored; uint8_t sid[16], in[4096]; size_t in_len; };

/* The highest acknowledgement among the frames that have come. */
static void
acks_read(struct peer *p)
{
	struct nw_frame f;
	struct nw_block b;
	struct nw_kv kv[8];
	const char *why;
	size_t need, cursor, n, i, at = 0;
	ssize_t k = recv(p->fd, p->in + p->in_len, sizeof(p->in) - p->in_len, MSG_DONTWAIT);

	if (k == 0)
		die("the box closed");
	if (k > 0)
		p->in_len += (size_t)k;
	while (nw_frame_parse(p->in + at, p->in_len - at, &nw_frame_limits_default, &f, &need, &why) == 0) {
		cursor = 0;
		if (f.type == NW_MSG_APP_DATA && nw_frame_next_block(&f, &cursor, &b) && b.type == NW_OPT_STORED &&
		    nw_kv_decode(b.data, b.len, kv, 8, &n, &why) == 0)
			for (i = 0; i < n; i++)
				if (strcmp(kv[i].key, "stored") == 0 && kv[i].v.i > p->stored)
					p->stored = kv[i].v.i;
		at += f.len;
	}
	memmove(p->in, p->in + at, p->in_len - at);
	p->in_len -= at;
}

static void
run(const char *self, int n_peers, int64_t n_docs, double walk_cpu)
{
	struct peer *peers = calloc((size_t)n_peers, sizeof(*peers));
	struct pollfd *pfd = calloc((size_t)n_peers, sizeof(*pfd));
	int64_t each = n_docs / n_peers, begin, begun_stored = 0, last = 0, left;
	unsigned seed = 1;
	struct box b;
	double cpu, wall, samples = (double)(each * n_peers) * FIELDS / 1e6;
	char command[128];
	int i, status;

	if (peers == NULL || pfd == NULL)
		die("calloc");
	box_start(&b, self);
	for (i = 0; i < n_peers; i++) {
		peers[i].fd = pfd[i].fd = box_connect(&b);
		fcntl(peers[i].fd, F_SETFL, O_NONBLOCK);
		memset(peers[i].sid, i + 1, 16);
		hello_add(&peers[i].out, peers[i].sid, i);
	}
	begin = nw_mono_ns();
	cpu = cpu_of_child(b.pid);
	for (left = n_peers; left > 0;) {
		for (i = 0; i < n_peers; i++)
			pfd[i].events = (short)(POLLIN | (peers[i].sent < peers[i].out.len || peers[i].made < each ? POLLOUT : 0));
		poll(pfd, (nfds_t)n_peers, 1000);
		for (left = n_peers, i = 0; i < n_peers; i++) {
			struct peer *p = &peers[i];

			if (pfd[i].revents & POLLIN)
				acks_read(p);
			if (p->sent == p->out.len && p->made < each) {
				slice_make(&p->out, p->sid, p->made, &seed);
				p->made += SLICE_DOCS;
				p->sent = 0;
			}
			if (p->sent < p->out.len && (pfd[i].revents & POLLOUT)) {
				ssize_t k = send(p->fd, p->out.p + p->sent, p->out.len - p->sent, MSG_NOSIGNAL);

				if (k > 0)
					p->sent += (size_t)k;
				else if (k < 0 && errno != EAGAIN)
					die("send");
			}
			if (p->stored >= each)
				left--;
			if (p->stored > begun_stored) {
				begun_stored = p->stored;
				last = nw_mono_ns();
			}
		}
	}
	wall = (double)(nw_mono_ns() - begin) * 1e-9;
	(void)last;
	usleep(500000);                          /* compaction of what is left */
	cpu = cpu_of_child(b.pid) - cpu;
	printf("%4d provider%s: %5.2f M samples, %5.2f M samples/s until stored, %.3f CPU s per M in the box (%.1f x a bare walk)\n",
	    n_peers, n_peers == 1 ? " " : "s", samples, samples / wall, cpu / samples, cpu / samples / walk_cpu);
	for (i = 0; i < n_peers; i++) {
		close(peers[i].fd);
		free(peers[i].out.p);
	}
	kill(b.pid, SIGTERM);
	waitpid(b.pid, &status, 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", b.dir);
	if (system(command) != 0)
		die(command);
	free(peers);
	free(pfd);
}

/* CPU seconds per million samples of a bare walk over the same documents. */
static double
walk_measure(void)
{
	struct nw_doc_buf doc = { 0 };
	double v[FIELDS] = { 1, 2, 3 }, sum = 0;
	int64_t begin;
	int i, n = 200000;

	nw_data_encode(&doc, "m", 1700000000000000000, fields, v, FIELDS, NULL, 0);
	begin = nw_mono_ns();
	for (i = 0; i < n; i++) {
		bson_iter_t it, sub;
		bson_t b;

		if (!bson_init_static(&b, doc.data, doc.len) || !bson_iter_init_find(&it, &b, "data") ||
		    !bson_iter_recurse(&it, &sub))
			die("bson");
		while (bson_iter_next(&sub))
			if (BSON_ITER_HOLDS_DOUBLE(&sub))
				sum += bson_iter_double(&sub);
	}
	nw_doc_buf_clear(&doc);
	return (double)(nw_mono_ns() - begin) * 1e-9 / ((double)n * FIELDS / 1e6) + 0 * sum;
}

int
main(int argc, char **argv)
{
	int64_t docs = argc > 1 ? atoll(argv[1]) : 400000;
	double walk = walk_measure();

	printf("bare libbson walk: %.4f CPU s per M samples\n", walk);
	run(argv[0], 1, docs, walk);
	run(argv[0], 20, docs, walk);
	run(argv[0], 500, docs, walk);
	return 0;
}

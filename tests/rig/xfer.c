/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transfer over TCP whose every limit can be chosen: how the sender reads, how the receiver
 * writes, work and pauses on both sides, buffers, streams.
 *
 *	xfer send    [OPTION ...] ADDRESS PORT FILE HOW     serves one transfer, then ends
 *	xfer receive [OPTION ...] ADDRESS PORT FILE HOW     connects and takes -n bytes
 *
 * HOW of the sender: read, direct, mmap, sendfile, splice, memory (FILE plays no part). HOW of the
 * receiver: write, direct, fsync (every 8 MiB), fsyncend, splice, discard (FILE plays no part).
 * FILE - is the standard input or output, with read and write.
 *
 *	-n BYTES     of the whole transfer         -s N       streams, each with a share of the file
 *	-w NS        of computing per KiB          -p MS      pause after each MiB
 *	-b BYTES     socket buffer of this end     -c BYTES   of a call (256 KiB)
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "narrows/clock.h"

enum { STREAMS_MAX = 64, MIB = 1 << 20, PIPE_BYTES = 256 << 10 };

static struct options {
	const char *address, *file, *how;
	uint16_t port;
	long n_streams;
	int64_t n_bytes, work_ns_per_kib, pause_ns_per_mib, call_bytes;
	int buffer_bytes;
} opt = { .n_streams = 1, .call_bytes = 256 << 10 };

struct stream {
	int sock, file, pipe[2];
	int64_t begin, end, at, paused_at;
	uint8_t *buffer, *map;
	volatile uint64_t sum;
};

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static bool
is(const char *how)
{
	return strcmp(opt.how, how) == 0;
}

/* --- what both ends do to the bytes --- */

static void
work(struct stream *s, const uint8_t *bytes, size_t n)
{
	int64_t until = nw_mono_ns() + opt.work_ns_per_kib * (int64_t)(n / 1024);
	size_t i;

	while (opt.work_ns_per_kib > 0 && nw_mono_ns() < until)
		for (i = 0; i < n; i += 64)
			s->sum += bytes[i];
}

static void
pause_now_and_then(struct stream *s)
{
	struct timespec ts = { opt.pause_ns_per_mib / 1000000000,
		opt.pause_ns_per_mib % 1000000000 };

	if (opt.pause_ns_per_mib == 0 || s->at - s->paused_at < MIB)
		return;
	s->paused_at = s->at;
	nanosleep(&ts, NULL);
}

static size_t
next_bytes(const struct stream *s)
{
	return s->end - s->at < opt.call_bytes ? (size_t)(s->end - s->at) : (size_t)opt.call_bytes;
}

static void
write_all(int fd, const uint8_t *p, size_t n)
{
	ssize_t done;

	for (; n > 0; p += done, n -= (size_t)done)
		if ((done = write(fd, p, n)) <= 0)
			die("write");
}

static void
write_all_at(int fd, const uint8_t *p, size_t n, int64_t at)
{
	ssize_t done;

	for (; n > 0; p += done, n -= (size_t)done, at += done)
		if ((done = pwrite(fd, p, n, at)) <= 0)
			die("pwrite");
}

/* One splice through the pipe. Returns the bytes, 0 at the end. */
static size_t
splice_once(struct stream *s, int from, int64_t *from_at, int to, int64_t *to_at, size_t n)
{
	ssize_t got = splice(from, from_at, s->pipe[1], NULL, n, SPLICE_F_MOVE), left, done;

	if (got < 0)
		die("splice");
	for (left = got; left > 0; left -= done)
		if ((done = splice(s->pipe[0], NULL, to, to_at, (size_t)left, SPLICE_F_MOVE)) <= 0)
			die("splice");
	return (size_t)got;
}

/* --- the sender --- */

static size_t
send_step(struct stream *s, size_t n)
{
	int64_t at = s->at;
	ssize_t got;

	if (is("sendfile")) {
		if ((got = sendfile(s->sock, s->file, &at, n)) < 0)
			die("sendfile");
		return (size_t)got;
	}
	if (is("splice"))
		return splice_once(s, s->file, &at, s->sock, NULL, n);
	if (is("mmap")) {
		work(s, s->map + s->at, n);
		write_all(s->sock, s->map + s->at, n);
		return n;
	}
	got = is("memory") ? (ssize_t)n
	    : s->file == 0 ? read(0, s->buffer, n)
			   : pread(s->file, s->buffer, (n + 4095) / 4096 * 4096, s->at);
	if (got > (ssize_t)n) /* O_DIRECT reads whole blocks */
		got = (ssize_t)n;
	if (got < 0)
		die("read");
	work(s, s->buffer, (size_t)got);
	write_all(s->sock, s->buffer, (size_t)got);
	return (size_t)got;
}

/* --- the receiver --- */

static size_t
receive_some(struct stream *s, size_t n)
{
	size_t have = 0;
	ssize_t got;

	while (have < n && (got = read(s->sock, s->buffer + have, n - have)) != 0) {
		if (got < 0)
			die("recv");
		have += (size_t)got;
	}
	return have;
}

static size_t
receive_step(struct stream *s, size_t n)
{
	int64_t at = s->at;
	size_t got;

	if (is("splice"))
		return splice_once(s, s->sock, NULL, s->file, &at, n);
	got = receive_some(s, n);
	work(s, s->buffer, got);
	if (is("discard") || got == 0)
		return got;
	if (s->file == 1)
		write_all(1, s->buffer, got);
	else if (is("direct") && got % 4096 != 0)
		write_all_at(s->file, s->buffer, (got + 4095) / 4096 * 4096, s->at);
	else
		write_all_at(s->file, s->buffer, got, s->at);
	if (is("fsync") && (s->at + (int64_t)got) / (8 * MIB) != s->at / (8 * MIB))
		fdatasync(s->file);
	return got;
}

/* --- streams --- */

static void
stream_open(struct stream *s, long i, bool sends)
{
	int flags = (sends ? O_RDONLY : O_RDWR | O_CREAT) | (is("direct") ? O_DIRECT : 0);

	s->begin = s->at = s->paused_at = opt.n_bytes / opt.n_streams / 4096 * 4096 * i;
	s->end = i + 1 == opt.n_streams ? opt.n_bytes
					: opt.n_bytes / opt.n_streams / 4096 * 4096 * (i + 1);
	if (strcmp(opt.file, "-") == 0)
		s->file = sends ? 0 : 1;
	else if (!is("memory") && !is("discard") &&
	    (s->file = open(opt.file, flags | O_CLOEXEC, 0644)) < 0)
		die(opt.file);
	if (posix_memalign((void **)&s->buffer, 4096, (size_t)opt.call_bytes + 4096) != 0 ||
	    pipe(s->pipe) != 0)
		die("memory or pipe");
	memset(s->buffer, 'x', (size_t)opt.call_bytes + 4096);
	fcntl(s->pipe[0], F_SETPIPE_SZ, PIPE_BYTES);
	if (is("mmap") &&
	    (s->map = mmap(NULL, (size_t)opt.n_bytes, PROT_READ, MAP_SHARED, s->file, 0)) ==
		MAP_FAILED)
		die("mmap");
}

static void *
stream_send(void *arg)
{
	struct stream *s = arg;
	size_t n;

	while (s->at < s->end && (n = send_step(s, next_bytes(s))) > 0) {
		s->at += (int64_t)n;
		pause_now_and_then(s);
	}
	shutdown(s->sock, SHUT_WR);
	(void)!read(s->sock, s->buffer, 1); /* the receiver closes when all bytes have arrived */
	close(s->sock);
	return NULL;
}

static void *
stream_receive(void *arg)
{
	struct stream *s = arg;
	size_t n;

	while (s->at < s->end && (n = receive_step(s, next_bytes(s))) > 0) {
		s->at += (int64_t)n;
		pause_now_and_then(s);
	}
	if (is("fsyncend"))
		fsync(s->file);
	close(s->sock);
	if (s->at < s->end) {
		fprintf(stderr, "xfer: %lld bytes are missing\n", (long long)(s->end - s->at));
		exit(1);
	}
	return NULL;
}

static int
socket_new(struct sockaddr_in *a)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (opt.buffer_bytes > 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &opt.buffer_bytes, sizeof(int));
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &opt.buffer_bytes, sizeof(int));
	}
	*a = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(opt.port) };
	if (inet_pton(AF_INET, opt.address, &a->sin_addr) != 1)
		die(opt.address);
	return fd;
}

/* One stream needs no thread: the main thread carries it, as in most programs. */
static void
stream_start(pthread_t *thread, void *(*run)(void *), struct stream *s)
{
	if (opt.n_streams == 1)
		run(s);
	else if (pthread_create(thread, NULL, run, s) != 0)
		die("thread");
}

/* Each connection begins with the number of its stream, a byte. */
static void
send_all(struct stream *streams, pthread_t *threads)
{
	struct sockaddr_in a;
	int listener = socket_new(&a), fd;
	uint8_t i;
	long k;

	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(listener, 64) != 0)
		die("listen");
	for (k = 0; k < opt.n_streams; k++) {
		if ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0 ||
		    read(fd, &i, 1) != 1 || i >= opt.n_streams)
			die("accept");
		stream_open(&streams[i], i, true);
		streams[i].sock = fd;
		stream_start(&threads[k], stream_send, &streams[i]);
	}
}

static void
receive_all(struct stream *streams, pthread_t *threads)
{
	struct sockaddr_in a;
	uint8_t i;

	for (i = 0; i < opt.n_streams; i++) {
		stream_open(&streams[i], i, false);
		streams[i].sock = socket_new(&a);
		if (connect(streams[i].sock, (struct sockaddr *)&a, sizeof(a)) != 0)
			die("connect");
		write_all(streams[i].sock, &i, 1);
		stream_start(&threads[i], stream_receive, &streams[i]);
	}
}

static bool
options_read(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc - 1, argv + 1, "+n:s:w:p:b:c:")) != -1)
		switch (c) {
		case 'n': opt.n_bytes = atoll(optarg); break;
		case 's': opt.n_streams = atol(optarg); break;
		case 'w': opt.work_ns_per_kib = atoll(optarg); break;
		case 'p': opt.pause_ns_per_mib = (int64_t)(atof(optarg) * 1e6); break;
		case 'b': opt.buffer_bytes = atoi(optarg); break;
		case 'c': opt.call_bytes = atoll(optarg); break;
		default: return false;
		}
	argv += optind + 1;
	if (argc - optind - 1 != 4 || opt.n_streams < 1 || opt.n_streams > STREAMS_MAX)
		return false;
	opt.address = argv[0];
	opt.port = (uint16_t)atoi(argv[1]);
	opt.file = argv[2];
	opt.how = argv[3];
	return opt.n_bytes > 0;
}

int
main(int argc, char **argv)
{
	static struct stream streams[STREAMS_MAX];
	pthread_t threads[STREAMS_MAX];
	bool sends = argc > 1 && strcmp(argv[1], "send") == 0;
	long i;

	if (argc < 2 || (!sends && strcmp(argv[1], "receive") != 0) || !options_read(argc, argv)) {
		fprintf(stderr, "usage: xfer send|receive [-bcnpsw N] ADDRESS PORT FILE HOW\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	(sends ? send_all : receive_all)(streams, threads);
	for (i = 0; i < opt.n_streams && opt.n_streams > 1; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

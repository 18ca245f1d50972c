/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwrun from end to end, with this file as the program: every act does something that a preloaded
 * object can get wrong, and says on stdout what must be seen of it. It runs bare and under nwrun:
 * output and status must be the same, the counts what the act said. stdout is a pipe here, which is
 * of none of the four stages.
 */
#include "host/nwrun/preload/nwshm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* --- what acts need --- */

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	dprintf(2, "act: %s: %s\n", what, strerror(errno));
	_exit(99);
}
#define MUST(x) must((x), #x)

static void
expect(long long disk_read, long long disk_write, long long net_read, long long net_write)
{
	printf("expect disk.read=%lld disk.write=%lld net.read=%lld net.write=%lld\n", disk_read,
	    disk_write, net_read, net_write);
	fflush(stdout);
}

static int
make_file(const char *name, size_t bytes)
{
	static char block[65536];
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	size_t n;

	MUST(fd >= 0);
	memset(block, 'x', sizeof(block));
	for (n = 0; n < bytes; n += sizeof(block))
		MUST(write(fd, block, bytes - n < sizeof(block) ? bytes - n : sizeof(block)) > 0);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* What the kernel counted for this process so far; reading it counts too, next time. */
static void
kernel_counts(long long *read_bytes, long long *written_bytes)
{
	static long long own;
	char text[512];
	int fd = open("/proc/self/io", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	MUST(n > 0);
	text[n] = '\0';
	close(fd);
	MUST(sscanf(text, "rchar: %lld wchar: %lld", read_bytes, written_bytes) == 2);
	*read_bytes -= own;
	own += n;
}

/* A connected pair of internet sockets. */
static void
tcp_pair(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	MUST(bind(l, (struct sockaddr *)&a, len) == 0 && listen(l, 1) == 0);
	MUST(getsockname(l, (struct sockaddr *)&a, &len) == 0);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	MUST(connect(fd[0], (struct sockaddr *)&a, len) == 0);
	MUST((fd[1] = accept(l, NULL, NULL)) >= 0);
	close(l);
}

static void
run_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		body();
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

/* --- acts --- */

static void
act_calls(void)
{
	char buf[1000];
	struct iovec v[2] = { { buf, 300 }, { buf + 300, 200 } };
	int fd = make_file("a", 100000), other;

	MUST(read(fd, buf, 1000) == 1000 && pread(fd, buf, 500, 10) == 500 &&
	    readv(fd, v, 2) == 500);
	MUST(preadv(fd, v, 2, 5) == 500 && preadv2(fd, v, 2, 5, 0) == 500);
	MUST(pwrite(fd, buf, 700, 0) == 700 && writev(fd, v, 2) == 500 &&
	    pwritev(fd, v, 2, 9) == 500);
	MUST(pwritev2(fd, v, 2, 9, 0) == 500);
	MUST(syscall(SYS_pread64, fd, buf, 100L, 0L) == 100 &&
	    syscall(SYS_pwrite64, fd, buf, 50L, 0L) == 50);
	MUST(read(fd, buf, 0) == 0 && lseek(fd, 0, SEEK_END) > 0 && read(fd, buf, 10) == 0);
	MUST(fsync(fd) == 0 && fdatasync(fd) == 0 && dprintf(fd, "%s\n", "hello") == 6);
	MUST((other = dup(fd)) >= 0 && write(other, buf, 11) == 11 && dup2(fd, 77) == 77 &&
	    write(77, buf, 13) == 13);
	close(fd);
	close(other);
	close(77);
	expect(1000 + 500 + 500 + 500 + 500 + 100,
	    100000 + 700 + 500 + 500 + 500 + 50 + 6 + 11 + 13, 0, 0);
}

static void
act_moves(void)
{
	int from = make_file("a", 300000), to = make_file("b", 0), pipes[2], net[2];
	char buf[65536];
	ssize_t n, sent = 0, got = 0;

	MUST(copy_file_range(from, NULL, to, NULL, 100000, 0) == 100000);
	MUST(sendfile(to, from, NULL, 100000) == 100000);
	MUST(pipe(pipes) == 0);
	MUST(splice(from, NULL, pipes[1], NULL, 50000, 0) == 50000);
	MUST(splice(pipes[0], NULL, to, NULL, 50000, 0) == 50000);
	tcp_pair(net);
	MUST((n = sendfile(net[0], from, NULL, 50000)) > 0);
	sent += n;
	MUST(shutdown(net[0], SHUT_WR) == 0);
	while ((n = read(net[1], buf, sizeof(buf))) > 0)
		got += n;
	MUST(sent == got);
	expect(250000 + sent, 300000 + 250000, got, sent);
}

static void
act_sockets(void)
{
	char buf[5000] = "";
	struct iovec v = { buf, 400 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct mmsghdr mm[3] = { { .msg_hdr = m }, { .msg_hdr = m }, { .msg_hdr = m } };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int tcp[2], udp = socket(AF_INET, SOCK_DGRAM, 0), local[2];

	tcp_pair(tcp);
	MUST(send(tcp[0], buf, 1000, 0) == 1000 &&
	    recv(tcp[1], buf, 1000, MSG_PEEK | MSG_WAITALL) == 1000);
	MUST(recv(tcp[1], buf, 1000, MSG_WAITALL) == 1000 &&
	    sendto(tcp[0], buf, 500, 0, NULL, 0) == 500);
	MUST(recvfrom(tcp[1], buf, 500, MSG_WAITALL, NULL, NULL) == 500 &&
	    sendmsg(tcp[0], &m, 0) == 400);
	MUST(recvmsg(tcp[1], &m, MSG_WAITALL) == 400);
	MUST(recv(tcp[1], buf, 10, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	MUST(bind(udp, (struct sockaddr *)&a, len) == 0 &&
	    getsockname(udp, (struct sockaddr *)&a, &len) == 0);
	MUST(connect(udp, (struct sockaddr *)&a, len) == 0);
	MUST(sendmmsg(udp, mm, 3, 0) == 3 && recvmmsg(udp, mm, 3, 0, NULL) == 3);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, local) == 0 && send(local[0], buf, 77, 0) == 77);
	MUST(recv(local[1], buf, 77, 0) == 77);
	expect(0, 0, 1900 + 1200, 1900 + 1200);
}

/* One operation on a stream, the number `i`, as random bits `x` say. */
static void
stdio_step(FILE *s, unsigned x, unsigned i, char buf[9000])
{
	char text[300], *line = NULL;
	size_t cap = 0;

	switch (x >> 16 & 31) {
	case 0: fseek(s, -(long)(x >> 8 & 0xfff), SEEK_CUR); break;
	case 1: rewind(s); break;
	case 2: fflush(s); break;
	case 3: fflush(NULL); break;
	case 4:
	case 5:
	case 6:
	case 7:
		fseek(s, 0, SEEK_CUR);
		if (fread(buf, 1 + (x & 7), 1 + (x >> 3 & 0x3ff), s) == 0)
			clearerr(s);
		break;
	case 8:
	case 9:
		fseek(s, (long)(x >> 9 & 0x3ff), SEEK_SET);
		if (fgets(text, sizeof(text), s) == NULL)
			clearerr(s);
		break;
	case 10:
	case 11:
		fseeko(s, (off_t)(x >> 9 & 0x3ff), SEEK_SET);
		if (getline(&line, &cap, s) < 0)
			clearerr(s);
		break;
	case 12:
	case 13:
	case 14:
		fseek(s, 0, SEEK_CUR);
		if (getc(s) != EOF && (x & 64))
			ungetc(x & 32 ? 'q' : 'y', s);
		getc_unlocked(s);
		break;
	case 15:
	case 16:
		fseek(s, 0, SEEK_END);
		fprintf(s, "%d %s\n", i, "text");
		break;
	case 17:
		fseek(s, 0, SEEK_CUR);
		fputs("a line\nand another", s);
		break;
	case 18:
	case 19:
	case 20:
		fseek(s, 0, SEEK_CUR);
		putc('z', s);
		putc_unlocked('\n', s);
		break;
	default:
		fseek(s, 0, SEEK_CUR);
		fwrite(buf, 1 + (x & 15), 1 + (x >> 5 & 0x1ff), s);
		break;
	}
	free(line);
}

/* Everything stdio can do to a buffer, in an order nobody planned; the kernel says what came of
 * it. */
static void
act_stdio(void)
{
	long long r0, w0, r1, w1;
	unsigned x = 12345, i;
	char buf[9000];
	FILE *f[3];

	memset(buf, 'y', sizeof(buf));
	for (i = 0; i < sizeof(buf); i += 37)
		buf[i] = '\n';
	for (i = 0; i < 3; i++)
		MUST((f[i] = fopen(i == 0 ? "s0" : i == 1 ? "s1" : "s2", "w+")) != NULL);
	setvbuf(f[1], NULL, _IOLBF, 2000);
	setvbuf(f[2], NULL, _IONBF, 0);
	kernel_counts(&r0, &w0);
	for (i = 0; i < 3; i++)
		MUST(fwrite(buf, 1, 5000, f[i]) == 5000);
	for (i = 0; i < 6000; i++) {
		x = x * 1103515245 + 12345;
		FILE *s = f[x >> 24 & 1 ? 0 : (x >> 25 & 1) + 1];
		stdio_step(s, x, i, buf);
	}
	fclose(f[1]);
	fflush(f[0]);
	fseek(f[0], 0, SEEK_END);
	fflush(f[0]);
	kernel_counts(&r1, &w1);
	fputs("left for exit", f[0]);
	expect(r1 - r0, w1 - w0 + 13, 0, 0);
}

/* One inode after the other's death, often the same number: each file keeps its own name. */
static void
act_reuse(void)
{
	char name[32];
	int i;

	for (i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "reuse.%d", i);
		close(make_file(name, 100 + (size_t)i));
		MUST(unlink(name) == 0);
	}
	expect(0, 20 * 100 + 190, 0, 0);
}

/* stdout itself as a file, closed and opened anew. */
static void
act_freopen(void)
{
	int keep = dup(1);

	MUST(freopen("one", "w", stdout) != NULL);
	printf("%s", "twelve bytes");
	MUST(freopen("two", "w", stdout) != NULL);
	puts("seven!");
	MUST(fflush(stdout) == 0 && dup2(keep, 1) == 1);
	expect(0, 12 + 7, 0, 0);
}

/* CROWD is beyond the first chunk of slots. */
enum { THREADS = 8, THREAD_OPS = 2000, MANY_THREADS = 700, CROWD = NWSHM_CHUNK_THREADS + 188 };

static void *
thread_body(void *arg)
{
	char buf[100] = "";
	int fd = *(int *)arg, i;

	for (i = 0; i < THREAD_OPS; i++)
		MUST(pwrite(fd, buf, 100, i * 100) == 100 && pread(fd, buf, 50, i) == 50);
	return NULL;
}

static void *
short_thread_body(void *arg)
{
	MUST(pwrite(*(int *)arg, "x", 1, 0) == 1);
	return NULL;
}

/* More threads than a chunk has slots, one after the other. */
static void
act_threads(void)
{
	int fd = make_file("a", 1000), i;
	pthread_t t[THREADS];

	for (i = 0; i < THREADS; i++)
		MUST(pthread_create(&t[i], NULL, thread_body, &fd) == 0);
	for (i = 0; i < THREADS; i++)
		MUST(pthread_join(t[i], NULL) == 0);
	for (i = 0; i < MANY_THREADS; i++)
		MUST(pthread_create(&t[0], NULL, short_thread_body, &fd) == 0 &&
		    pthread_join(t[0], NULL) == 0);
	expect(THREADS * THREAD_OPS * 50, 1000 + THREADS * THREAD_OPS * 100 + MANY_THREADS, 0, 0);
}

static pthread_barrier_t crowd;

static void *
crowd_body(void *arg)
{
	char buf[100];
	int fd = *(int *)arg, i;

	MUST(pread(fd, buf, 1, 0) == 1);
	pthread_barrier_wait(&crowd); /* every thread has a slot before any ends */
	for (i = 0; i < 10; i++)
		MUST(pread(fd, buf, 100, i) == 100);
	return NULL;
}

/* More threads at a time than a chunk has slots. */
static void
act_crowd(void)
{
	static pthread_t t[CROWD];
	pthread_attr_t small;
	int fd = make_file("a", 1000), i;

	MUST(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 64 << 10) == 0);
	MUST(pthread_barrier_init(&crowd, NULL, CROWD) == 0);
	for (i = 0; i < CROWD; i++)
		MUST(pthread_create(&t[i], &small, crowd_body, &fd) == 0);
	for (i = 0; i < CROWD; i++)
		MUST(pthread_join(t[i], NULL) == 0);
	expect(CROWD * 1001, 1000, 0, 0);
}

static int shared_fd;

static void *
last_thread_body(void *arg)
{
	usleep(400000);
	MUST(write(*(int *)arg, "last", 4) == 4);
	return NULL;
}

/* The first thread leaves: the process looks dead, and is not. */
static void
act_leader(void)
{
	pthread_t t;

	shared_fd = make_file("a", 10);
	expect(0, 10 + 4, 0, 0);
	MUST(pthread_create(&t, NULL, last_thread_body, &shared_fd) == 0 && pthread_detach(t) == 0);
	pthread_exit(NULL);
}

static void
fork_body(void)
{
	MUST(write(shared_fd, "0123456789", 10) == 10);
	if (getppid() == 1)
		_exit(1);
}

static void
nested_fork_body(void)
{
	fork_body();
	run_child(fork_body);
}

static void
act_forks(void)
{
	int i;

	shared_fd = make_file("a", 100);
	for (i = 0; i < 40; i++)
		run_child(i % 2 == 0 ? fork_body : nested_fork_body);
	expect(0, 100 + 40 * 10 + 20 * 10, 0, 0);
}

/* The child turns its descriptor 20 into a pipe; in the parent it stays the file. */
static void
act_vfork(void)
{
	int fd = make_file("a", 100), pipes[2], status, i;
	char buf[10];
	pid_t pid;

	MUST(pipe(pipes) == 0 && dup2(fd, 20) == 20);
	for (i = 0; i < 10; i++) {
		MUST((pid = vfork()) >= 0);
		if (pid == 0) {
			dup2(pipes[1], 20);
			if (write(20, "child", 5) == 5)
				execl("/bin/true", "true", NULL);
			_exit(1);
		}
		MUST(waitpid(pid, &status, 0) == pid && status == 0);
		MUST(write(20, "parent", 6) == 6 && read(pipes[0], buf, 5) == 5);
	}
	expect(0, 100 + 60, 0, 0);
}

static volatile sig_atomic_t ticks;

static void
on_tick(int sig)
{
	int saved = errno;

	(void)sig;
	if (write(shared_fd, "tick", 4) == 4)
		ticks++;
	errno = saved;
}

/* Handlers that do I/O in the middle of I/O. What hits an update in progress is counted as missed,
 * not lost track of. */
static void
act_signals(void)
{
	struct sigaction sa = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	struct itimerval it = { { 0, 200 }, { 0, 200 } };
	char buf[10];
	long i, n = 200000;

	shared_fd = make_file("a", 100);
	MUST(sigaction(SIGALRM, &sa, NULL) == 0 && setitimer(ITIMER_REAL, &it, NULL) == 0);
	for (i = 0; i < n; i++)
		MUST(pread(shared_fd, buf, 10, 0) == 10);
	it = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	setitimer(ITIMER_REAL, &it, NULL);
	if (ticks == 0)
		_exit(98);
	fprintf(stderr, "%ld", (long)ticks * 4); /* differs from run to run: the check reads it */
	expect(n * 10, -1, 0, 0);
}

static sigjmp_buf jump;

static void
on_jump(int sig)
{
	(void)sig;
	siglongjmp(jump, 1);
}

/* Leaving a blocked call by a jump, or by cancellation, must not leave the thread "inside" it for
 * ever. */
static void *
cancelled_body(void *arg)
{
	char c;

	MUST(read(*(int *)arg, &c, 1) < 0);
	return NULL;
}

static void
act_jumps(void)
{
	struct sigaction sa = { .sa_handler = on_jump };
	struct itimerval it = { { 0, 0 }, { 0, 50000 } };
	int tcp[2], fd = make_file("a", 100);
	pthread_t t;
	void *result;
	char c;

	tcp_pair(tcp);
	MUST(sigaction(SIGALRM, &sa, NULL) == 0 && setitimer(ITIMER_REAL, &it, NULL) == 0);
	if (sigsetjmp(jump, 1) == 0)
		MUST(read(tcp[0], &c, 1) < 0);
	MUST(write(fd, "after", 5) == 5);
	MUST(pthread_create(&t, NULL, cancelled_body, &tcp[0]) == 0);
	usleep(20000);
	MUST(pthread_cancel(t) == 0 && pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED);
	expect(0, 105, 0, 0);
}

/* Strict mode kills at any call but four: also at ours. */
static void
act_sealed(void)
{
	int fd = make_file("a", 100), other = make_file("b", 0);
	char buf[10];

	MUST(write(fd, "known", 5) == 5);
	expect(0, 100 + 5, 0, 0);
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	MUST(read(fd, buf, 7) == 7 && write(fd, "sealed", 6) == 6);
	MUST(write(other, "unseen", 6) == 6);
	syscall(SYS_exit, 7);
}

static void
on_cancelled(void *unused)
{
	(void)unused;
	expect(3, 10, 0, 0);
}

/* A thread that is to end ends in the next call that libc lets a thread end in, also alone. */
static void
act_cancelled(void)
{
	int fd = make_file("a", 10);
	char buf[10];

	pthread_cleanup_push(on_cancelled, NULL);
	MUST(read(fd, buf, 3) == 3 && pthread_cancel(pthread_self()) == 0);
	(void)!read(fd, buf, 7);
	printf("went on\n");
	pthread_cleanup_pop(0);
}

static void
act_close_all(void)
{
	char buf[100];
	int fd = make_file("a", 100), keep, out = dup(1);

	MUST(fd >= 0 && dup2(out, 900) == 900);
	close_range(3, 899, 0);
	close_range(901, ~0u, 0);
	MUST((fd = open("a", O_RDWR)) == 3 && read(fd, buf, 100) == 100);
	closefrom(901);
	close_range(3, 899, 0);
	MUST((keep = open("/dev/null", O_RDWR)) == 3 && write(keep, buf, 50) == 50);
	MUST(dup2(900, 1) == 1);
	expect(100, 100, 0, 0);
}

static void
act_errno(void)
{
	int fd, tcp[2];
	char c;

	errno = 42;
	fd = open("a", O_RDWR | O_CREAT, 0640);
	MUST(fd >= 0 && errno == 42 && write(fd, "ab", 2) == 2 && errno == 42 &&
	    pread(fd, &c, 1, 0) == 1);
	MUST(errno == 42 && close(fd) == 0 && errno == 42 && close(fd) == -1 && errno == EBADF);
	MUST(read(fd, &c, 1) == -1 && errno == EBADF && open("no/such", O_RDONLY) == -1 &&
	    errno == ENOENT);
	MUST(read(-1, &c, 1) == -1 && errno == EBADF && write(1 << 30, &c, 1) == -1 &&
	    errno == EBADF);
	errno = 43;
	tcp_pair(tcp);
	MUST(errno == 43 && send(tcp[0], "x", 1, 0) == 1 && recv(tcp[1], &c, 1, 0) == 1 &&
	    errno == 43);
	MUST(rename("a", "b") == 0 && errno == 43 && fflush(NULL) == 0 && errno == 43);
	MUST(
	    syscall(-1) == -1 && errno == ENOSYS && lseek(1, 0, SEEK_SET) == -1 && errno == ESPIPE);
	expect(1, 2, 1, 1);
}

static void
act_limits(void)
{
	struct rlimit lim = { 8, 8 };
	int fd = make_file("a", 10), i;

	MUST(setrlimit(RLIMIT_NOFILE, &lim) == 0);
	while ((i = dup(fd)) >= 0)
		MUST(write(i, "x", 1) == 1);
	MUST(errno == EMFILE);
	lim = (struct rlimit){ 1 << 16, 1 << 16 };
	expect(0, 10 + 8 - 4, 0, 0);
}

static double
now_s(void)
{
	struct timespec ts;

	MUST(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* A server that paces itself: the socket is writable all the time, and the server sleeps until its
 * own time is up. A pause of 200 ms. Returns the seconds of the call that finds room, which count
 * as waiting for room: a busy machine may make such a call long. */
static double
pace(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd };
	double begin;
	int ep = epoll_create1(0);

	MUST(ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	begin = now_s();
	MUST(epoll_wait(ep, &ev, 1, 60) == 1);
	begin = now_s() - begin;
	MUST(epoll_wait(ep, &ev, 1, 200) == 0);
	close(ep);
	return begin;
}

/* A reader that asks its empty socket every 10 ms: 60 ms of waiting for the network, however late
 * a busy machine ends the sleeps. Returns the seconds. */
static double
patrol(int fd)
{
	char c;
	int i;

	for (i = 0; i < 6; i++)
		MUST(recv(fd, &c, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN && usleep(10000) == 0);
	return 0.06;
}

/* A program that looks at a byte every 10 ms, behind a read that found another socket empty: 200 ms
 * of pauses, since the byte is there. */
static void
looks(int empty)
{
	int tcp[2], i;
	char c;

	tcp_pair(tcp);
	MUST(send(tcp[1], "x", 1, 0) == 1 && recv(tcp[0], &c, 1, MSG_PEEK) == 1);
	MUST(recv(empty, &c, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN && usleep(1) == 0);
	for (i = 0; i < 20; i++)
		MUST(recv(tcp[0], &c, 1, MSG_PEEK) == 1 && usleep(10000) == 0);
	close(tcp[0]);
	close(tcp[1]);
}

/* Pauses of 360 ms in all: in each way to sleep, with nothing to wait for, and with a wait for
 * answers to a stream that only sends. Returns the seconds of that wait. */
static double
act_pauses(int sender)
{
	struct timespec ts = { 0, 60000000 }, at;
	struct pollfd p = { sender, POLLIN, 0 };
	struct timeval tv = { 0, 60000 };
	double begin;

	MUST(nanosleep(&ts, NULL) == 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL) == 0);
	MUST(clock_gettime(CLOCK_MONOTONIC, &at) == 0);
	MUST(usleep(60000) == 0 && select(0, NULL, NULL, NULL, &tv) == 0);
	MUST(poll(NULL, 0, 60) == 0);
	begin = now_s();
	MUST(poll(&p, 1, 60) == 0);
	begin = now_s() - begin;
	/* that time is over: no pause */
	MUST(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == 0);
	return begin;
}

/* One way to wait after the other; the check compares the time with what it was: on a busy machine,
 * more than asked. */
static void
act_waits(void)
{
	double begin, *told; /* through memory: what is written to a file is counted */
	int fd = open("waits.told", O_RDWR | O_CREAT | O_TRUNC, 0600);

	struct itimerval none = { { 0, 0 }, { 0, 0 } };
	struct epoll_event ev = { .events = EPOLLIN };
	struct timeval tv = { 0, 60000 };
	struct pollfd p;
	fd_set set;
	int tcp[2], ep = epoll_create1(0), pipes[2];

	MUST(fd >= 0 && ftruncate(fd, 3 * sizeof(*told)) == 0);
	told = mmap(NULL, 3 * sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(told != MAP_FAILED);
	setitimer(ITIMER_REAL, &none, NULL);
	tcp_pair(tcp);
	MUST(pipe(pipes) == 0);
	p = (struct pollfd){ tcp[0], POLLIN, 0 };
	begin = now_s();
	MUST(poll(&p, 1, 60) == 0);
	FD_ZERO(&set);
	FD_SET(tcp[0], &set);
	MUST(select(tcp[0] + 1, &set, NULL, NULL, &tv) == 0);
	ev.data.ptr = &ev;
	MUST(epoll_ctl(ep, EPOLL_CTL_ADD, tcp[0], &ev) == 0 && epoll_wait(ep, &ev, 1, 60) == 0);
	told[0] = now_s() - begin;
	told[0] += patrol(tcp[0]);
	p = (struct pollfd){ pipes[0], POLLIN, 0 };
	MUST(poll(&p, 1, 60) == 0); /* no socket: a pause */
	told[1] = pace(tcp[0]);
	while (send(tcp[0], "0123456789abcdef", 16, MSG_DONTWAIT) == 16)
		;
	p = (struct pollfd){ tcp[0], POLLIN | POLLOUT, 0 };
	begin = now_s();
	MUST(poll(&p, 1, 60) == 0);
	told[1] += now_s() - begin;
	looks(tcp[0]);
	told[2] = act_pauses(tcp[0]);
	expect(0, 0, 0, -1);
}

/* A message a while after `go`, over and over. */
static void
act_pipes_child(int go, int pipe_in, int pipe_out, int local)
{
	char buf[65536];
	size_t left = 200000;
	ssize_t n;
	int i;

	MUST(read(go, buf, 1) == 1);
	usleep(100000);
	MUST(write(pipe_out, buf, 1000) == 1000);
	for (i = 0; i < 3; i++) {
		MUST(read(go, buf, 1) == 1);
		usleep(100000);
		MUST(write(local, buf, 100) == 100);
	}
	/* the parent waits for room from here on, however slow the machine is */
	while (ioctl(pipe_in, FIONREAD, &i) == 0 && i < 65536)
		usleep(1000);
	usleep(100000);
	while (left > 0 && (n = read(pipe_in, buf, sizeof(buf))) > 0)
		left -= (size_t)n;
	MUST(left == 0);
	_exit(0);
}

/* Waits for a neighbour in every way; what the process only says to itself is none of that. */
static void
act_pipes(void)
{
	int go[2], in[2], out[2], local[2], own[2], fd = make_file("a", 200000),
						    ep = epoll_create1(0), i, status, copy;
	struct epoll_event ev = { .events = EPOLLIN };
	struct pollfd p;
	char buf[1000];
	fd_set set;
	ssize_t n;
	pid_t pid;

	MUST(pipe(go) == 0 && pipe(in) == 0 && pipe(out) == 0 &&
	    socketpair(AF_UNIX, SOCK_STREAM, 0, local) == 0);
	if ((pid = fork()) == 0)
		act_pipes_child(go[0], in[0], out[1], local[1]);
	MUST(write(go[1], "x", 1) == 1 && read(out[0], buf, 1000) == 1000);
	for (i = 0; i < 3; i++) {
		MUST(write(go[1], "x", 1) == 1);
		p = (struct pollfd){ local[0], POLLIN, 0 };
		FD_ZERO(&set);
		FD_SET(local[0], &set);
		if (i == 0)
			MUST(poll(&p, 1, -1) == 1);
		else if (i == 1)
			MUST(select(local[0] + 1, &set, NULL, NULL, NULL) == 1);
		else
			MUST(epoll_ctl(ep, EPOLL_CTL_ADD, local[0], &ev) == 0 &&
			    epoll_wait(ep, &ev, 1, -1) == 1);
		MUST(recv(local[0], buf, 1000, 0) == 100);
	}
	/* as much as fits, then blocked until the child wakes up */
	for (i = 0; i < 200000; i += (int)n)
		MUST((n = splice(fd, NULL, in[1], NULL, 200000 - (size_t)i, 0)) > 0);
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	MUST(pipe(own) == 0 && write(own[1], buf, 11) == 11);
	MUST(read(own[0], buf, 11) == 11);
	p = (struct pollfd){ own[0], POLLIN, 0 };
	MUST(poll(&p, 1, 60) == 0);
	/* somebody else may have the copy */
	MUST((copy = dup(own[1])) >= 0 && close(own[1]) == 0 && write(copy, buf, 7) == 7 &&
	    read(own[0], buf, 7) == 7);
	expect(200000, 200000, 0, 0);
}

static void
act_killed(void)
{
	int fd = make_file("a", 100), i;
	char buf[10];

	for (i = 0; i < 1000; i++)
		MUST(pread(fd, buf, 10, 0) == 10);
	expect(10000, 100, 0, 0);
	raise(SIGKILL);
}

static void
act_exec(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int fd = open("z", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	MUST(n > 0 && write(fd, "before", 6) == 6);
	self[n] = '\0';
	execl(self, self, "act", "executed", NULL);
	_exit(1);
}

static void
act_executed(void)
{
	int fd = open("z", O_WRONLY | O_APPEND);

	MUST(write(fd, "after", 5) == 5);
	expect(0, 11, 0, 0);
	exit(5);
}

/* The parent is gone before its child does anything. */
static void
act_orphan(void)
{
	int fd = make_file("a", 10);

	expect(0, 10 + 4, 0, 0);
	fflush(stdout);
	if (fork() != 0)
		_exit(0);
	usleep(700000);
	MUST(write(fd, "late", 4) == 4);
	_exit(0);
}

static void
act_nothing(void)
{
	expect(0, 0, 0, 0);
	exit(42);
}

static void
act_high_fds(void)
{
	struct rlimit lim;
	int fd = make_file("a", 10), high = 70000;

	getrlimit(RLIMIT_NOFILE, &lim);
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
	if (dup2(fd, high) != high)
		high = dup(fd);
	MUST(write(high, "high", 4) == 4 && pread(high, (char[4]){ 0 }, 4, 0) == 4);
	expect(4, 14, 0, 0);
}

static const struct {
	const char *name;
	void (*body)(void);
} acts[] = {
	{ "calls", act_calls }, { "moves", act_moves }, { "sockets", act_sockets },
	{ "stdio", act_stdio }, { "freopen", act_freopen }, { "threads", act_threads },
	{ "crowd", act_crowd }, { "leader", act_leader }, { "reuse", act_reuse },
	{ "forks", act_forks }, { "vfork", act_vfork }, { "signals", act_signals },
	{ "jumps", act_jumps }, { "sealed", act_sealed }, { "close_all", act_close_all },
	{ "cancelled", act_cancelled }, { "errno", act_errno }, { "limits", act_limits },
	{ "waits", act_waits }, { "pipes", act_pipes }, { "killed", act_killed },
	{ "exec", act_exec }, { "orphan", act_orphan }, { "nothing", act_nothing },
	{ "high_fds", act_high_fds },
	{ "executed", act_executed }, /* the end of exec, not called by itself */
};
enum { ACTS = sizeof(acts) / sizeof(acts[0]) };

static int
act(const char *name)
{
	unsigned i;

	for (i = 0; i < ACTS; i++)
		if (strcmp(acts[i].name, name) == 0) {
			acts[i].body();
			return 0;
		}
	return 97;
}

/* --- the audience --- */

struct outcome {
	int status;
	char out[4096], err[4096];
};

static size_t
slurp(const char *path, char *to, size_t cap)
{
	FILE *f = fopen(path, "r");
	size_t n = 0;

	if (f != NULL) {
		n = fread(to, 1, cap - 1, f);
		fclose(f);
	}
	to[n] = '\0';
	return n;
}

static void
run(char *const argv[], struct outcome *o)
{
	int out[2], err;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	memset(o, 0, sizeof(*o));
	if (pipe2(out, O_CLOEXEC) != 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(out[1], 1);
		dup2(err, 2);
		close(err);
		execv(argv[0], argv);
		_exit(96);
	}
	close(out[1]);
	while (
	    n < sizeof(o->out) - 1 && (got = read(out[0], o->out + n, sizeof(o->out) - 1 - n)) > 0)
		n += (size_t)got;
	close(out[0]);
	waitpid(pid, &o->status, 0);
	slurp("err", o->err, sizeof(o->err));
}

/* Sum of key over all lines of the report that begin with `line` and hold `with`. */
static double
report_sum(const char *report, const char *line, const char *with, const char *key)
{
	char one[4096];
	const char *p, *end, *at;
	double sum = 0;

	for (p = report; (end = strchr(p, '\n')) != NULL; p = end + 1) {
		snprintf(one, sizeof(one), "%.*s", (int)(end + 1 - p), p);
		if (strncmp(one, line, strlen(line)) == 0 && strstr(one, with) != NULL &&
		    (at = strstr(one, key)) != NULL)
			sum += atof(at + strlen(key));
	}
	return sum;
}

static bool
wait_for_report(char *report, size_t cap)
{
	int i;

	for (i = 0; i < 100 * check_patience(); i++) {
		if (slurp("report", report, cap) > 0)
			return true;
		usleep(50000);
	}
	return false;
}

static void
check_counts(const char *name, const char *out, const char *err, const char *report)
{
	static const char *const stages[] = { "disk.read", "disk.write", "net.read", "net.write" };
	double want, got, missed = report_sum(report, "process", "", "missed_bytes=");
	char key[32], with[32];
	const char *at;
	unsigned i;

	for (i = 0; i < 4; i++) {
		snprintf(key, sizeof(key), "%s=", stages[i]);
		snprintf(with, sizeof(with), "stage=%s ", stages[i]);
		at = strstr(out, key);
		CHECK(at != NULL);
		if (at == NULL || (want = atof(at + strlen(key))) < 0)
			continue;
		got = report_sum(report, "stage", with, " bytes=");
		check_count++;
		if (got > want || got + missed < want) {
			check_failed++;
			fprintf(stderr, "%s: %s saw %.0f bytes (%.0f missed), want %.0f\n%s", name,
			    stages[i], got, missed, want, report);
		}
	}
	if (strcmp(name, "signals") == 0) {
		want = 100 + atof(err) + (double)strlen(err); /* which is a file, too */
		got = report_sum(report, "stage", "stage=disk.write ", " bytes=");
		CHECK(got <= want && got + missed >= want && missed < 0.01 * want + 1000);
	} else {
		CHECK(missed == 0);
	}
}

/* Busy and waiting time where it must be, and only there. */
static void
check_times(const char *name, const char *out, const char *report)
{
	double net_read = report_sum(report, "stage", "stage=net.read ", "wait_s=");
	double net_write = report_sum(report, "stage", "stage=net.write ", "wait_s="), paused,
	       ahead;
	char file[32];
	int i;

	if (strcmp(name, "waits") == 0) {
		double told[3] = { 0, 0, 0 };
		FILE *f = fopen("waits.told", "r");

		CHECK(f != NULL && fread(told, sizeof(told[0]), 3, f) == 3);
		if (f != NULL)
			fclose(f);
		CHECK(told[0] >= 0.24 && told[1] >= 0.06);
		/* A wait counts for as long as the program asked, at least, and for as long as the
		 * program was away, at most: a busy machine ends waits late. 820 ms of pauses in
		 * all. The last of them, 60 ms for answers to a stream that only sends, counts for
		 * the network if an interval ends within. */
		ahead = net_read - told[0];
		CHECK(net_read > 0.22 && ahead < told[2] + 0.1 * told[0] + 0.02);
		CHECK(net_write > 0.05 && net_write < 1.1 * told[1] + 0.02);
		paused = report_sum(report, "process", "", "paused_s=") + (ahead > 0 ? ahead : 0);
		CHECK(paused > 0.8 && paused < 0.82 + 0.1 * (told[0] + check_patience()));
	}
	if (strcmp(name, "pipes") == 0) {
		CHECK_INT((long)report_sum(report, "process", "", "pipe_read="),
		    4 + 1000 + 300 + 200000 + 7);
		CHECK_INT((long)report_sum(report, "process", "", "pipe_written="),
		    4 + 1000 + 300 + 200000 + 7 + (long)strlen(out)); /* stdout is one, too */
		/* the parent's four waits, longer on a busy machine; the child's for the first go
		 * is next to nothing */
		CHECK(report_sum(report, "process", "", "pipe_read_s=") > 0.35);
		CHECK(report_sum(report, "process", "", "pipe_write_s=") > 0.08);
		CHECK(report_sum(report, "process", "", "pipe_read_s=") +
			report_sum(report, "process", "", "pipe_write_s=") <
		    report_sum(report, "process", "", " wall_s="));
		CHECK(report_sum(report, "stage", "stage=disk.read ", "busy_s=") < 0.05);
	}
	if (strcmp(name, "reuse") == 0)
		for (i = 0; i < 20; i++) {
			snprintf(file, sizeof(file), "/reuse.%d\n", i);
			CHECK(report_sum(report, "file", file, " written=") == 100 + i);
		}
	if (strcmp(name, "jumps") == 0)
		CHECK(report_sum(report, "stage", "stage=net.read ", "busy_s=") < 0.5);
}

static void
perform(const char *self, const char *nwrun, const char *name)
{
	static char act_word[] = "act", quiet[] = "-q";
	char *const bare[] = { (char *)self, act_word, (char *)name, NULL };
	char *const measured[] = { (char *)nwrun, quiet, (char *)self, act_word, (char *)name,
		NULL };
	static char report[65536];
	struct outcome a, b;

	run(bare, &a);
	unlink("report");
	run(measured, &b);
	if (!wait_for_report(report, sizeof(report))) {
		CHECK(!"a report within 5 s");
		return;
	}
	if (a.status != b.status || strcmp(a.out, b.out) != 0)
		fprintf(stderr, "%s: status %#x and %#x\n--- bare\n%s%s--- measured\n%s%s", name,
		    a.status, b.status, a.out, a.err, b.out, b.err);
	CHECK_INT(b.status, a.status);
	if (strcmp(name, "sealed") == 0)
		CHECK_INT(WEXITSTATUS(a.status), 7);
	if (strcmp(name, "stdio") != 0 || !SANITIZED)
		CHECK_STR(b.out, a.out);
	check_counts(name, b.out, b.err, report);
	check_times(name, b.out, report);
}

enum { STAGES = 4 }; /* the acts wait more than they work: on so many stages at once */

static int
stage_main(const char *self, const char *nwrun, const char *only, unsigned stage)
{
	char dir[] = "stage.0";
	unsigned i;

	dir[6] = (char)('0' + stage);
	if (mkdir(dir, 0700) != 0 || chdir(dir) != 0)
		return 1;
	for (i = 0; i + 1 < ACTS; i++)
		if (i % STAGES == stage && (only == NULL || strcmp(only, acts[i].name) == 0))
			perform(self, nwrun, acts[i].name);
	return check_failed != 0;
}

int
main(int argc, char *argv[])
{
	char self[PATH_MAX], nwrun[PATH_MAX + 16], dir[] = "/tmp/test_nwrun.XXXXXX", *slash,
						   command[64];
	ssize_t n;
	unsigned i;
	int status;

	if (argc == 3 && strcmp(argv[1], "act") == 0)
		return act(argv[2]);
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0 || mkdtemp(dir) == NULL || chdir(dir) != 0)
		return 1;
	self[n] = '\0';
	slash = strrchr(self, '/');
	snprintf(nwrun, sizeof(nwrun), "%.*s/../../../bin/nwrun", (int)(slash - self), self);
	setenv("NWRUN_REPORT", "report", 1);
	setenv("NARROWS_BOX", "127.0.0.1/1", 1); /* nobody: the program must not notice */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
	for (i = 0; i < STAGES; i++)
		if (fork() == 0)
			_exit(stage_main(self, nwrun, argc > 1 ? argv[1] : NULL, i));
	for (i = 0; i < STAGES; i++)
		CHECK(wait(&status) > 0 && status == 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (chdir("/") != 0 || system(command) != 0)
		return 1;
	return check_done("nwrun");
}

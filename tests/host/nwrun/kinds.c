/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kinds KIND: does one thing that a library in the program could disturb, and prints the outcome:
 * descriptors, signals, limits, errno, small stacks, threads, children, ways of moving bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { FDS = 1100, THREADS = 48, FORKS = 100, STACK = 16384, ROUNDS = 2000 };

static volatile sig_atomic_t caught;
static sigjmp_buf back;
static int ends[2];

static void
fds(void)
{
	struct stat st;
	int i, flags;

	for (i = 0; i < FDS; i++)
		if ((flags = fcntl(i, F_GETFD)) >= 0 && fstat(i, &st) == 0)
			printf("%d: %o, %d, %o\n", i, st.st_mode & S_IFMT, flags,
			    fcntl(i, F_GETFL) & ~0100000);
}

static void
signals(void)
{
	struct sigaction a;
	sigset_t mask;
	stack_t alt;
	int i, death = -1;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (i = 1; i < 65; i++)
		if (sigaction(i, NULL, &a) == 0 &&
		    (a.sa_handler != SIG_DFL || sigismember(&mask, i) == 1))
			printf("%d: %s, %d\n", i, a.sa_handler == SIG_IGN ? "ignored" : "caught",
			    sigismember(&mask, i));
	prctl(PR_GET_PDEATHSIG, &death);
	printf("altstack %d, parent's death %d, group %d, session %d\n",
	    sigaltstack(NULL, &alt) == 0 ? alt.ss_flags : -1, death, getpgrp() == getpid(),
	    getsid(0) == getpid());
}

static void
limits(void)
{
	struct rlimit r;
	cpu_set_t cpus;
	int i;

	for (i = 0; i < 16; i++)
		if (getrlimit(i, &r) == 0)
			printf("%d: %llu %llu\n", i, (unsigned long long)r.rlim_cur,
			    (unsigned long long)r.rlim_max);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	printf("nice %d, scheduler %d, processors %d, umask %o\n", getpriority(PRIO_PROCESS, 0),
	    sched_getscheduler(0), CPU_COUNT(&cpus), umask(0));
	printf("dumpable %d, no new privileges %d, slack %d, subreaper %d\n",
	    prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	    prctl(PR_GET_TIMERSLACK), prctl(PR_GET_KEEPCAPS));
	printf("ids %d %d %d %d\n", getuid(), geteuid(), getgid(), getegid());
}

static void
closed(void)
{
	int i, out = fcntl(1, F_DUPFD, 900), fd;
	char text[64];

	for (i = 0; i < 900; i++)
		close(i);
	fd = open("/dev/zero", O_RDONLY);
	i = snprintf(text, sizeof(text), "first %d, reads %zd\n", fd, read(fd, text, 8));
	if (write(out, text, (size_t)i) != i)
		_exit(9);
}

static void
say(const char *what, ssize_t n)
{
	printf("%s: %zd%s%s\n", what, n, n < 0 ? " " : "", n < 0 ? strerror(errno) : "");
}

static void
errors(void)
{
	char c = 0, *volatile nowhere = (char *)1;
	int fd = open("/dev/null", O_WRONLY);

	say("read of a closed descriptor", read(1000, &c, 1));
	say("write to a closed descriptor", write(1000, &c, 1));
	say("read of what is only written", read(fd, &c, 1));
	say("write from nowhere", write(ends[1], nowhere, 8));
	say("open of nothing", open("/nonexistent/x", O_RDONLY));
	say("seek in a pipe", lseek(ends[0], 0, SEEK_SET));
	say("close twice", close(fd) == 0 ? close(fd) : 0);
	errno = EXDEV;
	say("nothing to write", write(ends[1], "", 0));
	printf("errno stays %d\n", errno == EXDEV);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	say("read of an empty pipe", read(ends[0], &c, 1));
}

static void
on_signal(int s)
{
	caught = s;
}

static void
on_signal_leave(int s)
{
	siglongjmp(back, s);
}

static void
interrupted(void)
{
	struct sigaction a = { .sa_handler = on_signal };
	struct itimerval t = { .it_value = { 0, 50000 } };
	char c;

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	say("read", read(ends[0], &c, 1));
	a.sa_handler = on_signal_leave;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	if (sigsetjmp(back, 1) == 0)
		say("read", read(ends[0], &c, 1));
	if (write(ends[1], "x", 1) == 1)
		say("read after a jump", read(ends[0], &c, 1));
	printf("caught %d\n", (int)caught);
}

static void
broken_pipe(void)
{
	close(ends[0]);
	say("write", write(ends[1], "x", 1));
}

static void *
thread_main(void *arg)
{
	char text[64] = { 0 };
	intptr_t me = (intptr_t)arg;
	int i;

	for (i = 0; i < ROUNDS; i++)
		if (pwrite(ends[0], text, 64, (off_t)(me * ROUNDS + i) * 64) != 64)
			_exit(8);
	return NULL;
}

static int
file_temporary(void)
{
	char path[] = "kinds.XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	return fd;
}

static void
threads(void)
{
	pthread_t t[THREADS];
	pthread_attr_t a;
	struct stat st;
	intptr_t i;

	ends[0] = file_temporary();
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, STACK);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], &a, thread_main, (void *)i) != 0)
			_exit(7);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	fstat(ends[0], &st);
	printf("%lld bytes\n", (long long)st.st_size);
}

static void *
waiting_main(void *arg)
{
	char c;

	if (read(ends[0], &c, 1) < 0)
		return arg;
	return NULL;
}

static void
cancelled(void)
{
	void *result = NULL;
	pthread_t t;

	pthread_create(&t, NULL, waiting_main, NULL);
	usleep(20000);
	pthread_cancel(t);
	pthread_join(t, &result);
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
}

/* --- mutexes and conditions, of the process and in shared memory --- */

static struct locks {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	int taken;
} * locks;

static void
locks_make(bool shared, int kind, int robust)
{
	pthread_mutexattr_t m;
	pthread_condattr_t c;

	locks =
	    mmap(NULL, sizeof(*locks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&m);
	pthread_condattr_init(&c);
	if (locks == MAP_FAILED || pthread_mutexattr_settype(&m, kind) != 0 ||
	    pthread_mutexattr_setrobust(&m, robust) != 0 ||
	    (shared && pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED) != 0) ||
	    (shared && pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED) != 0) ||
	    pthread_mutex_init(&locks->mutex, &m) != 0 ||
	    pthread_cond_init(&locks->condition, &c) != 0)
		_exit(7);
}

static void *
owner_main(void *arg)
{
	printf("owner %d\n", pthread_mutex_lock(&locks->mutex));
	return arg;
}

static void
locks_unlock(void *arg)
{
	(void)arg;
	printf("unlock %d\n", pthread_mutex_unlock(&locks->mutex));
}

static void *
waiter_main(void *arg)
{
	pthread_mutex_lock(&locks->mutex);
	pthread_cleanup_push(locks_unlock, NULL);
	while (locks->taken == 0)
		pthread_cond_wait(&locks->condition, &locks->mutex);
	pthread_cleanup_pop(1);
	return arg;
}

static void *
taker_main(void *arg)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&locks->mutex);
		locks->taken++;
		if (i % 8 == 0)
			usleep(1);
		pthread_mutex_unlock(&locks->mutex);
	}
	return arg;
}

/* An owner ends with the mutex: a thread, or a child. */
static void
locks_robust(bool shared, bool mends)
{
	pthread_t t;

	locks_make(shared, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	if (shared && fork() == 0)
		_exit(pthread_mutex_lock(&locks->mutex));
	if (shared)
		wait(NULL);
	else if (pthread_create(&t, NULL, owner_main, NULL) == 0)
		pthread_join(t, NULL);
	printf("orphan %d", pthread_mutex_lock(&locks->mutex));
	printf(" %d", mends ? pthread_mutex_consistent(&locks->mutex) : 0);
	printf(" %d", pthread_mutex_unlock(&locks->mutex));
	printf(" %d\n", pthread_mutex_lock(&locks->mutex));
}

static void
locks_wait(bool shared)
{
	const struct timespec past = { 1, 0 };
	void *result = NULL;
	pthread_t t;

	locks_make(shared, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	pthread_mutex_lock(&locks->mutex);
	printf("late %d", pthread_mutex_timedlock(&locks->mutex, &past));
	printf(" %d\n", pthread_cond_timedwait(&locks->condition, &locks->mutex, &past));
	pthread_mutex_unlock(&locks->mutex);
	pthread_create(&t, NULL, waiter_main, NULL);
	usleep(20000);
	pthread_cancel(t);
	pthread_join(t, &result);
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
	pthread_create(&t, NULL, waiter_main, NULL);
	usleep(5000);
	pthread_mutex_lock(&locks->mutex);
	locks->taken = 1;
	pthread_cond_broadcast(&locks->condition);
	pthread_mutex_unlock(&locks->mutex);
	pthread_join(t, &result);
	printf("woken %d\n", result == NULL);
}

static void
locks_count(bool shared)
{
	pthread_t t[4];
	int i, status = 0;

	locks_make(shared, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	for (i = 0; i < 4; i++)
		if (shared && fork() == 0)
			_exit(taker_main(NULL) != NULL);
		else if (!shared)
			pthread_create(&t[i], NULL, taker_main, NULL);
	for (i = 0; i < 4; i++)
		if (shared)
			wait(&status);
		else
			pthread_join(t[i], NULL);
	printf("taken %d, status %d\n", locks->taken, status);
}

static void
locks_all(void)
{
	int shared;

	for (shared = 0; shared < 2; shared++) {
		locks_make(shared, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
		printf("checked %d", pthread_mutex_lock(&locks->mutex));
		printf(" %d", pthread_mutex_lock(&locks->mutex));
		printf(" %d", pthread_mutex_unlock(&locks->mutex));
		printf(" %d\n", pthread_mutex_unlock(&locks->mutex));
		locks_make(shared, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
		printf("again %d", pthread_mutex_lock(&locks->mutex));
		printf(" %d", pthread_mutex_lock(&locks->mutex));
		printf(" %d", pthread_mutex_unlock(&locks->mutex));
		printf(" %d", pthread_mutex_unlock(&locks->mutex));
		printf(" %d\n", pthread_mutex_unlock(&locks->mutex));
		fflush(stdout);
		locks_robust(shared, true);
		locks_robust(shared, false);
		fflush(stdout);
		locks_wait(shared);
		fflush(stdout);
		locks_count(shared);
	}
}

static void
forks(void)
{
	int i, status, n = 0;

	for (i = 0; i < FORKS; i++)
		if (fork() == 0)
			_exit(write(ends[1], "x", 1) == 1 ? i % 7 : 99);
	while (wait(&status) > 0)
		n += WEXITSTATUS(status);
	i = fcntl(ends[0], F_SETFL, O_NONBLOCK);
	printf("sum %d, %zd bytes\n", n, read(ends[0], (char[256]){ 0 }, 256) + i);
}

static void
orphan(void)
{
	char c = 0;

	fflush(stdout);
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			usleep(100000);
			_exit(write(ends[1], "d", 1) != 1);
		}
		_exit(0);
	}
	wait(NULL);
	say("the grandchild", read(ends[0], &c, 1));
}

#ifdef __GLIBC__ /* musl has no contexts */
static ucontext_t main_context, small_context;

static void
small_main(void)
{
	char text[100];

	if (write(ends[1], "small stack\n", 12) == 12 && read(ends[0], text, 12) == 12)
		caught = 12;
	swapcontext(&small_context, &main_context);
}

static void
small(void)
{
	getcontext(&small_context);
	small_context.uc_stack.ss_sp = malloc(STACK);
	small_context.uc_stack.ss_size = STACK;
	makecontext(&small_context, small_main, 0);
	swapcontext(&main_context, &small_context);
	printf("%d bytes\n", (int)caught);
}
#endif

static void
on_fault(int s)
{
	static const char text[] = "fault\n";

	_exit(write(1, text, sizeof(text) - 1) < 0 ? 99 : s);
}

static void
fault(void)
{
	static char memory[STACK];
	struct sigaction a = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };

	sigaltstack(&(stack_t){ .ss_sp = memory, .ss_size = sizeof(memory) }, NULL);
	sigaction(SIGSEGV, &a, NULL);
	fflush(stdout);
	*(volatile int *)16 = 1;
}

static void
strict(void)
{
	fflush(stdout);
	if (prctl(PR_SET_SECCOMP, 1, 0, 0, 0) != 0)
		_exit(77);
	if (write(1, "strict\n", 7) != 7)
		syscall(SYS_exit, 99);
	syscall(SYS_exit, 4);
}

static void
passed(void)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, c = 'x', got[16];
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	int pair[2], fd;

	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	*h = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS
	};
	memcpy(CMSG_DATA(h), &ends[0], sizeof(int));
	say("sent", sendmsg(pair[0], &m, 0));
	say("received", recvmsg(pair[1], &m, 0));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	close(ends[0]);
	say("written", write(ends[1], "through", 7));
	say("read", read(fd, got, sizeof(got)));
	say("several sent", sendmmsg(pair[0], (struct mmsghdr[1]){ { m, 0 } }, 1, 0));
}

static void
moves(void)
{
	char text[8] = "in parts";
	struct iovec v[2] = { { text, 4 }, { text + 4, 4 } };
	int a = file_temporary(), b = file_temporary();

	say("writev", writev(a, v, 2));
	say("pwritev", pwritev(a, v, 2, 8));
	say("preadv", preadv(a, v, 2, 0));
	lseek(a, 0, SEEK_SET);
	say("sendfile", sendfile(b, a, NULL, 8));
	say("copy_file_range", copy_file_range(a, NULL, b, NULL, 8, 0));
	say("splice", splice(a, &(loff_t){ 0 }, ends[1], NULL, 16, 0));
	say("tee", tee(ends[0], ends[1], 16, SPLICE_F_NONBLOCK) < 0 ? -1 : 1);
	say("vmsplice", vmsplice(ends[1], v, 2, 0));
	say("size", lseek(b, 0, SEEK_END));
	say("mapped", mmap(NULL, 16, PROT_READ, MAP_SHARED, b, 0) != MAP_FAILED);
}

static void
events(void)
{
	struct itimerspec t = { .it_value = { 0, 1000000 } };
	int e = epoll_create1(0), counter = eventfd(3, 0),
	    timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct epoll_event got;
	struct signalfd_siginfo info;
	uint64_t n = 0;
	sigset_t set;
	int signals_fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals_fd = signalfd(-1, &set, 0);
	kill(getpid(), SIGUSR1);
	epoll_ctl(e, EPOLL_CTL_ADD, timer,
	    &(struct epoll_event){ .events = EPOLLIN | EPOLLET, .data.u32 = 7 });
	timerfd_settime(timer, 0, &t, NULL);
	say("epoll", epoll_wait(e, &got, 1, 5000));
	say("event", read(counter, &n, sizeof(n)));
	say("signal", read(signals_fd, &info, sizeof(info)));
	printf("%d %d %d\n", (int)got.data.u32, (int)n, (int)info.ssi_signo);
}

static void
last_words(void)
{
	fputs("at the end\n", stdout);
}

static void
ends_kindly(void)
{
	atexit(last_words);
	printf("not flushed ");
	exit(6);
}

static void
stopped(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		raise(SIGSTOP);
		_exit(5);
	}
	waitpid(pid, &status, WUNTRACED);
	printf("stopped %d\n", WIFSTOPPED(status));
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	printf("status %d\n", WEXITSTATUS(status));
}

static int
cloned_main(void *arg)
{
	*(volatile int *)arg = (int)write(ends[1], "clone", 5);
	return 0;
}

static void
cloned(void)
{
	char *stack = malloc(4 * STACK);
	volatile int n = 0;
	int status = -1;
	pid_t pid =
	    clone(cloned_main, stack + 4 * STACK, CLONE_VM | CLONE_FILES | SIGCHLD, (void *)&n);

	waitpid(pid, &status, 0);
	printf("%d bytes, status %d\n", n, WEXITSTATUS(status));
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = { { "fds", fds }, { "signals", signals }, { "limits", limits },
		{ "closed", closed }, { "errors", errors }, { "interrupted", interrupted },
		{ "broken-pipe", broken_pipe }, { "threads", threads }, { "cancelled", cancelled },
		{ "forks", forks }, { "locks", locks_all }, { "orphan", orphan },
		{ "fault", fault }, { "strict", strict }, { "passed", passed }, { "moves", moves },
		{ "events", events }, { "end", ends_kindly }, { "stopped", stopped },
		{ "cloned", cloned }, { "abort", abort },
#ifdef __GLIBC__
		{ "small", small }
#endif
	};
	size_t i;
	int a;

	for (a = 1; a < argc; a++)
		for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strcmp(kinds[i].name, argv[a]) == 0) {
				if (strcmp(argv[a], "fds") != 0 && pipe(ends) != 0)
					return 2;
				kinds[i].run();
			}
	return argc < 2 ? 2 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edge send|receive ADDRESS PORT BYTES: a transfer as the runtimes of Go and tokio make one. A
 * thread waits for events of a socket that is watched for both directions, by edges; another thread
 * reads or writes until the kernel has nothing left, and then waits for the first. The sender
 * listens.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_ready;
static int sock, set;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static void *
poller(void *unused)
{
	struct epoll_event e[8];

	for (;;) {
		if (epoll_wait(set, e, 8, -1) <= 0)
			continue;
		pthread_mutex_lock(&lock);
		is_ready = true;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void
park(void)
{
	pthread_mutex_lock(&lock);
	while (!is_ready)
		pthread_cond_wait(&changed, &lock);
	is_ready = false;
	pthread_mutex_unlock(&lock);
}

static int
socket_open(bool sends, const char *address, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, own;

	inet_pton(AF_INET, address, &to.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!sends) {
		if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
			die("connect");
		return fd;
	}
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) != 0 || listen(fd, 1) != 0 ||
	    (own = accept(fd, NULL, NULL)) < 0)
		die("listen");
	close(fd);
	return own;
}

int
main(int argc, char **argv)
{
	static char bytes[65536];
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	bool sends = argc == 5 && strcmp(argv[1], "send") == 0;
	long long left;
	pthread_t t;
	ssize_t n;

	if (argc != 5)
		return 2;
	left = atoll(argv[4]);
	sock = socket_open(sends, argv[2], argv[3]);
	fcntl(sock, F_SETFL, O_NONBLOCK);
	set = epoll_create1(EPOLL_CLOEXEC);
	e.data.fd = sock;
	if (epoll_ctl(set, EPOLL_CTL_ADD, sock, &e) != 0 ||
	    pthread_create(&t, NULL, poller, NULL) != 0)
		die("epoll");
	while (left > 0) {
		size_t piece = left < (long long)sizeof(bytes) ? (size_t)left : sizeof(bytes);

		n = sends ? write(sock, bytes, piece) : read(sock, bytes, piece);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			die("transfer");
		if (n < 0)
			park();
		else
			left -= n;
	}
	return 0;
}

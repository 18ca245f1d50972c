/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/clock.h"
#include "narrows/format.h"
#include "narrows/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static const char *log_name = "narrows";
static bool log_to_stderr = true, log_verbose;
static atomic_int log_fd = -1; /* of /dev/log */
static atomic_uint_fast64_t n_lost;

/* --- the system's log --- */

static int
syslog_connect(void)
{
	const struct sockaddr_un sun = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The C library's syslog() drops lines in silence once its socket is gone and the box may make no
 * other (daemon/rights/jail.h); here the line is counted. */
static bool
syslog_send(int priority, const char *line)
{
	char text[2200], when[32] = "";
	time_t now = time(NULL);
	struct tm tm;
	size_t len;
	int fd;

	if (localtime_r(&now, &tm) != NULL)
		strftime(when, sizeof(when), "%b %e %T", &tm);
	len = (size_t)snprintf(text, sizeof(text), "<%d>%s %s[%ld]: %s", LOG_DAEMON | priority,
	    when, log_name, (long)getpid(), line);
	len = len < sizeof(text) ? len : sizeof(text) - 1;
	if (send(log_fd, text, len, MSG_NOSIGNAL) == (ssize_t)len)
		return true;
	if ((fd = syslog_connect()) < 0)
		return false;
	/* in the number of the old socket, which another thread may use now */
	if (log_fd < 0)
		log_fd = fd;
	else {
		(void)dup3(fd, log_fd, O_CLOEXEC);
		close(fd);
	}
	return send(log_fd, text, len, MSG_NOSIGNAL) == (ssize_t)len;
}

uint64_t
log_lost(void)
{
	return n_lost;
}

/* --- lines --- */

void
log_open(const char *name, bool to_stderr, bool debug)
{
	log_name = name;
	log_to_stderr = to_stderr;
	log_verbose = debug;
	if (!to_stderr && log_fd < 0)
		log_fd = syslog_connect();
}

static void
escape(char *to, size_t cap, const char *from, bool quotes)
{
	size_t n = 0;

	for (; *from != '\0' && n + 5 < cap; from++) {
		unsigned char c = (unsigned char)*from;

		if (quotes && (c == '"' || c == '\\'))
			to[n++] = '\\';
		if (c < 0x20 || c > 0x7e)
			n += (size_t)snprintf(to + n, cap - n, "\\x%02x", c);
		else
			to[n++] = (char)c;
	}
	to[n] = '\0';
}

static void
line_write(int priority, int err, const char *fmt, va_list ap)
{
	char text[1024], line[2048];
	int n;

	n = vsnprintf(text, sizeof(text), fmt, ap);
	if (err != 0 && n >= 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n, ": %s", strerror(err));
	escape(line, sizeof(line), text, false);
	if (!log_to_stderr && syslog_send(priority, line))
		return;
	if (!log_to_stderr)
		n_lost++;
	fprintf(stderr, "%s %s %s\n", fmt_iso(nw_wall_ns(), 3).s, log_name, line);
}

#define LINE_WRITE(priority, err)                        \
	do {                                             \
		int saved_ = errno;                      \
		va_list ap_;                             \
		va_start(ap_, fmt);                      \
		line_write((priority), (err), fmt, ap_); \
		va_end(ap_);                             \
		errno = saved_;                          \
	} while (0)

void
log_debug(const char *fmt, ...)
{
	if (log_verbose)
		LINE_WRITE(LOG_DEBUG, 0);
}

void
log_info(const char *fmt, ...)
{
	LINE_WRITE(LOG_INFO, 0);
}

void
log_warn(const char *fmt, ...)
{
	LINE_WRITE(LOG_WARNING, errno);
}

void
log_warnx(const char *fmt, ...)
{
	LINE_WRITE(LOG_WARNING, 0);
}

void
fatal(const char *fmt, ...)
{
	LINE_WRITE(LOG_CRIT, errno);
	exit(1);
}

void
fatalx(const char *fmt, ...)
{
	LINE_WRITE(LOG_CRIT, 0);
	exit(1);
}

const char *
log_escape(char *buf, size_t cap, const char *s)
{
	escape(buf, cap, s, true);
	return buf;
}

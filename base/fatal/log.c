/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/clock.h"
#include "narrows/format.h"
#include "narrows/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

static const char *log_name = "narrows";
static bool log_to_stderr = true, log_verbose;

void
log_open(const char *name, bool to_stderr, bool debug)
{
	log_name = name;
	log_to_stderr = to_stderr;
	log_verbose = debug;
	if (!to_stderr)
		openlog(name, LOG_PID | LOG_NDELAY, LOG_DAEMON);
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
	if (!log_to_stderr) {
		syslog(priority, "%s", line);
		return;
	}
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of /proc/PID/stat, /proc/PID/io and /proc/PID/schedstat. Header only: both the
 * collector and the preload object read them. */
#ifndef HOST_PROCFILE_H
#define HOST_PROCFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct procfile_stat {
	char state; /* 'R', 'S', ..., 'Z' */
	int ppid;
	uint64_t user_ticks, sys_ticks, threads, start_ticks, rss_pages;
	uint64_t child_ticks; /* of children that were waited for */
};

struct procfile_io {
	uint64_t rchar, wchar, read_bytes, write_bytes;
};

static inline uint64_t
procfile_number(const char *p)
{
	uint64_t n = 0;

	while (*p >= '0' && *p <= '9')
		n = n * 10 + (uint64_t)(*p++ - '0');
	return n;
}

/* `text` ends with a NUL. The name may hold blanks and parentheses: fields count from the last
 * parenthesis. */
static inline bool
procfile_parse_stat(const char *text, struct procfile_stat *out)
{
	const char *p = strrchr(text, ')');
	int field;

	memset(out, 0, sizeof(*out));
	for (field = 3; p != NULL && (p = strchr(p, ' ')) != NULL && field <= 24; field++) {
		p++;
		switch (field) {
		case 3: out->state = *p; break;
		case 4: out->ppid = (int)procfile_number(p); break;
		case 14: out->user_ticks = procfile_number(p); break;
		case 15: out->sys_ticks = procfile_number(p); break;
		case 16:
		case 17: out->child_ticks += procfile_number(p); break;
		case 20: out->threads = procfile_number(p); break;
		case 22: out->start_ticks = procfile_number(p); break;
		case 24: out->rss_pages = procfile_number(p); break;
		}
	}
	return field > 24;
}

/* A leader that called pthread_exit is a zombie long before its process ends. */
static inline bool
procfile_is_over(const struct procfile_stat *st)
{
	return st->state == 'X' || (st->state == 'Z' && st->threads <= 1);
}

enum { PROCFILE_PID_MAX = 1 << 22 }; /* of the kernel */

/* The number of a process, and nothing else. */
static inline bool
procfile_parse_pid(const char *text, int *out)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || pid <= 0 || pid > PROCFILE_PID_MAX)
		return false;
	*out = (int)pid;
	return true;
}

static inline bool
procfile_parse_io(const char *text, struct procfile_io *out)
{
	struct {
		const char *key;
		uint64_t *to;
	} want[] = {
		{ "rchar: ", &out->rchar },
		{ "wchar: ", &out->wchar },
		{ "read_bytes: ", &out->read_bytes },
		{ "write_bytes: ", &out->write_bytes },
	};
	size_t i, len;

	/* the kernel writes the lines in this order */
	for (i = 0; i < sizeof(want) / sizeof(want[0]);) {
		len = strlen(want[i].key);
		if (strncmp(text, want[i].key, len) == 0)
			*want[i++].to = procfile_number(text + len);
		while (*text != '\0' && *text != '\n')
			text++;
		if (*text == '\0')
			break;
		text++;
	}
	return i == sizeof(want) / sizeof(want[0]);
}

/* Of the main thread: time on a processor, time runnable but waiting for a processor, and how
 * often the thread got a processor. */
static inline bool
procfile_parse_schedstat(const char *text, uint64_t *wait_ns)
{
	const char *p = strchr(text, ' ');

	if (p == NULL || p[1] < '0' || p[1] > '9')
		return false;
	*wait_ns = procfile_number(p + 1);
	return true;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A measurement aside: a child process measures, since nothing in blipp may wait for a disk or a
 * peer, and says the result as one line of text. The child ends with its parent.
 */
#ifndef HOST_ASIDE_H
#define HOST_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ASIDE_TEXT_BYTES = 160 };

struct aside { /* zero to start */
	int epoll_fd;
	pid_t pid; /* of the child; 0: nothing is on its way */
	int fd;    /* of its pipe */
	char text[ASIDE_TEXT_BYTES];
	size_t len;
	int64_t begun_mono_ns;
};

/* In the child: writes the result into text. Returns false for a failure, which says nothing. */
typedef bool aside_fn(const void *arg, char text[ASIDE_TEXT_BYTES]);

/* NW_EIO */
int aside_open(struct aside *a);
int aside_begin(struct aside *a, aside_fn *measure, const void *arg, int64_t now_mono_ns);
/* Reads what the child says. Returns true once the child is done; the text, which may be empty, is
 * then good until the next begin. */
bool aside_read(struct aside *a);
/* Kills a child. */
void aside_end(struct aside *a);
void aside_clear(struct aside *a);
/* To be polled for input; -1: none. */
int aside_fd(const struct aside *a);

#endif

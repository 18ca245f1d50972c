/* SPDX-License-Identifier: BSD-3-Clause */
/* An answer made in slices, so that a slow reader of a large answer delays no other reader. */
#ifndef NARROWS_WEB_STREAM_H
#define NARROWS_WEB_STREAM_H

#include <stdbool.h>
#include <stddef.h>

typedef int stream_write_fn(void *arg, const char *bytes, size_t len);

struct stream {
	/* Writes the next slice, which may be empty; *done tells that the slice was the last.
	 * Returns NW_OK or the code of a failure. */
	int (*next)(void *state, stream_write_fn *write, void *arg, bool *done);
	void (*free)(void *state);
	void *state;
	/* Why a slice failed, on loan until free(), or NULL; the function itself may be NULL. */
	const char *(*why)(const void *state);
	/* Whether the next slice may still refuse the whole request; NULL: never. */
	bool (*may_refuse)(const void *state);
};

static inline bool
stream_may_refuse(const struct stream *s)
{
	return s->may_refuse != NULL && s->may_refuse(s->state);
}

static inline const char *
stream_why(const struct stream *s)
{
	return s->why != NULL ? s->why(s->state) : NULL;
}

static inline void
stream_free(struct stream *s)
{
	if (s->state != NULL)
		s->free(s->state);
	s->state = NULL;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of replays, for orders on the wire and for the analysis. */
#include <string.h>

#include "narrows/order.h"

static const char *const replay_words[] = { NULL,
#define X(id, word) [NW_REPLAY_##id] = word,
	NW_REPLAY_LIST(X)
#undef X
};

const char *
nw_replay_word(enum nw_replay_way way)
{
	return replay_words[way];
}

enum nw_replay_way
nw_replay_parse(const char *word)
{
	size_t i;

	for (i = 1; i < sizeof(replay_words) / sizeof(replay_words[0]); i++)
		if (strcmp(word, replay_words[i]) == 0)
			return (enum nw_replay_way)i;
	return NW_REPLAY_NONE;
}

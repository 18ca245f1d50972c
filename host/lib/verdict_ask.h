/* SPDX-License-Identifier: BSD-3-Clause */
/* The last word on a run: the box's verdict, asked for on the connection of the run's documents. */
#ifndef HOST_VERDICT_ASK_H
#define HOST_VERDICT_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nw_provider;

enum { VERDICT_BYTES = 1024 };

/* All zero before the question. */
struct verdict {
	bool asked, told;
	int64_t session; /* 0: unknown */
	char sentence[VERDICT_BYTES];
};

/* Takes an answer of the box; bytes of a stranger. */
void verdict_take(struct verdict *v, const uint8_t *doc, size_t len);
/* Asks when all documents are sent, and waits for the verdict, at the latest until the end. */
void verdict_await(struct verdict *v, struct nw_provider *p, int64_t end_mono_ns);
/* Writes a line: the verdict, or the command that will show the verdict. */
void verdict_print(const struct verdict *v, int fd);

#endif

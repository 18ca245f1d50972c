/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of flows and of whole transfers, which two programs announce without a common id. */
#include "narrows/announce.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/fnv.h"

#define S_NS INT64_C(1000000000)
/* A flow begins within its transfer. Begins of XRootD's f-stream may be early by the length of its
 * window, a minute at most by habit; clocks of two programs differ. */
#define EARLY_NS (60 * S_NS)
#define LATE_NS  (5 * S_NS)

struct nw_wholes {
	struct nw_announcement whole[NW_WHOLES_MAX]; /* a ring */
	uint64_t name[NW_WHOLES_MAX];                /* hash of the last part; 0: a free place */
	size_t next;
};

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Places are looked through for every flow that begins: a hash keeps the look short, and decides
 * nothing. */
static uint64_t
name_hash(const char *path)
{
	return fnv_text(FNV_BEGIN, last_part(path)) | 1;
}

static bool
is_numeric(const char *address)
{
	uint8_t ip[16];

	return inet_pton(AF_INET, address, ip) == 1 || inet_pton(AF_INET6, address, ip) == 1;
}

/* The client is an end of the flow, and one of the whole transfer: only addresses contradict each
 * other. */
static bool
ends_agree(const struct nw_flow_file *a, const struct nw_announcement *b)
{
	const char *const of_a[] = { a->src, a->dst }, *const of_b[] = { b->src, b->dst };
	size_t i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++)
			if (strcmp(of_a[i], of_b[k]) == 0)
				return true;
	return !is_numeric(a->dst) || (!is_numeric(b->src) && !is_numeric(b->dst));
}

bool
nw_flow_file_is(const struct nw_flow_file *flow, const struct nw_announcement *whole)
{
	const char *of_flow = last_part(flow->file), *of_whole = last_part(whole->file);

	return of_flow[0] != '\0' && strcmp(of_flow, of_whole) == 0 &&
	    flow->start_wall_ns >= whole->start_wall_ns - EARLY_NS &&
	    flow->start_wall_ns <= whole->t_wall_ns + LATE_NS && ends_agree(flow, whole);
}

struct nw_wholes *
nw_wholes_new(void)
{
	return calloc(1, sizeof(struct nw_wholes));
}

void
nw_wholes_free(struct nw_wholes *w)
{
	free(w);
}

void
nw_wholes_put(struct nw_wholes *w, const struct nw_announcement *whole)
{
	if (whole->group[0] == '\0' || last_part(whole->file)[0] == '\0')
		return;
	w->whole[w->next] = *whole;
	w->name[w->next] = name_hash(whole->file);
	w->next = (w->next + 1) % NW_WHOLES_MAX;
}

const char *
nw_wholes_find(const struct nw_wholes *w, const struct nw_announcement *flow)
{
	const struct nw_flow_file of = { flow->file, flow->src, flow->dst, flow->start_wall_ns };
	const uint64_t name = name_hash(flow->file);
	const struct nw_announcement *only = NULL;
	size_t i;

	for (i = 0; i < NW_WHOLES_MAX; i++) {
		if (w->name[i] != name || w->whole[i].form == flow->form ||
		    !nw_flow_file_is(&of, &w->whole[i]))
			continue;
		if (only != NULL && strcmp(only->group, w->whole[i].group) != 0)
			return NULL;
		only = &w->whole[i];
	}
	return only != NULL ? only->group : NULL;
}

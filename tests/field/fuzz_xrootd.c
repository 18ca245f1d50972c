/* SPDX-License-Identifier: BSD-3-Clause */
/* Any datagrams, each behind two bytes of length, as XRootD's monitoring: what is announced has
 * texts that end, times in order, and the source of the datagram as an end. */
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/xrootd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool
ends(const char *text, size_t size)
{
	return memchr(text, 0, size) != NULL;
}

static const int64_t COPY_WAIT_NS = INT64_C(10000000000);

static bool
on_record(void *arg, const struct nw_announcement *a)
{
	int i;

	if (strcmp(a->src, arg) != 0 || a->t_wall_ns < a->start_wall_ns ||
	    !ends(a->dst, sizeof(a->dst)) || !ends(a->file, sizeof(a->file)) ||
	    !ends(a->user, sizeof(a->user)) || !ends(a->application, sizeof(a->application)) ||
	    !ends(a->id, sizeof(a->id)) || !ends(a->group, sizeof(a->group)) ||
	    a->experiment > 65535 || a->activity > 65535)
		abort();
	for (i = 0; i < NW_ANNOUNCED_COUNT; i++)
		if (a->value[i] < 0)
			abort();
	return true;
}

static void
on_late(void *arg, const char *source, const struct nw_announcement *a)
{
	if (a->form != NW_ANNOUNCE_XROOTD_TPC || source[0] == '\0' || !on_record(arg, a))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char sources[2][16] = { "192.0.2.1", "2001:db8::1" };
	struct nw_xrootd *x = nw_xrootd_new();
	struct nw_xrootd_datagram d = { .now_wall_ns = 1795396740000000000, .now_mono_ns = 1 };
	struct nw_xrootd_got got;
	const char *why;
	size_t n, i;
	int rc;

	for (i = 0; x != NULL && len >= 2; i++) {
		n = (size_t)(data[0] & 0x7f) << 8 | data[1];
		d.source = sources[data[0] >> 7];
		n = n < len - 2 ? n : len - 2;
		d.bytes = data + 2;
		d.len = n;
		d.now_mono_ns++;
		d.now_wall_ns += 1000000;
		rc = nw_xrootd_take(x, &d, on_record, sources[data[0] >> 7], &got, &why);
		if ((rc < 0 && why == NULL) || got.lost < -1 || got.lost > 126)
			abort();
		data += 2 + n;
		len -= 2 + n;
	}
	nw_xrootd_tick(x, 2 * COPY_WAIT_NS, on_late, sources[0]);
	nw_xrootd_tick(x, INT64_MAX, on_late, sources[0]);
	nw_xrootd_free(x);
	return 0;
}

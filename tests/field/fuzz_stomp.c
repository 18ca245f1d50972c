/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as frames of a broker, and their bodies as messages of FTS: frames lie within the
 * bytes, and the numbers of a message's event are none below 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/announce.h"
#include "narrows/err.h"
#include "narrows/fts.h"
#include "narrows/stomp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
message_try(const char *bytes, size_t len)
{
	struct nw_fts_message m;
	struct nw_fts_event event;
	struct nw_announcement a;
	const char *why = NULL;
	size_t i;

	if (nw_fts_read(bytes, len, &m, &why) < 0) {
		if (why == NULL)
			abort();
		return;
	}
	if (m.job[0] == '\0' || m.file_id < 0 || m.t_wall_ns <= 0)
		abort();
	nw_fts_event(&m, m.submit_wall_ns, m.staging_s, &event);
	if (event.e.n_attrs > NW_FTS_ATTRS_MAX)
		abort();
	for (i = 0; i < event.e.n_attrs; i++)
		if (event.attrs[i].type == NW_ATTR_REAL && !(event.attrs[i].v.d >= 0))
			abort();
	if (nw_transfer_event_read(&event.e, "host", &a) &&
	    (a.start_wall_ns <= 0 || a.t_wall_ns < a.start_wall_ns || a.src[0] == '\0'))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nw_stomp_frame f;
	char text[NW_STOMP_VALUE_BYTES];
	const char *why = NULL;
	size_t at = 0, took;
	int rc;

	message_try((const char *)data, len);
	do {
		rc = nw_stomp_cut(data + at, len - at, &f, &took, &why);
		if (took > len - at)
			abort();
		at += took;
		if (rc == NW_OK) {
			if (took == 0 || f.body < (const char *)data ||
			    f.body + f.body_len >= (const char *)data + at)
				abort();
			if (nw_stomp_header(&f, "ack", text) && strlen(text) >= sizeof(text))
				abort();
			message_try(f.body, f.body_len);
		} else if (rc != NW_EAGAIN && why == NULL) {
			abort();
		}
	} while (rc == NW_OK);
	return 0;
}

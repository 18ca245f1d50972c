/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/server/session_serve.h"

#include "dpss/server/held.h"
#include "dpss/server/reads.h"
#include "dpss/server/writes.h"
#include "narrows/err.h"

static void
on_done(struct task *t, int rc)
{
	if (t->write)
		writes_done(t, rc);
	else
		reads_done(t, rc);
}

const struct disk_calls session_calls = { held_wanted, on_done };

static void
on_idle(void *arg)
{
	blocklog_flush(arg);
}

int
session_serve(struct sessions *all, struct grant *g, const struct ticket *t, struct channel *w,
    uint16_t udp_port, uint64_t udp_key)
{
	struct packer nothing = { 0 };
	struct channel_message m;
	struct session *s;
	int rc;

	if (udp_port != 0 && !channel_is_clear(w))
		return NW_EUNSUPPORTED;
	if ((rc = session_new(all, g, t, &s)) != NW_OK)
		return rc;
	s->from_file = channel_is_clear(w) && udp_port == 0;
	if (udp_port != 0)
		rc = datagrams_new(w, udp_port, udp_key, all->opts.pace_bytes_per_s, &s->packets);
	if (all->opts.pace_bytes_per_s > 0)
		channel_pace(w, all->opts.pace_bytes_per_s);
	channel_limits(w, g->block_bytes + 64, 0);
	if (rc == NW_OK &&
	    (rc = outbox_new(w, DPSS_PING_MS, on_idle, all->opts.log, &s->out)) == NW_OK)
		rc = outbox_put_packed(s->out, DPSS_DONE, &nothing);
	while (rc == NW_OK && (rc = channel_read(w, &m)) == NW_OK)
		if (m.type == DPSS_WRITE)
			rc = writes_block(s, &m.contents);
		else if (m.type != DPSS_PING)
			rc = NW_EPROTO;
	channel_shut(w);
	atomic_store(&s->over, true);
	session_leave(s);
	held_end(s);
	outbox_free(s->out);
	datagrams_free(s->packets);
	session_drop(s);
	blocklog_write(all->opts.log);
	return rc == NW_ECLOSED ? NW_OK : rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first program, when the region shows nothing of it: statically linked, set-user-id, or with
 * an environment of its own. The report then has nothing but the kernel's count. A program needs a
 * moment from its start to its first look into the region, so the report begins a second after the
 * run, or at its end.
 */
#include "host/nwrun/collect/collect_in.h"

#define PERIOD_NS INT64_C(1000000000)

enum { WORTH_BYTES = 1 << 20 };

/* Returns false if the process has ended. */
static bool
root_update(struct collect *c, int64_t now_mono_ns, bool with_blind)
{
	const struct proc_question q = { .pid = c->opts.root_pid,
		.wanted = with_blind ? PROC_WANT_BLIND : 0 };
	struct root *r = &c->root;
	struct proc_facts f;

	c->sink->facts(c->sink->arg, &q, &f);
	if (!f.found || (r->known && f.stat.start_ticks != r->first.stat.start_ticks))
		return false;
	if (!r->known) {
		r->known = true;
		r->first = f;
		/* on a busy machine the program has moved much before this first look */
		if (c->opts.root_io_known && f.io_known)
			r->first.io = c->opts.root_io;
		r->last = r->first;
		r->said_mono_ns = now_mono_ns;
		id_make(r->id);
	}
	r->blind |= f.blind;
	if (f.io_known)
		r->now = f;
	return f.alive;
}

static uint64_t
moved_bytes(const struct proc_facts *from, const struct proc_facts *to)
{
	return to->io.rchar - from->io.rchar + to->io.wchar - from->io.wchar;
}

static void
root_say(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns)
{
	struct root *r = &c->root;
	uint64_t bytes = moved_bytes(&r->last, &r->now);

	say_root(c, now_mono_ns, now_wall_ns);
	c->unseen.kernel_bytes += bytes;
	c->unseen.unseen_bytes += bytes;
	c->unseen.by = proc_blind_word(r->blind);
	r->last = r->now;
	r->said_mono_ns = now_mono_ns;
}

static bool
root_is_worth(const struct root *r)
{
	return r->blind != 0 || moved_bytes(&r->first, &r->now) >= WORTH_BYTES;
}

bool
unseen_look(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns, bool final)
{
	struct root *r = &c->root;
	bool alive, due;

	if (c->opts.root_pid == 0 || r->shown)
		return false;
	due = r->known && now_mono_ns - r->said_mono_ns >= PERIOD_NS;
	alive = root_update(c, now_mono_ns, due && !r->said);
	if (r->known && r->now.io_known && root_is_worth(r) && (due || final))
		root_say(c, now_mono_ns, now_wall_ns);
	if (final && (r->said || (r->known && root_is_worth(r))))
		say_root_end(c);
	return alive;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/collect/collect_reader.h"

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "host/nwrun/collect/collect_wire.h"
#include "narrows/err.h"

enum { NOBODY = 65534 };

/*
 * Root becomes nobody. Where nobody does not exist, root is root of a user name space only, with no
 * more rights outside than the name space's maker.
 */
static void
drop_privileges(void)
{
	pid_t parent = getppid();

	if (geteuid() == 0) {
		(void)setgroups(0, NULL);
		if (setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
		    setresuid(NOBODY, NOBODY, NOBODY) != 0)
			_exit(1);
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1); /* the sender has just died */
}

static int
answer_done(struct wire *w, struct collect *c, int alive)
{
	struct wire_done done = { .alive = alive };
	struct collect_unseen u;

	collect_get_unseen(c, &u);
	done.kernel_bytes = u.kernel_bytes;
	done.unseen_bytes = u.unseen_bytes;
	done.hidden = u.hidden;
	if (u.by != NULL)
		snprintf(done.unseen_by, sizeof(done.unseen_by), "%s", u.by);
	return wire_put(w, WIRE_DONE, &done, sizeof(done));
}

static int
serve_look(struct wire *w, struct collect *c, const struct wire_message *m)
{
	struct wire_look look;
	int alive = 0, rc;

	if (m->type != WIRE_LOOK || m->len != sizeof(look))
		return NW_EPROTO;
	memcpy(&look, m->body, sizeof(look));
	collect_set_interval(c, look.interval_ns);
	if (look.final)
		collect_finish(c, look.now_mono_ns, look.now_wall_ns);
	else
		alive = collect_look(c, look.now_mono_ns, look.now_wall_ns);
	if ((rc = answer_done(w, c, alive)) < 0)
		return rc;
	return wire_flush(w, INT64_MAX);
}

void
collect_read(struct region *region, const struct collect_opts *opts, int fd)
{
	struct wire w = { .fd = fd };
	struct collect_sink sink;
	struct wire_message m;
	struct nwshm *shm = region_map(region);
	struct collect *c;

	prctl(PR_SET_NAME, "nwrun-reader");
	/* the kernel's account of connections is that of a name space */
	if (opts->outside && opts->net_ns_fd >= 0)
		(void)setns(opts->net_ns_fd, CLONE_NEWNET);
	signal(SIGTERM, SIG_IGN); /* the sender decides */
	drop_privileges();
	wire_sink_init(&sink, &w);
	if (shm == NULL || (c = collect_new(region, shm, opts, &sink)) == NULL)
		_exit(1);
	while (wire_read(&w, INT64_MAX, &m) == NW_OK && serve_look(&w, c, &m) == NW_OK)
		if (opts->report != NULL)
			fflush(opts->report);
	_exit(0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The net thread's half of a box in a test: a real store in a temporary directory, no ports, no
 * threads but the store's. Peers are socket pairs. */
#ifndef BOXED_H
#define BOXED_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "daemon/gate/admission.h"
#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/conf.h"
#include "daemon/control.h"
#include "daemon/hostlist.h"
#include "daemon/numbers.h"
#include "daemon/origin.h"
#include "daemon/peer.h"
#include "narrows/provoked.h"
#include "daemon/rules.h"
#include "daemon/session.h"
#include "daemon/xsess.h"
#include "narrows/err.h"
#include "narrows/event_line.h"
#include "narrows/log.h"
#include "tests/check.h"
#include "tests/sqlcount.h"

static char boxed_dir[] = "/dev/shm/nw-boxed-XXXXXX", boxed_path[64];
static struct conf boxed_conf;
static struct box box;
static const struct store_opts *boxed_opts; /* of the store, NULL: its defaults */
static int boxed_judged;                    /* sessions that the analysis would have got */

static inline void
boxed_on_last(void *arg)
{
	xsess_write_changed(arg);
}

static inline void
boxed_on_full(void *arg)
{
	peer_pause_all(arg);
}

static inline void
boxed_on_room(void *arg)
{
	peer_resume_all(arg);
}

static inline void
boxed_on_judge(void *arg, int64_t session_id, const char *owner, bool is_over)
{
	(void)arg;
	(void)session_id;
	(void)owner;
	boxed_judged += is_over;
}

/* What the store does not hold: everything of the net thread. */
static inline void
boxed_fill(void)
{
	const struct commit_ops ops = { .last = boxed_on_last,
		.full = boxed_on_full,
		.room = boxed_on_room,
		.judge = boxed_on_judge,
		.arg = &box };

	box.conf = &boxed_conf;
	box.limits = nw_frame_limits_default;
	box.on_series_forget = session_series_forget;
	box.is_series_over = session_series_is_over;
	box.commit = commit_new(&box, &ops);
	box.control = control_new(NULL, &boxed_conf);
	box.numbers = numbers_new(10000);
	box.admission = admission_new(&(struct admission_limits){ boxed_conf.max_connections,
	    boxed_conf.max_handshakes, boxed_conf.max_connections_per_address });
	box.rules = rules_new(box.control, &boxed_conf);
}

/* Opens an empty store. */
static inline void
boxed_store_begin(void)
{
	char why[STORE_WHY_BYTES];

	if (!check_dir(boxed_dir))
		abort();
	snprintf(boxed_path, sizeof(boxed_path), "%s/narrows.db", boxed_dir);
	if (store_open(boxed_path, boxed_opts, &box.store, why) < 0)
		abort();
	store_next_ids(box.store, &box.next);
}

static inline void
boxed_store_end(void)
{
	char command[80];

	store_close(box.store);
	snprintf(command, sizeof(command), "rm -r %s", boxed_dir);
	CHECK_INT(system(command), 0);
	memcpy(boxed_dir + sizeof(boxed_dir) - 7, "XXXXXX", 6);
}

static inline void
boxed_begin(void)
{
	if (boxed_conf.state_dir == NULL) /* unless the test has set limits of its own */
		conf_init(&boxed_conf);
	boxed_store_begin();
	box.base = event_base_new();
	box.decoder = nw_doc_decoder_new(NULL);
	boxed_fill();
}

/* Ends all connections and sessions; `drain` says whether the last batch reaches the store. */
static inline void
boxed_empty(bool drain)
{
	peer_drain_all(&box);
	if (drain) {
		session_close_all(&box);
		commit_drain(box.commit);
	}
	(void)store_sync(box.store); /* batches that went by themselves */
	store_run_completions(box.store);
	rules_free(box.rules);
	control_free(box.control);
	commit_free(box.commit);
	origin_free_all(&box);
	numbers_free(box.numbers);
	admission_free(box.admission);
	fairrate_free(box.log_rate);
	box.log_rate = NULL;
	session_free_all(&box);
	host_free_all(&box);
	box.commit = NULL;
}

static inline void
boxed_end(void)
{
	if (box.commit != NULL)
		boxed_empty(true);
	boxed_store_end();
	nw_doc_decoder_free(box.decoder);
	nw_event_block_free(box.events);
	nw_event_line_free(box.lines);
	event_base_free(box.base);
	conf_clear(&boxed_conf);
}

static inline int
boxed_connect_as(uint32_t address, uint16_t port, bool tls)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)
	};
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) != 0)
		abort();
	peer_accept(&box, fd[0], (struct sockaddr *)&sin, tls ? PEER_XSP_TLS : PEER_XSP);
	return fd[1];
}

/* A connection from an address of the 127 network; returns the test's end of it. */
static inline int
boxed_connect(uint32_t address, uint16_t port)
{
	return boxed_connect_as(address, port, false);
}

/* Lets the net thread take what has arrived. */
static inline void
boxed_run(void)
{
	event_base_loop(box.base, EVLOOP_NONBLOCK);
}

#endif

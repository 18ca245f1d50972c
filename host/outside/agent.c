/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/lib/addresses.h"
#include "host/lib/control_client.h"
#include "host/notice/flow_notice.h"
#include "host/lib/hostname.h"
#include "host/lib/tcpinfo.h"
#include "host/outside/attach.h"
#include "host/outside/box_peer.h"
#include "host/outside/flow_look.h"
#include "host/outside/flow_notices.h"
#include "host/outside/flow_rules.h"
#include "host/outside/look_budget.h"
#include "host/outside/pod.h"
#include "host/outside/targets.h"
#include "host/outside/trace.h"
#include "narrows/clock.h"
#include "narrows/log.h"
#include "narrows/provider.h"

enum { WORKERS_MAX = 64, PROGRAM_BYTES = 48, ADDRESS_BYTES = 64, FINAL_WAIT_S = 30 };
/* LEAVE_MS: from a signal to the end; what workers have not sent by then, they send alone. */
enum { ADDRESSES_BYTES = 1024, ARGUMENTS_BYTES = 320, LEAVE_MS = 800 };
/* Connections of a transfer come and go one after the other. */
#define GRACE_NS INT64_C(500000000)
/* least looks while a slow connection becomes a transfer */
enum { LOOKS_A_TRANSFER = 8 };
/* Notices bring looks nearer, but looks keep a tenth of a processor. */
#define NOTICE_GAP_NS INT64_C(20000000)
enum { NOTICE_GAP_COSTS = 10 };
/* Limit of sessions by notices, which any user of the host can send: a burst, then a rate. */
enum { CLAIMS_AT_ONCE = 32 };
#define CLAIM_EVERY_NS INT64_C(250000000)

struct worker {
	int serial;    /* never given twice */
	pid_t process; /* of the measuring; 0: free */
	uint32_t pid;  /* that is measured */
	uint32_t uid;  /* of the connection */
	struct net_addr peer;
	char task[FLOW_NOTICE_TASK_BYTES]; /* by the process's notice; empty: none */
	unsigned flows;                    /* connections at this look */
	int64_t idle_since_mono_ns;        /* 0: some connection is there */
	bool told;                         /* to end */
};

/* A process with everything ready, waiting for an order. */
struct spare {
	pid_t process; /* 0: none */
	int fd;        /* where the order goes */
};
struct order {
	uint32_t pid;
	struct net_addr peer;
	char task[FLOW_NOTICE_TASK_BYTES];
};

/* As many sessions may begin in the time that one process takes to get ready. */
enum { SPARES = 3 };

struct agent {
	struct spare spares[SPARES];
	const struct flow_conf *conf;
	struct flows *flows;
	struct flows_limits limits;
	struct look_budget budget;
	struct flow_notices *notices; /* NULL: no socket */
	int64_t notice_look_mono_ns;  /* no look for a notice before */
	unsigned claims_left;
	int64_t claims_mono_ns; /* claims_left was as it is */
	int diag_fd, serials;
	struct worker workers[WORKERS_MAX];
	uint64_t sessions, full;
	int64_t now_mono_ns;
	/* reports the agent and its cost to the box; sessions have reports of their own */
	struct nw_provider *provider;
	struct control_client control;
	bool away; /* the log says that nothing is stored */
	char host[HOSTNAME_BYTES];
};

static volatile sig_atomic_t told_to_end;

static void
on_signal(int sig)
{
	(void)sig;
	told_to_end = 1;
}

/* --- workers --- */

static const char *
address_text(const struct net_addr *a, char text[ADDRESS_BYTES])
{
	char ip[ADDRESS_BYTES - 8] = "?";

	inet_ntop(a->family, a->ip, ip, sizeof(ip));
	snprintf(text, ADDRESS_BYTES, "%s/%u", ip, a->port);
	return text;
}

static bool
same_peer(const struct net_addr *a, const struct net_addr *b)
{
	return a->family == b->family && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

static void
worker_tell(struct worker *w)
{
	if (w->process != 0 && !w->told)
		kill(w->process, SIGTERM);
	w->told = true;
}

/* A process that goes on with another task, or leaves one peer for another, goes on in another
 * session: two sessions would both count the process's files. */
static struct worker *
worker_find(struct agent *a, uint32_t pid, const struct flow *flow)
{
	const char *task = flow->claim != NULL ? flow->claim->task : "";
	struct worker *w;

	for (w = a->workers; w < a->workers + WORKERS_MAX; w++) {
		if (w->process == 0 || w->told || w->pid != pid)
			continue;
		if (!same_peer(&w->peer, &flow->last.peer)) {
			if (flow->claim != NULL && w->flows == 0)
				worker_tell(w);
			continue;
		}
		if (task[0] == '\0' || w->task[0] == '\0' || strcmp(w->task, task) == 0)
			return w;
		worker_tell(w);
	}
	return NULL;
}

/* A task belongs to the first user until the end of the first user's session: a notice of another
 * user begins a session without the task. */
static const char *
task_of(const struct agent *a, const struct flow *flow)
{
	const char *task = flow->claim != NULL ? flow->claim->task : "";
	const struct worker *w;

	for (w = a->workers; w < a->workers + WORKERS_MAX; w++)
		if (w->process != 0 && w->uid != flow->last.uid && strcmp(w->task, task) == 0)
			return "";
	return task;
}

static struct worker *
worker_of(struct agent *a, int serial)
{
	struct worker *w;

	for (w = a->workers; w < a->workers + WORKERS_MAX; w++)
		if (w->process != 0 && w->serial == serial)
			return w;
	return NULL;
}

/* Workers on their way out only send the rest. */
static struct worker *
worker_free(struct agent *a)
{
	struct worker *w, *free = NULL;
	uint64_t n = 0;

	for (w = a->workers; w < a->workers + WORKERS_MAX; w++) {
		n += w->process != 0 && !w->told;
		if (w->process == 0 && free == NULL)
			free = w;
	}
	return n < a->conf->sessions_max ? free : NULL;
}

/* The child: measures, and reports as a session of its own. */
static void
worker_main(const struct agent *a, int fd, pid_t parent)
{
	struct attach_ready ready;
	char pod[POD_LABEL_BYTES];
	struct order order;
	struct attach_opts o = { .ready = &ready,
		.only_peer = &order.peer,
		.quiet = true,
		.ready_fd = -1,
		.run = { .box = a->conf->box,
		    .software = "nwflow",
		    .final_wait_ns = FINAL_WAIT_S * INT64_C(1000000000),
		    .collect.host = a->conf->host } };
	const char *why;
	short unused;
	int i;

	signal(SIGINT, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_NAME, "nwflow-session");
	if (getppid() != parent)
		_exit(1);
	close(a->diag_fd);
	flow_notices_leave(a->notices);
	for (i = 0; i < SPARES && a->spares[i].process != 0; i++)
		close(a->spares[i].fd); /* of those before */
	if (nw_provider_fd(a->provider, &unused) >= 0)
		close(nw_provider_fd(a->provider, &unused));
	if ((why = attach_prepare(&ready)) != NULL) {
		log_warnx("session.refused why=\"%s\"", why);
		_exit(1);
	}
	/* a signal ends the wait: the handler of the agent does not restart calls */
	if (told_to_end || read(fd, &order, sizeof(order)) != (ssize_t)sizeof(order)) {
		attach_ready_clear(&ready);
		_exit(0);
	}
	close(fd);
	o.pid = order.pid;
	o.run.collect.task_id = order.task;
	if (pod_label(order.pid, POD_LOGS, pod))
		o.run.collect.label = pod;
	_exit(attach_run(&o));
}

/* The others keep their order: the first has had most time. */
static void
spare_drop(struct agent *a, int i)
{
	memmove(&a->spares[i], &a->spares[i + 1], sizeof(a->spares[0]) * (size_t)(SPARES - 1 - i));
	a->spares[SPARES - 1] = (struct spare){ 0 };
}

/* One process a look: getting ready is work. */
static void
spares_fill(struct agent *a)
{
	pid_t parent = getpid();
	struct spare *spare = a->spares;
	int fds[2];

	while (spare < a->spares + SPARES && spare->process != 0)
		spare++;
	if (spare == a->spares + SPARES || pipe2(fds, O_CLOEXEC) != 0)
		return;
	if ((spare->process = fork()) == 0) {
		close(fds[1]);
		worker_main(a, fds[0], parent);
	}
	close(fds[0]);
	spare->fd = fds[1];
	if (spare->process < 0) {
		log_warn("session.fork");
		close(fds[1]);
		spare->process = 0;
	}
}

/* Gives the oldest spare process an order. 0: no process was ready. */
static pid_t
spare_take(struct agent *a, uint32_t pid, const struct flow_sample *flow, const char *task)
{
	struct order order = { .pid = pid, .peer = flow->peer };
	pid_t process = a->spares[0].process;

	snprintf(order.task, sizeof(order.task), "%s", task);
	if (process == 0)
		return 0;
	if (write(a->spares[0].fd, &order, sizeof(order)) != (ssize_t)sizeof(order))
		process = 0;
	close(a->spares[0].fd);
	spare_drop(a, 0);
	return process;
}

static bool
claim_take(struct agent *a)
{
	int64_t due = (a->now_mono_ns - a->claims_mono_ns) / CLAIM_EVERY_NS;

	if (due > 0) {
		a->claims_left =
		    (unsigned)(due + a->claims_left < CLAIMS_AT_ONCE ? due + a->claims_left
								     : CLAIMS_AT_ONCE);
		a->claims_mono_ns = a->now_mono_ns;
	}
	if (a->claims_left == 0)
		return false;
	a->claims_left--;
	return true;
}

static struct worker *
worker_start(struct agent *a, uint32_t pid, const char *program, const struct flow *flow)
{
	char local[ADDRESS_BYTES], peer[ADDRESS_BYTES];
	const char *task = task_of(a, flow);
	struct worker *w = worker_free(a);
	pid_t process;

	if (w == NULL) {
		a->full++;
		return NULL;
	}
	if ((flow->claim != NULL && !claim_take(a)) ||
	    (process = spare_take(a, pid, &flow->last, task)) == 0)
		return NULL;
	*w = (struct worker){ .serial = a->serials++,
		.process = process,
		.pid = pid,
		.uid = flow->last.uid,
		.peer = flow->last.peer };
	snprintf(w->task, sizeof(w->task), "%s", task);
	a->sessions++;
	log_info("session.begin program=\"%s\" pid=%u local=%s peer=%s%s%s", program, pid,
	    address_text(&flow->last.local, local), address_text(&flow->last.peer, peer),
	    flow->claim != NULL ? " notice=yes" : "",
	    flow->claim != NULL && flow->claim->task[0] != '\0' && task[0] == '\0'
		? " note=\"another user has the task\""
		: "");
	return w;
}

/* A worker without a connection ends after a moment. */
static void
workers_settle(struct agent *a)
{
	struct worker *w;

	for (w = a->workers; w < a->workers + WORKERS_MAX; w++) {
		if (w->process == 0)
			continue;
		if (w->flows > 0)
			w->idle_since_mono_ns = 0;
		else if (w->idle_since_mono_ns == 0)
			w->idle_since_mono_ns = a->now_mono_ns;
		else if (a->now_mono_ns - w->idle_since_mono_ns >= GRACE_NS)
			worker_tell(w);
	}
}

static void
workers_reap(struct agent *a)
{
	struct worker *w;
	int status, i;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (i = 0; i < SPARES; i++)
			if (a->spares[i].process == pid) {
				close(a->spares[i].fd);
				spare_drop(a, i); /* refused: the next look tries again */
				break;
			}
		for (w = a->workers; w < a->workers + WORKERS_MAX; w++)
			if (w->process == pid) {
				log_info("session.end pid=%u status=%d", w->pid,
				    WIFEXITED(status) ? WEXITSTATUS(status) : -1);
				memset(w, 0, sizeof(*w));
			}
	}
	spares_fill(a);
}

/* --- connections --- */

/* Whether the rules let the agent watch the process. */
static bool
is_wanted(const struct agent *a, const struct flow *flow, uint32_t pid, const char *program)
{
	const struct flow_facts facts = { .program = program,
		.uid = flow->last.uid,
		.local = flow->last.local,
		.peer = flow->last.peer };

	return !targets_is_below(pid, (uint32_t)getpid()) && !targets_is_measured(pid) &&
	    flow_rules_admit(a->conf->allow, a->conf->deny, &facts);
}

/* The process behind a connection, by a notice or by the kernel's tables. 0: unknown, as before the
 * accept of a connection. */
static uint32_t
process_of(const struct flow *flow, char program[PROGRAM_BYTES])
{
	char arguments[ARGUMENTS_BYTES];
	uint32_t pid;

	if (flow->claim == NULL)
		return flow->last.inode != 0 ? flow_owner(flow->last.inode, program, PROGRAM_BYTES)
					     : 0;
	pid = flow->claim->pid;
	return targets_describe(pid, program, PROGRAM_BYTES, arguments, sizeof(arguments)) ? pid
											   : 0;
}

static void
flow_begin(struct agent *a, struct flow *flow)
{
	char program[PROGRAM_BYTES] = "";
	struct worker *w = NULL;
	uint32_t pid;

	if ((!a->conf->loopback && net_addr_is_loopback(&flow->last.peer)) ||
	    box_peer_is(&flow->last.peer) || box_peer_is(&flow->last.local)) {
		flows_refuse(flow);
		return;
	}
	pid = process_of(flow, program);
	if (pid != 0 && !is_wanted(a, flow, pid, program)) {
		flows_refuse(flow);
		return;
	}
	if (pid != 0 && (w = worker_find(a, pid, flow)) == NULL)
		w = worker_start(a, pid, program, flow);
	if (w == NULL)
		flows_put_off(a->flows, flow);
	else
		flows_take(flow, w->serial);
}

static void
on_taken(void *arg, struct flow *flow)
{
	struct agent *a = arg;
	struct worker *w;

	if (flow->state != FLOW_TAKEN)
		return;
	if ((w = worker_of(a, flow->worker)) == NULL)
		flows_put_off(a->flows, flow); /* the process ended, or could not be measured */
	else
		w->flows++;
}

static void
on_due(void *arg, struct flow *flow)
{
	if (flow->state != FLOW_DUE)
		return;
	flow_begin(arg, flow);
	on_taken(arg, flow);
}

static int64_t
thread_cpu_ns(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void
look(struct agent *a)
{
	uint64_t host_bytes = flow_host_bytes();
	int64_t began_ns = thread_cpu_ns();
	int64_t cost_ns;
	bool all;
	int i;

	a->now_mono_ns = nw_mono_ns();
	workers_reap(a);
	for (i = 0; i < WORKERS_MAX; i++)
		a->workers[i].flows = 0;
	all = look_budget_is_due(&a->budget, a->now_mono_ns, host_bytes) ||
	    (a->notices != NULL && flow_notices_wait(a->notices));
	if (!flow_look(a->diag_fd, a->flows, a->now_mono_ns, all))
		log_debug("look.fail");
	else if (all && a->notices != NULL)
		flow_notices_match(a->notices, a->flows);
	flows_each(a->flows, on_taken, a);
	flows_each(a->flows, on_due, a);
	if (all) {
		cost_ns = thread_cpu_ns() - began_ns;
		look_budget_spend(&a->budget, a->now_mono_ns, host_bytes, cost_ns);
		a->notice_look_mono_ns = a->now_mono_ns +
		    (cost_ns * NOTICE_GAP_COSTS > NOTICE_GAP_NS ? cost_ns * NOTICE_GAP_COSTS
								: NOTICE_GAP_NS);
	}
	workers_settle(a);
}

/* Until the next look, which a notice brings nearer. */
static void
rest(struct agent *a)
{
	struct pollfd p = { .fd = -1, .events = POLLIN };
	int64_t due_mono_ns = a->now_mono_ns + a->conf->look_ns, now_mono_ns;

	if (a->notices != NULL)
		p.fd = flow_notices_fd(a->notices);
	while (!told_to_end && (now_mono_ns = nw_mono_ns()) < due_mono_ns) {
		p.revents = 0;
		(void)poll(&p, 1, (int)((due_mono_ns - now_mono_ns + 999999) / 1000000));
		if ((p.revents & POLLIN) != 0 && !flow_notices_read(a->notices))
			p.fd = -1; /* enough until the look */
		if (a->notices != NULL && flow_notices_wait(a->notices) &&
		    a->notice_look_mono_ns < due_mono_ns)
			due_mono_ns = a->notice_look_mono_ns;
	}
}

/* --- the box --- */

static int
box_open(struct agent *a)
{
	char addresses[ADDRESSES_BYTES];
	struct nw_provider_opts opts = { .box = a->conf->box,
		.software = "nwflow-agent",
		.host = hostname_get(a->conf->host, a->host),
		.addresses = addresses,
		.can = "status",
		.on_order = control_client_order,
		.on_order_arg = &a->control };
	int rc;

	addresses_list(addresses, sizeof(addresses));
	control_client_init(&a->control, opts.can);
	rc = nw_provider_new(&opts, &a->provider);
	a->control.provider = a->provider;
	return rc;
}

/* Says when the sessions begin to be lost, and when they are stored again. */
static void
box_watch(struct agent *a)
{
	struct nw_provider_stats st;
	bool away;

	nw_provider_get_stats(a->provider, &st);
	away = !st.connected && (a->away || st.connect_failures > 0);
	if (away == a->away)
		return;
	a->away = away;
	if (!away)
		log_info("agent.stores");
	else if (st.spooled)
		log_warnx("agent.away why=\"%s\" note=\"sessions wait in the spool directory\"",
		    nw_provider_why(a->provider));
	else
		log_warnx("agent.away why=\"%s\" note=\"nothing is stored until the box answers\"",
		    nw_provider_why(a->provider));
}

static void
box_tell(struct agent *a)
{
	struct flow_notices_stats heard = { 0 };
	unsigned watched = 0;
	struct worker *w;
	char words[160];
	int n;

	for (w = a->workers; w < a->workers + WORKERS_MAX; w++)
		watched += w->process != 0 && !w->told;
	n = snprintf(words, sizeof(words), "flows watched=%u", watched);
	if (a->notices != NULL)
		flow_notices_get_stats(a->notices, &heard);
	if (heard.taken + heard.missed + heard.foreign + heard.malformed > 0)
		snprintf(words + n, sizeof(words) - (size_t)n,
		    " notices=%llu missed=%llu foreign=%llu malformed=%llu",
		    (unsigned long long)heard.taken, (unsigned long long)heard.missed,
		    (unsigned long long)heard.foreign, (unsigned long long)heard.malformed);
	(void)control_client_step(&a->control, a->now_mono_ns);
	nw_provider_run(a->provider, 0);
	box_watch(a);
	control_client_status(
	    &a->control, a->now_mono_ns, words, a->conf->look_ns, a->conf->look_ns);
}

/* --- life --- */

static void
workers_end(struct agent *a)
{
	struct worker *w;
	int pause_ms, i;

	for (w = a->workers; w < a->workers + WORKERS_MAX; w++)
		worker_tell(w);
	for (i = 0; i < SPARES && a->spares[i].process != 0; i++)
		close(a->spares[i].fd);
	for (pause_ms = 0; pause_ms < LEAVE_MS && waitpid(-1, NULL, WNOHANG) >= 0; pause_ms += 10)
		poll(NULL, 0, 10);
}

/* Says at once what would keep every session from being measured. */
static bool
can_watch(void)
{
	char why[TRACE_WHY_BYTES];
	bool can = false;
	struct trace *t;

	if (trace_open(&t, why) == 0) {
		can = trace_begin(t, why) == 0;
		trace_close(t);
	}
	if (can)
		return true;
	log_warnx("agent.refused why=\"%s\"", why);
	return false;
}

int
agent_run(const struct flow_conf *conf)
{
	static struct agent a;
	struct sigaction end = { .sa_handler = on_signal };

	a.conf = conf;
	a.limits = (struct flows_limits){ .bytes = conf->bytes,
		.after_ns = conf->after_ns,
		.rate_bytes_per_s = conf->rate_bytes_per_s,
		.quiet_ns = conf->quiet_ns };
	a.budget = (struct look_budget){ .share = conf->budget,
		.bytes_per_s = conf->rate_bytes_per_s,
		.bytes = conf->bytes / LOOKS_A_TRANSFER };
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!can_watch())
		return 1;
	if ((a.diag_fd = tcpinfo_open()) < 0) {
		log_warn("agent.netlink");
		return 1;
	}
	if (conf->tls_dir != NULL)
		setenv("NARROWS_TLS", conf->tls_dir, 1);
	if (box_open(&a) < 0) {
		log_warnx("agent.box why=\"no address of a box, or no memory\"");
		return 1;
	}
	a.flows = flows_new(&a.limits);
	if (strcmp(conf->notices, "none") != 0)
		a.notices = flow_notices_open(conf->notices);
	log_info("agent.start look_ms=%lld bytes=%llu", (long long)(conf->look_ns / 1000000),
	    (unsigned long long)conf->bytes);
	while (!told_to_end) {
		look(&a);
		box_tell(&a);
		rest(&a);
	}
	flow_notices_close(a.notices);
	workers_end(&a);
	log_info("agent.end sessions=%llu full=%llu%s", (unsigned long long)a.sessions,
	    (unsigned long long)a.full,
	    a.away                ? " note=\"the box is away\""
		: a.sessions == 0 ? " note=\"no transfer was seen\""
				  : "");
	nw_provider_close(a.provider, 0);
	control_client_clear(&a.control);
	flows_free(a.flows);
	close(a.diag_fd);
	return 0;
}

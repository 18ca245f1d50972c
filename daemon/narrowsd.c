/* SPDX-License-Identifier: BSD-3-Clause */
/* narrowsd, the box: opens the store, listens for XSP, serves the report, analyses sessions. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <bson/bson.h>
#include <event2/event.h>

#include "daemon/gate/admission.h"
#include "daemon/gate/hearsay.h"
#include "daemon/gate/traces.h"
#include "daemon/announced.h"
#include "daemon/asked.h"
#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/conf.h"
#include "daemon/control.h"
#include "daemon/ctl.h"
#include "daemon/diets.h"
#include "daemon/ends.h"
#include "daemon/enroll.h"
#include "daemon/eventput.h"
#include "daemon/hostlist.h"
#include "daemon/https.h"
#include "daemon/keepjob.h"
#include "daemon/rights/identity.h"
#include "daemon/rights/jail.h"
#include "daemon/listener.h"
#include "narrows/log.h"
#include "narrows/maintenance.h"
#include "daemon/gate/notify.h"
#include "daemon/numbers.h"
#include "daemon/origin.h"
#include "daemon/peer.h"
#include "narrows/provoked.h"
#include "daemon/rules.h"
#include "daemon/analysis/schedule.h"
#include "daemon/session.h"
#include "daemon/testseries.h"
#include "narrows/task.h"
#include "daemon/tlsctx.h"
#include "daemon/webaccess.h"
#include "daemon/xsess.h"
#include "narrows/announce.h"
#include "narrows/siteconf.h"
#include "narrows/speakers.h"
#include "narrows/terminal.h"
#include "narrows/tls.h"
#include "narrows/xmalloc.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/event_line.h"
#include "narrows/ownfile.h"
#include "narrows/web.h"

enum {
	RESTORE_SESSIONS = 10000,
	READ_TRIES = 4, /* at startup, after an input/output error */
	READ_PAUSE_US = 200000,
	PROVIDERS_MAX = 100000 /* absent providers with remembered numbers */
};

struct options {
	const char *conf_path;
	bool check_only, foreground, conf_given;
};

/* Parts of the daemon in the order of opening; they close in reverse order. */
struct daemon {
	struct box box;
	struct conf conf;
	char *store_path, *run_path, *web_names;
	struct event *on_term, *on_int, *tick;
	struct listeners *listeners, *listeners_tls, *listeners_lines, *listeners_lines_tls;
	struct nw_scitags *scitags; /* names in announcements */
	struct traces *traces;      /* NULL: the box takes none */
	struct keepjob *keepjob;
	struct diets *diets;
	struct testseries *tests;
	struct ctl *ctl;
	struct web *web;
	struct webaccess *access;
	struct web_access web_access;
	int64_t started_wall_ns;
	uint64_t ticks, logged_rows[2]; /* of expiry_log() */
};

static void
usage(FILE *f)
{
	fputs(
	    "usage: narrowsd [-dhnV] [-f FILE] [-o NAME=VALUE] ...\n"
	    "  -f FILE        configuration (default /etc/narrows/narrowsd.conf, if it is there)\n"
	    "  -o NAME=VALUE  override a directive\n"
	    "  -n             check the configuration and stop\n"
	    "  -d             stay in the foreground, log to stderr\n"
	    "  -V             version\n",
	    f);
}

static void
options_parse(int argc, char **argv, struct options *o, struct conf *c)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 } };
	char why[CONF_WHY_BYTES];
	char **overrides = xcalloc((size_t)argc, sizeof(*overrides));
	size_t n = 0, i;
	int ch;

	o->conf_path = "/etc/narrows/narrowsd.conf";
	while ((ch = getopt_long(argc, argv, "df:hno:V", longs, NULL)) != -1) {
		switch (ch) {
		case 'd': o->foreground = true; break;
		case 'f':
			o->conf_path = optarg;
			o->conf_given = true;
			break;
		case 'n': o->check_only = true; break;
		case 'o': overrides[n++] = optarg; break;
		case 'V': puts("narrowsd " NW_VERSION); exit(0);
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind < argc) {
		usage(stderr);
		exit(2);
	}
	conf_init(c);
	/* The command line comes last and wins. */
	if ((o->conf_given || access(o->conf_path, F_OK) == 0) &&
	    conf_read(c, o->conf_path, why) < 0)
		goto bad;
	for (i = 0; i < n; i++)
		if (conf_override(c, overrides[i], why) < 0)
			goto bad;
	if (conf_check(c, why) < 0)
		goto bad;
	free(overrides);
	return;
bad:
	fprintf(stderr, "narrowsd: %s\n", why);
	exit(1);
}

/* The store locks its file: a second box on the same directory does not come up. */
static void
state_dir_make(struct daemon *d)
{
	char *absolute;

	if (mkdir(d->conf.state_dir, 0750) != 0 && errno != EEXIST)
		fatal("state-dir %s", d->conf.state_dir);
	absolute = realpath(d->conf.state_dir, NULL); /* the box changes to another directory */
	if (absolute == NULL)
		fatal("state-dir %s", d->conf.state_dir);
	free(d->conf.state_dir);
	d->conf.state_dir = absolute;
	d->store_path = xasprintf("%s/narrows.db", d->conf.state_dir);
	d->run_path = xasprintf("%s/narrowsd.run", d->conf.state_dir);
}

/* --- privileges --- */

/* The directory of keys if it lies outside the state directory and a port speaks TLS, else NULL. */
static char *
tls_dir_outside(const struct conf *c)
{
	char *dir;

	if (c->tls_dir[0] != '/' ||
	    (conf_is_none(c->listen_xsp_tls) && conf_is_none(c->listen_https) &&
		conf_is_none(c->listen_events_tls)))
		return NULL;
	dir = siteconf_tls_dir(c->state_dir, c->tls_dir);
	if (mkdir(dir, 0750) != 0 && errno != EEXIST)
		fatal("tls-dir %s", dir);
	return dir;
}

/* Without root the user stays, and a configured user must be the same. */
static void
identity_enter(const struct conf *c, const char *tls_dir, struct identity *id)
{
	char why[CONF_WHY_BYTES];

	*id = (struct identity){ .name = "own", .uid = geteuid() };
	if (id->uid != 0) {
		if (strcmp(c->user, "auto") != 0)
			id->note = "user is for a box that root starts";
		return;
	}
	if (identity_choose(c->user, c->state_dir, tls_dir, id, why) < 0 ||
	    identity_take(id, why) < 0)
		fatalx("daemon.user why=\"%s\"", why);
}

/* Before any thread starts and before any peer is heard. */
static void
privileges_drop(const struct conf *c)
{
	char *tls_dir = tls_dir_outside(c);
	struct identity id;
	struct jail jail;
	struct jail_opts o = { .state_dir = c->state_dir,
		.tls_dir = tls_dir,
		.conf_path = c->path,
		.low_port = conf_has_low_port(c) };

	webaccess_first(c);
	identity_enter(c, tls_dir, &id);
	o.foreign_dir = id.is_foreign;
	/* for large sorts SQLite needs files, in a directory of the environment */
	if (setenv("SQLITE_TMPDIR", c->state_dir, 1) != 0)
		fatal("setenv");
	if (jail_enter(&o, &jail) < 0)
		fatal("daemon.shut-in");
	log_info("daemon.shut-in user=%s uid=%lu capabilities=%s landlock=%s seccomp=%s%s%s%s",
	    id.name, (unsigned long)geteuid(), jail.capabilities, jail.landlock ? "yes" : "no",
	    jail.seccomp ? "yes" : "no", id.note != NULL ? " note=\"" : "",
	    id.note != NULL ? id.note : "", id.note != NULL ? "\"" : "");
	free(tls_dir);
}

/* Where the box can be reached, for the narrows command and for scripts. */
static void
run_file_write(struct daemon *d)
{
	char *tmp = xasprintf("%s.tmp", d->run_path);
	FILE *f = ownfile_stream(tmp, 0666);

	if (f == NULL ||
	    fprintf(f,
		"pid %ld\nxsp %s\nxsp-tls %s\nhttp %s\nhttps %s\nevents %s\nevents-tls %s\n"
		"announcements %s\n",
		(long)getpid(), listeners_addresses(d->listeners),
		listeners_addresses(d->listeners_tls), web_address(d->web),
		web_address_https(d->web), listeners_addresses(d->listeners_lines),
		listeners_addresses(d->listeners_lines_tls),
		announce_addresses(d->box.announce)) < 0 ||
	    fclose(f) != 0 || rename(tmp, d->run_path) != 0)
		fatal("%s", d->run_path);
	free(tmp);
}

/* The grants as they are now; any thread. */
static char *
on_speakers(void *arg)
{
	const struct conf *c = arg;
	char *dir = siteconf_tls_dir(c->state_dir, c->tls_dir),
	     *list = speakers_read(dir, c->speaks_for);

	free(dir);
	return list;
}

/* --- health: called from the web thread --- */

static void
health_fill(void *arg, struct nw_health *h)
{
	struct daemon *d = arg;
	struct store_backup_note backup;
	struct schedule_stats s;
	struct statvfs vfs;
	char *grants;

	memset(h, 0, sizeof(*h));
	snprintf(h->version, sizeof(h->version), "%s", NW_VERSION);
	h->started_wall_ns = d->started_wall_ns;
	h->now_wall_ns = nw_wall_ns();
	store_get_stats(d->box.store, &h->store);
	schedule_get_stats(d->box.schedule, &s);
#define X(name, section, kind, words) h->counts.name = counter_get(&d->box.counters.name);
	NW_COUNTERS(X)
#undef X
	h->counts.log_lines_lost = log_lost();
	h->counts.analysis_queued = s.queued;
	h->counts.analysis_runs = s.runs;
	h->counts.analysis_failures = s.failures;
	h->last_analysis_wall_ns = s.last_wall_ns;
	h->last_analysis_took_ns = s.last_took_ns;
	h->analysis_busy_ns = s.busy_ns;
	h->analysis_busy_session_id = s.busy_session_id;
	h->clock_known = s.clock_known;
	h->clock_lost_ns = s.clock_lost_ns;
	h->clock_synchronised = s.clock_synchronised;
	h->clock_offset_s = s.clock_offset_s;
	h->clock_bound_s = s.clock_bound_s;
	if (statvfs(d->conf.state_dir, &vfs) == 0)
		h->disk_free_bytes = (int64_t)vfs.f_bavail * (int64_t)vfs.f_frsize;
	if (store_backup_last(d->store_path, &backup) == NW_OK) {
		h->backup_wall_ns = backup.t_wall_ns;
		h->backup_bytes = backup.bytes;
		memcpy(h->backup_path, backup.path, sizeof(h->backup_path));
	}
	grants = on_speakers(&d->conf);
	snprintf(h->speaks_for, sizeof(h->speaks_for), "%s", grants);
	free(grants);
	snprintf(h->listen_xsp, sizeof(h->listen_xsp), "%.63s", listeners_addresses(d->listeners));
	snprintf(h->listen_xsp_tls, sizeof(h->listen_xsp_tls), "%.63s",
	    listeners_addresses(d->listeners_tls));
	h->ok = h->store.trouble[0] == '\0';
	if (!h->ok)
		snprintf(h->problem, sizeof(h->problem), "store: %.200s", h->store.trouble);
}

/* --- startup: memory from the store --- */

struct restore {
	struct store_reader *reader;
	struct session *session;
	int rc;
};

static int
on_restored_host(void *arg, const struct nw_host_rec *h)
{
	host_restore(arg, h->id, h->name, h->first_seen_wall_ns);
	return 0;
}

static int
on_restored_provider(void *arg, const char *owner, const char *provider, uint64_t stored_seq)
{
	origin_restore(arg, owner, provider, stored_seq);
	return 0;
}

static int
on_restored_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct box *box = arg;
	char *label;

	(void)res;
	/* an older box stored secrets without a mask */
	label = s->task_id != NULL && task_is_secret(s->task_id) ? task_label(s->task_id)
								 : xstrdup(s->task_id);
	session_restore(box, s->id, label, s->program, s->opened_wall_ns, s->closed_wall_ns,
	    s->last_data_wall_ns);
	free(label);
	counter_add(&box->counters.sessions_total, 1);
	return 0;
}

/* Senders of a session. */
static int
on_restored_xsp(void *arg, const struct nw_xsp_rec *xsp)
{
	struct restore *restore = arg;
	char *address = xstrdup(xsp->peer), *port = address != NULL ? strrchr(address, '/') : NULL;
	const struct session_guest guest = {
		.owner = xsp->owner, .address = address, .certified = xsp->addresses
	};

	if (port != NULL)
		*port = '\0';
	if (xsp->owner != NULL)
		session_take_part(restore->session, &guest);
	free(address);
	return 0;
}

static void
on_restore_senders(struct session *s, void *arg)
{
	struct restore *restore = arg;

	restore->session = s;
	if (restore->rc >= 0)
		restore->rc =
		    store_xsp_of_session(restore->reader, s->id, on_restored_xsp, restore);
}

static int
memory_read(struct daemon *d, struct store_reader *r)
{
	struct restore restore = { .reader = r };
	int rc;

	if ((rc = store_hosts(r, on_restored_host, &d->box)) < 0 ||
	    (rc = store_providers(r, on_restored_provider, &d->box)) < 0 ||
	    (rc = store_sessions(r, 0, RESTORE_SESSIONS, on_restored_session, &d->box)) < 0)
		return rc;
	session_restored(&d->box);
	session_each(&d->box, on_restore_senders, &restore);
	return restore.rc;
}

/*
 * A read that fails once does not keep the box from starting: waits and returns, so that the caller
 * tries again. SQLite tells an input/output error as a damaged file, too.
 */
static void
read_again(int rc, int *tries, const char *event, const char *why)
{
	if ((rc != NW_EIO && rc != NW_ECORRUPT) || ++*tries > READ_TRIES)
		fatalx("%s why=\"%s\"", event, why);
	log_warnx("%s why=\"%s\" note=\"the box tries again\"", event, why);
	usleep(READ_PAUSE_US);
}

static void
memory_restore(struct daemon *d)
{
	char why[STORE_WHY_BYTES];
	struct store_reader *r;
	int rc, tries = 0;

	while ((rc = store_reader_open(d->store_path, &r, why)) < 0)
		read_again(rc, &tries, "store.read", why);
	while ((rc = memory_read(d, r)) < 0) {
		read_again(rc, &tries, "store.read", nw_strerror(rc));
		session_free_all(&d->box);
		host_free_all(&d->box);
	}
	while ((rc = diets_load(d->diets, r, nw_wall_ns())) < 0)
		read_again(rc, &tries, "store.read", nw_strerror(rc));
	store_reader_close(r);
}

/* --- the loop --- */

static void
on_stop(evutil_socket_t sig, short what, void *arg)
{
	struct daemon *d = arg;

	(void)what;
	log_info("daemon.stop signal=%d", (int)sig);
	event_base_loopbreak(d->box.base);
}

/* Logs rows that the store rolled up or deleted, at most once a minute. */
static void
expiry_log(struct daemon *d)
{
	struct store_stats s;
	uint64_t *was = d->logged_rows, rolled, deleted;

	if (++d->ticks % 60 != 0)
		return;
	store_get_stats(d->box.store, &s);
	rolled = s.rolled_rows[STORE_ROWS] + s.rolled_rows[STORE_10S] + s.rolled_rows[STORE_1MIN];
	deleted = s.expired_rows[STORE_1H];
	if (rolled != was[0] || deleted != was[1])
		log_info("store.expire rolled_rows=%" PRIu64 " deleted_buckets=%" PRIu64
			 " bytes=%" PRIu64,
		    rolled - was[0], deleted - was[1], s.file_bytes);
	was[0] = rolled;
	was[1] = deleted;
}

/* Tells the log and the providers when the store begins or ends to fail. */
static void
store_error_tell(struct daemon *d)
{
	struct store_stats s;

	store_get_stats(d->box.store, &s);
	if (strcmp(s.trouble, d->box.store_error) == 0)
		return;
	if (s.trouble[0] != '\0')
		log_warnx("store.trouble why=\"%s\"", s.trouble);
	else
		log_info("store.recover");
	memcpy(d->box.store_error, s.trouble, sizeof(d->box.store_error));
	peer_tell_store_error(&d->box);
}

static void
on_outcome(void *arg, const struct session_outcome *o)
{
	struct daemon *d = arg;

	rules_judged(d->box.rules, o, nw_mono_ns());
	asked_judged(&d->box, o);
}

/* Providers wait for a verdict. */
static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;

	(void)fd;
	(void)what;
	schedule_outcomes(d->box.schedule, on_outcome, d);
	if (d->box.asking == NULL)
		event_del(d->box.look);
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;
	int64_t now = nw_mono_ns();

	(void)fd;
	(void)what;
	store_error_tell(d);
	session_tick(&d->box, now);
	expiry_log(d);
	(void)origin_expire(&d->box, now);
	schedule_outcomes(d->box.schedule, on_outcome, d);
	schedule_tests(d->box.schedule, testseries_put, d->tests);
	control_tick(d->box.control, now);
	diets_tick(d->diets, d->box.control, now);
	announce_tick(d->box.announce);
	peer_tick(&d->box);
}

static void
events_start(struct daemon *d)
{
	struct timeval second = { 1, 0 };

	d->on_term = evsignal_new(d->box.base, SIGTERM, on_stop, d);
	d->on_int = evsignal_new(d->box.base, SIGINT, on_stop, d);
	d->tick = event_new(d->box.base, -1, EV_PERSIST, on_tick, d);
	d->box.look = event_new(d->box.base, -1, EV_PERSIST, on_look, d);
	if (d->on_term == NULL || d->on_int == NULL || d->tick == NULL || d->box.look == NULL ||
	    event_add(d->on_term, NULL) != 0 || event_add(d->on_int, NULL) != 0 ||
	    event_add(d->tick, &second) != 0)
		fatalx("events: libevent refuses");
}

/* Each connection takes a descriptor; the web and the store need descriptors, too. */
static void
descriptors_raise(const struct conf *c)
{
	struct rlimit rl;
	rlim_t want = (rlim_t)c->max_connections + (rlim_t)c->max_handshakes +
	    2 * (rlim_t)c->http_max_connections + 256;

	if (getrlimit(RLIMIT_NOFILE, &rl) != 0 || rl.rlim_cur >= want)
		return;
	rl.rlim_cur = want;
	if (rl.rlim_max < want)
		rl.rlim_max = want; /* root may */
	if (setrlimit(RLIMIT_NOFILE, &rl) == 0)
		return;
	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	log_warnx(
	    "daemon.descriptors have=%llu want=%llu note=\"max-connections cannot all be had\"",
	    (unsigned long long)rl.rlim_cur, (unsigned long long)want);
}

/* A box without control socket still measures. */
static void
ctl_open(struct daemon *d)
{
	char *path = xasprintf("%s/narrowsd.ctl", d->conf.state_dir), why[CONF_WHY_BYTES];

	if (ctl_start(d->box.base, d->box.control, path, &d->ctl, why) < 0)
		log_warnx("ctl.start why=\"%s\"", why);
	free(path);
}

/* Certificates come before the ports with TLS open. */
static void
tls_start(struct daemon *d, struct web_opts *wo)
{
	char why[CONF_WHY_BYTES];

	event_speakers_read(&d->box);
	if (conf_is_none(d->conf.listen_xsp_tls) && conf_is_none(d->conf.listen_https) &&
	    conf_is_none(d->conf.listen_events_tls))
		return;
	if (tlsctx_open(&d->conf, &d->box.tlsctx, why) < 0)
		fatalx("tls.start why=\"%s\"", why);
	if (conf_is_none(d->conf.listen_https))
		return;
	wo->listen_https = d->conf.listen_https;
	wo->wrap = https_wrap;
	wo->wrap_arg = &d->box;
	wo->enroll = enroll_answer;
	wo->enroll_arg = &d->box;
}

/* Names of the report besides those in web/http/host_check.h: the configured names and the
 * certificate's. */
static char *
web_names_join(const struct conf *c)
{
	return xasprintf("%s %s", conf_is_none(c->http_names) ? "" : c->http_names,
	    conf_is_none(c->tls_names) ? "" : c->tls_names);
}

/* Without a configured ceiling, the ceiling is the store's size plus nine tenths of the space free
 * now. The ceiling stays: files of other programs that come later cost no measurements. */
static uint64_t
store_ceiling(const struct daemon *d)
{
	struct statvfs vfs;
	struct stat sb;
	uint64_t has = stat(d->store_path, &sb) == 0 ? (uint64_t)sb.st_size : 0, ceiling;

	if (d->conf.max_store_bytes != 0)
		return d->conf.max_store_bytes;
	if (statvfs(d->conf.state_dir, &vfs) != 0)
		return 0;
	ceiling = has + (uint64_t)vfs.f_bavail * vfs.f_frsize / 10 * 9;
	return ceiling < (uint64_t)STORE_MAX_BYTES_MIN ? (uint64_t)STORE_MAX_BYTES_MIN : ceiling;
}

/* --- calls between the parts of the net thread --- */

static void
on_store_full(void *arg)
{
	peer_pause_all(arg);
}

static void
on_store_room(void *arg)
{
	peer_resume_all(arg);
}

static void
on_judge(void *arg, int64_t session_id, const char *owner, bool is_over)
{
	struct box *box = arg;

	/* the last commit may follow the end of the schedule: the next start finds such sessions */
	if (box->schedule != NULL)
		schedule_push(box->schedule, session_id, owner, is_over);
}

static void
on_batch_last(void *arg)
{
	xsess_write_changed(arg);
}

static struct commit *
commit_open(struct box *box)
{
	const struct commit_ops ops = { .last = on_batch_last,
		.full = on_store_full,
		.room = on_store_room,
		.judge = on_judge,
		.arg = box };

	return commit_new(box, &ops);
}

static struct analysis_params
analysis_params(struct conf *c)
{
	return (struct analysis_params){
		.speakers = { .list = on_speakers, .may = speakers_may, .arg = c },
		.judge = { .alpha = c->alpha, .margin = c->margin },
		.segments = { .alpha = c->alpha,
		    .margin = c->margin,
		    .windows_min = c->segment_min_windows },
		.classes = { .adjust = c->density_bandwidth,
		    .peak_min = c->density_peak_min,
		    .cutoff = c->density_cutoff },
		.reduction = { .window_ns = c->reduction_window_ns,
		    .rows_min = c->reduction_min_rows,
		    .operation_time = strcmp(c->reduction_response, "operation-time") == 0,
		    .series =
			strchr(c->reduction_response, ' ') != NULL ? c->reduction_response : NULL,
		    .history_ns = c->reduction_history_ns,
		    .faithful = c->reduction_faithful },
	};
}

/* Batches have a quarter of the memory at most. */
static uint32_t
queue_max_bytes(const struct conf *c)
{
	uint64_t most = c->max_memory_bytes / 4;

	if (c->max_queue_bytes < most)
		most = c->max_queue_bytes;
	return most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
}

static struct admission *
admission_make(const struct conf *c)
{
	const struct admission_limits limits = { .opened = c->max_connections,
		.unopened = c->max_handshakes,
		.per_address = c->max_connections_per_address };

	return admission_new(&limits);
}

/* A large store takes minutes: the log has a line before, too. */
static void
upgrade_log(const struct store_upgrade *u)
{
	if (u->took_ns == 0)
		log_info("store.upgrade.start from=%d to=%d backup=%s", u->from, u->to, u->backup);
	else
		log_info("store.upgrade from=%d to=%d seconds=%.1f backup=%s", u->from, u->to,
		    (double)u->took_ns / 1e9, u->backup);
}

static void
store_open_patiently(struct daemon *d, const struct store_opts *so)
{
	char why[STORE_WHY_BYTES];
	struct store_stats s;
	int rc, tries = 0;

	while ((rc = store_open(d->store_path, so, &d->box.store, why)) < 0)
		read_again(rc, &tries, "store.open", why);
	store_get_stats(d->box.store, &s);
	if (s.lost_commits > 0)
		log_warnx("store.lost commits=%" PRIu64
			  " why=\"acknowledged, and not in the store: "
			  "the write-ahead log was lost or damaged\"",
		    s.lost_commits);
}

static void
schedule_start_patiently(struct daemon *d)
{
	struct analysis_params ap = analysis_params(&d->conf);
	char why[STORE_WHY_BYTES];
	int rc, tries = 0;

	while ((rc = schedule_start(d->box.store, d->store_path, &ap, d->box.next.run,
		    d->conf.session_linger_ns, &d->box.schedule, why)) < 0)
		read_again(rc, &tries, "analysis.start", why);
}

static bool
on_undecided(void *arg, int64_t session_id)
{
	return schedule_is_undecided(arg, session_id);
}

static void *
bson_realloc_or_spend(void *p, size_t bytes)
{
	return xreallocarray(p, bytes, 1);
}

/* libbson aborts when memory runs out; with these functions, it takes from the reserve first. */
static void
bson_memory_set(void)
{
	static const bson_mem_vtable_t memory = {
		.malloc = xmalloc, .calloc = xcalloc, .realloc = bson_realloc_or_spend, .free = free
	};

	bson_mem_set_vtable(&memory);
}

static void
keepjob_start_patiently(struct daemon *d)
{
	struct reduction_params p = analysis_params(&d->conf).reduction;
	const struct keepjob_opts opts = { &p, d->conf.reduction_every_ns, d->conf.diet_after_ns,
		d->conf.diet_interval_ns, d->diets };
	char why[STORE_WHY_BYTES];
	int rc, tries = 0;

	while ((rc = keepjob_start(d->box.store, d->store_path, &opts, &d->keepjob, why)) < 0)
		read_again(rc, &tries, "keep.start", why);
}

/* If no address for lines is configured and another program has the port, the box does without
 * lines. */
static void
listen_lines(struct daemon *d)
{
	char why[CONF_WHY_BYTES];
	int rc = listeners_start(
	    &d->box, "listen-events", PEER_LINES, d->conf.listen_events, &d->listeners_lines, why);

	if (rc == NW_OK)
		return;
	if (!conf_lines_unasked(&d->conf))
		fatalx("%s", why);
	log_info("daemon.lines why=\"%s\"", why);
	if (listeners_start(
		&d->box, "listen-events", PEER_LINES, "none", &d->listeners_lines, why) < 0)
		fatalx("%s", why);
}

/* By its coarse clock, of some milliseconds, libevent would wake up several times for a timer. */
static struct event_base *
base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config != NULL && event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) == 0)
		base = event_base_new_with_config(config);
	if (config != NULL)
		event_config_free(config);
	return base;
}

static void
daemon_start(struct daemon *d)
{
	struct web_opts wo = { .listen = d->conf.listen_http,
		.store_path = d->store_path,
		.expect = d->conf.expect,
		.active_tests = conf_or_null(d->conf.active_tests),
		.health = health_fill,
		.health_arg = d,
		.connections_max = (uint32_t)d->conf.http_max_connections,
		.query_cost_max = (double)d->conf.http_query_cost,
		.connections_per_address_max = (uint32_t)d->conf.http_max_connections_per_address,
		.request_max_ns = d->conf.http_request_timeout_ns,
		.answer_max_ns = d->conf.http_answer_timeout_ns };
	struct store_opts so = store_opts_default;
	char why[STORE_WHY_BYTES];

	so.queue_max_bytes = queue_max_bytes(&d->conf);
	so.commit_interval_ns = d->conf.commit_interval_ns;
	so.sync_full = d->conf.durability == DURABILITY_FULL;
	memcpy(so.keep_ns, d->conf.keep_ns, sizeof(so.keep_ns));
	so.keep_events_ns = d->conf.keep_events_ns;
	so.keep_sessions_ns = d->conf.keep_sessions_ns;
	so.max_bytes = store_ceiling(d);
	so.on_upgrade = upgrade_log;
	store_open_patiently(d, &so);
	store_next_ids(d->box.store, &d->box.next);
	if (!xmalloc_reserve(PEER_RESERVE_BYTES))
		fatalx("out of memory");
	if ((d->box.base = base_new()) == NULL ||
	    (d->box.decoder = nw_doc_decoder_new(NULL)) == NULL)
		fatalx("out of memory");
	d->box.on_series_forget = session_series_forget;
	d->box.is_series_over = session_series_is_over;
	d->box.commit = commit_open(&d->box);
	d->box.control = control_new(d->box.base, &d->conf);
	d->box.admission = admission_make(&d->conf);
	d->box.numbers = numbers_new(PROVIDERS_MAX);
	d->box.ends = ends_new();
	d->box.rules = rules_new(d->box.control, &d->conf);
	d->diets = diets_new(d->box.store, d->conf.diet_accept);
	control_set_diets(d->box.control, d->diets);
	d->tests = testseries_new(&d->box);
	control_set_box(d->box.control, &d->box);
	schedule_start_patiently(d);
	rules_set_undecided(d->box.rules, on_undecided, d->box.schedule);
	memory_restore(d);
	keepjob_start_patiently(d);
	tls_start(d, &wo);
	d->access = webaccess_open(&d->conf, &d->web_access);
	wo.access = &d->web_access;
	wo.names = d->web_names = web_names_join(&d->conf);
	if (listeners_start(
		&d->box, "listen-xsp", PEER_XSP, d->conf.listen_xsp, &d->listeners, why) < 0 ||
	    listeners_start(&d->box, "listen-xsp-tls", PEER_XSP_TLS, d->conf.listen_xsp_tls,
		&d->listeners_tls, why) < 0 ||
	    listeners_start(&d->box, "listen-events-tls", PEER_LINES_TLS, d->conf.listen_events_tls,
		&d->listeners_lines_tls, why) < 0)
		fatalx("%s", why);
	listen_lines(d);
	if (announced_start(&d->box, d->scitags, &d->box.announce, why) < 0)
		fatalx("%s", why);
	d->box.xsp_tls = listeners_addresses(d->listeners_tls);
	if (announced_traces_start(&d->box, &d->traces, why) < 0)
		fatalx("%s", why);
	wo.traces = d->traces != NULL ? traces_take : NULL;
	wo.traces_arg = d->traces;
	if (web_start(&wo, &d->web, why) < 0)
		fatalx("%s", why);
	ctl_open(d);
	run_file_write(d);
	events_start(d);
}

/* Ends new connections; stores and acknowledges the documents that have arrived; closes and judges
 * every session. */
static void
daemon_stop(struct daemon *d)
{
	d->box.stopping = true;
	unlink(d->run_path);
	web_stop(d->web); /* first, because the health page reads the parts below */
	webaccess_close(d->access);
	ctl_stop(d->ctl);
	listeners_stop(d->listeners_lines_tls);
	listeners_stop(d->listeners_lines);
	listeners_stop(d->listeners_tls);
	listeners_stop(d->listeners);
	traces_stop(d->traces);
	announce_stop(d->box.announce);
	peer_drain_all(&d->box);
	session_close_all(&d->box);
	commit_drain(d->box.commit);
	keepjob_stop(d->keepjob);
	if (schedule_stop(d->box.schedule) < 0) {
		(void)store_sync(d->box.store); /* the analysis thread still uses the rest */
		_exit(0);
	}
	d->box.schedule = NULL;
	store_close(d->box.store);
	tlsctx_close(d->box.tlsctx);
	free(d->box.speakers);
	event_free(d->tick);
	event_free(d->box.look);
	d->box.look = NULL;
	event_free(d->on_int);
	event_free(d->on_term);
	rules_free(d->box.rules);
	ends_free(d->box.ends);
	control_free(d->box.control);
	diets_free(d->diets);
	commit_free(d->box.commit);
	origin_free_all(&d->box);
	testseries_free(d->tests);
	numbers_free(d->box.numbers);
	admission_free(d->box.admission);
	fairrate_free(d->box.log_rate);
	fairrate_free(d->box.enroll_log_rate);
	session_free_all(&d->box);
	host_free_all(&d->box);
	nw_doc_decoder_free(d->box.decoder);
	nw_event_block_free(d->box.events);
	nw_event_line_free(d->box.lines);
	event_base_free(d->box.base);
	nw_scitags_free(d->scitags);
	free(d->web_names);
	free(d->run_path);
	free(d->store_path);
	conf_clear(&d->conf);
}

/* The parent waits until the box is up, and exits with 1 if the box does not come up. */
static int
background_begin(void)
{
	int fd[2];
	char ready;

	if (pipe2(fd, O_CLOEXEC) != 0)
		fatal("pipe");
	switch (fork()) {
	case -1: fatal("fork");
	case 0:
		close(fd[0]);
		setsid();
		return fd[1];
	default: close(fd[1]); _exit(read(fd[0], &ready, 1) == 1 ? 0 : 1);
	}
}

static void
background_finish(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	log_open("narrowsd", false, getenv("NARROWS_DEBUG") != NULL);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    chdir("/") != 0 || write(fd, "", 1) != 1)
		fatal("daemon.detach");
	close(fd);
	if (null > 2)
		close(null);
}

int
main(int argc, char **argv)
{
	int ready_fd = -1;
	struct options o = { 0 };
	struct daemon d = { 0 };
	char why[CONF_WHY_BYTES];

	terminal_guard();
	log_open("narrowsd", true, false);
	options_parse(argc, argv, &o, &d.conf);
	if (o.check_only) {
		puts("configuration ok");
		conf_clear(&d.conf);
		return 0;
	}
	bson_memory_set();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a full disk, not a reason to die */
	signal(SIGHUP, SIG_IGN);  /* a closed terminal is no reason to stop storing */
	umask(027);
	log_open("narrowsd", true, getenv("NARROWS_DEBUG") != NULL);
	if (!o.foreground)
		ready_fd = background_begin();
	state_dir_make(&d);
	descriptors_raise(&d.conf);
	if (announce_names(d.conf.announce_names, &d.scitags, why) < 0)
		fatalx("%s", why);
	privileges_drop(&d.conf);
	d.started_wall_ns = nw_wall_ns();
	d.box.conf = &d.conf;
	if (nw_tls_random(NULL, d.box.alias_key, sizeof(d.box.alias_key)) != 0)
		fatalx("random: the system has no random bytes");
	d.box.limits = nw_frame_limits_default;
	d.box.limits.blocks_max = (uint32_t)d.conf.max_blocks;
	d.box.limits.block_max_bytes = (uint32_t)d.conf.max_block_bytes;
	d.box.limits.message_max_bytes = (uint32_t)d.conf.max_message_bytes;
	daemon_start(&d);
	log_info("daemon.start version=%s xsp=\"%s\" xsp-tls=\"%s\" http=%s https=%s store=%s",
	    NW_VERSION, listeners_addresses(d.listeners), listeners_addresses(d.listeners_tls),
	    web_address(d.web), web_address_https(d.web), d.store_path);
	notify_ready();
	if (ready_fd >= 0)
		background_finish(ready_fd);
	if (!jail_close())
		log_warnx("daemon.shut-in note=\"the kernel cannot refuse new UNIX sockets\"");
	event_base_dispatch(d.box.base);
	daemon_stop(&d);
	return 0;
}

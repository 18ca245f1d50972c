/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwlog ships a log of events to a box, each line once.
 *
 *	lines -> events -> a block -> a mark in the journal -> a numbered document -> stored -> trim
 *
 * Nothing is kept here but marks: the log itself is the spool. A document that the box has not
 * stored when nwlog ends is made again from the log, with the same number, and the box drops what
 * it has already.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/nwlog/log_follow.h"
#include "host/nwlog/journal.h"
#include "host/nwlog/logformat.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/event_line.h"
#include "narrows/fnv.h"
#include "narrows/log.h"
#include "narrows/ownfile.h"
#include "narrows/progwords.h"
#include "narrows/provider.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"

#define POLL_NS  INT64_C(100000000)
#define FLUSH_NS INT64_C(300000000)
enum {
	QUEUE_BYTES = 4 << 20,
	QUEUE_FULL_BYTES = 2 << 20,
	QUOTE_BYTES = 80,
	FORMAT_BYTES = 1 << 16
};

struct arguments {
	const char *path, *journal, *old_journal, *box, *host, *task, *tls_dir, *format;
	bool once, from_end;
};

struct nwlog {
	struct arguments args;
	struct nw_provider *provider;
	struct follow *follow;
	struct journal journal;
	struct nw_event_line *reader;
	struct logformat *format; /* of a foreign log, or NULL */
	char *event_line;         /* made of a line of that log */
	struct nw_events *block;
	uint64_t next_seq;     /* of the block in hand */
	int64_t first_mono_ns; /* when its first event came */
	uint64_t n_lines, n_events, n_bad;
	bool complained;
};

static volatile sig_atomic_t stop_wanted;

static void
on_stop(int signal_number)
{
	(void)signal_number;
	stop_wanted = 1;
}

/* --- documents --- */

/* Queues the block in hand, behind its mark. */
static int
block_send(struct nwlog *n, struct place behind)
{
	struct mark m = { .seq = n->next_seq, .place = behind };
	int rc;

	if (nw_events_count(n->block) == 0)
		return NW_OK;
	if (n->args.path != NULL && (rc = journal_add(&n->journal, &m)) < 0) {
		log_warn("nwlog.journal path=%s", n->args.journal);
		return rc;
	}
	if ((rc = nw_provider_events(n->provider, n->block)) < 0) {
		log_warnx("nwlog.queue why=\"%s\"", nw_strerror(rc));
		return rc;
	}
	n->next_seq++;
	nw_events_clear(n->block);
	return NW_OK;
}

static void
line_reject(struct nwlog *n, const char *line, size_t len, const char *why)
{
	char text[QUOTE_BYTES + 1];
	size_t i;

	for (i = 0; i < len && i < QUOTE_BYTES; i++)
		text[i] = line[i] < ' ' || line[i] > '~' || line[i] == '"' ? '?' : line[i];
	text[i] = '\0';
	if (n->n_bad++ < 10 || n->n_bad % 1000 == 0)
		log_warnx("line.reject file=%s line=%" PRIu64 " bad=%" PRIu64
			  " why=\"%s\" text=\"%s\"",
		    n->args.path != NULL ? n->args.path : "-", n->n_lines, n->n_bad, why, text);
}

/* Takes a line; `before` is the place before it. */
static int
line_take(struct nwlog *n, const char *line, size_t len, bool whole, struct place before)
{
	struct nw_event e;
	const char *why = "a line of more than 49,000 bytes";
	int rc = NW_EPROTO;

	n->n_lines++;
	if (whole && n->format != NULL) {
		rc = logformat_line(n->format, line, len, n->event_line, NW_EVENT_LINE_MAX_BYTES);
		if (rc == NW_ENOTFOUND)
			return NW_OK; /* logs of transfers say other things, too */
		whole = rc >= 0;
		line = n->event_line;
		len = whole ? (size_t)rc : 0;
	}
	if (whole)
		rc = nw_event_line_read(n->reader, line, len, &e, &why);
	if (rc == NW_ENOTFOUND)
		return NW_OK;
	if (rc == NW_OK && (rc = nw_events_add(n->block, &e)) == NW_ETOOBIG) {
		if ((rc = block_send(n, before)) < 0)
			return rc;
		rc = nw_events_add(n->block, &e);
	}
	if (rc == NW_ENOMEM)
		return rc;
	if (rc != NW_OK) {
		line_reject(n, line, len, rc == NW_EINVAL ? "longer than an event may be" : why);
		return NW_OK;
	}
	if (n->n_events++ == 0 || nw_events_count(n->block) == 1)
		n->first_mono_ns = nw_mono_ns();
	return NW_OK;
}

/* Reads lines while the queue has room. 1: there may be more; 0: none now; NW_E*. */
static int
lines_take(struct nwlog *n)
{
	struct nw_provider_stats stats;
	struct place before;
	const char *line;
	size_t len, i;
	bool whole;
	int rc = 1;

	nw_provider_get_stats(n->provider, &stats);
	if (stats.queue_bytes >= QUEUE_FULL_BYTES)
		return 1;
	for (i = 0; i < 4096 && rc == 1; i++) {
		before = follow_place(n->follow);
		if ((rc = follow_line(n->follow, NW_EVENT_LINE_MAX_BYTES, &line, &len, &whole)) !=
		    1)
			break;
		rc = line_take(n, line, len, whole, before) < 0 ? NW_EIO : 1;
	}
	if (rc < 0)
		log_warnx("nwlog.read file=%s why=\"%s\"", n->args.path,
		    errno == ELOOP ? "a symbolic link: give the file itself with -f"
			: errno == EPERM
			? "not a file, or a second name of another user's file: give another log"
			: strerror(errno));
	if (rc >= 0 && nw_events_count(n->block) > 0 &&
	    ((rc == 0 && n->args.once) || nw_mono_ns() - n->first_mono_ns >= FLUSH_NS))
		rc = block_send(n, follow_place(n->follow)) < 0 ? NW_EIO : rc;
	return rc;
}

/* --- the box --- */

/* Says once why there is no connection, and once that there is one. */
static void
connection_say(struct nwlog *n, const struct nw_provider_stats *stats)
{
	const char *why = nw_provider_why(n->provider);

	if (stats->connected && n->complained)
		log_info("nwlog.connect");
	if (!stats->connected && !n->complained && why != NULL && why[0] != '\0')
		log_warnx("nwlog.connect why=\"%s\"", why);
	n->complained = !stats->connected && (n->complained || (why != NULL && why[0] != '\0'));
}

/* Waits until the box has told which documents it has; false if nwlog shall stop before. */
static bool
box_await(struct nwlog *n)
{
	struct nw_provider_stats stats;
	bool said = false;

	do {
		nw_provider_run(n->provider, POLL_NS);
		nw_provider_get_stats(n->provider, &stats);
		connection_say(n, &stats);
		if (stats.acknowledged)
			return true;
		if (stats.connected && !said)
			log_warnx("nwlog.box why=\"the server does not report stored documents: "
				  "give the address of a Narrows box\"");
		said = said || stats.connected;
	} while (!stop_wanted);
	return false;
}

/* Goes to the place behind the documents that the box has. */
static int
place_find(struct nwlog *n)
{
	struct nw_provider_stats stats;
	const struct mark *m;
	struct mark first = { .seq = 0 };
	int rc;

	nw_provider_get_stats(n->provider, &stats);
	if (n->journal.n == 0) {
		if (n->args.from_end)
			follow_seek_end(n->follow);
		first.place = follow_place(n->follow);
		if ((rc = journal_add(&n->journal, &first)) < 0)
			return rc;
	}
	/* a box without its store hears all that may still be told */
	if ((m = journal_find(&n->journal, stats.box_stored_seq)) == NULL)
		m = &n->journal.marks[0];
	else if (m->seq < stats.box_stored_seq && m->seq > 0)
		log_warnx("nwlog.journal path=%s note=\"marks are missing: lines may come twice\"",
		    n->args.journal);
	n->next_seq = (m->seq > stats.box_stored_seq ? m->seq : stats.box_stored_seq) + 1;
	if (m->place.inode != 0 && !follow_seek(n->follow, &m->place))
		log_warnx("nwlog.gap file=%s note=\"the followed file is gone, with its lines "
			  "behind byte %jd\"",
		    n->args.path, (intmax_t)m->place.offset);
	if ((rc = journal_cut(&n->journal, m->seq)) < 0)
		return rc;
	return nw_provider_renumber(n->provider, n->next_seq);
}

static bool
all_is_stored(struct nwlog *n)
{
	struct nw_provider_stats stats;

	nw_provider_get_stats(n->provider, &stats);
	return nw_events_count(n->block) == 0 && stats.queue_bytes == 0;
}

static int
follow_run(struct nwlog *n)
{
	struct nw_provider_stats stats;
	int rc = 0;

	if (!box_await(n))
		return NW_OK;
	if ((rc = place_find(n)) < 0) {
		log_warn("nwlog.place path=%s", n->args.journal);
		return rc;
	}
	while (!stop_wanted && (rc = lines_take(n)) >= 0) {
		nw_provider_get_stats(n->provider, &stats);
		connection_say(n, &stats);
		nw_provider_run(
		    n->provider, rc == 1 && stats.queue_bytes < QUEUE_FULL_BYTES ? 0 : POLL_NS / 5);
		if (stats.docs_dropped > 0) {
			log_warnx("nwlog.box why=\"the box takes no events: update the box\"");
			return NW_EUNSUPPORTED;
		}
		journal_trim(&n->journal, stats.box_stored_seq);
		if (rc == 0 && n->args.once && all_is_stored(n))
			break;
	}
	if (rc >= 0 && stop_wanted)
		rc = block_send(n, follow_place(n->follow));
	return rc;
}

static bool
queue_has_room(struct nwlog *n)
{
	struct nw_provider_stats stats;

	nw_provider_get_stats(n->provider, &stats);
	return stats.queue_bytes < QUEUE_FULL_BYTES;
}

static int
input_run(struct nwlog *n)
{
	const struct place none = { .inode = 0 };
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int rc = NW_OK;

	n->next_seq = 1;
	while (!stop_wanted && rc == NW_OK && (len = getline(&line, &cap, stdin)) > 0) {
		len -= line[len - 1] == '\n';
		rc = line_take(n, line, (size_t)len, len <= NW_EVENT_LINE_MAX_BYTES, none);
		while (rc == NW_OK && !stop_wanted && !queue_has_room(n))
			nw_provider_run(n->provider, POLL_NS / 5);
	}
	free(line);
	return rc == NW_OK ? block_send(n, none) : rc;
}

/* --- main --- */

static void
usage(FILE *f)
{
	fputs(
	    "usage: nwlog [-1ehV] [-b BOX] [-F FORMAT] [-H HOST] [-p FILE] [-t TASK] [-T DIR] [-f "
	    "LOG]\n"
	    "  -f LOG   the log to follow across rotations; without it standard input is shipped\n"
	    "  -p FILE  where nwlog remembers what it shipped (a file in nwlog's state directory)\n"
	    "  -F FORMAT  file with the format of another program's log\n"
	    "  -1       stop at the end of the log, when the box has all of it\n"
	    "  -e       the first time, begin at the end of the log\n"
	    "  -b BOX   host/port or tls://host/port of the box\n"
	    "  -H HOST  name of this host\n"
	    "  -t TASK  id of the session to which the events belong\n"
	    "  -T DIR   directory of the TLS files\n"
	    "  -V       version\n",
	    f);
}

/* -1: go on; else the exit status. */
static int
arguments_parse(struct arguments *a, int argc, char **argv)
{
	int ch;

	while ((ch = getopt(argc, argv, "1b:ef:F:hH:p:t:T:V")) != -1)
		switch (ch) {
		case '1': a->once = true; break;
		case 'b': a->box = optarg; break;
		case 'e': a->from_end = true; break;
		case 'f': a->path = optarg; break;
		case 'H': a->host = optarg; break;
		case 'p': a->journal = optarg; break;
		case 't': a->task = optarg; break;
		case 'T': a->tls_dir = optarg; break;
		case 'V': printf("nwlog %s\n", NW_VERSION); return 0;
		case 'F': a->format = optarg; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	if (optind != argc) {
		usage(stderr);
		return 2;
	}
	return -1;
}

static const char *
journal_why(int rc)
{
	if (rc == NW_ECONFLICT)
		return "another nwlog uses it: stop that nwlog, or give another file with -p";
	if (rc != NW_EIO)
		return nw_strerror(rc);
	return errno == EPERM || errno == ELOOP
	    ? "not a file of this user alone: remove it, or give another file with -p"
	    : strerror(errno);
}

/*
 * Sets the journal's place: a file in the state directory, named after the log and a hash of the
 * log's whole path. A directory of logs is often another user's, to whom the journal is no matter.
 */
static int
journal_place(struct arguments *a)
{
	const char *slash = strrchr(a->path, '/'), *name = slash != NULL ? slash + 1 : a->path;
	char state[PATH_MAX - 300], dir[PATH_MAX],
	    *given = slash == NULL ? xstrdup(".")
				   : xasprintf("%.*s", (int)(slash - a->path) + 1, a->path);
	uint64_t hash;

	if (ownfile_state_dir(state, sizeof(state)) != 0) {
		log_warn("nwlog.journal note=\"no state directory: give a file with -p\"");
		free(given);
		return NW_EIO;
	}
	if (realpath(given, dir) == NULL)
		snprintf(dir, sizeof(dir), "%s", given);
	hash = fnv_text(fnv_text(fnv_text(FNV_BEGIN, dir), "/"), name);
	a->journal = xasprintf("%s/%.150s-%016" PRIx64 ".nwlog", state, name, hash);
	a->old_journal = xasprintf("%s.nwlog", a->path);
	free(given);
	return NW_OK;
}

/* Reads the format of a foreign log. */
static int
format_open(struct nwlog *n)
{
	char *text = xcalloc(1, FORMAT_BYTES);
	FILE *f = fopen(n->args.format, "re");
	const char *why = "cannot be read whole";
	unsigned line = 0;
	size_t len = f != NULL ? fread(text, 1, FORMAT_BYTES - 1, f) : 0;
	int rc = NW_EIO;

	if (f != NULL && !ferror(f) && len < FORMAT_BYTES - 1)
		rc = logformat_read(text, &n->format, &line, &why);
	if (rc < 0)
		log_warnx("nwlog.format file=%s line=%u why=\"%s\"", n->args.format, line, why);
	if (f != NULL)
		fclose(f);
	free(text);
	n->event_line = xcalloc(1, NW_EVENT_LINE_MAX_BYTES);
	return rc;
}

static int
nwlog_open(struct nwlog *n)
{
	struct nw_provider_opts opts = { .box = n->args.box,
		.software = "nwlog",
		.host = n->args.host,
		.task_id = n->args.task,
		.tls_dir = n->args.tls_dir,
		.queue_max_bytes = QUEUE_BYTES };
	int rc;

	if (n->args.format != NULL && (rc = format_open(n)) < 0)
		return rc;
	if (n->args.path != NULL) {
		if ((rc = journal_open(&n->journal, n->args.journal, n->args.old_journal)) < 0) {
			log_warnx(
			    "nwlog.journal path=%s why=\"%s\"", n->args.journal, journal_why(rc));
			return rc;
		}
		opts.id = n->journal.id;
		n->follow = follow_new(n->args.path);
	}
	n->reader = nw_event_line_new();
	n->block = nw_events_new(NW_EVENT_SENT_BYTES);
	if (n->reader == NULL || n->block == NULL || (n->args.path != NULL && n->follow == NULL))
		return NW_ENOMEM;
	if ((rc = nw_provider_new(&opts, &n->provider)) < 0)
		log_warnx("nwlog.box why=\"%s\"", nw_strerror(rc));
	return rc;
}

int
main(int argc, char **argv)
{
	struct sigaction stop = { .sa_handler = on_stop };
	struct nwlog n = { .journal = { .fd = -1 } };
	bool placed;
	int rc;

	terminal_guard();
	log_open("nwlog", true, false);
	if (nw_program_words(argc, argv, "nwlog"))
		return 0;
	if ((rc = arguments_parse(&n.args, argc, argv)) >= 0)
		return rc;
	placed = n.args.path != NULL && n.args.journal == NULL;
	if (placed && journal_place(&n.args) < 0)
		return 1;
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	if ((rc = nwlog_open(&n)) == NW_OK)
		rc = n.args.path != NULL ? follow_run(&n) : input_run(&n);
	if (n.provider != NULL && nw_provider_close(n.provider, 10 * POLL_NS * 5) < 0 && rc >= 0 &&
	    n.args.path == NULL)
		rc = NW_EAGAIN;
	if (n.n_lines > 0)
		log_info("nwlog.end lines=%" PRIu64 " events=%" PRIu64 " bad=%" PRIu64, n.n_lines,
		    n.n_events, n.n_bad);
	follow_free(n.follow);
	journal_close(&n.journal);
	nw_event_line_free(n.reader);
	logformat_free(n.format);
	free(n.event_line);
	nw_events_free(n.block);
	if (placed) {
		free((char *)n.args.journal);
		free((char *)n.args.old_journal);
	}
	return rc < 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwfts brings FTS3's messages from a broker to a box, each once.
 *
 *	message -> event -> block -> line on disk -> numbered document -> stored -> acknowledged
 *
 * The broker keeps messages without acknowledgement, so nothing waits here beyond an end. A
 * repeated message is known by the message's hash, and the box's number says whether the box has
 * the message.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/lib/conn_addr.h"
#include "host/nwfts/brokerwire.h"
#include "host/nwfts/told.h"
#include "narrows/address.h"
#include "narrows/clock.h"
#include "narrows/conftable.h"
#include "narrows/err.h"
#include "narrows/fts.h"
#include "narrows/log.h"
#include "narrows/ownfile.h"
#include "narrows/progwords.h"
#include "narrows/provider.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"

#define S_NS         INT64_C(1000000000)
#define FLUSH_NS     (S_NS / 5)
#define BEAT_NS      (5 * S_NS)
#define SILENT_NS    (35 * S_NS) /* three heart-beats of the broker, and a bit */
#define PAUSE_NS     S_NS        /* before the first new attempt; doubles up to PAUSE_MAX_NS */
#define PAUSE_MAX_NS (30 * S_NS)
#define POLL_MS      100
#define HEART_BEAT   "10000,10000"
#define PREFETCH     "1000" /* messages of a topic that the broker sends ahead */
enum {
	TOPICS_MAX = 4, /* with PREFETCH each, fewer than ACKS_MAX messages wait */
	ACKS_MAX = 8192,
	ACK_BYTES = 128,
	QUEUE_FULL_BYTES = 2 << 20,
	SECRET_BYTES = 256,
	PATH_BYTES = 4096
};

struct conf {
	char *broker, *broker_ca, *broker_cert, *broker_key, *login_file, *vhost, *topics;
	char *subscription, *box, *host, *tls_dir;
};

#define AT(field) offsetof(struct conf, field)
static const struct conf_row rows[] = {
	{ "broker", &conf_text, AT(broker), NULL, NULL, NULL },
	{ "broker-ca", &conf_text, AT(broker_ca), NULL, NULL, NULL },
	{ "broker-cert", &conf_text, AT(broker_cert), NULL, NULL, NULL },
	{ "broker-key", &conf_text, AT(broker_key), NULL, NULL, NULL },
	{ "login-file", &conf_text, AT(login_file), NULL, NULL, NULL },
	{ "virtual-host", &conf_text, AT(vhost), "/", NULL, NULL },
	{ "topics", &conf_text, AT(topics),
	    "transfer.fts_monitoring_start transfer.fts_monitoring_state "
	    "transfer.fts_monitoring_complete",
	    NULL, NULL },
	{ "subscription", &conf_text, AT(subscription), "narrows", NULL, NULL },
	{ "box", &conf_text, AT(box), NULL, NULL, NULL },
	{ "host", &conf_text, AT(host), NULL, NULL, NULL },
	{ "tls-dir", &conf_text, AT(tls_dir), NULL, NULL, NULL },
};
static const struct conf_table table = { rows, sizeof(rows) / sizeof(rows[0]), sizeof(struct conf),
	false };

/* An acknowledgement that waits for the box. */
struct ack {
	uint64_t seq;
	char id[ACK_BYTES];
};

struct nwfts {
	struct conf conf;
	struct conn_addr broker;
	struct told *told;
	struct nw_provider *provider;
	bool placed; /* the number of the last stored document is known */
	struct nw_events *block;
	uint64_t next_seq;
	int64_t first_mono_ns; /* when the block's first event came */
	struct brokerwire *wire;
	bool subscribed, complained, box_complained;
	int64_t heard_mono_ns, beat_mono_ns, retry_mono_ns, pause_ns;
	struct ack acks[ACKS_MAX];
	size_t n_acks;
	uint64_t n_messages, n_repeated, n_bad;
};

static volatile sig_atomic_t stop_wanted;

static void
on_stop(int signal_number)
{
	(void)signal_number;
	stop_wanted = 1;
}

/* --- the broker --- */

static void
broker_leave(struct nwfts *n, const char *why)
{
	if (!n->complained)
		log_warnx("nwfts.broker address=%s why=\"%s\"", n->conf.broker, why);
	n->complained = true;
	brokerwire_close(n->wire);
	n->wire = NULL;
	n->subscribed = false;
	n->n_acks = 0; /* the broker sends these messages again */
	n->retry_mono_ns = nw_mono_ns() + n->pause_ns;
	n->pause_ns = 2 * n->pause_ns < PAUSE_MAX_NS ? 2 * n->pause_ns : PAUSE_MAX_NS;
}

/* The login: a line with the user, a line with the password, in a file of this user alone. */
static int
login_read(const char *path, char user[SECRET_BYTES], char password[SECRET_BYTES], const char **why)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	int rc = NW_EIO;

	*why = "cannot be read";
	if (f != NULL && fstat(fileno(f), &st) == 0 && (st.st_mode & 077) != 0)
		*why = "other users may read this secret: chmod 600";
	else if (f != NULL) {
		*why = "is no line with the user and a line with the password";
		if (fgets(user, SECRET_BYTES, f) != NULL &&
		    fgets(password, SECRET_BYTES, f) != NULL)
			rc = NW_OK;
		user[strcspn(user, "\r\n")] = password[strcspn(password, "\r\n")] = '\0';
	}
	if (f != NULL)
		fclose(f);
	return rc;
}

static int
login_send(struct nwfts *n)
{
	char user[SECRET_BYTES] = "", password[SECRET_BYTES] = "";
	const char *pairs[] = { "accept-version", "1.2", "host", n->conf.vhost, "heart-beat",
		HEART_BEAT, "client-id", n->conf.subscription, "login", user, "passcode", password,
		NULL };
	const char *why;
	int rc = NW_OK;

	if (n->conf.login_file == NULL)
		pairs[8] = NULL;
	else if ((rc = login_read(n->conf.login_file, user, password, &why)) < 0)
		log_warnx("nwfts.login file=%s why=\"%s\"", n->conf.login_file, why);
	if (rc == NW_OK && (rc = brokerwire_send(n->wire, "CONNECT", pairs)) < 0)
		broker_leave(n, brokerwire_why(n->wire));
	explicit_bzero(password, sizeof(password));
	return rc;
}

static void
broker_join(struct nwfts *n)
{
	const struct brokerwire_opts o = { n->broker.host, n->broker.port, n->broker.tls,
		n->conf.broker_ca, n->conf.broker_cert, n->conf.broker_key };
	char why[NW_TLS_WHY_BYTES] = "";

	if (brokerwire_open(&o, 5 * S_NS, &n->wire, why) < 0) {
		n->wire = NULL;
		broker_leave(n, why);
		return;
	}
	n->heard_mono_ns = n->beat_mono_ns = nw_mono_ns();
	if (login_send(n) < 0 && n->wire != NULL)
		broker_leave(n, "no login");
}

/* The subscriptions outlive a connection: the broker keeps messages meanwhile. */
static int
subscribe(struct nwfts *n)
{
	char topics[1024], queue[512], number[12], destination[512], *at = topics, *topic;
	const char *const pairs[] = { "id", number, "destination", destination, "ack",
		"client-individual", "durable", "true", "auto-delete", "false", "exclusive",
		"false", "x-queue-name", queue, "activemq.subscriptionName", queue,
		"prefetch-count", PREFETCH, "activemq.prefetchSize", PREFETCH, NULL };
	int i, rc = NW_OK;

	(void)snprintf(topics, sizeof(topics), "%s", n->conf.topics);
	for (i = 0; rc == NW_OK && (topic = strsep(&at, " \t")) != NULL; i++) {
		if (*topic == '\0')
			continue;
		(void)snprintf(number, sizeof(number), "%d", i);
		(void)snprintf(destination, sizeof(destination), "%s%s",
		    *topic == '/' ? "" : "/topic/", topic);
		(void)snprintf(queue, sizeof(queue), "%.200s.%.300s", n->conf.subscription, topic);
		rc = brokerwire_send(n->wire, "SUBSCRIBE", pairs);
	}
	return rc;
}

/* --- documents --- */

/* Queues the block in hand, behind its line on disk. */
static int
block_send(struct nwfts *n)
{
	int rc;

	if (nw_events_count(n->block) == 0)
		return NW_OK;
	if ((rc = told_write(n->told, nw_wall_ns())) < 0) {
		log_warn("nwfts.state");
		return rc;
	}
	if ((rc = nw_provider_events(n->provider, n->block)) < 0) {
		log_warnx("nwfts.queue why=\"%s\"", nw_strerror(rc));
		return rc;
	}
	n->next_seq++;
	nw_events_clear(n->block);
	return NW_OK;
}

static int
event_add(struct nwfts *n, const struct nw_event *e)
{
	int rc = nw_events_add(n->block, e);

	if (rc == NW_ETOOBIG && (rc = block_send(n)) == NW_OK)
		rc = nw_events_add(n->block, e);
	if (nw_events_count(n->block) == 1)
		n->first_mono_ns = nw_mono_ns();
	return rc;
}

/* The time without the broker, as an event: messages of that time may be missing. */
static int
away_say(struct nwfts *n)
{
	const int64_t now = nw_wall_ns(), since = told_heard_wall_ns(n->told);
	const struct nw_attr attrs[] = {
		{ .key = "seconds", .type = NW_ATTR_REAL, .v.d = (double)(now - since) * 1e-9 },
		{ .key = "broker", .type = NW_ATTR_TEXT, .v.text = n->conf.broker }
	};
	const struct nw_event e = { .t_wall_ns = now,
		.program = "nwfts",
		.name = "fts.away",
		.level = "Warning",
		.n_attrs = 2,
		.attrs = attrs };

	return since == 0 || now <= since ? NW_OK : event_add(n, &e);
}

/* --- messages --- */

static void
ack_keep(struct nwfts *n, const char *id, uint64_t seq)
{
	struct ack *a;

	if (n->n_acks == ACKS_MAX) /* more than PREFETCH: the broker sends the message again */
		return;
	a = &n->acks[n->n_acks++];
	a->seq = seq;
	(void)snprintf(a->id, sizeof(a->id), "%s", id);
}

/* Sends the acknowledgements of documents up to `stored`. */
static int
acks_send(struct nwfts *n, uint64_t stored)
{
	const char *pairs[] = { "id", NULL, NULL };
	size_t i, left = 0;
	int rc = NW_OK;

	for (i = 0; i < n->n_acks; i++) {
		pairs[1] = n->acks[i].id;
		if (n->acks[i].seq > stored || rc < 0)
			n->acks[left++] = n->acks[i];
		else
			rc = brokerwire_send(n->wire, "ACK", pairs);
	}
	n->n_acks = left;
	return rc;
}

/* Puts the event of a message into the block in hand. Returns the number of the document; 0: the
 * message has no event. */
static uint64_t
message_put(struct nwfts *n, const struct nw_stomp_frame *f, uint64_t hash)
{
	struct nw_fts_message m;
	struct nw_fts_event event;
	char name[NW_FTS_ID_BYTES];
	int64_t submit_wall_ns = 0;
	double staging_s = NAN;
	uint64_t file;
	const char *why;
	int rc = nw_fts_read(f->body, f->body_len, &m, &why);

	if (rc == NW_EUNSUPPORTED)
		return 0;
	if (rc == NW_OK) {
		nw_fts_file(&m, name);
		file = told_hash(n->told, name, strlen(name));
		told_submission(n->told, file, &submit_wall_ns, &staging_s);
		if (m.kind == NW_FTS_STATE && m.submit_wall_ns > 0)
			told_submitted(n->told, file, m.submit_wall_ns,
			    isfinite(m.staging_s) ? m.staging_s : staging_s);
		nw_fts_event(&m, submit_wall_ns, staging_s, &event);
		rc = event_add(n, &event.e);
		why = nw_strerror(rc);
	}
	if (rc < 0) {
		if (n->n_bad++ < 10 || n->n_bad % 1000 == 0)
			log_warnx("message.reject bad=%" PRIu64 " why=\"%s\"", n->n_bad, why);
		return 0;
	}
	told_message(n->told, hash, n->next_seq);
	n->n_messages++;
	return n->next_seq;
}

static void
message_take(struct nwfts *n, const struct nw_stomp_frame *f)
{
	const uint64_t hash = told_hash(n->told, f->body, f->body_len);
	char id[NW_STOMP_VALUE_BYTES];
	uint64_t seq;

	if (!nw_stomp_header(f, "ack", id) || strlen(id) >= ACK_BYTES)
		return;
	if ((seq = told_find(n->told, hash)) != 0)
		n->n_repeated++;
	else
		seq = message_put(n, f, hash);
	ack_keep(n, id, seq);
}

static int
frame_take(struct nwfts *n, const struct nw_stomp_frame *f)
{
	char text[NW_STOMP_VALUE_BYTES];
	int rc = NW_OK;

	if (nw_stomp_is(f, "MESSAGE"))
		message_take(n, f);
	else if (nw_stomp_is(f, "CONNECTED") && !n->subscribed) {
		log_info("nwfts.connect broker=%s", n->conf.broker);
		n->complained = false;
		n->subscribed = true;
		n->pause_ns = PAUSE_NS;
		if ((rc = away_say(n)) == NW_OK)
			rc = subscribe(n);
	} else if (nw_stomp_is(f, "ERROR")) {
		if (!nw_stomp_header(f, "message", text))
			text[0] = '\0';
		log_warnx("nwfts.broker address=%s error=\"%s\"", n->conf.broker, text);
		rc = NW_ECLOSED;
	}
	return rc;
}

static int
broker_step(struct nwfts *n, uint64_t stored, bool has_room)
{
	struct nw_stomp_frame f;
	int64_t now = nw_mono_ns();
	uint64_t received = brokerwire_received(n->wire);
	const int moved = brokerwire_step(n->wire);
	int rc = NW_OK;

	if (brokerwire_received(n->wire) != received)
		n->heard_mono_ns = now;

	/* frames before the broker's end count: the last one may say the reason */
	while (rc == NW_OK && has_room && n->n_acks < ACKS_MAX &&
	    (rc = brokerwire_frame(n->wire, &f)) == NW_OK)
		rc = frame_take(n, &f);
	if (rc == NW_OK || rc == NW_EAGAIN)
		rc = moved;
	if (rc == NW_OK && n->subscribed)
		rc = acks_send(n, stored);
	if (rc == NW_OK && n->subscribed && now - n->beat_mono_ns > BEAT_NS) {
		n->beat_mono_ns = now;
		rc = brokerwire_beat(n->wire);
		(void)told_write(n->told, nw_wall_ns()); /* the next block says a fault */
	}
	if (rc < 0)
		broker_leave(n, brokerwire_why(n->wire));
	else if (now - n->heard_mono_ns > SILENT_NS && has_room)
		broker_leave(n, "the broker is silent");
	return NW_OK;
}

/* --- the box --- */

static void
connection_say(struct nwfts *n, const struct nw_provider_stats *stats)
{
	const char *why = nw_provider_why(n->provider);

	if (!stats->connected && !n->box_complained && why != NULL && why[0] != '\0')
		log_warnx("nwfts.box why=\"%s\"", why);
	n->box_complained =
	    !stats->connected && (n->box_complained || (why != NULL && why[0] != '\0'));
}

/* Goes on behind the stored documents. */
static int
place_find(struct nwfts *n, uint64_t stored)
{
	int rc;

	if (told_last(n->told) < stored)
		log_warnx("nwfts.state note=\"messages are missing: some may come twice\"");
	n->next_seq = stored + 1;
	n->placed = true;
	if ((rc = told_cut(n->told, stored)) < 0) {
		log_warn("nwfts.state");
		return rc;
	}
	return nw_provider_renumber(n->provider, n->next_seq);
}

static void
wait_some(struct nwfts *n)
{
	struct pollfd p[2] = { { .fd = -1 }, { .fd = -1 } };

	p[0].fd = nw_provider_fd(n->provider, &p[0].events);
	if (n->wire != NULL) {
		p[1].fd = brokerwire_fd(n->wire);
		p[1].events = brokerwire_events(n->wire);
	}
	(void)poll(p, 2, POLL_MS);
}

static int
run(struct nwfts *n)
{
	struct nw_provider_stats stats;
	int64_t now;
	int rc = NW_OK;

	n->pause_ns = PAUSE_NS;
	while (!stop_wanted && rc == NW_OK) {
		wait_some(n);
		nw_provider_run(n->provider, 0);
		nw_provider_get_stats(n->provider, &stats);
		connection_say(n, &stats);
		now = nw_mono_ns();
		if (!n->placed && stats.acknowledged)
			rc = place_find(n, stats.box_stored_seq);
		if (rc < 0 || !n->placed)
			continue;
		if (stats.docs_dropped > 0) {
			log_warnx("nwfts.box why=\"the box takes no events: update the box\"");
			return NW_EUNSUPPORTED;
		}
		if (n->wire == NULL && now >= n->retry_mono_ns)
			broker_join(n);
		if (n->wire != NULL)
			broker_step(n, stats.box_stored_seq, stats.queue_bytes < QUEUE_FULL_BYTES);
		if (nw_events_count(n->block) > 0 && now - n->first_mono_ns >= FLUSH_NS)
			rc = block_send(n);
	}
	return rc;
}

/* --- main --- */

static void
usage(FILE *f)
{
	fputs("usage: nwfts [-hnV] [-f FILE] [-p FILE]\n"
	      "  -f FILE  configuration (/etc/narrows/nwfts.conf)\n"
	      "  -p FILE  where nwfts remembers what it shipped (a file in the state directory)\n"
	      "  -n       check the configuration and end\n"
	      "  -V       version\n",
	    f);
}

/* What the directives must say together. */
static int
conf_check(struct nwfts *n, const char *path)
{
	const char *fault = NULL, *of = n->conf.broker, *scheme, *p;
	size_t words = 0;

	if (n->conf.broker == NULL)
		fault = "broker is missing";
	else if ((scheme = strstr(of, "://")) != NULL)
		of = scheme + 3;
	if (fault == NULL && strpbrk(of, ":/") == NULL)
		fault = "broker: give a port, as in tls://broker.example.net/61614";
	if (fault == NULL && conn_addr_parse(n->conf.broker, &n->broker) < 0)
		fault = "broker: " CONN_ADDR_WHY;
	if (fault == NULL && n->broker.tls && n->conf.broker_ca == NULL)
		fault = "broker-ca is missing: the broker proves itself by a CA";
	if (fault == NULL && (n->conf.broker_cert == NULL) != (n->conf.broker_key == NULL))
		fault = "broker-cert and broker-key belong together";
	if (fault == NULL && !n->broker.tls && n->conf.login_file != NULL &&
	    !address_is_loopback(n->broker.host))
		fault = "login-file: a password in clear crosses the network; write tls://";
	for (p = n->conf.topics; fault == NULL && *p != '\0'; p += strspn(p, " \t")) {
		p += strcspn(p, " \t");
		words++;
	}
	if (fault == NULL && (words > TOPICS_MAX || strlen(n->conf.topics) >= 1000))
		fault = "topics: at most four";
	if (fault != NULL)
		log_warnx("nwfts.conf file=%s why=\"%s\"", path, fault);
	return fault != NULL ? NW_EINVAL : NW_OK;
}

static int
conf_open(struct nwfts *n, const char *path)
{
	char why[CONF_WHY_BYTES];
	int rc = conftable_init(&table, &n->conf, why);

	if (rc == NW_OK)
		rc = conftable_read(&table, &n->conf, path, NULL, why);
	if (rc < 0)
		log_warnx("nwfts.conf why=\"%s\"", why);
	return rc < 0 ? rc : conf_check(n, path);
}

static int
state_open(struct nwfts *n, const char *path)
{
	char dir[PATH_BYTES - 32], own[PATH_BYTES];
	int rc;

	if (path == NULL) {
		if (ownfile_state_dir(dir, sizeof(dir)) != 0) {
			log_warn("nwfts.state note=\"no state directory: give a file with -p\"");
			return NW_EIO;
		}
		(void)snprintf(own, sizeof(own), "%s/nwfts.state", dir);
		path = own;
	}
	if ((rc = told_open(path, &n->told)) < 0)
		log_warnx("nwfts.state path=%s why=\"%s\"", path,
		    rc == NW_ECONFLICT
			? "another nwfts uses it: stop that nwfts, or give another file"
			: rc == NW_EIO ? strerror(errno)
				       : nw_strerror(rc));
	return rc;
}

static int
nwfts_open(struct nwfts *n, const char *state)
{
	struct nw_provider_opts opts = { .software = "nwfts" };
	int rc = state_open(n, state);

	if (rc < 0)
		return rc;
	opts.box = n->conf.box;
	opts.host = n->conf.host;
	opts.tls_dir = n->conf.tls_dir;
	opts.id = told_id(n->told);
	if ((n->block = nw_events_new(NW_EVENT_SENT_BYTES)) == NULL)
		return NW_ENOMEM;
	if ((rc = nw_provider_new(&opts, &n->provider)) < 0)
		log_warnx("nwfts.box why=\"%s\"", nw_strerror(rc));
	return rc;
}

int
main(int argc, char **argv)
{
	const struct sigaction stop = { .sa_handler = on_stop };
	const char *conf = "/etc/narrows/nwfts.conf", *state = NULL;
	struct nwfts *n = xcalloc(1, sizeof(*n));
	bool check = false;
	int ch, rc;

	terminal_guard();
	log_open("nwfts", true, false);
	if (nw_program_words(argc, argv, "nwfts"))
		return 0;
	while ((ch = getopt(argc, argv, "f:hnp:")) != -1)
		switch (ch) {
		case 'f': conf = optarg; break;
		case 'p': state = optarg; break;
		case 'n': check = true; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	if (optind != argc) {
		usage(stderr);
		return 2;
	}
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	rc = conf_open(n, conf);
	if (rc == NW_OK && !check && (rc = nwfts_open(n, state)) == NW_OK)
		rc = run(n);
	brokerwire_close(n->wire);
	if (n->provider != NULL)
		(void)nw_provider_close(n->provider, S_NS);
	if (!check && rc == NW_OK)
		log_info("nwfts.end messages=%" PRIu64 " repeated=%" PRIu64 " bad=%" PRIu64,
		    n->n_messages, n->n_repeated, n->n_bad);
	told_close(n->told);
	nw_events_free(n->block);
	conftable_clear(&table, &n->conf);
	free(n);
	return rc < 0;
}

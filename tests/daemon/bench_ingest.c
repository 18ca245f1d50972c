/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole box over TCP: caliper documents of 18 samples, or the same rows packed by 64, from 1,
 * 20 and 500 providers through real sockets into the real store, one fsynced commit per second,
 * compaction included. Reported per million samples, beside what a bare libbson walk over the same
 * documents costs in the same run. The time from sending to "stored" is that of a queue when
 * senders send all they can; paced ones send 50 rows per second each.
 *
 * Cost model: a message of up to 16 documents, as libnarrows makes it, is parsed where it was read,
 * a document is walked once, its values are copied into the batch, the batch into the tail; a chunk
 * is encoded once per 1,024 rows. Then the same in TLS: what sealing costs the box is the
 * difference. usage: bench_ingest [rows [plain|tls]]
 *
 *	bench_ingest recording [RECORDING [KEPT [WAY]]]     (or in the environment: BENCH_RECORDING)
 *
 * One provider sends the recording (tests/recording.h; a made-up set without one): a document per
 * row, or ten seconds of a series packed, as fast as the box takes them; then in lock-step, where a
 * second of data is sent when the second before is stored, in a commit of its own. Bytes per sample
 * are those of the file a few seconds later, while the session is open, and once it is sealed. KEPT
 * is a name for the store of the first way, or "-"; WAY is the only way to be taken. The last line
 * is what the cipher alone needs for the bytes of the documents, in records of 16 KiB.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bson/bson.h>
#include <mbedtls/ccm.h>

#include "narrows/clock.h"
#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/frame.h"
#include "narrows/tls.h"
#include "tests/recording.h"

enum { FIELDS = 18, SLICE_DOCS = 64 };

static const char *const fields[FIELDS] = { "sum_v", "min_v", "max_v", "mean_v", "sd_v", "sum_r",
	"min_r", "max_r", "mean_r", "sd_r", "sum_g", "min_g", "max_g", "mean_g", "sd_g", "count",
	"dur", "dur_inst" };

struct box {
	pid_t pid;
	char dir[64], xsp[64];
	struct nw_tls_ctx *tls;
};

/* A certificate of the box's CA, and the context that shows it. */
static void
host_enroll(struct box *b, const char *self)
{
	char command[1024], ca[128], crt[128], key[128], why[NW_TLS_WHY_BYTES];
	struct nw_tls_opts o = { .ca_path = ca, .cert_path = crt, .key_path = key };
	const char *slash = strrchr(self, '/');

	snprintf(command, sizeof(command),
	    "'%.*s/../../bin/narrows' -s '%s' enroll -o '%s' bench >/dev/null",
	    slash ? (int)(slash - self) : 1, slash ? self : ".", b->dir, b->dir);
	if (system(command) != 0)
		die(command);
	snprintf(ca, sizeof(ca), "%s/ca.crt", b->dir);
	snprintf(crt, sizeof(crt), "%s/bench.crt", b->dir);
	snprintf(key, sizeof(key), "%s/bench.key", b->dir);
	if (nw_tls_ctx_new(&o, &b->tls, why) < 0)
		die(why);
}

/* commit: flush-interval and commit-interval. */
static void
box_start(struct box *b, const char *self, bool tls, const char *commit)
{
	char program[512], state[128], run[128], line[128], flush_s[64], commit_s[64];
	const char *slash = strrchr(self, '/');
	FILE *f = NULL;
	int tries, null;

	snprintf(b->dir, sizeof(b->dir), "/tmp/bench_ingest.XXXXXX");
	if (mkdtemp(b->dir) == NULL)
		die("mkdtemp");
	snprintf(program, sizeof(program), "%.*s/../../bin/narrowsd",
	    slash ? (int)(slash - self) : 1, slash ? self : ".");
	snprintf(state, sizeof(state), "state-dir=%s", b->dir);
	snprintf(run, sizeof(run), "%s/narrowsd.run", b->dir);
	snprintf(flush_s, sizeof(flush_s), "flush-interval=%s", commit);
	snprintf(commit_s, sizeof(commit_s), "commit-interval=%s", commit);
	if ((b->pid = fork()) == 0) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, 2);
		execl(program, program, "-d", "-o", state, "-o", "listen-xsp=127.0.0.1/0", "-o",
		    "listen-http=127.0.0.1/0", "-o", flush_s, "-o", commit_s, "-o",
		    tls ? "listen-xsp-tls=127.0.0.1/0" : "listen-xsp-tls=none", "-o",
		    "max-connections-per-address=1024", (char *)NULL);
		_exit(127);
	}
	for (tries = 0; tries < 200 && (f = fopen(run, "r")) == NULL; tries++)
		usleep(50000);
	if (f == NULL)
		die(program);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, tls ? "xsp-tls %63s" : "xsp %63s", b->xsp) == 1)
			break;
	fclose(f);
	if (tls)
		host_enroll(b, self);
}

static int
box_connect(const struct box *b)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	sa.sin_port = htons((uint16_t)atoi(strchr(b->xsp, '/') + 1));
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0)
		die("connect");
	return fd;
}

struct bytes {
	uint8_t *p;
	size_t len, cap;
	bool joins;       /* nothing is sent yet: blocks may be added to .. */
	size_t joined_at; /* .. the message that begins here .. */
	unsigned joined;  /* .. and has so many */
};

static void
bytes_room(struct bytes *out, size_t len)
{
	if (len <= out->cap)
		return;
	out->cap = len * 2;
	if ((out->p = realloc(out->p, out->cap)) == NULL)
		die("realloc");
}

/* Application data joins the message before, as in libnarrows. */
static void
frame_add(struct bytes *out, uint16_t type, const uint8_t *sid, uint16_t block_type,
    const uint8_t *data, size_t len)
{
	struct nw_block b = { .type = block_type, .sport = 1, .data = data, .len = len };
	size_t joined_len = out->len - out->joined_at;
	long n = nw_frame_append(NULL, joined_len, 0, &b);

	if (out->joins && type == NW_MSG_APP_DATA && out->joined_at < out->len && out->joined > 0 &&
	    out->joined < NW_FRAME_JOINED_BLOCKS && n <= NW_FRAME_JOINED_BYTES) {
		bytes_room(out, out->joined_at + (size_t)n);
		nw_frame_append(out->p + out->joined_at, joined_len, (size_t)n, &b);
		out->len = out->joined_at + (size_t)n;
		out->joined++;
		return;
	}
	n = nw_frame_write(NULL, 0, 1, type, sid, &b, 1);
	bytes_room(out, out->len + (size_t)n);
	nw_frame_write(out->p + out->len, (size_t)n, 1, type, sid, &b, 1);
	out->joined_at = out->len;
	out->joined = type == NW_MSG_APP_DATA;
	out->len += (size_t)n;
}

static void
hello_add(struct bytes *out, const uint8_t *sid, int number)
{
	struct nw_doc_buf doc = { 0 };
	uint8_t open[20];
	char provider[32], task[32];

	snprintf(provider, sizeof(provider), "bench-%d", number);
	snprintf(task, sizeof(task), "task-%d", number);
	struct nw_kv kv[] = {
		{ .key = "provider", .type = NW_KV_TEXT, .v.text = provider },
		{ .key = "first_seq", .type = NW_KV_INT, .v.i = 1 },
		{ .key = "task_id", .type = NW_KV_TEXT, .v.text = task },
	};
	struct nw_kv subject[] = { { .key = "type", .type = NW_KV_TEXT, .v.text = "disk" } };

	frame_add(
	    out, NW_MSG_AUTH_TYPE, sid, NW_BLOCK_AUTH_TYP, (const uint8_t *)"ANON\0\0\0\0\0", 10);
	nw_open_write(open, sid);
	frame_add(out, NW_MSG_SESS_OPEN, sid, NW_BLOCK_HOP, open, sizeof(open));
	nw_kv_encode(&doc, kv, 3);
	frame_add(out, NW_MSG_APP_DATA, sid, NW_OPT_HELLO, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
	nw_meta_encode(&doc, "m", NULL, "nl:tools:calipers:summary:read", subject, 1, NULL, 0);
	frame_add(out, NW_MSG_APP_DATA, sid, NW_OPT_META, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
}

/* How they send: in TLS, a document per row or 64 rows packed, so many, rows per second of each (0:
 * all they can). */
struct load {
	bool tls, packed;
	int n_peers, rows_per_s;
};

/* One second apart, values as calipers give them: integers, and doubles with noise in every bit. */
static void
slice_make(struct bytes *out, const uint8_t *sid, bool packed, int64_t first, int n, unsigned *seed)
{
	struct nw_doc_buf doc = { 0 };
	struct nw_data d = { .mid = "m", .n_fields = FIELDS, .fields = fields };
	double v[SLICE_DOCS * FIELDS];
	int64_t t[SLICE_DOCS];
	int i, k;

	out->len = 0;
	out->joins = true;
	for (i = 0; i < n; i++) {
		t[i] = 1700000000000000000 + (first + i) * 1000000000;
		for (k = 0; k < FIELDS; k++) {
			*seed = *seed * 1103515245u + 12345u;
			v[i * FIELDS + k] =
			    k < 3 || k == 15 ? (double)(*seed >> 12) : (double)*seed / 3.0;
		}
	}
	for (i = 0; i < n && !packed; i++) {
		nw_data_encode(&doc, "m", t[i], fields, v + i * FIELDS, FIELDS, NULL, 0);
		frame_add(out, NW_MSG_APP_DATA, sid, NW_OPT_DATA, doc.data, doc.len);
	}
	if (packed) {
		d.n_rows = (size_t)n;
		d.t_wall_ns = t;
		d.values = v;
		nw_batch_doc_encode(&doc, &d);
		frame_add(out, NW_MSG_APP_DATA, sid, NW_OPT_BATCH, doc.data, doc.len);
	}
	nw_doc_buf_clear(&doc);
	out->joins = false;
}

static double
cpu_of_child(pid_t pid)
{
	char path[64], buf[1024];
	unsigned long user = 0, sys = 0;
	FILE *f;
	char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((f = fopen(path, "r")) == NULL || fgets(buf, sizeof(buf), f) == NULL ||
	    (p = strrchr(buf, ')')) == NULL)
		die(path);
	fclose(f);
	sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys);
	return (double)(user + sys) / (double)sysconf(_SC_CLK_TCK);
}

enum { MARKS = 1024 };

/* When the document of a number had been handed to the socket. */
struct mark {
	int64_t seq, sent_mono_ns;
};

struct peer {
	int fd;
	struct nw_tls *tls;
	struct bytes out;
	size_t sent, in_len;
	int64_t rows, seq, stored; /* rows and documents made; documents stored */
	int64_t next_mono_ns;      /* paced: the next row is due */
	uint8_t sid[16], in[4096];
	struct mark marks[MARKS]; /* of slices on their way, a ring */
	size_t mark_first, mark_next;
};

struct latencies {
	double *s;
	size_t n, cap;
};

/* As send() and recv(), in TLS where there is one. */
static ssize_t
peer_send(struct peer *p, const uint8_t *bytes, size_t len)
{
	const uint8_t *wire;
	size_t n;
	ssize_t k;
	long taken = 0;

	if (p->tls == NULL)
		return send(p->fd, bytes, len, MSG_NOSIGNAL);
	if (len > 0 && (taken = nw_tls_write(p->tls, bytes, len)) < 0)
		taken = 0;
	if ((n = nw_tls_output(p->tls, &wire)) > 0 && (k = send(p->fd, wire, n, MSG_NOSIGNAL)) > 0)
		nw_tls_sent(p->tls, (size_t)k);
	if (taken == 0)
		errno = EAGAIN;
	return taken > 0 ? taken : -1;
}

static bool
is_sealed(const struct peer *p)
{
	const uint8_t *wire;

	return p->tls != NULL && nw_tls_output(p->tls, &wire) > 0;
}

static ssize_t
peer_recv(struct peer *p, uint8_t *buf, size_t cap, int flags)
{
	static uint8_t wire[16384];
	ssize_t n;
	long k;

	if (p->tls == NULL)
		return recv(p->fd, buf, cap, flags);
	/* no more than fits */
	if ((n = recv(p->fd, wire, cap / 2 < sizeof(wire) ? cap / 2 : sizeof(wire), flags)) <= 0)
		return n;
	nw_tls_feed(p->tls, wire, (size_t)n);
	k = nw_tls_read(p->tls, buf, cap);
	return k > 0 ? k : -1;
}

static void
peer_secure(struct peer *p, const struct box *b)
{
	uint8_t wire[4096];
	const uint8_t *out;
	ssize_t n;
	size_t len;
	int rc;

	if (b->tls == NULL)
		return;
	if (nw_tls_new(b->tls, "127.0.0.1", &p->tls) < 0)
		die("tls");
	do {
		rc = nw_tls_handshake(p->tls);
		len = nw_tls_output(p->tls, &out);
		if (len > 0 && send(p->fd, out, len, MSG_NOSIGNAL) == (ssize_t)len)
			nw_tls_sent(p->tls, len);
		if (rc == NW_EAGAIN && (n = recv(p->fd, wire, sizeof(wire), 0)) > 0)
			nw_tls_feed(p->tls, wire, (size_t)n);
	} while (rc == NW_EAGAIN);
	if (rc < 0)
		die(nw_tls_why(p->tls));
}

/* The highest acknowledgement among the frames that have come. */
static void
acks_read(struct peer *p)
{
	struct nw_frame f;
	struct nw_block b;
	struct nw_kv kv[8];
	const char *why;
	size_t need, cursor, n, i, at = 0;
	ssize_t k = peer_recv(p, p->in + p->in_len, sizeof(p->in) - p->in_len, MSG_DONTWAIT);

	if (k == 0)
		die("the box closed");
	if (k > 0)
		p->in_len += (size_t)k;
	while (nw_frame_parse(
		   p->in + at, p->in_len - at, &nw_frame_limits_default, &f, &need, &why) == 0) {
		cursor = 0;
		if (f.type == NW_MSG_APP_DATA && nw_frame_next_block(&f, &cursor, &b) &&
		    b.type == NW_OPT_STORED && nw_kv_decode(b.data, b.len, kv, 8, &n, &why) == 0)
			for (i = 0; i < n; i++)
				if (strcmp(kv[i].key, "stored") == 0 && kv[i].v.i > p->stored)
					p->stored = kv[i].v.i;
		at += f.len;
	}
	memmove(p->in, p->in + at, p->in_len - at);
	p->in_len -= at;
}

static void
mark_sent(struct peer *p)
{
	if (p->mark_next - p->mark_first < MARKS)
		p->marks[p->mark_next++ % MARKS] = (struct mark){ p->seq, nw_mono_ns() };
}

static void
marks_take(struct peer *p, struct latencies *l)
{
	int64_t now = nw_mono_ns();

	for (; p->mark_first < p->mark_next && p->marks[p->mark_first % MARKS].seq <= p->stored;
	     p->mark_first++) {
		if (l->n == l->cap) {
			l->cap = l->cap ? 2 * l->cap : 1024;
			if ((l->s = realloc(l->s, l->cap * sizeof(*l->s))) == NULL)
				die("realloc");
		}
		l->s[l->n++] = (double)(now - p->marks[p->mark_first % MARKS].sent_mono_ns) * 1e-9;
	}
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The next slice, if there is one to be made now. */
static void
peer_make(struct peer *p, const struct load *load, int64_t each, unsigned *seed)
{
	int64_t n = each - p->rows < SLICE_DOCS ? each - p->rows : SLICE_DOCS;

	if (p->sent < p->out.len || n == 0)
		return;
	if (load->rows_per_s > 0) {
		if (nw_mono_ns() < p->next_mono_ns)
			return;
		p->next_mono_ns += 1000000000 / load->rows_per_s;
		n = 1;
	}
	slice_make(&p->out, p->sid, load->packed, p->rows, (int)n, seed);
	p->rows += n;
	p->seq += load->packed ? 1 : n;
	p->sent = 0;
}

static void
peer_push(struct peer *p)
{
	ssize_t k = peer_send(p, p->out.p + p->sent, p->out.len - p->sent);

	if (k < 0 && errno != EAGAIN)
		die("send");
	if (k > 0 && (p->sent += (size_t)k) == p->out.len)
		mark_sent(p);
}

/* Says hello at once: the box does not wait long for that. */
static void
peer_start(struct peer *p, const struct box *b, int number)
{
	p->fd = box_connect(b);
	peer_secure(p, b);
	fcntl(p->fd, F_SETFL, O_NONBLOCK);
	memset(p->sid, number + 1, 16);
	hello_add(&p->out, p->sid, number);
	peer_push(p);
}

/* Until all is stored. */
static void
peers_drive(struct peer *peers, const struct load *load, int64_t each, struct latencies *l)
{
	struct pollfd *pfd = calloc((size_t)load->n_peers, sizeof(*pfd));
	int i, left = load->n_peers;
	unsigned seed = 1;

	if (pfd == NULL)
		die("calloc");
	while (left > 0) {
		for (i = 0; i < load->n_peers; i++) {
			peer_make(&peers[i], load, each, &seed);
			pfd[i].fd = peers[i].fd;
			pfd[i].events = (short)(POLLIN |
			    (peers[i].sent < peers[i].out.len || is_sealed(&peers[i]) ? POLLOUT
										      : 0));
		}
		poll(pfd, (nfds_t)load->n_peers, load->rows_per_s > 0 ? 1 : 1000);
		for (left = load->n_peers, i = 0; i < load->n_peers; i++) {
			if (pfd[i].revents & POLLIN) {
				acks_read(&peers[i]);
				marks_take(&peers[i], l);
			}
			if (pfd[i].revents & POLLOUT)
				peer_push(&peers[i]);
			left -= peers[i].rows == each && peers[i].stored == peers[i].seq;
		}
	}
	free(pfd);
}

static void
run(const char *self, const struct load *load, int64_t n_rows, double walk_cpu)
{
	struct peer *peers = calloc((size_t)load->n_peers, sizeof(*peers));
	int64_t each = n_rows / load->n_peers, begin;
	struct latencies l = { 0 };
	struct box b = { .tls = NULL };
	double cpu, wall, samples = (double)(each * load->n_peers) * FIELDS / 1e6;
	char command[128];
	int i, status;

	if (peers == NULL)
		die("calloc");
	box_start(&b, self, load->tls, "1s");
	for (i = 0; i < load->n_peers; i++)
		peer_start(&peers[i], &b, i);
	begin = nw_mono_ns();
	for (i = 0; i < load->n_peers; i++)
		peers[i].next_mono_ns = begin + (int64_t)i * 20000000 / load->n_peers;
	cpu = cpu_of_child(b.pid);
	peers_drive(peers, load, each, &l);
	wall = (double)(nw_mono_ns() - begin) * 1e-9;
	usleep(500000); /* compaction of what is left */
	cpu = cpu_of_child(b.pid) - cpu;
	qsort(l.s, l.n, sizeof(*l.s), by_size);
	printf("%s %s %3d provider%s%s: %5.2f M samples, %5.2f M/s until stored, %.3f CPU s per M "
	       "in the box (%.1f x a bare walk), "
	       "stored after %.2f s, p99 %.2f s\n",
	    load->tls ? "tls  " : "plain", load->packed ? "packed" : "BSON  ", load->n_peers,
	    load->n_peers == 1 ? " " : "s", load->rows_per_s > 0 ? ", paced" : "", samples,
	    samples / wall, cpu / samples, cpu / samples / walk_cpu, l.n > 0 ? l.s[l.n / 2] : 0,
	    l.n > 0 ? l.s[l.n * 99 / 100] : 0);
	fflush(stdout);
	for (i = 0; i < load->n_peers; i++) {
		nw_tls_free(peers[i].tls);
		close(peers[i].fd);
		free(peers[i].out.p);
	}
	nw_tls_ctx_release(b.tls);
	kill(b.pid, SIGTERM);
	waitpid(b.pid, &status, 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", b.dir);
	if (system(command) != 0)
		die(command);
	free(peers);
	free(l.s);
}

/* CPU seconds per million samples of a bare walk over the same documents. */
static double
walk_measure(void)
{
	struct nw_doc_buf doc = { 0 };
	double v[FIELDS] = { 1, 2, 3 }, sum = 0;
	int64_t begin;
	int i, n = 200000;

	nw_data_encode(&doc, "m", 1700000000000000000, fields, v, FIELDS, NULL, 0);
	begin = nw_mono_ns();
	for (i = 0; i < n; i++) {
		bson_iter_t it, sub;
		bson_t b;

		if (!bson_init_static(&b, doc.data, doc.len) ||
		    !bson_iter_init_find(&it, &b, "data") || !bson_iter_recurse(&it, &sub))
			die("bson");
		while (bson_iter_next(&sub))
			if (BSON_ITER_HOLDS_DOUBLE(&sub))
				sum += bson_iter_double(&sub);
	}
	nw_doc_buf_clear(&doc);
	return (double)(nw_mono_ns() - begin) * 1e-9 / ((double)n * FIELDS / 1e6) + 0 * sum;
}

/* --- a recording --- */

static const struct {
	const char *what;
	bool tls, packed, lockstep;
} ways[] = {
	{ "packed", false, true, false },
	{ "documents", false, false, false },
	{ "packed, TLS", true, true, false },
	{ "documents, TLS", true, false, false },
	{ "packed, lock-step", false, true, true },
	{ "documents, lock-step", false, false, true },
};
enum { PACKED_S = 10 };

static uint32_t at[GROUPS_MAX]; /* of each group, the next row */
static double sent_bytes;       /* of the way in hand, per sample */

static void
described_add(struct bytes *out, const uint8_t *sid)
{
	struct nw_doc_buf doc = { 0 };
	struct nw_kv subject[] = { { .key = "type", .type = NW_KV_TEXT, .v.text = "disk" } };
	char mid[16];
	uint32_t g;

	for (g = 0; g < n_groups; g++) {
		snprintf(mid, sizeof(mid), "g%u", g);
		nw_meta_encode(&doc, mid, NULL, "bench", subject, 1, NULL, 0);
		frame_add(out, NW_MSG_APP_DATA, sid, NW_OPT_META, doc.data, doc.len);
		nw_doc_buf_clear(&doc);
	}
}

/* All rows before that time that were not sent, with one document for each row, or series. */
static int
rows_before(struct bytes *out, const uint8_t *sid, int64_t end_ns, bool packed)
{
	static double v[1 << 20];
	static char names[GROUPS_MAX][16];
	static const char *columns[GROUPS_MAX];
	struct nw_doc_buf doc = { 0 };
	struct nw_data d = { .fields = columns, .values = v };
	const struct group *k;
	char mid[16];
	uint32_t g, c;
	int n_docs = 0;

	for (c = 0; columns[0] == NULL || (c > 0 && c < GROUPS_MAX); c++) {
		snprintf(names[c], sizeof(names[c]), "field_%u", c);
		columns[c] = names[c];
	}
	out->len = 0;
	out->joins = true;
	for (g = 0; g < n_groups; g++) {
		k = &groups[g];
		snprintf(mid, sizeof(mid), "g%u", g);
		d.mid = mid;
		d.n_fields = k->n_columns;
		while (at[g] < k->n_rows && k->t[at[g]] < end_ns) {
			d.t_wall_ns = k->t + at[g];
			for (d.n_rows = 0; at[g] < k->n_rows && k->t[at[g]] < end_ns &&
			     (packed || d.n_rows == 0) &&
			     (d.n_rows + 1) * k->n_columns < sizeof(v) / sizeof(v[0]);
			     d.n_rows++, at[g]++)
				for (c = 0; c < k->n_columns; c++)
					v[d.n_rows * k->n_columns + c] =
					    k->value[(size_t)c * k->n_rows + at[g]];
			if (packed)
				nw_batch_doc_encode(&doc, &d);
			else
				nw_data_encode(
				    &doc, mid, d.t_wall_ns[0], columns, v, k->n_columns, NULL, 0);
			frame_add(out, NW_MSG_APP_DATA, sid, packed ? NW_OPT_BATCH : NW_OPT_DATA,
			    doc.data, doc.len);
			nw_doc_buf_clear(&doc);
			n_docs++;
		}
	}
	out->joins = false;
	return n_docs;
}

/* Until the box has taken all bytes and, if asked, stored them. */
static void
pushed(struct peer *p, bool stored)
{
	struct pollfd f = { .fd = p->fd };

	while (p->sent < p->out.len || is_sealed(p) || (stored && p->stored < p->seq)) {
		f.events = (short)(POLLIN | (p->sent < p->out.len || is_sealed(p) ? POLLOUT : 0));
		poll(&f, 1, 1000);
		if (f.revents & POLLIN)
			acks_read(p);
		if (f.revents & POLLOUT)
			peer_push(p);
	}
}

/* Bytes of the box's file without free pages, as SQLite counts them; the WAL is no part of it. */
static double
file_bytes(const struct box *b)
{
	char command[256];
	double bytes = 0;
	FILE *f;

	snprintf(command, sizeof(command),
	    "sqlite3 -readonly '%s/narrows.db' 'SELECT (page_count - freelist_count) * page_size "
	    "FROM pragma_page_count, pragma_freelist_count, pragma_page_size'",
	    b->dir);
	if ((f = popen(command, "r")) == NULL || fscanf(f, "%lf", &bytes) != 1)
		die(command);
	pclose(f);
	return bytes;
}

static void
recording_run(const char *self, size_t way, const char *kept)
{
	static struct peer p;
	int64_t step_ns = (ways[way].packed && !ways[way].lockstep ? PACKED_S : 1) * SECOND;
	int64_t from = INT64_MAX, to = INT64_MIN, end;
	struct box b = { .tls = NULL };
	double cpu, sent, open_bytes, samples = 0;
	char command[512];
	uint32_t g;
	int status;

	memset(at, 0, sizeof(at));
	sent_bytes = 0;
	p = (struct peer){ .stored = 0 };
	for (g = 0; g < n_groups; g++) {
		samples += (double)groups[g].n_rows * groups[g].n_columns;
		if (groups[g].n_rows > 0 && groups[g].t[0] < from)
			from = groups[g].t[0];
		if (groups[g].n_rows > 0 && groups[g].t[groups[g].n_rows - 1] > to)
			to = groups[g].t[groups[g].n_rows - 1];
	}
	box_start(&b, self, ways[way].tls, ways[way].lockstep ? "1ms" : "1s");
	peer_start(&p, &b, 0);
	pushed(&p, false);
	p.out.len = p.sent = 0;
	described_add(&p.out, p.sid);
	pushed(&p, false);
	cpu = cpu_of_child(b.pid);
	for (end = from; end <= to; end += step_ns) {
		p.sent = 0;
		p.seq += rows_before(&p.out, p.sid, end + step_ns, ways[way].packed);
		sent_bytes += (double)p.out.len / samples;
		pushed(&p, ways[way].lockstep);
	}
	pushed(&p, true);
	sent = cpu_of_child(b.pid) - cpu;
	sleep(4); /* a box is idle after two seconds */
	open_bytes = file_bytes(&b);
	nw_tls_free(p.tls);
	close(p.fd);
	sleep(4); /* the session is sealed a second after its end, and judged */
	printf("%-22s %12.3f %12.3f %12.2f %12.2f\n", ways[way].what, sent * 1e6 / samples,
	    (cpu_of_child(b.pid) - cpu) * 1e6 / samples, open_bytes / samples,
	    file_bytes(&b) / samples);
	fflush(stdout);
	free(p.out.p);
	nw_tls_ctx_release(b.tls);
	kill(b.pid, SIGTERM);
	waitpid(b.pid, &status, 0);
	snprintf(command, sizeof(command), "%s '%s/narrows.db' '%s'; rm -rf '%s'",
	    way == 0 && kept != NULL ? "mv" : ":", b.dir, way == 0 && kept != NULL ? kept : "",
	    b.dir);
	if (system(command) != 0)
		die(command);
}

/* Processor seconds for opening a million bytes with the cipher that TLS takes here. */
static double
cipher_measure(void)
{
	enum { RECORD_BYTES = 16384, RECORDS = 4096 };
	static uint8_t plain[RECORD_BYTES], sealed[RECORD_BYTES];
	const uint8_t key[16] = { 1 }, nonce[12] = { 2 }, head[13] = { 3 };
	struct timespec from, to;
	mbedtls_ccm_context ccm;
	uint8_t tag[16];
	int i, rc;

	mbedtls_ccm_init(&ccm);
	rc = mbedtls_ccm_setkey(&ccm, MBEDTLS_CIPHER_ID_AES, key, 128);
	if (rc == 0)
		rc = mbedtls_ccm_encrypt_and_tag(&ccm, sizeof(plain), nonce, sizeof(nonce), head,
		    sizeof(head), plain, sealed, tag, sizeof(tag));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (i = 0; rc == 0 && i < RECORDS; i++)
		rc = mbedtls_ccm_auth_decrypt(&ccm, sizeof(sealed), nonce, sizeof(nonce), head,
		    sizeof(head), sealed, plain, tag, sizeof(tag));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	mbedtls_ccm_free(&ccm);
	if (rc != 0)
		die("AES");
	return ((double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9) *
	    1e6 / ((double)RECORDS * RECORD_BYTES);
}

static int
recording_main(const char *self, const char *recording, const char *kept, const char *only)
{
	size_t way;

	recording_open(recording);
	printf("%-22s %12s %12s %12s %12s\n", "CPU s per M samples", "until stored", "with sealing",
	    "B/sample open", "sealed");
	for (way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
		if (only == NULL || strcmp(only, ways[way].what) == 0)
			recording_run(self, way, kept);
	printf("cipher alone           %12.3f   (of %.1f bytes a sample)\n",
	    cipher_measure() * sent_bytes, sent_bytes);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct load loads[] = {
		{ false, false, 1, 0 },
		{ false, false, 20, 0 },
		{ false, false, 500, 0 },
		{ false, true, 1, 0 },
		{ false, true, 20, 0 },
		{ false, true, 500, 0 },
		{ true, false, 1, 0 },
		{ true, false, 20, 0 },
		{ true, false, 500, 0 },
		{ true, true, 20, 0 },
		{ false, false, 20, 50 },
		{ true, false, 20, 50 },
	};
	int64_t rows = argc > 1 ? atoll(argv[1]) : 400000;
	double walk;
	size_t i;

	if (argc > 1 && strcmp(argv[1], "recording") == 0)
		return recording_main(argv[0], argc > 2 ? argv[2] : NULL,
		    argc > 3 && strcmp(argv[3], "-") != 0 ? argv[3] : NULL,
		    argc > 4 ? argv[4] : NULL);
	walk = walk_measure();
	printf("bare libbson walk: %.4f CPU s per M samples\n", walk);
	for (i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		if (argc > 2 && strcmp(argv[2], loads[i].tls ? "tls" : "plain") != 0)
			continue;
		run(argv[0], &loads[i],
		    loads[i].rows_per_s > 0 ? 3L * loads[i].n_peers * loads[i].rows_per_s : rows,
		    walk);
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions of every kind, made at random: paths of one or two ends, programs of one or several
 * threads, with and without the kernel's accounts, devices, processors, replays and earlier
 * sessions of the route. The sentences of no document contradict figures or each other. -s takes
 * the seed, -n the number of sessions.
 */

#include "narrows/cells.h"
#include "narrows/eventtype.h"
#include "tests/transfer.h"

enum { DEFAULT = 60, A_ROUTE = 5, LONG_ROUTE = 25, WINDOWS_MAX = 90, OP = 65536, HOST_FIELDS = 3 };

static int64_t next_id;

struct made {
	int64_t session;
	int windows;
	double bytes_per_s;
	double share[NW_OP_COUNT]; /* of the time; 0: no such operation */
	bool waits[NW_OP_COUNT];   /* in poll instead of calls */
	double noise;
	int threads;
	int turn; /* the window in which another operation becomes the slow one; -1: none */
};

static bool
chance(double p)
{
	return noise_uniform() < p;
}

static double
between(double low, double high)
{
	return low + (high - low) * noise_uniform();
}

static double
scattered(double low, double high)
{
	return low * pow(high / low, noise_uniform());
}

/* --- stages --- */

struct row_of {
	const struct made *of;
	enum nw_op op;
};

static void
row_fill(void *arg, int window, struct transfer_row *out)
{
	const struct row_of *r = arg;
	const struct made *m = r->of;
	double share = m->share[r->op] * (1 + m->noise * (2 * noise_uniform() - 1));

	if (m->turn >= 0 && window >= m->turn)
		share = 1 - share;
	share = fmin(m->threads > 1 ? 1 : 0.97, fmax(0.001, share));
	out->bytes = m->bytes_per_s * (1 + m->noise * (2 * noise_uniform() - 1) / 2);
	out->count = ceil(out->bytes / OP);
	out->rate = m->bytes_per_s / share;
	*(m->waits[r->op] ? &out->wait : &out->busy) = share;
	out->threads = m->threads;
}

static void
stage_put(struct nw_batch *b, const struct made *m, enum nw_op op, int64_t host)
{
	static const struct {
		const char *op, *type;
	} names[NW_OP_COUNT] = { [NW_OP_DISK_READ] = { "read", "disk" },
		[NW_OP_NET_WRITE] = { "write", "network" },
		[NW_OP_NET_READ] = { "read", "network" },
		[NW_OP_DISK_WRITE] = { "write", "disk" } };
	struct row_of r = { m, op };

	if (m->share[op] > 0)
		transfer_stage(b, ++next_id, m->session, host, names[op].op, names[op].type,
		    m->windows, row_fill, &r);
}

/* --- what is measured beside --- */

/* n rows of a series: one a second, or all at the end. */
static void
series_put(struct nw_batch *b, const struct made *m, int64_t host, const char *event,
    const char *subject, const char *const *fields, size_t n_fields, const double *rows, int n)
{
	bool of_host = strncmp(event, NW_TYPE_BLIPP, strlen(NW_TYPE_BLIPP)) == 0 &&
	    strcmp(event, NW_TYPE_REPLAY) != 0;
	char mid[32];
	struct nw_meta_rec meta = { .id = ++next_id,
		.session_id = of_host ? 0 : m->session,
		.host_id = host,
		.xsp_id = of_host ? 0 : 10 * m->session + host,
		.mid = mid,
		.event_type = event,
		.subject_json = subject,
		.params_json = "{\"collectionInterval\":1}" };
	struct nw_layout_rec l = {
		.id = next_id, .meta_id = next_id, .n_fields = n_fields, .fields = fields
	};
	int i;

	snprintf(mid, sizeof(mid), "m%" PRId64, next_id);
	CHECK(nw_batch_meta(b, &meta) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	for (i = 0; i < n; i++) {
		int64_t at =
		    TRANSFER_T0 + (transfer_from + (n == 1 ? m->windows : i + 1)) * TRANSFER_STEP;

		CHECK(nw_batch_rows(b, next_id, n_fields, 1, &at, rows + (size_t)i * n_fields, NULL,
			  0) == NW_OK);
	}
}

static void
connection_put(struct nw_batch *b, const struct made *m)
{
	static const char *const fields[] = { "bytes_out", "busy_s", "rwnd_limited_s",
		"sndbuf_limited_s", "retrans", "rtt_s", "rtt_min_s", "cwnd_bytes", "delivery_rate",
		"snd_wnd", "snd_mss" };
	enum { N = sizeof(fields) / sizeof(fields[0]) };
	double rows[WINDOWS_MAX][N],
	    busy = between(0.02, 1), rwnd = chance(0.4) ? between(0, busy) : 0,
	    sndbuf = chance(0.3) ? between(0, busy - rwnd) : 0, rtt = scattered(1e-4, 0.1),
	    loss = chance(0.3) ? 20 * noise_uniform() : 0, room = between(1, 3);
	bool short_words = chance(0.3);
	int i;

	for (i = 0; i < m->windows; i++) {
		const double s = i + 1;
		const double row[N] = { m->bytes_per_s, busy * s, rwnd * s, sndbuf * s,
			floor(loss * s), short_words ? NAN : rtt * between(1, 2),
			short_words ? NAN : rtt, short_words ? NAN : scattered(1e4, 1e7),
			short_words ? NAN : m->bytes_per_s * between(1, room),
			short_words ? NAN : scattered(6e4, 6e6), 1448 };

		memcpy(rows[i], row, sizeof(row));
	}
	series_put(b, m, 1, NW_TYPE_CONNECTION,
	    "{\"src\":\"192.0.2.1\",\"dst\":\"192.0.2.2\",\"sport\":1,\"dport\":2}", fields, N,
	    &rows[0][0], m->windows);
}

static void
process_put(struct nw_batch *b, const struct made *m, int64_t host)
{
	static const char *const fields[] = { "cpu_user", "cpu_sys", "cpu_wait", "blocked",
		"paused_s", "throttled", "combined_bytes", "read_bytes", "rchar", "seen_read" };
	enum { N = sizeof(fields) / sizeof(fields[0]) };
	double rows[WINDOWS_MAX][N],
	    cpu = noise_uniform(), wait = chance(0.4) ? noise_uniform() * (1 - cpu) : 0,
	    paused = chance(0.3) ? noise_uniform() * (1 - cpu) : 0,
	    throttled = chance(0.1) ? wait : 0, combined = chance(0.3) ? m->bytes_per_s : 0,
	    device = chance(0.5) ? m->bytes_per_s : 0, seen = chance(0.9) ? 1 : noise_uniform();
	char subject[96];
	int i;

	for (i = 0; i < m->windows; i++) {
		const double row[N] = { cpu * 0.7, cpu * 0.3, wait, chance(0.1) ? 0.1 : 0, paused,
			throttled, combined, device, m->bytes_per_s, m->bytes_per_s * seen };

		memcpy(rows[i], row, sizeof(row));
	}
	snprintf(subject, sizeof(subject), "{\"pid\":%d,\"program\":\"mover\",\"ppid\":1}",
	    100 + (int)host);
	series_put(b, m, host, NW_TYPE_PROCESS, subject, fields, N, &rows[0][0], m->windows);
}

static void
host_put(struct nw_batch *b, const struct made *m, int64_t host)
{
	static const char *const cpu[] = { "idle", "iowait", "steal" },
				 *const memory[] = { "writeback", "dirty", "free" },
				 *const disk[] = { "read_bytes", "written_bytes", "io_ms",
					 "queued_read_bytes", "read_limit", "queued_write_bytes",
					 "write_limit" };
	double idle = noise_uniform(), limit = m->bytes_per_s * scattered(0.8, 10),
	       queued = chance(0.5) ? scattered(1e3, 1e7) : 0, load = noise_uniform() * 1e3;
	double cpus[WINDOWS_MAX][3], kib[WINDOWS_MAX][3], device[WINDOWS_MAX][7];
	bool limited = chance(0.5);
	int i;

	for (i = 0; i < m->windows; i++) {
		const double s = i + 1, c[] = { idle, (1 - idle) * noise_uniform(), 0 },
			     k[] = { scattered(10, 1e5), scattered(10, 1e5), 1e6 },
			     d[] = { m->bytes_per_s * s, m->bytes_per_s * s, load * s, queued,
				     limited ? limit : NAN, queued, limited ? limit : NAN };

		memcpy(cpus[i], c, sizeof(c));
		memcpy(kib[i], k, sizeof(k));
		memcpy(device[i], d, sizeof(d));
	}
	if (chance(0.7))
		series_put(b, m, host, NW_TYPE_CPU, "{\"type\":\"host\"}", cpu, 3, &cpus[0][0],
		    m->windows);
	if (chance(0.5))
		series_put(b, m, host, NW_TYPE_MEMORY, "{\"type\":\"host\"}", memory, 3, &kib[0][0],
		    m->windows);
	if (chance(0.5))
		series_put(b, m, host, NW_TYPE_DISK "partition:sda", "{\"device\":\"sda\"}", disk,
		    7, &device[0][0], m->windows);
}

static void
file_put(struct nw_batch *b, const struct made *m, int64_t host, bool write)
{
	static const char *const fields[] = { "ops", "bytes", "s", "forward", "random" };
	static uint64_t counts[NW_HIST_BUCKETS];
	uint8_t packed[NW_HIST_ENCODED_MAX_BYTES];
	double bytes = m->bytes_per_s * m->windows, ops = ceil(bytes / OP), apart = noise_uniform(),
	       s = m->share[write ? NW_OP_DISK_WRITE : NW_OP_DISK_READ] * m->windows;
	const double row[] = { ops, bytes, s, ops * (1 - apart), ops * apart };
	uint64_t slow = (uint64_t)(ops * noise_uniform());
	char mid[32], subject[96];
	struct nw_meta_rec meta = { .id = ++next_id,
		.session_id = m->session,
		.host_id = host,
		.xsp_id = 10 * m->session + host,
		.mid = mid,
		.event_type = write ? NW_TYPE_CELLS "write" : NW_TYPE_CELLS "read",
		.subject_json = subject,
		.params_json = "{}" };
	struct nw_layout_rec l = {
		.id = next_id, .meta_id = next_id, .n_fields = 5, .fields = fields
	};
	uint64_t *octave = counts + nw_cell_octave(OP) * NW_HIST_SUB;
	int64_t at = TRANSFER_T0 + (transfer_from + 1) * TRANSFER_STEP;

	memset(counts, 0, sizeof(counts));
	octave[nw_cell_duration(20000)] = (uint64_t)ops - slow;
	octave[nw_cell_duration((uint64_t)scattered(1e5, 1e8))] += slow;
	snprintf(mid, sizeof(mid), "m%" PRId64, next_id);
	snprintf(subject, sizeof(subject), "{\"resource\":\"/data/%s\",\"pid\":%d}",
	    write ? "out" : "in", 100 + (int)host);
	CHECK(nw_batch_meta(b, &meta) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	CHECK(nw_batch_rows(b, next_id, 5, 1, &at, row, packed, nw_hist_encode(packed, counts)) ==
	    NW_OK);
}

static void
replay_put(struct nw_batch *b, const struct made *m, int64_t host, const char *way)
{
	static const char *const fields[] = { "bytes", "calls_s", "took_s", "cost_bytes",
		"cost_s" };
	double bytes = chance(0.1) ? NAN : m->bytes_per_s * between(0.2, 2),
	       s = bytes / (m->bytes_per_s * scattered(0.7, 20));
	const double row[] = { bytes, s * 0.9, s, m->bytes_per_s, 1 };
	char subject[64];

	snprintf(subject, sizeof(subject), "{\"type\":\"host\",\"way\":\"%s\"}", way);
	series_put(b, m, host, NW_TYPE_REPLAY, subject, fields, 5, row, 1);
}

/* --- a session --- */

static void
made_init(struct made *m, int64_t session, double bytes_per_s)
{
	bool sends = chance(0.85), receives = !sends || chance(0.85), threads = chance(0.3);
	int slow = (int)(noise_bits() % NW_OP_COUNT), op;

	*m = (struct made){ .session = session,
		.windows = 3 + (int)(noise_bits() % (chance(0.3) ? 10 : WINDOWS_MAX - 3)),
		.bytes_per_s = bytes_per_s,
		.noise = chance(0.3) ? 0.02 : between(0.05, 1),
		.threads = threads ? 1 + (int)(noise_bits() % 8) : 1,
		.turn = -1 };
	if (chance(0.2))
		m->turn = (int)(noise_bits() % (uint64_t)m->windows);
	for (op = 0; op < NW_OP_COUNT; op++) {
		m->share[op] = op == slow ? between(0.3, 0.98) : between(0.01, 0.6);
		m->waits[op] = (op == NW_OP_NET_READ || op == NW_OP_NET_WRITE) && chance(0.5);
	}
	if (!sends)
		m->share[NW_OP_NET_WRITE] = m->share[NW_OP_DISK_READ] = 0;
	if (!receives)
		m->share[NW_OP_NET_READ] = m->share[NW_OP_DISK_WRITE] = 0;
	if (chance(0.2))
		m->share[NW_OP_DISK_READ] = 0;
	if (chance(0.2))
		m->share[NW_OP_DISK_WRITE] = 0;
	if (chance(0.1)) /* a copy on one host */
		m->share[NW_OP_NET_WRITE] = m->share[NW_OP_NET_READ] = 0;
}

static void
session_put(struct nw_batch *b, const struct made *m)
{
	static const int64_t host_of[NW_OP_COUNT] = { [NW_OP_DISK_READ] = 1,
		[NW_OP_NET_WRITE] = 1,
		[NW_OP_NET_READ] = 2,
		[NW_OP_DISK_WRITE] = 2 };
	bool local = m->share[NW_OP_NET_WRITE] == 0 && m->share[NW_OP_NET_READ] == 0;
	int64_t host;
	int op;

	transfer_session(b, m->session, m->windows);
	for (op = 0; op < NW_OP_COUNT; op++)
		stage_put(b, m, (enum nw_op)op, local ? 1 : host_of[op]);
	if (m->share[NW_OP_NET_WRITE] > 0 && chance(0.7))
		connection_put(b, m);
	for (host = 1; host <= (local ? 1 : 2); host++) {
		if (m->share[host == 1 ? NW_OP_NET_WRITE : NW_OP_NET_READ] == 0 && !local)
			continue;
		if (chance(0.7))
			process_put(b, m, host);
		if (chance(0.7))
			host_put(b, m, host);
	}
	if (m->share[NW_OP_DISK_READ] > 0 && chance(0.6)) {
		file_put(b, m, 1, false);
		if (chance(0.4))
			replay_put(b, m, 1, "read");
	}
	if (m->share[NW_OP_DISK_WRITE] > 0 && chance(0.6)) {
		file_put(b, m, local ? 1 : 2, true);
		if (chance(0.4))
			replay_put(b, m, local ? 1 : 2, "write");
	}
	if (m->share[NW_OP_NET_WRITE] > 0 && chance(0.3))
		replay_put(b, m, 1, "send");
}

/* Stores the judgement for those of later sessions. Takes the document. */
static void
result_put(struct store *st, const struct made *m, const struct analysis *a, json_t *doc)
{
	const struct judgement *j = &a->judgement;
	struct nw_batch *b = nw_batch_new();
	char *text = json_dumps(doc, JSON_COMPACT);

	CHECK_INT(nw_batch_result(b,
		      &(struct nw_result_rec){ .session_id = m->session,
			  .json = text,
			  .route = j->route,
			  .program = j->program,
			  .bytes = j->bytes,
			  .bytes_per_s = j->bytes_per_s,
			  .effect = NAN,
			  .start_wall_ns = j->first_wall_ns,
			  .duration_ns = 1000000000,
			  .usual = NAN,
			  .exit_status = NAN }),
	    NW_OK);
	filled_commit(st, b);
	free(text);
	json_decref(doc);
}

/* Sessions that differ a little, or by far; a long route has both ends, and becomes slow. */
static void
next_init(struct made *m, int session, int n, double bytes_per_s)
{
	double ratio = chance(0.3) ? scattered(0.2, 5) : between(0.9, 1.1);

	if (n == LONG_ROUTE)
		ratio = between(0.8, 1.25) * (session > LONG_ROUTE * 4 / 5 ? 0.3 : 1);
	do
		made_init(m, session, bytes_per_s * ratio);
	while (
	    n == LONG_ROUTE && (m->share[NW_OP_NET_WRITE] == 0 || m->share[NW_OP_NET_READ] == 0));
}

/* A store with the sessions of one route, each judged after the sessions before. */
static void
route_check(int n)
{
	struct store *st = filled_open(filled_path[0] != '\0' ? filled_path : NULL);
	double bytes_per_s = scattered(1e6, 1e9);
	struct analysis a;
	struct made m;
	int i;

	transfer_from = 0;
	for (i = 1; i <= n; i++) {
		struct nw_batch *b = nw_batch_new();

		next_init(&m, i, n, bytes_per_s);
		session_put(b, &m);
		filled_commit(st, b);
		result_put(st, &m, &a, transfer_analyse(filled_path, i, &a));
		analysis_clear(&a);
		transfer_from += m.windows + 10;
	}
	store_close(st);
	CHECK_INT(unlink(filled_path), 0);
}

int
main(int argc, char **argv)
{
	int n = DEFAULT, done;

	noise_seed(argc, argv, 20260);
	if (argc > 4 && strcmp(argv[3], "-n") == 0)
		n = atoi(argv[4]);
	transfer_init();
	for (done = 0; done < n; done += A_ROUTE) {
		uint64_t from = noise_state;
		int before = check_failed;

		route_check(done % (4 * A_ROUTE) == 0 ? LONG_ROUTE : A_ROUTE);
		if (check_failed > before)
			fprintf(stderr, "route of -s %" PRIu64 "\n", from);
	}
	filled_remove();
	return check_done("test_resultdoc_claims");
}

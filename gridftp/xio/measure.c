/* SPDX-License-Identifier: BSD-3-Clause */
#include "gridftp/xio/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "host/lib/uuid.h"
#include "narrows/clock.h"
#include "narrows/err.h"

/* Operations that may be under way on a flow without a further call for memory. */
enum { OPS_PER_FLOW = 2 };

void
measure_init(struct measure *m, bool threads)
{
	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
	m->pid = getpid();
	m->threads = threads;
}

int64_t
measure_apart_ns(const struct measure *m, int64_t now_mono_ns)
{
	int64_t ns = m->apart_ns;

	if (m->apart_since_mono_ns != 0 && now_mono_ns > m->apart_since_mono_ns)
		ns += now_mono_ns - m->apart_since_mono_ns;
	return ns;
}

/* --- sessions --- */

struct session *
session_find(struct measure *m, const char *task_id)
{
	struct session *s;

	for (s = m->sessions; s != NULL; s = s->next)
		if (s->chosen && strcmp(s->task_id, task_id) == 0)
			return s;
	return NULL;
}

static struct session *
session_new(struct measure *m, const struct options *o, int64_t now_mono_ns)
{
	struct session *s;

	if (m->n_sessions >= SESSIONS_MAX || (s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	if (o->task_id[0] == '\0' && uuid_make(s->task_id) < 0) {
		free(s);
		return NULL;
	}
	s->number = ++m->sessions_made;
	s->options = *o;
	s->born_mono_ns = s->used_mono_ns = now_mono_ns;
	s->next = m->sessions;
	m->sessions = s;
	m->n_sessions++;
	return s;
}

/* Gives a session the name that an option chose. */
static void
session_choose(struct session *s, const struct options *o)
{
	s->chosen = true;
	s->options = *o;
	strcpy(s->task_id, o->task_id);
}

/* Brings the open flows without a name into the session. */
static void
session_follow(struct measure *m, struct session *s)
{
	struct flow *f;

	for (f = m->flows; f != NULL; f = f->next)
		if (f->follows && !f->closed && f->session != s) {
			f->session->flows--;
			f->session = s;
			s->flows++;
			s->streams += f->label.kind == FLOW_NET;
		}
}

/* For a flow without a name: the newest session with open flows, else one without a chosen name. */
static struct session *
session_of_process(struct measure *m)
{
	struct session *s, *unnamed = NULL;

	for (s = m->sessions; s != NULL; s = s->next) {
		if (s->flows > 0)
			return s;
		if (!s->chosen && unnamed == NULL)
			unnamed = s;
	}
	return unnamed;
}

/* For a flow with a name: the session of the name, else the session without a name, as long as the
 * box does not know its random name. */
static struct session *
session_of_task(struct measure *m, const char *task_id)
{
	struct session *s = session_find(m, task_id);

	if (s != NULL)
		return s;
	for (s = m->sessions; s != NULL && (s->chosen || s->started); s = s->next)
		;
	return s;
}

static struct session *
session_pick(struct measure *m, const struct options *o, int64_t now_mono_ns)
{
	bool named = o->task_id[0] != '\0';
	struct session *s = named ? session_of_task(m, o->task_id) : session_of_process(m);

	if (s == NULL && (s = session_new(m, o, now_mono_ns)) == NULL)
		return NULL;
	if (named && !s->chosen)
		session_choose(s, o);
	if (named)
		session_follow(m, s);
	return s;
}

static bool
session_is_idle(const struct session *s)
{
	unsigned i, under_way = 0;

	for (i = 0; i < STAGES; i++)
		under_way += s->meter[i].under_way;
	return s->flows == 0 && under_way == 0;
}

bool
session_free(struct measure *m, struct session *s)
{
	struct session **at;
	unsigned i;

	if (!session_is_idle(s))
		return false;
	for (at = &m->sessions; *at != NULL && *at != s; at = &(*at)->next)
		;
	if (*at != NULL)
		*at = s->next;
	m->n_sessions--;
	for (i = 0; i < STAGES; i++)
		meter_clear(&s->meter[i]);
	free(s);
	return true;
}

/* --- flows --- */

static int
ops_reserve(struct measure *m)
{
	struct op *o;
	int i;

	for (i = 0; i < OPS_PER_FLOW; i++) {
		if ((o = malloc(sizeof(*o))) == NULL)
			return NW_ENOMEM;
		o->next = m->free_ops;
		m->free_ops = o;
	}
	return NW_OK;
}

/* Memory for both directions: the first operation decides the direction. */
static int
session_ready(struct measure *m, struct session *s, enum flow_kind kind)
{
	if (meter_ready(&s->meter[2 * kind + FLOW_READ]) < 0 ||
	    meter_ready(&s->meter[2 * kind + FLOW_WRITE]) < 0)
		return NW_ENOMEM;
	return ops_reserve(m);
}

static struct flow *
flow_new(const struct flow_label *label)
{
	struct flow *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->label = *label;
	f->last_end = -1;
	f->label.path = label->path != NULL ? strdup(label->path) : NULL;
	if (label->path != NULL && f->label.path == NULL) {
		free(f);
		return NULL;
	}
	return f;
}

static void
flow_put(struct measure *m, struct flow *f, struct session *s, int64_t now_mono_ns)
{
	f->session = s;
	f->next = m->flows;
	m->flows = f;
	m->n_flows++;
	f->number = ++m->opens;
	s->flows++;
	s->streams += f->label.kind == FLOW_NET;
	s->used_mono_ns = now_mono_ns;
}

struct flow *
flow_open(struct measure *m, const struct flow_label *label, const struct options *options,
    bool exact, int64_t now_mono_ns)
{
	struct flow *f = NULL;
	struct session *s = NULL;

	pthread_mutex_lock(&m->lock);
	if (m->n_flows < FLOWS_MAX && !m->no_sender)
		s = session_pick(m, options, now_mono_ns);
	if (s != NULL && session_ready(m, s, label->kind) == NW_OK)
		f = flow_new(label);
	if (f != NULL) {
		f->follows = options->task_id[0] == '\0';
		f->exact = exact;
		flow_put(m, f, s, now_mono_ns);
	} else {
		m->missed_flows++;
	}
	pthread_mutex_unlock(&m->lock);
	return f;
}

void
flow_closing(struct measure *m, struct flow *f)
{
	socklen_t len = sizeof(f->tcp_info);

	pthread_mutex_lock(&m->lock);
	if (f->label.fd >= 0 && f->label.kind == FLOW_NET &&
	    getsockopt(f->label.fd, IPPROTO_TCP, TCP_INFO, f->tcp_info, &len) == 0)
		f->tcp_info_len = len;
	f->label.fd = -1;
	pthread_mutex_unlock(&m->lock);
}

void
flow_free(struct measure *m, struct flow *f)
{
	struct flow **at;

	for (at = &m->flows; *at != NULL && *at != f; at = &(*at)->next)
		;
	if (*at != NULL)
		*at = f->next;
	m->n_flows--;
	free((char *)f->label.path);
	free(f);
}

void
flow_close(struct measure *m, struct flow *f, int64_t now_mono_ns)
{
	pthread_mutex_lock(&m->lock);
	f->closed = true;
	f->label.fd = -1;
	f->session->flows--;
	f->session->used_mono_ns = now_mono_ns;
	f->sum[FLOW_READ].header_ns += f->pending_ns;
	f->pending_ns = 0;
	if (m->no_sender)
		flow_free(m, f);
	pthread_mutex_unlock(&m->lock);
}

void
flow_seek(struct measure *m, struct flow *f, int64_t offset)
{
	pthread_mutex_lock(&m->lock);
	f->at = offset;
	pthread_mutex_unlock(&m->lock);
}

/* --- operations --- */

static struct meter *
meter_of(const struct op *o)
{
	return &o->session->meter[2 * o->flow->label.kind + o->dir];
}

/* What the meter of the kind leaves out: streams the time in disks' calls. */
static int64_t
apart_of(const struct measure *m, enum flow_kind kind, int64_t now_mono_ns)
{
	return kind == FLOW_NET ? measure_apart_ns(m, now_mono_ns) : 0;
}

/* Whether the operation stops the one thread of the process. */
static bool
op_stops_all(const struct measure *m, const struct op *o)
{
	return o->exact && !m->threads && o->flow->label.kind == FLOW_DISK;
}

/* A message of a header alone tells the end of the data, of the file or of the channel, and has no
 * bytes behind. */
static bool
is_last_header(const uint8_t *h)
{
	enum { CLOSE = 0x04, END_OF_DATA = 0x08, END_OF_FILE = 0x40 };
	static const uint8_t no_bytes[8];

	return (h[0] & (CLOSE | END_OF_DATA | END_OF_FILE)) != 0 &&
	    memcmp(h + 1, no_bytes, sizeof(no_bytes)) == 0;
}

/* How many of the first bytes are a header. Streams of mode E read a header by itself, and write it
 * in a buffer of its own before the block, or alone. */
static size_t
header_of(const struct flow *f, enum flow_dir dir, const uint8_t *buf, size_t first_bytes,
    int n_bufs, size_t bytes)
{
	if (f->label.kind != FLOW_NET)
		return 0;
	if (dir == FLOW_READ)
		return bytes == HEADER_BYTES && f->block_left == 0 ? HEADER_BYTES : 0;
	if (f->header_left > 0)
		return f->header_left;
	if (first_bytes != HEADER_BYTES)
		return 0;
	return n_bufs > 1 || (buf != NULL && is_last_header(buf)) ? HEADER_BYTES : 0;
}

static struct op *
op_new(struct measure *m)
{
	struct op *o = m->free_ops;

	if (o != NULL)
		m->free_ops = o->next;
	else
		o = malloc(sizeof(*o));
	return o;
}

static void
op_unref(struct measure *m, struct op *o)
{
	if (--o->refs > 0)
		return;
	o->next = m->free_ops;
	m->free_ops = o;
}

struct op *
op_begin(struct measure *m, struct flow *f, enum flow_dir dir, const uint8_t *buf,
    size_t first_bytes, int n_bufs, size_t bytes, int64_t now_mono_ns)
{
	struct op *o;

	pthread_mutex_lock(&m->lock);
	if ((o = op_new(m)) == NULL) {
		f->session->missed_ops++;
		goto out;
	}
	o->flow = f;
	o->session = f->session;
	o->dir = dir;
	o->buf = buf;
	o->exact = f->exact;
	o->left = false;
	o->refs = 2;
	o->header_bytes = header_of(f, dir, buf, first_bytes, n_bufs, bytes);
	o->header_read = o->header_bytes > 0 && dir == FLOW_READ;
	if (now_mono_ns == OP_NOW)
		now_mono_ns = nw_caliper_now();
	o->begin_mono_ns = now_mono_ns;
	o->end_mono_ns = 0;
	atomic_store_explicit(&o->told_end_mono_ns, 0, memory_order_relaxed);
	o->apart_ns = apart_of(m, f->label.kind, now_mono_ns);
	meter_begin(meter_of(o), now_mono_ns, o->apart_ns);
	if (op_stops_all(m, o))
		m->apart_since_mono_ns = now_mono_ns;
out:
	pthread_mutex_unlock(&m->lock);
	return o;
}

/* Ends the operation's time. */
static void
op_leave(struct measure *m, struct op *o, int64_t now_mono_ns)
{
	int64_t told_mono_ns = atomic_load_explicit(&o->told_end_mono_ns, memory_order_relaxed);

	if (o->left)
		return;
	if (told_mono_ns != 0)
		now_mono_ns = told_mono_ns;
	if (now_mono_ns == OP_NOW)
		now_mono_ns = nw_caliper_now();
	o->left = true;
	o->end_mono_ns = now_mono_ns;
	meter_end(meter_of(o), now_mono_ns, apart_of(m, o->flow->label.kind, now_mono_ns));
	if (!op_stops_all(m, o) || m->apart_since_mono_ns == 0)
		return;
	m->apart_ns += now_mono_ns - m->apart_since_mono_ns;
	m->apart_since_mono_ns = 0;
}

void
op_returned(struct measure *m, struct op *o, int64_t now_mono_ns)
{
	pthread_mutex_lock(&m->lock);
	if (o->exact)
		op_leave(m, o, now_mono_ns);
	op_unref(m, o);
	pthread_mutex_unlock(&m->lock);
}

void
op_failed(struct measure *m, struct op *o, int64_t now_mono_ns)
{
	pthread_mutex_lock(&m->lock);
	op_leave(m, o, now_mono_ns);
	o->flow->sum[o->dir].errors++;
	o->refs = 1;
	op_unref(m, o);
	pthread_mutex_unlock(&m->lock);
}

static int64_t
op_duration(struct measure *m, const struct op *o)
{
	int64_t ns = o->end_mono_ns - o->begin_mono_ns,
		apart_ns = apart_of(m, o->flow->label.kind, o->end_mono_ns) - o->apart_ns;

	return ns > apart_ns ? ns - apart_ns : 0;
}

static void
file_step(struct flow *f, struct flow_sum *sum, size_t bytes)
{
	if (f->last_end >= 0 && f->at != f->last_end)
		sum->jumps++;
	f->at += (int64_t)bytes;
	f->last_end = f->at;
}

/* Splits the header off. Returns the bytes of the file. */
static size_t
payload_of(struct flow *f, const struct op *o, struct flow_sum *sum, size_t bytes)
{
	size_t header = bytes < o->header_bytes ? bytes : o->header_bytes;

	if (o->header_bytes == 0)
		return bytes;
	sum->header_bytes += header;
	f->header_left = o->dir == FLOW_WRITE ? o->header_bytes - header : 0;
	return bytes - header;
}

/* The length in a header: eight bytes behind the first, the highest first. */
static uint64_t
block_bytes(const uint8_t *header)
{
	uint64_t n = 0;
	int i;

	for (i = 1; i <= 8; i++)
		n = n << 8 | header[i];
	return n;
}

static void
op_count(struct measure *m, struct op *o, size_t bytes)
{
	struct flow *f = o->flow;
	struct flow_sum *sum = &f->sum[o->dir];
	int64_t ns = op_duration(m, o);
	size_t payload = payload_of(f, o, sum, bytes);

	if (o->header_read) {
		f->pending_ns += ns;
		if (bytes == HEADER_BYTES)
			f->block_left = block_bytes(o->buf);
		return;
	}
	if (o->dir == FLOW_READ) {
		ns += f->pending_ns;
		f->pending_ns = 0;
		f->block_left -= payload < f->block_left ? payload : f->block_left;
	}
	if (payload == 0) {
		sum->header_ns += o->header_bytes > 0 ? ns : 0;
		return;
	}
	sum->bytes += payload;
	sum->ops++;
	sum->ns += ns;
	if (f->label.kind == FLOW_DISK)
		file_step(f, sum, payload);
	meter_count(meter_of(o), payload, ns, o->end_mono_ns);
}

void
op_done(struct measure *m, struct op *o, size_t bytes, enum op_outcome outcome, int64_t now_mono_ns)
{
	struct flow *f = o->flow;

	pthread_mutex_lock(&m->lock);
	op_leave(m, o, now_mono_ns);
	f->sum[o->dir].errors += outcome == OP_FAILED;
	if (outcome == OP_OK && bytes == 0 && f->label.kind == FLOW_DISK)
		f->exact = false;
	op_count(m, o, bytes);
	op_unref(m, o);
	pthread_mutex_unlock(&m->lock);
}

/* --- text --- */

static size_t
summary_of(struct measure *m, const struct session *s, int64_t now_mono_ns, char *out, size_t cap)
{
	static const char *const names[STAGES] = { "disk.read", "disk.write", "net.read",
		"net.write" };
	int64_t apart_ns = measure_apart_ns(m, now_mono_ns);
	size_t len =
	    (size_t)snprintf(out, cap, "narrows task=%s streams=%u", s->task_id, s->streams);
	unsigned i;

	for (i = 0; i < STAGES && len < cap; i++)
		if (s->meter[i].ops > 0)
			len += (size_t)snprintf(out + len, cap - len, " %s=%llu/%.6fs", names[i],
			    (unsigned long long)s->meter[i].bytes,
			    (double)meter_busy_ns(
				&s->meter[i], now_mono_ns, stage_is_disk(i) ? 0 : apart_ns) *
				1e-9);
	return len;
}

char *
measure_summary(struct measure *m, const char *task_id, int64_t now_mono_ns)
{
	enum { SUMMARY_BYTES = 512 };
	char *text = malloc(SUMMARY_BYTES);
	const struct session *s;

	pthread_mutex_lock(&m->lock);
	s = session_find(m, task_id);
	if (s == NULL || text == NULL ||
	    summary_of(m, s, now_mono_ns, text, SUMMARY_BYTES) >= SUMMARY_BYTES) {
		free(text);
		text = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	return text;
}

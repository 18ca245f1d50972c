/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The provider: documents of host programs for a box, kept until the box has stored them.
 *
 *	AWAY --pause over--> CONNECTING --SESS_ACK--> GREETING
 *	GREETING --HELLO answered, or 1 s of silence--> READY
 *	any --the connection is lost--> AWAY, and the pause doubles from 0.2 s to 30 s
 *
 * Numbers. Every document gets the next number, from 1, when it is queued, and keeps the number.
 * There are no numbers on the wire: HELLO tells the number (first_seq) of the next data document,
 * and the box counts up from there. HELLO may come again at any time and starts the count anew; so
 * the box learns of dropped documents, and so the provider leaves out documents that the box turned
 * out to have. Whenever the next document is not the document the box would count, HELLO goes
 * first. The box skips stored documents, so sending twice is harmless.
 *
 * An original box ignores HELLO. The provider lets documents go once they are written to the
 * socket. Should the answer come late (a busy box), acknowledgement starts then. A box that has
 * answered once is never taken for an original again.
 */
#include "narrows/provider.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "host/lib/meta_table.h"
#include "host/lib/conn.h"
#include "host/lib/row_buffer.h"
#include "host/lib/hostconf.h"
#include "host/lib/hostname.h"
#include "host/lib/spool.h"
#include "host/lib/spool_dir.h"
#include "host/lib/tlsfiles.h"
#include "host/lib/uuid.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/order.h"

#define DEFAULT_BOX        "127.0.0.1/5006"
#define SECOND_NS          INT64_C(1000000000)
#define CONNECT_TIMEOUT_NS (5 * SECOND_NS)
#define HELLO_TIMEOUT_NS   SECOND_NS /* of a box we do not know */
/* for a box that has answered before: the box is only busy */
#define HELLO_KNOWN_TIMEOUT_NS (10 * SECOND_NS)
#define PAUSE_MIN_NS           (SECOND_NS / 5)
#define PAUSE_MAX_NS           (30 * SECOND_NS)
#define STEADY_NS              (5 * SECOND_NS) /* a connection of this length was not a failure */
#define GOODBYE_NS             SECOND_NS

enum {
	QUEUE_DEFAULT_BYTES = 4 << 20,
	SPOOL_DEFAULT_BYTES = 256 << 20,
	/* bytes for the socket below which more documents are framed */
	OUT_LOW_BYTES = 64 << 10,
	/* size of rows in one document: an original peer takes them as a list */
	LIST_MAX_BYTES = 60000,
	REPLY_FIELDS_MAX = 32
};

enum provider_state { PROVIDER_AWAY, PROVIDER_CONNECTING, PROVIDER_GREETING, PROVIDER_READY };

/* Documents up to seq are with the system when the connection has written so many bytes. */
struct written_mark {
	uint64_t seq, bytes;
};

struct nw_provider {
	enum provider_state state;
	int64_t deadline_mono_ns; /* AWAY: connect again; GREETING: stop waiting for the answer */
	int64_t ready_mono_ns;    /* READY: since */
	int64_t pause_ns, connect_timeout_ns;
	bool known; /* the box has answered a HELLO before */
	struct conn conn;
	struct conn_addr addr;
	struct tlsfiles files;
	struct spool spool;
	struct meta_table metas;
	struct row_buffer rows; /* rows of the report that is held */
	struct nw_doc_buf doc;  /* scratch for encoding */
	uint64_t wire_seq;      /* the number the box would give the next document */
	uint64_t sent_seq;      /* the highest number ever sent */
	/* of this connection: the mark waited for, and the mark of the last document; seq 0 is
	 * no mark */
	struct written_mark next_mark, last_mark;
	bool batches;  /* the box takes packed rows */
	bool events;   /* the box takes events */
	bool verdicts; /* the box tells a session's verdict to its sender */
	bool losses;   /* the box takes the numbers of documents that died with an earlier life */
	/* decoder that unpacks rows for a box without packed rows; made when needed */
	struct nw_doc_decoder *decoder;
	char *software, *host, *task_id, *program, *can, *addresses;
	void (*on_order)(void *arg, uint16_t opt, const uint8_t *doc, size_t len);
	void *on_order_arg;
	bool held;         /* documents wait for the next report */
	char trouble[128]; /* of the box; empty: none */
	char uuid[UUID_BYTES];
	struct nw_provider_stats stats;
};

/* --- birth --- */

static int
copy_text(char **out, const char *text)
{
	if (text == NULL)
		return NW_OK;
	*out = strdup(text);
	return *out != NULL ? NW_OK : NW_ENOMEM;
}

/* The abilities of every provider, then those of the owner. */
static int
can_make(const char *owners, char **out)
{
	static const char every[] = "stored clock batch events";
	size_t cap = sizeof(every) + 1 + (owners != NULL ? strlen(owners) : 0);

	if ((*out = malloc(cap)) == NULL)
		return NW_ENOMEM;
	snprintf(
	    *out, cap, "%s%s%s", every, owners != NULL ? " " : "", owners != NULL ? owners : "");
	return NW_OK;
}

static void
provider_free(struct nw_provider *p)
{
	conn_clear(&p->conn);
	tlsfiles_clear(&p->files);
	meta_table_clear(&p->metas);
	spool_clear(&p->spool);
	row_buffer_clear(&p->rows);
	nw_doc_buf_clear(&p->doc);
	nw_doc_decoder_free(p->decoder);
	free(p->software);
	free(p->host);
	free(p->task_id);
	free(p->program);
	free(p->can);
	free(p->addresses);
	free(p);
}

/* Opens a directory behind the queue if the options ask for a directory; documents of an earlier
 * life come first, under the id of that life. */
static int
spool_open(struct nw_provider *p, const struct nw_provider_opts *opts)
{
	const struct spool_place place = {
		.dir = opts->spool_dir,
		.software = p->software,
		.task_id = p->task_id,
		.bytes_max =
		    opts->spool_max_bytes > 0 ? opts->spool_max_bytes : SPOOL_DEFAULT_BYTES,
	};
	struct spool_file *file;
	struct spool_past past;
	int rc = spool_dir_open(&place, p->uuid, &p->metas, &file, &past);

	if (rc < 0 || file == NULL)
		return rc;
	memcpy(p->uuid, past.uuid, sizeof(p->uuid));
	spool_attach(&p->spool, file, &past, opts->spool_max_age_ns);
	spool_file_note_task(file, p->task_id);
	meta_table_end_all(&p->metas, past.first_seq - 1);
	p->sent_seq = past.first_seq - 1; /* the sender does not matter */
	p->stats.docs_queued = spool_file_count(file, 1, UINT64_MAX);
	return NW_OK;
}

static int
id_take(struct nw_provider *p, const char *id)
{
	if (id[0] == '\0' || strlen(id) >= sizeof(p->uuid))
		return NW_EINVAL;
	strcpy(p->uuid, id);
	return NW_OK;
}

int
nw_provider_new(const struct nw_provider_opts *opts, struct nw_provider **out)
{
	const char *said = opts->box != NULL ? opts->box : secure_getenv("NARROWS_BOX"),
		   *box = hostconf_or(said, hostconf_get()->box);
	uint64_t queue_max = opts->queue_max_bytes ? opts->queue_max_bytes : QUEUE_DEFAULT_BYTES;
	const struct tlsfiles_opts tls = { opts->tls_dir, opts->tls_ca, opts->tls_cert,
		opts->tls_key };
	char name[HOSTNAME_BYTES];
	struct nw_provider *p;
	int rc;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NW_ENOMEM;
	conn_init(&p->conn);
	p->conn.files = &p->files;
	spool_init(&p->spool, queue_max);
	meta_table_init(&p->metas, queue_max);
	p->pause_ns = PAUSE_MIN_NS;
	p->on_order = opts->on_order;
	p->on_order_arg = opts->on_order_arg;
	p->connect_timeout_ns =
	    opts->connect_timeout_ns > 0 ? opts->connect_timeout_ns : CONNECT_TIMEOUT_NS;
	if ((rc = said == NULL && hostconf_fault() != NULL ? NW_EINVAL : NW_OK) < 0 ||
	    (rc = conn_addr_parse(box != NULL ? box : DEFAULT_BOX, &p->addr)) < 0 ||
	    (rc = uuid_make(p->uuid)) < 0 ||
	    (rc = copy_text(&p->software, opts->software != NULL ? opts->software : "libnarrows")) <
		0 ||
	    (rc = copy_text(&p->host, hostname_get(opts->host, name))) < 0 ||
	    (rc = tlsfiles_find(&p->files, &tls, p->host)) < 0 ||
	    (rc = copy_text(&p->task_id, opts->task_id)) < 0 ||
	    (rc = copy_text(&p->program, opts->program)) < 0 ||
	    (rc = copy_text(&p->addresses, opts->addresses)) < 0 ||
	    (rc = can_make(opts->can, &p->can)) < 0 ||
	    (rc = opts->id != NULL ? id_take(p, opts->id) : spool_open(p, opts)) < 0) {
		provider_free(p);
		return rc;
	}
	*out = p;
	return NW_OK;
}

/* --- documents of the program --- */

/* Puts p->doc into the queue. */
static int
queue_doc(struct nw_provider *p, uint16_t opt)
{
	int rc;

	if (p->doc.len > nw_frame_limits_default.block_max_bytes)
		return NW_ETOOBIG;
	if ((rc = spool_put(&p->spool, opt, p->doc.data, p->doc.len, nw_wall_ns(), nw_mono_ns())) ==
	    NW_OK)
		p->stats.docs_queued++;
	return rc;
}

static int
put_row(struct nw_provider *p, const char *mid, int64_t t_wall_ns, const char *const *fields,
    const double *values, size_t n_fields, const uint8_t *hist, size_t hist_len)
{
	int rc;

	p->doc.len = 0;
	rc = nw_data_encode(&p->doc, mid, t_wall_ns, fields, values, n_fields, hist, hist_len);
	return rc == NW_OK ? queue_doc(p, NW_OPT_DATA) : rc;
}

/* So many rows fit into a document, packed or as a list. */
static size_t
rows_at_once(const struct nw_data *d)
{
	size_t per_row = 80, i;

	for (i = 0; i < d->n_fields; i++)
		per_row += strlen(d->fields[i]) + 16;
	return per_row < LIST_MAX_BYTES ? LIST_MAX_BYTES / per_row : 1;
}

static int
put_rows(struct nw_provider *p, const char *mid, const char *const *fields, size_t n_fields,
    size_t n_rows, const int64_t *t_wall_ns, const double *values)
{
	struct nw_data d = { .mid = mid, .n_fields = n_fields, .fields = fields };
	size_t step = rows_at_once(&d), at;
	int rc = NW_OK;

	for (at = 0; at < n_rows && rc == NW_OK; at += d.n_rows) {
		d.n_rows = n_rows - at < step ? n_rows - at : step;
		d.t_wall_ns = t_wall_ns + at;
		d.values = values + at * n_fields;
		if (d.n_rows == 1)
			rc = put_row(p, mid, *d.t_wall_ns, fields, d.values, n_fields, NULL, 0);
		else if ((rc = nw_batch_doc_encode(&p->doc, &d)) == NW_OK)
			rc = queue_doc(p, NW_OPT_BATCH);
	}
	return rc;
}

/* Moves the waiting rows into the queue. */
static int
series_put(struct nw_provider *p, struct row_series *s)
{
	size_t n = s->n_rows;

	s->n_rows = 0;
	return put_rows(p, s->mid, s->fields, s->n_fields, n, s->t_wall_ns, s->values);
}

static void
series_flush(struct nw_provider *p, const char *mid)
{
	struct row_series *s = row_buffer_find(&p->rows, mid);

	if (s == NULL)
		return;
	(void)series_put(p, s);
	row_buffer_forget(&p->rows, s);
}

static void
row_buffer_flush(struct nw_provider *p)
{
	size_t i;

	for (i = 0; i < p->rows.n; i++)
		(void)series_put(p, p->rows.list[i]);
}

static int
row_hold(struct nw_provider *p, const char *mid, int64_t t_wall_ns, const char *const *fields,
    const double *values, size_t n_fields)
{
	struct row_series *s = row_buffer_find(&p->rows, mid);
	int rc = NW_OK;

	if (s != NULL && !row_series_takes(s, fields, n_fields)) {
		rc = series_put(p, s);
		if (!row_series_takes(s, fields, n_fields)) {
			row_buffer_forget(&p->rows, s);
			s = NULL;
		}
	}
	if (s == NULL && (s = row_buffer_add(&p->rows, mid, fields, n_fields)) == NULL)
		return NW_ENOMEM;
	row_series_add(s, t_wall_ns, values);
	return rc;
}

int
nw_provider_events(struct nw_provider *p, struct nw_events *events)
{
	const uint8_t *block;
	uint8_t *grown;
	size_t len;
	int rc;

	if ((rc = nw_events_finish(events, &block, &len)) < 0)
		return rc;
	if (len > NW_EVENT_SENT_BYTES)
		return NW_ETOOBIG;
	if (len + 1 > p->doc.cap) {
		if ((grown = realloc(p->doc.data, len + 1)) == NULL)
			return NW_ENOMEM;
		p->doc.data = grown;
		p->doc.cap = len + 1;
	}
	p->doc.data[0] = NW_EVENT_DOC_VERSION;
	memcpy(p->doc.data + 1, block, len);
	p->doc.len = len + 1;
	return queue_doc(p, NW_OPT_OPS);
}

int
nw_provider_renumber(struct nw_provider *p, uint64_t next_seq)
{
	if (p->spool.file != NULL || !spool_empty(&p->spool) || next_seq == 0)
		return NW_EINVAL;
	p->spool.next_seq = p->spool.cursor = next_seq;
	p->spool.stored_seq = p->sent_seq = next_seq - 1;
	p->wire_seq = 0; /* HELLO goes before the next document */
	return NW_OK;
}

int
nw_provider_meta(struct nw_provider *p, const char *id, const char *pid, const char *event_type,
    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params, size_t n_params)
{
	int rc;

	if (id == NULL || id[0] == '\0' || event_type == NULL || event_type[0] == '\0')
		return NW_EINVAL;
	series_flush(p, id); /* the waiting rows belong to the old metadata */
	p->doc.len = 0;
	if ((rc = nw_meta_encode(
		 &p->doc, id, pid, event_type, subject, n_subject, params, n_params)) < 0)
		return rc;
	if (p->doc.len > nw_frame_limits_default.block_max_bytes)
		return NW_ETOOBIG;
	return meta_table_put(&p->metas, id, event_type, p->doc.data, p->doc.len);
}

void
nw_provider_meta_end(struct nw_provider *p, const char *id)
{
	series_flush(p, id);
	meta_table_end(&p->metas, id, p->spool.next_seq - 1);
}

int
nw_provider_data(struct nw_provider *p, const char *mid, int64_t t_wall_ns,
    const char *const *fields, const double *values, size_t n_fields, const uint8_t *hist,
    size_t hist_len)
{
	if (mid == NULL || mid[0] == '\0')
		return NW_EINVAL;
	if (p->held && hist_len == 0 && n_fields > 0)
		return row_hold(p, mid, t_wall_ns, fields, values, n_fields);
	return put_row(p, mid, t_wall_ns, fields, values, n_fields, hist, hist_len);
}

int
nw_provider_rows(struct nw_provider *p, const char *mid, const char *const *fields, size_t n_fields,
    size_t n_rows, const int64_t *t_wall_ns, const double *values)
{
	if (mid == NULL || mid[0] == '\0')
		return NW_EINVAL;
	return put_rows(p, mid, fields, n_fields, n_rows, t_wall_ns, values);
}

/* --- messages to the box --- */

static uint64_t
next_to_send(struct nw_provider *p)
{
	struct spool_view v;

	return spool_peek(&p->spool, &v) == NW_OK ? v.seq : p->spool.next_seq;
}

static int
send_block(struct nw_provider *p, uint16_t opt, const uint8_t *bytes, size_t len)
{
	const struct nw_block b = { .type = opt, .sport = 1, .data = bytes, .len = len };

	return conn_queue(&p->conn, 1, NW_MSG_APP_DATA, &b);
}

/* The kernel's word on this host's clock, if the clock is disciplined. */
static size_t
put_clock(struct nw_kv *kv)
{
	struct timex tx = { .modes = 0 };
	int state = adjtimex(&tx);

	if (state < 0)
		return 0;
	kv[0] = (struct nw_kv){ "clock_synced", NW_KV_BOOL, { .i = state != TIME_ERROR } };
	kv[1] = (struct nw_kv){ "clock_bound_s", NW_KV_REAL, { .d = (double)tx.maxerror * 1e-6 } };
	return state != TIME_ERROR ? 2 : 1;
}

static int
send_hello(struct nw_provider *p)
{
	struct nw_kv kv[16] = {
		{ "software", NW_KV_TEXT, { .text = p->software } },
		{ "version", NW_KV_TEXT, { .text = NW_VERSION } },
		{ "host", NW_KV_TEXT, { .text = p->host } },
		{ "provider", NW_KV_TEXT, { .text = p->uuid } },
		{ "first_seq", NW_KV_INT, { .i = (int64_t)next_to_send(p) } },
		{ "lost", NW_KV_INT, { .i = (int64_t)p->spool.lost } },
		{ "pid", NW_KV_INT, { .i = getpid() } },
		{ "time_ns", NW_KV_INT, { .i = nw_wall_ns() } },
		{ "can", NW_KV_TEXT, { .text = p->can } },
		{ "task_id", NW_KV_TEXT, { .text = p->task_id } }, /* a NULL is left out */
		{ "program", NW_KV_TEXT, { .text = p->program } },
		{ "addresses", NW_KV_TEXT, { .text = p->addresses } },
	};
	size_t n = 12;
	int rc;

	n += put_clock(kv + n);
	p->doc.len = 0;
	if ((rc = nw_kv_encode(&p->doc, kv, n)) < 0)
		return rc;
	p->wire_seq = next_to_send(p);
	return send_block(p, NW_OPT_HELLO, p->doc.data, p->doc.len);
}

/* An original peer cannot take long blocks. */
static bool
fits_peer(const struct nw_provider *p, size_t len)
{
	return p->stats.acknowledged || len <= NW_FRAME_V1_PAYLOAD_SAFE;
}

static int
send_meta(struct nw_provider *p)
{
	const struct meta_entry *m = p->metas.unsent;
	int rc = fits_peer(p, m->len) ? send_block(p, NW_OPT_META, m->bytes, m->len) : NW_OK;

	if (rc == NW_OK)
		meta_table_mark_sent(&p->metas, next_to_send(p));
	return rc;
}

static int
on_rows(void *arg, const struct nw_data *d)
{
	return nw_list_doc_encode(arg, d);
}

/* The same rows as a list, in p->doc. */
static int
rows_unpack(struct nw_provider *p, struct spool_view *v)
{
	const struct nw_doc_sink sink = { .arg = &p->doc, .on_data = on_rows };
	const char *why;
	int rc;

	if (p->decoder == NULL && (p->decoder = nw_doc_decoder_new(NULL)) == NULL)
		return NW_ENOMEM;
	p->doc.len = 0;
	if ((rc = nw_doc_decode(p->decoder, v->opt, v->bytes, v->len, &sink, &why)) < 0)
		return rc;
	v->opt = NW_OPT_DATA;
	v->bytes = p->doc.data;
	v->len = p->doc.len;
	return NW_OK;
}

static int
send_doc(struct nw_provider *p)
{
	struct spool_view v;
	int rc;

	if (spool_peek(&p->spool, &v) < 0)
		return NW_OK;
	if (v.opt == NW_OPT_LOST && !p->losses) {
		p->sent_seq = v.seq > p->sent_seq ? v.seq : p->sent_seq;
		spool_advance(&p->spool);
		return NW_OK;
	}
	if (v.seq != p->wire_seq && (rc = send_hello(p)) < 0)
		return rc;
	if (v.opt == NW_OPT_BATCH && !p->batches && (rc = rows_unpack(p, &v)) < 0)
		return rc;
	if (!fits_peer(p, v.len) || (v.opt == NW_OPT_OPS && !p->events))
		p->stats.docs_dropped++;
	else if ((rc = send_block(p, v.opt, v.bytes, v.len)) < 0)
		return rc;
	else
		p->wire_seq = v.seq + 1;
	if (v.seq > p->sent_seq) {
		p->sent_seq = v.seq;
		p->stats.docs_sent++;
	}
	p->last_mark = (struct written_mark){ v.seq, p->conn.queued_bytes };
	if (p->next_mark.seq == 0)
		p->next_mark = p->last_mark;
	spool_advance(&p->spool);
	return NW_OK;
}

/* Holding back must not lose anything. */
static bool
is_held(const struct nw_provider *p)
{
	return p->held && p->spool.bytes < p->spool.bytes_max / 2;
}

/* Frames metadata, then documents, as far as there is room. Returns whether there was anything, or
 * NW_E*. */
static int
send_waiting(struct nw_provider *p)
{
	int rc = NW_OK, any = 0;

	while (rc == NW_OK && conn_unsent_bytes(&p->conn) < OUT_LOW_BYTES) {
		if (p->metas.unsent != NULL)
			rc = send_meta(p);
		else if (spool_has_unsent(&p->spool) && !is_held(p))
			rc = send_doc(p);
		else
			break;
		any = 1;
	}
	return rc < 0 ? rc : any;
}

/* --- messages of the box --- */

static void
release(struct nw_provider *p, uint64_t seq)
{
	uint64_t n = spool_release(&p->spool, seq);

	if (p->stats.acknowledged)
		p->stats.docs_stored += n;
	meta_table_release(&p->metas, seq);
}

/* An original box has every document that the socket has taken. */
static void
release_written(struct nw_provider *p)
{
	uint64_t seq;

	while (p->next_mark.seq != 0 && p->next_mark.bytes <= p->conn.written_bytes) {
		seq = p->next_mark.seq;
		p->next_mark =
		    p->last_mark.seq > seq ? p->last_mark : (struct written_mark){ 0, 0 };
		release(p, seq);
	}
}

static void
set_ready(struct nw_provider *p, int64_t now_mono_ns)
{
	p->state = PROVIDER_READY;
	p->ready_mono_ns = now_mono_ns;
	p->stats.connected = true;
}

static bool
has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (; *text != '\0'; text += strcspn(text, " "), text += strspn(text, " "))
		if (strncmp(text, word, len) == 0 && (text[len] == '\0' || text[len] == ' '))
			return true;
	return false;
}

/* Why the box stores nothing, in the words of the box, for logs. */
static void
trouble_note(struct nw_provider *p, const char *text)
{
	size_t i;

	for (i = 0; i + 1 < sizeof(p->trouble) && text[i] != '\0'; i++)
		p->trouble[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
	p->trouble[i] = '\0';
}

static void
take_reply(struct nw_provider *p, const struct nw_block *b, int64_t now_mono_ns)
{
	struct nw_kv kv[REPLY_FIELDS_MAX];
	const char *why;
	size_t i, n;

	if (b->type == NW_OPT_STORED && !p->stats.acknowledged)
		return;
	if (nw_kv_decode(b->data, b->len, kv, REPLY_FIELDS_MAX, &n, &why) < 0)
		return;
	p->known = p->stats.acknowledged = true;
	if (b->type == NW_OPT_HELLO)
		p->trouble[0] = '\0'; /* a box in trouble says so right after */
	for (i = 0; i < n; i++) {
		if (strcmp(kv[i].key, "can") == 0 && kv[i].type == NW_KV_TEXT) {
			p->batches = has_word(kv[i].v.text, "batch");
			p->losses = has_word(kv[i].v.text, "lost");
			p->verdicts = has_word(kv[i].v.text, "verdict");
			p->events = has_word(kv[i].v.text, "events");
			p->conn.joins = has_word(kv[i].v.text, "blocks");
		}
		if (strcmp(kv[i].key, "trouble") == 0 && kv[i].type == NW_KV_TEXT)
			trouble_note(p, kv[i].v.text);
		if (strcmp(kv[i].key, "stored") != 0 || kv[i].type != NW_KV_INT || kv[i].v.i <= 0)
			continue;
		p->stats.box_stored_seq = (uint64_t)kv[i].v.i;
		/* a number that was never sent cannot be stored, whatever the box says */
		release(p, (uint64_t)kv[i].v.i < p->sent_seq ? (uint64_t)kv[i].v.i : p->sent_seq);
	}
	if (p->state == PROVIDER_GREETING)
		set_ready(p, now_mono_ns);
}

/* Answered here, at once, whatever the program around us is doing. */
static int
answer_clock(struct nw_provider *p, const struct nw_block *b, int64_t came_wall_ns)
{
	struct nw_clock c;
	const char *why;
	int rc;

	if (nw_clock_decode(&c, b->data, b->len, &why) < 0 ||
	    conn_unsent_bytes(&p->conn) >= OUT_LOW_BYTES)
		return NW_OK;
	c.t2_wall_ns = came_wall_ns;
	c.t3_wall_ns = nw_wall_ns();
	/* the clock was set back in between: no answer is better */
	if (c.t3_wall_ns < c.t2_wall_ns)
		return NW_OK;
	if ((rc = nw_clock_encode(&p->doc, &c)) < 0)
		return rc;
	return send_block(p, NW_OPT_CLOCK, p->doc.data, p->doc.len);
}

/* Messages of a box that has answered HELLO. */
static int
take_order(struct nw_provider *p, const struct nw_block *b)
{
	if (!p->stats.acknowledged)
		return NW_OK;
	if (b->type == NW_OPT_CLOCK)
		return answer_clock(p, b, nw_wall_ns());
	if (p->on_order != NULL &&
	    (b->type == NW_OPT_START || b->type == NW_OPT_STOP || b->type == NW_OPT_RATE ||
		b->type == NW_OPT_DIET || b->type == NW_OPT_VERDICT))
		p->on_order(p->on_order_arg, b->type, b->data, b->len);
	return NW_OK;
}

static int
take_frame(struct nw_provider *p, const struct nw_frame *f, int64_t now_mono_ns)
{
	struct nw_block b;
	size_t cursor = 0;
	int rc;

	switch (f->type) {
	case NW_MSG_APP_DATA:
		while (nw_frame_next_block(f, &cursor, &b)) {
			if (b.type == NW_OPT_HELLO || b.type == NW_OPT_STORED)
				take_reply(p, &b, now_mono_ns);
			else if ((rc = take_order(p, &b)) < 0)
				return rc;
		}
		return NW_OK;
	case NW_MSG_PING: return conn_queue(&p->conn, f->version, NW_MSG_PONG, NULL);
	case NW_MSG_SESS_NACK:
	case NW_MSG_SESS_CLOSE:
		conn_close(&p->conn, "the box ended the session");
		return NW_ECLOSED;
	}
	return NW_OK;
}

/* --- steps --- */

static void
go_away(struct nw_provider *p, int64_t now_mono_ns)
{
	if (p->state == PROVIDER_READY && !p->stats.acknowledged)
		release_written(p);
	if (p->state == PROVIDER_READY && now_mono_ns - p->ready_mono_ns >= STEADY_NS)
		p->pause_ns = PAUSE_MIN_NS;
	if (p->state != PROVIDER_READY)
		p->stats.connect_failures++;
	/* up to a quarter longer, so that all hosts do not meet a returning box at once */
	p->deadline_mono_ns = now_mono_ns + p->pause_ns + p->pause_ns / 1024 * p->conn.sess_id[0];
	p->pause_ns = p->pause_ns < PAUSE_MAX_NS / 2 ? 2 * p->pause_ns : PAUSE_MAX_NS;
	p->state = PROVIDER_AWAY;
	p->stats.connected = p->stats.acknowledged = p->batches = p->losses = p->events =
	    p->verdicts = false;
	p->next_mark.seq = p->last_mark.seq = 0;
	conn_close(&p->conn, p->conn.why);
	spool_rewind(&p->spool);
	meta_table_rewind(&p->metas);
}

static int
start_greeting(struct nw_provider *p, int64_t now_mono_ns)
{
	p->stats.connects++;
	p->state = PROVIDER_GREETING;
	p->deadline_mono_ns = now_mono_ns + (p->known ? HELLO_KNOWN_TIMEOUT_NS : HELLO_TIMEOUT_NS);
	return send_hello(p);
}

static int
end_greeting(struct nw_provider *p, int64_t now_mono_ns)
{
	if (p->known) {
		conn_close(&p->conn, "the box did not answer HELLO in time");
		return NW_ECLOSED;
	}
	set_ready(p, now_mono_ns);
	return NW_OK;
}

static int
step_conn(struct nw_provider *p, int64_t now_mono_ns)
{
	struct nw_frame f;
	int rc, any;

	do {
		if ((rc = conn_step(&p->conn, now_mono_ns)) < 0)
			return rc;
		if (p->state == PROVIDER_CONNECTING && p->conn.state == CONN_OPEN &&
		    (rc = start_greeting(p, now_mono_ns)) < 0)
			return rc;
		while ((rc = conn_recv(&p->conn, &f)) == NW_OK)
			if ((rc = take_frame(p, &f, now_mono_ns)) < 0)
				return rc;
		if (rc != NW_EAGAIN)
			return rc;
		if (p->state == PROVIDER_GREETING && now_mono_ns >= p->deadline_mono_ns &&
		    (rc = end_greeting(p, now_mono_ns)) < 0)
			return rc;
		if (p->state != PROVIDER_READY)
			return conn_step(&p->conn, now_mono_ns);
		if (!p->stats.acknowledged)
			release_written(p);
		any = send_waiting(p);
	} while (any > 0);
	return any;
}

static void
step(struct nw_provider *p, int64_t now_mono_ns)
{
	spool_tick(&p->spool, nw_wall_ns(), now_mono_ns);
	if (p->state == PROVIDER_AWAY) {
		if (now_mono_ns < p->deadline_mono_ns)
			return;
		p->state = PROVIDER_CONNECTING;
		if (conn_connect(&p->conn, &p->addr, NULL, 0, p->connect_timeout_ns) < 0) {
			go_away(p, nw_mono_ns());
			return;
		}
		now_mono_ns = nw_mono_ns(); /* a name lookup may have taken the time */
	}
	if (step_conn(p, now_mono_ns) < 0)
		go_away(p, now_mono_ns);
}

int
nw_provider_fd(const struct nw_provider *p, short *events)
{
	*events = conn_events(&p->conn);
	if (p->state == PROVIDER_READY &&
	    (p->metas.unsent != NULL || (spool_has_unsent(&p->spool) && !is_held(p))))
		*events |= POLLOUT;
	return p->conn.fd;
}

/* Sleeps until the socket wants us, our own deadline comes, or `end`. */
static int
wait_for_work(const struct nw_provider *p, int64_t now_mono_ns, int64_t end_mono_ns)
{
	struct pollfd pfd;
	struct timespec ts;
	int64_t until = conn_deadline(&p->conn);

	if (end_mono_ns < until)
		until = end_mono_ns;
	if ((p->state == PROVIDER_AWAY || p->state == PROVIDER_GREETING) &&
	    p->deadline_mono_ns < until)
		until = p->deadline_mono_ns;
	if (p->spool.unfiled != NULL && until > now_mono_ns + SECOND_NS)
		until = now_mono_ns + SECOND_NS; /* for spool_tick() */
	if (until <= now_mono_ns)
		return NW_OK;
	ts.tv_sec = (until - now_mono_ns) / SECOND_NS;
	ts.tv_nsec = (until - now_mono_ns) % SECOND_NS;
	pfd.fd = nw_provider_fd(p, &pfd.events);
	return ppoll(&pfd, 1, &ts, NULL) < 0 && errno != EINTR ? NW_EIO : NW_OK;
}

static int64_t
end_of(int64_t now_mono_ns, int64_t wait_ns)
{
	return wait_ns < INT64_MAX - now_mono_ns ? now_mono_ns + wait_ns : INT64_MAX;
}

int
nw_provider_run(struct nw_provider *p, int64_t wait_ns)
{
	int64_t now = nw_mono_ns(), end = end_of(now, wait_ns);
	int rc;

	for (;;) {
		step(p, now);
		now = nw_mono_ns();
		if (now >= end)
			return NW_OK;
		if ((rc = wait_for_work(p, now, end)) < 0)
			return rc;
		now = nw_mono_ns();
	}
}

void
nw_provider_get_stats(const struct nw_provider *p, struct nw_provider_stats *out)
{
	*out = p->stats;
	out->docs_dropped += p->spool.dropped;
	out->queue_bytes = p->spool.bytes;
	out->spool_bytes = p->spool.file != NULL ? spool_file_bytes(p->spool.file) : 0;
	out->spooled = p->spool.file != NULL;
}

int
nw_provider_ask(struct nw_provider *p, const char *event_type, int64_t interval_ns, int64_t for_ns)
{
	struct nw_order o = {
		.opt = NW_OPT_START, .id = "ask", .collection_ns = interval_ns, .lease_ns = for_ns
	};
	int rc;

	if (strlen(event_type) >= sizeof(o.event_type))
		return NW_EINVAL;
	strcpy(o.event_type, event_type);
	if ((rc = nw_order_encode(&p->doc, &o)) == NW_OK)
		rc = nw_provider_tell(p, NW_OPT_START, p->doc.data, p->doc.len);
	return rc;
}

int
nw_provider_tell(struct nw_provider *p, uint16_t opt, const uint8_t *doc, size_t len)
{
	if (p->state != PROVIDER_READY || !p->stats.acknowledged ||
	    conn_unsent_bytes(&p->conn) >= OUT_LOW_BYTES)
		return NW_EAGAIN;
	if (opt == NW_OPT_VERDICT && !p->verdicts)
		return NW_EINVAL;
	return send_block(p, opt, doc, len);
}

void
nw_provider_hold(struct nw_provider *p, bool hold)
{
	p->held = hold;
	if (!hold)
		row_buffer_flush(p);
}

const char *
nw_provider_why(const struct nw_provider *p)
{
	return p->conn.why;
}

const char *
nw_provider_trouble(const struct nw_provider *p)
{
	return p->trouble;
}

/* --- death --- */

static bool
all_sent(const struct nw_provider *p)
{
	return spool_empty(&p->spool) && p->metas.unsent == NULL &&
	    conn_unsent_bytes(&p->conn) == 0;
}

/* Leaves as originals expect, and waits for the end of the stream: bytes left unread would make
 * the system reset the connection, which can destroy bytes still on the way to the box. */
static void
say_goodbye(struct nw_provider *p, int64_t end_mono_ns)
{
	int64_t now = nw_mono_ns();
	bool shut = false;

	if (p->conn.state != CONN_OPEN || conn_queue(&p->conn, 1, NW_MSG_SESS_CLOSE, NULL) < 0)
		return;
	spool_skip_all(&p->spool);
	p->metas.unsent = NULL;
	if (end_mono_ns > now + GOODBYE_NS)
		end_mono_ns = now + GOODBYE_NS;
	while (step_conn(p, now) == NW_OK) {
		if (!shut && conn_unsent_bytes(&p->conn) == 0)
			shut = shutdown(p->conn.fd, SHUT_WR) == 0;
		if (now >= end_mono_ns || wait_for_work(p, now, end_mono_ns) < 0)
			return;
		now = nw_mono_ns();
	}
}

int
nw_provider_close(struct nw_provider *p, int64_t wait_ns)
{
	int64_t now = nw_mono_ns(), end = end_of(now, wait_ns);
	int rc;

	if (p == NULL)
		return NW_OK;
	nw_provider_hold(p, false);
	for (; !all_sent(p); now = nw_mono_ns()) {
		step(p, now);
		if (all_sent(p) || now >= end || wait_for_work(p, now, end) < 0)
			break;
	}
	rc = all_sent(p) && p->stats.docs_dropped + p->spool.dropped == 0 ? NW_OK : NW_EAGAIN;
	say_goodbye(p, end);
	spool_save(&p->spool);
	provider_free(p);
	return rc;
}

/* --- heirs --- */

struct adoption {
	struct nw_provider_opts opts;
	int64_t wait_ns;
};

static bool
on_orphan(void *arg, const char *dir)
{
	struct adoption *a = arg;
	struct nw_provider *p;

	a->opts.spool_dir = dir;
	if (nw_provider_new(&a->opts, &p) < 0)
		return true; /* another process has the directory: it is no orphan */
	return nw_provider_close(p, a->wait_ns) == NW_OK;
}

void
nw_provider_adopt(const struct nw_provider_opts *opts, int64_t wait_ns)
{
	struct adoption a = { .opts = *opts, .wait_ns = wait_ns };

	a.opts.task_id = a.opts.program = a.opts.can = NULL; /* their metadata names their task */
	a.opts.on_order = NULL;
	spool_dir_each(on_orphan, &a);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurement documents: every BSON generation to and from the canonical form.
 *
 * Canonical form: metadata describes a series of samples once; data refer to it by `mid` and carry
 * rows of named doubles at one time each. Times are int64 nanoseconds since 1970 UTC, whatever the
 * sender's unit was. "No value" markers of the originals (NaN, DBL_MAX minima, -1 deviations)
 * arrive as NaN. Field names use underscores.
 *
 * Text that identifies (ids, event types, field names) must be UTF-8 without NUL, or the document
 * is refused. Bytes of other text that are not UTF-8 arrive as U+FFFD: a file name in Latin-1 shall
 * not cost its series. Numbers are read and written in the C numeric locale. One decoder belongs to
 * one thread.
 */
#ifndef NARROWS_DOC_H
#define NARROWS_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nw_generation { NW_GEN_UNKNOWN, NW_GEN_1, NW_GEN_2, NW_GEN_3, NW_GEN_4 };

/* Which fields of a subject or its parents join series to sessions. Missing or empty text is NULL,
 * missing ports 0. */
struct nw_subject {
	const char *task_id, *xfer_id, *stream_id;
	const char *type;      /* "disk", "network", "host", ... as sent */
	const char *src, *dst; /* addresses, as sent (all synonyms) */
	uint16_t sport, dport;
	const char *resource; /* path */
	int64_t size_bytes;   /* -1 when not given */
	const char *hostname;
};

struct nw_meta {
	const char *id;  /* never NULL or empty */
	const char *pid; /* parent id or NULL */
	/* never NULL or empty: `type` where structural, "untyped" without either */
	const char *event_type;
	const char *subject_json; /* a JSON object, valid UTF-8 */
	const char *params_json;  /* a JSON object, valid UTF-8 */
	struct nw_subject subject;
	double dt_s; /* collection interval, NaN when not given (or without unit: generation 4) */
	double ts_s; /* base time of samples without their own, NaN when not given */
	bool structural; /* describes a thing (generation 2 `type`), never has data */
	enum nw_generation generation;
	const uint8_t *raw; /* the item as received: one BSON document */
	size_t raw_len;
};

struct nw_data {
	const char *mid;        /* never NULL or empty */
	const char *event_type; /* generation 1 data name it; else NULL */
	size_t n_fields;
	const char *const *fields; /* canonical names; "value" for scalars */
	size_t n_rows;
	/* n_rows; NW_TIME_BY_SAMPLE when the row has a sample number only */
	const int64_t *t_wall_ns;
	const double *values;         /* n_rows x n_fields, row by row; NaN = no value */
	const int64_t *sample_number; /* n_rows, -1 when not given */
	/* duration histogram of the (single) row, see hist.h; NULL when none */
	const uint8_t *hist;
	size_t hist_len;
};

#define NW_TIME_BY_SAMPLE INT64_MIN

/* Returns true if the rows carry the field; a value that is NaN for its sender is not sent. */
bool nw_data_has(const struct nw_data *d, const char *field);

/*
 * Called in document order, but an envelope's metadata before its data. Either may be NULL.
 * Everything passed is on loan until the call returns. A negative return stops decoding.
 */
struct nw_doc_sink {
	void *arg;
	int (*on_meta)(void *arg, const struct nw_meta *m);
	int (*on_data)(void *arg, const struct nw_data *d);
};

struct nw_doc_limits {
	uint32_t doc_max_bytes;  /* 1 MiB */
	uint32_t depth_max;      /* 16 */
	uint32_t items_max;      /* metadata and data items in one envelope: 4096 */
	uint32_t fields_max;     /* 256 */
	uint32_t rows_max;       /* 65,536 */
	uint32_t text_max_bytes; /* one string or key: 4096; field names never above 255 */
};
extern const struct nw_doc_limits nw_doc_limits_default;

/* Working memory of one thread; grows to the largest document seen and is reused: no allocation per
 * sample. */
struct nw_doc_decoder;
/* NULL limits: defaults. NULL: no memory */
struct nw_doc_decoder *nw_doc_decoder_new(const struct nw_doc_limits *lim);
void nw_doc_decoder_free(struct nw_doc_decoder *d);

/*
 * Decodes one application block of option NW_OPT_META, _DATA, _XFER_* or _BATCH; others are
 * NW_EUNSUPPORTED. Any generation is taken from any of the documents: what counts is the document.
 * A row without number, or without time and sample number, is left out.
 * NW_EPROTO/NW_ETOOBIG/NW_ENOMEM with static *why on a bad document (items before the bad one have
 * been delivered); the sink's negative code is passed through.
 */
int nw_doc_decode(struct nw_doc_decoder *d, uint16_t opt, const uint8_t *buf, size_t len,
    const struct nw_doc_sink *sink, const char **why);

/*
 * Encoding, generation 3 (what current original peers and our own providers send). Each call
 * replaces what the buffer held. NW_ENOMEM, or NW_EINVAL for an id that is missing or empty.
 */
/* zero to start; grows; free with nw_doc_buf_clear */
struct nw_doc_buf {
	uint8_t *data;
	size_t len, cap;
};
void nw_doc_buf_clear(struct nw_doc_buf *b);

/*
 * One metadata document {id, pid?, eventType, subject, parameters}. subject and parameters are flat
 * lists of key, type, value built by the caller with the calls below.
 */
/* BOOL is in v.i; text NULL: left out */
enum nw_kv_type { NW_KV_TEXT, NW_KV_INT, NW_KV_REAL, NW_KV_BOOL };
struct nw_kv {
	const char *key;
	enum nw_kv_type type;
	union {
		const char *text;
		int64_t i;
		double d;
	} v;
};
int nw_meta_encode(struct nw_doc_buf *out, const char *id, const char *pid, const char *event_type,
    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params, size_t n_params);

/* An envelope of generation 1 or 2 around one metadata as it was received. NW_EINVAL: that is no
 * document. */
int nw_envelope_encode(struct nw_doc_buf *out, const uint8_t *meta, size_t len);

/*
 * One data document {mid, data:{ts, ts_ns, fields..., h_dur?}}. `ts` is double seconds for original
 * readers, `ts_ns` int64 for exact ones. NaN values are left out.
 */
int nw_data_encode(struct nw_doc_buf *out, const char *mid, int64_t t_wall_ns,
    const char *const *fields, const double *values, size_t n_fields, const uint8_t *hist,
    size_t hist_len);

/*
 * Several rows of one metadata as one document: d's mid, fields, rows, times and values, without
 * histogram. nw_batch_doc_encode() packs them in columns (NW_OPT_BATCH; the format is in
 * batch_doc.c), for peers that can "batch"; nw_list_doc_encode() says the same as NW_OPT_DATA {mid,
 * data:[{ts, ts_ns, fields...}, ..]}, for all others. NW_ETOOBIG: more rows or fields than
 * nw_doc_limits_default takes.
 */
int nw_batch_doc_encode(struct nw_doc_buf *out, const struct nw_data *d);
int nw_list_doc_encode(struct nw_doc_buf *out, const struct nw_data *d);

/* A flat control document (HELLO, STORED, ...): encode from a list, decode into one. */
int nw_kv_encode(struct nw_doc_buf *out, const struct nw_kv *kv, size_t n);
/*
 * Keys and text point into buf. Fields of other types, not in UTF-8 or repeated are skipped.
 * NW_EPROTO on bytes that are no document, NW_ETOOBIG when it has more than cap fields (or is over
 * the default limits).
 */
int nw_kv_decode(
    const uint8_t *buf, size_t len, struct nw_kv *kv, size_t cap, size_t *n, const char **why);

/* The same for the document that is the value of `key` in buf. A buf without such a key has no
 * fields. */
int nw_kv_decode_member(const uint8_t *buf, size_t len, const char *key, struct nw_kv *kv,
    size_t cap, size_t *n, const char **why);

/*
 * The value of a key in such a list. An integer is def where the list has no integer of this key. A
 * real may have been sent as an integer; it is def without the key, NaN for another type. Text is
 * NULL where the list has none, or an empty one.
 */
int64_t nw_kv_int(const struct nw_kv *kv, size_t n, const char *key, int64_t def);
double nw_kv_real(const struct nw_kv *kv, size_t n, const char *key, double def);
const char *nw_kv_text(const struct nw_kv *kv, size_t n, const char *key);

#endif

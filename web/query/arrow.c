/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of tables, fields and types are those of Message.fbs and Schema.fbs of the Arrow format.
 * A message is 0xffffffff, the length of its metadata, the metadata, and a body of buffers; all
 * begin at multiples of 8. Bodies have the byte order of this machine, as the schema says.
 */
#include "web/query/arrow.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "web/query/flatbuf.h"

enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_ROWS = 3 };
enum { TYPE_INT = 2, TYPE_FLOAT = 3, TYPE_UTF8 = 5, TYPE_TIMESTAMP = 10 };
enum { PRECISION_DOUBLE = 2, UNIT_NANOSECOND = 3 };
enum { BUFFERS_MAX = 3 * ARROW_COLUMNS_MAX };
#define CONTINUES UINT32_C(0xffffffff)

/* Parts of a body, in order. */
struct body {
	struct {
		const void *bytes;
		size_t len;
	} part[BUFFERS_MAX];
	int64_t pairs[BUFFERS_MAX][2]; /* offset and length of each */
	size_t n, len;
};

static size_t
padded(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

static void
body_add(struct body *b, const void *bytes, size_t len)
{
	b->part[b->n].bytes = bytes;
	b->part[b->n].len = len;
	b->pairs[b->n][0] = (int64_t)b->len;
	b->pairs[b->n][1] = (int64_t)len;
	b->n++;
	b->len += padded(len);
}

static int
padding_write(size_t len, stream_write_fn *write, void *arg)
{
	static const char zeros[8];

	return padded(len) > len ? write(arg, zeros, padded(len) - len) : NW_OK;
}

static int
body_write(const struct body *b, stream_write_fn *write, void *arg)
{
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < b->n && rc == NW_OK; i++) {
		if (b->part[i].len > 0)
			rc = write(arg, b->part[i].bytes, b->part[i].len);
		if (rc == NW_OK)
			rc = padding_write(b->part[i].len, write, arg);
	}
	return rc;
}

static int
message_write(struct flatbuf *f, int kind, size_t header, const struct body *body,
    stream_write_fn *write, void *arg)
{
	const uint8_t *bytes;
	uint8_t head[8];
	size_t len, i;
	int rc;

	flatbuf_table(f, 5);
	flatbuf_scalar(f, 3, body != NULL ? (int64_t)body->len : 0, 8);
	flatbuf_ref(f, 2, header);
	flatbuf_scalar(f, 0, VERSION_5, 2);
	flatbuf_scalar(f, 1, kind, 1);
	if ((bytes = flatbuf_finish(f, flatbuf_table_end(f), &len)) == NULL)
		return NW_ETOOBIG;
	for (i = 0; i < 4; i++) {
		head[i] = (uint8_t)(CONTINUES >> 8 * i);
		head[4 + i] = (uint8_t)(len >> 8 * i);
	}
	if ((rc = write(arg, (const char *)head, sizeof(head))) != NW_OK ||
	    (rc = write(arg, (const char *)bytes, len)) != NW_OK || body == NULL)
		return rc;
	return body_write(body, write, arg);
}

/* --- the schema --- */

static size_t
int_type(struct flatbuf *f, int bits)
{
	flatbuf_table(f, 2);
	flatbuf_scalar(f, 0, bits, 4);
	flatbuf_scalar(f, 1, 1, 1);
	return flatbuf_table_end(f);
}

/* The type of a column. *kind is its number in the union of types. */
static size_t
column_type(struct flatbuf *f, enum arrow_type type, int *kind)
{
	size_t zone;

	switch (type) {
	case ARROW_INT64: *kind = TYPE_INT; return int_type(f, 64);
	case ARROW_NAME:
		*kind = TYPE_UTF8;
		flatbuf_table(f, 0);
		return flatbuf_table_end(f);
	case ARROW_TIME:
		*kind = TYPE_TIMESTAMP;
		zone = flatbuf_string(f, "UTC");
		flatbuf_table(f, 2);
		flatbuf_ref(f, 1, zone);
		flatbuf_scalar(f, 0, UNIT_NANOSECOND, 2);
		return flatbuf_table_end(f);
	case ARROW_DOUBLE: break;
	}
	*kind = TYPE_FLOAT;
	flatbuf_table(f, 1);
	flatbuf_scalar(f, 0, PRECISION_DOUBLE, 2);
	return flatbuf_table_end(f);
}

static size_t
names_encoding(struct flatbuf *f)
{
	size_t index = int_type(f, 32);

	flatbuf_table(f, 4);
	flatbuf_scalar(f, 0, 0, 8);
	flatbuf_ref(f, 1, index);
	return flatbuf_table_end(f);
}

static size_t
column_field(struct flatbuf *f, const struct arrow_column *c)
{
	int kind;
	size_t type = column_type(f, c->type, &kind);
	size_t encoding = c->type == ARROW_NAME ? names_encoding(f) : 0;
	size_t children = flatbuf_refs(f, NULL, 0), name = flatbuf_string(f, c->name);

	flatbuf_table(f, 7);
	flatbuf_ref(f, 0, name);
	flatbuf_ref(f, 3, type);
	if (encoding != 0)
		flatbuf_ref(f, 4, encoding);
	flatbuf_ref(f, 5, children);
	flatbuf_scalar(f, 1, 0, 1);
	flatbuf_scalar(f, 2, kind, 1);
	return flatbuf_table_end(f);
}

int
arrow_schema(const struct arrow_column *columns, size_t n, stream_write_fn *write, void *arg)
{
	static const uint16_t one = 1;
	struct flatbuf f;
	size_t fields[ARROW_COLUMNS_MAX], list, i;
	bool little = *(const uint8_t *)&one == 1;

	flatbuf_init(&f);
	for (i = 0; i < n; i++)
		fields[i] = column_field(&f, &columns[i]);
	list = flatbuf_refs(&f, fields, n);
	flatbuf_table(&f, 4);
	flatbuf_ref(&f, 1, list);
	flatbuf_scalar(&f, 0, little ? 0 : 1, 2);
	return message_write(&f, HEADER_SCHEMA, flatbuf_table_end(&f), NULL, write, arg);
}

/* --- rows and names --- */

static size_t
batch(struct flatbuf *f, const struct body *body, const int64_t (*nodes)[2], size_t n_nodes,
    size_t n_rows)
{
	size_t buffers = flatbuf_pairs(f, body->pairs, body->n),
	       list = flatbuf_pairs(f, nodes, n_nodes);

	flatbuf_table(f, 4);
	flatbuf_scalar(f, 0, (int64_t)n_rows, 8);
	flatbuf_ref(f, 1, list);
	flatbuf_ref(f, 2, buffers);
	return flatbuf_table_end(f);
}

int
arrow_rows(
    const struct arrow_column *columns, size_t n, size_t n_rows, stream_write_fn *write, void *arg)
{
	int64_t nodes[ARROW_COLUMNS_MAX][2];
	struct body body = { .n = 0 };
	struct flatbuf f;
	size_t i;

	flatbuf_init(&f);
	for (i = 0; i < n; i++) {
		nodes[i][0] = (int64_t)n_rows;
		nodes[i][1] = 0;
		body_add(&body, NULL, 0); /* no bit map: no row is null */
		body_add(
		    &body, columns[i].values, n_rows * (columns[i].type == ARROW_NAME ? 4 : 8));
	}
	return message_write(
	    &f, HEADER_ROWS, batch(&f, &body, nodes, n, n_rows), &body, write, arg);
}

/* Lengths of names are summed by the caller's limits: a dictionary of 2 GiB is out of reach. */
static int
names_body(const char *const *names, size_t n, char **text, int32_t **ends, size_t *len)
{
	size_t i;

	*len = 0;
	for (i = 0; i < n; i++)
		*len += strlen(names[i]);
	if (*len > INT32_MAX || (*text = malloc(*len + 1)) == NULL)
		return NW_ENOMEM;
	if ((*ends = calloc(n + 1, sizeof(**ends))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++) {
		size_t one = strlen(names[i]);

		memcpy(*text + (*ends)[i], names[i], one);
		(*ends)[i + 1] = (*ends)[i] + (int32_t)one;
	}
	return NW_OK;
}

int
arrow_names(const char *const *names, size_t n, bool first, stream_write_fn *write, void *arg)
{
	const int64_t nodes[1][2] = { { (int64_t)n, 0 } };
	struct body body = { .n = 0 };
	struct flatbuf f;
	int32_t *ends = NULL;
	char *text = NULL;
	size_t len, data;
	int rc = names_body(names, n, &text, &ends, &len);

	if (rc != NW_OK)
		goto out;
	flatbuf_init(&f);
	body_add(&body, NULL, 0);
	body_add(&body, ends, (n + 1) * sizeof(*ends));
	body_add(&body, text, len);
	data = batch(&f, &body, nodes, 1, n);
	flatbuf_table(&f, 3);
	flatbuf_scalar(&f, 0, 0, 8);
	flatbuf_ref(&f, 1, data);
	flatbuf_scalar(&f, 2, !first, 1);
	rc = message_write(&f, HEADER_DICTIONARY, flatbuf_table_end(&f), &body, write, arg);
out:
	free(ends);
	free(text);
	return rc;
}

int
arrow_end(stream_write_fn *write, void *arg)
{
	static const char end[8] = "\xff\xff\xff\xff";

	return write(arg, end, sizeof(end));
}

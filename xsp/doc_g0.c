/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generation 0: the text that the XIO driver of January 2011 sent in blocks of a transfer, turned
 * into documents of generation 3.
 *
 *	user=U,task_id=T,sport=N,dport=N,resource=PATH,size=N,src=A,dst=A      new, end
 *	user=U,task_id=T,sport=N,dport=N,resource=PATH,size=N,filename=PATH,fsize=N
 *	user=U,task_id=T,sport=N,dport=N,resource=PATH,size=N,A:PORT/B:PORT
 *	ts=2011-02-03T00:33:34.250334Z event=write.summary v.sum=F ... dur.i=F id=N type=0    update
 *
 * A missing text is "(null)", a missing number 0. `id` is the handle of the driver, type 0 the
 * network and 1 the disk. A list of counts has no place in a row and is left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/format.h"
#include "xsp/decoder.h"

enum { TEXT_MAX_BYTES = 4096, PAIRS_MAX = 64, HANDLE_MAX_BYTES = 64, TYPE_MAX_BYTES = 250 };

struct pair {
	char *name, *value;
};

struct text {
	char bytes[TEXT_MAX_BYTES + 1];
	struct pair pairs[PAIRS_MAX];
	size_t n;
};

/* --- words --- */

static bool
begins(const uint8_t *p, size_t len, const char *with)
{
	return len >= strlen(with) && memcmp(p, with, strlen(with)) == 0;
}

bool
g0_is(const uint8_t *p, size_t len)
{
	return begins(p, len, "user=") || begins(p, len, "ts=");
}

static const char *
value_of(const struct text *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (strcmp(t->pairs[i].name, name) == 0)
			return t->pairs[i].value;
	return NULL;
}

/* Adds a pair of the text from p to the separator, and returns the place behind; NULL: no pair, or
 * too many. */
static char *
pair_take(struct text *t, char *p, char separator)
{
	char *end = strchr(p, separator), *is;

	if (end != NULL)
		*end = '\0';
	if ((is = strchr(p, '=')) == NULL || is == p || t->n == PAIRS_MAX)
		return NULL;
	*is = '\0';
	t->pairs[t->n++] = (struct pair){ p, is + 1 };
	return end != NULL ? end + 1 : is + 1 + strlen(is + 1);
}

/* --- the transfer --- */

/* The last place of a text within a text. */
static char *
last_of(char *in, const char *what)
{
	char *p, *last = NULL;

	for (p = in; (p = strstr(p, what)) != NULL; p++)
		last = p;
	return last;
}

/* A:PORT/B:PORT */
static bool
contacts_take(struct text *t, char *local)
{
	static const char *const names[2][2] = { { "src", "sport" }, { "dst", "dport" } };
	char *side[2] = { local, strchr(local, '/') }, *colon;
	int i;

	if (side[1] == NULL)
		return false;
	*side[1]++ = '\0';
	for (i = 0; i < 2; i++) {
		if ((colon = strrchr(side[i], ':')) == NULL || t->n + 2 > PAIRS_MAX)
			return false;
		*colon = '\0';
		t->pairs[t->n++] = (struct pair){ (char *)names[i][0], side[i] };
		t->pairs[t->n++] = (struct pair){ (char *)names[i][1], colon + 1 };
	}
	return true;
}

/* A path may hold commas: the resource ends before the last ",size=", a file's name before the
 * last ",fsize=". */
static bool
transfer_split(struct text *t)
{
	char *p = t->bytes, *end;
	bool ok = true;

	while (ok && p != NULL) {
		if (strncmp(p, "resource=", 9) == 0)
			end = last_of(p, ",size=");
		else if (strncmp(p, "filename=", 9) == 0)
			end = last_of(p, ",fsize=");
		else if (memchr(p, '=', strcspn(p, ",")) == NULL)
			return contacts_take(t, p);
		else
			end = strchr(p, ',');
		if (end != NULL)
			*end = '\0';
		ok = pair_take(t, p, '\0') != NULL;
		p = end != NULL ? end + 1 : NULL;
	}
	return ok;
}

static bool
is_missing(const char *value)
{
	return *value == '\0' || strcmp(value, "(null)") == 0 || strcmp(value, "0") == 0;
}

static int
transfer_encode(struct text *t, struct nw_doc_buf *out)
{
	struct nw_kv subject[PAIRS_MAX + 1];
	const char *task, *type;
	char id[TEXT_MAX_BYTES + 16];
	size_t i, n = 0;

	if (!transfer_split(t) || (task = value_of(t, "task_id")) == NULL)
		return NW_EPROTO;
	for (i = 0; i < t->n; i++)
		if (!is_missing(t->pairs[i].value))
			subject[n++] = (struct nw_kv){ .key = t->pairs[i].name,
				.type = NW_KV_TEXT,
				.v.text = t->pairs[i].value };
	type = value_of(t, "src") != NULL ? "network" : "disk";
	subject[n++] = (struct nw_kv){ .key = "type", .type = NW_KV_TEXT, .v.text = type };
	snprintf(id, sizeof(id), "transfer:%s:%s", is_missing(task) ? "" : task, type);
	return nw_meta_encode(out, id, NULL, "xfer.xsp.xio", subject, n, NULL, 0);
}

/* --- calipers --- */

/* Name of the document's field: v.sum is sum_v, dur.i is dur_inst. */
static void
field_name(char *out, size_t size, const char *name)
{
	if (strcmp(name, "dur.i") == 0 || strcmp(name, "dur.inst") == 0)
		snprintf(out, size, "dur_inst");
	else if (strchr("vrg", name[0]) != NULL && name[1] == '.')
		snprintf(out, size, "%s_%c", name + 2, name[0]);
	else
		snprintf(out, size, "%s", name);
}

static bool
is_about(const char *name)
{
	return strcmp(name, "ts") == 0 || strcmp(name, "event") == 0 || strcmp(name, "id") == 0 ||
	    strcmp(name, "type") == 0;
}

struct caliper {
	char id[HANDLE_MAX_BYTES + TYPE_MAX_BYTES + 8], event_type[TYPE_MAX_BYTES + 4];
	char names[PAIRS_MAX][NAME_MAX_BYTES + 1];
	const char *fields[PAIRS_MAX];
	double values[PAIRS_MAX];
	size_t n;
	int64_t t_wall_ns;
};

static int
caliper_read(struct text *t, struct caliper *c)
{
	const char *event, *id, *ts;
	char *p = t->bytes, *end;
	size_t i;

	while (p != NULL && *p != '\0')
		p = *p == ' ' ? p + 1 : pair_take(t, p, ' ');
	event = value_of(t, "event");
	ts = value_of(t, "ts");
	if (p == NULL || event == NULL || *event == '\0' || ts == NULL)
		return NW_EPROTO;
	if (strlen(event) > TYPE_MAX_BYTES)
		return NW_ETOOBIG;
	/* The first senders left out the beginning that all later generations have. */
	snprintf(c->event_type, sizeof(c->event_type), "%.3s%.*s",
	    strstr(event, ".summary") != NULL && strncmp(event, NW_TYPE_CALIPER_OLD, 3) != 0
		? NW_TYPE_CALIPER_OLD
		: "",
	    TYPE_MAX_BYTES, event);
	id = value_of(t, "id");
	if (id != NULL && strlen(id) > HANDLE_MAX_BYTES)
		return NW_ETOOBIG;
	snprintf(
	    c->id, sizeof(c->id), "%.*s:%s", HANDLE_MAX_BYTES, id != NULL ? id : "", c->event_type);
	if ((c->t_wall_ns = fmt_parse_iso(ts)) == 0)
		return NW_EPROTO;
	for (i = 0; i < t->n; i++) {
		if (is_about(t->pairs[i].name) || strlen(t->pairs[i].name) > NAME_MAX_BYTES - 8)
			continue;
		c->values[c->n] = strtod(t->pairs[i].value, &end);
		if (end == t->pairs[i].value || *end != '\0')
			continue;
		field_name(c->names[c->n], sizeof(c->names[0]), t->pairs[i].name);
		c->fields[c->n] = c->names[c->n];
		c->n++;
	}
	return NW_OK;
}

static int
caliper_encode(struct text *t, struct nw_doc_buf *meta, struct nw_doc_buf *data)
{
	struct caliper *c = calloc(1, sizeof(*c));
	const char *type;
	struct nw_kv kv;
	size_t n = 0;
	int rc;

	if (c == NULL)
		return NW_ENOMEM;
	if ((rc = caliper_read(t, c)) == NW_OK) {
		type = value_of(t, "type");
		if (type != NULL && (strcmp(type, "0") == 0 || strcmp(type, "1") == 0))
			n = 1;
		kv = (struct nw_kv){ .key = "type",
			.type = NW_KV_TEXT,
			.v.text = n > 0 && *type == '0' ? "network" : "disk" };
		if ((rc = nw_meta_encode(meta, c->id, NULL, c->event_type, &kv, n, NULL, 0)) >= 0)
			rc = nw_data_encode(
			    data, c->id, c->t_wall_ns, c->fields, c->values, c->n, NULL, 0);
	}
	free(c);
	return rc < 0 ? rc : NW_OK;
}

int
g0_encode(const uint8_t *p, size_t len, struct nw_doc_buf *meta, struct nw_doc_buf *data)
{
	struct text *t;
	int rc;

	while (len > 0 && (p[len - 1] == '\n' || p[len - 1] == '\r' || p[len - 1] == '\0'))
		len--;
	if (len > TEXT_MAX_BYTES)
		return NW_ETOOBIG;
	if (!text_is_valid((const char *)p, len))
		return NW_EPROTO;
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return NW_ENOMEM;
	memcpy(t->bytes, p, len);
	rc = begins(p, len, "ts=") ? caliper_encode(t, meta, data) : transfer_encode(t, meta);
	free(t);
	return rc < 0 ? rc : NW_OK;
}

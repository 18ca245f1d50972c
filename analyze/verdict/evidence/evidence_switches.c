/* SPDX-License-Identifier: BSD-3-Clause */
/* What switches counted on the ports of the session's hosts while the session worked. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/xmalloc.h"

#define SECOND_NS INT64_C(1000000000)

enum counted { OCTETS_IN, OCTETS_OUT, DISCARDS_IN, DISCARDS_OUT, ERRORS_IN, ERRORS_OUT, COUNTED };
static const char *const counted_names[COUNTED] = { "octets_in", "octets_out", "discards_in",
	"discards_out", "errors_in", "errors_out" };

struct port_load {
	struct store_reader *reader;
	const struct analysis_speakers *speakers;
	char *list;              /* of the speakers, NULL until a port asks */
	const char *switch_name; /* of the metadata in hand */
	bool granted;
	struct evidence *e;
	struct evidence_switch *s;
	int columns[COUNTED], speed; /* columns of the layout, -1 without */
	double last[COUNTED], sum[COUNTED];
	int64_t last_wall_ns;
};

static bool
is_of_session(const struct evidence *e, const char *host)
{
	size_t i;

	if (evidence_host_find(e, host) < e->n_hosts)
		return true;
	for (i = 0; i < e->n_connections; i++)
		if (strcmp(e->connections[i].src, host) == 0 ||
		    strcmp(e->connections[i].dst, host) == 0)
			return true;
	return false;
}

/* The first host of the session among the words; malloc'ed, NULL without such a host. */
static char *
served(const struct evidence *e, const char *words)
{
	char *copy = xstrdup(words), *rest = copy, *word, *found = NULL;

	while (found == NULL && (word = strsep(&rest, " \t")) != NULL)
		if (word[0] != '\0' && is_of_session(e, word))
			found = xstrdup(word);
	free(copy);
	return found;
}

/* A counter with a step back has begun anew: the step counts nothing. */
static int
on_rows(void *arg, const struct store_block *b)
{
	struct port_load *l = arg;
	double seconds, used, v, step[COUNTED];
	size_t i;
	int c;

	for (i = 0; i < b->n_rows; i++) {
		seconds = (double)(b->t_wall_ns[i] - l->last_wall_ns) / 1e9;
		for (c = 0; c < COUNTED; c++) {
			v = l->columns[c] >= 0 ? b->columns[l->columns[c]][i] : NAN;
			step[c] = v >= l->last[c] ? v - l->last[c] : 0;
			l->sum[c] += step[c];
			if (!isnan(v))
				l->last[c] = v;
		}
		v = l->speed >= 0 ? b->columns[l->speed][i] : NAN;
		if (!isnan(v))
			l->s->speed_bit_s = v;
		used = 8 * fmax(step[OCTETS_IN], step[OCTETS_OUT]) / seconds / v;
		if (l->last_wall_ns != 0 && seconds > 0 && used > l->s->used)
			l->s->used = used;
		l->last_wall_ns = b->t_wall_ns[i];
		l->s->rows++;
	}
	return 0;
}

static int
on_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct port_load *l = arg;
	size_t i;
	int c;

	l->speed = -1;
	for (c = 0; c < COUNTED; c++) {
		l->columns[c] = -1;
		l->last[c] = NAN;
	}
	for (i = 0; i < rec->n_fields; i++) {
		if (strcmp(rec->fields[i], "speed_bit_s") == 0)
			l->speed = (int)i;
		for (c = 0; c < COUNTED; c++)
			if (strcmp(rec->fields[i], counted_names[c]) == 0)
				l->columns[c] = (int)i;
	}
	l->last_wall_ns = 0;
	return store_rows(l->reader, rec->id, l->e->first_wall_ns - 2 * SECOND_NS,
	    l->e->last_wall_ns + 2 * SECOND_NS, on_rows, l);
}

static const char *
text_of(const json_t *subject, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(subject, key));

	return text != NULL ? text : otherwise;
}

static int
port_read(struct port_load *l, const struct nw_meta_rec *m, const json_t *subject, char *host)
{
	struct evidence *e = l->e;
	int rc;

	e->switches = xreallocarray(e->switches, e->n_switches + 1, sizeof(*e->switches));
	l->s = &e->switches[e->n_switches++];
	*l->s = (struct evidence_switch){ .name = xstrdup(text_of(subject, "hostname", "a switch")),
		.port = xstrdup(text_of(subject, "interface", "")),
		.serves = host,
		.speed_bit_s = NAN };
	if (l->s->port[0] == '\0') {
		free(l->s->port);
		l->s->port = xasprintf(
		    "%lld", (long long)json_integer_value(json_object_get(subject, "port")));
	}
	memset(l->sum, 0, sizeof(l->sum));
	rc = store_layouts(l->reader, m->id, on_layout, l);
	l->s->dropped = l->sum[DISCARDS_IN] + l->sum[DISCARDS_OUT];
	l->s->errors = l->sum[ERRORS_IN] + l->sum[ERRORS_OUT];
	return rc;
}

static int
on_sender(void *arg, const struct nw_xsp_rec *x)
{
	struct port_load *l = arg;
	const struct analysis_speakers *s = l->speakers;
	bool imported = x->owner == NULL || x->owner[0] == '\0';

	if (!imported && s->list != NULL && l->list == NULL)
		l->list = s->list(s->arg);
	l->granted =
	    imported || (s->may != NULL && s->may(l->list, x->owner, "switch", l->switch_name));
	return 0;
}

/* Returns true if the sender of the metadata may speak for the switch. A text in a metadata proves
 * nothing: any host could name any switch. */
static bool
is_granted(struct port_load *l, const struct nw_meta_rec *m, const json_t *subject)
{
	l->granted = false;
	l->switch_name = text_of(subject, "hostname", "");
	return store_xsp_get(l->reader, m->xsp_id, on_sender, l) >= 0 && l->granted;
}

static int
on_port(void *arg, const struct nw_meta_rec *m)
{
	struct port_load *l = arg;
	json_t *subject = json_loads(m->subject_json, 0, NULL);
	const char *serves = json_string_value(json_object_get(subject, "serves"));
	char *host = serves != NULL ? served(l->e, serves) : NULL;
	int rc = NW_OK;

	if (host != NULL && l->e->n_switches < EVIDENCE_LIST_MAX && is_granted(l, m, subject))
		rc = port_read(l, m, subject, host);
	else
		free(host);
	json_decref(subject);
	return rc;
}

int
evidence_switches(
    struct store_reader *r, const struct analysis_speakers *speakers, struct evidence *e)
{
	struct port_load l = { .reader = r, .speakers = speakers, .e = e };
	int rc;

	if (e->first_wall_ns == 0 || e->last_wall_ns == 0)
		return NW_OK;
	rc = store_metas(r, 0, 0, NW_TYPE_PORT, on_port, &l);
	free(l.list);
	return rc;
}

void
evidence_switches_clear(struct evidence *e)
{
	size_t i;

	for (i = 0; i < e->n_switches; i++) {
		free(e->switches[i].name);
		free(e->switches[i].port);
		free(e->switches[i].serves);
	}
	free(e->switches);
}

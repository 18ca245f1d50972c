/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/judge/others.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/judge/resources.h"
#include "narrows/xmalloc.h"

/* Least share of a user worth a word. */
static const double SHARE_MIN = 0.15;
/* Journals and metadata are written besides the bytes of programs. */
static const double REST_WRITTEN_MIN = 0.4;
/* With less the session hardly used the resource, or used another. */
static const double OWN_MIN = 0.02;
/* The parts may exceed the total by so much: a process's bytes count when asked for, a device's
 * when there. */
static const double EXCESS_MAX = 1.25;
/* Bytes in frames for a byte in calls. */
static const double FRAMED = 1.05;
/* Unseen share of the session's own bytes, to be blamed on other users otherwise. */
static const double UNSEEN_MAX = 0.1;
/* A stage limits in windows with at least so large a share held. */
static const double LIMITS = 0.5;

/* A resource in the windows of a stage, while its users are weighed. */
struct scope {
	const struct evidence *e;
	const struct nw_path_stage *stage;
	size_t host;
	bool link, out;
	const char *place;
	struct others *to;
};

static double
bytes_in_scope(const struct scope *s, const struct evidence_use *u)
{
	const double *x = s->out ? u->out : u->in;
	double sum = 0;
	size_t i;

	for (i = 0; x != NULL && i < s->e->n_windows; i++)
		if (1 - s->stage->free_share[i] >= LIMITS)
			sum += x[i];
	return sum;
}

/* Share of a session's bytes of files that lie on the device of the scope: processes count the
 * bytes of all disks together. */
static double
share_here(const struct scope *s, int64_t session_id)
{
	double here = 0, all = 0, bytes;
	size_t i;

	for (i = 0; i < s->e->n_use_files; i++) {
		const struct evidence_use_file *f = &s->e->use_files[i];

		if (f->session_id != session_id || f->host != s->host)
			continue;
		bytes = s->out ? f->written : f->read;
		all += bytes;
		here += strcmp(f->device, s->place) == 0 ? bytes : 0;
	}
	return all > 0 ? here / all : 0;
}

static double
used_by(const struct scope *s, const struct evidence_use *u)
{
	if (u->host != s->host || u->link != s->link)
		return 0;
	if (!u->link)
		return bytes_in_scope(s, u) * share_here(s, u->session_id);
	return u->place != NULL && strcmp(u->place, s->place) == 0 ? FRAMED * bytes_in_scope(s, u)
								   : 0;
}

static const struct evidence_use *
total_of(const struct scope *s)
{
	const struct evidence_use *u;

	for (u = s->e->uses; u < s->e->uses + s->e->n_uses; u++)
		if (u->session_id == 0 && u->host == s->host && u->link == s->link &&
		    strcmp(u->place, s->place) == 0)
			return u;
	return NULL;
}

/* --- words --- */

static char *
user_text(const struct other *o)
{
	if (o->session_id == 0)
		return xstrdup(o->link ? "other connections" : "other processes");
	return xasprintf(
	    "%s of session %" PRId64, o->program != NULL ? o->program : "a program", o->session_id);
}

static void
other_say(const struct evidence *e, struct other *o)
{
	char *user = user_text(o);
	const struct claim_value place = claim_text(o->place),
				 host = claim_text(e->hosts[o->host].name), by = claim_text(user),
				 share = claim_number(o->share);

	if (o->link)
		CLAIM_SAY(&o->told, link_also_carried, CLAIM_NO_STAGE, place, host, by, share,
		    claim_text(o->out ? "sent" : "received"));
	else
		CLAIM_SAY(&o->told, disk_was_also, CLAIM_NO_STAGE, place, host,
		    claim_text(o->out ? "written" : "read"), by, share,
		    claim_text(o->out ? "written" : "read"));
	o->sentence = claims_text(&o->told);
	free(user);
}

static void
other_add(const struct scope *s, const struct evidence_use *u, double bytes, double total)
{
	struct other o = { .host = s->host,
		.link = s->link,
		.out = s->out,
		.place = s->place,
		.session_id = u != NULL ? u->session_id : 0,
		.program = u != NULL ? u->program : NULL,
		.bytes = bytes,
		.share = fmin(1, bytes / total) };

	if (s->to->n == OTHERS_MAX)
		return;
	other_say(s->e, &o);
	s->to->other[s->to->n++] = o;
}

/* --- the users of a resource --- */

static int
other_order(const void *a, const void *b)
{
	const struct other *x = a, *y = b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

/* Says nothing where the session's own bytes, or those of all sessions, are not among the total. */
static void
resource_weigh(const struct scope *s)
{
	const struct evidence_use *all = total_of(s), *u;
	double total = all != NULL ? bytes_in_scope(s, all) : 0, own = 0, sessions = 0, rest;
	size_t first = s->to->n;

	for (u = s->e->uses; u < s->e->uses + s->e->n_uses; u++) {
		own += u->session_id == s->e->session_id ? used_by(s, u) : 0;
		sessions += u->session_id != 0 ? used_by(s, u) : 0;
	}
	if (!(total > 0) || own < OWN_MIN * total || sessions > EXCESS_MAX * total)
		return;
	total = fmax(total, sessions);
	for (u = s->e->uses; u < s->e->uses + s->e->n_uses; u++)
		if (u->session_id != 0 && u->session_id != s->e->session_id &&
		    used_by(s, u) >= SHARE_MIN * total)
			other_add(s, u, used_by(s, u), total);
	rest = total - sessions;
	if (rest >= (!s->link && s->out ? REST_WRITTEN_MIN : SHARE_MIN) * total)
		other_add(s, NULL, rest, total);
	qsort(s->to->other + first, s->to->n - first, sizeof(*s->to->other), other_order);
}

/* The device with most bytes of the session's files on the host; NULL if unknown. */
static const char *
device_of(const struct evidence *e, size_t host, bool out)
{
	const struct evidence_use_file *f, *most = NULL;

	for (f = e->use_files; f < e->use_files + e->n_use_files; f++)
		if (f->session_id == e->session_id && f->host == host &&
		    (most == NULL || (out ? f->written > most->written : f->read > most->read)))
			most = f;
	return most != NULL && (out ? most->written : most->read) > 0 ? most->device : NULL;
}

/* The interface with most bytes of the session on the host; NULL if unknown. */
static const char *
interface_of(const struct scope *s)
{
	const struct evidence_use *u, *most = NULL;

	for (u = s->e->uses; u < s->e->uses + s->e->n_uses; u++)
		if (u->session_id == s->e->session_id && u->host == s->host && u->link &&
		    u->place != NULL &&
		    (most == NULL || bytes_in_scope(s, u) > bytes_in_scope(s, most)))
			most = u;
	return most != NULL ? most->place : NULL;
}

static void
link_weigh(struct scope *s, size_t host, bool out)
{
	s->host = host;
	s->out = out;
	if ((s->place = interface_of(s)) != NULL)
		resource_weigh(s);
}

/* Others on the sender's link are likely to be on the receiver's, too, and are told once. */
static void
stage_weigh(const struct evidence *e, const struct judgement *j, size_t stage, struct others *to)
{
	struct scope s = { .e = e, .stage = &j->path.stage[stage], .to = to };
	enum nw_stage_kind kind = s.stage->kind;
	size_t before = to->n;

	s.host = s.stage->host;
	s.out = kind == NW_STAGE_DISK_WRITE;
	if (kind == NW_STAGE_DISK_READ || kind == NW_STAGE_DISK_WRITE) {
		if ((s.place = device_of(e, s.host, s.out)) != NULL)
			resource_weigh(&s);
		return;
	}
	s.link = true;
	if (stage_kind_is_net(kind) && j->path.has_sender)
		link_weigh(&s, j->path.sender_host, true);
	if (stage_kind_is_net(kind) && j->path.has_receiver && to->n == before)
		link_weigh(&s, j->path.receiver_host, false);
}

void
others_find(const struct evidence *e, const struct judgement *j, struct others *out)
{
	*out = (struct others){ .n = 0 };
	if (j->limit.stage >= j->path.n || j->unseen > UNSEEN_MAX ||
	    (!j->limit.known && j->second >= j->path.n))
		return;
	stage_weigh(e, j, j->limit.stage, out);
	if (j->second < j->path.n)
		stage_weigh(e, j, j->second, out);
}

void
others_clear(struct others *o)
{
	size_t i;

	for (i = 0; i < o->n; i++) {
		free(o->other[i].sentence);
		claims_clear(&o->other[i].told);
	}
	o->n = 0;
}

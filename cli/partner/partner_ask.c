/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions to partners. The memory in asked.json outlives the process:
 *
 *	run       newest run of the analysis so far
 *	open      questions without an answer, with growing waits
 *	answered  "SESSION SITE", the newest: never asked about again, also if judged anew
 *
 * Nothing waits for a partner: the session has a verdict, and a note has the partner's answer.
 */
#include "cli/partner/partner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/log.h"
#include "narrows/progress.h"
#include "narrows/store.h"
#include "narrows/xmalloc.h"
#include "pki/ask/ctlask.h"
#include "send/memory.h"

enum { ANSWERED_MAX = 5000, OPEN_MAX = 1000, ASK_AT_ONCE = 50 };
static const int64_t UNKNOWN_NS = INT64_C(300) * 1000000000,
		     WAIT_MAX_NS = INT64_C(600) * 1000000000;

struct looking {
	const struct partner_env *env;
	struct partners partners;
	json_t *memory;
	int64_t now;
};

/* --- memory --- */

static bool
is_answered(json_t *memory, const char *key)
{
	json_t *list = memory_list(memory, "answered"), *text;
	size_t i;

	json_array_foreach(
	    list, i, text) if (strcmp(json_string_value(text), key) == 0) return true;
	return false;
}

static bool
is_open(json_t *memory, int64_t session, const char *site)
{
	json_t *list = memory_list(memory, "open"), *o;
	size_t i;

	json_array_foreach(
	    list, i, o) if (json_integer_value(json_object_get(o, "session")) == session &&
	    strcmp(json_string_value(json_object_get(o, "site")), site) == 0) return true;
	return false;
}

static void
answered_put(json_t *memory, int64_t session, const char *site)
{
	json_t *list = memory_list(memory, "answered");
	char *key = xasprintf("%" PRId64 " %s", session, site);

	json_array_append_new(list, json_string(key));
	while (json_array_size(list) > ANSWERED_MAX)
		json_array_remove(list, 0);
	free(key);
}

/* --- sessions to ask about --- */

/* Connections whose far end is in the partner's networks, and has no measured host here. */
static size_t
ends_of(const struct looking *l, const struct partner *p, int64_t session,
    struct partner_end out[PARTNER_ENDS_MAX])
{
	struct partner_end ends[PARTNER_ENDS_MAX], turned;
	char why[PARTNER_WHY_BYTES] = "";
	size_t n = 0, i, k = 0;

	if (find_ends(l->env->store_path, session, ends, &n, why) < 0)
		log_warnx("partner.ends session=%" PRId64 " why=\"%s\"", session, why);
	for (i = 0; i < n; i++) {
		turned = end_turned(&ends[i]);
		if (nw_networks_have_text(&p->networks, ends[i].dst) && !end_in(ends, n, &turned))
			out[k++] = ends[i];
	}
	return k;
}

static void
on_session(void *arg, int64_t run, const struct found *f)
{
	struct looking *l = arg;
	json_t *open = memory_list(l->memory, "open");
	struct partner_end ends[PARTNER_ENDS_MAX];
	const struct partner *p;
	char *key;
	size_t i;

	json_object_set_new(l->memory, "run", json_integer((json_int_t)run));
	for (i = 0; i < l->partners.n; i++) {
		p = &l->partners.list[i];
		key = xasprintf("%" PRId64 " %s", f->session, p->site);
		if (json_array_size(open) < OPEN_MAX && !is_answered(l->memory, key) &&
		    !is_open(l->memory, f->session, p->site) && ends_of(l, p, f->session, ends) > 0)
			json_array_append_new(open,
			    json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "session",
				(json_int_t)f->session, "site", p->site, "from",
				(json_int_t)f->from_wall_ns, "to", (json_int_t)f->to_wall_ns,
				"first", (json_int_t)l->now, "next", (json_int_t)l->now, "wait",
				(json_int_t)l->env->conf->interval_ns, "note", (json_int_t)0,
				"text", ""));
		free(key);
	}
}

/* --- notes --- */

static int64_t
number_of(const json_t *o, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(o, key));
}

/* The note replaces that of an earlier answer. */
static void
note_put(const struct looking *l, json_t *o, const char *text)
{
	const struct nw_note_rec note = { .session_id = number_of(o, "session"),
		.t_wall_ns = number_of(o, "from"),
		.line = STORE_NOTE_PARTNER,
		.point = json_string_value(json_object_get(o, "site")),
		.text = text,
		.made_wall_ns = l->now };
	char why[STORE_WHY_BYTES] = "";
	int64_t id = 0, old = number_of(o, "note");

	if (strcmp(json_string_value(json_object_get(o, "text")), text) == 0)
		return;
	if (old != 0)
		(void)store_note_drop(l->env->store_path, old, why);
	if (store_note_add(l->env->store_path, &note, &id, why) < 0)
		log_warnx("partner.note session=%" PRId64 " why=\"%s\"", note.session_id, why);
	json_object_set_new(o, "note", json_integer((json_int_t)id));
	json_object_set_new(o, "text", json_string(text));
}

static char *
clock_words(double theirs, double ours)
{
	char *a = isfinite(theirs) ? xasprintf("is right within %s", fmt_duration(theirs).s)
				   : xstrdup("has no known bound"),
	     *b = isfinite(ours) ? xasprintf("is right within %s", fmt_duration(ours).s)
				 : xstrdup("has no known bound"),
	     *text;

	if (isfinite(theirs) && isfinite(ours))
		text =
		    xasprintf("Its clock %s, the clock of this box %s: times of the two ends may "
			      "differ by the larger, %s.",
			a, b, fmt_duration(partner_larger_bound(theirs, ours)).s);
	else
		text =
		    xasprintf("Its clock %s, the clock of this box %s: times of the two ends may "
			      "differ by more than was measured.",
			a, b);
	free(a);
	free(b);
	return text;
}

/* --- windows of an answer --- */

static void
on_alias(void *arg, const char *line)
{
	char **alias = arg;

	if (*alias == NULL)
		*alias = xasprintf("%.*s", (int)strcspn(line, "\r\n"), line);
}

/* Feeds clean documents to the box; they belong to the session behind the alias. */
static int
documents_feed(const struct looking *l, const struct clean *c, char why[PARTNER_WHY_BYTES])
{
	const struct documents d = { "windows", c->out, c->out_len, true };
	char *xsp = l->env->xsp_address(l->env->state_dir);
	int rc = NW_EIO;

	if (xsp == NULL || *xsp == '\0')
		snprintf(why, PARTNER_WHY_BYTES,
		    "the box does not run, or takes no XSP on its loopback address");
	else
		rc = documents_put(&d, import_to_box, xsp, why);
	free(xsp);
	return rc;
}

/* Windows must be those asked for: a signature alone does not say so. */
static bool
are_asked_for(const struct looking *l, const struct partner *p, const json_t *head,
    const struct partner_end *ours, size_t n)
{
	const char *site = json_string_value(json_object_get(head, "site")),
		   *to = json_string_value(json_object_get(head, "to"));
	struct partner_end ends[PARTNER_ENDS_MAX], turned;
	size_t n_ends, i;

	if (site == NULL || to == NULL || strcmp(site, p->site) != 0 ||
	    strcmp(to, l->env->conf->site) != 0 ||
	    ends_read(json_object_get(head, "ends"), ends, &n_ends) < 0)
		return false;
	for (i = 0; i < n_ends; i++) {
		turned = end_turned(&ends[i]);
		if (!end_in(ours, n, &turned))
			return false;
	}
	return true;
}

static char *
contribution(const struct partner *p, const struct clean *c, double theirs, double ours)
{
	char *clock = clock_words(theirs, ours),
	     *left = c->n_left_out > 0
	    ? xasprintf(" %" PRIu64 " series do not belong to this transfer, and were left out.",
		  c->n_left_out)
	    : xstrdup(""),
	     *text = xasprintf("The box of %s measured %s: %" PRIu64 " series, %" PRIu64
			       " values, signed.%s %s",
		 p->site, c->hosts != NULL ? c->hosts : "nothing", c->n_series, c->n_values, left,
		 clock);

	free(clock);
	free(left);
	return text;
}

static int
windows_take(const struct looking *l, const struct partner *p, json_t *o, const char *bytes,
    size_t len, const struct partner_end *ours, size_t n, char **text, char why[PARTNER_WHY_BYTES])
{
	const int64_t session = number_of(o, "session");
	struct partner_end theirs[PARTNER_ENDS_MAX];
	char *line = NULL, *alias = NULL;
	struct clean c = { .site = p->site,
		.ends = theirs,
		.n_ends = n,
		.from_wall_ns = number_of(o, "from"),
		.to_wall_ns = number_of(o, "to") };
	json_t *clock = partner_clock(l->env);
	double its_bound = NAN, own_bound = partner_bound(clock);
	const char *fault = NULL;
	struct windows w;
	size_t i;
	int rc = windows_open(bytes, len, p->cert_pem, &w, why);

	if (rc == NW_OK && !are_asked_for(l, p, w.head, ours, n)) {
		snprintf(why, PARTNER_WHY_BYTES, "the windows are of another transfer");
		rc = NW_EPROTO;
	}
	for (i = 0; i < n; i++)
		theirs[i] = end_turned(&ours[i]);
	if (rc == NW_OK) {
		line = xasprintf("%s partner join %" PRId64 "\n", p->site, session);
		if (ctlask_each(l->env->state_dir, line, on_alias, &alias) != 0 || alias == NULL) {
			snprintf(why, PARTNER_WHY_BYTES, "the box does not take the session");
			rc = NW_EIO;
		}
	}
	c.task = alias;
	if (rc == NW_OK) {
		its_bound = partner_bound(json_object_get(w.head, "clock"));
		c.boxes_bound_s = partner_larger_bound(its_bound, own_bound);
	}
	if (rc == NW_OK && (rc = clean_take(&c, w.docs, w.docs_len, &fault)) < 0)
		snprintf(why, PARTNER_WHY_BYTES, "%.300s", fault != NULL ? fault : "malformed");
	if (rc == NW_OK && c.n_values == 0) {
		snprintf(why, PARTNER_WHY_BYTES, "the windows hold nothing of this transfer");
		rc = NW_EPROTO;
	}
	if (rc == NW_OK && (rc = documents_feed(l, &c, why)) == NW_OK) {
		windows_keep(l->env->conf, session, p->site, "taken", bytes, len);
		*text = contribution(p, &c, its_bound, own_bound);
	}
	clean_clear(&c);
	windows_close(&w);
	json_decref(clock);
	free(line);
	free(alias);
	return rc;
}

/* --- a question --- */

/* Asks; sets the text of the note (free() it), and returns true if the question is answered. */
static bool
question_ask(const struct looking *l, const struct partner *p, json_t *o, char **text)
{
	struct partner_end ends[PARTNER_ENDS_MAX];
	const size_t n = ends_of(l, p, number_of(o, "session"), ends);
	json_t *question = NULL, *answer = NULL;
	char why[PARTNER_WHY_BYTES] = "", *body = NULL;
	const char *state, *said;
	size_t body_len = 0;
	bool over = false;

	if (n == 0)
		return true; /* the box has forgotten the session, or has both ends by now */
	question = json_pack("{s:s, s:I, s:I, s:o}", "ask", "windows", "from_ns",
	    (json_int_t)number_of(o, "from"), "to_ns", (json_int_t)number_of(o, "to"), "ends",
	    ends_write(ends, n));
	if (talk_ask(l->env->conf, p->address, p->pin, question, &answer, &body, &body_len, why) <
	    0) {
		log_debug("partner.away site=\"%s\" why=\"%s\"", p->site, why);
		*text = xasprintf("The box of %s does not answer: this verdict is what this box "
				  "alone can say. The question is asked again until %s.",
		    p->site, fmt_iso(number_of(o, "first") + l->env->conf->patience_ns, 0).s);
	} else if ((state = json_string_value(json_object_get(answer, "state"))) != NULL &&
	    strcmp(state, "windows") == 0) {
		if (windows_take(l, p, o, body, body_len, ends, n, text, why) == NW_OK)
			over = true;
		else {
			log_warnx("partner.refuse site=\"%s\" session=%" PRId64 " why=\"%s\"",
			    p->site, number_of(o, "session"), why);
			*text =
			    xasprintf("Windows of the box of %s were not used: %s. This verdict "
				      "is what this box alone can say.",
				p->site, why);
		}
	} else if (state != NULL && strcmp(state, "unknown") == 0) {
		over = l->now - number_of(o, "first") > UNKNOWN_NS;
		*text =
		    xasprintf("The box of %s did not measure its end of this transfer.", p->site);
	} else if (state == NULL || strcmp(state, "running") != 0) {
		said = json_string_value(json_object_get(answer, "why"));
		*text = xasprintf(
		    "The box of %s refuses: %.200s.", p->site, said != NULL ? said : "no reason");
	}
	free(body);
	json_decref(answer);
	json_decref(question);
	return over;
}

static const struct partner *
partner_named(const struct looking *l, const char *site)
{
	size_t i;

	for (i = 0; site != NULL && i < l->partners.n; i++)
		if (strcmp(l->partners.list[i].site, site) == 0)
			return &l->partners.list[i];
	return NULL;
}

/* Waits of a question grow by half, up to ten minutes. Returns true if the question is over. */
static bool
question_go(const struct looking *l, json_t *o)
{
	const struct partner *p = partner_named(l, json_string_value(json_object_get(o, "site")));
	int64_t wait = number_of(o, "wait");
	char *text = NULL;
	bool over = p == NULL || question_ask(l, p, o, &text);

	if (text != NULL)
		note_put(l, o, text);
	free(text);
	if (over || l->now - number_of(o, "first") > l->env->conf->patience_ns)
		return true;
	json_object_set_new(o, "next", json_integer((json_int_t)(l->now + wait)));
	wait += wait / 2;
	json_object_set_new(
	    o, "wait", json_integer((json_int_t)(wait < WAIT_MAX_NS ? wait : WAIT_MAX_NS)));
	return false;
}

int
partner_look(const struct partner_env *env, char why[PARTNER_WHY_BYTES])
{
	struct looking l = { .env = env, .now = nw_wall_ns() };
	char *path = xasprintf("%s/asked.json", env->conf->dir);
	json_t *open, *o;
	size_t i, asked = 0;
	int rc = partners_read(env->conf, &l.partners, why);

	if (rc == NW_OK && (l.memory = memory_read(path, why)) == NULL)
		rc = NW_EIO;
	if (rc == NW_OK && l.partners.n > 0)
		rc = find_judged(env->store_path, number_of(l.memory, "run"), on_session, &l, why);
	open = rc == NW_OK ? memory_list(l.memory, "open") : NULL;
	for (i = 0; rc == NW_OK && i < json_array_size(open) && asked < ASK_AT_ONCE;) {
		o = json_array_get(open, i);
		if (*env->stop)
			break;
		if (number_of(o, "next") > l.now) {
			i++;
			continue;
		}
		asked++;
		if (question_go(&l, o)) {
			answered_put(l.memory, number_of(o, "session"),
			    json_string_value(json_object_get(o, "site")));
			json_array_remove(open, i);
		} else
			i++;
	}
	if (rc == NW_OK)
		rc = memory_write(path, l.memory, why);
	json_decref(l.memory);
	partners_clear(&l.partners);
	free(path);
	return rc;
}

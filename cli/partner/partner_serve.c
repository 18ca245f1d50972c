/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to one question of a peer; a peer is a stranger until the book has the pin of the
 * peer's certificate. Refusals count in the box's /metrics. */
#include "cli/partner/partner.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/cert.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "narrows/ownfile.h"
#include "narrows/xmalloc.h"
#include "pki/ask/ctlask.h"
#include "pki/ask/dial.h"

struct answering {
	const struct partner_env *env;
	struct dial *dial;
	uint8_t pin[NW_TLS_PIN_BYTES];
	const json_t *question;
	json_t *head; /* of the answer */
	char *body;
	size_t body_len;
	const char *refused; /* reason, or NULL */
};

static void
ignore(void *arg, const char *line)
{
	(void)arg, (void)line;
}

static void
refusal_count(const struct partner_env *env)
{
	char *line = xasprintf("%s partner refused\n", env->conf->site);

	(void)ctlask_each(env->state_dir, line, ignore, NULL);
	free(line);
}

static void
on_clock(void *arg, const char *line)
{
	json_t **clock = arg;
	int known, synchronised;
	double bound_s;

	if (sscanf(line, "%d %d %lf", &known, &synchronised, &bound_s) == 3 && known)
		*clock = json_pack("{s:b, s:f}", "synchronised", synchronised, "bound_s", bound_s);
}

/* null: the box does not run, or does not know its clock. */
json_t *
partner_clock(const struct partner_env *env)
{
	char *line = xasprintf("%s partner clock\n", env->conf->site);
	json_t *clock = NULL;

	(void)ctlask_each(env->state_dir, line, on_clock, &clock);
	free(line);
	return clock != NULL ? clock : json_null();
}

/* --- files of windows --- */

static int
by_age(const void *a, const void *b)
{
	const struct stat *x = a, *y = b;

	return x->st_mtim.tv_sec < y->st_mtim.tv_sec ? -1 : x->st_mtim.tv_sec > y->st_mtim.tv_sec;
}

/* Removes the oldest files while all are larger than `keep`. */
static void
windows_prune(const struct partner_conf *c)
{
	char *dir = xasprintf("%s/windows", c->dir), *path;
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat *list = NULL, st;
	char **names = NULL;
	size_t n = 0, i;
	uint64_t sum = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		path = xasprintf("%s/%s", dir, e->d_name);
		if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
			list = xreallocarray(list, n + 1, sizeof(*list));
			names = xreallocarray(names, n + 1, sizeof(*names));
			st.st_dev = n; /* the place of its name */
			list[n] = st;
			names[n++] = path;
			sum += (uint64_t)st.st_size;
		} else
			free(path);
	}
	if (d != NULL)
		closedir(d);
	if (n > 0)
		qsort(list, n, sizeof(*list), by_age);
	for (i = 0; i < n && sum > c->keep_bytes; i++) {
		sum -= (uint64_t)list[i].st_size;
		unlink(names[list[i].st_dev]);
	}
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
	free(list);
	free(dir);
}

void
windows_keep(const struct partner_conf *c, int64_t session, const char *site, const char *kind,
    const char *bytes, size_t len)
{
	char *dir = xasprintf("%s/windows", c->dir),
	     *path = xasprintf("%s/%" PRId64 ".%s.%s", dir, session, site, kind),
	     *tmp = xasprintf("%s.%d", path, (int)getpid());
	FILE *f;
	bool good;

	(void)mkdir(dir, 0700);
	f = ownfile_stream(tmp, 0600);
	good = f != NULL && fwrite(bytes, 1, len, f) == len;
	if (f != NULL)
		good = fclose(f) == 0 && good;
	if (!good || rename(tmp, path) != 0)
		log_warn("partner.keep file=\"%s\"", path);
	free(tmp);
	free(path);
	free(dir);
	windows_prune(c);
}

/* --- questions --- */

static json_t *
answer_text(const char *state, const char *why)
{
	return json_pack("{s:s, s:s}", "state", state, "why", why);
}

static void
refuse(struct answering *a, const char *why)
{
	a->refused = why;
	a->head = answer_text("refused", why);
}

static void
join_answer(struct answering *a)
{
	const struct partner_conf *c = a->env->conf;
	const char *secret, *site, *address, *cert;
	uint8_t pin[NW_TLS_PIN_BYTES];
	char why[PARTNER_WHY_BYTES] = "", *own;

	if (json_unpack((json_t *)a->question, "{s:s, s:s, s:s, s:s}", "secret", &secret, "site",
		&site, "address", &address, "cert", &cert) != 0 ||
	    nw_cert_pin(cert, pin) < 0 || memcmp(pin, a->pin, sizeof(pin)) != 0) {
		refuse(a, "no question of a box");
		return;
	}
	if (strcmp(site, c->site) == 0) {
		refuse(a, "both boxes have the same name of their site");
		return;
	}
	if (partner_redeem(c, secret, site, cert, address, why) < 0) {
		log_info("partner.refuse site=\"%.64s\" why=\"%s\"", site, why);
		refuse(a, "the token is unknown, used, an hour old, or for another site");
		return;
	}
	log_info("partner.new site=\"%s\" address=\"%s\"", site, address);
	if ((own = partner_file(c, "self.crt", why)) != NULL)
		a->head = json_pack("{s:s, s:s}", "site", c->site, "cert", own);
	free(own);
}

/* A partner asks only about connections with hosts in its networks. */
static bool
are_its_own(const struct partner *p, const struct partner_end *ends, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!nw_networks_have_text(&p->networks, ends[i].src))
			return false;
	return true;
}

static void
windows_send(struct answering *a, const struct partner *p, const struct found *f,
    const struct partner_end *ours, size_t n)
{
	const struct partner_conf *c = a->env->conf;
	char why[PARTNER_WHY_BYTES] = "", *key = partner_file(c, "self.key", why), *docs = NULL;
	size_t len;
	json_t *head;

	if (key != NULL && (docs = find_documents(a->env->store_path, f, &len, why)) != NULL) {
		head = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:o, s:o}", "site", c->site,
		    "to", p->site, "session", (json_int_t)f->session, "from_ns",
		    (json_int_t)f->from_wall_ns, "to_ns", (json_int_t)f->to_wall_ns, "made_ns",
		    (json_int_t)nw_wall_ns(), "software", NW_VERSION, "ends", ends_write(ours, n),
		    "clock", partner_clock(a->env));
		a->body = windows_seal(head, docs, len, key, &a->body_len, why);
	}
	if (a->body == NULL) {
		log_warnx("partner.send site=\"%s\" why=\"%s\"", p->site, why);
		a->head = answer_text("failed", "the windows cannot be read there");
	} else {
		a->head =
		    json_pack("{s:s, s:I}", "state", "windows", "bytes", (json_int_t)a->body_len);
		windows_keep(c, f->session, p->site, "sent", a->body, a->body_len);
	}
	if (key != NULL)
		explicit_bzero(key, strlen(key));
	free(key);
	free(docs);
}

static void
windows_answer(struct answering *a, const struct partner *p)
{
	static const char *const states[] = {
		[FIND_UNKNOWN] = "unknown", [FIND_RUNNING] = "running"
	};
	struct partner_end ends[PARTNER_ENDS_MAX], ours[PARTNER_ENDS_MAX];
	json_int_t from = json_integer_value(json_object_get(a->question, "from_ns")),
		   to = json_integer_value(json_object_get(a->question, "to_ns"));
	char why[PARTNER_WHY_BYTES] = "";
	struct found f;
	size_t n, i;

	if (ends_read(json_object_get(a->question, "ends"), ends, &n) < 0 || from < 0 ||
	    to < from || to > INT64_MAX / 2) {
		refuse(a, "no question of a box");
		return;
	}
	if (!are_its_own(p, ends, n)) {
		refuse(a, "a connection from outside of the networks registered for the asker");
		return;
	}
	for (i = 0; i < n; i++)
		ours[i] = end_turned(&ends[i]);
	if (find_session(a->env->store_path, ours, n, from, to, &f, why) < 0) {
		log_warnx("partner.find site=\"%s\" why=\"%s\"", p->site, why);
		a->head = answer_text("failed", "the store cannot be read there");
	} else if (f.state != FIND_DONE)
		a->head = answer_text(states[f.state], "");
	else
		windows_send(a, p, &f, ours, n);
}

static void
question_answer(struct answering *a, bool (*allow)(const uint8_t *pin))
{
	const char *what = json_string_value(json_object_get(a->question, "ask"));
	char why[PARTNER_WHY_BYTES] = "";
	struct partners partners = { 0 };
	size_t i = 0;

	if (partners_read(a->env->conf, &partners, why) < 0)
		log_warnx("partner.book why=\"%s\"", why);
	while (i < partners.n && memcmp(partners.list[i].pin, a->pin, sizeof(a->pin)) != 0)
		i++;
	if (!allow(i < partners.n ? a->pin : NULL))
		refuse(a, "too many questions: ask again in a minute");
	else if (what != NULL && strcmp(what, "join") == 0)
		join_answer(a);
	else if (i == partners.n)
		refuse(a, "not a partner");
	else if (what != NULL && strcmp(what, "windows") == 0)
		windows_answer(a, &partners.list[i]);
	else
		refuse(a, "no question of a box");
	partners_clear(&partners);
}

void
partner_answer(const struct partner_env *env, int fd, bool (*allow)(const uint8_t *pin))
{
	struct answering a = { .env = env };
	char why[PARTNER_WHY_BYTES] = "", *line = NULL, *rest;
	struct nw_tls_ctx *ctx = NULL;
	const char *fault = "";
	size_t rest_len;
	json_t *question = NULL;

	alarm(PARTNER_HELLO_MAX_S); /* the default of the signal ends this process */
	if (talk_context(env->conf, true, &ctx, why) < 0) {
		log_warnx("partner.answer why=\"%s\"", why);
		close(fd);
	} else if (dial_accept(fd, ctx, &a.dial, &fault) < 0)
		log_info("partner.reject why=\"%s\"", fault);
	else if (!dial_peer_pin(a.dial, a.pin) ||
	    (line = talk_line(a.dial, &rest, &rest_len, &fault)) == NULL)
		log_info("partner.reject why=\"no certificate, or no question\"");
	else {
		alarm(PARTNER_MAX_S);
		a.question = question = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		question_answer(&a, allow);
		if (a.refused != NULL) {
			log_info("partner.refuse why=\"%s\"", a.refused);
			refusal_count(env);
		}
		if (a.head != NULL)
			(void)talk_send(a.dial, a.head, a.body, a.body_len);
	}
	json_decref(question);
	json_decref(a.head);
	free(a.body);
	free(line);
	dial_close(a.dial);
	nw_tls_ctx_release(ctx);
}

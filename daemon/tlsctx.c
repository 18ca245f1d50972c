/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/tlsctx.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/siteconf.h"
#include "narrows/ca.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum { NAMES_BYTES = 1024, RENEW_BEFORE_S = 30 * 86400, RETRY_S = 60 };

static const char *const watched[] = { "ca.crt", "box.crt", "hosts", "speakers" };
enum { N_WATCHED = sizeof(watched) / sizeof(watched[0]) };

struct tlsctx {
	char *dir, *names;
	pthread_mutex_t lock; /* of ctx */
	struct nw_tls_ctx *ctx[TLSCTX_PORTS];
	struct stat seen[N_WATCHED];
	int64_t renew_wall_s; /* 0: not ours to renew */
};

/* --- names of the machine --- */

static void
name_add(char names[NAMES_BYTES], const char *name)
{
	size_t len = strlen(names);

	if (nw_cert_name_ok(name) && len + strlen(name) + 2 < NAMES_BYTES)
		snprintf(names + len, NAMES_BYTES - len, "%s%s", len > 0 ? " " : "", name);
}

/* Names of the box for hosts on the network and for tunnels on the machine. */
static char *
names_find(const char *more)
{
	char names[NAMES_BYTES] = "", text[256] = "";
	struct ifaddrs *all = NULL, *a;
	const char *p;
	size_t len;

	for (p = more; *p != '\0'; p += len, p += strspn(p, " \t")) {
		len = strcspn(p, " \t");
		snprintf(text, sizeof(text), "%.*s", (int)len, p);
		name_add(names, text);
	}
	if (gethostname(text, sizeof(text) - 1) == 0)
		name_add(names, text);
	name_add(names, "localhost");
	if (getifaddrs(&all) != 0)
		all = NULL;
	for (a = all; a != NULL; a = a->ifa_next) {
		if (a->ifa_addr == NULL ||
		    (a->ifa_addr->sa_family != AF_INET && a->ifa_addr->sa_family != AF_INET6))
			continue;
		len = a->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
							: sizeof(struct sockaddr_in6);
		if (getnameinfo(a->ifa_addr, (socklen_t)len, text, sizeof(text), NULL, 0,
			NI_NUMERICHOST) == 0 &&
		    strchr(text, '%') == NULL) /* without addresses of a single link */
			name_add(names, text);
	}
	freeifaddrs(all);
	return xstrdup(names);
}

/* --- contexts --- */

static int
context_load(const struct tlsctx *t, enum tlsctx_port port, struct nw_tls_ctx **out,
    char why[CONF_WHY_BYTES])
{
	char *ca = xasprintf("%s/ca.crt", t->dir), *crt = xasprintf("%s/box.crt", t->dir),
	     *key = xasprintf("%s/box.key", t->dir), *hosts = xasprintf("%s/hosts", t->dir);
	struct nw_tls_opts o = { .server = true,
		.peer_certificate = port == TLSCTX_XSP,
		.show_ca = port == TLSCTX_HTTPS,
		.ca_path = ca,
		.cert_path = crt,
		.key_path = key,
		.revoked_path = hosts };
	int rc = nw_tls_ctx_new(&o, out, why);

	free(ca);
	free(crt);
	free(key);
	free(hosts);
	return rc;
}

static int
contexts_load(struct tlsctx *t, char why[CONF_WHY_BYTES])
{
	struct nw_tls_ctx *fresh[TLSCTX_PORTS] = { NULL }, *old;
	int i, rc = NW_OK;

	for (i = 0; i < TLSCTX_PORTS && rc == NW_OK; i++)
		rc = context_load(t, i, &fresh[i], why);
	for (i = 0; i < TLSCTX_PORTS; i++) {
		old = fresh[i];
		if (rc == NW_OK) {
			pthread_mutex_lock(&t->lock);
			old = t->ctx[i];
			t->ctx[i] = fresh[i];
			pthread_mutex_unlock(&t->lock);
		}
		nw_tls_ctx_release(old);
	}
	return rc;
}

static bool
file_changed(const char *dir, const char *name, struct stat *seen)
{
	char *path = xasprintf("%s/%s", dir, name);
	struct stat now = { 0 };
	bool changed;

	if (stat(path, &now) != 0)
		memset(&now, 0, sizeof(now));
	changed = now.st_ino != seen->st_ino || now.st_size != seen->st_size ||
	    now.st_mtim.tv_sec != seen->st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != seen->st_mtim.tv_nsec;
	*seen = now;
	free(path);
	return changed;
}

static bool
files_changed(struct tlsctx *t)
{
	bool changed = false;
	size_t i;

	for (i = 0; i < N_WATCHED; i++)
		changed |= file_changed(t->dir, watched[i], &t->seen[i]);
	return changed;
}

static int
box_renew(struct tlsctx *t, int64_t now_wall_s, char why[CONF_WHY_BYTES])
{
	int64_t expires = 0;
	int rc = ca_issue_box(t->dir, t->names, now_wall_s, &expires, why);

	t->renew_wall_s = rc < 0 ? now_wall_s + RETRY_S
	    : expires > 0        ? expires - RENEW_BEFORE_S
				 : 0;
	return rc;
}

/* --- life --- */

int
tlsctx_open(const struct conf *c, struct tlsctx **out, char why[CONF_WHY_BYTES])
{
	struct tlsctx *t = xcalloc(1, sizeof(*t));
	int rc;

	pthread_mutex_init(&t->lock, NULL);
	t->dir = siteconf_tls_dir(c->state_dir, c->tls_dir);
	t->names = names_find(conf_is_none(c->tls_names) ? "" : c->tls_names);
	if ((rc = ca_ensure(t->dir, why)) < 0 ||
	    (rc = box_renew(t, nw_wall_ns() / 1000000000, why)) < 0)
		goto fail;
	files_changed(t);
	if ((rc = contexts_load(t, why)) < 0)
		goto fail;
	log_info("tls.start dir=%s names=\"%s\"", t->dir, t->names);
	*out = t;
	return NW_OK;
fail:
	tlsctx_close(t);
	return rc;
}

void
tlsctx_close(struct tlsctx *t)
{
	int i;

	if (t == NULL)
		return;
	for (i = 0; i < TLSCTX_PORTS; i++)
		nw_tls_ctx_release(t->ctx[i]);
	pthread_mutex_destroy(&t->lock);
	free(t->names);
	free(t->dir);
	free(t);
}

static struct nw_tls_ctx *
context_hold(struct tlsctx *t, enum tlsctx_port port)
{
	struct nw_tls_ctx *ctx;

	pthread_mutex_lock(&t->lock);
	ctx = nw_tls_ctx_hold(t->ctx[port]);
	pthread_mutex_unlock(&t->lock);
	return ctx;
}

struct nw_tls *
tlsctx_accept(struct tlsctx *t, enum tlsctx_port port)
{
	struct nw_tls_ctx *ctx = context_hold(t, port);
	struct nw_tls *tls = NULL;

	if (nw_tls_new(ctx, NULL, &tls) < 0)
		tls = NULL;
	nw_tls_ctx_release(ctx);
	return tls;
}

bool
tlsctx_tick(struct tlsctx *t, int64_t now_wall_ns)
{
	char why[CONF_WHY_BYTES] = "";

	if (t->renew_wall_s != 0 && now_wall_ns / 1000000000 >= t->renew_wall_s) {
		if (box_renew(t, now_wall_ns / 1000000000, why) < 0)
			log_warnx("tls.renew why=\"%s\"", why);
		else
			log_info("tls.renew");
	}
	if (!files_changed(t))
		return false;
	if (contexts_load(t, why) < 0) {
		log_warnx("tls.reload why=\"%s\"", why);
		return false;
	}
	log_info("tls.reload");
	return true;
}

const char *
tlsctx_objection(struct tlsctx *t, const struct nw_tls *peer, int64_t now_wall_ns)
{
	struct nw_tls_ctx *ctx = context_hold(t, TLSCTX_XSP);
	const char *why = nw_tls_distrust(peer, ctx, now_wall_ns);

	nw_tls_ctx_release(ctx);
	return why;
}

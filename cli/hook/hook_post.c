/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A post runs in a process of its own, with one timer for the whole exchange: look-up of the name,
 * connection, TLS, question and answer. A receiver that drips, or whose name server is silent,
 * holds up that process alone.
 */
#include "cli/hook/hook.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mbedtls/md.h>

#include "narrows/err.h"
#include "narrows/hex.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"
#include "send/exchange.h"

enum { MAC_BYTES = 32 };

/* --- the exchange --- */

/* "Narrows-Signature: t=TIME,v1=MAC": HMAC-SHA256 of "TIME.BODY". The time keeps an eavesdropper
 * from repeating an old post. */
static int
signature_make(const struct hook *h, const char *body, int64_t now_wall_s, char **line,
    char why[CONF_WHY_BYTES])
{
	char secret[EXCHANGE_SECRET_BYTES], hex[2 * MAC_BYTES + 1], reason[EXCHANGE_WHY_BYTES],
	    *text;
	uint8_t mac[MAC_BYTES];
	int rc, others;

	if (strcmp(h->secret_file, "none") == 0) {
		*line = NULL;
		return NW_OK;
	}
	if ((rc = exchange_secret(h->secret_file, secret, &others, reason)) < 0) {
		snprintf(why, CONF_WHY_BYTES, "%.200s", reason);
		return rc;
	}
	if (others)
		fprintf(stderr, "narrows: hook %s: other users may read %s: chmod 600\n", h->name,
		    h->secret_file);
	text = xasprintf("%" PRId64 ".%s", now_wall_s, body);
	if (mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256),
		(const unsigned char *)secret, strlen(secret), (const unsigned char *)text,
		strlen(text), mac) != 0)
		rc = NW_ENOMEM;
	nw_hex_put(hex, mac, sizeof(mac));
	*line = xasprintf("Narrows-Signature: t=%" PRId64 ",v1=%s", now_wall_s, hex);
	explicit_bzero(secret, sizeof(secret));
	free(text);
	return rc;
}

/* Lines for archives: the observer and a credential. */
static int
archive_lines(const struct hook *h, char **observer, char **credential, char why[CONF_WHY_BYTES])
{
	char secret[EXCHANGE_SECRET_BYTES], reason[EXCHANGE_WHY_BYTES];
	int rc;

	if (strcmp(h->observer, "none") != 0)
		*observer = xasprintf("x-ps-observer: %s", h->observer);
	if (strcmp(h->authorization_file, "none") == 0)
		return NW_OK;
	if ((rc = exchange_secret(h->authorization_file, secret, NULL, reason)) < 0) {
		snprintf(why, CONF_WHY_BYTES, "%.200s", reason);
		return rc;
	}
	*credential = xasprintf("Authorization: %s", secret);
	explicit_bzero(secret, sizeof(secret));
	return NW_OK;
}

static int
body_post(
    const struct hook *h, const char *body, const char *const lines[6], char why[CONF_WHY_BYTES])
{
	struct exchange x = { .url = h->url,
		.ca_file = h->ca_file,
		.proxy = conf_or_null(h->proxy),
		.body = body,
		.body_len = strlen(body),
		.method = strcmp(h->method, "POST") != 0 ? h->method : NULL };
	char reason[EXCHANGE_WHY_BYTES];
	size_t i, n = 0;
	int status, rc;

	for (i = 0; i < 6; i++)
		if (lines[i] != NULL)
			x.lines[n++] = lines[i];
	rc = exchange(&x, NULL, NULL, &status, reason);
	if (rc == NW_OK && (status < 200 || status > 299)) {
		snprintf(reason, sizeof(reason), "the answer is %d", status);
		rc = NW_EPROTO;
	}
	if (rc < 0)
		snprintf(why, CONF_WHY_BYTES, "%.200s", reason);
	return rc;
}

/* The body, for free(). An archive keeps every document: there is no test for archives. */
static int
body_make(const struct hook *h, const json_t *event, char **body, char why[CONF_WHY_BYTES])
{
	json_t *document = hook_archives(h) ? hook_archive_document(event) : NULL;

	*body = NULL;
	if (hook_archives(h) && document == NULL) {
		snprintf(why, CONF_WHY_BYTES,
		    "an archive takes sessions between two hosts alone, and keeps what it gets");
		return NW_EINVAL;
	}
	*body = json_dumps(document != NULL ? document : event, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(document);
	return *body != NULL ? NW_OK : NW_ENOMEM;
}

static int
delivery_post(const struct hook *h, const json_t *event, const char *id, int64_t now_wall_s,
    char why[CONF_WHY_BYTES])
{
	const char *name = result_text(event, KEY_hook_event_event);
	char *body, *signature = NULL, *observer = NULL, *credential = NULL, *named, *delivery;
	int rc = body_make(h, event, &body, why);

	if (rc == NW_OK && (rc = signature_make(h, body, now_wall_s, &signature, why)) == NW_OK &&
	    (rc = archive_lines(h, &observer, &credential, why)) == NW_OK) {
		named = xasprintf("Narrows-Event: %s", name != NULL ? name : "?");
		delivery = xasprintf("Narrows-Delivery: %s", id);
		rc = body_post(h, body,
		    (const char *const[6]){ "Content-Type: application/json", named, delivery,
			signature, observer, credential },
		    why);
		free(named);
		free(delivery);
	}
	free(credential);
	free(observer);
	free(signature);
	free(body);
	return rc;
}

/* --- the process --- */

/* In the new process; never returns. */
static void
posting_run(const struct hook *h, const json_t *event, const char *id, int64_t now_wall_s, int fd)
{
	const struct itimerval once = { .it_value = { h->timeout_ns / 1000000000,
					    h->timeout_ns % 1000000000 / 1000 } };
	char why[CONF_WHY_BYTES] = "";
	sigset_t none;
	int rc;

	sigemptyset(&none);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (setitimer(ITIMER_REAL, &once, NULL) != 0)
		_exit(1);
	rc = hook_asks(h) ? hook_question(h, event, why)
			  : delivery_post(h, event, id, now_wall_s, why);
	if (write(fd, why, strlen(why)) < 0)
		_exit(1);
	_exit(rc == NW_OK ? 0 : 1);
}

int
hook_post_begin(struct hook_post *p, const struct hook *h, const json_t *event, const char *id,
    int64_t now_wall_s)
{
	int fds[2];

	if (pipe(fds) != 0)
		return NW_EIO;
	snprintf(p->id, sizeof(p->id), "%s", id);
	if ((p->pid = fork()) == 0)
		posting_run(h, event, id, now_wall_s, fds[1]);
	close(fds[1]);
	p->fd = fds[0];
	if (p->pid > 0)
		return NW_OK;
	close(p->fd);
	p->pid = 0;
	return NW_ENOMEM;
}

int
hook_post_end(struct hook_post *p, char why[CONF_WHY_BYTES])
{
	ssize_t n = read(p->fd, why, CONF_WHY_BYTES - 1);
	int status = -1;

	why[n > 0 ? n : 0] = '\0';
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	close(p->fd);
	p->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return NW_OK;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(why, CONF_WHY_BYTES, "no whole answer within the hook's timeout");
	else if (why[0] == '\0')
		snprintf(why, CONF_WHY_BYTES, "the post was stopped");
	return NW_EIO;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/linefeed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/eventput.h"
#include "daemon/hostlist.h"
#include "narrows/provoked.h"
#include "daemon/session.h"
#include "narrows/err.h"
#include "narrows/event_line.h"
#include "narrows/xmalloc.h"

enum { QUOTE_BYTES = 80, COUNT_DIGITS_MAX = 7, TASK_BYTES = 256 };

struct linefeed {
	struct box *box;
	struct linefeed_sender sender;
	struct host *host;
	uint64_t n_lines; /* lines without an event included */
	bool skipping;    /* a line is too long: its rest is dropped */
	size_t skip;      /* bytes of a counted line still to be dropped */
	/* the task of the last event with one, and its session, or NULL for no session */
	char task[TASK_BYTES];
	struct session *session;
};

struct linefeed *
linefeed_new(struct box *box, const struct linefeed_sender *sender)
{
	struct linefeed *f = calloc(1, sizeof(*f));

	if (f != NULL && box->lines == NULL)
		box->lines = nw_event_line_new();
	if (f == NULL || box->lines == NULL) {
		free(f);
		return NULL;
	}
	f->box = box;
	f->sender = *sender;
	f->host = host_seen(box, sender->host, NULL);
	return f;
}

void
linefeed_free(struct linefeed *f)
{
	if (f == NULL)
		return;
	if (f->session != NULL)
		session_release(f->session);
	free(f);
}

/* --- sessions --- */

static struct session_guest
sender_guest(const struct linefeed *f)
{
	return (struct session_guest){ .owner = f->sender.owner,
		.address = f->sender.address,
		.certified = f->sender.certified };
}

/* The session of a task, if the sender may join it; sessions are not made by lines. */
static struct session *
session_of_task(struct linefeed *f, const char *task)
{
	const struct session_guest guest = sender_guest(f);

	f->session = session_now(f->session);
	if (f->session != NULL && strcmp(f->task, task) == 0)
		return f->session;
	if (f->session != NULL)
		session_release(f->session);
	f->session = session_find(f->box, task, &guest);
	snprintf(f->task, sizeof(f->task), "%s", task);
	return f->session;
}

/* --- lines --- */

/* The beginning of a line as a log may show it. */
static void
quote(const uint8_t *line, size_t len, char out[QUOTE_BYTES + 1])
{
	size_t i;

	for (i = 0; i < len && i < QUOTE_BYTES; i++)
		out[i] = line[i] < ' ' || line[i] > '~' || line[i] == '"' || line[i] == '\\'
		    ? '?'
		    : (char)line[i];
	out[i] = '\0';
}

static void
line_reject(struct linefeed *f, const uint8_t *line, size_t len, const char *why)
{
	char text[QUOTE_BYTES + 1];

	counter_add(&f->box->counters.bad_lines, 1);
	quote(line, len, text);
	provoked_warnx(&f->box->log_rate, f->sender.owner,
	    "line.reject peer=%s line=%" PRIu64 " why=\"%s\" text=\"%s\"", f->sender.name,
	    f->n_lines, why, text);
}

static int
line_event_put(struct linefeed *f, const struct nw_event *e)
{
	const char *task = event_task(e);
	struct session *s = task != NULL ? session_of_task(f, task) : NULL;
	const struct session_guest guest = sender_guest(f);
	const struct event_source from = {
		.guest = &guest, .host = f->host, .session_id = s != NULL ? s->id : 0
	};
	int rc;

	while ((rc = event_put(f->box, &from, e)) == NW_ENOMEM)
		xmalloc_spend();
	return rc;
}

static void
line_take(struct linefeed *f, const uint8_t *line, size_t len)
{
	const char *why;
	struct nw_event e;
	int rc;

	f->n_lines++;
	if ((rc = nw_event_line_read(f->box->lines, (const char *)line, len, &e, &why)) ==
	    NW_ENOTFOUND)
		return;
	if (rc == NW_OK && (rc = line_event_put(f, &e)) < 0)
		why = "longer than an event may be";
	if (rc < 0) {
		line_reject(f, line, len, why);
		return;
	}
	counter_add(&f->box->counters.events, 1);
	commit_check(f->box->commit);
}

/* --- framing --- */

/* The length before a message ("57 <"); 0: no length. *head gets the length of the number and
 * its blank. */
static size_t
count_take(const uint8_t *p, size_t len, size_t *head)
{
	size_t n = 0, i;

	for (i = 0; i < len && i <= COUNT_DIGITS_MAX && p[i] >= '0' && p[i] <= '9'; i++)
		n = 10 * n + (size_t)(p[i] - '0');
	if (i == 0 || i > COUNT_DIGITS_MAX || p[0] == '0' || i + 1 >= len || p[i] != ' ' ||
	    p[i + 1] != '<')
		return 0;
	*head = i + 1;
	return n;
}

/* Takes a message behind its length. Returns the bytes taken; 0: more are needed. */
static size_t
counted_take(struct linefeed *f, const uint8_t *p, size_t len, size_t head, size_t n)
{
	size_t here;

	if (n > NW_EVENT_LINE_MAX_BYTES) {
		f->n_lines++;
		line_reject(f, p, len, "a message of more than 49,000 bytes");
		here = len - head < n ? len - head : n;
		f->skip = n - here;
		return head + here;
	}
	if (len - head < n)
		return 0;
	line_take(f, p + head, n);
	return head + n;
}

/* Takes a line up to its newline. Returns the bytes taken; 0: more are needed. */
static size_t
terminated_take(struct linefeed *f, const uint8_t *p, size_t len)
{
	const uint8_t *end = memchr(p, '\n', len);

	if (end == NULL && len <= NW_EVENT_LINE_MAX_BYTES)
		return 0;
	if (!f->skipping && end == NULL) {
		f->n_lines++;
		line_reject(f, p, len, "a line of more than 49,000 bytes");
		f->skipping = true;
	}
	if (end == NULL)
		return len;
	if (!f->skipping)
		line_take(f, p, (size_t)(end - p));
	f->skipping = false;
	return (size_t)(end - p) + 1;
}

size_t
linefeed_take(struct linefeed *f, const uint8_t *bytes, size_t len)
{
	size_t at = 0, n, head, count;

	while (at < len) {
		if (f->skip > 0) {
			n = f->skip < len - at ? f->skip : len - at;
			f->skip -= n;
		} else if (!f->skipping && (count = count_take(bytes + at, len - at, &head)) > 0) {
			n = counted_take(f, bytes + at, len - at, head, count);
		} else {
			n = terminated_take(f, bytes + at, len - at);
		}
		if (n == 0)
			break;
		at += n;
	}
	if (at > 0)
		commit_charge(f->box->commit, f->sender.owner, at / COMMIT_ROWS_CHEAPER);
	return at;
}

void
linefeed_end(struct linefeed *f, const uint8_t *bytes, size_t len)
{
	if (len > 0 && !f->skipping && f->skip == 0)
		line_take(f, bytes, len);
}

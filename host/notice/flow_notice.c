/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/notice/flow_notice.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define HEAD "narrows-flow 1 "
enum { CONTACT_BYTES = 80, PORT_DIGITS = 5, MISSED_DIGITS = 9 };

/* --- sender --- */

/* Whether a text is one word of at most `max` bytes. */
static bool
is_word(const char *text, size_t max)
{
	size_t n;

	for (n = 0; text[n] != '\0'; n++)
		if (n >= max || text[n] <= ' ' || text[n] > '~')
			return false;
	return n > 0;
}

size_t
flow_notice_put(const struct flow_notice_text *t, char bytes[FLOW_NOTICE_BYTES])
{
	const char *task = t->task != NULL ? t->task : "none";
	int n;

	if (t->transport == NULL || t->local == NULL || t->peer == NULL ||
	    !is_word(t->transport, FLOW_NOTICE_WORD_BYTES - 1) ||
	    !is_word(t->local, CONTACT_BYTES - 1) || !is_word(t->peer, CONTACT_BYTES - 1))
		return 0;
	if (!is_word(task, FLOW_NOTICE_TASK_BYTES - 1))
		task = "none"; /* the transfer counts, even if its task is no word */
	n = snprintf(bytes, FLOW_NOTICE_BYTES, HEAD "%s %s %u %s %s %s",
	    t->closing ? "close" : "open", t->transport, t->missed % 1000000000, t->local, t->peer,
	    task);
	return n > 0 && n < FLOW_NOTICE_BYTES ? (size_t)n : 0;
}

/* --- receiver --- */

struct rest {
	const char *at, *end;
};

/* The next word into out, as text; blanks after the word are single and belong to the line. */
static bool
word_take(struct rest *r, char *out, size_t cap)
{
	size_t n = 0;

	while (r->at < r->end && *r->at != ' ') {
		if (n + 1 >= cap || *r->at < '!' || *r->at > '~')
			return false;
		out[n++] = *r->at++;
	}
	out[n] = '\0';
	if (r->at < r->end)
		r->at++;
	return n > 0;
}

static bool
number_parse(const char *text, size_t digits_max, uint32_t *out)
{
	size_t n;

	*out = 0;
	for (n = 0; text[n] >= '0' && text[n] <= '9' && n < digits_max; n++)
		*out = *out * 10 + (uint32_t)(text[n] - '0');
	return n > 0 && text[n] == '\0';
}

/* HOST:PORT or [HOST]:PORT. A host that is no address leaves family 0. */
static bool
contact_parse(char *text, struct net_addr *out)
{
	char *colon = strrchr(text, ':'), *host = text;
	uint32_t port;

	memset(out, 0, sizeof(*out));
	if (colon == NULL || colon == text || !number_parse(colon + 1, PORT_DIGITS, &port) ||
	    port == 0 || port > UINT16_MAX)
		return false;
	*colon = '\0';
	if (*host == '[') {
		host++;
		if (colon[-1] != ']')
			return false;
		colon[-1] = '\0';
	}
	(void)net_addr_parse(out, host, 0);
	out->port = (uint16_t)port;
	return true;
}

bool
flow_notice_parse(const void *bytes, size_t len, struct flow_notice *out)
{
	struct rest r = { bytes, (const char *)bytes + len };
	char event[8], missed[MISSED_DIGITS + 1], local[CONTACT_BYTES], peer[CONTACT_BYTES];

	if (len >= FLOW_NOTICE_BYTES || len < sizeof(HEAD) - 1 ||
	    memcmp(r.at, HEAD, sizeof(HEAD) - 1) != 0)
		return false;
	r.at += sizeof(HEAD) - 1;
	if (!word_take(&r, event, sizeof(event)) ||
	    !word_take(&r, out->transport, sizeof(out->transport)) ||
	    !word_take(&r, missed, sizeof(missed)) || !word_take(&r, local, sizeof(local)) ||
	    !word_take(&r, peer, sizeof(peer)) || !word_take(&r, out->task, sizeof(out->task)) ||
	    r.at != r.end || r.end[-1] == ' ')
		return false;
	out->closing = strcmp(event, "close") == 0;
	if ((!out->closing && strcmp(event, "open") != 0) ||
	    !number_parse(missed, MISSED_DIGITS, &out->missed) ||
	    !contact_parse(local, &out->local) || !contact_parse(peer, &out->peer) ||
	    out->peer.family == 0)
		return false;
	/* words of GridFTP's server and driver for the lack of a task: no name of a session */
	if (strcmp(out->task, "none") == 0 || strcmp(out->task, "unset") == 0)
		out->task[0] = '\0';
	return true;
}

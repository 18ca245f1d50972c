/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "daemon/control.h"
#include "daemon/diets.h"
#include "daemon/partners.h"
#include "narrows/address.h"
#include "narrows/eventtype.h"
#include "narrows/quantity.h"
#include "narrows/log.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/frame.h"

enum { LINE_MAX_BYTES = 1024, CALLERS_MAX = 8, PATIENCE_SECONDS = 10 };

#define KEEP_NS (60 * INT64_C(1000000000)) /* default length of an order by hand */

struct caller {
	struct ctl *ctl;
	struct bufferevent *bev;
	struct caller *next;
};

struct ctl {
	struct control *control;
	struct evconnlistener *listener;
	struct caller *callers;
	unsigned n_callers;
	char *path;
};

/* --- words --- */

static char *
word_next(char **at)
{
	char *word = *at + strspn(*at, " \t\r");

	*at = word + strcspn(word, " \t\r");
	if (**at != '\0')
		*(*at)++ = '\0';
	return *word != '\0' ? word : NULL;
}

static bool
text_put(char *out, size_t cap, const char *text)
{
	return (size_t)snprintf(out, cap, "%s", text) < cap;
}

/* "10.0.0.1/5000-10.0.0.2/6000", the first being the host's end. Addresses have no '-'. */
static bool
connection_parse(char *text, struct nw_order *o)
{
	char *other = strchr(text, '-'), host[256];

	if (other == NULL)
		return false;
	*other++ = '\0';
	return address_parse(text, host, &o->sport) == NW_OK &&
	    text_put(o->src, sizeof(o->src), host) &&
	    address_parse(other, host, &o->dport) == NW_OK &&
	    text_put(o->dst, sizeof(o->dst), host);
}

/* Parses an option "name=value". */
static bool
option_parse(char *word, struct nw_order *o, int64_t *keep_ns, const char **why)
{
	char *value = strchr(word, '=');

	*why = "not understood";
	if (value == NULL)
		return false;
	*value++ = '\0';
	if (strcmp(word, "interval") == 0)
		return quantity_duration(value, &o->collection_ns, why) == NW_OK;
	if (strcmp(word, "report") == 0)
		return quantity_duration(value, &o->report_ns, why) == NW_OK;
	if (strcmp(word, "for") == 0)
		return quantity_duration(value, keep_ns, why) == NW_OK;
	if (strcmp(word, "event") == 0)
		return text_put(o->event_type, sizeof(o->event_type), value);
	if (strcmp(word, "task") == 0)
		return text_put(o->task_id, sizeof(o->task_id), value);
	if (strcmp(word, "tcp") == 0)
		*why = "not a connection: SRC/PORT-DST/PORT";
	return strcmp(word, "tcp") == 0 && connection_parse(value, o);
}

/* --- answers --- */

static void
answer_error(struct evbuffer *out, const char *what, const char *why)
{
	char text[300];

	evbuffer_add_printf(out, "error %s: %s\n", log_escape(text, sizeof(text), what), why);
}

static void
answer_order(struct control *c, const char *host, uint16_t opt, char *rest, int64_t now_mono_ns,
    struct evbuffer *out)
{
	struct nw_order o = { .opt = opt };
	int64_t keep_ns = KEEP_NS;
	const char *why = "";
	char *word;
	int rc;

	if (opt == NW_OPT_RATE &&
	    ((word = word_next(&rest)) == NULL ||
		quantity_duration(word, &o.collection_ns, &why) < 0)) {
		answer_error(out, word != NULL ? word : "rate", word != NULL ? why : "how often?");
		return;
	}
	while ((word = word_next(&rest)) != NULL)
		if (!option_parse(word, &o, &keep_ns, &why)) {
			answer_error(out, word, why);
			return;
		}
	if (nw_order_has_connection(&o) && o.event_type[0] == '\0')
		strcpy(o.event_type, NW_TYPE_TCP);
	rc = control_order(c, CONTROL_OPERATOR, host, &o, keep_ns, now_mono_ns, &why);
	if (rc == NW_OK)
		evbuffer_add_printf(out, "ok %s\n", o.id);
	else if (rc == NW_ENOTFOUND)
		answer_error(out, host, "no provider of the host takes this order");
	else
		answer_error(out, host, why != NULL ? why : nw_strerror(rc));
}

static void
answer_line(void *arg, const char *text)
{
	evbuffer_add_printf(arg, "%s\n", terminal_text(text));
}

static void
answer_status(struct control *c, const char *host, int64_t now_wall_ns, struct evbuffer *out)
{
	struct evbuffer *lines = evbuffer_new();

	if (lines == NULL)
		fatalx("out of memory");
	if (control_describe(
		c, strcmp(host, "all") == 0 ? NULL : host, now_wall_ns, answer_line, lines) == 0)
		answer_error(out, host, "no provider is connected");
	else {
		evbuffer_add_printf(out, "ok\n");
		evbuffer_add_buffer(out, lines);
	}
	evbuffer_free(lines);
}

/* "diet accept ID|all", "diet undo ID|all". */
static void
answer_diet(
    struct control *c, const char *host, char *rest, int64_t now_wall_ns, struct evbuffer *out)
{
	struct evbuffer *lines = evbuffer_new();
	char *verb = word_next(&rest), *which = word_next(&rest), *end = NULL;
	const bool all = which != NULL && strcmp(which, "all") == 0;
	int64_t id = which != NULL && !all ? strtoll(which, &end, 10) : 0;
	int rc = NW_EINVAL;

	if (lines == NULL)
		fatalx("out of memory");
	if (control_get_diets(c) == NULL || verb == NULL || (!all && (id <= 0 || *end != '\0')))
		answer_error(out, "diet", "accept ID|all, or undo ID|all");
	else if (strcmp(verb, "accept") == 0 || strcmp(verb, "undo") == 0)
		rc = diets_decide(control_get_diets(c), host, id, strcmp(verb, "undo") == 0,
		    now_wall_ns, answer_line, lines);
	else
		answer_error(out, verb, "accept or undo");
	if (rc == NW_OK) {
		evbuffer_add_printf(out, "ok\n");
		evbuffer_add_buffer(out, lines);
	} else if (rc == NW_ENOTFOUND)
		answer_error(out, which, "no such diet is open there");
	else if (rc != NW_EINVAL)
		answer_error(out, which, nw_strerror(rc));
	evbuffer_free(lines);
}

void
ctl_answer(
    struct control *c, char *line, int64_t now_mono_ns, int64_t now_wall_ns, struct evbuffer *out)
{
	char *host = word_next(&line), *verb = host != NULL ? word_next(&line) : NULL, *id;

	if (verb == NULL)
		answer_error(out, "?", "HOST start|stop|rate|diet|status");
	else if (strcmp(verb, "rate") == 0)
		answer_order(c, host, NW_OPT_RATE, line, now_mono_ns, out);
	else if (strcmp(verb, "start") == 0)
		answer_order(c, host, NW_OPT_START, line, now_mono_ns, out);
	else if (strcmp(verb, "diet") == 0)
		answer_diet(c, host, line, now_wall_ns, out);
	else if (strcmp(verb, "partner") == 0)
		partners_answer(control_get_box(c), host, line, out);
	else if (strcmp(verb, "status") == 0)
		answer_status(c, host, now_wall_ns, out);
	else if (strcmp(verb, "stop") != 0)
		answer_error(out, verb, "start, stop, rate, diet or status");
	else if (id = word_next(&line), control_stop(c, host, id) < 0)
		answer_error(out, id != NULL ? id : host, "no such order was given by hand");
	else
		evbuffer_add_printf(out, "ok\n");
}

/* --- the socket --- */

static void
caller_free(struct caller *caller)
{
	struct caller **at = &caller->ctl->callers;

	while (*at != caller)
		at = &(*at)->next;
	*at = caller->next;
	caller->ctl->n_callers--;
	bufferevent_free(caller->bev);
	free(caller);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	caller_free(arg);
}

static void
on_written(struct bufferevent *bev, void *arg)
{
	(void)bev;
	caller_free(arg);
}

static void
on_line(struct bufferevent *bev, void *arg)
{
	struct caller *caller = arg;
	struct evbuffer *in = bufferevent_get_input(bev);
	char *line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF);

	if (line == NULL) {
		if (evbuffer_get_length(in) >= LINE_MAX_BYTES)
			caller_free(caller);
		return;
	}
	bufferevent_disable(bev, EV_READ);
	ctl_answer(
	    caller->ctl->control, line, nw_mono_ns(), nw_wall_ns(), bufferevent_get_output(bev));
	free(line);
	bufferevent_setcb(bev, NULL, on_written, on_event, caller);
}

static void
on_caller(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa, int len, void *arg)
{
	struct timeval patience = { PATIENCE_SECONDS, 0 };
	struct ctl *ctl = arg;
	struct caller *caller;

	(void)sa;
	(void)len;
	if (ctl->n_callers == CALLERS_MAX) {
		close(fd);
		return;
	}
	caller = xcalloc(1, sizeof(*caller));
	caller->ctl = ctl;
	caller->bev = bufferevent_socket_new(evconnlistener_get_base(l), fd, BEV_OPT_CLOSE_ON_FREE);
	if (caller->bev == NULL)
		fatalx("out of memory");
	caller->next = ctl->callers;
	ctl->callers = caller;
	ctl->n_callers++;
	bufferevent_setwatermark(caller->bev, EV_READ, 0, LINE_MAX_BYTES);
	bufferevent_set_timeouts(caller->bev, &patience, &patience);
	bufferevent_setcb(caller->bev, on_line, NULL, on_event, caller);
	bufferevent_enable(caller->bev, EV_READ | EV_WRITE);
}

int
ctl_start(struct event_base *base, struct control *control, const char *path, struct ctl **out,
    char why[CONF_WHY_BYTES])
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct ctl *ctl = NULL;
	mode_t mask;

	if (strlen(path) >= sizeof(sun.sun_path)) {
		snprintf(why, CONF_WHY_BYTES, "%.150s: too long for a socket", path);
		return NW_EIO;
	}
	strcpy(sun.sun_path, path);
	unlink(path); /* the store's lock keeps other boxes away from the path */
	ctl = xcalloc(1, sizeof(*ctl));
	ctl->control = control;
	ctl->path = xstrdup(path);
	mask = umask(0177);
	ctl->listener = evconnlistener_new_bind(base, on_caller, ctl,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 8, (struct sockaddr *)&sun,
	    (int)sizeof(sun));
	umask(mask);
	if (ctl->listener == NULL) {
		snprintf(why, CONF_WHY_BYTES, "%.150s: %s", path, strerror(errno));
		free(ctl->path);
		free(ctl);
		return NW_EIO;
	}
	*out = ctl;
	return NW_OK;
}

void
ctl_stop(struct ctl *ctl)
{
	if (ctl == NULL)
		return;
	while (ctl->callers != NULL)
		caller_free(ctl->callers);
	evconnlistener_free(ctl->listener);
	unlink(ctl->path);
	free(ctl->path);
	free(ctl);
}

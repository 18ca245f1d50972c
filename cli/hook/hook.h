/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Webhooks: new conclusions of a box, posted to other programs, and sessions for archives. Parts:
 * configuration (hook_conf.c), news since the last look (hook_watch.c), the queue (hook_queue.c),
 * sessions in the form of an archive (hook_archive.c), questions to a pScheduler (hook_question.c),
 * and the post of an event (hook_post.c). One thread.
 */
#ifndef HOOK_H
#define HOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "narrows/conftable.h"

struct source;

enum {
	HOOKS_MAX = 64,
	HOOK_NAME_BYTES = 64,
	HOOK_ID_BYTES = 32,   /* hexadecimal digits of a delivery */
	HOOK_QUEUE_MAX = 1000 /* of a hook; the oldest go first */
};

/* --- configuration: a directory with a file NAME.conf for each hook --- */

struct hook {
	char name[HOOK_NAME_BYTES];
	char *url;         /* http://host[:port]/path or https:// */
	char *secret_file; /* its first line signs; "none": posts are not signed */
	char *ca_file;     /* of https */
	char *proxy;       /* address of a proxy, or "none" */
	/* "event"; "pscheduler": every session, and no other event; "pscheduler-test": questions */
	char *format;
	char *method;             /* POST or PUT */
	char *events;             /* words of HOOK_EVENTS, separated by blanks */
	char *routes;             /* "any", or the only route */
	char *hosts;              /* "any", or names by blanks, with both ends of a route */
	char *observer;           /* of an archive: name of the reporter, or "none" */
	char *authorization_file; /* first line: value of Authorization; "none": no such line */
	char *report;             /* begin of links, or "none": where the box was asked */
	/* of questions: length of a test, tests of a day, most bit/s; the box that gets the
	 * answers, and a file with the value of Authorization */
	int64_t test_ns, budget_ns;
	uint64_t rate_bits_per_s;
	char *box, *box_authorization_file;
	int64_t timeout_ns; /* of a whole post, from the look-up of the name to the answer's end */
};

/* Reads *.conf of a directory, in the order of their names. Returns the number of hooks or NW_E*;
 * what is wrong is in why. */
int hooks_read(const char *dir, struct hook hooks[HOOKS_MAX], char why[CONF_WHY_BYTES]);
void hooks_clear(struct hook *hooks, int n);
/* Whether the hook wants an event of a route (NULL: of no route). */
bool hook_wants(const struct hook *h, const char *event, const char *route);

/* --- events --- */

/*
 * What is remembered between looks, as JSON: the newest session that was looked at, per route the
 * last verdict and whether it was slow, and the state of the box's parts. The first look remembers
 * and tells nothing.
 */

/* Looks at the box, and calls fn with each event: a new object of the caller's, which has event,
 * time, what the event is about, and `link`, the path of a page. memory is changed.
 * Returns false if the box did not answer. */
bool hook_watch(struct source *s, json_t *memory, void (*fn)(void *arg, json_t *event), void *arg);

/* An event by its name; `about` is the callee's. */
typedef void hook_event_fn(void *arg, const char *event, json_t *about);
enum { HOOK_INCIDENTS_DAYS = 60 }; /* the list of incidents must go back so far */
/* Tells what is new in a list of incidents, of the kinds incident.begins, .named and .ends, oldest
 * first. first: remembers, and tells nothing. */
void hook_incidents(json_t *memory, bool first, const json_t *doc, int64_t now_wall_ns,
    hook_event_fn *fn, void *arg);

/* --- archives --- */

/* The event for archives alone: a session is over. */
#define HOOK_ARCHIVE "archive.session"
/* Whether the hook is an archive. */
bool hook_archives(const struct hook *h);
/* The session of the event as pScheduler's archiver would send the result of a test (schema 1 of
 * disk-to-disk), a new document. NULL: the event has no session between two hosts, or memory was
 * short. */
json_t *hook_archive_document(const json_t *event);

/* --- questions to a pScheduler (hook_question.c) --- */

/* Whether the hook asks for tests of slow sessions. */
bool hook_asks(const struct hook *h);
/* Takes a test out of the budget of the day, which the memory has. Returns false if the budget is
 * spent. */
bool hook_question_pay(const struct hook *h, json_t *memory, int64_t now_wall_s);
/* Asks for the test of an event's session, awaits its end, and hands the result to the box. Blocks;
 * the process needs a timer. 0, or NW_E* with the reason in why. */
int hook_question(const struct hook *h, const json_t *event, char why[CONF_WHY_BYTES]);

/* --- deliveries --- */

/* Appends a copy of the event to the queue of a hook, an array of the memory. */
void hook_queue_put(json_t *queue, const json_t *event, int64_t now_wall_s);
/* The oldest event of the queue if it is due, and its id, on loan until the queue changes; else
 * NULL. */
const json_t *hook_queue_due(const json_t *queue, int64_t now_wall_s, const char **id);
/* Time at which the oldest event came. */
int64_t hook_queue_since(const json_t *queue);
/* Removes the oldest event, which has this id, if why is NULL. Else the post has failed: the event
 * waits 10 s, then twice as long each time, an hour at most, and is given up after three days. */
void hook_queue_settle(
    const struct hook *h, json_t *queue, const char *id, const char *why, int64_t now_wall_s);

/* --- a post, in an own process --- */

struct hook_post {
	pid_t pid; /* the process, 0 without a post */
	int fd;    /* readable once the post is over */
	char id[HOOK_ID_BYTES + 1];
};

/* NW_EIO, NW_ENOMEM: there is no process, and p->pid is 0. */
int hook_post_begin(struct hook_post *p, const struct hook *h, const json_t *event, const char *id,
    int64_t now_wall_s);
/* Waits for the end of the post, the hook's timeout at most. 0, or the reason in why. */
int hook_post_end(struct hook_post *p, char why[CONF_WHY_BYTES]);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows hook: posts to other programs what the box concludes anew. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/cmd.h"
#include "cli/hook/hook.h"
#include "cli/source.h"
#include "narrows/err.h"
#include "narrows/clock.h"
#include "narrows/format.h"
#include "narrows/quantity.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"
#include "send/memory.h"

static const char DEFAULT_HOOKS[] = "/etc/narrows/hooks.d",
		  DEFAULT_MEMORY[] = "/var/lib/narrows-hook/memory.json";

static const int64_t LAST_POSTS_NS = INT64_C(2000000000); /* behind SIGTERM */
enum { ASK_MAX_S = 3600 }; /* time that a question waits for a moment without transfers */

struct hooking {
	struct source *source;
	const char *dir, *memory_path, *name;
	int64_t every_ns;
	bool once;
	struct hook hooks[HOOKS_MAX];
	int n_hooks;
	struct hook_post posts[HOOKS_MAX]; /* the post that runs, of each hook */
	json_t *memory;  /* of hook_watch(), and under "queues" a queue for each hook */
	bool is_changed; /* memory, since it was written */
};

static volatile sig_atomic_t stopping;

static void
on_stop(int sig)
{
	(void)sig;
	stopping = 1;
}

/* --- memory --- */

static int
memory_save(struct hooking *h)
{
	char why[MEMORY_WHY_BYTES];

	h->is_changed = false;
	return memory_write(h->memory_path, h->memory, why) == 0 ? 0 : command_failed(NULL, why);
}

static json_t *
queue_of(const struct hooking *h, const char *name)
{
	json_t *queues = json_object_get(h->memory, "queues");

	if (!json_is_object(queues)) {
		json_object_set_new(h->memory, "queues", json_object());
		queues = json_object_get(h->memory, "queues");
	}
	return memory_list(queues, name);
}

/* --- looks and posts --- */

/* The link from the report's address and the path; without an address there is no link. */
static void
link_complete(json_t *event, const struct hook *h, const char *box, const char *path)
{
	const char *base = strcmp(h->report, "none") != 0 ? h->report : box;
	size_t len = base != NULL ? strlen(base) : 0;
	char *link;

	json_object_del(event, result_key_name(KEY_hook_event_link));
	if (base == NULL)
		return;
	while (len > 0 && base[len - 1] == '/')
		len--;
	link = xasprintf("%.*s%s", (int)len, base, path);
	result_put_text(event, KEY_hook_event_link, link);
	free(link);
}

static void
on_event(void *arg, json_t *event)
{
	const struct hooking *h = arg;
	const json_t *session = result_get(event, KEY_hook_event_session);
	const char *name = result_text(event, KEY_hook_event_event),
		   *route = session != NULL
	    ? result_text(session, KEY_listed_route)
	    : result_text(result_get(event, KEY_hook_event_incident), KEY_incident_route);
	char *path = xstrdup(result_text(event, KEY_hook_event_link)),
	     *box = source_address(h->source);
	int i;

	for (i = 0; i < h->n_hooks; i++)
		if (hook_wants(&h->hooks[i], name, route)) {
			link_complete(event, &h->hooks[i], box, path);
			hook_queue_put(
			    queue_of(h, h->hooks[i].name), event, nw_wall_ns() / 1000000000);
		}
	free(box);
	free(path);
	json_decref(event);
}

/* Whether a session is open, or the box does not answer: no moment for a test. */
static bool
is_moving(struct hooking *h)
{
	json_t *doc = source_sessions(h->source, 0, "&state=open");
	const bool moving =
	    doc == NULL || json_array_size(result_list(doc, KEY_sessions_sessions)) > 0;

	json_decref(doc);
	return moving;
}

/*
 * Whether a hook that asks for tests may ask now: no session is open, and the budget of the day has
 * room. A question that waits for longer than an hour, or without a budget, is dropped.
 */
static bool
may_ask(struct hooking *h, const struct hook *hook, const char *id, int64_t now_wall_s)
{
	json_t *queue = queue_of(h, hook->name);
	const int64_t since_s = hook_queue_since(queue);
	const char *why = "no moment without a transfer came within an hour";

	if (now_wall_s - since_s < ASK_MAX_S) {
		if (is_moving(h))
			return false;
		if (hook_question_pay(hook, h->memory, now_wall_s))
			return memory_save(h) == 0;
		why = "the budget of the day is spent";
	}
	fprintf(stderr, "narrows: hook %s: no test is asked for: %s\n", hook->name, why);
	hook_queue_settle(hook, queue, id, NULL, now_wall_s);
	h->is_changed = true;
	return false;
}

/* Begins the next post of each idle hook with a due post. */
static void
posts_begin(struct hooking *h)
{
	int64_t now_wall_s = nw_wall_ns() / 1000000000;
	const json_t *event;
	const char *id;
	int i;

	for (i = 0; i < h->n_hooks; i++)
		if (h->posts[i].pid == 0 &&
		    (event = hook_queue_due(queue_of(h, h->hooks[i].name), now_wall_s, &id)) !=
			NULL &&
		    (!hook_asks(&h->hooks[i]) || may_ask(h, &h->hooks[i], id, now_wall_s)) &&
		    hook_post_begin(&h->posts[i], &h->hooks[i], event, id, now_wall_s) < 0)
			fprintf(stderr, "narrows: hook %s: no process for a post: %s\n",
			    h->hooks[i].name, strerror(errno));
}

static void
post_settle(struct hooking *h, int i)
{
	char why[CONF_WHY_BYTES];
	int rc = hook_post_end(&h->posts[i], why);

	if (rc < 0 && hook_asks(&h->hooks[i])) { /* a later test would be of another time */
		fprintf(stderr, "narrows: hook %s: no test: %s\n", h->hooks[i].name, why);
		rc = NW_OK;
	}
	hook_queue_settle(&h->hooks[i], queue_of(h, h->hooks[i].name), h->posts[i].id,
	    rc < 0 ? why : NULL, nw_wall_ns() / 1000000000);
	h->is_changed = true;
}

/* Waits for the end of a post, and settles it. Returns false at the time until_mono_ns, or at a
 * signal. */
static bool
posts_wait(struct hooking *h, int64_t until_mono_ns)
{
	int64_t left_ns = until_mono_ns - nw_mono_ns();
	struct timespec left = { left_ns / 1000000000, left_ns % 1000000000 };
	struct pollfd fds[HOOKS_MAX];
	sigset_t none;
	int i;

	for (i = 0; i < h->n_hooks; i++)
		fds[i] = (struct pollfd){ .fd = h->posts[i].pid != 0 ? h->posts[i].fd : -1,
			.events = POLLIN };
	sigemptyset(&none);
	if (left_ns <= 0 || ppoll(fds, (nfds_t)h->n_hooks, &left, &none) <= 0)
		return false;
	for (i = 0; i < h->n_hooks; i++)
		if (fds[i].revents != 0)
			post_settle(h, i);
	return true;
}

static bool
posts_run(const struct hooking *h)
{
	int i = 0;

	while (i < h->n_hooks && h->posts[i].pid == 0)
		i++;
	return i < h->n_hooks;
}

/* Posts until the time of the next look; if only one look is wanted, until no event is due. A
 * receiver that is slow holds up its own queue alone. */
static void
posts_make(struct hooking *h)
{
	int64_t until_mono_ns = nw_mono_ns() + h->every_ns;

	do
		posts_begin(h);
	while (h->once ? posts_run(h) && (posts_wait(h, INT64_MAX) || !stopping)
		       : posts_wait(h, until_mono_ns));
}

/* Gives the posts that run a last moment. An event whose post is cut off is posted again by the
 * next run. */
static void
posts_stop(struct hooking *h)
{
	int64_t until_mono_ns = nw_mono_ns() + LAST_POSTS_NS;
	int i;

	while (posts_run(h) && posts_wait(h, until_mono_ns))
		continue;
	for (i = 0; i < h->n_hooks; i++)
		if (h->posts[i].pid != 0) {
			kill(h->posts[i].pid, SIGKILL);
			while (waitpid(h->posts[i].pid, NULL, 0) < 0 && errno == EINTR)
				continue;
		}
}

/* What was seen is written before the first post: a crash repeats a post rather than lose one. */
static int
look(struct hooking *h)
{
	int status;

	(void)hook_watch(h->source, h->memory, on_event, h);
	if ((status = memory_save(h)) == 0)
		posts_make(h);
	return status;
}

static int
hooks_run(struct hooking *h)
{
	char why[MEMORY_WHY_BYTES];
	sigset_t stops;
	int status;

	if ((h->memory = memory_read(h->memory_path, why)) == NULL)
		return command_failed(NULL, why);
	sigemptyset(&stops);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGINT);
	signal(SIGTERM, on_stop);
	signal(SIGINT, on_stop);
	sigprocmask(SIG_BLOCK, &stops, NULL); /* posts_wait() takes them */
	do
		status = look(h);
	while (status == 0 && !h->once && !stopping);
	posts_stop(h);
	if (status == 0 && h->is_changed)
		status = memory_save(h);
	json_decref(h->memory);
	return status;
}

static int
hooks_list(struct hooking *h)
{
	int i;

	for (i = 0; i < h->n_hooks; i++)
		printf("%-24s  %s  (%s; routes: %s; %s)\n", h->hooks[i].name, h->hooks[i].url,
		    hook_archives(&h->hooks[i])   ? "sessions"
			: hook_asks(&h->hooks[i]) ? "questions"
						  : h->hooks[i].events,
		    h->hooks[i].routes,
		    strcmp(h->hooks[i].secret_file, "none") == 0 ? "not signed" : "signed");
	return 0;
}

static int
hook_test(struct hooking *h)
{
	struct hook_post *post = &h->posts[0];
	json_t *event = json_object();
	char why[CONF_WHY_BYTES] = "no process for the post";
	int i, status = COMMAND_FAILED;

	result_put_text(event, KEY_hook_event_event, "test");
	result_put_text(event, KEY_hook_event_time, fmt_iso_ns(nw_wall_ns()).s);
	for (i = 0; i < h->n_hooks && strcmp(h->hooks[i].name, h->name) != 0; i++)
		continue;
	if (i == h->n_hooks)
		status =
		    command_failed(h->name, "there is no such hook: narrows hook list shows all");
	else if (hook_post_begin(post, &h->hooks[i], event, "test", nw_wall_ns() / 1000000000) <
		0 ||
	    hook_post_end(post, why) < 0)
		status = command_failed(h->hooks[i].url, why);
	else {
		printf("%s took the test event.\n", h->hooks[i].url);
		status = 0;
	}
	json_decref(event);
	return status;
}

/* --- the command line --- */

static bool
option_take(struct hooking *h, int opt)
{
	const char *why;

	switch (opt) {
	case 'd': h->dir = optarg; return true;
	case 'm': h->memory_path = optarg; return true;
	case '1': h->once = true; return true;
	case 'i':
		return quantity_duration(optarg, &h->every_ns, &why) == 0 &&
		    h->every_ns >= 100000000;
	}
	return false;
}

static int
hooks_do(struct hooking *h, const char *what)
{
	char why[CONF_WHY_BYTES];
	int status;

	if ((h->n_hooks = hooks_read(h->dir, h->hooks, why)) < 0)
		return command_failed(NULL, why);
	if (strcmp(what, "test") == 0)
		status = hook_test(h);
	else
		status = strcmp(what, "list") == 0 ? hooks_list(h) : hooks_run(h);
	hooks_clear(h->hooks, h->n_hooks);
	return status;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "directory", required_argument, NULL, 'd' },
		{ "memory", required_argument, NULL, 'm' },
		{ "interval", required_argument, NULL, 'i' }, { "once", no_argument, NULL, '1' },
		{ NULL, 0, NULL, 0 } };
	struct hooking *h;
	const char *what;
	int opt, status;

	h = xcalloc(1, sizeof(*h));
	*h = (struct hooking){ .source = env->source,
		.dir = DEFAULT_HOOKS,
		.memory_path = DEFAULT_MEMORY,
		.every_ns = INT64_C(5) * 1000000000 };
	while ((opt = getopt_long(argc, argv, "d:m:i:1", longs, NULL)) != -1)
		if (!option_take(h, opt)) {
			free(h);
			return command_misused(env->command);
		}
	what = optind < argc ? argv[optind++] : "";
	if (strcmp(what, "test") == 0 && optind < argc)
		h->name = argv[optind++];
	if (optind != argc ||
	    (strcmp(what, "run") != 0 && strcmp(what, "list") != 0 && h->name == NULL))
		status = command_misused(env->command);
	else
		status = hooks_do(h, what);
	free(h);
	return status;
}

const struct command command_hook = {
	.name = "hook",
	.summary = "post to other programs what the box concludes anew",
	.usage = "[-d DIRECTORY] [-m FILE] [-i INTERVAL] [-1] run | list | test NAME",
	.help = "run   looks at the box again and again, and posts events (verdict, slower,\n"
		"      incident, health, session, collector, clock)\n"
		"list  shows the hooks\n"
		"test  posts a test event to a hook, now\n"
		"  -d, --directory   has a file NAME.conf for each hook (/etc/narrows/hooks.d)\n"
		"  -m, --memory      file of what was seen and what waits\n"
		"                    (/var/lib/narrows-hook/memory.json)\n"
		"  -i, --interval    between two looks (5s)\n"
		"  -1, --once        one look, then end\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};

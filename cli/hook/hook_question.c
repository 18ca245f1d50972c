/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A question to a pScheduler: a test of throughput between the hosts of a slow session.
 *
 *	POST tasks --> address of the task --GET runs/first, with back-off--> run --PUT--> the box
 *
 * The answer goes to the box in the form of an archiver, so that the box checks and keeps the test
 * as every other. The question's process ends with the hook's timeout.
 */
#include "cli/hook/hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"
#include "send/exchange.h"

enum { ANSWER_MAX_BYTES = 1 << 20, WAIT_MIN_S = 1, WAIT_MAX_S = 16, DAY_S = 86400 };
static const char ARROW[] = " -> ";

/* --- the question --- */

bool
hook_asks(const struct hook *h)
{
	return strcmp(h->format, "pscheduler-test") == 0;
}

/* The test of a session's route; NULL: the route has not two ends. */
static json_t *
test_make(const struct hook *h, const char *route)
{
	const char *to = route != NULL ? strstr(route, ARROW) : NULL;

	if (to == NULL)
		return NULL;
	return json_pack("{s:s s:{s:i s:s# s:s s:o s:I}}", "type", "throughput", "spec", "schema",
	    1, "source", route, (int)(to - route), "dest", to + strlen(ARROW), "duration",
	    json_sprintf("PT%lldS", (long long)(h->test_ns / 1000000000)), "bandwidth",
	    (json_int_t)h->rate_bits_per_s);
}

/* --- the budget of a day --- */

static json_t *
spent_of(json_t *memory, const char *name)
{
	json_t *all = json_object_get(memory, "asked"), *of;

	if (!json_is_object(all)) {
		json_object_set_new(memory, "asked", json_object());
		all = json_object_get(memory, "asked");
	}
	if (!json_is_object(of = json_object_get(all, name))) {
		json_object_set_new(all, name, json_object());
		of = json_object_get(all, name);
	}
	return of;
}

bool
hook_question_pay(const struct hook *h, json_t *memory, int64_t now_wall_s)
{
	json_t *spent = spent_of(memory, h->name);
	const int64_t day = now_wall_s / DAY_S, cost_s = h->test_ns / 1000000000;
	int64_t seconds = json_integer_value(json_object_get(spent, "day")) == day
	    ? json_integer_value(json_object_get(spent, "seconds"))
	    : 0;

	if (seconds + cost_s > h->budget_ns / 1000000000)
		return false;
	json_object_set_new(spent, "day", json_integer(day));
	json_object_set_new(spent, "seconds", json_integer(seconds + cost_s));
	return true;
}

/* --- exchanges --- */

/* One exchange with JSON both ways; body NULL: GET. *status of an answer that is whole. */
static int
ask(const struct hook *h, const char *url, const char *credential_file, const char *method,
    const json_t *body, int *status, json_t **answer, char why[CONF_WHY_BYTES])
{
	char secret[EXCHANGE_SECRET_BYTES], reason[EXCHANGE_WHY_BYTES], *line = NULL;
	char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
	struct exchange x = { .url = url,
		.ca_file = h->ca_file,
		.proxy = conf_or_null(h->proxy),
		.body = text,
		.body_len = text != NULL ? strlen(text) : 0,
		.method = method,
		.lines = { "Content-Type: application/json" } };
	struct exchange_text got = { .len_max = ANSWER_MAX_BYTES };
	int rc = NW_OK;

	*answer = NULL;
	if (strcmp(credential_file, "none") != 0 &&
	    (rc = exchange_secret(credential_file, secret, NULL, reason)) == NW_OK) {
		x.lines[1] = line = xasprintf("Authorization: %s", secret);
		explicit_bzero(secret, sizeof(secret));
	}
	if (rc == NW_OK)
		rc = exchange(&x, exchange_keep, &got, status, reason);
	if (rc < 0)
		snprintf(why, CONF_WHY_BYTES, "%.200s", reason);
	else if (got.text != NULL)
		*answer = json_loads(got.text, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
	free(got.text);
	free(line);
	free(text);
	return rc;
}

static int
fail(char why[CONF_WHY_BYTES], const char *what, int status)
{
	snprintf(why, CONF_WHY_BYTES, "%s: the answer is %d", what, status);
	return NW_EPROTO;
}

static bool
is_below(const char *url, const char *base)
{
	const size_t len = strlen(base);

	return strncmp(url, base, len) == 0 && url[len] == '/';
}

/* The address of the new task; free() the text. An answer may name tasks below the hook's url
 * alone: the credential goes nowhere else. */
static int
task_post(const struct hook *h, const json_t *test, char **task, char why[CONF_WHY_BYTES])
{
	json_t *body =
	    json_pack("{s:i s:O s:{s:s}}", "schema", 1, "test", test, "schedule", "slip", "PT5M");
	char *url = xasprintf("%s/tasks", h->url);
	json_t *answer;
	int status, rc = ask(h, url, h->authorization_file, NULL, body, &status, &answer, why);

	*task = NULL;
	if (rc == NW_OK && (status < 200 || status > 299 || !json_is_string(answer)))
		rc = fail(why, "tasks", status);
	else if (rc == NW_OK && !is_below(json_string_value(answer), h->url)) {
		snprintf(why, CONF_WHY_BYTES, "tasks: the answer names another server");
		rc = NW_EPROTO;
	} else if (rc == NW_OK)
		*task = xstrdup(json_string_value(answer));
	json_decref(answer);
	json_decref(body);
	free(url);
	return rc;
}

static bool
is_over(const json_t *run)
{
	static const char *const states[] = { "finished", "failed", "missed", "nonstart", "overdue",
		"preempted", "canceled" };
	const char *state = json_string_value(json_object_get(run, "state"));
	size_t i;

	for (i = 0; state != NULL && i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(state, states[i]) == 0)
			return true;
	return false;
}

/* Asks for the first run until the run is over. 404: the run is not scheduled yet. The process has
 * a timer. */
static int
run_await(const struct hook *h, const char *task, json_t **run, char why[CONF_WHY_BYTES])
{
	char *url = xasprintf("%s/runs/first", task);
	unsigned wait_s = WAIT_MIN_S;
	int status, rc;

	for (;;) {
		rc = ask(h, url, h->authorization_file, NULL, NULL, &status, run, why);
		if (rc < 0 || (status == 200 && is_over(*run)))
			break;
		json_decref(*run);
		*run = NULL;
		if (status != 200 && status != 404) {
			rc = fail(why, "runs", status);
			break;
		}
		nanosleep(&(struct timespec){ wait_s, 0 }, NULL);
		wait_s = wait_s < WAIT_MAX_S ? 2 * wait_s : WAIT_MAX_S;
	}
	free(url);
	return rc;
}

/* The run in the form of an archiver's document. */
static json_t *
document_make(const json_t *test, const json_t *run)
{
	const char *href = json_string_value(json_object_get(run, "href"));
	const char *id = href != NULL ? strrchr(href, '/') : NULL;
	json_t *result = json_object_get(run, "result-merged");

	return json_pack("{s:s s:O s:O? s:O s:O? s:o}", "id", id != NULL ? id + 1 : "", "test",
	    test, "tool", json_object_get(run, "tool"), "run", run, "participants",
	    json_object_get(run, "participants"), "result",
	    json_is_object(result)
		? json_incref(result)
		: json_pack("{s:b s:s}", "succeeded", 0, "error", "the run gave no result"));
}

int
hook_question(const struct hook *h, const json_t *event, char why[CONF_WHY_BYTES])
{
	const char *route =
	    result_text(result_get(event, KEY_hook_event_session), KEY_listed_route);
	json_t *test = test_make(h, route), *run = NULL, *document = NULL, *answer = NULL;
	char *task = NULL;
	int status, rc = NW_OK;

	if (test == NULL) {
		snprintf(why, CONF_WHY_BYTES, "the session has not two hosts");
		return NW_EINVAL;
	}
	if ((rc = task_post(h, test, &task, why)) == NW_OK &&
	    (rc = run_await(h, task, &run, why)) == NW_OK) {
		document = document_make(test, run);
		if (document == NULL) /* without a body the box would be asked for a page */
			rc = NW_ENOMEM;
		else
			rc = ask(h, h->box, h->box_authorization_file, "PUT", document, &status,
			    &answer, why);
		if (rc == NW_OK && (status < 200 || status > 299))
			rc = fail(why, h->box, status);
	}
	json_decref(answer);
	json_decref(document);
	json_decref(run);
	json_decref(test);
	free(task);
	return rc;
}

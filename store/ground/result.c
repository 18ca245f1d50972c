/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/activetest.h"
#include "narrows/result.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/incident.h"
#include "narrows/task.h"

void
result_set(json_t *object, enum result_key key, json_t *value)
{
	json_object_set_new(object, result_key_name(key), value);
}

void
result_put_text(json_t *object, enum result_key key, const char *text)
{
	json_t *v = text != NULL ? json_string(text) : NULL;

	result_set(object, key, v != NULL ? v : json_null());
}

void
result_put_real(json_t *object, enum result_key key, double v)
{
	result_set(object, key, isfinite(v) ? json_real(v) : json_null());
}

void
result_put_int(json_t *object, enum result_key key, int64_t v)
{
	result_set(object, key, json_integer(v));
}

void
result_put_flag(json_t *object, enum result_key key, bool v)
{
	result_set(object, key, json_boolean(v));
}

void
result_put_ns(json_t *object, enum result_key key, int64_t t_wall_ns)
{
	result_put_text(object, key, t_wall_ns != 0 ? fmt_int(t_wall_ns).s : NULL);
}

void
result_put_iso(json_t *object, enum result_key key, int64_t t_wall_ns)
{
	result_put_text(object, key, t_wall_ns != 0 ? fmt_iso_ns(t_wall_ns).s : NULL);
}

void
result_put_iso_ms(json_t *object, enum result_key key, int64_t t_wall_ns)
{
	result_put_text(object, key, t_wall_ns != 0 ? fmt_iso(t_wall_ns, 3).s : NULL);
}

const json_t *
result_get(const json_t *object, enum result_key key)
{
	const json_t *v = json_object_get(object, result_key_name(key));

	return json_is_null(v) ? NULL : v;
}

const char *
result_text(const json_t *object, enum result_key key)
{
	return json_string_value(json_object_get(object, result_key_name(key)));
}

bool
result_task_is_report(const char *task)
{
	static const size_t len = sizeof(TASK_REPORT) - 1;

	return task != NULL && strncmp(task, TASK_REPORT, len) == 0 &&
	    strspn(task + len, "0123456789abcdef") == 32 && task[len + 32] == '\0';
}

/* The label of a secret task (narrows/task.h). */
static bool
is_label(const char *task)
{
	return strncmp(task, "task-", 5) == 0 && strspn(task + 5, "0123456789abcdef") == 31 &&
	    task[36] == '\0';
}

bool
result_task_has_name(const char *task)
{
	static const char uuid[] = "########-####-####-####-############";
	size_t i;

	if (task == NULL || strncmp(task, "xsp:", 4) == 0 || result_task_is_report(task) ||
	    is_label(task))
		return false;
	for (i = 0; task[i] != '\0' &&
	     (uuid[i] == '#' ? isxdigit((unsigned char)task[i]) : task[i] == uuid[i]);
	     i++)
		continue;
	return !(i == sizeof(uuid) - 1 && task[i] == '\0');
}

const char *
result_task(const json_t *session)
{
	const char *task = result_text(session, KEY_session_task_id);

	return result_task_has_name(task) ? task : NULL;
}

double
result_number(const json_t *object, enum result_key key)
{
	const json_t *v = json_object_get(object, result_key_name(key));

	return json_is_number(v) ? json_number_value(v) : NAN;
}

int64_t
result_ns(const json_t *object, enum result_key key)
{
	const json_t *v = json_object_get(object, result_key_name(key));
	const char *text = json_string_value(v);
	char *end;
	long long ns;

	if (json_is_integer(v))
		return json_integer_value(v);
	if (text == NULL)
		return 0;
	errno = 0;
	ns = strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == '\0' ? ns : 0;
}

int
result_bool(const json_t *object, enum result_key key)
{
	const json_t *v = json_object_get(object, result_key_name(key));

	return json_is_boolean(v) ? json_is_true(v) : -1;
}

const json_t *
result_list(const json_t *object, enum result_key key)
{
	const json_t *v = json_object_get(object, result_key_name(key));

	return json_is_array(v) ? v : NULL;
}

const json_t *
result_at(const json_t *list, double index)
{
	return index >= 0 && index < (double)json_array_size(list)
	    ? json_array_get(list, (size_t)index)
	    : NULL;
}

void
result_numbers(const json_t *list, double *out, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);

		out[i] = json_is_number(v) ? json_number_value(v) : NAN;
	}
}

/* How a session stands against the usual rates, as its sentences begin. */
enum standing { STANDS_UNKNOWN, STANDS_USUAL, STANDS_FAR, STANDS_FASTER, STANDS_SLOWER };

static enum standing
standing_of(const json_t *doc)
{
	const json_t *usual = result_get(doc, KEY_result_usual);
	const char *said = result_text(usual, KEY_usual_said);
	const double ratio = result_number(usual, KEY_usual_ratio);

	if (said == NULL || result_text(usual, KEY_usual_sentence) == NULL)
		return STANDS_UNKNOWN;
	if (strcmp(said, "slower") == 0)
		return STANDS_SLOWER;
	if (strcmp(said, "faster") == 0)
		return STANDS_FASTER;
	return ratio >= NW_USEFUL || ratio <= 1 / NW_USEFUL ? STANDS_FAR : STANDS_USUAL;
}

const char *
result_no_incident(const json_t *doc, bool in_incident)
{
	if (in_incident)
		return "This route is in an incident, which later sessions showed.";
	switch (standing_of(doc)) {
	case STANDS_UNKNOWN: return "This route has too few earlier sessions to tell.";
	case STANDS_SLOWER:
		return "This session was slower than usual; alone it is no incident of the route.";
	case STANDS_USUAL:
	case STANDS_FAR:
	case STANDS_FASTER: break;
	}
	return "This route is in no incident.";
}

const char *
result_no_change(const json_t *doc, bool in_incident)
{
	if (in_incident)
		return "No session of the incident has a cause so far.";
	switch (standing_of(doc)) {
	case STANDS_UNKNOWN: return "Too few earlier sessions to compare with.";
	case STANDS_FAR:
		return "Nothing to explain: chance allows as much of a difference on this route.";
	case STANDS_FASTER:
		return "Nothing to explain: causes are looked for behind slower sessions alone.";
	case STANDS_USUAL:
	case STANDS_SLOWER: break;
	}
	return "Nothing to explain: the session is as usual on its route.";
}

const char *
result_no_advice(const json_t *doc, bool in_incident)
{
	const enum standing s = standing_of(doc);

	return !in_incident && (s == STANDS_USUAL || s == STANDS_FAR || s == STANDS_FASTER)
	    ? "Nothing: the session ran within the usual rates of its route, or faster."
	    : "No rule has a proposal for what was measured.";
}

json_t *
result_active_test(const struct nw_active_test *t)
{
	static const struct {
		enum result_key key;
		enum nw_test_field field;
	} numbers[] = {
		{ KEY_active_test_streams, NW_TEST_streams },
		{ KEY_active_test_retransmits, NW_TEST_retransmits },
		{ KEY_active_test_packets_sent, NW_TEST_packets_sent },
		{ KEY_active_test_loss, NW_TEST_loss },
		{ KEY_active_test_rtt_s, NW_TEST_rtt_s },
		{ KEY_active_test_delay_median_s, NW_TEST_delay_median_s },
		{ KEY_active_test_hops, NW_TEST_hops },
	};
	json_t *o = json_object();
	size_t i;

	result_put_text(o, KEY_active_test_run, t->run);
	result_put_text(o, KEY_active_test_kind, nw_test_kind_name(t->kind));
	result_put_text(o, KEY_active_test_tool, t->tool[0] != '\0' ? t->tool : NULL);
	result_put_text(o, KEY_active_test_source, t->src);
	result_put_text(o, KEY_active_test_destination, t->dst);
	result_put_ns(o, KEY_active_test_start_ns, t->start_wall_ns);
	result_put_ns(o, KEY_active_test_end_ns, t->end_wall_ns);
	result_put_flag(o, KEY_active_test_succeeded, t->succeeded);
	result_put_text(o, KEY_active_test_error, t->error[0] != '\0' ? t->error : NULL);
	result_put_real(o, KEY_active_test_bytes_per_s, t->value[NW_TEST_bits_per_s] / 8);
	result_put_flag(o, KEY_active_test_udp, t->value[NW_TEST_udp] > 0);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		result_put_real(o, numbers[i].key, t->value[numbers[i].field]);
	return o;
}

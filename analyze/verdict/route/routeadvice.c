/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/route/routeadvice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"
#include "analyze/verdict/advice/advice.h"
#include "analyze/verdict/put/resultdoc_put.h"
#include "analyze/verdict/usual/changed_told.h"
#include "narrows/result.h"

enum { CARDS_MAX = 50, RATES_MAX = 20 };

/* Whether an entry follows a card: of the same rule, about the same settings. Cards for
 * other settings are other cards. */
static bool
is_of_card(const json_t *entry, const json_t *card)
{
	const char *rule = result_text(entry, KEY_route_advice_rule),
		   *name = result_text(card, KEY_advice_rule);
	const json_t *list = result_list(card, KEY_advice_settings), *o, *own;
	size_t i;

	if (rule == NULL || name == NULL || strcmp(rule, name) != 0)
		return false;
	json_array_foreach(list, i, o)
	{
		own = json_array_get(result_list(entry, KEY_route_advice_settings), i);
		if (!json_equal(json_object_get(own, result_key_name(KEY_advice_setting_host)),
			json_object_get(o, result_key_name(KEY_advice_setting_host))) ||
		    !json_equal(json_object_get(own, result_key_name(KEY_advice_setting_name)),
			json_object_get(o, result_key_name(KEY_advice_setting_name))))
			return false;
	}
	return true;
}

static bool
is_shown(const json_t *cards, const json_t *entry)
{
	const json_t *o;
	size_t i;

	json_array_foreach(cards, i, o) if (is_of_card(entry, o)) return true;
	return false;
}

static bool
is_open(const json_t *entry)
{
	return result_get(entry, KEY_route_advice_closed) == NULL;
}

/* The card held once more. */
static void
entry_go_on(json_t *entry, double bytes_per_s)
{
	json_t *rates = json_object_get(entry, result_key_name(KEY_route_advice_rates));
	double v[RATES_MAX];
	size_t n;

	if (!json_is_array(rates))
		return;
	json_array_append_new(rates, resultdoc_real(bytes_per_s));
	if (json_array_size(rates) > RATES_MAX)
		json_array_remove(rates, 0);
	n = json_array_size(rates);
	result_numbers(rates, v, n);
	put_real(entry, KEY_route_advice_bytes_per_s, quantile(v, n, 0.5));
}

static json_t *
entry_new(const json_t *card, int64_t session_id, double bytes_per_s)
{
	const double history = result_number(card, KEY_advice_gain_history);
	json_t *o = json_object();

	put_text(o, KEY_route_advice_rule, result_text(card, KEY_advice_rule));
	put_text(o, KEY_route_advice_title, result_text(card, KEY_advice_title));
	result_set(o, KEY_route_advice_session, json_integer(session_id));
	put_real(o, KEY_route_advice_bytes_per_s, bytes_per_s);
	result_set(o, KEY_route_advice_rates, json_pack("[o]", resultdoc_real(bytes_per_s)));
	put_real(o, KEY_route_advice_predicted,
	    isfinite(history) ? history : result_number(card, KEY_advice_gain));
	result_set(o, KEY_route_advice_settings,
	    json_deep_copy(json_object_get(card, result_key_name(KEY_advice_settings))));
	result_set(o, KEY_route_advice_closed, json_null());
	result_set(o, KEY_route_advice_obtained, json_null());
	result_set(o, KEY_route_advice_obtained_interval, json_null());
	result_set(o, KEY_route_advice_kept, json_null());
	return o;
}

/* Whether a setting of documents has another value; a document without the setting says nothing. */
static bool
is_told_anew(const json_t *doc, const char *host, const char *name, const char *then)
{
	char *now = changed_told_value(doc, host, name);
	const bool anew = now != NULL && (then == NULL || strcmp(now, then) != 0);

	free(now);
	return anew;
}

/* Whether a setting has another value than `then` at the session's end. */
static bool
has_moved(const struct routeadvice_session *s, const char *host, const char *name, const char *then)
{
	const char *now;
	bool known;

	if (changed_told_is(name))
		return is_told_anew(s->doc, host, name, then);
	now = s->value(s->arg, host, name, &known);
	return known &&
	    ((now == NULL) != (then == NULL) || (now != NULL && strcmp(now, then) != 0));
}

/* Whether one of the entry's settings has another value than at the card. */
static bool
is_tried(const json_t *entry, const struct routeadvice_session *s)
{
	const json_t *o;
	const char *host, *name;
	size_t i;

	json_array_foreach(result_list(entry, KEY_route_advice_settings), i, o)
	{
		host = result_text(o, KEY_advice_setting_host);
		name = result_text(o, KEY_advice_setting_name);
		if (host != NULL && name != NULL &&
		    has_moved(s, host, name, result_text(o, KEY_advice_setting_value)))
			return true;
	}
	return false;
}

static void
entry_close(json_t *entry, const struct routeadvice_session *s)
{
	const json_t *rates = result_list(entry, KEY_route_advice_rates);
	double v[RATES_MAX + 1],
	    low = INFINITY, high = -INFINITY,
	    obtained = s->bytes_per_s / result_number(entry, KEY_route_advice_bytes_per_s);
	size_t i, n = json_array_size(rates);

	n = n < RATES_MAX ? n : RATES_MAX;
	result_numbers(rates, v, n);
	for (i = 0; i < n; i++) {
		low = fmin(low, s->bytes_per_s / v[i]);
		high = fmax(high, s->bytes_per_s / v[i]);
	}
	result_set(entry, KEY_route_advice_closed, json_integer(s->id));
	put_real(entry, KEY_route_advice_obtained, obtained);
	result_set(entry, KEY_route_advice_obtained_interval,
	    json_pack("[oo]", resultdoc_real(low), resultdoc_real(high)));
	result_set(entry, KEY_route_advice_kept,
	    json_boolean(advice_kept(result_number(entry, KEY_route_advice_predicted), obtained)));
}

static void
open_entries_judge(json_t *list, const json_t *cards, const struct routeadvice_session *s)
{
	json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		if (!is_open(o))
			continue;
		if (is_tried(o, s))
			entry_close(o, s);
		else if (is_shown(cards, o))
			entry_go_on(o, s->bytes_per_s);
	}
}

static bool
has_open(const json_t *list, const json_t *card)
{
	const json_t *o;
	size_t i;

	if (result_text(card, KEY_advice_rule) == NULL)
		return true;
	json_array_foreach(list, i, o) if (is_open(o) && is_of_card(o, card)) return true;
	return false;
}

json_t *
routeadvice_after(const json_t *before, const struct routeadvice_session *s)
{
	json_t *list = json_is_array(before) ? json_deep_copy(before) : json_array();
	const json_t *cards = result_list(s->doc, KEY_result_advice), *card;
	size_t i;

	open_entries_judge(list, cards, s);
	json_array_foreach(cards, i, card) if (!has_open(list, card))
	    json_array_insert_new(list, 0, entry_new(card, s->id, s->bytes_per_s));
	while (json_array_size(list) > CARDS_MAX)
		json_array_remove(list, json_array_size(list) - 1);
	return list;
}

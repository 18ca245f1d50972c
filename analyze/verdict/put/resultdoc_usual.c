/* SPDX-License-Identifier: BSD-3-Clause */
/* How a session compares with earlier ones; incidents and levels of a route. */
#include "analyze/verdict/put/resultdoc_usual.h"

#include "analyze/verdict/put/resultdoc_put.h"

json_t *
resultdoc_level(const struct level_told *l)
{
	json_t *o = json_object();

	result_set(o, KEY_route_change_session, json_integer(l->session_id));
	put_ns(o, KEY_route_change_at_ns, l->at_wall_ns);
	put_ns(o, KEY_route_change_from_ns, l->from_wall_ns);
	put_ns(o, KEY_route_change_to_ns, l->to_wall_ns);
	put_real(o, KEY_route_change_before, l->before);
	put_real(o, KEY_route_change_after, l->after);
	put_real(o, KEY_route_change_ratio, l->ratio);
	put_text(o, KEY_route_change_sentence, l->sentence);
	return o;
}

json_t *
resultdoc_incident(const struct incident_told *t)
{
	const bool over = t->end_session_id != 0;
	json_t *o = json_object();

	result_set(o, KEY_incident_id, json_integer(t->id));
	put_text(o, KEY_incident_kind, incident_kind_word(t->kind));
	put_text(o, KEY_incident_state, incident_state_word(t->state));
	result_set(o, KEY_incident_session, json_integer(t->session_id));
	put_ns(o, KEY_incident_at_ns, t->at_wall_ns);
	put_ns(o, KEY_incident_from_ns, t->from_wall_ns);
	put_ns(o, KEY_incident_to_ns, t->to_wall_ns);
	result_set(
	    o, KEY_incident_end_session, over ? json_integer(t->end_session_id) : json_null());
	result_set(o, KEY_incident_end_ns, over ? resultdoc_ns(t->end_wall_ns) : json_null());
	put_count(o, KEY_incident_n_sessions, t->n_sessions);
	put_real(o, KEY_incident_before, t->before);
	put_real(o, KEY_incident_since, t->since);
	put_real(o, KEY_incident_ratio, t->ratio);
	put_real(o, KEY_incident_ratio_low, t->ratio_low);
	put_real(o, KEY_incident_ratio_high, t->ratio_high);
	put_real(o, KEY_incident_per_week, t->per_week);
	put_real(o, KEY_incident_p, t->p);
	put_text(o, KEY_incident_sentence, t->sentence);
	return o;
}

static const char *
said_words(enum nw_against said)
{
	switch (said) {
	case NW_AGAINST_SLOWER: return "slower";
	case NW_AGAINST_FASTER: return "faster";
	case NW_AGAINST_USUAL: return "as usual";
	case NW_AGAINST_TOO_FEW: break;
	}
	return "too few";
}

/* Shares up to the entry from which on all are 1. */
static json_t *
shares_doc(const double share[NW_HIST_QUARTERS])
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < NW_HIST_QUARTERS && share[i] < 1; i++)
		json_array_append_new(list, resultdoc_drawn(share[i], 4));
	return list;
}

static json_t *
operations_doc(const struct usual_ops *ops)
{
	json_t *list = json_array(), *o;
	const struct usual_op *op;

	for (op = ops->op; op < ops->op + ops->n; op++) {
		o = json_object();
		put_text(o, KEY_usual_operations_op, op->op);
		put_text(o, KEY_usual_operations_host, op->host);
		put_count(o, KEY_usual_operations_n, op->n);
		result_set(o, KEY_usual_operations_low, shares_doc(op->low));
		result_set(o, KEY_usual_operations_median, shares_doc(op->median));
		result_set(o, KEY_usual_operations_high, shares_doc(op->high));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *
resultdoc_usual(const struct usual *u)
{
	json_t *o;

	if (!u->known)
		return json_null();
	o = json_object();
	put_text(o, KEY_usual_said, said_words(u->usual.said));
	put_text(o, KEY_usual_sentence, u->sentence);
	put_count(o, KEY_usual_n, u->usual.n);
	put_count(o, KEY_usual_n_needed, NW_USUAL_MIN);
	put_real(o, KEY_usual_ratio, u->usual.ratio);
	put_real(o, KEY_usual_slower_than, u->usual.slower_than);
	put_real(o, KEY_usual_p, u->usual.p);
	put_real(o, KEY_usual_median, u->usual.median);
	put_real(o, KEY_usual_low, u->usual.low);
	put_real(o, KEY_usual_high, u->usual.high);
	put_real(o, KEY_usual_best, u->usual.best);
	put_real(o, KEY_usual_worst, u->usual.worst);
	result_set(o, KEY_usual_operations, operations_doc(&u->ops));
	result_set(o, KEY_usual_incident,
	    u->has_incident ? resultdoc_incident(&u->incident) : json_null());
	return o;
}

static json_t *
difference_doc(const struct difference *d)
{
	const bool setting = d->kind == DIFFERENCE_SETTING;
	json_t *o = json_object();

	put_text(o, KEY_difference_kind, setting ? "setting" : "metric");
	put_text(o, KEY_difference_host, d->host);
	put_text(o, KEY_difference_name, d->name);
	put_text(o, KEY_difference_unit, d->unit);
	if (setting)
		put_ns(o, KEY_difference_at_ns, d->at_wall_ns);
	result_set(o, KEY_difference_before,
	    setting ? resultdoc_text(d->before_text) : resultdoc_real(d->before));
	result_set(o, KEY_difference_after,
	    setting ? resultdoc_text(d->after_text) : resultdoc_real(d->after));
	put_real(o, KEY_difference_weight, d->weight);
	result_set(o, KEY_difference_named, json_boolean(d->named));
	put_real(o, KEY_difference_p, d->p);
	put_real(o, KEY_difference_q, d->q);
	result_set(o, KEY_difference_beyond_chance, json_boolean(d->beyond));
	put_text(o, KEY_difference_sentence, d->sentence);
	return o;
}

json_t *
resultdoc_changed(const struct changed *c)
{
	json_t *o, *list;
	size_t i;

	if (!c->asked)
		return json_null();
	o = json_object();
	list = json_array();
	for (i = 0; i < c->n; i++)
		json_array_append_new(list, difference_doc(&c->difference[i]));
	put_text(o, KEY_changed_sentence, c->sentence);
	put_count(o, KEY_changed_n_before, c->n_before);
	put_count(o, KEY_changed_n_after, c->n_after);
	put_count(o, KEY_changed_n_settings, c->n_settings);
	put_count(o, KEY_changed_n_metrics, c->n_metrics);
	put_count(o, KEY_changed_n_named, c->n_named);
	put_real(o, KEY_changed_unexplained, c->unexplained);
	put_real(o, KEY_changed_q_metrics, changed_q_metrics(c));
	result_set(o, KEY_changed_differences, list);
	return o;
}

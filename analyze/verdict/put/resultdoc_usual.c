/* SPDX-License-Identifier: BSD-3-Clause */
/* How a session compares with earlier ones, and a change of a route's rates. */
#include "analyze/verdict/put/resultdoc_usual.h"

#include "analyze/verdict/put/resultdoc_put.h"

json_t *
resultdoc_change(const struct change_told *c)
{
	json_t *o = json_object();

	result_set(o, KEY_route_change_session, json_integer(c->session_id));
	put_ns(o, KEY_route_change_at_ns, c->at_wall_ns);
	put_ns(o, KEY_route_change_from_ns, c->from_wall_ns);
	put_ns(o, KEY_route_change_to_ns, c->to_wall_ns);
	put_real(o, KEY_route_change_before, c->before);
	put_real(o, KEY_route_change_after, c->after);
	put_real(o, KEY_route_change_ratio, c->ratio);
	put_real(o, KEY_route_change_p, c->p);
	put_text(o, KEY_route_change_sentence, c->sentence);
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
	result_set(o, KEY_usual_since, u->has_since ? resultdoc_change(&u->since) : json_null());
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

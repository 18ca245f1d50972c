/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/claim/claim_path.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/result.h"

enum { NAME_BYTES = 64 };

static void
value_push(struct path_values *out, struct claim_value v)
{
	if (out->n < PATH_VALUES_MAX)
		out->value[out->n++] = v;
}

/* --- paths --- */

/* Takes the first name of a path off. */
static struct claim_part
name_take(struct claim_part *path)
{
	const char *dot = memchr(path->s, '.', path->len);
	struct claim_part name = { path->s, dot != NULL ? (size_t)(dot - path->s) : path->len };
	size_t used = name.len + (dot != NULL);

	path->s += used;
	path->len -= used;
	return name;
}

static bool
part_is(struct claim_part part, const char *text)
{
	return strlen(text) == part.len && memcmp(text, part.s, part.len) == 0;
}

static void
scalar_push(const json_t *v, struct path_values *out)
{
	if (json_is_number(v))
		value_push(out, claim_number(json_number_value(v)));
	else if (json_is_string(v))
		value_push(out, claim_text(json_string_value(v)));
	else if (json_is_boolean(v))
		value_push(out, claim_text(json_is_true(v) ? "true" : "false"));
	else if (json_is_object(v))
		value_push(out, claim_number(1));
}

static void
json_walk(const json_t *at, struct claim_part path, struct path_values *out)
{
	struct claim_part rest = path, name;
	char key[NAME_BYTES];
	size_t i;

	if (json_is_array(at) && path.len > 0 && isdigit((unsigned char)*path.s)) {
		name = name_take(&rest);
		json_walk(json_array_get(at, strtoul(name.s, NULL, 10)), rest, out);
	} else if (json_is_array(at)) {
		for (i = 0; i < json_array_size(at); i++)
			json_walk(json_array_get(at, i), path, out);
	} else if (path.len == 0) {
		scalar_push(at, out);
	} else {
		name = name_take(&rest);
		snprintf(key, sizeof(key), "%.*s", (int)name.len, name.s);
		json_walk(json_object_get(at, key), rest, out);
	}
}

static void
slot_push(const struct claim *c, struct claim_part name, struct path_values *out)
{
	struct claim_slot slot;
	size_t i = claim_slot_find(c->kind, name, &slot);

	if (i < CLAIM_SLOTS_MAX && (c->value[i].is_text || isfinite(c->value[i].number)))
		value_push(out, c->value[i]);
}

static void
claims_push(const struct claims *claims, struct claim_part path, struct path_values *out)
{
	struct claim_part kind = name_take(&path);
	size_t i;

	for (i = 0; i < claims->n; i++) {
		if (!part_is(kind, claim_name(claims->claim[i].kind)))
			continue;
		if (path.len == 0)
			value_push(out, claim_number(1));
		else
			slot_push(&claims->claim[i], path, out);
	}
}

static void
stage_push(const struct path_scope *s, struct claim_part path, struct path_values *out)
{
	const json_t *stages =
	    result_list(result_get(s->doc, KEY_result_bottleneck), KEY_bottleneck_stages);

	if (s->own != NULL && s->own->stage != CLAIM_NO_STAGE)
		json_walk(json_array_get(stages, s->own->stage), path, out);
}

static void
term_values(const struct path_scope *s, struct claim_part term, struct path_values *out)
{
	struct claim_part rest = term, name;

	out->n = 0;
	if (term.len > 0 && isdigit((unsigned char)*term.s)) {
		value_push(out, claim_number(strtod(term.s, NULL)));
		return;
	}
	name = name_take(&rest);
	if (name.len == 0 && s->own != NULL)
		slot_push(s->own, rest, out);
	else if (part_is(name, "claim"))
		claims_push(s->claims, rest, out);
	else if (part_is(name, "stage"))
		stage_push(s, rest, out);
	else
		json_walk(s->doc, term, out);
}

/* --- expressions --- */

static double
number_join(double a, char op, double b)
{
	switch (op) {
	case '+': return a + b;
	case '-': return a - b;
	case '/': return a / b;
	default: return a * b;
	}
}

static struct claim_part
term_take(struct claim_part *expression)
{
	struct claim_part term = { expression->s, 0 };

	while (term.len < expression->len && strchr("+-*/", term.s[term.len]) == NULL)
		term.len++;
	expression->s += term.len;
	expression->len -= term.len;
	return term;
}

void
path_values(const struct path_scope *s, struct claim_part expression, struct path_values *out)
{
	struct path_values next;
	size_t i;
	char op;

	term_values(s, term_take(&expression), out);
	while (expression.len > 0) {
		op = *expression.s;
		expression.s++;
		expression.len--;
		term_values(s, term_take(&expression), &next);
		if (next.n == 0)
			out->n = 0;
		for (i = 0; i < out->n; i++)
			out->value[i].number =
			    number_join(out->value[i].number, op, next.value[0].number);
	}
}

/* --- clauses --- */

/* Whether one of the texts a|b is the value. */
static bool
text_is_one_of(const char *text, struct claim_part list)
{
	const char *bar;
	struct claim_part one;

	do {
		bar = memchr(list.s, '|', list.len);
		one =
		    (struct claim_part){ list.s, bar != NULL ? (size_t)(bar - list.s) : list.len };
		if (part_is(one, text))
			return true;
		list.s += one.len + 1;
		list.len -= bar != NULL ? one.len + 1 : one.len;
	} while (bar != NULL);
	return false;
}

static bool
numbers_meet(double a, struct claim_part op, double b)
{
	return part_is(op, "<") ? a < b
	    : part_is(op, "<=") ? a <= b
	    : part_is(op, ">")  ? a > b
	    : part_is(op, ">=") ? a >= b
	    : part_is(op, "=")  ? fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b))
				: fabs(a - b) > 1e-9 * fmax(fabs(a), fabs(b));
}

static bool
value_meets(const struct claim_value *a, struct claim_part op, const struct claim_value *b)
{
	if (!a->is_text && !b->is_text)
		return numbers_meet(a->number, op, b->number);
	if (!a->is_text || !b->is_text)
		return false;
	return (strcmp(a->text, b->text) == 0) == part_is(op, "=");
}

/* Whether a value of the left side and a value of the right side meet. */
static bool
sides_meet(const struct path_scope *s, const struct path_values *left, struct claim_part op,
    struct claim_part right)
{
	struct path_values other;
	size_t i, k;

	if (right.len > 0 && *right.s == '@') {
		path_values(s, (struct claim_part){ right.s + 1, right.len - 1 }, &other);
	} else if (right.len > 0 && isdigit((unsigned char)*right.s)) {
		other = (struct path_values){ .n = 1 };
		other.value[0] = claim_number(strtod(right.s, NULL));
	} else {
		for (i = 0; i < left->n; i++)
			if (left->value[i].is_text &&
			    text_is_one_of(left->value[i].text, right) == part_is(op, "="))
				return true;
		return false;
	}
	for (i = 0; i < left->n; i++)
		for (k = 0; k < other.n; k++)
			if (value_meets(&left->value[i], op, &other.value[k]))
				return true;
	return false;
}

static bool
clause_holds(const struct path_scope *s, struct claim_part clause)
{
	struct path_values left;
	struct claim_part path = clause, op, right;

	if (*clause.s == '!') {
		path_values(s, (struct claim_part){ clause.s + 1, clause.len - 1 }, &left);
		return left.n == 0;
	}
	for (path.len = 0; path.len < clause.len && strchr("=!<>", clause.s[path.len]) == NULL;)
		path.len++;
	op = (struct claim_part){ clause.s + path.len, 0 };
	while (path.len + op.len < clause.len && strchr("=!<>", op.s[op.len]) != NULL)
		op.len++;
	right = (struct claim_part){ op.s + op.len, clause.len - path.len - op.len };
	path_values(s, path, &left);
	return op.len == 0 ? left.n > 0 : sides_meet(s, &left, op, right);
}

bool
path_holds(const struct path_scope *s, const char *clauses)
{
	const char *end;
	bool last = false;

	for (; !last; clauses = end + 3) {
		end = strstr(clauses, " & ");
		last = end == NULL;
		if (last)
			end = clauses + strlen(clauses);
		if (!clause_holds(s, (struct claim_part){ clauses, (size_t)(end - clauses) }))
			return false;
	}
	return true;
}

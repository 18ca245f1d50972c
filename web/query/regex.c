/* SPDX-License-Identifier: BSD-3-Clause */
/* Thompson 1968: all states that the text so far allows are followed at once. */
#include "web/query/regex.h"

#include <ctype.h>
#include <string.h>

enum { OP_BYTE, OP_ANY, OP_SET, OP_SPLIT, OP_JUMP, OP_END };
enum { DEPTH_MAX = 32 };

struct compiler {
	struct regex *r;
	const char *at, *why;
	unsigned depth;
};

static void
refuse(struct compiler *c, const char *why)
{
	if (c->why == NULL)
		c->why = why;
}

/* Puts a step at a place; later steps move, and distances within them stay valid. */
static void
insert(struct compiler *c, unsigned place, struct regex_step s)
{
	struct regex *r = c->r;

	if (r->n_steps == REGEX_STEPS) {
		refuse(c, "too long");
		return;
	}
	memmove(&r->step[place + 1], &r->step[place], (r->n_steps - place) * sizeof(r->step[0]));
	r->step[place] = s;
	r->n_steps++;
}

static void
append(struct compiler *c, uint8_t op, uint8_t byte)
{
	insert(c, c->r->n_steps, (struct regex_step){ op, byte, 1, 0 });
}

/* [a-z], [^,], []x]: *at is behind the first bracket. */
static void
compile_set(struct compiler *c)
{
	bool invert = *c->at == '^';
	const char *begin = c->at += invert;
	uint8_t *set = c->r->set[c->r->n_sets];
	unsigned i, to;

	if (c->r->n_sets == REGEX_SETS) {
		refuse(c, "too many sets");
		return;
	}
	memset(set, 0, sizeof(c->r->set[0]));
	for (; *c->at != '\0' && (*c->at != ']' || c->at == begin); c->at++) {
		if (*c->at == '\\' || *c->at == '[') {
			refuse(c, "not supported: \\ and [ in a set");
			return;
		}
		i = to = (unsigned char)*c->at;
		if (c->at[1] == '-' && c->at[2] != ']' && c->at[2] != '\0') {
			to = (unsigned char)c->at[2];
			c->at += 2;
		}
		for (; i <= to; i++)
			set[i / 8] |= (uint8_t)(1 << i % 8);
	}
	for (i = 0; invert && i < sizeof(c->r->set[0]); i++)
		set[i] = (uint8_t)~set[i];
	if (*c->at != ']')
		refuse(c, "a set has no end");
	else
		c->at++;
	append(c, OP_SET, (uint8_t)c->r->n_sets++);
}

static void compile_choice(struct compiler *c);

static void
compile_one(struct compiler *c)
{
	char byte = *c->at++;

	switch (byte) {
	case '.': append(c, OP_ANY, 0); return;
	case '[': compile_set(c); return;
	case '(':
		if (*c->at == '?' || ++c->depth > DEPTH_MAX) {
			refuse(c, "not supported: (? and deep nesting");
			return;
		}
		compile_choice(c);
		c->depth--;
		if (*c->at != ')')
			refuse(c, "a ) is missing");
		else
			c->at++;
		return;
	case '\\':
		if (*c->at == '\0' || isalnum((unsigned char)*c->at)) {
			refuse(c, "not supported: \\ before a letter, a digit or the end");
			return;
		}
		byte = *c->at++;
		break;
	case '*':
	case '+':
	case '?':
	case '{':
	case '^':
	case '$': refuse(c, "not supported: * + ? { ^ $ here"); return;
	}
	append(c, OP_BYTE, (uint8_t)byte);
}

static void
compile_repeated(struct compiler *c)
{
	unsigned begin = c->r->n_steps;
	int16_t n;
	char how;

	compile_one(c);
	while (c->why == NULL && (how = *c->at) != '\0' && strchr("*+?", how) != NULL) {
		c->at++;
		n = (int16_t)(c->r->n_steps - begin);
		if (how == '+') {
			insert(
			    c, c->r->n_steps, (struct regex_step){ OP_SPLIT, 0, (int16_t)-n, 1 });
			continue;
		}
		insert(c, begin,
		    (struct regex_step){ OP_SPLIT, 0, 1, (int16_t)(n + (how == '*' ? 2 : 1)) });
		if (how == '*')
			insert(c, c->r->n_steps,
			    (struct regex_step){ OP_JUMP, 0, (int16_t)(-n - 1), 0 });
	}
}

static void
compile_choice(struct compiler *c)
{
	unsigned begin = c->r->n_steps, right;
	int16_t left;

	while (c->why == NULL && *c->at != '\0' && *c->at != '|' && *c->at != ')')
		compile_repeated(c);
	if (c->why != NULL || *c->at != '|')
		return;
	c->at++;
	left = (int16_t)(c->r->n_steps - begin);
	insert(c, begin, (struct regex_step){ OP_SPLIT, 0, 1, (int16_t)(left + 2) });
	insert(c, c->r->n_steps, (struct regex_step){ OP_JUMP, 0, 1, 0 });
	right = c->r->n_steps;
	if (c->why != NULL || ++c->depth > REGEX_STEPS)
		return;
	compile_choice(c);
	c->depth--;
	if (c->why == NULL)
		c->r->step[right - 1].a = (int16_t)(c->r->n_steps - right + 1);
}

bool
regex_compile(struct regex *r, const char *text, const char **why)
{
	struct compiler c = { .r = r, .at = text };

	r->n_steps = r->n_sets = 0;
	compile_choice(&c);
	if (c.why == NULL && *c.at != '\0')
		refuse(&c, "a ( is missing");
	append(&c, OP_END, 0);
	*why = c.why;
	return c.why == NULL;
}

/* --- matching --- */

struct states {
	uint16_t n, list[REGEX_STEPS];
	bool has[REGEX_STEPS];
};

/* Adds a state and all states that need no byte to reach. */
static void
follow(const struct regex *r, struct states *s, int at)
{
	const struct regex_step *step = &r->step[at];

	if (s->has[at])
		return;
	s->has[at] = true;
	if (step->op == OP_SPLIT || step->op == OP_JUMP)
		follow(r, s, at + step->a);
	if (step->op == OP_SPLIT)
		follow(r, s, at + step->b);
	if (step->op != OP_SPLIT && step->op != OP_JUMP)
		s->list[s->n++] = (uint16_t)at;
}

static bool
takes(const struct regex *r, const struct regex_step *step, unsigned char byte)
{
	switch (step->op) {
	case OP_ANY: return true;
	case OP_BYTE: return step->byte == byte;
	case OP_SET: return r->set[step->byte][byte / 8] >> byte % 8 & 1;
	}
	return false;
}

bool
regex_match(const struct regex *r, const char *text)
{
	struct states two[2], *now = &two[0], *next = &two[1], *swap;
	unsigned i;

	memset(now, 0, sizeof(*now));
	follow(r, now, 0);
	for (; *text != '\0' && now->n > 0; text++) {
		memset(next, 0, sizeof(*next));
		for (i = 0; i < now->n; i++)
			if (takes(r, &r->step[now->list[i]], (unsigned char)*text))
				follow(r, next, now->list[i] + 1);
		swap = now;
		now = next;
		next = swap;
	}
	return now->has[r->n_steps - 1];
}

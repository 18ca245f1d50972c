/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/preload/title.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ARGUMENTS_MAX = 64, DEPTH_MAX = 4 };

enum kind {
	SCRIPT,    /* letters of options may share a word; the first other argument is the script */
	SHELL,     /* the same, and options may begin with + */
	WORDS,     /* an option is a whole word, also behind a single - */
	RUNNER,    /* what runs is a script or a command; the runner is named, too */
	WRAPPER,   /* what runs is a command, and the wrapper has no part in the name */
	AFTER_ONE, /* the same, behind an argument of the wrapper */
};

struct interpreter {
	const char *first, *takes, *names, *code, *eats;
	enum kind kind;
};

/* The texts of a row, each with a NUL behind. No pointer leads to a text: the loader would have to
 * complete all pointers in every process. */
#define TEXTS(name, first, takes, names, code, eats) \
	name "\0" first "\0" takes "\0" names "\0" code "\0" eats
#define ROW_OF(line) row_##line
#define ROW(line)    ROW_OF(line)

static const struct rows {
#define INTERPRETER(name, kind, first, takes, names, code, eats) \
	char ROW(__LINE__)[sizeof(TEXTS(name, first, takes, names, code, eats))];
#include "host/nwrun/preload/interpreters.def"
#undef INTERPRETER
} rows = {
#define INTERPRETER(name, kind, first, takes, names, code, eats) \
	TEXTS(name, first, takes, names, code, eats),
#include "host/nwrun/preload/interpreters.def"
#undef INTERPRETER
};

static const struct {
	uint16_t at; /* of the row */
	uint8_t kind;
} places[] = {
#define INTERPRETER(name, kind, first, takes, names, code, eats) \
	{ offsetof(struct rows, ROW(__LINE__)), kind },
#include "host/nwrun/preload/interpreters.def"
#undef INTERPRETER
};

struct part {
	const char *at;
	size_t len;
};

/* What an interpreter runs: a text, and its place among the arguments; 0: an option's argument. */
struct target {
	const char *text;
	size_t at;
};

/* --- programs --- */

static struct part
base_part(const char *path, size_t len)
{
	size_t from = len;

	while (from > 0 && path[from - 1] != '/')
		from--;
	return (struct part){ path + from, len - from };
}

/* A daemon may have written a title over its arguments, as in "sshd: root@pts/0"; a login shell has
 * a dash in front. */
static struct part
program_part(const char *argument)
{
	size_t len = 0;
	struct part p;

	/* not strcspn(3): a short program would touch the C library's code for this alone */
	while (argument[len] != '\0' && argument[len] != ':' && argument[len] != ' ')
		len++;
	if (argument[len] != ':' || (argument[len + 1] != ' ' && argument[len + 1] != '\0'))
		while (argument[len] != '\0')
			len++;
	p = base_part(argument, len);
	if (p.len > 1 && *p.at == '-')
		p = (struct part){ p.at + 1, p.len - 1 };
	return p;
}

static bool
is_version(const char *at, size_t len)
{
	return strspn(at, "0123456789.-") >= len;
}

static const char *
text_after(const char *text)
{
	return text + strlen(text) + 1;
}

/* The comparison is here: a short program would touch the C library's code for this alone. */
static bool
interpreter_find(struct part p, struct interpreter *out)
{
	const char *row;
	size_t i, len;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		row = (const char *)&rows + places[i].at;
		for (len = 0; len < p.len && row[len] != '\0' && row[len] == p.at[len]; len++)
			;
		if (row[len] != '\0' || !is_version(p.at + len, p.len - len))
			continue;
		out->kind = (enum kind)places[i].kind;
		out->first = row + len + 1;
		out->takes = text_after(out->first);
		out->names = text_after(out->takes);
		out->code = text_after(out->names);
		out->eats = text_after(out->code);
		return true;
	}
	return false;
}

/* --- options --- */

/* Returns true if a list of words, separated by blanks, has the word. */
static bool
has(const char *list, const char *word, size_t len)
{
	size_t n;

	for (; *list != '\0'; list += n + (list[n] == ' ')) {
		n = strcspn(list, " ");
		if (n == len && memcmp(list, word, len) == 0)
			return true;
	}
	return false;
}

enum option { FLAG, TAKES_NEXT, NAMES_NEXT, NAMES_REST, ENDS };

static enum option
word_meaning(const struct interpreter *in, const char *word, const char **rest)
{
	size_t len = strcspn(word, "=");
	bool joined = word[len] == '=';

	*rest = word + len + joined;
	if (has(in->code, word, len))
		return ENDS;
	if (has(in->names, word, len))
		return joined ? NAMES_REST : NAMES_NEXT;
	return !joined && has(in->takes, word, len) ? TAKES_NEXT : FLAG;
}

static enum option
letters_meaning(const struct interpreter *in, const char *letters, const char **rest)
{
	char option[] = "-?";

	for (; *letters != '\0'; letters++) {
		option[1] = *letters;
		*rest = letters + 1;
		if (has(in->code, option, 2))
			return ENDS;
		if (has(in->names, option, 2))
			return **rest != '\0' ? NAMES_REST : NAMES_NEXT;
		if (has(in->takes, option, 2))
			return **rest != '\0' ? FLAG : TAKES_NEXT;
		if (strchr(in->eats, *letters) != NULL)
			break;
	}
	return FLAG;
}

static bool
is_option(const struct interpreter *in, const char *word)
{
	return (word[0] == '-' || (word[0] == '+' && in->kind == SHELL)) && word[1] != '\0';
}

/* Returns true if the word is no command: a variable of env or sudo, an argument file of java. */
static bool
is_setting(const struct interpreter *in, const char *word)
{
	size_t len = strcspn(word, "=/");

	return in->kind == WORDS ? word[0] == '@' : in->kind >= RUNNER && word[len] == '=';
}

static struct target
none(void)
{
	return (struct target){ 0 };
}

static struct target
at(const char *const *argv, size_t n, size_t i)
{
	return i < n && strcmp(argv[i], "-") != 0 ? (struct target){ argv[i], i } : none();
}

/* The interpreter's options end here, or at the first other argument. */
static struct target
target_find(const struct interpreter *in, const char *const *argv, size_t n)
{
	size_t i = 1, skip = in->kind == AFTER_ONE;
	enum option o;
	const char *rest;

	if (in->first[0] != '\0' && (n < 2 || strcmp(argv[i++], in->first) != 0))
		return none();
	for (; i < n; i++) {
		if (strcmp(argv[i], "--") == 0)
			return at(argv, n, i + 1 + skip);
		if (!is_option(in, argv[i])) {
			if (is_setting(in, argv[i]) || skip-- > 0)
				continue;
			return at(argv, n, i);
		}
		o = argv[i][1] == '-' || in->kind == WORDS
		    ? word_meaning(in, argv[i], &rest)
		    : letters_meaning(in, argv[i] + 1, &rest);
		if (o == ENDS)
			return none();
		if (o == NAMES_REST)
			return (struct target){ rest, 0 };
		if (o == NAMES_NEXT)
			return i + 1 < n ? (struct target){ argv[i + 1], 0 } : none();
		i += o == TAKES_NEXT;
	}
	return none();
}

/* --- the name --- */

/* Adds a part to the text, without a half character at the end. */
static size_t
put(char *out, size_t at, size_t end, struct part p)
{
	size_t len = p.len, i;

	if (len > end - at)
		for (len = end - at; len > 0 && ((unsigned char)p.at[len] & 0xc0) == 0x80; len--)
			;
	for (i = 0; i < len; i++)
		out[at + i] = p.at[i];
	out[at + len] = '\0';
	return at + len;
}

/* "borg (python3)". The script of an address has no part behind the path, which may be secret. */
static void
put_both(char *out, size_t cap, const char *target, struct part program)
{
	size_t len = strstr(target, "://") != NULL ? strcspn(target, "?#") : strlen(target), end, n;
	struct part what = base_part(target, len);

	for (n = 0; n < program.len && program.at[n] != '.'; n++)
		;
	program.len = n;
	if (what.len == 0 || program.len + 8 > cap) {
		put(out, 0, cap - 1, program);
		return;
	}
	end = put(out, 0, cap - 1 - program.len - 3, what);
	end = put(out, end, cap - 1, (struct part){ " (", 2 });
	end = put(out, end, cap - 1, program);
	put(out, end, cap - 1, (struct part){ ")", 1 });
}

void
title_make(const char *const *argv, size_t n, char *out, size_t cap)
{
	struct part program = n > 0 ? program_part(argv[0]) : (struct part){ "", 0 }, inner;
	struct interpreter in, next = { 0 };
	bool found = interpreter_find(program, &in);
	struct target t;
	int depth;

	for (depth = 0; found && depth < DEPTH_MAX; depth++, in = next, program = inner) {
		t = target_find(&in, argv, n);
		if (t.text == NULL)
			break;
		inner = program_part(t.text);
		found = t.at > 0 && in.kind >= RUNNER && interpreter_find(inner, &next);
		if (in.kind < WRAPPER && !found) {
			put_both(out, cap, t.text, program);
			return;
		}
		argv += t.at;
		n -= t.at;
	}
	put(out, 0, cap - 1, program);
}

void
title_of_cmdline(const char *text, size_t len, char *out, size_t cap)
{
	const char *argv[ARGUMENTS_MAX];
	size_t n = 0, at = 0;

	for (; at < len && n < ARGUMENTS_MAX; at += strlen(text + at) + 1)
		argv[n++] = text + at;
	title_make(argv, n, out, cap);
}

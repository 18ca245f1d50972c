/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows sql: SQL on a store, answered as a table for people, as CSV or as JSON for programs. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/show.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"
#include "narrows/csv.h"
#include "narrows/jsontext.h"
#include "narrows/sql.h"
#include "narrows/format.h"
#include "narrows/hex.h"
#include "narrows/utf8.h"

enum {
	HELD_ROWS = 200, /* rows of a table before the widths of its columns are fixed */
	TABLE_CELL_CHARS = 80
};

enum form { FORM_TABLE, FORM_CSV, FORM_JSON };

struct out {
	enum form form;
	bool header;
	size_t n; /* columns */
	size_t *width;
	char **held; /* [n_held][n] cells as printed; the first row is the names */
	size_t n_held;
	bool flowing; /* the widths are fixed */
};

static struct store_sql *running;

static void
on_interrupt(int sig)
{
	(void)sig;
	if (running != NULL)
		store_sql_interrupt(running);
}

/* --- cells --- */

/* A cell as text; free() the text. */
static char *
cell_text(const struct store_cell *c, const char *null)
{
	char *s;

	switch (c->type) {
	case CELL_INT: return xstrdup(fmt_int(c->i).s);
	case CELL_REAL: return xstrdup(fmt_exact(c->d).s);
	case CELL_TEXT: return xstrdup(c->bytes);
	case CELL_BLOB:
		s = xreallocarray(NULL, c->len + 1, 2);
		nw_hex_put(s, c->bytes, c->len);
		return s;
	case CELL_NULL: break;
	}
	return xstrdup(null);
}

static bool
starts_char(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static size_t
count_chars(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += starts_char(*s);
	return n;
}

/* Text for a terminal: one line, cut to TABLE_CELL_CHARS, without control bytes of a peer. Frees
 * s. */
static char *
tame(char *s)
{
	char *shown = xstrdup(terminal_text(s)), *p;
	size_t n = 0;

	for (p = shown; *p != '\0'; p++)
		if (starts_char(*p) && n++ == TABLE_CELL_CHARS)
			break;
	*p = '\0';
	free(s);
	return shown;
}

/* --- forms --- */

static void
table_line(const struct out *o, char *const *cell)
{
	size_t i, n;

	for (i = 0; i < o->n; i++) {
		n = count_chars(cell[i]);
		printf("%s%s", i == 0 ? "" : "  ", cell[i]);
		if (i + 1 < o->n && n < o->width[i])
			printf("%*s", (int)(o->width[i] - n), "");
	}
	putchar('\n');
}

static void
table_flush(struct out *o)
{
	size_t i, k, n;

	for (k = 0; k < o->n_held; k++)
		for (i = 0; i < o->n; i++)
			if ((n = count_chars(o->held[k * o->n + i])) > o->width[i])
				o->width[i] = n;
	for (k = 0; k < o->n_held; k++) {
		table_line(o, o->held + k * o->n);
		for (i = 0; i < o->n; i++)
			free(o->held[k * o->n + i]);
	}
	o->n_held = 0;
	o->flowing = true;
}

static void
table_begin(struct out *o, size_t n)
{
	table_flush(o);
	o->n = n;
	o->width = xreallocarray(o->width, n, sizeof(*o->width));
	memset(o->width, 0, n * sizeof(*o->width));
	o->held = xreallocarray(o->held, n * (HELD_ROWS + 1), sizeof(*o->held));
	o->flowing = false;
}

static void
table_row(struct out *o, const char *const *names, const struct store_cell *cells)
{
	char **at = o->held + o->n_held++ * o->n;
	size_t i;

	for (i = 0; i < o->n; i++)
		at[i] = tame(cells == NULL ? xstrdup(names[i]) : cell_text(&cells[i], "-"));
	if (o->flowing || o->n_held > HELD_ROWS)
		table_flush(o);
}

static void
csv_row(size_t n, const char *const *names, const struct store_cell *cells)
{
	size_t i;
	char *s;

	for (i = 0; i < n; i++) {
		s = cells == NULL ? xstrdup(names[i]) : cell_text(&cells[i], "");
		if (i > 0)
			putchar(',');
		csv_cell(stdout, s, 0);
		free(s);
	}
	putchar('\n');
}

/* A text that is not UTF-8 has no form in JSON: null. */
static void
print_json(const char *s)
{
	size_t len = strlen(s), i, n;

	for (i = 0; i < len; i += n)
		if ((n = utf8_length(s + i, len - i)) == 0) {
			fputs("null", stdout);
			return;
		}
	jsontext_put(stdout, s, len);
}

static void
json_row(size_t n, const char *const *names, const struct store_cell *cells)
{
	size_t i;
	char *s;

	for (i = 0; i < n; i++) {
		putchar(i == 0 ? '{' : ',');
		print_json(names[i]);
		putchar(':');
		s = cell_text(&cells[i], "null");
		if (cells[i].type == CELL_TEXT || cells[i].type == CELL_BLOB)
			print_json(s);
		else if (cells[i].type == CELL_REAL && isinf(cells[i].d))
			/* JSON readers take 1e999 for infinity */
			fputs(cells[i].d > 0 ? "1e999" : "-1e999", stdout);
		else
			fputs(s, stdout);
		free(s);
	}
	puts("}");
}

static int
on_row(void *arg, size_t n, const char *const *names, const struct store_cell *cells)
{
	struct out *o = arg;

	switch (o->form) {
	case FORM_TABLE:
		if (cells == NULL)
			table_begin(o, n);
		table_row(o, names, cells);
		break;
	case FORM_CSV:
		if (cells != NULL || o->header)
			csv_row(n, names, cells);
		break;
	case FORM_JSON:
		if (cells != NULL)
			json_row(n, names, cells);
		break;
	}
	return ferror(stdout);
}

/* --- statements --- */

static int
run(struct out *o, const char *text)
{
	char why[STORE_WHY_BYTES];
	int rc = store_sql_run(running, text, on_row, o, why);

	if (o->form == FORM_TABLE)
		table_flush(o);
	fflush(stdout);
	if (rc < 0 && !ferror(stdout))
		fprintf(stderr, "narrows: %s\n", why);
	return rc < 0 || ferror(stdout) ? -1 : 0;
}

/* Runs statement by statement as input arrives, since a pipe or a person may wait for each
 * answer. */
static int
run_stdin(struct out *o)
{
	bool person = isatty(STDIN_FILENO);
	char *line = NULL, *text = xstrdup("");
	size_t cap = 0, len = 0;
	ssize_t got;
	int rc = 0;

	while ((rc == 0 || person) && (got = getline(&line, &cap, stdin)) > 0) {
		text = xreallocarray(text, len + (size_t)got + 1, 1);
		memcpy(text + len, line, (size_t)got + 1);
		len += (size_t)got;
		if (store_sql_complete(text)) {
			rc = run(o, text);
			text[len = 0] = '\0';
		}
	}
	if ((rc == 0 || person) && text[strspn(text, " \t\r\n")] != '\0')
		rc = run(o, text);
	free(line);
	free(text);
	return rc;
}

static int
sql_run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "csv", no_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' }, { "header", no_argument, NULL, 'H' },
		{ NULL, 0, NULL, 0 } };
	/* no SA_RESTART: SIGINT ends the wait for a line, too */
	struct sigaction on_int = { .sa_handler = on_interrupt };
	struct out o = { .form = FORM_TABLE };
	char why[STORE_WHY_BYTES], *path;
	int ch, rc;

	while ((ch = getopt_long(argc, argv, "cjH", longs, NULL)) != -1)
		switch (ch) {
		case 'c': o.form = FORM_CSV; break;
		case 'j': o.form = FORM_JSON; break;
		case 'H': o.header = true; break;
		default: return command_misused(env->command);
		}
	if (argc - optind > 1)
		return command_misused(env->command);
	path = xasprintf("%s/narrows.db", env->state_dir);
	if ((rc = store_sql_open(path, &running, why)) < 0)
		fprintf(stderr, "narrows: %s: %s\n", path, why);
	else {
		sigaction(SIGINT, &on_int, NULL);
		rc = optind < argc ? run(&o, argv[optind]) : run_stdin(&o);
		signal(SIGINT, SIG_DFL);
		store_sql_close(running);
		running = NULL;
	}
	free(path);
	free(o.width);
	free(o.held);
	return rc < 0;
}

const struct command command_sql = {
	.name = "sql",
	.summary = "SQL on everything there is, samples included",
	.usage = "[--csv [--header] | --json] [QUERY]     (without QUERY: from standard input)",
	.help = "  -c, --csv      CSV\n"
		"  -H, --header   CSV: the first line has the names\n"
		"  -j, --json     one JSON object a line\n"
		"\".schema\" of sqlite3 shows the tables; the views v_session, v_verdict, "
		"v_series, v_host and "
		"v_sample stay the same from version to version.\n",
	.needs = NEEDS_STATE_DIR,
	.run = sql_run,
};

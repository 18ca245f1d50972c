/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows export: everything measured for a session, in any shape of the report. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "narrows/progress.h"
#include "cli/last.h"
#include "cli/query.h"
#include "cli/source.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"
#include "narrows/event_line.h"
#include "narrows/export.h"
#include "narrows/ownfile.h"
#include "narrows/terminal.h"

static const struct format {
	const char *name, *ending, *shape;
} formats[] = { { "tidy", ".csv", "tidy" }, { "wide", ".csv", "wide" }, { "keys", ".csv", "keys" },
	{ "keys-long", ".csv", "keys-long" }, { "ndjson", ".ndjson", "ndjson" },
	{ "influx", ".lp", "influx" }, { "bson", ".bson", "bson" }, { "g1", ".bson", "g1" },
	{ "g2", ".bson", "g2" }, { "g3", ".bson", "g3" }, { "g0", ".log", "g0" },
	{ "nmwg", ".xml", "nmwg" },
#define X(id, name) { #name, ".log", #name },
	NW_EVENT_FORMAT_LIST(X)
#undef X
};

struct request {
	const struct format *format;
	char *query;
	const char *path; /* NULL: standard output */
};

struct output {
	FILE *f;
	struct progress progress;
	bool is_csv, quoted; /* a terminal shows no line's end that stands within quotes */
};

/* A reader that has left, as head(1) does, ends this command as any filter: without a word. */
static void
end_by_broken_pipe(void)
{
	if (errno != EPIPE)
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

static int
output_write(void *arg, const char *text, size_t len)
{
	struct output *o = arg;
	size_t i;

	progress_add(&o->progress, len);
	if (!terminal_shows(o->f) || !o->is_csv) {
		if (fwrite(text, 1, len, o->f) == len)
			return NW_OK;
		end_by_broken_pipe();
		return NW_EIO;
	}
	for (i = 0; i < len; i++) {
		o->quoted ^= text[i] == '"';
		putc(o->quoted && iscntrl((unsigned char)text[i]) ? '?' : text[i], o->f);
	}
	return ferror(o->f) ? NW_EIO : NW_OK;
}

static int
export_into(struct source *s, int64_t id, const struct request *r, FILE *f)
{
	struct output o = { .f = f, .is_csv = strcmp(r->format->ending, ".csv") == 0 };
	int rc;

	progress_begin(&o.progress, "narrows export", 0, f == stdout && isatty(STDOUT_FILENO));
	rc = source_export(s, id, r->format->ending, r->query, output_write, &o);
	progress_end(&o.progress);
	return rc;
}

/* Writes a file beside the target and renames it, so a broken export leaves the target alone. */
static int
export_to_file(struct source *s, int64_t id, const struct request *r)
{
	char *tmp = xasprintf("%s.part", r->path);
	FILE *f = ownfile_stream(tmp, 0666);
	int rc = NW_EIO;

	if (f != NULL) {
		rc = export_into(s, id, r, f);
		if (fclose(f) != 0)
			rc = rc < 0 ? rc : NW_EIO;
		if (rc == NW_OK && rename(tmp, r->path) != 0)
			rc = NW_EIO;
		if (rc < 0)
			unlink(tmp);
	}
	if (rc == NW_EIO)
		fprintf(stderr, "narrows: %s: %s\n", r->path, strerror(errno));
	free(tmp);
	return rc;
}

static const struct format *
format_named(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	fprintf(stderr, "narrows: export: %s: no such format\n", name);
	return NULL;
}

/* Returns 0, or the exit status after a message. */
static int
request_parse(const struct command *self, struct request *r, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "format", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ "csv", required_argument, NULL, 'o' },
		{ "series", required_argument, NULL, 's' },
		{ "from", required_argument, NULL, 'F' },
		{ "to", required_argument, NULL, 'T' },
		{ "resolution", required_argument, NULL, 'r' },
		{ "eol", required_argument, NULL, 'e' },
		{ "safe-text", no_argument, NULL, 'S' },
		{ NULL, 0, NULL, 0 },
	};
	struct export_opts opts;
	const char *why;
	int ch;

	r->format = &formats[0];
	while ((ch = getopt_long(argc, argv, "c:f:o:r:s:", longs, NULL)) != -1) {
		switch (ch) {
		case 'c':
		case 'o': r->path = optarg; break;
		case 'f':
			if ((r->format = format_named(optarg)) == NULL)
				return COMMAND_MISUSED;
			break;
		case 's': query_add(&r->query, "series", optarg); break;
		case 'F': query_add(&r->query, "from", optarg); break;
		case 'T': query_add(&r->query, "to", optarg); break;
		case 'r': query_add(&r->query, "resolution", optarg); break;
		case 'e': query_add(&r->query, "eol", optarg); break;
		case 'S': query_add(&r->query, "safe", "1"); break;
		default: return command_misused(self);
		}
	}
	if (optind + 1 != argc)
		return command_misused(self);
	query_add(&r->query, "shape", r->format->shape);
	if (export_opts_parse(&opts, r->format->ending, r->query, &why) < 0) {
		fprintf(stderr, "narrows: export: %s\n", why);
		return COMMAND_MISUSED;
	}
	return 0;
}

static int
export_run(struct source *s, const char *session, const struct request *r)
{
	int64_t id;
	int rc;

	if ((rc = last_or_number(s, session, &id)) == NW_OK) {
		if (r->path != NULL && strcmp(r->path, "-") != 0)
			rc = export_to_file(s, id, r);
		else if ((rc = export_into(s, id, r, stdout)) == NW_OK && fflush(stdout) != 0) {
			end_by_broken_pipe();
			rc = NW_EIO;
		}
	}
	return rc == NW_EINVAL ? COMMAND_MISUSED : rc < 0 ? COMMAND_FAILED : 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct request r = { 0 };
	int status = request_parse(env->command, &r, argc, argv);

	if (status == 0)
		status = export_run(env->source, argv[optind], &r);
	free(r.query);
	return status;
}

const struct command command_export = {
	.name = "export",
	.summary = "everything measured for a session, as CSV and other tables",
	.usage = "[OPTION ...] ID        (ID: a number, or \"last\")",
	.help =
	    "  -f, --format FORMAT   tidy       one value per line (the default)\n"
	    "                        wide       one row per time step, one column per series\n"
	    "                        keys       key,timestamp,value\n"
	    "                        keys-long  key,type,subject,param,timestamp,value\n"
	    "                        ndjson     the canonical documents, one JSON object per line\n"
	    "                        influx     InfluxDB line protocol, nanoseconds\n"
	    "                        bson       documents as they were sent, in BSON, each in its "
	    "generation\n"
	    "                        g1, g2, g3 the same, all in one generation\n"
	    "                        g0         rows as text of the generation of January 2011\n"
	    "                        nmwg       a store file of NM-WG, perfSONAR's XML\n"
	    "                        bp, ulm, common   its events, as lines of NetLogger's BP or "
	    "ULM, "
	    "or of the common format\n"
	    "  -o, --output FILE     write FILE instead of standard output, whole or not at all\n"
	    "  -c, --csv FILE        the same\n"
	    "  -s, --series PREFIX   only event types that start so; of events a name, or a "
	    "beginning "
	    "and *\n"
	    "      --from T --to T   only values from T, and before T: 2026-11-20T08:12:11.25Z, or "
	    "ns since 1970\n"
	    "  -r, --resolution STEP a row for each 250ms, 1min, ... up to 24h; else rows as they "
	    "came, but wide: 1s\n"
	    "      --eol crlf        CSV: line ends as RFC 4180 has them\n"
	    "      --safe-text       CSV: ' before text that a spreadsheet would take for a "
	    "formula (= + - @ TAB CR)\n"
	    "wide: a row is for t_ns <= t < t_ns + STEP, t_ns a multiple of STEP since 1970; a "
	    "cell is the last value in it as\n"
	    "measured, empty if there is none; steps without any value have no row.\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};

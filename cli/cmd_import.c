/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows import: files of other programs, and exported files, into a box. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/import/import.h"
#include "narrows/progress.h"
#include "narrows/result.h"
#include "cli/source.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

struct arguments {
	const char *format, *session, *host, *box, *file;
	bool check;
};

/* --- the file --- */

struct file {
	char *bytes;
	size_t len;
	bool mapped;
};

static bool
is_packed(const char *path)
{
	static const char *const ends[] = { ".gz", ".xz", ".zst" };
	size_t i, n = strlen(path);

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (n > strlen(ends[i]) && strcmp(path + n - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

static int
file_map(struct file *f, int fd, size_t len, const char *path, struct stat_error *err)
{
	void *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		return stat_fail(err, NW_EIO, "%s: %s", path, strerror(errno));
	madvise(map, len, MADV_SEQUENTIAL);
	*f = (struct file){ map, len, true };
	return NW_OK;
}

/* Maps a copy, in a temporary file, of a pipe or of what a packed file holds. */
static int
copy_open(struct file *f, const char *path, struct stat_error *err)
{
	FILE *copy = tmpfile();
	struct stat st;
	int rc;

	if (copy == NULL)
		return stat_fail(err, NW_EIO, "temporary file: %s", strerror(errno));
	if ((rc = stat_file_copy(path, copy, err)) == NW_OK && fstat(fileno(copy), &st) != 0)
		rc = stat_fail(err, NW_EIO, "temporary file: %s", strerror(errno));
	if (rc == NW_OK && st.st_size > 0)
		rc = file_map(f, fileno(copy), (size_t)st.st_size, path, err);
	else if (rc == NW_OK && (f->bytes = calloc(1, 1)) == NULL)
		rc = NW_ENOMEM;
	fclose(copy);
	return rc;
}

/* Maps a file of any size: pages that were read need no memory of their own. */
static int
file_open(struct file *f, const char *path, struct stat_error *err)
{
	struct stat st;
	int fd, rc;

	if (strcmp(path, "-") == 0 || is_packed(path))
		return copy_open(f, path, err);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 || fstat(fd, &st) != 0) {
		stat_fail(err, NW_EIO, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return NW_EIO;
	}
	rc = S_ISREG(st.st_mode) && st.st_size > 0 ? file_map(f, fd, (size_t)st.st_size, path, err)
						   : copy_open(f, path, err);
	close(fd);
	return rc;
}

static void
file_close(struct file *f)
{
	if (f->mapped)
		munmap(f->bytes, f->len);
	else
		free(f->bytes);
}

/* --- where to --- */

/* The XSP address of the box of the directory; NULL where no box runs. A killed box leaves its
 * run file behind. */
static char *
box_of(const char *state_dir)
{
	char *xsp = NULL;

	if (source_box_runs(state_dir) && (xsp = source_run_value(state_dir, "xsp")) != NULL)
		xsp[strcspn(xsp, " ,")] = '\0';
	return xsp;
}

/* The box's count of refused documents; -1 where the box does not tell. */
static int64_t
box_rejected(const char *state_dir)
{
	char *url = source_run_value(state_dir, "http"), *text;
	struct source *s = url != NULL && *url != '\0' ? source_open(state_dir, url) : NULL;
	const json_t *count;
	json_t *doc = NULL;
	int64_t n = -1;
	int status;

	if (s != NULL && (text = source_health(s, &status)) != NULL) {
		doc = json_loads(text, 0, NULL);
		count = result_get(
		    result_get(doc, KEY_health_counters), KEY_counters_rejected_documents);
		n = json_is_integer(count) ? json_integer_value(count) : -1;
		json_decref(doc);
		free(text);
	}
	source_close(s);
	free(url);
	return n;
}

/* Sends the import to a box. An acknowledged document was stored or refused; only the box's
 * counter of refused documents tells the two apart. */
static int
send_to_box(struct import *im, const char *state_dir, const char *box, bool is_local,
    struct progress *p, struct import_done *done)
{
	int64_t before = is_local ? box_rejected(state_dir) : -1, after;
	int rc = import_to_box(im, box, p, done);

	if (rc < 0 || before < 0 || (after = box_rejected(state_dir)) <= before)
		return rc;
	return stat_fail(im->err, NW_ECONFLICT,
	    "%s: box %s refused %" PRId64 " documents meanwhile: read the reason in the box's log "
	    "(is max-series-per-session too low?)",
	    im->name, box, after - before);
}

static int
import_send(struct import *im, const char *state_dir, const char *box, struct import_done *done)
{
	char *at = box != NULL ? xstrdup(box) : box_of(state_dir), *path;
	struct progress p;
	int rc;

	progress_begin(&p, "narrows import", (uint64_t)ftello(im->spool), false);
	if (at != NULL)
		rc = send_to_box(im, state_dir, at, box == NULL, &p, done);
	else {
		path = xasprintf("%s/narrows.db", state_dir);
		mkdir(state_dir, 0750);
		rc = import_to_store(im, path, &p, done);
		free(path);
	}
	progress_end(&p);
	free(at);
	return rc;
}

/* Counts names: several senders may share a host. */
static size_t
hosts_count(const struct import *im)
{
	size_t i, k, n = 0;

	for (i = 0; i < im->n_hosts; i++) {
		for (k = 0; k < i && strcmp(im->hosts[k].name, im->hosts[i].name) != 0; k++)
			;
		n += k == i;
	}
	return n;
}

static void
say(const struct import *im, const struct arguments *a, const struct import_done *done)
{
	size_t n_series = HASH_COUNT(im->series), n_hosts = hosts_count(im), i;

	for (i = 0; i < im->n_hosts; i++)
		n_series += im->hosts[i].catalog.n_series;
	if (result_task_is_report(im->session)) {
		printf("a report as session %s%s\n", im->session,
		    a->check                            ? "; nothing imported"
			: done->n_known == done->n_docs ? "; the box had it already"
							: "");
		return;
	}
	printf("%" PRIu64 " values in %zu series of %zu host%s", im->n_values, n_series, n_hosts,
	    n_hosts == 1 ? "" : "s");
	if (im->n_events > 0)
		printf(", %" PRIu64 " events", im->n_events);
	if (im->session != NULL)
		printf(", session %s", im->session);
	if (im->n_bad_lines > 0)
		printf("; %" PRIu64 " lines are no events, the first at %s", im->n_bad_lines,
		    im->bad_line);
	if (im->n_left_out > 0)
		printf("; %" PRIu64 " infinite or NaN values left out", im->n_left_out);
	if (a->check)
		fputs("; nothing imported", stdout);
	else if (done->n_known == done->n_docs)
		fputs("; the box had all of them already", stdout);
	else if (done->n_known > 0)
		fputs("; the box had a part of them already", stdout);
	putchar('\n');
}

static bool
is_pscheduler(const struct import *im, const char *format)
{
	return format != NULL ? strcmp(format, "pscheduler") == 0 : import_is_pscheduler(im);
}

/* Active tests are rows of the store, whether its box runs or not. */
static int
pscheduler_run(struct import *im, const struct arguments *a, const char *state_dir)
{
	char *path;
	int rc;

	if (a->box != NULL)
		return stat_fail(im->err, NW_EINVAL,
		    "tests go to the HTTP address of another box, path /pscheduler: curl -X PUT");
	path = xasprintf("%s/narrows.db", state_dir);
	rc = import_pscheduler(im, a->check ? NULL : path);
	free(path);
	return rc;
}

static int
series_run(struct import *im, const struct arguments *a, const char *state_dir)
{
	struct import_done done = { 0 };
	int rc = import_parse(im, a->format);

	if (rc == NW_OK && !a->check)
		rc = import_send(im, state_dir, a->box, &done);
	if (rc == NW_OK)
		say(im, a, &done);
	return rc;
}

static int
import_run(const struct arguments *a, const char *state_dir)
{
	struct stat_error err = { "" };
	struct file f = { 0 };
	struct import im;
	char host[256] = "import";
	int rc;

	gethostname(host, sizeof(host) - 1);
	if ((rc = file_open(&f, a->file, &err)) == NW_OK) {
		import_init(&im, strcmp(a->file, "-") == 0 ? "stdin" : a->file, f.bytes, f.len,
		    a->session, a->host != NULL ? a->host : host, &err);
		im.released = f.mapped ? f.bytes : NULL;
		rc = is_pscheduler(&im, a->format) ? pscheduler_run(&im, a, state_dir)
						   : series_run(&im, a, state_dir);
		import_clear(&im);
		file_close(&f);
	}
	if (rc < 0)
		fprintf(stderr, "narrows: %s\n", err.text[0] != '\0' ? err.text : nw_strerror(rc));
	return rc == NW_OK ? 0 : rc == NW_EPROTO ? 2 : 1;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "format", required_argument, NULL, 'f' },
		{ "session", required_argument, NULL, 'n' },
		{ "host", required_argument, NULL, 'H' },
		{ "box", required_argument, NULL, 'b' },
		{ "check", no_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	struct arguments a = { 0 };
	int ch;

	while ((ch = getopt_long(argc, argv, "b:cf:H:n:", longs, NULL)) != -1) {
		switch (ch) {
		case 'b': a.box = optarg; break;
		case 'c': a.check = true; break;
		case 'f': a.format = optarg; break;
		case 'H': a.host = optarg; break;
		case 'n': a.session = *optarg != '\0' ? optarg : NULL; break;
		default: return command_misused(env->command);
		}
	}
	if (optind + 1 != argc)
		return command_misused(env->command);
	a.file = argv[optind];
	return import_run(&a, env->state_dir);
}

const struct command command_import = {
	.name = "import",
	.summary = "files that were exported, or that others recorded",
	.usage = "[OPTION ...] FILE      (\"-\": standard input; .gz, .xz and .zst are unpacked)",
	.help = "  -f, --format FORMAT   format of the file; if not given, its first line tells:\n"
		"                        tidy wide keys keys-long ndjson influx   as narrows "
		"export writes them\n"
		"                        sadf      sar's records: sadf -j\n"
		"                        ulm, bp   NetLogger lines, GridFTP's transfer lines\n"
		"                        bson      documents of any generation, as exported or "
		"recorded\n"
		"                        g0        text of GridFTP's first XSP driver\n"
		"                        nmwg      perfSONAR's XML: data and store files\n"
		"                        pscheduler   results of active tests, as its archivers "
		"get them\n"
		"                        report    what narrows report --html wrote: its verdict "
		"as made\n"
		"  -n, --session NAME    all of it belongs to this session. Else to the one its "
		"task_id names, else to one named\n"
		"                        like the file; sadf's records belong to their host\n"
		"  -H, --host NAME       host of records without a host (default: this host)\n"
		"  -b, --box HOST/PORT   the box to send to, where it takes XSP (default: the one "
		"of the state directory;\n"
		"                        where none runs, its store is written directly)\n"
		"  -c, --check           read the file, count its contents, and stop\n"
		"The whole file is read and checked before anything is sent. The same file twice "
		"is the same as once.\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};

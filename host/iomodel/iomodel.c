/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iomodel: times single accesses to a file, in cells of size, layout, state of the page cache and
 * direction, as the input of models that tell where the data of an operation came from.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/iomodel/io_baseline.h"
#include "host/iomodel/cell.h"
#include "host/iomodel/durations.h"
#include "host/iomodel/matrix.h"
#include "narrows/err.h"
#include "narrows/progwords.h"
#include "narrows/terminal.h"

enum { EXIT_USAGE = 2 };

static int
fail(const char *format, ...)
{
	va_list ap;

	fputs("iomodel: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

static int
usage(int status)
{
	fputs(
	    "usage: iomodel run [OPTION ...] FOLDER FILE\n"
	    "       iomodel matrix [-q] [-R REPEATS] [OPTION ...] FOLDER FILE\n"
	    "       iomodel baseline [-q] [-b BOX] [-N CLASS=NAME] [OPTION ...] FOLDER FILE\n"
	    "       iomodel table [-c] FOLDER\n"
	    "  -r, -w     read (default), write\n"
	    "  -a BYTES   size of an access (4096)\n"
	    "  -l WORD    layout in the file: off0 seq rnd rndX strideX strideX,Y reverseX (seq)\n"
	    "  -m WORD    layout in memory (off0)\n"
	    "  -s STATE   as-is, cached, uncached or discard (as-is)\n"
	    "  -i CALL    pread, lseek, mmap or uring (pread)\n"
	    "  -D         O_DIRECT          -y   fdatasync after each write, timed with it\n"
	    "  -F BYTES   length of the file (256MiB)     -M BYTES   of the memory (64MiB)\n"
	    "  -n COUNT   accesses at most (10000)        -t SECONDS at most\n"
	    "  -j COUNT   threads (1)       -S SEED       -d DEVICE  for stats-0.csv, as sda\n"
	    "  -C         timing and files of the first benchmark (io-model)\n",
	    status == 0 ? stdout : stderr);
	return status;
}

static bool
number_take(const char *text, double min, double max, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && *end == '\0' && *out >= min && *out <= max;
}

/* Whether the host has the block device. */
static bool
is_device(const char *name)
{
	char path[96];

	if (name[0] == '\0' || strchr(name, '/') != NULL || strlen(name) > 60)
		return false;
	snprintf(path, sizeof(path), "/sys/class/block/%.60s/stat", name);
	return access(path, R_OK) == 0;
}

/* An option of a cell. Returns false for a faulty value. */
static bool
option_take(struct cell *c, int o, const char *value)
{
	double v;
	bool ok;

	switch (o) {
	case 'r': c->write = false; return true;
	case 'w': c->write = true; return true;
	case 'D': c->direct = true; return true;
	case 'y': c->sync_each = true; return true;
	case 'C':
		c->compat = true;
		c->call = CALL_LSEEK;
		return true;
	case 'a': return bytes_parse(value, &c->access_bytes) && c->access_bytes > 0;
	case 'F': return bytes_parse(value, &c->file_bytes) && c->file_bytes > 0;
	case 'M': return bytes_parse(value, &c->memory_bytes) && c->memory_bytes > 0;
	case 'l': return layout_parse(value, &c->file_layout) == NW_OK;
	case 'm': return layout_parse(value, &c->memory_layout) == NW_OK;
	case 's': return state_parse(value, &c->state) == NW_OK;
	case 'i': return call_parse(value, &c->call) == NW_OK;
	case 'd': c->device = value; return is_device(value);
	case 'n':
		ok = number_take(value, 1, 1e9, &v);
		c->n_ops = (uint64_t)v;
		return ok;
	case 't': ok = number_take(value, 0.001, 1e6, &c->seconds); return ok;
	case 'j':
		ok = number_take(value, 1, 256, &v);
		c->threads = (unsigned)v;
		return ok;
	case 'S':
		ok = number_take(value, 0, 9e15, &v);
		c->seed = (uint64_t)v;
		return ok;
	default: return false;
	}
}

/* Prints the durations below which 50, 90 and 99 % of the operations are. */
static void
percentiles_print(const struct cell *c)
{
	static const double shares[] = { 0.5, 0.9, 0.99 };
	struct durations *d = calloc(1, sizeof(*d));
	double low = 0, high = 0;
	uint64_t below = 0;
	uint32_t i = 0;
	size_t k;

	if (d != NULL && durations_add(d, c->folder, KEEP_ALL) == NW_OK && d->n > 0)
		for (k = 0; k < sizeof(shares) / sizeof(shares[0]); k++) {
			for (; i < NW_HIST_BUCKETS && (double)below < shares[k] * (double)d->n;
			     i++) {
				below += d->counts[i];
				nw_hist_bounds(i, &low, &high);
			}
			printf("%s%.0f %% below %.4g us", k == 0 ? "" : ", ", 100 * shares[k],
			    high / 1e3);
		}
	if (d != NULL && d->n > 0)
		putchar('\n');
	free(d);
}

/* Creates the folders above the cell's. */
static void
parents_make(const char *folder)
{
	char path[4096];
	size_t i;

	for (i = 1; folder[i] != '\0' && i < sizeof(path); i++)
		if (folder[i] == '/') {
			snprintf(path, sizeof(path), "%.*s", (int)i, folder);
			(void)mkdir(path, 0755); /* a failure shows at the cell's own folder */
		}
}

static int
run_command(const struct cell *c)
{
	struct cell_result r;
	char why[CELL_WHY_BYTES];

	parents_make(c->folder);
	if (cell_is_done(c))
		fprintf(stderr, "iomodel: %s: replacing a finished cell\n", c->folder);
	if (cell_run(c, &r, why) < 0)
		return fail("%s", why);
	printf("%" PRIu64 " operations in %.3f s, mean %.4g us, %.4g MB/s", r.n_ops, r.runtime_s,
	    r.moving_s / (double)r.n_ops * 1e6, (double)r.bytes / r.moving_s * c->threads / 1e6);
	if (!isnan(r.cached_ops))
		printf(", %.1f %% from the page cache", 100 * r.cached_ops);
	printf(", %" PRIu64 " errors\n", r.errors);
	if (!c->compat) /* whose last row is no operation */
		percentiles_print(c);
	return r.errors > 0;
}

struct command_line {
	struct cell cell;
	struct matrix_opts matrix;
	struct baseline_opts baseline;
	bool csv, size_given;
};

/* Takes an option of a command. Returns false for an option of a cell. */
static bool
command_option_take(struct command_line *l, int o, const char *value)
{
	double v;

	if (o == 'q')
		l->matrix.quick = l->baseline.quick = true;
	else if (o == 'c')
		l->csv = true;
	else if (o == 'b')
		l->baseline.box = value;
	else if (o == 'R' && number_take(value, 1, 100, &v))
		l->matrix.repeats = (unsigned)v;
	else if (o == 'N' && baseline_name_is_valid(value) &&
	    l->baseline.n_names < BASELINE_NAMES_MAX)
		l->baseline.name[l->baseline.n_names++] = value;
	else
		return false;
	return true;
}

static int
command_run(const char *command, const struct command_line *l)
{
	if (strcmp(command, "run") == 0)
		return run_command(&l->cell);
	if (strcmp(command, "matrix") == 0 && !l->size_given)
		return matrix_run(&l->cell, &l->matrix);
	if (strcmp(command, "baseline") == 0 && !l->size_given)
		return baseline_run(&l->cell, &l->baseline);
	return usage(EXIT_USAGE);
}

/* Whether the file is there or can be created; errno says why not. Asked before any cell runs. */
static bool
file_can_be(const char *file)
{
	char parent[4096];
	const char *slash = strrchr(file, '/');

	if (access(file, R_OK) == 0 || errno != ENOENT)
		return access(file, R_OK) == 0;
	snprintf(parent, sizeof(parent), "%.*s", slash == NULL ? 1 : (int)(slash - file) + 1,
	    slash == NULL ? "." : file);
	return access(parent, W_OK) == 0;
}

int
main(int argc, char **argv)
{
	struct command_line l = { .matrix.repeats = 3, .cell = cell_default };
	const char *command;
	int o;

	terminal_guard();
	if (nw_program_words(argc, argv, "iomodel"))
		return 0;
	command = argc > 1 ? argv[1] : "";
	if (strcmp(command, "-h") == 0 || strcmp(command, "help") == 0)
		return usage(0);
	if (argc < 2)
		return usage(EXIT_USAGE);
	optind = 2;
	while ((o = getopt(argc, argv, "hrwDyCqca:F:M:l:m:s:i:d:n:t:j:S:R:b:N:")) != -1) {
		if (o == 'h' || o == '?')
			return usage(o == 'h' ? 0 : EXIT_USAGE);
		if (!command_option_take(&l, o, optarg) && !option_take(&l.cell, o, optarg))
			return fail("-%c does not take \"%s\"", o, optarg), EXIT_USAGE;
		l.size_given |= o == 'a';
	}
	if (strcmp(command, "table") == 0 && argc - optind == 1)
		return matrix_table(argv[optind], l.csv);
	if (argc - optind != 2)
		return usage(EXIT_USAGE);
	l.cell.folder = argv[optind];
	l.cell.file = argv[optind + 1];
	if (!file_can_be(l.cell.file))
		return fail("%s: %s", l.cell.file, strerror(errno));
	return command_run(command, &l);
}

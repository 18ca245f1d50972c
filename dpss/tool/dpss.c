/* SPDX-License-Identifier: BSD-3-Clause */
/* dpss: files into the storage system and out again, and what an operator asks of a master. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpss/set_layout.h"
#include "dpss/option.h"
#include "narrows/address.h"
#include "narrows/dpss.h"
#include "narrows/err.h"
#include "narrows/progress.h"
#include "narrows/progwords.h"
#include "narrows/terminal.h"

enum {
	EXIT_USAGE = 2,
	BLOCK_BYTES = 64 << 10,
	AHEAD = 128,
	WAIT_MS = 30000,
	SERVERS_MAX = 255,
	DROPS_TOLD = 20
};

struct context {
	struct dpss_opts opts;
	struct dpss_layout layout;
	uint32_t wished[SERVERS_MAX]; /* servers for first copies, in turn */
	size_t n_wished;
	double rate; /* blocks per second of a recording; 0: as fast as can be */
	char why[DPSS_WHY_BYTES];
};

#define OPTION_ARG(name, least, most, usual, option, arg, words)   " [-" option " " arg "]"
#define OPTION_WORDS(name, least, most, usual, option, arg, words) "-" option ": " words ".\n"
#define OPTION_LETTER(name, least, most, usual, option, ...)       option ":"
#define LAYOUT_ARGUMENTS                                           DPSS_LAYOUT(OPTION_ARG)
#define LAYOUT_WORDS                                               DPSS_LAYOUT(OPTION_WORDS)

static int
usage(int status)
{
	fputs("usage: dpss [-m HOST/PORT] [-T TLS_DIR] [-L LOG] COMMAND ...\n"
	      "  sets                             data sets that you may use\n"
	      "  servers                          servers, and how full they are\n"
	      "  load [-b BYTES]" LAYOUT_ARGUMENTS " [-w ID,...] FILE SET\n"
	      "                                   a file into a new set\n"
	      "  record [-r BLOCKS_PER_S] SET BLOCKS\n"
	      "                                   standard input into a new set, as blocks come\n"
	      "  unload SET FILE                  a set into a new file; \"-\": standard output\n"
	      "  verify SET                       reads every block; lists lost blocks\n"
	      "  drop SET                         forgets a set\n"
	      "  allow SET USER none|read|write   who else may use it; \"*\": all users\n"
	      "at the master's own machine:\n"
	      "  server-add HOST/PORT SECRET_FILE makes a server known\n"
	      "  server-drain ID                  moves all blocks away, alive or dead\n"
	      "  server-drop ID                   forgets a server without blocks\n"
	      "  repair                           stores damaged and missing copies anew\n"
	      "-m: the master (DPSS_MASTER, else 127.0.0.1/7071). -b: bytes of a block (64 KiB).\n"
	      "-w: servers for first copies, one after the other (declustered over "
	      "all).\n" LAYOUT_WORDS,
	    status == 0 ? stdout : stderr);
	return status;
}

static int
fail(const char *what, const char *why)
{
	fprintf(stderr, "dpss: %s%s%s\n", terminal_text(what), *why != '\0' ? ": " : "",
	    terminal_text(why));
	return 1;
}

/* --- lists --- */

static int
run_sets(struct context *c, char **args)
{
	struct dpss_set *all;
	size_t n, i, k;
	int rc = dpss_list(&c->opts, &all, &n, c->why);

	(void)args;
	if (rc != NW_OK)
		return fail("sets", c->why);
	printf("%-24s %12s %10s %10s", "set", "bytes", "block", "blocks");
	for (k = 0; k < LAYOUT_ROWS; k++)
		printf(" %6s", layout_rows[k].name);
	printf(" %-8s %s\n", "state", "owner");
	for (i = 0; i < n; i++) {
		printf("%-24s %12" PRIu64 " %10" PRIu32 " %10" PRIu64, terminal_text(all[i].name),
		    all[i].layout.bytes, all[i].layout.block_bytes, all[i].blocks);
		for (k = 0; k < LAYOUT_ROWS; k++)
			printf(" %6u", *layout_value(&all[i].layout, k));
		printf(" %-8s %s\n", all[i].sealed ? "complete" : "partial",
		    terminal_text(all[i].owner));
	}
	free(all);
	return 0;
}

static int
run_servers(struct context *c, char **args)
{
	static const char *const states[] = { "away", "up", "draining" };
	struct dpss_server *all;
	size_t n, i;

	(void)args;
	if (dpss_server_list(&c->opts, &all, &n, c->why) != NW_OK)
		return fail("servers", c->why);
	printf(
	    "%4s %-32s %-9s %5s %12s %12s\n", "id", "address", "state", "disks", "slots", "used");
	for (i = 0; i < n; i++)
		printf("%4" PRIu32 " %.200s/%-*u %-9s %5" PRIu32 " %12" PRIu64 " %12" PRIu64 "\n",
		    all[i].id, terminal_text(all[i].host), (int)(31 - strnlen(all[i].host, 25)),
		    (unsigned)all[i].port, states[all[i].state < 3 ? all[i].state : 0],
		    all[i].disks, all[i].slots, all[i].used);
	free(all);
	return 0;
}

/* --- load --- */

static int
load_blocks(struct dpss *d, int fd, const char *file)
{
	uint64_t n = dpss_blocks(d), i;
	uint8_t *data = malloc(dpss_layout_of(d).block_bytes);
	struct progress shown;
	ssize_t got;
	uint32_t len;
	int rc = data != NULL ? NW_OK : NW_ENOMEM;

	progress_begin(&shown, "load", dpss_layout_of(d).bytes, false);
	for (i = 0; i < n && rc == NW_OK; i++) {
		len = dpss_block_len(d, i);
		got = pread(fd, data, len, (off_t)(i * dpss_layout_of(d).block_bytes));
		if (got != (ssize_t)len) {
			free(data);
			return fail(file, got < 0 ? strerror(errno) : "the file became shorter");
		}
		rc = dpss_write(d, i, data);
		progress_add(&shown, len);
	}
	free(data);
	if (rc == NW_OK)
		rc = dpss_finish(d);
	progress_end(&shown);
	return rc == NW_OK ? 0 : fail(file, *dpss_why(d) != '\0' ? dpss_why(d) : nw_strerror(rc));
}

/* --- record --- */

/* Runs of blocks of the input that were dropped. */
struct drops {
	uint64_t first, n, runs;
};

static void
drops_tell(struct drops *x)
{
	if (x->n > 0 && x->runs++ < DROPS_TOLD)
		fprintf(stderr, "dpss: blocks %" PRIu64 " to %" PRIu64 " of the input dropped\n",
		    x->first, x->first + x->n - 1);
	x->n = 0;
}

static int
tail_record(struct dpss_recorder *r, const uint8_t *data, size_t len)
{
	int rc = NW_OK;

	while (len > 0 && (rc = dpss_record_tail(r, data, (uint32_t)len)) == NW_EFULL)
		usleep(1000); /* nothing follows that could be late */
	return rc;
}

/* Blocks of the input, until its end or until the set is full; a block without a free buffer is
 * dropped. */
static int
input_record(struct context *c, struct dpss_recorder *r, uint8_t *data, FILE *in)
{
	struct drops dropped = { 0 };
	uint64_t block = 0;
	int rc = NW_OK;
	size_t len;

	for (; rc == NW_OK && (len = fread(data, 1, c->layout.block_bytes, in)) > 0; block++) {
		rc =
		    len == c->layout.block_bytes ? dpss_record(r, data) : tail_record(r, data, len);
		if (rc == NW_EFULL) {
			if (dropped.n++ == 0)
				dropped.first = block;
			usleep(1000); /* the input waits, if it can */
			rc = NW_OK;
		} else
			drops_tell(&dropped);
	}
	drops_tell(&dropped);
	if (dropped.runs > DROPS_TOLD)
		fprintf(
		    stderr, "dpss: and %" PRIu64 " more such gaps\n", dropped.runs - DROPS_TOLD);
	if (rc == NW_ETOOBIG)
		fprintf(stderr,
		    "dpss: the set is full: nothing from block %" PRIu64 " of the input on was "
		    "recorded; ask for more blocks\n",
		    block - 1);
	if (rc == NW_OK && ferror(in))
		rc = NW_EIO;
	return rc == NW_ETOOBIG ? NW_OK : rc;
}

static int
record_blocks(struct context *c, struct dpss *d, FILE *in)
{
	uint64_t written = 0, dropped = 0;
	struct dpss_recorder *r;
	uint8_t *data = malloc(c->layout.block_bytes);
	int rc = data != NULL ? NW_OK : NW_ENOMEM, end;

	if (rc == NW_OK && (rc = dpss_record_begin(d, c->rate, AHEAD, &r)) == NW_OK) {
		rc = input_record(c, r, data, in);
		end = dpss_record_end(r, &written, &dropped);
		rc = rc == NW_OK ? end : rc;
	}
	free(data);
	printf("%" PRIu64 " blocks recorded, %" PRIu64 " dropped\n", written, dropped);
	if (rc != NW_OK)
		return fail("record", *dpss_why(d) != '\0' ? dpss_why(d) : nw_strerror(rc));
	return dropped == 0 ? 0 : 1;
}

static int
run_record(struct context *c, char **args)
{
	struct dpss *d;
	uint64_t blocks;
	int status;

	if (!option_whole(args[1], 1, UINT64_C(1) << 40, &blocks))
		return usage(EXIT_USAGE);
	c->layout.bytes = blocks * c->layout.block_bytes;
	if (dpss_create(&c->opts, args[0], &c->layout, &d, c->why) != NW_OK)
		return fail(args[0], c->why);
	status = record_blocks(c, d, stdin);
	if (dpss_close(d) != NW_OK)
		status = fail("log", "events were lost");
	return status;
}

static int
run_load(struct context *c, char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC), status;
	struct dpss *d;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fail(args[0], fd < 0 ? strerror(errno) : "not a file");
	c->layout.bytes = (uint64_t)st.st_size;
	if (dpss_create(&c->opts, args[1], &c->layout, &d, c->why) != NW_OK) {
		close(fd);
		return fail(args[1], c->why);
	}
	status = load_blocks(d, fd, args[0]);
	if (status == 0 && dpss_copies_missed(d) > 0)
		fprintf(stderr,
		    "dpss: %s: %" PRIu64 " copies could not be stored; each block has another\n",
		    args[1], dpss_copies_missed(d));
	if (dpss_close(d) != NW_OK)
		status = fail("log", "events were lost");
	close(fd);
	return status;
}

/* --- unload, verify --- */

static int
open_set(struct context *c, const char *name, struct dpss **d)
{
	return dpss_open(&c->opts, name, d, c->why) == NW_OK ? 0 : fail(name, c->why);
}

static int
unload_blocks(struct dpss *d, int fd, const char *file)
{
	const void *data;
	uint64_t at = 0, bytes = dpss_layout_of(d).bytes;
	struct progress shown;
	size_t n;
	int rc = NW_OK;

	progress_begin(&shown, "unload", bytes, fd == 1);
	while (at < bytes && (rc = dpss_view(d, at, &data, &n)) == NW_OK) {
		if (write(fd, data, n) != (ssize_t)n)
			return fail(file, strerror(errno));
		at += n;
		progress_add(&shown, n);
	}
	progress_end(&shown);
	return rc == NW_OK ? 0 : fail(file, *dpss_why(d) != '\0' ? dpss_why(d) : nw_strerror(rc));
}

/* An incomplete file does not stay. */
static int
run_unload(struct context *c, char **args)
{
	bool to_stdout = strcmp(args[1], "-") == 0;
	struct dpss *d;
	int fd = 1, status;

	if ((status = open_set(c, args[0], &d)) != 0)
		return status;
	if (!to_stdout && (fd = open(args[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) < 0) {
		dpss_close(d);
		return fail(args[1], strerror(errno));
	}
	status = unload_blocks(d, fd, args[1]);
	dpss_close(d);
	if (!to_stdout && close(fd) < 0 && status == 0)
		status = fail(args[1], strerror(errno));
	if (!to_stdout && status != 0)
		unlink(args[1]);
	return status;
}

static int
verify_ask(struct dpss *d, uint64_t *next)
{
	uint64_t list[AHEAD];
	size_t n = 0;

	while (n < AHEAD && *next < dpss_blocks(d))
		list[n++] = (*next)++;
	return n > 0 ? dpss_request(d, list, n, NULL) : NW_OK;
}

static int
run_verify(struct context *c, char **args)
{
	uint64_t next = 0, good = 0, rebuilt = 0, lost = 0, n;
	struct progress shown;
	struct dpss_block b;
	struct dpss *d;
	int rc;

	if (open_set(c, args[0], &d) != 0)
		return 1;
	n = dpss_blocks(d);
	progress_begin(&shown, "verify", dpss_layout_of(d).bytes, false);
	for (rc = verify_ask(d, &next); good + lost < n && rc == NW_OK;) {
		if ((rc = dpss_next(d, WAIT_MS, &b)) != NW_OK)
			break;
		good += b.rc == NW_OK;
		rebuilt += b.rebuilt;
		lost += b.rc != NW_OK;
		if (b.rc != NW_OK)
			printf("block %" PRIu64 " is lost\n", b.logical);
		dpss_block_free(&b);
		if (dpss_pending(d) < AHEAD / 2)
			rc = verify_ask(d, &next);
		progress_add(&shown, b.len);
	}
	progress_end(&shown);
	if (rc != NW_OK)
		fail(args[0], *dpss_why(d) != '\0' ? dpss_why(d) : nw_strerror(rc));
	else
		printf("%s: %" PRIu64 " of %" PRIu64 " blocks are good, %" PRIu64
		       " of them computed from parity\n",
		    args[0], good, n, rebuilt);
	dpss_close(d);
	return rc == NW_OK && lost == 0 ? 0 : 1;
}

/* --- the rest --- */

static int
run_drop(struct context *c, char **args)
{
	return dpss_drop(&c->opts, args[0], c->why) == NW_OK ? 0 : fail(args[0], c->why);
}

static int
run_allow(struct context *c, char **args)
{
	static const char *const words[] = { "none", "read", "write" };
	uint8_t i;

	for (i = 0; i < 3 && strcmp(args[2], words[i]) != 0; i++)
		;
	if (i == 3)
		return usage(EXIT_USAGE);
	return dpss_allow(&c->opts, args[0], args[1], i, c->why) == NW_OK ? 0
									  : fail(args[0], c->why);
}

/* The secret comes from a file: an argument would stand in the list of processes. */
static int
run_server_add(struct context *c, char **args)
{
	char host[ADDRESS_HOST_BYTES], secret[128] = "";
	FILE *f = strcmp(args[1], "-") == 0 ? stdin : fopen(args[1], "re");
	uint16_t port;

	if (f == NULL || fgets(secret, sizeof(secret), f) == NULL)
		return fail(args[1], f == NULL ? strerror(errno) : "empty");
	if (f != stdin)
		fclose(f);
	secret[strcspn(secret, "\n")] = '\0';
	if (address_parse(args[0], host, &port) != NW_OK)
		return fail(args[0], "HOST/PORT is wanted");
	return dpss_server_add(&c->opts, host, port, secret, c->why) == NW_OK
	    ? 0
	    : fail(args[0], c->why);
}

static int
repair_all(struct context *c)
{
	uint64_t moved, lost, all_lost = 0;
	struct dpss_set *all;
	size_t n, i;
	int status = 0;

	if (dpss_list(&c->opts, &all, &n, c->why) != NW_OK)
		return fail("sets", c->why);
	for (i = 0; i < n && status == 0; i++) {
		if (!all[i].sealed)
			continue;
		if (dpss_repair(&c->opts, all[i].name, &moved, &lost, c->why) != NW_OK)
			status = fail(all[i].name, c->why);
		printf("%s: %" PRIu64 " copies stored anew, %" PRIu64 " lost\n",
		    terminal_text(all[i].name), moved, lost);
		all_lost += lost;
	}
	free(all);
	return status != 0 || all_lost > 0;
}

static int
run_repair(struct context *c, char **args)
{
	(void)args;
	return repair_all(c);
}

static bool
server_number(const char *text, uint32_t *out)
{
	uint64_t v;

	if (!option_whole(text, 1, UINT32_MAX - 1, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

static int
run_server_drain(struct context *c, char **args)
{
	uint32_t id;

	if (!server_number(args[0], &id))
		return usage(EXIT_USAGE);
	if (dpss_server_drain(&c->opts, id, c->why) != NW_OK)
		return fail(args[0], c->why);
	return repair_all(c);
}

static int
run_server_drop(struct context *c, char **args)
{
	uint32_t id;

	if (!server_number(args[0], &id))
		return usage(EXIT_USAGE);
	return dpss_server_drop(&c->opts, id, c->why) == NW_OK ? 0 : fail(args[0], c->why);
}

static const struct command {
	const char *name;
	int n_args;
	int (*run)(struct context *c, char **args);
} commands[] = {
	{ "sets", 0, run_sets },
	{ "servers", 0, run_servers },
	{ "load", 2, run_load },
	{ "record", 2, run_record },
	{ "unload", 2, run_unload },
	{ "verify", 1, run_verify },
	{ "drop", 1, run_drop },
	{ "allow", 3, run_allow },
	{ "server-add", 2, run_server_add },
	{ "server-drain", 1, run_server_drain },
	{ "server-drop", 1, run_server_drop },
	{ "repair", 0, run_repair },
};

static void
wished_server(void *arg, uint64_t logical, uint32_t *server, uint32_t *disk)
{
	const struct context *c = arg;

	(void)disk;
	*server = c->wished[logical % c->n_wished];
}

/* "ID,ID,..." */
static bool
servers_take(struct context *c, char *text)
{
	char *save, *word;

	for (word = strtok_r(text, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save))
		if (c->n_wished == SERVERS_MAX || !server_number(word, &c->wished[c->n_wished++]))
			return false;
	c->layout.where = c->n_wished > 0 ? wished_server : NULL;
	c->layout.arg = c;
	return c->n_wished > 0;
}

static bool
layout_option(struct context *c, int o)
{
	uint64_t v;
	size_t i;

	for (i = 0; i < LAYOUT_ROWS && layout_rows[i].option != o; i++)
		;
	if (i == LAYOUT_ROWS || !option_whole(optarg, 1, layout_rows[i].most, &v))
		return false;
	*layout_value(&c->layout, i) = (uint8_t)v;
	return true;
}

static bool
context_option(struct context *c, int o)
{
	uint64_t v = 0;
	bool ok = true;

	switch (o) {
	case 'm': c->opts.master = optarg; break;
	case 'T': c->opts.tls_dir = optarg; break;
	case 'L': c->opts.log = optarg; break;
	case 'b':
		ok = option_bytes(optarg, 512, 4 << 20, &v);
		c->layout.block_bytes = (uint32_t)v;
		break;
	case 'w': return servers_take(c, optarg);
	case 'r': return option_real(optarg, 0, 1e6, &c->rate);
	default: return layout_option(c, o);
	}
	return ok;
}

int
main(int argc, char **argv)
{
	struct context c = { .layout = { .block_bytes = BLOCK_BYTES } };
	const char *name;
	size_t i;
	int o;

	terminal_guard();
	if (nw_program_words(argc, argv, "dpss"))
		return 0;
	layout_usual(&c.layout);
	while ((o = getopt(argc, argv, "m:T:L:b:r:w:h" DPSS_LAYOUT(OPTION_LETTER))) != -1) {
		if (o == 'h')
			return usage(0);
		if (!context_option(&c, o))
			return usage(EXIT_USAGE);
	}
	name = optind < argc ? argv[optind++] : "";
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, name) == 0 && argc - optind == commands[i].n_args)
			return commands[i].run(&c, argv + optind);
	return usage(EXIT_USAGE);
}

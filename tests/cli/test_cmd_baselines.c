/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows baselines, on a real store: hosts without and with baselines, several mounts, the newest
 * of two, a refused model, foreign names, wrong arguments. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "narrows/clock.h"
#include "narrows/hist.h"
#include "tests/filled.h"

enum { HOURS = 3 };

static const int64_t HOUR_NS = 3600000000000;

extern const struct command command_baselines;

static int64_t next_id, measured_wall_ns;
static char printed[8192];

/* 100 durations about the middle, as a class of a baseline at one size. */
static void
point_write(struct nw_batch *b, int64_t host, const char *mount, const char *of, const char *class,
    unsigned size, uint64_t middle_ns)
{
	static const char *const fields[] = { "ops", "s" };
	static uint64_t counts[NW_HIST_BUCKETS];
	uint8_t packed[NW_HIST_ENCODED_MAX_BYTES];
	char params[256], subject[256], mid[32];
	double row[2] = { 100, 1 };
	struct nw_meta_rec m = { .id = ++next_id,
		.host_id = host,
		.xsp_id = host,
		.mid = mid,
		.event_type = "ps:tools:iomodel:baseline:read",
		.subject_json = subject,
		.params_json = params,
		.first_wall_ns = measured_wall_ns };
	struct nw_layout_rec l = {
		.id = next_id, .meta_id = next_id, .n_fields = 2, .fields = fields
	};

	memset(counts, 0, sizeof(counts));
	for (int i = -5; i < 5; i++)
		counts[nw_hist_index(middle_ns + (uint64_t)((int64_t)middle_ns * i / 100))] += 10;
	snprintf(mid, sizeof(mid), "m%" PRId64, next_id);
	snprintf(params, sizeof(params),
	    "{\"baseline\":\"%s\",\"class\":\"%s\",\"name\":\"%s\",\"namedBy\":\"baseline\","
	    "\"size\":%u}",
	    of, class, class, size);
	snprintf(subject, sizeof(subject),
	    "{\"type\":\"disk\",\"resource\":\"%s\",\"filesystem\":\"ext4\",\"device\":\"sda\"}",
	    mount);
	CHECK_INT(nw_batch_meta(b, &m), NW_OK);
	CHECK_INT(nw_batch_layout(b, &l), NW_OK);
	CHECK_INT(nw_batch_rows(b, next_id, 2, 1, &measured_wall_ns, row, packed,
		      nw_hist_encode(packed, counts)),
	    NW_OK);
}

/* Durations that rise with the size, or fall from a second to a microsecond. */
static void
class_write(struct nw_batch *b, int64_t host, const char *mount, const char *of, const char *class,
    bool falls)
{
	static const unsigned sizes[] = { 1024, 4096, 16384, 65536, 262144 };
	uint64_t ns = falls ? 1000000000 : 1000;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		point_write(b, host, mount, of, class, sizes[i], ns);
		ns = falls ? ns / 30 : ns * 2;
	}
}

/* What the command prints; the status is checked. */
static void
run(const char *dir, int argc, char **argv, int status)
{
	struct command_env env = { &command_baselines, dir, NULL, NULL };
	FILE *to = tmpfile();
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	size_t n;

	fflush(NULL);
	dup2(fileno(to), STDOUT_FILENO);
	dup2(fileno(to), STDERR_FILENO);
	optind = 1;
	n = (size_t)command_baselines.run(&env, argc, argv);
	fflush(NULL);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	CHECK_INT(n, status);
	rewind(to);
	n = fread(printed, 1, sizeof(printed) - 1, to);
	printed[n] = '\0';
	fclose(to);
}

static size_t
count(const char *word)
{
	size_t n = 0;

	for (const char *at = printed; (at = strstr(at, word)) != NULL; at++)
		n++;
	return n;
}

static void
fill(struct store *st)
{
	struct nw_batch *b = nw_batch_new();
	int64_t now = nw_wall_ns();

	measured_wall_ns = now - 10 * HOUR_NS;
	class_write(b, 1, "/mnt", "old", "page cache", false);
	measured_wall_ns = now - HOURS * HOUR_NS;
	class_write(b, 1, "/mnt", "new", "page cache", false);
	class_write(b, 1, "/mnt", "new", "long seek", true);
	class_write(b, 1, "/srv/\\u001b[31m", "other", "page cache", false);
	filled_commit(st, b);
}

static void
hosts_write(struct store *st)
{
	static const char *const names[] = { "dtn-a", "dtn-b" };
	struct nw_batch *b = nw_batch_new();

	CHECK_INT(nw_batch_session(
		      b, &(struct nw_session_rec){ .id = 1, .task_id = "t", .program = "p" }),
	    NW_OK);
	for (int i = 0; i < 2; i++) {
		struct nw_host_rec h = { .id = i + 1, .name = names[i] };
		struct nw_xsp_rec x = { .id = i + 1,
			.host_id = i + 1,
			.session_id = 1,
			.sess_id_hex = "00",
			.peer = "p" };

		CHECK(nw_batch_host(b, &h) == NW_OK && nw_batch_xsp(b, &x) == NW_OK);
	}
	filled_commit(st, b);
}

int
main(void)
{
	static const char *const ends[] = { "-wal", "-shm", "-lock" };
	char *none[] = { (char *)"baselines", NULL },
	     *more[] = { (char *)"baselines", (char *)"dtn-a", NULL };
	struct store *st = filled_open(NULL);
	char renamed[sizeof(filled_path) + 16];

	snprintf(renamed, sizeof(renamed), "%s/narrows.db", filled_dir);
	hosts_write(st);
	store_close(st);
	CHECK_INT(rename(filled_path, renamed), 0);
	run(filled_dir, 1, none, 0);
	CHECK_STR(printed, "No host has a baseline. On a host: iomodel baseline FOLDER FILE\n");

	st = filled_open(renamed);
	fill(st);
	store_close(st);
	run(filled_dir, 1, none, 0);
	CHECK_INT(count("dtn-a  /mnt (ext4, sda)  measured "), 1);
	CHECK_INT(count(", 3 h 0 min ago\n") + count(", 3 h ago\n"), 2);
	CHECK_INT(count("dtn-b"), 0);
	CHECK_INT(count("CLASS"), 2);
	CHECK_INT(count("page cache"), 2);
	CHECK_INT(count("long seek"), 1);
	CHECK_INT(count("refused"), 1);
	CHECK(strchr(printed, '\033') == NULL);

	run(filled_dir, 2, more, COMMAND_MISUSED);
	run("/nonexistent", 1, none, COMMAND_FAILED);
	CHECK(strstr(printed, "narrows: /nonexistent") != NULL);
	CHECK_INT(rename(renamed, filled_path), 0);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(renamed, sizeof(renamed), "%s/narrows.db%s", filled_dir, ends[i]);
		unlink(renamed);
	}
	filled_remove();
	return check_done("cmd_baselines");
}

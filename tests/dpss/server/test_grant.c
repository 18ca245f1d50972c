/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of grants gives back what was granted, a damaged line opens nothing, and a name cannot
 * lead out of the disk's directory. */
#include "dpss/server/grant.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "dpss/server/slot.h"
#include "narrows/err.h"
#include "tests/check.h"

#define SECRET "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

enum { SLOTS = 5, BLOCK_BYTES = 1000 };

static char dir[] = "/tmp/nw-grant-XXXXXX", disk_a[64], disk_b[64], file[64];
static char *const disks[] = { disk_a, disk_b };

static void
file_write(const char *text)
{
	FILE *f = fopen(file, "w");

	fputs(text, f);
	fclose(f);
}

static int
load(struct grants *g, char why[GRANT_WHY_BYTES])
{
	why[0] = '\0';
	return grants_load(dir, disks, 2, g, why);
}

static void
test_round_trip(void)
{
	char why[GRANT_WHY_BYTES] = "", path[128];
	struct grants g;
	struct stat st;
	struct grant *a, *b;

	CHECK_INT(load(&g, why), NW_ENOTFOUND);
	CHECK(why[0] != '\0');
	grants_clear(&g);
	CHECK_INT(grant_make(dir, disks, 2, "first", SLOTS, BLOCK_BYTES, why), NW_OK);
	CHECK_INT(grant_make(dir, disks, 2, "second", 1, 1 << 20, why), NW_OK);
	CHECK_INT(grant_make(dir, disks, 2, "first", 1, 1, why), NW_ECONFLICT);
	CHECK(strstr(why, "first") != NULL);
	snprintf(path, sizeof(path), "%s/first.blocks", disk_b);
	CHECK(stat(path, &st) == 0 && st.st_size == (off_t)(SLOTS * slot_bytes(BLOCK_BYTES)) &&
	    (st.st_mode & 0777) == 0600);
	CHECK(stat(file, &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK_INT(load(&g, why), NW_OK);
	CHECK_INT(g.n, 2);
	a = grants_find(&g, "first");
	b = grants_find(&g, "second");
	CHECK(a != NULL && b != NULL && grants_find(&g, "firs") == NULL);
	CHECK(a->index == 0 && a->slots == SLOTS && a->block_bytes == BLOCK_BYTES);
	CHECK(b->index == 1 && b->slots == 1 && b->block_bytes == 1 << 20);
	CHECK(a->n_open == 2 && a->fd[0] != a->fd[1]);
	CHECK(memcmp(a->secret, b->secret, sizeof(a->secret)) != 0);
	grants_clear(&g);
	CHECK_INT(g.n, 0);
}

/* Slots that were written a moment ago are in memory. Slots that nothing has touched, and slots
 * behind the file, are not; a file system in memory has all slots there. */
static void
test_resident(void)
{
	static const uint8_t data[BLOCK_BYTES];
	struct slot_head head = { .set = 1, .len = BLOCK_BYTES };
	char why[GRANT_WHY_BYTES];
	struct grants g;
	struct statfs fs;
	uint64_t i;

	CHECK_INT(load(&g, why), NW_OK);
	CHECK_INT(fstatfs(g.all[0]->fd[1], &fs), 0);
	CHECK(fs.f_type == TMPFS_MAGIC || !grant_is_resident(g.all[0], 1, 0));
	for (i = 0; i < SLOTS; i++) {
		CHECK_INT(slot_write(g.all[0]->fd[1], i, BLOCK_BYTES, &head, data), NW_OK);
		CHECK(grant_is_resident(g.all[0], 1, i));
	}
	CHECK(!grant_is_resident(g.all[0], 1, 1000));
	grants_clear(&g);
}

static void
test_names(void)
{
	static const struct {
		const char *name;
		int rc;
	} cases[] = {
		{ "", NW_EINVAL },
		{ ".hidden", NW_EINVAL },
		{ "..", NW_EINVAL },
		{ "../out", NW_EINVAL },
		{ "a/b", NW_EINVAL },
		{ "two words", NW_EINVAL },
		{ "line\nbreak", NW_EINVAL },
		{ "a.b_c-D9", NW_OK },
	};
	char why[GRANT_WHY_BYTES], name[129];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		why[0] = '\0';
		CHECK_INT(grant_make(dir, disks, 2, cases[i].name, 1, 512, why), cases[i].rc);
		CHECK_INT(why[0] != '\0', cases[i].rc != NW_OK);
	}
	memset(name, 'n', sizeof(name) - 1);
	name[128] = '\0';
	CHECK_INT(grant_make(dir, disks, 2, name, 1, 512, why), NW_EINVAL);
	name[127] = '\0';
	CHECK_INT(grant_make(dir, disks, 2, name, 1, 512, why), NW_OK);
}

static void
test_lines(void)
{
	static const struct {
		const char *text;
		int rc;
		size_t n; /* grants that were read until then */
	} cases[] = {
		{ "first " SECRET " 1000 5\n", NW_OK, 1 },
		{ "first " SECRET " 1000 5", NW_OK, 0 }, /* a line counts with its end */
		{ "first " SECRET " 1000 5\nsecond " SECRET " 512 1\n", NW_OK, 2 },
		{ "first " SECRET " 1000 5\nfirst " SECRET " 1000 5\n", NW_EINVAL, 1 },
		{ "first " SECRET " 1000\n", NW_EINVAL, 0 },
		{ "first " SECRET " 1000 5 more\n", NW_EINVAL, 0 },
		{ "first " SECRET "00 1000 5\n", NW_EINVAL, 0 },
		{ "first 00 1000 5\n", NW_EINVAL, 0 },
		{ "first x" SECRET " 1000 5\n", NW_EINVAL, 0 },
		{ "first " SECRET " 0 5\n", NW_EINVAL, 0 },
		{ "first " SECRET " 4194304 5\n", NW_OK, 1 },
		{ "first " SECRET " 4194305 5\n", NW_EINVAL, 0 },
		{ "first " SECRET " -1 5\n", NW_EINVAL, 0 },
		{ "first " SECRET " 1000 -1\n", NW_EINVAL, 0 },
		{ "first " SECRET " 1000 18446744073709551615\n", NW_EINVAL, 0 },
		{ "../first " SECRET " 1000 5\n", NW_EINVAL, 0 },
		{ "\n", NW_EINVAL, 0 },
		{ "", NW_OK, 0 },
	};
	char why[GRANT_WHY_BYTES], line[32];
	struct grants g;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		file_write(cases[i].text);
		CHECK_INT(load(&g, why), cases[i].rc);
		CHECK_INT(g.n, cases[i].n);
		snprintf(line, sizeof(line), "line %zu", cases[i].n + 1);
		CHECK_INT(strstr(why, line) != NULL, cases[i].rc != NW_OK);
		if (cases[i].rc == NW_OK && g.n > 0)
			CHECK(g.all[0]->secret[0] == 0 && g.all[0]->secret[31] == 0x1f);
		grants_clear(&g);
	}
}

static void
test_too_many(void)
{
	char why[GRANT_WHY_BYTES], path[128];
	struct grants g;
	FILE *f = fopen(file, "w");
	size_t i, k;

	for (i = 0; i < GRANTS_MAX + 1; i++) {
		fprintf(f, "grant%zu " SECRET " 512 1\n", i);
		for (k = 0; k < 2; k++) {
			snprintf(path, sizeof(path), "%s/grant%zu.blocks", disks[k], i);
			fclose(fopen(path, "w"));
		}
	}
	fclose(f);
	CHECK_INT(load(&g, why), NW_EFULL);
	CHECK_INT(g.n, GRANTS_MAX);
	grants_clear(&g);
}

int
main(void)
{
	char command[64];

	CHECK(mkdtemp(dir) != NULL);
	snprintf(disk_a, sizeof(disk_a), "%s/a", dir);
	snprintf(disk_b, sizeof(disk_b), "%s/b", dir);
	snprintf(file, sizeof(file), "%s/grants", dir);
	CHECK(mkdir(disk_a, 0700) == 0 && mkdir(disk_b, 0700) == 0);
	test_round_trip();
	test_resident();
	test_names();
	test_lines();
	test_too_many();
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
	return check_done("test_grant");
}

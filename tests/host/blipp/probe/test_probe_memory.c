/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/meminfo and /proc/vmstat: all fields, under their old names where they have one. */
#include "host/blipp/probe/probe.h"

#include "tests/check.h"
#include "narrows/err.h"

static const char meminfo[] =
    "MemTotal:       25292480 kB\nMemFree:        18000000 kB\nMemAvailable:   23000000 kB\n"
    "Buffers:           5384 kB\nCached:          1500000 kB\nSwapCached:            0 kB\n"
    "Active(anon):      12345 kB\nDirty:              2048 kB\nWriteback:            16 kB\n"
    "Slab:             120000 kB\nHugePages_Total:       8\nHugepagesize:       2048 kB\n";

#define SCAN(text) scan_text(text, strlen(text))

static const struct series_field *
field(const struct table *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (strcmp(t->fields[i].name, name) == 0)
			return &t->fields[i];
	return NULL;
}

static void
test_meminfo(void)
{
	static struct table t;

	CHECK_INT(memory_parse(SCAN(meminfo), &t), NW_OK);
	CHECK_INT(t.n, 13);
	CHECK_NEAR(table_get(&t, "free"), 18000000, 0, 0);
	CHECK_NEAR(table_get(&t, "used"), 7292480, 0, 0);
	CHECK_NEAR(table_get(&t, "buffer"), 5384, 0, 0);
	CHECK_NEAR(table_get(&t, "cache"), 1500000, 0, 0);
	CHECK_NEAR(table_get(&t, "kernel"), 120000, 0, 0);
	CHECK_NEAR(table_get(&t, "dirty"), 2048, 0, 0);
	CHECK_NEAR(table_get(&t, "Active_anon"), 12345, 0, 0);
	CHECK_STR(field(&t, "used")->unit, "KiBy");
	CHECK_STR(field(&t, "HugePages_Total")->unit, "1");
	CHECK(!field(&t, "free")->counter);
	CHECK(isnan(table_get(&t, "MemFree")));
	CHECK_INT(memory_parse(SCAN("nothing here\n"), &t), NW_EPROTO);
	table_clear(&t);
}

static void
test_vmstat(void)
{
	static struct table t;
	static char many[400 * 16];
	size_t i, at = 0;

	CHECK_INT(
	    vmstat_parse(
		SCAN("nr_free_pages 100\nnr_dirty 7\npgpgin 500\npgpgout 18446744073709551615\n"),
		&t),
	    NW_OK);
	CHECK_INT(t.n, 4);
	CHECK_NEAR(table_get(&t, "pgpgout"), 0x1p64, 0, 0);
	CHECK(!field(&t, "nr_dirty")->counter);
	CHECK(field(&t, "pgpgin")->counter);
	for (i = 0; i < 400; i++)
		at += (size_t)snprintf(many + at, sizeof(many) - at, "name%zu %zu\n", i, i);
	CHECK_INT(vmstat_parse(SCAN(many), &t), NW_OK); /* a future kernel: the first ones */
	CHECK_INT(t.n, SERIES_FIELDS_MAX);
	CHECK_NEAR(table_get(&t, "name249"), 249, 0, 0);
	CHECK_INT(vmstat_parse(SCAN("-\n"), &t), NW_EPROTO);
	table_clear(&t);
}

/* A table knows its fields by place, and notices when they move. */
static void
test_changes(void)
{
	static struct table t;

	CHECK_INT(vmstat_parse(SCAN("a 1\nb 2\n"), &t), NW_OK);
	CHECK(t.changed);
	t.n_known = t.n;
	CHECK_INT(vmstat_parse(SCAN("a 3\nb 4\n"), &t), NW_OK);
	CHECK(!t.changed);
	CHECK_NEAR(table_get(&t, "b"), 4, 0, 0);
	CHECK_INT(vmstat_parse(SCAN("a 3\nbb 5\nb 4\n"), &t), NW_OK);
	CHECK(t.changed);
	CHECK_NEAR(table_get(&t, "bb"), 5, 0, 0);
	CHECK_NEAR(table_get(&t, "b"), 4, 0, 0);
	CHECK_STR(t.fields[2].name, "b");
	table_clear(&t);
	table_clear(&t);
}

int
main(void)
{
	test_meminfo();
	test_vmstat();
	test_changes();
	return check_done("probe_memory");
}

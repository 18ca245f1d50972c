/* SPDX-License-Identifier: BSD-3-Clause */
/* One table says what fields are: readers, SQL and the roll-ups get the same from it, and what a
 * sender says goes first. */
#include "narrows/field.h"

#include <string.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/store.h"
#include "store/sql/sqlmodule.h"
#include "tests/check.h"
#include "tests/sqlcount.h"
#include "tests/storefile.h"

#define CALIPER "nl:tools:calipers:summary:read"

static const struct {
	const char *type, *params, *field, *unit;
} units[] = {
	{ CALIPER, NULL, "sum_v", "By" },
	{ CALIPER, "{}", "max_r", "By/ns" },
	{ CALIPER, "{}", "sd_g", "ns/By" },
	{ CALIPER, "{}", "mean_d", "s" },
	{ CALIPER, "{}", "count", "1" },
	{ CALIPER, "{}", "busy_max", "s" },
	{ "nl.read.summary", "{}", "mean_r", "By/ns" },
	{ "nl:read", "{}", "sum_v", "" },
	{ "nw:connection", "{}", "rtt_s", "s" },
	{ "nw:connection", "{}", "cwnd_bytes", "By" },
	{ "nw:process", "{}", "cpu_user", "s" },
	{ "nw:connection", "{}", "delivery_rate", "By/s" },
	{ "nw:process", "{}", "value", "" },
	{ "nw:process", "{}", "queue_d", "" },
	{ "nw:process", "{}", "a_very_long_name_r", "" },
	{ "nw:process", "{}", "", "" },
	{ "nw:process", "{}", "_", "" },
	{ "x:y", "{}", "sum_v", "" },
	{ "x:y", "{}", "rxpck_s", "" },
	{ "x:y", "{\"unit\":\"K\"}", "sum_v", "K" },
	{ CALIPER, "{\"unit\":\"K\"}", "sum_v", "K" },
	{ "x:y", "{\"unit\":\"K\",\"unit_a\":\"W\"}", "a", "W" },
	{ "x:y", "{\"unit\":\"K\",\"unit_a\":\"W\"}", "b", "K" },
	{ CALIPER, "{\"unit\":5}", "dur", "s" },
	{ CALIPER, "[1", "dur", "s" },
	{ "ps:tools:blipp:linux:net:ping:rtt", NULL, "value", "ms" },
};
enum { N_UNITS = sizeof(units) / sizeof(units[0]) };

static const struct {
	const char *type, *field;
	enum nw_aggregation how;
} aggregations[] = {
	{ CALIPER, "sum_v", NW_AGG_SUM },
	{ CALIPER, "mean_r", NW_AGG_RATIO },
	{ "x:y", "sd_load", NW_AGG_SPREAD },
	{ "x:y", "min_x", NW_AGG_MIN },
	{ CALIPER, "threads", NW_AGG_MAX },
	{ "nl:read", "count", NW_AGG_SUM },
	{ "x:y", "count", NW_AGG_UNSAID },
	{ "nw:connection", "retrans", NW_AGG_LAST },
	{ "nw:connection", "rtt_min_s", NW_AGG_MIN },
	{ "nw:connection", "rtt_s", NW_AGG_UNSAID },
	{ "", "value", NW_AGG_UNSAID },
};

static struct store *
store_fill(void)
{
	const int64_t t_wall_ns = INT64_C(1700000000000000000);
	const double value = 1;
	struct nw_batch *b = nw_batch_new();
	char why[STORE_WHY_BYTES];
	struct store *st = NULL;
	int64_t i;

	CHECK_INT(store_open(path, NULL, &st, why), NW_OK);
	nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = "h" });
	for (i = 0; i < N_UNITS; i++) {
		nw_batch_meta(b,
		    &(struct nw_meta_rec){ .id = i + 1,
			.host_id = 1,
			.event_type = units[i].type,
			.params_json = units[i].params });
		nw_batch_layout(b, &(struct nw_layout_rec){ i + 1, i + 1, 1, &units[i].field });
	}
	for (i = 0; i < N_UNITS; i++)
		nw_batch_rows(b, i + 1, 1, 1, &t_wall_ns, &value, NULL, 0);
	CHECK_INT(store_submit(st, b), NW_OK);
	CHECK_INT(store_sync(st), NW_OK);
	return st;
}

static void
test_units(void)
{
	struct store *st = store_fill();
	struct store_reader *r;
	char unit[32], why[STORE_WHY_BYTES];
	int64_t i;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	for (i = 0; i < N_UNITS; i++) {
		CHECK_INT(store_unit(r, i + 1, units[i].field, unit, sizeof(unit)), NW_OK);
		CHECK_STR(unit, units[i].unit);
	}
	CHECK_INT(store_unit(r, 1, "no such field", unit, sizeof(unit)), NW_OK);
	CHECK_STR(unit, "");
	CHECK_INT(store_unit(r, 3, "sd_g", unit, 3), NW_OK); /* no half unit */
	CHECK_STR(unit, "");
	store_reader_close(r);
	store_close(st);
}

/* The unit of a sample is that of its line in v_series, whichever table the file has. */
static void
check_samples(int n_furlongs)
{
	static const struct {
		const char *sql;
		bool all;
	} counts[] = {
		{ "SELECT count(*) FROM sample", true },
		{ "SELECT count(*) FROM sample s JOIN v_series v USING (series)"
		  " WHERE s.unit IS v.unit",
		    true },
		{ "SELECT count(*) FROM sample WHERE unit = 'furlong'", false },
	};
	sqlite3_stmt *stmt;
	sqlite3 *db;
	size_t i;

	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlmodule_register(db, NULL), SQLITE_OK);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		CHECK_INT(sqlite3_prepare_v2(db, counts[i].sql, -1, &stmt, NULL), SQLITE_OK);
		CHECK_INT(sqlite3_step(stmt), SQLITE_ROW);
		CHECK_INT(sqlite3_column_int(stmt, 0), counts[i].all ? N_UNITS : n_furlongs);
		sqlite3_finalize(stmt);
	}
	sqlite3_close(db);
}

static void
test_aggregations(void)
{
	size_t i;

	for (i = 0; i < sizeof(aggregations) / sizeof(aggregations[0]); i++)
		CHECK_INT(nw_field_aggregation(aggregations[i].type, aggregations[i].field),
		    aggregations[i].how);
}

/* A store that another release wrote gets the table of this program. */
static void
test_table(void)
{
	char why[STORE_WHY_BYTES];
	struct store *st;
	size_t n;

	nw_field_rules(&n);
	CHECK_INT(sqlcount(path, "SELECT count(*) FROM field"), n);
	CHECK_INT(
	    sqlcount(path, "SELECT count(*) FROM v_series WHERE series != layout * 4096 + col"), 0);
	sqlcount(path, "UPDATE field SET unit = 'furlong' WHERE unit = 'By'");
	CHECK_INT(sqlcount(path, "SELECT count(*) FROM v_series WHERE unit = 'By'"), 0);
	check_samples(2);
	CHECK_INT(store_open(path, NULL, &st, why), NW_OK);
	store_close(st);
	CHECK(sqlcount(path, "SELECT count(*) FROM v_series WHERE unit = 'By'") > 0);
	CHECK_INT(sqlcount(path, "SELECT count(*) FROM field WHERE unit = 'furlong'"), 0);
}

/* A name that readers use and the table does not know would be a mistake in either; what
 * blipp measures is known by what blipp says of it. */
static void
test_read_names(void)
{
	static const char *const name[] = {
#define NAME(field) #field,
		NW_FIELDS_READ(NAME)
	};
	static const char *const said_by_sender[] = { "report", "idle", "iowait", "disk_busy",
		"offset_s", "bound_s", "kernel_synced", "io_ms", "HCThruOctetsAcked",
		"HCThruOctetsReceived", "SegsRetrans", "SmoothedRTT", "MinRTT", "CurCwnd",
		"CurRwinRcvd", "CurMSS", "linux_busy_time", "linux_rwnd_limited",
		"linux_sndbuf_limited", "linux_delivery_rate", "read_limit", "written_limit",
		"sent_limit", "writeback" };
	size_t i, k, n;
	const struct nw_field_rule *rule = nw_field_rules(&n);
	bool known;

	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		known = false;
		for (k = 0; k < n; k++)
			known = known ||
			    (strcmp(rule[k].event_glob, "*") != 0 &&
				sqlite3_strglob(rule[k].field_glob, name[i]) == 0);
		for (k = 0; k < sizeof(said_by_sender) / sizeof(said_by_sender[0]); k++)
			known = known || strcmp(said_by_sender[k], name[i]) == 0;
		if (!known)
			fprintf(stderr, "no rule for %s\n", name[i]);
		CHECK(known);
	}
}

int
main(void)
{
	snprintf(path, sizeof(path), "/tmp/nw-test-field-%d.db", (int)getpid());
	test_units();
	check_samples(0);
	test_table();
	test_aggregations();
	test_read_names();
	files_remove();
	return check_done("field");
}

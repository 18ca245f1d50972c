/* SPDX-License-Identifier: BSD-3-Clause */
/* The usual metrics of a host with many idle disks: whatever moved comes first. */
#include "web/answer/hosts.h"

#include "narrows/eventtype.h"
#include "narrows/result.h"
#include "tests/filled.h"

enum { DISKS = 70, BUSY_DISK = 66, ROWS = 100 };
static const int64_t T0 = INT64_C(1780000000000000000), SECOND_NS = INT64_C(1000000000);

/* Two rows, 10 s apart, of a device's counters or gauges. */
static void
device_put(struct nw_batch *b, int64_t id, const char *type, const char *device,
    const char *const fields[2], double from, double to)
{
	const int64_t at[] = { T0, T0 + 10 * SECOND_NS };
	const double rows[] = { from, from, to, to };
	char subject[64], mid[24], event_type[96];

	snprintf(subject, sizeof(subject), "{\"hostname\":\"dtn\",\"device\":\"%s\"}", device);
	snprintf(mid, sizeof(mid), "m%d", (int)id);
	snprintf(event_type, sizeof(event_type), NW_TYPE_BLIPP "%s", type);
	CHECK_INT(nw_batch_meta(b,
		      &(struct nw_meta_rec){ .id = id,
			  .host_id = 1,
			  .xsp_id = 1,
			  .mid = mid,
			  .event_type = event_type,
			  .subject_json = subject }),
	    NW_OK);
	CHECK_INT(nw_batch_layout(b,
		      &(struct nw_layout_rec){
			  .id = id, .meta_id = id, .n_fields = 2, .fields = fields }),
	    NW_OK);
	CHECK_INT(nw_batch_rows(b, id, 2, 2, at, rows, NULL, 0), NW_OK);
}

static void
host_put(struct store *st)
{
	static const char *const disk[] = { "read_bytes", "written_bytes" },
				 *const net[] = { "bytes_in", "bytes_out" },
				 *const memory[] = { "free", "used" };
	struct nw_batch *b = nw_batch_new();
	char name[16];
	int64_t i;

	CHECK_INT(nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = "dtn" }), NW_OK);
	CHECK_INT(nw_batch_xsp(b,
		      &(struct nw_xsp_rec){
			  .id = 1, .host_id = 1, .provider = "blipp", .opened_wall_ns = T0 }),
	    NW_OK);
	for (i = 0; i < DISKS; i++) {
		snprintf(name, sizeof(name), "zram%d", (int)i);
		device_put(
		    b, 100 + i, "disk:partition", name, disk, 5e6, i == BUSY_DISK ? 9e6 : 5e6);
	}
	device_put(b, 1, "memory:utilization", "", memory, 7e6, 7e6);
	device_put(b, 200, "network:utilization", "eth0", net, 1e6, 3e6);
	filled_commit(st, b);
}

static void
row_check(const json_t *list, size_t i, const char *of, const char *field, double value)
{
	const json_t *row = json_array_get(list, i);

	CHECK_STR(result_text(row, KEY_latest_metric_of), of);
	CHECK_STR(result_text(row, KEY_latest_metric_field), field);
	CHECK_NEAR(result_number(row, KEY_latest_metric_value), value, 1e-9, 1e-9);
}

int
main(void)
{
	const struct nw_host_rec host = { .id = 1, .name = "dtn" };
	struct store *st = filled_open(NULL);
	struct store_reader *r = NULL;
	char why[STORE_WHY_BYTES];
	json_t *list = NULL;

	host_put(st);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	CHECK_INT(host_latest_list(r, &host, &list), NW_OK);
	CHECK_INT((long)json_array_size(list), ROWS);
	row_check(list, 0, "", "free", 7e6);
	row_check(list, 1, "zram66", "read_bytes", 4e5);
	row_check(list, 2, "zram66", "written_bytes", 4e5);
	row_check(list, 3, "eth0", "bytes_in", 2e5);
	row_check(list, 4, "eth0", "bytes_out", 2e5);
	row_check(list, 5, "zram0", "read_bytes", 0);
	row_check(list, ROWS - 1, "zram25", "written_bytes", 0);
	json_decref(list);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("test_host_latest");
}

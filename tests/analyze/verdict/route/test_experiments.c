/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The natural experiments of a fleet in a store: a kernel that makes its hosts slower is told with
 * the hosts and the setting that came with it; the same kernel without an effect is not.
 */
#include "narrows/experiments.h"

#include <stdlib.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "tests/filled.h"
#include "tests/noise.h"

enum { HOSTS = 14, CHANGED = 8, DAYS = 40 };
#define DAY_NS (INT64_C(86400) * 1000000000)

static const int64_t now_wall_ns = INT64_C(1764000000000000000);
static struct store *st;
static struct store_reader *r;

static int64_t
time_of(size_t day)
{
	return now_wall_ns - (int64_t)(DAYS - day) * DAY_NS + (int64_t)(noise_uniform() * 1e12);
}

static void
setting_put(struct nw_batch *b, size_t host, const char *name, const char *value, size_t day)
{
	CHECK_INT(nw_batch_setting(b,
		      &(struct nw_setting_rec){ .host_id = (int64_t)host + 1,
			  .name = name,
			  .value = value,
			  .t_wall_ns = time_of(day) }),
	    NW_OK);
}

static void
hosts_put(void)
{
	struct nw_batch *b = nw_batch_new();
	char name[16], route[32];
	size_t h;

	for (h = 0; h < HOSTS; h++) {
		snprintf(name, sizeof(name), "dtn%zu", h);
		snprintf(route, sizeof(route), "dtn%zu (local)", h);
		CHECK_INT(
		    nw_batch_host(b, &(struct nw_host_rec){ .id = (int64_t)h + 1, .name = name }),
		    NW_OK);
		CHECK_INT(nw_batch_route(b,
			      &(struct nw_route_rec){
				  .route = route, .program = "cp", .n_sessions = DAYS }),
		    NW_OK);
		setting_put(b, h, "kernel.release", "6.1", 1);
		setting_put(b, h, "os.name", "old", 1);
		setting_put(b, h, "sysctl.vm.swappiness", "60", 1);
		if (h < CHANGED) {
			setting_put(b, h, "kernel.release", "6.2", 20);
			setting_put(b, h, "os.name", "new", 20);
		}
		if (h % 2 == 0)
			setting_put(b, h, "sysctl.vm.swappiness", "10", 12);
	}
	filled_commit(st, b);
}

/* A session of each host and day; the hosts with the kernel are `ratio` times as fast with it. */
static void
sessions_put(double ratio)
{
	struct nw_batch *b = nw_batch_new();
	char route[32];
	size_t h, d;
	int64_t id;

	for (h = 0; h < HOSTS; h++) {
		snprintf(route, sizeof(route), "dtn%zu (local)", h);
		for (d = 2; d < DAYS; d++) {
			const double own = h < CHANGED && d > 20 ? ratio : 1;

			id = (int64_t)(h * DAYS + d + 1);
			CHECK_INT(nw_batch_session(b,
				      &(struct nw_session_rec){ .id = id,
					  .opened_wall_ns = time_of(d),
					  .closed_wall_ns = time_of(d) }),
			    NW_OK);
			CHECK_INT(nw_batch_result(b,
				      &(struct nw_result_rec){ .session_id = id,
					  .json = "{}",
					  .route = route,
					  .program = "cp",
					  .bytes = 1e9,
					  .bytes_per_s = own * (double)(h + 1) * 1e8 *
					      exp(0.04 * noise_normal()),
					  .effect = NAN,
					  .start_wall_ns = time_of(d),
					  .duration_ns = 1000,
					  .usual = NAN,
					  .exit_status = NAN }),
			    NW_OK);
		}
	}
	filled_commit(st, b);
}

static json_t *
made(void)
{
	json_t *doc;
	char *json;

	CHECK_INT(experiments_make(r, now_wall_ns, &json), NW_OK);
	doc = json_loads(json, 0, NULL);
	CHECK(doc != NULL);
	free(json);
	return doc;
}

static void
kernel_is_told(void)
{
	json_t *doc = made();
	const json_t *list = result_list(doc, KEY_experiments_experiments),
		     *o = json_array_get(list, 0);

	CHECK_INT((int)result_number(doc, KEY_experiments_n_hosts), HOSTS);
	CHECK_INT((int)result_number(doc, KEY_experiments_n_settings), 3);
	CHECK_INT(json_array_size(list), 1);
	CHECK_STR(result_text(o, KEY_experiment_name), "kernel.release");
	CHECK_STR(result_text(o, KEY_experiment_after), "6.2");
	CHECK_INT((int)result_number(o, KEY_experiment_n_changed), CHANGED);
	CHECK_INT((int)result_number(o, KEY_experiment_n_changed_moved), CHANGED);
	CHECK_INT((int)result_number(o, KEY_experiment_n_kept), HOSTS - CHANGED);
	CHECK_INT((int)result_number(o, KEY_experiment_n_kept_moved), 0);
	CHECK_NEAR(result_number(o, KEY_experiment_ratio), 0.85, 0.03, 0);
	CHECK(strstr(result_text(o, KEY_experiment_sentence),
		  "kernel.release became 6.2 and os.name became new on 8 hosts: 8 of them became "
		  "slower, by 1") != NULL);
	CHECK(strstr(result_text(o, KEY_experiment_sentence),
		  "of 6 hosts without the change 0 did on the same days.") != NULL);
	json_decref(doc);
}

static void
nothing_is_told(void)
{
	json_t *doc = made();

	CHECK_INT(json_array_size(result_list(doc, KEY_experiments_experiments)), 0);
	CHECK(strncmp(result_text(doc, KEY_experiments_sentence), "No setting", 10) == 0);
	json_decref(doc);
}

static int
on_kept(void *arg, int64_t made_wall_ns, const char *json)
{
	CHECK_INT(made_wall_ns, now_wall_ns);
	CHECK_STR(json, "{\"a\":1}");
	++*(int *)arg;
	return 1;
}

static void
the_newest_is_kept(void)
{
	struct nw_batch *b = nw_batch_new();
	int n = 0;

	CHECK_INT(store_experiments(r, on_kept, &n), NW_OK);
	CHECK_INT(n, 0);
	CHECK_INT(nw_batch_experiments(b, 1, "{}"), NW_OK);
	CHECK_INT(nw_batch_experiments(b, now_wall_ns, "{\"a\":1}"), NW_OK);
	filled_commit(st, b);
	CHECK_INT(store_experiments(r, on_kept, &n), NW_OK);
	CHECK_INT(n, 1);
}

int
main(int argc, char **argv)
{
	char why[STORE_WHY_BYTES];

	noise_seed(argc, argv, 2);
	st = filled_open(NULL);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	nothing_is_told(); /* an empty store */
	hosts_put();
	sessions_put(0.85);
	kernel_is_told();
	sessions_put(1);
	nothing_is_told();
	the_newest_is_kept();
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("experiments");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A provider for tests/sys_delivery.sh: documents with the numbers FIRST, FIRST + 1, ... at a rate,
 * and what became of them. Built there, with the library that programs use. usage: delivery BOX
 * FIRST PER_SECOND SECONDS [QUEUE_KIB [COUNT_FILE]] PACK=1: rows of a report are packed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/clock.h"
#include "narrows/provider.h"

#define TICK_NS     INT64_C(20000000)
#define PATIENCE_NS INT64_C(12000000000)

static void
count_note(const char *path, long long n)
{
	char part[4096];
	FILE *f;

	if (path == NULL || (size_t)snprintf(part, sizeof(part), "%s.part", path) >= sizeof(part) ||
	    (f = fopen(part, "w")) == NULL)
		return;
	fprintf(f, "%lld\n", n);
	fclose(f);
	rename(part, path); /* a reader finds a whole number, whenever this program is killed */
}

int
main(int argc, char **argv)
{
	static const char *const fields[] = { "n" };
	const struct nw_kv subject[] = { { "type", NW_KV_TEXT, { .text = "disk" } } };
	struct nw_provider_opts opts = {
		.software = "delivery", .host = "h1", .task_id = "delivery"
	};
	struct nw_provider_stats s;
	struct nw_provider *p;
	double per_second, seconds, value;
	int64_t begin, now, told = 0;
	int pack = getenv("PACK") != NULL, rc;

	if (argc < 5)
		return 2;
	opts.box = argv[1];
	value = atof(argv[2]);
	per_second = atof(argv[3]);
	seconds = atof(argv[4]);
	opts.queue_max_bytes = argc > 5 ? (uint32_t)atoi(argv[5]) << 10 : 0;
	if (nw_provider_new(&opts, &p) < 0)
		return 1;
	nw_provider_meta(p, "m", NULL, "nl:tools:calipers:summary:read", subject, 1, NULL, 0);
	begin = told = nw_clock_mono_ns();
	nw_provider_hold(p, pack);
	for (now = begin; (double)(now - begin) < seconds * 1e9; now = nw_clock_mono_ns()) {
		double due = atof(argv[2]) + (double)(now - begin) * 1e-9 * per_second;

		for (; value < due; value++)
			if (nw_provider_data(p, "m", 1700000000000000000 + (int64_t)value * 1000000,
				fields, &value, 1, NULL, 0) < 0)
				return 1;
		count_note(argc > 6 ? argv[6] : NULL, (long long)value - 1);
		if (pack && now - told > 10 * TICK_NS) {
			nw_provider_hold(p, 0);
			told = now;
		}
		if (nw_provider_run(p, TICK_NS) < 0)
			return 1;
		nw_provider_hold(p, pack);
	}
	nw_provider_hold(p, 0);
	for (begin = now; nw_clock_mono_ns() - begin < PATIENCE_NS;) {
		nw_provider_get_stats(p, &s);
		if (s.docs_stored + s.docs_dropped >= s.docs_queued ||
		    nw_provider_run(p, TICK_NS) < 0)
			break;
	}
	nw_provider_get_stats(p, &s);
	printf("last=%.0f queued=%llu stored=%llu dropped=%llu connects=%llu\n", value - 1,
	    (unsigned long long)s.docs_queued, (unsigned long long)s.docs_stored,
	    (unsigned long long)s.docs_dropped, (unsigned long long)s.connects);
	rc = s.docs_stored + s.docs_dropped >= s.docs_queued ? 0 : 1;
	nw_provider_close(p, 0);
	return rc;
}

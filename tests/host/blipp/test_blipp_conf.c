/* SPDX-License-Identifier: BSD-3-Clause */
/* blipp's configuration: what is said, what is wrong and where. */
#include "host/blipp/blipp_conf.h"

#include <unistd.h>

#include "tests/check.h"
#include "narrows/err.h"

static char path[] = "/tmp/narrows-test-XXXXXX";

static void
write_file(const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL && fputs(text, f) >= 0);
	fclose(f);
}

static const struct {
	const char *assignment;
	int64_t interval_ns;
} intervals[] = {
	{ "interval=1", 1000000000 },
	{ "interval=1 s", 1000000000 },
	{ "interval=250ms", 250000000 },
	{ "interval=0.1 s", 100000000 },
	{ "interval=2 m", INT64_C(120000000000) },
};
static const char *const bad[] = {
	"interval",
	"interval=",
	"interval=0",
	"interval=5ms",
	"interval=2 h",
	"interval=1 s x",
	"interval=-1",
	"box=",
	"box=a b",
	"box=a/b/c",
	"host=a b",
	"probes=cpu,load",
	"probes=gpu",
	"queue-size=1",
	"queue-size=2 TiB",
	"colour=red",
};

int
main(void)
{
	char why[CONF_WHY_BYTES];
	struct blipp_conf c;
	size_t i;
	int fd = mkstemp(path);

	close(fd);
	blipp_conf_init(&c);
	CHECK_INT(c.interval_ns, 1000000000);
	CHECK(c.probes[PROBE_cpu] && c.probes[PROBE_clock] && !c.probes[PROBE_percpu]);
	for (i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		CHECK_INT(blipp_conf_override(&c, intervals[i].assignment, why), NW_OK);
		CHECK_INT(c.interval_ns, intervals[i].interval_ns);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = '\0';
		CHECK_INT(blipp_conf_override(&c, bad[i], why), NW_EINVAL);
		CHECK(why[0] != '\0');
	}
	CHECK_INT(blipp_conf_override(&c, "interval=soon", why), NW_EINVAL);
	CHECK_STR(why, "-o interval=soon: interval soon: not a number");
	CHECK_INT(blipp_conf_override(&c, "interval=2 h", why), NW_EINVAL);
	CHECK_STR(why, "-o interval=2 h: interval 2 h: out of range 10 ms to 60 m");

	write_file("# a comment\n\n  box   192.0.2.1/5010  # the box\nhost dtn7\nqueue-size 8 "
		   "MiB\nprobes cpu clock\n");
	CHECK_INT(blipp_conf_read(&c, path, why), NW_OK);
	CHECK_STR(c.box, "192.0.2.1/5010");
	CHECK_STR(c.host, "dtn7");
	CHECK_INT(c.queue_bytes, 8 << 20);
	for (i = 0; i < BLIPP_PROBES; i++)
		CHECK_INT(
		    c.probes[i], blipp_probes[i] == &probe_cpu || blipp_probes[i] == &probe_clock);

	CHECK(c.spool_dir == NULL);
	write_file("spool-dir /var/spool/x\nspool-max-size 2 GiB\nspool-max-age 36 h\n");
	CHECK_INT(blipp_conf_read(&c, path, why), NW_OK);
	CHECK_STR(c.spool_dir, "/var/spool/x");
	CHECK_INT(c.spool_bytes, INT64_C(2) << 30);
	CHECK_INT(c.spool_age_ns, 36 * INT64_C(3600) * 1000000000);
	CHECK_INT(blipp_conf_override(&c, "spool-dir=here", why), NW_EINVAL);
	CHECK_INT(blipp_conf_override(&c, "spool-max-size=1", why), NW_EINVAL);
	CHECK_INT(blipp_conf_override(&c, "spool-max-age=1 s", why), NW_EINVAL);

	write_file("host other\nprobes cpu\nintervall 5\n");
	CHECK_INT(blipp_conf_read(&c, path, why), NW_EINVAL);
	CHECK(strstr(why, ":3: intervall: unknown directive") != NULL);
	CHECK_STR(c.host, "dtn7"); /* as it was */
	write_file("interval 2\nhost a\ninterval 3\n");
	CHECK_INT(blipp_conf_read(&c, path, why), NW_EINVAL);
	CHECK(strstr(why, ":3: interval: given twice") != NULL);
	write_file("host");
	CHECK_INT(blipp_conf_read(&c, path, why), NW_EINVAL);
	unlink(path);
	CHECK_INT(blipp_conf_read(&c, path, why), NW_EIO);
	blipp_conf_clear(&c);
	return check_done("blipp_conf");
}

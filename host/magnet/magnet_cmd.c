/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/magnet_cmd.h"
#include "narrows/terminal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile int stop_wanted;

int
fail(const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fprintf(stderr, "magnet: %s\n", terminal_text(text));
	return 1;
}

int
usage(const struct command *c)
{
	fprintf(stderr, "usage: magnet %s\n", c->usage);
	return EXIT_USAGE;
}

double
number_of(const char *text, double min, double max, const char *what)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end != '\0' || !(v >= min && v <= max)) {
		fail("%s takes a number from %g to %g, not \"%s\"", what, min, max, text);
		return -1;
	}
	return v;
}

uint64_t
size_of(const char *text)
{
	static const char suffixes[] = "KMG";
	char *end;
	double v = strtod(text, &end);
	const char *s = *end != '\0' ? strchr(suffixes, *end) : NULL;

	if (s != NULL) {
		v *= (double)(1ULL << 10 * (s - suffixes + 1));
		end++;
	}
	if (end == text || *end != '\0' || !(v >= 1 && v <= 4e9)) {
		fail("\"%s\" is not a size of bytes", text);
		return 0;
	}
	return (uint64_t)v;
}

struct kernel *
kernel_or_fail(void)
{
	char why[KERNEL_WHY_BYTES];
	struct kernel *k;

	if (kernel_open(&k, why) < 0)
		fail("%s", why);
	return k;
}

uint64_t
losses_print(struct kernel *k)
{
	struct magnet_counts c;
	uint64_t lost = 0;
	uint32_t point;
	int cpu;

	for (point = 1; point < MAGNET_POINTS_MAX; point++)
		for (cpu = 0; cpu < kernel_cpus(k); cpu++) {
			kernel_counts_cpu(k, point, cpu, &c);
			lost += c.lost;
			if (c.lost > 0)
				fail("%s on processor %d: %" PRIu64 " of %" PRIu64 " lost",
				    point_of(point) != NULL ? point_of(point)->name : "user", cpu,
				    c.lost, c.kept + c.lost);
		}
	return lost;
}

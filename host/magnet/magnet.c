/* SPDX-License-Identifier: BSD-3-Clause */
/* magnet: events of the kernel, at every layer of the network path and beside it. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <inttypes.h>

#include "host/magnet/cmd.h"

volatile int stop_wanted;

static const struct command *const commands[] = { &cmd_points, &cmd_record, &cmd_dump, &cmd_stat,
	&cmd_serve, &cmd_view, &cmd_on, &cmd_off, &cmd_filter, &cmd_sample, &cmd_status };
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

int
fail(const char *format, ...)
{
	va_list ap;

	fputs("magnet: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
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
				    c.lost, c.hits);
		}
	return lost;
}

static int
help(void)
{
	size_t i;

	puts("usage: magnet COMMAND [OPTION ...]");
	for (i = 0; i < N_COMMANDS; i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->help);
	return 0;
}

static void
on_signal(int sig)
{
	(void)sig;
	stop_wanted = 1;
}

int
main(int argc, char **argv)
{
	struct sigaction stop = { .sa_handler = on_signal };
	size_t i;

	if (argc < 2 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
		return argc < 2 ? help(), EXIT_USAGE : help();
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	for (i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i]->name, argv[1]) == 0)
			return commands[i]->run(argc - 1, argv + 1);
	fail("no command is called \"%s\"", argv[1]);
	return help(), EXIT_USAGE;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of magnet(1): each has a file of its own and this description. */
#ifndef MAGNET_CMD_H
#define MAGNET_CMD_H

#include <stdint.h>

#include "host/magnet/magnet_kernel.h"

struct command {
	const char *name, *usage, *help;
	int (*run)(int argc, char **argv); /* returns the exit status */
};

extern const struct command magnet_cmd_points, magnet_cmd_record, magnet_cmd_dump, magnet_cmd_stat,
    magnet_cmd_top, magnet_cmd_serve, magnet_cmd_view, magnet_cmd_on, magnet_cmd_off,
    magnet_cmd_filter, magnet_cmd_sample, magnet_cmd_status, magnet_cmd_add, magnet_cmd_remove,
    magnet_cmd_event;

enum { EXIT_USAGE = 2, EXIT_LOST = 3 };

/* Set by SIGINT and SIGTERM: a command that runs until then ends in order. */
extern volatile int stop_wanted;

/* Prints "magnet: TEXT" and returns 1. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the usage of a command and returns EXIT_USAGE. */
int usage(const struct command *c);

/* A number of the command line within bounds, or -1 with a message. */
double number_of(const char *text, double min, double max, const char *what);
/* A size with an optional suffix K, M or G; 0 with a message when it is none. */
uint64_t size_of(const char *text);

/* Opens the kernel or says why not; NULL then. */
struct kernel *kernel_or_fail(void);

/* Prints what was lost per point, if anything was; returns how much. */
uint64_t losses_print(struct kernel *k);

#endif

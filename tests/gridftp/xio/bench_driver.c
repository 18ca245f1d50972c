/* SPDX-License-Identifier: BSD-3-Clause */
/* What the driver costs: reads of one byte from /dev/zero through Globus XIO, with the driver on
 * the stack and without the driver, in turns, both without a wait (as the driver reads files, by
 * default) and with a wait for the byte ("exact=no"). Processor time of the process, the driver's
 * thread included; medians. The box is away. */
#include <globus_xio.h>
#include <globus_xio_file_driver.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 31, READS = 20000 };

static int64_t
cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Globus looks for drivers where the loader does, which looks once, at the start. */
static void
find_driver(char **argv)
{
	char path[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (getenv("LD_LIBRARY_PATH") != NULL || n < 0)
		return;
	path[n] = '\0';
	if ((slash = strstr(path, "/tests/")) == NULL)
		return;
	strcpy(slash, "/lib");
	setenv("LD_LIBRARY_PATH", path, 1);
	execv("/proc/self/exe", argv);
}

static globus_xio_handle_t
open_zero(globus_xio_driver_t file, globus_xio_driver_t driver, char *options)
{
	globus_xio_stack_t stack;
	globus_xio_attr_t attr;
	globus_xio_handle_t handle;

	globus_xio_stack_init(&stack, NULL);
	globus_xio_stack_push_driver(stack, file);
	globus_xio_attr_init(&attr);
	if (driver != NULL) {
		globus_xio_stack_push_driver(stack, driver);
		globus_xio_attr_cntl(attr, driver, GLOBUS_XIO_SET_STRING_OPTIONS, options);
	}
	if (globus_xio_handle_create(&handle, stack) != GLOBUS_SUCCESS ||
	    globus_xio_open(handle, "/dev/zero", attr) != GLOBUS_SUCCESS)
		exit(1);
	globus_xio_attr_destroy(attr);
	globus_xio_stack_destroy(stack);
	return handle;
}

static double
read_ns(globus_xio_handle_t handle, globus_size_t wait_for)
{
	globus_byte_t byte;
	globus_size_t n;
	int64_t start = cpu_ns();
	int i;

	for (i = 0; i < READS; i++)
		if (globus_xio_read(handle, &byte, 1, wait_for, &n, NULL) != GLOBUS_SUCCESS ||
		    n != 1)
			exit(1);
	return (double)(cpu_ns() - start) / READS;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
compare(globus_xio_driver_t file, globus_xio_driver_t driver, const char *what, char *options,
    globus_size_t wait_for)
{
	globus_xio_handle_t without = open_zero(file, NULL, NULL),
			    with = open_zero(file, driver, options);
	double bare[ROUNDS], measured[ROUNDS], more[ROUNDS];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		bare[i] = read_ns(without, wait_for);
		measured[i] = read_ns(with, wait_for);
		more[i] = measured[i] - bare[i];
	}
	qsort(bare, ROUNDS, sizeof(*bare), by_value);
	qsort(measured, ROUNDS, sizeof(*measured), by_value);
	qsort(more, ROUNDS, sizeof(*more), by_value);
	printf("a byte through XIO, %s: %.0f ns without the driver, %.0f ns with it: %.0f ns\n",
	    what, bare[ROUNDS / 2], measured[ROUNDS / 2], more[ROUNDS / 2]);
	globus_xio_close(with, NULL);
	globus_xio_close(without, NULL);
}

int
main(int argc, char **argv)
{
	static char exact[] = "exact=yes", waits[] = "exact=no";
	globus_xio_driver_t file, driver;

	(void)argc;
	find_driver(argv);
	setenv("NARROWS_BOX", "127.0.0.1/9", 1);
	globus_module_activate(GLOBUS_XIO_MODULE);
	if (globus_xio_driver_load("file", &file) != GLOBUS_SUCCESS ||
	    globus_xio_driver_load("narrows", &driver) != GLOBUS_SUCCESS) {
		fprintf(stderr, "bench_driver: the driver was not found\n");
		return 1;
	}
	compare(file, driver, "at once", exact, 0);
	compare(file, driver, "with a wait", waits, 1);
	globus_module_deactivate_all();
	return 0;
}

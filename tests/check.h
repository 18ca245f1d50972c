/* SPDX-License-Identifier: BSD-3-Clause */
/* What every unit test uses: CHECK counts and reports, check_done() prints the one PASS or FAIL
 * line. */
#ifndef CHECK_H
#define CHECK_H
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_count, check_failed;

#define CHECK(cond)                                                                \
	do {                                                                       \
		check_count++;                                                     \
		if (!(cond)) {                                                     \
			check_failed++;                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
		}                                                                  \
	} while (0)
#define CHECK_INT(got, want)                                                                  \
	do {                                                                                  \
		long long g_ = (long long)(got), w_ = (long long)(want);                      \
		check_count++;                                                                \
		if (g_ != w_) {                                                               \
			check_failed++;                                                       \
			fprintf(stderr, "%s:%d: %s is %lld, want %lld\n", __FILE__, __LINE__, \
			    #got, g_, w_);                                                    \
		}                                                                             \
	} while (0)
#define CHECK_STR(got, want)                                                                      \
	do {                                                                                      \
		const char *g_ = (got), *w_ = (want);                                             \
		check_count++;                                                                    \
		if (g_ == NULL || strcmp(g_, w_) != 0) {                                          \
			check_failed++;                                                           \
			fprintf(stderr, "%s:%d: %s is \"%s\", want \"%s\"\n", __FILE__, __LINE__, \
			    #got, g_ ? g_ : "(null)", w_);                                        \
		}                                                                                 \
	} while (0)
/* |got - want| <= abs_tol + rel_tol |want| */
#define CHECK_NEAR(got, want, rel_tol, abs_tol)                                                 \
	do {                                                                                    \
		double g_ = (got), w_ = (want);                                                 \
		check_count++;                                                                  \
		if (!(fabs(g_ - w_) <= (abs_tol) + (rel_tol)*fabs(w_))) {                       \
			check_failed++;                                                         \
			fprintf(stderr, "%s:%d: %s is %.17g, want %.17g\n", __FILE__, __LINE__, \
			    #got, g_, w_);                                                      \
		}                                                                               \
	} while (0)

/*
 * How many times longer than on an idle machine a test waits for what must happen: PATIENCE of the
 * environment, else the processes that want a processor, by processor, as in tests/patience.sh.
 */
static inline int
check_patience(void)
{
	const char *told = getenv("PATIENCE");
	int patience = told != NULL ? atoi(told) : 1, now = 1, running = 0;
	double load = 0;
	FILE *f = fopen("/proc/loadavg", "r");

	if (f != NULL) {
		if (fscanf(f, "%lf %*f %*f %d", &load, &running) == 2)
			now = 1 +
			    (int)((load > running ? load : running) /
				(double)sysconf(_SC_NPROCESSORS_ONLN));
		fclose(f);
	}
	return patience > now ? patience : now;
}

/* How many times a test repeats itself: `make calibrate` sets WHOLE, `make check` runs a sample. */
static inline long
check_repeats(long whole, long sample)
{
	return getenv("WHOLE") != NULL ? whole : sample;
}

/*
 * Makes a directory in memory, of a template "/dev/shm/NAME-XXXXXX", else in /tmp: the syncs of a
 * busy disk take most of the time of a store's test.
 */
static inline bool
check_dir(char *template)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp%s", strrchr(template, '/'));
	return mkdtemp(template) != NULL || mkdtemp(strcpy(template, name)) != NULL;
}

static inline int
check_done(const char *name)
{
	printf("%s %s: %d checks, %d failed\n", check_failed ? "FAIL" : "PASS", name, check_count,
	    check_failed);
	return check_failed != 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of one series and their input when memory ends: the N-th allocation fails, N = 0,
 * 1, 2 .. until all succeed. Each failure is NW_ENOMEM, and nothing stays allocated. */
#include <stdint.h>

#include "tests/check.h"
#include "cli/stat/io_file.h"
#include "cli/stat/stat.h"
#include "narrows/bottleneck.h"
#include "narrows/changepoint.h"
#include "narrows/density.h"
#include "narrows/err.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_MALLOC 0
#endif
#endif
#if !defined(OWN_MALLOC) && defined(__GLIBC__)
#define OWN_MALLOC 1
#endif

static long mallocs_left = -1, held;

#if OWN_MALLOC
/* The C library's own, counted: the n-th from now on fails. Sanitizers bring theirs, and go
 * without. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
__attribute__((visibility("default"))) void *malloc(size_t);
__attribute__((visibility("default"))) void *calloc(size_t, size_t);
__attribute__((visibility("default"))) void *realloc(void *, size_t);
__attribute__((visibility("default"))) void free(void *);

static int
malloc_fails(void)
{
	if (mallocs_left < 0 || mallocs_left-- > 0)
		return 0;
	mallocs_left = 0;
	return 1;
}

static void *
count(void *p)
{
	held += p != NULL;
	return p;
}

void *
malloc(size_t n)
{
	return malloc_fails() ? NULL : count(__libc_malloc(n));
}

void *
calloc(size_t n, size_t size)
{
	return malloc_fails() ? NULL : count(__libc_calloc(n, size));
}

void *
realloc(void *p, size_t n)
{
	if (malloc_fails())
		return NULL;
	return p == NULL ? count(__libc_realloc(p, n)) : __libc_realloc(p, n);
}

void
free(void *p)
{
	held -= p != NULL;
	__libc_free(p);
}
#endif

enum { N = 500 };
static double x[N];

static int
run_density(void)
{
	struct nw_density d;
	struct nw_classes c = { 0 };
	int rc = nw_density(x, N, &nw_density_defaults, &d);

	if (rc == NW_OK)
		rc = nw_classes_find(&d, NW_CLASS_H_MIN, NW_CLASS_CUTOFF_FRACTION, false, &c);
	nw_classes_clear(&c);
	nw_density_clear(&d);
	return rc;
}

static int
run_buckets(void)
{
	struct nw_density_bucket b[] = { { 100, 101, 5 }, { 150, 152, 9 }, { 900, 908, 4 } };
	struct nw_density d = { 0 };
	double step;
	int rc = nw_density_clock_step(b, 3, 1, &step);

	if (rc == NW_OK)
		rc = nw_density_buckets(b, 3, step, &nw_density_defaults, &d);
	nw_density_clear(&d);
	return rc;
}

static int
run_changes(void)
{
	struct nw_changes c;
	int rc = nw_changes(x, N, &nw_change_better, &c);

	nw_changes_clear(&c);
	return rc;
}

static int
run_bottleneck(void)
{
	struct nw_component c[2] = { { "a", x, N / 2 }, { "b", x + N / 2, N / 2 } };
	struct nw_bottleneck_options o = nw_bottleneck_better;
	struct nw_component_result r[2];
	struct nw_variance_test v;
	struct nw_bottleneck b;
	int rc;

	o.paired = true;
	rc = nw_bottleneck(c, 2, &o, r, &b);
	return rc == NW_OK ? nw_brown_forsythe(c, 2, &v) : rc;
}

static int
run_table(void)
{
	static const char text[] = "a,b,c\n1,2,x\n3,4,y\n";
	struct stat_error err = { "" };
	struct stat_table *t;
	int rc = stat_table_parse("f", text, sizeof(text) - 1, &t, &err);

	if (rc == NW_OK && stat_table_texts(t, "c", &err) == NULL)
		rc = NW_ENOMEM;
	CHECK((rc == NW_OK) == (err.text[0] == '\0'));
	stat_table_free(t);
	return rc;
}

static int
run_io_file(void)
{
	static const char text[] = "start_time,duration,size,offset\n0,1,2,3\n1,2,3,4\n";
	struct io_file f;
	int rc = io_file_parse(text, sizeof(text) - 1, false, &f);

	io_file_clear(&f);
	return rc;
}

static void
fail_each(const char *what, int (*run)(void))
{
	long n, before = held;
	int rc = NW_ENOMEM;

	for (n = 0; rc != NW_OK && n < 1000; n++) {
		mallocs_left = OWN_MALLOC ? n : -1;
		rc = run();
		mallocs_left = -1;
		CHECK(rc == NW_OK || rc == NW_ENOMEM);
		CHECK_INT(held, before);
	}
	if (rc != NW_OK || (OWN_MALLOC && n < 2)) {
		fprintf(stderr, "%s: ends with %d after %ld\n", what, rc, n);
		CHECK(rc == NW_OK && n >= 2);
	}
}

int
main(void)
{
	int i;

	for (i = 0; i < N; i++)
		x[i] = 1 + (double)(i * 7919 % 101) + (i > 300 ? 50 : 0);
	fail_each("density", run_density);
	fail_each("buckets", run_buckets);
	fail_each("changes", run_changes);
	fail_each("bottleneck", run_bottleneck);
	fail_each("table", run_table);
	fail_each("io_file", run_io_file);
	return check_done("nomemory");
}

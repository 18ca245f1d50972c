/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OpenBLAS for the one program that rarely needs the library: `narrows` loads it with the first
 * fit. Loading and relocating OpenBLAS and Fortran's library takes longer than most commands of
 * narrows. The functions have OpenBLAS's names and stand before the library on the linker's line,
 * so that the analysis does not know; a routine that is missing here is found by the linker in the
 * library, which then is loaded at the start as usual.
 */
#include <cblas.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/lapack.h"

#define SONAME "libopenblas.so.0"

/* The library belongs to the package; without it no fit can be answered. */
static void *
routine(const char *name)
{
	static void *library;
	void *at;

	if (library == NULL)
		library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
	at = library != NULL ? dlsym(library, name) : NULL;
	if (at == NULL) {
		fprintf(stderr, "narrows: %s\n", dlerror());
		exit(1);
	}
	return at;
}

/* The address of a routine is looked up at its first call. */
#define CALL(name, ...)                         \
	static __typeof__(&name) at;            \
	if (at == NULL)                         \
		*(void **)&at = routine(#name); \
	return at(__VA_ARGS__)

int
openblas_get_num_threads(void)
{
	CALL(openblas_get_num_threads);
}
void
openblas_set_num_threads(int n)
{
	CALL(openblas_set_num_threads, n);
}

double
cblas_ddot(blasint n, const double *x, blasint incx, const double *y, blasint incy)
{
	CALL(cblas_ddot, n, x, incx, y, incy);
}

double
cblas_dnrm2(blasint n, const double *x, blasint incx)
{
	CALL(cblas_dnrm2, n, x, incx);
}

void
cblas_dscal(blasint n, double alpha, double *x, blasint incx)
{
	CALL(cblas_dscal, n, alpha, x, incx);
}

void
cblas_daxpy(blasint n, double alpha, const double *x, blasint incx, double *y, blasint incy)
{
	CALL(cblas_daxpy, n, alpha, x, incx, y, incy);
}

void
cblas_dgemv(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE trans, blasint m, blasint n, double alpha,
    const double *a, blasint lda, const double *x, blasint incx, double beta, double *y,
    blasint incy)
{
	CALL(cblas_dgemv, order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

void
cblas_dger(enum CBLAS_ORDER order, blasint m, blasint n, double alpha, const double *x,
    blasint incx, const double *y, blasint incy, double *a, blasint lda)
{
	CALL(cblas_dger, order, m, n, alpha, x, incx, y, incy, a, lda);
}

void
cblas_dtrmm(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO uplo,
    enum CBLAS_TRANSPOSE trans, enum CBLAS_DIAG diag, blasint m, blasint n, double alpha,
    const double *a, blasint lda, double *b, blasint ldb)
{
	CALL(cblas_dtrmm, order, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
}

void
cblas_dsyrk(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo, enum CBLAS_TRANSPOSE trans, blasint n,
    blasint k, double alpha, const double *a, blasint lda, double beta, double *c, blasint ldc)
{
	CALL(cblas_dsyrk, order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
}

void
cblas_dgemm(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE transa, enum CBLAS_TRANSPOSE transb,
    blasint m, blasint n, blasint k, double alpha, const double *a, blasint lda, const double *b,
    blasint ldb, double beta, double *c, blasint ldc)
{
	CALL(cblas_dgemm, order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void
dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
    const int *lwork, int *info)
{
	CALL(dgeqrf_, m, n, a, lda, tau, work, lwork, info);
}

void
dlarfg_(const int *n, double *alpha, double *x, const int *incx, double *tau)
{
	CALL(dlarfg_, n, alpha, x, incx, tau);
}

void
dlarfx_(const char *side, const int *m, const int *n, const double *v, const double *tau, double *c,
    const int *ldc, double *work, size_t side_len)
{
	CALL(dlarfx_, side, m, n, v, tau, c, ldc, work, side_len);
}

void
dtrtri_(const char *uplo, const char *diag, const int *n, double *a, const int *lda, int *info,
    size_t uplo_len, size_t diag_len)
{
	CALL(dtrtri_, uplo, diag, n, a, lda, info, uplo_len, diag_len);
}

void
dposv_(const char *uplo, const int *n, const int *nrhs, double *a, const int *lda, double *b,
    const int *ldb, int *info, size_t uplo_len)
{
	CALL(dposv_, uplo, n, nrhs, a, lda, b, ldb, info, uplo_len);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The routines of LAPACK that the fits call, in OpenBLAS's own library. LAPACKE, the C interface,
 * would load three more libraries and double the time that a command needs to start. Matrices are
 * in column order; the hidden lengths of character arguments come last, as gfortran passes them.
 */
#ifndef NARROWS_ANALYZE_LAPACK_H
#define NARROWS_ANALYZE_LAPACK_H

#include <stddef.h>

void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
    const int *lwork, int *info);
void dlarfg_(const int *n, double *alpha, double *x, const int *incx, double *tau);
void dlarfx_(const char *side, const int *m, const int *n, const double *v, const double *tau,
    double *c, const int *ldc, double *work, size_t side_len);
void dtrtri_(const char *uplo, const char *diag, const int *n, double *a, const int *lda, int *info,
    size_t uplo_len, size_t diag_len);
void dposv_(const char *uplo, const int *n, const int *nrhs, double *a, const int *lda, double *b,
    const int *ldb, int *info, size_t uplo_len);

#endif

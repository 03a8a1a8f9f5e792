/* A BLAS found at import time, for products of float32 and float64 matrices; without one our own code does them. */
#ifndef COUNTERFOIL_BLAS_H
#define COUNTERFOIL_BLAS_H

#include <stdbool.h>
#include <stdint.h>

/* A matrix whose rows or columns are contiguous: (i, j) lies at data[i * lead + j], transposed data[j * lead + i]. */
typedef struct cf_matrix {
    void *data;
    int64_t lead;
    bool transposed;
} cf_matrix;

/* Adopts cblas_sgemm and cblas_dgemm with 64-bit (wide) or 32-bit integers. Called once, before any kernel runs: the
 * two pointers and the team of parallel.h are the only global state of the core. NULL: none. */
void cf_blas_use(void *sgemm, void *dgemm, bool wide);

bool cf_blas_present(void);

/* Whether there is one whose integers hold these extents and leads. */
bool cf_blas_takes(int64_t m, int64_t n, int64_t k, int64_t longest_lead);

/* c = a b with a of m by k, b of k by n, none of the extents 0; c not transposed. */
void cf_blas_product(bool single, int64_t m, int64_t n, int64_t k, cf_matrix a, cf_matrix b, cf_matrix c);

/* The same as generated code calls it: row-major, c = alpha a b + beta c, trans 0 or 1. Only where one is present; the
 * extents and leads are those of nodes, which 32 bits hold. */
void cf_blas_sgemm(int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                   const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void cf_blas_dgemm(int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
                   const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

#endif

/* Calls into a BLAS (blas.h). */
#include "blas.h"

#include <limits.h>
#include <stddef.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

#define GEMM(name, integer, real)                                                                                     \
    typedef void (*name)(int, int, int, integer, integer, integer, real, const real *, integer, const real *, integer, \
                         real, real *, integer)

GEMM(sgemm_wide, int64_t, float);
GEMM(dgemm_wide, int64_t, double);
GEMM(sgemm_narrow, int, float);
GEMM(dgemm_narrow, int, double);

/* Written once at import, read-only from then on. */
static struct {
    void *single, *precise;
    bool wide;
} adopted;

void cf_blas_use(void *sgemm, void *dgemm, bool wide) {
    adopted.single = sgemm;
    adopted.precise = dgemm;
    adopted.wide = wide;
}

bool cf_blas_takes(int64_t m, int64_t n, int64_t k, int64_t longest_lead) {
    int64_t most = adopted.wide ? INT64_MAX : INT_MAX;
    return cf_blas_present() && m <= most && n <= most && k <= most && longest_lead <= most;
}

bool cf_blas_present(void) { return adopted.single != NULL && adopted.precise != NULL; }

static int order_of(cf_matrix matrix) { return matrix.transposed ? TRANSPOSED : PLAIN; }

#define CALL(type, pointer, one, zero)                                                                                \
    ((type)(pointer))(ROW_MAJOR, order_of(a), order_of(b), m, n, k, one, a.data, a.lead, b.data, b.lead, zero, c.data, \
                      c.lead)

static void product_wide(bool single, int64_t m, int64_t n, int64_t k, cf_matrix a, cf_matrix b, cf_matrix c) {
    if (single) {
        CALL(sgemm_wide, adopted.single, 1.0f, 0.0f);
    } else {
        CALL(dgemm_wide, adopted.precise, 1.0, 0.0);
    }
}

#undef CALL
#define CALL(type, pointer, one, zero)                                                                                \
    ((type)(pointer))(ROW_MAJOR, order_of(a), order_of(b), (int)m, (int)n, (int)k, one, a.data, (int)a.lead, b.data,   \
                      (int)b.lead, zero, c.data, (int)c.lead)

static void product_narrow(bool single, int64_t m, int64_t n, int64_t k, cf_matrix a, cf_matrix b, cf_matrix c) {
    if (single) {
        CALL(sgemm_narrow, adopted.single, 1.0f, 0.0f);
    } else {
        CALL(dgemm_narrow, adopted.precise, 1.0, 0.0);
    }
}

void cf_blas_product(bool single, int64_t m, int64_t n, int64_t k, cf_matrix a, cf_matrix b, cf_matrix c) {
    if (adopted.wide) {
        product_wide(single, m, n, k, a, b, c);
    } else {
        product_narrow(single, m, n, k, a, b, c);
    }
}

/* ---- as a service ---- */

static int transposition(int trans) { return trans ? TRANSPOSED : PLAIN; }

#define SERVICE(name, real, wide_type, narrow_type, pointer)                                                           \
    void name(int transa, int transb, int64_t m, int64_t n, int64_t k, real alpha, const real *a, int64_t lda,        \
              const real *b, int64_t ldb, real beta, real *c, int64_t ldc) {                                          \
        int first = transposition(transa), second = transposition(transb);                                            \
        if (adopted.wide) {                                                                                           \
            ((wide_type)(pointer))(ROW_MAJOR, first, second, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);           \
        } else {                                                                                                      \
            ((narrow_type)(pointer))(ROW_MAJOR, first, second, (int)m, (int)n, (int)k, alpha, a, (int)lda, b,         \
                                     (int)ldb, beta, c, (int)ldc);                                                    \
        }                                                                                                             \
    }

SERVICE(cf_blas_sgemm, float, sgemm_wide, sgemm_narrow, adopted.single)
SERVICE(cf_blas_dgemm, double, dgemm_wide, dgemm_narrow, adopted.precise)

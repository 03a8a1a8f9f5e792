/* The inner loops of matrix products (product.h): ROWS rows by one vector of columns in registers. */
#include "product.h"

#include <string.h>

#include "vector.h"
#include "words.h"

enum { SIDE = CF_PRODUCT_SIDE, DEPTH = CF_PRODUCT_DEPTH, ROWS = 8, VECTOR_BYTES = 64 };

#define PRODUCT(name, type)                                                                                           \
    typedef type name##_vector __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(type)), may_alias));           \
    CF_VECTOR static void name(const type *a, const type *b, type *c) {                                               \
        enum { COLUMNS = VECTOR_BYTES / sizeof(type) };                                                               \
        for (int j = 0; j < SIDE; j += COLUMNS) {                                                                     \
            for (int i = 0; i < SIDE; i += ROWS) {                                                                    \
                name##_vector sums[ROWS];                                                                             \
                for (int r = 0; r < ROWS; r++) memcpy(&sums[r], c + (i + r) * SIDE + j, VECTOR_BYTES);                \
                for (int l = 0; l < DEPTH; l++) {                                                                     \
                    name##_vector row;                                                                                \
                    memcpy(&row, b + l * SIDE + j, VECTOR_BYTES);                                                     \
                    for (int r = 0; r < ROWS; r++) sums[r] += a[(i + r) * DEPTH + l] * row;                           \
                }                                                                                                     \
                for (int r = 0; r < ROWS; r++) memcpy(c + (i + r) * SIDE + j, &sums[r], VECTOR_BYTES);                \
            }                                                                                                         \
        }                                                                                                             \
    }

PRODUCT(product_float, float)
PRODUCT(product_double, double)
PRODUCT(product_uint32, uint32_t)
PRODUCT(product_uint64, uint64_t)

void cf_product_block(int computing, const void *a, const void *b, void *c) {
    switch (computing) {
    case CF_FLOAT32: product_float(a, b, c); return;
    case CF_FLOAT64: product_double(a, b, c); return;
    case CF_INT32:
    case CF_UINT32: product_uint32(a, b, c); return;
    default: product_uint64(a, b, c); return;
    }
}

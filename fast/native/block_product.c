/* Matrix products for generated code (block_product.h), once for each kind of CPU. */
#include "block_product.h"

#include <stdbool.h>
#include <string.h>

enum { ROWS = 6, DEPTH = 256, CACHED_BYTES = 1 << 19 };

#define UNROLL _Pragma("GCC unroll 6")

/* The terms of a product's sums may be fused with the additions (N3); nothing else in the core may. */
#if defined(__clang__)
#define FUSED __attribute__((noinline))
#define CONTRACT _Pragma("clang fp contract(fast)")
#else
#define FUSED __attribute__((noinline, optimize("fp-contract=fast")))
#define CONTRACT
#endif

#define VECTOR_BYTES 16
#define WIDE 2
#define TARGET
#define TYPE float
#define NAMED(name) plain_##name##_f32
#include "block_product.inc"
#define TYPE double
#define NAMED(name) plain_##name##_f64
#include "block_product.inc"
#undef VECTOR_BYTES
#undef WIDE
#undef TARGET

#if defined(__x86_64__)
#define VECTOR_BYTES 32
#define WIDE 2
#define TARGET __attribute__((target("avx2,fma")))
#define TYPE float
#define NAMED(name) avx2_##name##_f32
#include "block_product.inc"
#define TYPE double
#define NAMED(name) avx2_##name##_f64
#include "block_product.inc"
#undef VECTOR_BYTES
#undef WIDE
#undef TARGET

#define VECTOR_BYTES 64
#define WIDE 4
#define TARGET __attribute__((target("avx2,fma,avx512f")))
#define TYPE float
#define NAMED(name) avx512_##name##_f32
#include "block_product.inc"
#define TYPE double
#define NAMED(name) avx512_##name##_f64
#include "block_product.inc"
#undef VECTOR_BYTES
#undef WIDE
#undef TARGET

#define LEVELS(type) {plain_product_##type, avx2_product_##type, avx512_product_##type}

static bool has(int level) {
    if (level == CF_BLOCK_AVX512) return has(CF_BLOCK_AVX2) && __builtin_cpu_supports("avx512f");
    if (level == CF_BLOCK_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return level == CF_BLOCK_PLAIN;
}
#else
#define LEVELS(type) {plain_product_##type}

static bool has(int level) {
    return level == CF_BLOCK_PLAIN;
}
#endif

cf_product_f32 *cf_block_product_f32(int level) {
    static cf_product_f32 *const products[] = LEVELS(f32);
    return has(level) ? products[level] : NULL;
}

cf_product_f64 *cf_block_product_f64(int level) {
    static cf_product_f64 *const products[] = LEVELS(f64);
    return has(level) ? products[level] : NULL;
}

#define PACK(name, type)                                                                                              \
    void name(int64_t k, int64_t n, const type *b, int64_t b_term, int64_t b_column, type *packed, int64_t row) {     \
        for (int64_t p = 0; p < k; p++) {                                                                             \
            type *to = packed + p * row;                                                                              \
            if (b_column == 1) memcpy(to, b + p * b_term, n * sizeof(type));                                          \
            else for (int64_t j = 0; j < n; j++) to[j] = b[p * b_term + j * b_column];                                \
            memset(to + n, 0, (row - n) * sizeof(type));                                                              \
        }                                                                                                             \
    }

PACK(cf_block_pack_f32, float)
PACK(cf_block_pack_f64, double)

/* Matrix products for generated code: blocks of six rows hold their sums in vector registers.
 *
 * A term's product may be fused with its addition (N3), so each level gives bits of its own; on one level they depend
 * on the operands alone. A share of the rows gives the bits that the whole gives.
 */
#ifndef COUNTERFOIL_BLOCK_PRODUCT_H
#define COUNTERFOIL_BLOCK_PRODUCT_H

#include <stdint.h>

/* Rows of b and of what is packed may be read up to a whole vector: this many bytes. */
enum { CF_BLOCK_BYTES = 64 };

/* c (+)= a b with a of m by k, b of k by n: a(i, p) lies at a[i * a_row + p * a_term], the columns of b and c are
 * contiguous. zero: from 0 instead of from what c holds. */
typedef void cf_product_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_term,
                            const float *b, int64_t b_term, float *c, int64_t c_row, int zero);
typedef void cf_product_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t a_row, int64_t a_term,
                            const double *b, int64_t b_term, double *c, int64_t c_row, int zero);

/* packed(p, j) = b(p, j) at b[p * b_term + j * b_column], for k terms and n columns; 0 up to the packed row's length. */
typedef void cf_pack_f32(int64_t k, int64_t n, const float *b, int64_t b_term, int64_t b_column, float *packed,
                         int64_t row);
typedef void cf_pack_f64(int64_t k, int64_t n, const double *b, int64_t b_term, int64_t b_column, double *packed,
                         int64_t row);
cf_pack_f32 cf_block_pack_f32;
cf_pack_f64 cf_block_pack_f64;

/* What the products are compiled for, the better the later. */
enum cf_block_level { CF_BLOCK_PLAIN, CF_BLOCK_AVX2, CF_BLOCK_AVX512 };

/* The products of a level; NULL where this CPU lacks it. */
cf_product_f32 *cf_block_product_f32(int level);
cf_product_f64 *cf_block_product_f64(int level);

#endif

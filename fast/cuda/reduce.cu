/* sum, prod, mean: terms joined in the computing format, the result rounded once.
 *
 * Defines: CF_DTYPE, the dtype of source and destination; CF_PRODUCT or CF_MEAN, neither for sums; CF_KEPT, CF_WALKED;
 * CF_WIDE where there are 2^31 results or
 * terms; CF_NEIGHBOURS (reduction.cuh).
 */
#include "computing.cuh"
#include "walk.cuh"

typedef cf_compute cf_part;

#ifdef CF_PRODUCT

CF_DEVICE cf_part cf_no_part() { return cf_compute_of(1); }

CF_DEVICE cf_part cf_join(cf_part a, cf_part b) { return a * b; }

#else

CF_DEVICE cf_part cf_no_part() { return cf_compute_of(0); }

CF_DEVICE cf_part cf_join(cf_part a, cf_part b) { return cf_sum(a, b); }

#endif

CF_DEVICE cf_part cf_part_of(cf_code<CF_DTYPE> code, cf_index at) { return cf_compute_of_code(code); }

/* A mean of no term is 0 / 0. */
CF_DEVICE void cf_finish(unsigned char *dst, long long position, cf_part part, long long terms) {
#ifdef CF_MEAN
    part = cf_over(part, terms);
#endif
    cf_store_compute(dst, position, part);
}

#include "reduction.cuh"

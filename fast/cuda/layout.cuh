/* Several operands of one shape, by value: where each one's element of an index lies.
 *
 * The host drops axes of one index, orders the others so that the written operand's nearest neighbours come last, and
 * merges what all operands walk as one. An index is taken apart without a division: the quotient by an extent is the high
 * half of a product with a multiplier, added and shifted, exact below 2^31 for 32 bits and below 2^63 for 64. CF_WIDE
 * chooses 64 bits.
 */
#ifndef COUNTERFOIL_LAYOUT_CUH
#define COUNTERFOIL_LAYOUT_CUH

#include "numbers.cuh"

#ifdef CF_WIDE
typedef cf_u64 cf_number;
typedef cf_i64 cf_step;
CF_DEVICE cf_number cf_high_half(cf_number x, cf_number y) { return __umul64hi(x, y); }
#else
typedef cf_u32 cf_number;
typedef cf_i32 cf_step;
CF_DEVICE cf_number cf_high_half(cf_number x, cf_number y) { return (cf_number)((cf_u64)x * y >> 32); }
#endif

/* N operands, at most R axes, the last of them the innermost. An operand's element at index 0 is its position `start`
 * from `data`; only sub-byte operands have one other than 0. */
template <int N, int R> struct cf_operands {
    void *data[N];
    cf_i64 start[N];
    cf_number size, rank;
    cf_number extent[R], multiplier[R], shift[R];
    cf_step stride[N][R]; /* in elements */
};

template <int N> struct cf_places {
    cf_i64 at[N];
};

/* The positions of all operands' elements of an index, counted from their data. */
template <int N, int R> CF_DEVICE cf_places<N> cf_places_of(const cf_operands<N, R> &all, cf_number index) {
    cf_step moved[N];
#pragma unroll
    for (int k = 0; k < N; k++) moved[k] = 0;
    for (int axis = (int)all.rank - 1; axis > 0; axis--) {
        cf_number quotient = (cf_high_half(index, all.multiplier[axis]) + index) >> all.shift[axis];
        cf_step along = (cf_step)(index - quotient * all.extent[axis]);
#pragma unroll
        for (int k = 0; k < N; k++) moved[k] += along * all.stride[k][axis];
        index = quotient;
    }
    cf_places<N> places;
#pragma unroll
    for (int k = 0; k < N; k++) places.at[k] = all.start[k] + (cf_i64)(moved[k] + (cf_step)index * all.stride[k][0]);
    return places;
}

/* The first index of this thread, and how far apart its indices are. */
CF_DEVICE cf_u64 cf_first_index() { return (cf_u64)blockIdx.x * blockDim.x + threadIdx.x; }
CF_DEVICE cf_u64 cf_index_step() { return (cf_u64)gridDim.x * blockDim.x; }

#endif

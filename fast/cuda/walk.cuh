/* Walks: the positions of an index over up to N axes, found without a division.
 *
 * The host gives the axes innermost first, neighbours that are walked as one already merged. An index is divided by an
 * extent through a multiplication with the extent's scaled reciprocal, exact below 2^31; CF_WIDE makes indices 64 bits,
 * and this exact below 2^63. A walk of up to four axes is padded to N with extents of 1 and unrolled.
 */
#ifndef COUNTERFOIL_WALK_CUH
#define COUNTERFOIL_WALK_CUH

#ifdef CF_WIDE
typedef unsigned long long cf_index;
#else
typedef unsigned cf_index;
#endif

/* Strides in elements, of the first and of the second operand of the walk. */
struct cf_axis {
    long long extent, stride, other;
    unsigned long long wide_multiplier;
    unsigned multiplier, shift;
};

template <int N> struct cf_walk {
    long long rank; /* at least 1 */
    cf_axis axes[N];
};

struct cf_place {
    long long here, there; /* positions in the first and the second operand */
};

__device__ __forceinline__ cf_index cf_quotient(cf_index index, const cf_axis &axis) {
#ifdef CF_WIDE
    return (__umul64hi(index, axis.wide_multiplier) + index) >> axis.shift;
#else
    return (__umulhi(index, axis.multiplier) + index) >> axis.shift;
#endif
}

/* The positions of an index, relative to those of index 0. */
template <int N> __device__ __forceinline__ cf_place cf_place_of(const cf_walk<N> &walk, cf_index index) {
    cf_place place = {0, 0};
    int last = N <= 4 ? N - 1 : (int)walk.rank - 1;
#pragma unroll(N <= 4 ? N : 1)
    for (int k = 0; k < last; k++) {
        cf_index quotient = cf_quotient(index, walk.axes[k]);
        long long at = (long long)(index - quotient * (cf_index)walk.axes[k].extent);
        place.here += at * walk.axes[k].stride;
        place.there += at * walk.axes[k].other;
        index = quotient;
    }
    place.here += (long long)index * walk.axes[last].stride;
    place.there += (long long)index * walk.axes[last].other;
    return place;
}

#endif

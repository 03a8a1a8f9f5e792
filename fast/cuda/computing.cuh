/* One dtype's computing format: CF_DTYPE's floats in float or double, its integers modulo a power of two in 32 or 64
 * bits without a sign, complex numbers as pairs. Loads are exact, stores round once or drop the high bits. */
#ifndef COUNTERFOIL_COMPUTING_CUH
#define COUNTERFOIL_COMPUTING_CUH

#include "numbers.cuh"

/* From and to the type that numbers.cuh computes in. */
template <class VALUE> struct cf_computed {
    typedef VALUE type;
    CF_DEVICE static type whole(int x) { return (type)x; }
};
template <class T> struct cf_computed<cf_pair<T>> {
    typedef cf_pair<T> type;
    CF_DEVICE static type whole(int x) { return {(T)x, 0}; }
};
template <> struct cf_computed<cf_i32> {
    typedef cf_u32 type;
    CF_DEVICE static type whole(int x) { return (type)x; }
};
template <> struct cf_computed<cf_i64> {
    typedef cf_u64 type;
    CF_DEVICE static type whole(int x) { return (type)x; }
};

typedef cf_wide<CF_DTYPE> cf_value;
typedef cf_computed<cf_value>::type cf_compute;

CF_DEVICE cf_compute cf_compute_of_code(cf_code<CF_DTYPE> code) { return (cf_compute)cf_widen<CF_DTYPE>(code); }

CF_DEVICE cf_compute cf_load_compute(const unsigned char *data, long long position) {
    return cf_compute_of_code(cf_load<CF_DTYPE>(data, position));
}

CF_DEVICE void cf_store_compute(unsigned char *data, long long position, cf_compute value) {
    cf_store<CF_DTYPE>(data, position, cf_narrow<CF_DTYPE>((cf_value)value));
}

/* 0 or 1. */
CF_DEVICE cf_compute cf_compute_of(int whole) { return cf_computed<cf_value>::whole(whole); }

template <class T> CF_DEVICE T cf_sum(T a, T b) { return a + b; }
template <class T> CF_DEVICE cf_pair<T> cf_sum(cf_pair<T> a, cf_pair<T> b) { return {a.re + b.re, a.im + b.im}; }

/* A sum over a number of terms. */
template <class T> CF_DEVICE T cf_over(T sum, long long terms) { return sum / (T)terms; }
template <class T> CF_DEVICE cf_pair<T> cf_over(cf_pair<T> sum, long long terms) {
    return {sum.re / (T)terms, sum.im / (T)terms};
}

#endif

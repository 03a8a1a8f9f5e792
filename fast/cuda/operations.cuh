/* What the pointwise kernels compute: cf_<kernel><dtype>(codes) gives the result's code, rounded once to the dtype.
 *
 * No comparison of NaN is true but "not equal". Functions are CUDA's own of the computing format, whose documented errors
 * are within the bounds of the kernel table. */
#ifndef COUNTERFOIL_OPERATIONS_CUH
#define COUNTERFOIL_OPERATIONS_CUH

#include "numbers.cuh"
#include "exact.cuh"

#define CF_UNARY(name, expression)                                                                                    \
    template <int D> CF_DEVICE cf_code<D> cf_##name(cf_code<D> x_code) {                                              \
        cf_wide<D> x = cf_widen<D>(x_code);                                                                           \
        return cf_narrow<D>(expression);                                                                              \
    }
#define CF_BINARY_INTO(name, result, expression)                                                                      \
    template <int D> CF_DEVICE cf_code<result> cf_##name(cf_code<D> x_code, cf_code<D> y_code) {                      \
        cf_wide<D> x = cf_widen<D>(x_code), y = cf_widen<D>(y_code);                                                  \
        return cf_narrow<result>(expression);                                                                         \
    }
#define CF_BINARY(name, expression) CF_BINARY_INTO(name, D, expression)

/* ---- the functions of math.h by format -------------------------------------------------------------------------- */

#define CF_FUNCTION(name)                                                                                             \
    CF_DEVICE float cf_real_##name(float x) { return name##f(x); }                                                    \
    CF_DEVICE double cf_real_##name(double x) { return name(x); }
#define CF_FUNCTION_OF_TWO(name)                                                                                      \
    CF_DEVICE float cf_real_##name(float x, float y) { return name##f(x, y); }                                        \
    CF_DEVICE double cf_real_##name(double x, double y) { return name(x, y); }

#define CF_FUNCTION_KERNEL(name)                                                                                      \
    CF_FUNCTION(name)                                                                                                 \
    CF_UNARY(name, cf_real_##name(x))

CF_FUNCTION_KERNEL(sqrt)
CF_FUNCTION_KERNEL(floor)
CF_FUNCTION_KERNEL(ceil)
CF_FUNCTION_KERNEL(round)
CF_FUNCTION_KERNEL(trunc)
CF_FUNCTION_KERNEL(exp)
CF_FUNCTION_KERNEL(exp2)
CF_FUNCTION_KERNEL(log)
CF_FUNCTION_KERNEL(log2)
CF_FUNCTION_KERNEL(log1p)
CF_FUNCTION_KERNEL(expm1)
CF_FUNCTION_KERNEL(sin)
CF_FUNCTION_KERNEL(cos)
CF_FUNCTION_KERNEL(tan)
CF_FUNCTION_KERNEL(asin)
CF_FUNCTION_KERNEL(acos)
CF_FUNCTION_KERNEL(atan)
CF_FUNCTION_KERNEL(sinh)
CF_FUNCTION_KERNEL(cosh)
CF_FUNCTION_KERNEL(tanh)
CF_FUNCTION_KERNEL(erf)
CF_FUNCTION_OF_TWO(fmod)
CF_FUNCTION_OF_TWO(pow)
CF_FUNCTION_OF_TWO(atan2)

/* ---- one operand ------------------------------------------------------------------------------------------------ */

/* A float's sign is its highest bit, whatever the rest of it says. */
template <int D> CF_DEVICE constexpr cf_code<D> cf_sign_bit() {
    return (cf_code<D>)((cf_u64)1 << (cf_traits<D>::bits - 1));
}

template <int D> CF_DEVICE cf_code<D> cf_neg(cf_code<D> x) {
    if constexpr (D == CF_COMPLEX64) return {cf_neg<CF_FLOAT32>(x.re), cf_neg<CF_FLOAT32>(x.im)};
    else if constexpr (D == CF_COMPLEX128) return {cf_neg<CF_FLOAT64>(x.re), cf_neg<CF_FLOAT64>(x.im)};
    else if constexpr (cf_is_integer<D>()) return cf_narrow<D>(cf_widen<D>((cf_code<D>)(0 - x)));
    else return x ^ cf_sign_bit<D>();
}

template <int D> CF_DEVICE cf_code<D> cf_abs(cf_code<D> x) {
    if constexpr (!cf_is_integer<D>()) return x & (cf_code<D>)~cf_sign_bit<D>();
    else if constexpr (cf_traits<D>::kind == CF_IS_UNSIGNED) return x;
    else return cf_widen<D>(x) < 0 ? cf_neg<D>(x) : x;
}

template <int D> CF_DEVICE cf_wide<D> cf_reciprocal(cf_wide<D> x) {
    if constexpr (!cf_is_integer<D>()) return 1 / x;
    else if constexpr (cf_traits<D>::kind == CF_IS_UNSIGNED) return x == 1;
    else return x == 1 || x == -1 ? x : 0;
}
CF_UNARY(recip, cf_reciprocal<D>(x))

template <int D> CF_DEVICE cf_wide<D> cf_signum(cf_wide<D> x) {
    if constexpr (cf_traits<D>::kind == CF_IS_UNSIGNED) return x != 0;
    else return x > 0 ? (cf_wide<D>)1 : x < 0 ? (cf_wide<D>)-1 : x;
}
CF_UNARY(sign, cf_signum<D>(x))

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

/* Sums and products wrap in unsigned types. */
template <class T> struct cf_ring_of {
    typedef T type;
};
template <> struct cf_ring_of<cf_i32> {
    typedef cf_u32 type;
};
template <> struct cf_ring_of<cf_i64> {
    typedef cf_u64 type;
};
template <class T> using cf_ring = typename cf_ring_of<T>::type;

template <class T> CF_DEVICE T cf_sum_of(T x, T y) { return (T)((cf_ring<T>)x + (cf_ring<T>)y); }
template <class T> CF_DEVICE T cf_difference_of(T x, T y) { return (T)((cf_ring<T>)x - (cf_ring<T>)y); }
template <class T> CF_DEVICE T cf_product_of(T x, T y) { return (T)((cf_ring<T>)x * (cf_ring<T>)y); }
template <class T> CF_DEVICE cf_pair<T> cf_sum_of(cf_pair<T> x, cf_pair<T> y) { return {x.re + y.re, x.im + y.im}; }
template <class T> CF_DEVICE cf_pair<T> cf_difference_of(cf_pair<T> x, cf_pair<T> y) {
    return {x.re - y.re, x.im - y.im};
}
template <class T> CF_DEVICE cf_pair<T> cf_product_of(cf_pair<T> x, cf_pair<T> y) {
    return {cf_determinant(x.re, y.re, -x.im, y.im), cf_determinant(x.re, y.im, x.im, y.re)};
}
CF_BINARY(add, cf_sum_of(x, y))
CF_BINARY(sub, cf_difference_of(x, y))
CF_BINARY(mul, cf_product_of(x, y))
CF_BINARY(fdiv, x / y)

/* Quotient toward zero; by zero it is 0, and by -1 the wrapping negation. */
template <int D> CF_DEVICE cf_wide<D> cf_quotient_of(cf_wide<D> x, cf_wide<D> y) {
    if (y == 0) return 0;
    if (cf_traits<D>::kind == CF_IS_SIGNED && y == (cf_wide<D>)-1) return cf_difference_of((cf_wide<D>)0, x);
    return x / y;
}
CF_BINARY(idiv, cf_quotient_of<D>(x, y))

/* Remainder of the dividend's sign; by an integer zero the dividend. */
template <int D> CF_DEVICE cf_wide<D> cf_remainder_of(cf_wide<D> x, cf_wide<D> y) {
    if constexpr (!cf_is_integer<D>()) {
        return cf_real_fmod(x, y);
    } else {
        if (y == 0) return x;
        if (cf_traits<D>::kind == CF_IS_SIGNED && y == (cf_wide<D>)-1) return 0;
        return x % y;
    }
}
CF_BINARY(mod, cf_remainder_of<D>(x, y))

/* Integers wrap; a negative power is 0 but for the bases 1 and -1. Of floats, 1 to any power and any base to the power 0
 * are 1, whatever the other is. */
template <int D> CF_DEVICE cf_wide<D> cf_power_of(cf_wide<D> x, cf_wide<D> y) {
    typedef cf_ring<cf_wide<D>> ring;
    if constexpr (!cf_is_integer<D>()) {
        return x == 1 || y == 0 ? (cf_wide<D>)1 : cf_real_pow(x, y);
    } else {
        if (cf_traits<D>::kind == CF_IS_SIGNED && y < 1 && y != 0) {
            return x == 1 ? 1 : x == (cf_wide<D>)-1 ? (y & 1 ? x : 1) : 0;
        }
        ring result = 1, base = (ring)x;
        for (ring rest = (ring)y; rest != 0; rest >>= 1) {
            if (rest & 1) result *= base;
            base *= base;
        }
        return (cf_wide<D>)result;
    }
}
CF_BINARY(pow, cf_power_of<D>(x, y))
CF_BINARY(atan2, cf_real_atan2(x, y))

/* ---- selections ------------------------------------------------------------------------------------------------- */

/* Equal floats differ at most in a zero's sign, which joining the bits orders; a NaN loses every comparison. */
template <class T> CF_DEVICE T cf_greater_of(T x, T y) { return x > y ? x : y; }
template <class T> CF_DEVICE T cf_lesser_of(T x, T y) { return x < y ? x : y; }
template <class T> CF_DEVICE T cf_greater_real(T x, T y) {
    return x != x ? x : x == y ? cf_real_of(cf_bits_of(x) & cf_bits_of(y)) : x > y ? x : y;
}
template <class T> CF_DEVICE T cf_lesser_real(T x, T y) {
    return x != x ? x : x == y ? cf_real_of(cf_bits_of(x) | cf_bits_of(y)) : x < y ? x : y;
}
CF_DEVICE float cf_greater_of(float x, float y) { return cf_greater_real(x, y); }
CF_DEVICE float cf_lesser_of(float x, float y) { return cf_lesser_real(x, y); }
CF_DEVICE double cf_greater_of(double x, double y) { return cf_greater_real(x, y); }
CF_DEVICE double cf_lesser_of(double x, double y) { return cf_lesser_real(x, y); }

/* An element that was selected, back to its code: float8_e5m2 saturates, but has infinities, which are kept. */
template <int D> CF_DEVICE cf_code<D> cf_selected(cf_wide<D> value) {
    cf_code<D> code = cf_narrow<D>(value);
    if constexpr (D == CF_FLOAT8_E5M2) {
        if ((cf_bits_of(value) & 0x7fffffffu) == 0x7f800000u) code = (cf_u8)((code & 0x80) | 0x7c);
    }
    return code;
}
template <int D> CF_DEVICE cf_code<D> cf_maximum(cf_code<D> x, cf_code<D> y) {
    return cf_selected<D>(cf_greater_of(cf_widen<D>(x), cf_widen<D>(y)));
}
template <int D> CF_DEVICE cf_code<D> cf_minimum(cf_code<D> x, cf_code<D> y) {
    return cf_selected<D>(cf_lesser_of(cf_widen<D>(x), cf_widen<D>(y)));
}

/* The bits of x or of y; any condition but 0 is true. */
template <int D> CF_DEVICE cf_code<D> cf_where(cf_u8 c, cf_code<D> x, cf_code<D> y) { return c != 0 ? x : y; }

CF_BINARY(bitwise_and, (cf_wide<D>)(x & y))
CF_BINARY(bitwise_or, (cf_wide<D>)(x | y))
CF_BINARY(bitwise_xor, (cf_wide<D>)(x ^ y))

/* ---- comparisons: complex numbers by real part, then imaginary part; none with NaN is ordered --------------------- */

template <class T> CF_DEVICE bool cf_are_equal(T x, T y) { return x == y; }
template <class T> CF_DEVICE bool cf_are_less(T x, T y) { return x < y; }
template <class T> CF_DEVICE bool cf_are_less_equal(T x, T y) { return x <= y; }
template <class T> CF_DEVICE bool cf_are_equal(cf_pair<T> x, cf_pair<T> y) { return x.re == y.re && x.im == y.im; }
template <class T> CF_DEVICE bool cf_have_order(cf_pair<T> x, cf_pair<T> y) {
    return x.re == x.re && x.im == x.im && y.re == y.re && y.im == y.im;
}
template <class T> CF_DEVICE bool cf_are_less(cf_pair<T> x, cf_pair<T> y) {
    return cf_have_order(x, y) && (x.re < y.re || (x.re == y.re && x.im < y.im));
}
template <class T> CF_DEVICE bool cf_are_less_equal(cf_pair<T> x, cf_pair<T> y) {
    return cf_have_order(x, y) && (x.re < y.re || (x.re == y.re && x.im <= y.im));
}
CF_BINARY_INTO(equal, CF_BOOL, cf_are_equal(x, y))
CF_BINARY_INTO(not_equal, CF_BOOL, !cf_are_equal(x, y))
CF_BINARY_INTO(less, CF_BOOL, cf_are_less(x, y))
CF_BINARY_INTO(less_equal, CF_BOOL, cf_are_less_equal(x, y))

/* ---- x * y + z, rounded once ------------------------------------------------------------------------------------ */

template <int D> CF_DEVICE cf_code<D> cf_fma(cf_code<D> x_code, cf_code<D> y_code, cf_code<D> z_code) {
    cf_wide<D> x = cf_widen<D>(x_code), y = cf_widen<D>(y_code), z = cf_widen<D>(z_code);
    if constexpr (D == CF_FLOAT64) return cf_narrow<D>(fma(x, y, z));
    else if constexpr (D == CF_FLOAT32) return cf_narrow<D>(fmaf(x, y, z));
    else if constexpr (cf_is_integer<D>()) return cf_narrow<D>(cf_sum_of(cf_product_of(x, y), z));
    else return cf_of_double<D>(cf_odd_sum((double)x * y, (double)z));
}

#endif

/* Sums of two products rounded once: fma of narrow floats, and the parts of complex products.
 *
 * For float and narrower, products are exact in double and so is what their sum drops. For double a fast way computes the
 * sum with a bound on its error, and is right unless that bound straddles a rounding boundary; then, and far from 1, all
 * bits are summed as integers.
 */
#ifndef COUNTERFOIL_EXACT_CUH
#define COUNTERFOIL_EXACT_CUH

#include "numbers.cuh"

/* p + q rounded to odd, for exact p and q. */
CF_DEVICE double cf_odd_sum(double p, double q) {
    double sum = p + q, part = sum - p, dropped = (p - (sum - part)) + (q - part);
    cf_u64 bits = cf_bits_of(sum);
    cf_u64 toward_zero = dropped != 0 && (dropped < 0) != (sum < 0); /* the sum was rounded away from zero */
    bool finite = dropped - dropped == 0 && sum - sum == 0;
    return cf_real_of(finite ? (bits - toward_zero) | (cf_u64)(dropped != 0) : bits);
}

/* ---- 256 bits --------------------------------------------------------------------------------------------------- */

struct cf_wide_sum {
    cf_u64 word[4]; /* the lowest first */
};

CF_DEVICE cf_u64 cf_high_product(cf_u64 x, cf_u64 y) {
    cf_u64 x0 = (cf_u32)x, x1 = x >> 32, y0 = (cf_u32)y, y1 = y >> 32;
    cf_u64 middle = x1 * y0 + (x0 * y0 >> 32), other = x0 * y1 + (cf_u32)middle;
    return x1 * y1 + (middle >> 32) + (other >> 32);
}

/* Shifted right by 0 to 255 bits, the last bit set if a set one was dropped. */
__device__ inline cf_wide_sum cf_shifted(const cf_wide_sum &x, int count) {
    cf_wide_sum out;
    int words = count >> 6, bits = count & 63;
    cf_u64 dropped = 0;
    for (int k = 0; k < 4; k++) {
        if (k < words) dropped |= x.word[k];
        cf_u64 low = k + words < 4 ? x.word[k + words] : 0, high = k + words + 1 < 4 ? x.word[k + words + 1] : 0;
        out.word[k] = bits == 0 ? low : (low >> bits) | (high << (64 - bits));
    }
    if (bits != 0) dropped |= x.word[words] << (64 - bits);
    out.word[0] |= dropped != 0;
    return out;
}

__device__ inline cf_wide_sum cf_combined(const cf_wide_sum &x, const cf_wide_sum &y, bool subtract) {
    cf_wide_sum out;
    cf_u64 carry = subtract;
    for (int k = 0; k < 4; k++) {
        cf_u64 term = subtract ? ~y.word[k] : y.word[k], sum = x.word[k] + term, whole = sum + carry;
        carry = (sum < term) | (whole < sum);
        out.word[k] = whole;
    }
    return out;
}

/* The place of the highest set bit, -1 if there is none. */
__device__ inline int cf_top_bit(const cf_wide_sum &x) {
    for (int k = 3; k >= 0; k--) {
        if (x.word[k] == 0) continue;
        int place = 64 * k;
        for (cf_u64 rest = x.word[k]; rest > 1; rest >>= 1) place++;
        return place;
    }
    return -1;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

/* x * y exactly: its bits moved up so that the second highest of the 256 is set, times 2^exponent. No bit: 0. */
struct cf_product {
    cf_wide_sum sum;
    int exponent;
    bool negative;
};

__device__ inline cf_product cf_exact_product(double x, double y) {
    cf_u64 xs = cf_bits_of(x), ys = cf_bits_of(y);
    int ex = (int)(xs >> 52 & 0x7ff), ey = (int)(ys >> 52 & 0x7ff);
    cf_u64 fraction = ((cf_u64)1 << 52) - 1;
    cf_u64 mx = (xs & fraction) | ((cf_u64)(ex != 0) << 52), my = (ys & fraction) | ((cf_u64)(ey != 0) << 52);
    cf_product out = {{{0, 0, mx * my, cf_high_product(mx, my)}}, 0, (xs ^ ys) >> 63 != 0};
    int top = cf_top_bit(out.sum), up = 254 - top;
    if (top < 0) return out;
    cf_u64 low = out.sum.word[2], high = out.sum.word[3];
    if (up >= 64) {
        high = low;
        low = 0;
    }
    int rest = up & 63;
    out.sum.word[3] = rest == 0 ? high : (high << rest) | (low >> (64 - rest));
    out.sum.word[2] = low << rest;
    out.exponent = (ex > 0 ? ex : 1) + (ey > 0 ? ey : 1) - 2150 - up - 128;
    return out;
}

/* sum * 2^exponent rounded to nearest even. */
__device__ inline double cf_rounded(const cf_wide_sum &sum, int exponent, bool negative) {
    cf_u64 sign = (cf_u64)negative << 63;
    int top = cf_top_bit(sum), unit = top + exponent - 52;
    if (top < 0) return 0.0;
    if (unit < -1074) unit = -1074;
    int drop = unit - exponent - 2; /* two bits are kept below the last place */
    if (drop > 255) return cf_real_of(sign);
    cf_u64 kept = drop >= 0 ? cf_shifted(sum, drop).word[0] : sum.word[0] << -drop;
    cf_u64 whole = kept >> 2, half = kept >> 1 & 1, below = kept & 1;
    whole += half & (below | (whole & 1));
    if (unit + 1074 > 2046) return cf_real_of(sign | 0x7ff0000000000000u);
    cf_u64 bits = ((cf_u64)(unit + 1074) << 52) + whole;
    return cf_real_of(sign | (bits < 0x7ff0000000000000u ? bits : 0x7ff0000000000000u));
}

__device__ inline double cf_summed_products(double a, double b, double c, double d) {
    cf_product p = cf_exact_product(a, b), q = cf_exact_product(c, d);
    bool no_p = p.sum.word[3] == 0, no_q = q.sum.word[3] == 0;
    if (no_p && no_q) return a * b + c * d; /* zeros */
    if (no_p) return cf_rounded(q.sum, q.exponent, q.negative);
    if (no_q) return cf_rounded(p.sum, p.exponent, p.negative);
    bool first = p.exponent != q.exponent ? p.exponent > q.exponent
                 : p.sum.word[3] != q.sum.word[3] ? p.sum.word[3] > q.sum.word[3] : p.sum.word[2] >= q.sum.word[2];
    const cf_product &large = first ? p : q, &small = first ? q : p;
    int distance = large.exponent - small.exponent;
    cf_wide_sum moved = cf_shifted(small.sum, distance < 255 ? distance : 255);
    cf_wide_sum sum = cf_combined(large.sum, moved, large.negative != small.negative);
    return cf_rounded(sum, large.exponent, large.negative);
}

/* ---- a * b + c * d, rounded once -------------------------------------------------------------------------------- */

CF_DEVICE float cf_determinant(float a, float b, float c, float d) {
    return cf_float_of_double(cf_odd_sum((double)a * b, (double)c * d));
}

/* Where a factor is not finite: as written. */
CF_DEVICE double cf_determinant(double a, double b, double c, double d) {
    double p = a * b, q = c * d, sum = p + q;
    double least = fmin(fabs(p), fabs(q)), most = fmax(fabs(p), fabs(q));
    if (least >= 0x1p-900 && most <= 0x1p1000) {
        double part = sum - p, dropped = (p - (sum - part)) + (q - part);
        double below_p = fma(a, b, -p), below_q = fma(c, d, -q), rest = dropped + (below_p + below_q);
        double error = 0x1p-51 * (fabs(dropped) + fabs(below_p) + fabs(below_q));
        double high = sum + (rest + error), low = sum + (rest - error);
        if (high == low) return high;
    }
    double finite = (a - a) + (b - b) + (c - c) + (d - d); /* not 0 where one is infinite or NaN */
    return finite == 0 ? cf_summed_products(a, b, c, d) : sum;
}

#endif

/* The bounds of A7, each decided without wrap-around.
 *
 * Every function here answers a question about whole numbers of any size ("is (count - 1) * step + start below the
 * extent?") with machine integers, and none forms a value that its type cannot hold. The mathematical question is in
 * the comment above each function; `counterfoil prove` shows the equivalence for the 64-bit type (theorems bounds/...),
 * and the tests compile this file with an 8-bit index and compare it with exact integers on every input of rank 0 to 2.
 *
 * CF_INDEX_BITS   64 (default): cf_index is int64_t, cf_wide 128 bits, CF_LIMIT 2^53.
 *                  8 (tests):   cf_index is int8_t,  cf_wide  16 bits, CF_LIMIT 2^5.
 * CF_BOUNDS_FIT   called with the condition that a value fits, wherever one is narrowed: to cf_index at both widths,
 *                 and to cf_wide at 8 bits, where C computes in int. The tests define it to abort; otherwise it costs
 *                 nothing. A wrap inside 64- or 128-bit arithmetic is signed overflow, which UBSan reports.
 *
 * Nothing here allocates, keeps state, or reads more than its arguments. No NULL is accepted, except `extents`,
 * `shape` and `strides` at rank 0.
 */
#ifndef CF_BOUNDS_H
#define CF_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#ifndef CF_INDEX_BITS
#define CF_INDEX_BITS 64
#endif

#ifndef CF_BOUNDS_FIT
#define CF_BOUNDS_FIT(condition) ((void)0)
#endif

#if CF_INDEX_BITS == 64

typedef int64_t cf_index;
__extension__ typedef __int128 cf_wide;

/* Most positions a layout reaches, and the largest product of its extents other than 0. */
#define CF_LIMIT ((cf_index)1 << 53)

static inline cf_index cf_index_of(cf_wide value) {
    CF_BOUNDS_FIT(value >= INT64_MIN && value <= INT64_MAX);
    return (cf_index)value;
}

static inline cf_wide cf_wide_of(cf_wide value) { return value; }

#elif CF_INDEX_BITS == 8

typedef int8_t cf_index;
typedef int16_t cf_wide;

#define CF_LIMIT ((cf_index)(1 << 5))

static inline cf_index cf_index_of(int value) {
    CF_BOUNDS_FIT(value >= INT8_MIN && value <= INT8_MAX);
    return (cf_index)value;
}

static inline cf_wide cf_wide_of(int value) {
    CF_BOUNDS_FIT(value >= INT16_MIN && value <= INT16_MAX);
    return (cf_wide)value;
}

#else
#error "CF_INDEX_BITS is 64 or 8"
#endif

/* What cf_span answers. A layout that reaches both below 0 and past the limit is CF_SPAN_NEGATIVE. */
enum cf_span_answer {
    CF_SPAN_OK = 0,
    CF_SPAN_NEGATIVE = 1, /* the least position is below 0 */
    CF_SPAN_PAST = 2      /* the greatest position is CF_LIMIT or more */
};

/* Do the extents other than 0 multiply to at most CF_LIMIT?
 *
 * Expects every extent >= 0. On true, *size is the product of all extents: 0 if one of them is 0, 1 at rank 0. On
 * false *size is untouched. A product that would pass the limit is never formed: for p >= 1, p * d <= CF_LIMIT exactly
 * when d <= floor(CF_LIMIT / p).
 */
static inline bool cf_product_within(int rank, const cf_index *extents, cf_index *size) {
    cf_index product = 1;
    bool empty = false;
    for (int axis = 0; axis < rank; axis++) {
        if (extents[axis] == 0) {
            empty = true;
            continue;
        }
        if (extents[axis] > CF_LIMIT / product) return false;
        product = cf_index_of(product * extents[axis]);
    }
    *size = empty ? (cf_index)0 : product;
    return true;
}

/* The half-open span [*lo, *hi) of the positions offset + sum(index[k] * strides[k]).
 *
 * Expects a shape that cf_product_within accepts, and rank at most 32. Strides and offset may be any cf_index. A shape
 * with a 0 in it reaches nothing: CF_SPAN_OK with the span [0, 0), whatever strides and offset are. On an answer other
 * than CF_SPAN_OK, *lo and *hi are untouched.
 *
 * Each reach (extent - 1) * stride is below CF_LIMIT * 2^63 = 2^116 in magnitude, so 32 of them and an offset stay
 * below 2^122 and the 128-bit sums cannot wrap. (In the 8-bit model: 2^12 each, 16-bit sums, so rank 4 at most.)
 */
static inline enum cf_span_answer cf_span(int rank, const cf_index *shape, const cf_index *strides, cf_index offset,
                                          cf_index *lo, cf_index *hi) {
    cf_wide least = offset;
    cf_wide greatest = offset;
    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] == 0) {
            *lo = 0;
            *hi = 0;
            return CF_SPAN_OK;
        }
        cf_wide reach = cf_wide_of((cf_wide)(shape[axis] - 1) * strides[axis]);
        if (reach < 0) least = cf_wide_of(least + reach);
        else greatest = cf_wide_of(greatest + reach);
    }
    if (least < 0) return CF_SPAN_NEGATIVE;
    if (greatest >= CF_LIMIT) return CF_SPAN_PAST;
    *lo = cf_index_of(least);
    *hi = cf_index_of(greatest + 1);
    return CF_SPAN_OK;
}

/* Does a slice's range lie inside its axis: 0 <= start < extent and 0 <= start + (count - 1) * step < extent?
 *
 * Expects extent >= 0; the others may be any cf_index. A count of 0 takes nothing, and is inside whatever start is. A
 * step of 0 and a count below 0 are no range at all: false. The last element is never formed; the whole steps that fit
 * between start and the end they walk towards are counted instead. C's division truncates, so start / step with
 * step < 0 is minus that number, which needs no -step (INT64_MIN has no negation).
 */
static inline bool cf_last_within(cf_index extent, cf_index start, cf_index count, cf_index step) {
    if (step == 0 || count < 0) return false;
    if (count == 0) return true;
    if (start < 0 || start >= extent) return false;
    cf_index room = step > 0 ? cf_index_of((extent - 1 - start) / step) : cf_index_of(-(start / step));
    return count - 1 <= room;
}

/* The number of windows on an axis: how many w >= 0 have w * step + dilation * (size - 1) < extent.
 *
 * 0 means that none fits, which a window refuses: an extent of 0, or dilation * (size - 1) >= extent. A size, step or
 * dilation below 1 is no window: 0 too. Expects extent >= 0. dilation * (size - 1) is formed only after it is known to
 * be at most extent - 1: size - 1 <= floor((extent - 1) / dilation).
 */
static inline cf_index cf_window_count(cf_index extent, cf_index size, cf_index step, cf_index dilation) {
    if (size < 1 || step < 1 || dilation < 1 || extent < 1) return 0;
    if (size - 1 > (extent - 1) / dilation) return 0;
    return cf_index_of((extent - 1 - dilation * (size - 1)) / step + 1);
}

/* Do the first span_hi elements of `bits` bits lie within nbytes bytes: span_hi * bits <= nbytes * 8?
 *
 * Expects 0 <= span_hi <= CF_LIMIT, nbytes >= 0, and bits one of 1, 2, 4, 8, 16, 32, 64, 128. Neither product is
 * formed: an element of whole bytes is counted by how many fit, narrower ones by the bytes they start.
 */
static inline bool cf_reach_within_bytes(cf_index span_hi, int bits, cf_index nbytes) {
    if (bits >= 8) return span_hi <= nbytes / (bits / 8);
    int per_byte = 8 / bits;
    return span_hi / per_byte + (span_hi % per_byte != 0) <= nbytes;
}

#endif

/* argmax and argmin: the C-order position, over the reduced axes, of the first extreme; the first NaN beats all.
 *
 * Terms become integers that are ordered as max orders them (-0 before +0), upside down for argmin, a NaN the greatest
 * of all: what remains is the first greatest integer.
 */
#include <string.h>

#include "axes.h"
#include "convert.h"
#include "element.h"
#include "kernel.h"
#include "loop.h"
#include "pointwise.h"
#include "vector.h"

enum { BLOCK = 512 };

typedef struct search {
    const cf_array *dst, *src;
    cf_loop walk; /* in C order */
    int computing;
    bool least;
    int64_t origin;
    int64_t seen; /* terms looked at */
    int64_t best; /* position of the greatest key so far, -1 before the first term */
    int64_t greatest;
} search;

/* ---- keys ------------------------------------------------------------------------------------------------------- */

/* In place. `infinity`: the bits of +inf, or the greatest integer where there is no NaN. `mask`: the bits to turn
 * around in negative floats. `turned`: the sign bit for unsigned integers. `flip`: -1 to turn the order around. */
#define KEYS(bits)                                                                                                    \
    CF_VECTOR static void keys_##bits(int##bits##_t *x, int64_t n, int##bits##_t infinity, int##bits##_t mask,        \
                                      int##bits##_t turned, int##bits##_t flip) {                                     \
        for (int64_t i = 0; i < n; i++) {                                                                             \
            int##bits##_t value = x[i] ^ turned, magnitude = value & INT##bits##_MAX;                                 \
            int##bits##_t key = value ^ ((value >> (bits - 1)) & mask) ^ flip;                                        \
            x[i] = magnitude > infinity ? INT##bits##_MAX : key;                                                      \
        }                                                                                                             \
    }                                                                                                                 \
    CF_VECTOR static int64_t greatest_##bits(const int##bits##_t *x, int64_t n) {                                     \
        int##bits##_t greatest = x[0];                                                                                \
        for (int64_t i = 1; i < n; i++) greatest = x[i] > greatest ? x[i] : greatest;                                 \
        return greatest;                                                                                              \
    }                                                                                                                 \
    static int64_t first_##bits(const int##bits##_t *x, int64_t key) {                                                \
        int64_t i = 0;                                                                                                \
        while (x[i] != key) i++;                                                                                      \
        return i;                                                                                                     \
    }

KEYS(32)
KEYS(64)

static bool is_wide(int computing) {
    return computing == CF_FLOAT64 || computing == CF_INT64 || computing == CF_UINT64;
}

static void make_keys(const search *search, void *terms, int64_t n) {
    int flip = search->least ? -1 : 0;
    switch (search->computing) {
    case CF_FLOAT32: keys_32(terms, n, 0x7f800000, INT32_MAX, 0, flip); return;
    case CF_FLOAT64: keys_64(terms, n, 0x7ff0000000000000, INT64_MAX, 0, flip); return;
    case CF_UINT32: keys_32(terms, n, INT32_MAX, 0, INT32_MIN, flip); return;
    case CF_UINT64: keys_64(terms, n, INT64_MAX, 0, INT64_MIN, flip); return;
    case CF_INT32: keys_32(terms, n, INT32_MAX, 0, 0, flip); return;
    default: keys_64(terms, n, INT64_MAX, 0, 0, flip); return;
    }
}

/* ---- the search ------------------------------------------------------------------------------------------------- */

static void look(search *search, const void *keys, int64_t n) {
    bool wide = is_wide(search->computing);
    int64_t greatest = wide ? greatest_64(keys, n) : greatest_32(keys, n);
    if (search->best >= 0 && greatest <= search->greatest) return;
    search->greatest = greatest;
    search->best = search->seen + (wide ? first_64(keys, greatest) : first_32(keys, greatest));
}

static void look_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    search *search = context;
    int64_t stride = loop->strides[0][loop->rank - 1];
    uint64_t raw[BLOCK], keys[BLOCK];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        int64_t first = search->origin + positions[0] + done * stride;
        cf_element_load(search->src->bits, search->src->data, first, stride, count, raw);
        cf_convert(search->src->dtype, search->computing, raw, keys, count);
        make_keys(search, keys, count);
        look(search, keys, count);
        search->seen += count;
    }
}

static void search_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    search *search = context;
    int inner = loop->rank - 1;
    for (int64_t i = 0; i < n; i++) {
        search->origin = positions[1] + i * loop->strides[1][inner];
        search->seen = 0;
        search->best = -1;
        cf_loop_run(&search->walk, look_run, search);
        cf_element_store(search->dst->bits, search->dst->data, positions[0] + i * loop->strides[0][inner], 1, 1,
                         &search->best);
    }
}

/* Booleans compute as uint8, of which there are no keys. */
static int searching_format(int dtype) {
    int computing = cf_computing(dtype);
    return computing == CF_UINT8 ? CF_INT32 : computing;
}

static void search_all(const cf_array *dst, const cf_array *src, const cf_split *split, bool least) {
    search search;
    search.dst = dst;
    search.src = src;
    search.computing = searching_format(src->dtype);
    search.least = least;
    const cf_array *walked[] = {&split->walked}, *kept[] = {dst, &split->kept};
    cf_loop loop;
    cf_loop_build(&search.walk, walked, 1, true);
    cf_loop_build(&loop, kept, 2, false);
    cf_loop_run(&loop, search_run, &search);
}

static int call_search(int kernel, const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    const cf_array *operands[] = {dst, x};
    int answer = cf_door_enter(operands, 1, 2, cf_row_fits(kernel, dst->dtype, &x->dtype, 1));
    if (answer != CF_DONE) return answer;
    cf_split split;
    bool fits = cf_split_axes(&split, x, axes, count) && cf_same_shape(dst, &split.kept);
    if (!fits || (split.terms == 0 && dst->layout.size > 0)) return cf_door_refuse(operands, 2, CF_SHAPE_MISMATCH);
    if (dst->layout.size > 0 && cf_identical(dst, x)) return cf_door_refuse(operands, 2, CF_DECLINED);
    if (cf_door_wait(operands, 1, 2)) return CF_LOST;
    if (dst->layout.size > 0) search_all(dst, x, &split, kernel == CF_KERNEL_ARGMIN);
    return cf_door_leave(operands, 2);
}

int cf_argmax(const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    return call_search(CF_KERNEL_ARGMAX, dst, x, axes, count);
}

int cf_argmin(const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    return call_search(CF_KERNEL_ARGMIN, dst, x, axes, count);
}

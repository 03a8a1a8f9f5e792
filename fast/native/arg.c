/* argmax and argmin: the C-order position, over the reduced axes, of the first extreme; the first NaN beats all. */
#include <string.h>

#include "axes.h"
#include "convert.h"
#include "element.h"
#include "kernel.h"
#include "loop.h"
#include "pointwise.h"

enum { BLOCK = 512 };

typedef union number {
    float f;
    double d;
    int64_t i;
    uint64_t u;
} number;

typedef struct search {
    const cf_array *dst, *src;
    cf_loop walk; /* in C order */
    bool greatest;
    int computing;
    int64_t origin;
    int64_t seen; /* terms looked at */
    int64_t best; /* position of the extreme so far, -1 before the first term */
    bool settled; /* the extreme is a NaN */
    number extreme;
} search;

/* The first of n terms that beats the extreme so far, one after the other. */
#define LOOK(name, type, member)                                                                                      \
    static void name(search *search, const type *terms, int64_t n) {                                                  \
        for (int64_t i = 0; i < n && !search->settled; i++) {                                                         \
            type term = terms[i];                                                                                     \
            bool beats = search->greatest ? term > search->extreme.member : term < search->extreme.member;            \
            if (search->best >= 0 && !beats && term == term) continue;                                                \
            search->extreme.member = term;                                                                            \
            search->best = search->seen + i;                                                                          \
            search->settled = term != term;                                                                           \
        }                                                                                                             \
    }

LOOK(look_float, float, f)
LOOK(look_double, double, d)
LOOK(look_int64, int64_t, i)
LOOK(look_uint64, uint64_t, u)

static int searching_format(int dtype) {
    switch (cf_computing(dtype)) {
    case CF_FLOAT32: return CF_FLOAT32;
    case CF_FLOAT64: return CF_FLOAT64;
    default: return dtype == CF_UINT64 ? CF_UINT64 : CF_INT64;
    }
}

static void look(search *search, const void *terms, int64_t n) {
    switch (search->computing) {
    case CF_FLOAT32: look_float(search, terms, n); return;
    case CF_FLOAT64: look_double(search, terms, n); return;
    case CF_INT64: look_int64(search, terms, n); return;
    default: look_uint64(search, terms, n); return;
    }
}

static void look_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    search *search = context;
    int64_t stride = loop->strides[0][loop->rank - 1];
    uint64_t raw[BLOCK], terms[BLOCK];
    for (int64_t done = 0; done < n && !search->settled; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        int64_t first = search->origin + positions[0] + done * stride;
        cf_element_load(search->src->bits, search->src->data, first, stride, count, raw);
        cf_convert(search->src->dtype, search->computing, raw, terms, count);
        look(search, terms, count);
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
        search->settled = false;
        cf_loop_run(&search->walk, look_run, search);
        cf_element_store(search->dst->bits, search->dst->data, positions[0] + i * loop->strides[0][inner], 1, 1,
                         &search->best);
    }
}

static void search_all(const cf_array *dst, const cf_array *src, const cf_split *split, bool greatest) {
    search search = {.dst = dst, .src = src, .greatest = greatest, .computing = searching_format(src->dtype)};
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
    if (dst->layout.size > 0) search_all(dst, x, &split, kernel == CF_KERNEL_ARGMAX);
    return cf_door_leave(operands, 2);
}

int cf_argmax(const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    return call_search(CF_KERNEL_ARGMAX, dst, x, axes, count);
}

int cf_argmin(const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    return call_search(CF_KERNEL_ARGMIN, dst, x, axes, count);
}

#include "access.h"

#include "claims.h"
#include "copy.h"
#include "distinct.h"
#include "door.h"
#include "element.h"
#include "loop.h"

/* ---- one access, claimed ---- */

/* Gives the claim back and answers. */
static int leave(const cf_array *array, int answer) {
    cf_release(array->buffer);
    return answer;
}

int cf_array_enter(const cf_array *array, bool writing) {
    int answer = cf_claim(array->buffer, writing);
    if (answer != CF_DONE) return answer;
    if (!cf_array_empty(array) && !array->buffer->addressable) return leave(array, CF_OFF_HOST);
    return cf_buffer_wait(array->buffer, writing) == 0 ? CF_DONE : leave(array, CF_LOST);
}

int cf_array_get(const cf_array *array, const int64_t *index, uint64_t bits[2]) {
    int64_t position = cf_array_position(array, index);
    if (position < 0) return CF_OUTSIDE;
    int answer = cf_array_enter(array, false);
    if (answer != CF_DONE) return answer;
    bits[0] = bits[1] = 0; /* little-endian: a narrow element's bytes are the low ones */
    cf_element_load(array->bits, array->data, position, 0, 1, bits);
    return leave(array, CF_DONE);
}

int cf_array_set(const cf_array *array, const int64_t *index, const uint64_t bits[2]) {
    int64_t position = cf_array_position(array, index);
    if (position < 0) return CF_OUTSIDE;
    int answer = cf_claim(array->buffer, true);
    if (answer != CF_DONE) return answer;
    if (!array->buffer->addressable) return leave(array, CF_OFF_HOST);
    if (!cf_layout_is_distinct(&array->layout)) return leave(array, CF_REPEATED_ELEMENTS);
    if (cf_buffer_wait(array->buffer, true) != 0) return leave(array, CF_LOST);
    cf_element_store(array->bits, array->data, position, 0, 1, bits);
    return leave(array, CF_DONE);
}

int cf_array_read(const cf_array *array, void *loose) {
    int answer = cf_array_enter(array, false);
    if (answer != CF_DONE) return answer;
    cf_array_gather(array, loose);
    return leave(array, CF_DONE);
}

/* ---- loose storage ---- */

typedef struct stream {
    const cf_array *array;
    uint8_t *loose; /* where the next run begins */
} stream;

static int64_t loose_bytes(const cf_array *array, int64_t n) {
    return array->bits < 8 ? n : n * (array->bits / 8);
}

static void gather_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    stream *s = context;
    cf_element_load(s->array->bits, s->array->data, positions[0], loop->strides[0][loop->rank - 1], n, s->loose);
    s->loose += loose_bytes(s->array, n);
}

static void scatter_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    stream *s = context;
    cf_element_store(s->array->bits, s->array->data, positions[0], loop->strides[0][loop->rank - 1], n, s->loose);
    s->loose += loose_bytes(s->array, n);
}

void cf_array_gather(const cf_array *array, void *loose) {
    cf_loop loop;
    stream s = {array, loose};
    cf_loop_build(&loop, &array, 1, true);
    cf_loop_run(&loop, gather_run, &s);
}

void cf_array_scatter(const cf_array *array, const void *loose) {
    cf_loop loop;
    stream s = {array, (uint8_t *)(uintptr_t)loose}; /* read only */
    cf_loop_build(&loop, &array, 1, true);
    cf_loop_run(&loop, scatter_run, &s);
}

void cf_array_zero_tail(const cf_array *array) {
    int64_t used = array->layout.size * array->bits;
    if (used % 8 != 0) array->data[used / 8] &= (uint8_t)((1u << used % 8) - 1);
}

void cf_array_transfer(const cf_array *dst, const cf_array *src) {
    if (!cf_array_empty(dst) && !cf_identical(dst, src)) cf_copy_elements(dst, src);
}

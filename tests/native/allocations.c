/* The core without its allocator: what allocates nothing, and what answers the same when nothing can be allocated.
 *
 * Linked with --wrap for every allocating function. Exits with 0 if all holds. */
#include "counterfoil_native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "allocations.c:%d: %s does not hold\n", __LINE__, #condition); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

/* ---- the allocator ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static long calls;
static bool denied;

void *__wrap_malloc(size_t size) {
    calls++;
    return denied ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    calls++;
    return denied ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    calls++;
    return denied ? NULL : __real_realloc(old, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    calls++;
    return denied ? 12 : __real_posix_memalign(out, alignment, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    calls++;
    return denied ? NULL : __real_aligned_alloc(alignment, size);
}

/* ---- operands ---- */

#define OPERANDS 18
#define NBYTES (1 << 20)

static cf_device *device;
static cf_buffer buffers[OPERANDS];
static cf_array arrays[OPERANDS];
static const cf_array *operands[OPERANDS];

static void make_buffers(void) {
    device = cf_device_create(NULL);
    for (int k = 0; k < OPERANDS; k++) {
        cf_memory *memory = cf_memory_create(NBYTES, device, NULL, 0);
        CHECK(memory);
        memset(memory->base, 1, NBYTES);
        cf_buffer_make(&buffers[k], memory, 0, NBYTES, device, 1);
        operands[k] = &arrays[k];
    }
}

/* The way an operand of 6 * 10 * 7 elements lies: contiguous, with gaps and reversed, or with its axes turned round. */
enum way { PLAIN, STRIDED, TURNED, WAYS };

static cf_array lay(int dtype, cf_buffer *buffer, enum way way) {
    static const int64_t shape[] = {6, 10, 7};
    static const int64_t strides[WAYS][3] = {{70, 7, 1}, {-300, 20, 2}, {1, 6, 60}};
    cf_layout layout;
    cf_array array;
    CHECK(cf_layout_make(&layout, 3, shape, strides[way], way == STRIDED ? 1500 : 0, NULL) == CF_FINE);
    CHECK(cf_array_make(&array, dtype, &layout, buffer) == CF_FINE);
    return array;
}

/* ---- nothing allocated ---- */

static void the_door(enum way way) {
    for (int k = 0; k < OPERANDS; k++) arrays[k] = lay(CF_FLOAT32, &buffers[k], way);
    long before = calls;
    for (int written = 0; written <= OPERANDS; written++) {
        CHECK(cf_door_enter(operands, written, OPERANDS, true) == CF_DONE);
        CHECK(cf_door_wait(operands, written, OPERANDS) == 0);
        CHECK(cf_door_leave(operands, OPERANDS) == CF_DONE);
    }
    CHECK(cf_door_enter(operands, 1, OPERANDS, false) == CF_WRONG_DTYPE);
    CHECK(calls == before);
}

static void one_element(enum way way) {
    int64_t index[] = {5, 9, 6};
    uint64_t bits[2];
    cf_array array = lay(CF_INT4, &buffers[0], way);
    long before = calls;
    CHECK(cf_array_get(&array, index, bits) == CF_DONE && cf_array_set(&array, index, bits) == CF_DONE);
    CHECK(calls == before);
}

static void kernels_of_one_dtype(int dtype, enum way way) {
    cf_array dst = lay(dtype, &buffers[0], way), x = lay(dtype, &buffers[1], PLAIN), y = lay(dtype, &buffers[2], way);
    cf_array flags = lay(CF_BOOL, &buffers[3], way), z = lay(dtype, &buffers[4], STRIDED);
    int binary = cf_row_fits(CF_KERNEL_ADD, dtype, (int[]){dtype, dtype}, 2) ? CF_DONE : CF_WRONG_DTYPE;
    int ordered = cf_row_fits(CF_KERNEL_FMA, dtype, (int[]){dtype, dtype, dtype}, 3) ? CF_DONE : CF_WRONG_DTYPE;
    long before = calls;
    CHECK(cf_fill(&dst, 1, 0) == CF_DONE);
    CHECK(cf_copy(&dst, &x) == CF_DONE);
    CHECK(cf_add(&dst, &x, &y) == binary);
    CHECK(cf_neg(&dst, &x) == binary);
    CHECK(cf_equal(&flags, &x, &y) == CF_DONE);
    CHECK(cf_where(&dst, &flags, &x, &y) == CF_DONE);
    CHECK(cf_fma(&dst, &x, &y, &z) == ordered);
    CHECK(cf_add(&dst, &dst, &dst) == binary);
    CHECK(calls == before);
}

/* A contiguous operand of any shape. */
static cf_array lay_shape(int dtype, cf_buffer *buffer, int rank, const int64_t *shape) {
    cf_layout layout;
    cf_array array;
    CHECK(cf_layout_contiguous(&layout, rank, shape, NULL) == CF_FINE);
    CHECK(cf_array_make(&array, dtype, &layout, buffer) == CF_FINE);
    return array;
}

/* Done where the kernel's row has the dtype. */
static int expected(int kernel, int result, int dtype) {
    return cf_row_fits(kernel, result, &dtype, 1) ? CF_DONE : CF_WRONG_DTYPE;
}

static void walking_kernels_of_one_dtype(int dtype, enum way way) {
    const int64_t axes[] = {0, 2}, middle[] = {10}, square[] = {6, 10, 10}, turned[] = {6, 7, 10};
    cf_array x = lay(dtype, &buffers[1], way), whole = lay(dtype, &buffers[0], way);
    cf_array kept = lay_shape(dtype, &buffers[2], 1, middle), places = lay_shape(CF_INT64, &buffers[3], 1, middle);
    cf_array other = lay_shape(dtype, &buffers[4], 3, turned), product = lay_shape(dtype, &buffers[5], 3, square);
    int pair = cf_row_fits(CF_KERNEL_MATMUL, dtype, (int[]){dtype, dtype}, 2) ? CF_DONE : CF_WRONG_DTYPE;
    long before = calls;
    CHECK(cf_sum(&kept, &x, axes, 2) == expected(CF_KERNEL_SUM, dtype, dtype));
    CHECK(cf_prod(&kept, &x, axes, 2) == expected(CF_KERNEL_PROD, dtype, dtype));
    CHECK(cf_max(&kept, &x, axes, 2) == expected(CF_KERNEL_MAX, dtype, dtype));
    CHECK(cf_min(&kept, &x, axes, 2) == expected(CF_KERNEL_MIN, dtype, dtype));
    CHECK(cf_mean(&kept, &x, axes, 2) == expected(CF_KERNEL_MEAN, dtype, dtype));
    CHECK(cf_argmax(&places, &x, axes, 2) == expected(CF_KERNEL_ARGMAX, CF_INT64, dtype));
    CHECK(cf_argmin(&places, &x, axes, 2) == expected(CF_KERNEL_ARGMIN, CF_INT64, dtype));
    CHECK(cf_cumsum(&whole, &x, 1) == expected(CF_KERNEL_CUMSUM, dtype, dtype));
    CHECK(cf_softmax(&whole, &x, 1) == expected(CF_KERNEL_SOFTMAX, dtype, dtype));
    CHECK(cf_matmul(&product, &x, &other) == pair);
    CHECK(cf_iota(&whole, 1) == expected(CF_KERNEL_IOTA, dtype, dtype));
    CHECK(calls == before);
}

static void casts(int from, enum way way) {
    cf_array x = lay(from, &buffers[1], way);
    for (int to = 0; to < CF_DTYPES; to++) {
        cf_array dst = lay(to, &buffers[0], PLAIN);
        long before = calls;
        CHECK(cf_cast(&dst, &x) == CF_DONE);
        CHECK(calls == before);
    }
}

static void an_expression(enum way way) {
    cf_node nodes[31];
    cf_array inputs[16];
    const cf_array *vector[16];
    cf_array dst = lay(CF_FLOAT32, &buffers[16], way);
    int count = 0;
    for (int k = 0; k < 16; k++) {
        inputs[k] = lay(CF_FLOAT32, &buffers[k], way);
        vector[k] = &inputs[k];
        nodes[count++] = (cf_node){0, k, CF_FLOAT32, 0, 0, 0};
        if (k > 0) nodes[count++] = (cf_node){2, CF_KERNEL_ADD, CF_FLOAT32, 2, 0, 0};
    }
    cf_program program = {.count = count, .inputs = 16, .depth = 2, .well_typed = 1, .nodes = nodes};
    long before = calls;
    CHECK(cf_map(&dst, &program, vector, 16) == CF_DONE);
    CHECK(calls == before);
}

/* ---- the same answers without memory ---- */

static uint64_t state = 1;

static int64_t draw(int64_t low, int64_t high) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)((state >> 33) % (uint64_t)(high - low + 1));
}

/* Axes whose strides share no small divisor: what only a sweep decides. */
static cf_array sparse(int dtype, int rank, int64_t least, int64_t most) {
    cf_layout layout;
    cf_array array;
    int64_t shape[4], strides[4];
    for (int axis = 0; axis < rank; axis++) {
        shape[axis] = draw(least, most);
        strides[axis] = draw(2000, rank == 3 ? 9000 : 30000);
    }
    CHECK(cf_layout_make(&layout, rank, shape, strides, draw(0, 500), NULL) == CF_FINE);
    CHECK(cf_array_make(&array, dtype, &layout, &buffers[0]) == CF_FINE);
    return array;
}

/* Both answers must come up, and often by a sweep: else nothing was compared. */
static void check_balance(const char *name, int swept, int yes, int rounds) {
    printf("without memory: %d %s of %d, %d by a sweep\n", yes, name, rounds, swept);
    CHECK(swept > rounds / 4 && yes > rounds / 8 && yes < rounds - rounds / 8);
}

static void overlap_without_memory(void) {
    int swept = 0, yes = 0, rounds = 200;
    for (int round = 0; round < rounds; round++) {
        int dtype = round % 2 ? CF_UINT8 : CF_BIT;
        cf_array a = sparse(dtype, 4, 4, 5), b = sparse(dtype, 4, 4, 5);
        long before = calls;
        bool meets = cf_overlapping(&a, &b);
        swept += calls > before;
        yes += meets;
        denied = true;
        CHECK(cf_overlapping(&a, &b) == meets);
        denied = false;
    }
    check_balance("overlapping", swept, yes, rounds);
}

static void distinctness_without_memory(void) {
    int swept = 0, yes = 0, rounds = 40;
    for (int round = 0; round < rounds; round++) {
        cf_array a = sparse(CF_BIT, 3, 30, 60);
        long before = calls;
        bool distinct = cf_layout_is_distinct(&a.layout);
        swept += calls > before;
        yes += distinct;
        denied = true;
        CHECK(cf_layout_is_distinct(&a.layout) == distinct);
        denied = false;
    }
    check_balance("distinct", swept, yes, rounds);
}

int main(void) {
    make_buffers();
    for (enum way way = PLAIN; way < WAYS; way++) {
        the_door(way);
        one_element(way);
        an_expression(way);
        for (int dtype = 0; dtype < CF_DTYPES; dtype++) {
            kernels_of_one_dtype(dtype, way);
            walking_kernels_of_one_dtype(dtype, way);
            casts(dtype, way);
        }
    }
    overlap_without_memory();
    distinctness_without_memory();
    return 0;
}

/* A small array library in C as a target: `make -C examples/targets`, then
 *     counterfoil check build/strided.so
 * float32, int32 and uint8; views by slices, permutations and reshapes; get, set, transfer; add, mul, neg, sum, copy.
 * -DDEFECT=1 plants a bug that is easily made: overlap is looked for at the ends of the destination alone.
 */
#include "counterfoil_target.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_RANK = 32, MAX_NAMES = 4096, ALLOWED_BYTES = 1 << 26 };
enum dtype { FLOAT32, INT32, UINT8, NO_DTYPE };
static const char *const dtypes[] = {"float32", "int32", "uint8", NULL};
static const int64_t widths[] = {4, 4, 1}, lows[] = {0, INT32_MIN, 0}, highs[] = {0, INT32_MAX, 255};

typedef struct { unsigned char *bytes; int64_t nbytes; } memory;
typedef struct { int32_t rank; int64_t shape[MAX_RANK], strides[MAX_RANK], offset; } layout;
typedef struct { char *name; enum dtype dtype; layout layout; memory *memory; } array;

static array names[MAX_NAMES];
static memory *memories[MAX_NAMES];
static int32_t name_count, memory_count;
static uint64_t *answer; /* the elements of the last answer */

/* ---- outcomes ---- */

static void refuse(cft_outcome *out, const char *rule) { out->kind = CFT_REFUSED; out->rule = rule; }
static void skip(cft_outcome *out, const char *why) { out->kind = CFT_SKIPPED; out->message = why; }
static void say(cft_outcome *out, const char *text) { out->value.kind = CFT_TEXT; out->value.text = text; }

/* ---- names ---- */

static const array *find(const char *name) {
    for (int32_t k = name_count; k-- > 0;) if (name != NULL && strcmp(names[k].name, name) == 0) return &names[k];
    return NULL;
}

static void bind(const char *name, enum dtype dtype, const layout *at, memory *held) {
    if (name == NULL || name_count == MAX_NAMES) return;
    array *made = &names[name_count];
    *made = (array){.name = malloc(strlen(name) + 1), .dtype = dtype, .layout = *at, .memory = held};
    if (made->name == NULL) return;
    strcpy(made->name, name);
    name_count++;
}

static enum dtype dtype_of(const cft_step *step) {
    const char *name = cft_text(step, "dtype");
    int d = 0;
    while (d < NO_DTYPE && (name == NULL || strcmp(dtypes[d], name) != 0)) d++;
    return (enum dtype)d;
}

/* ---- layouts ---- */

static int64_t size_of(const layout *at) {
    int64_t size = 1;
    for (int32_t k = 0; k < at->rank; k++) size *= at->shape[k];
    return size;
}

/* Axes of extent 1 have stride 0; without an element all is 0. */
static void canonical(layout *at) {
    bool is_empty = size_of(at) == 0;
    for (int32_t k = 0; k < at->rank; k++) if (is_empty || at->shape[k] == 1) at->strides[k] = 0;
    if (is_empty) at->offset = 0;
}

/* A shape's fault: its rank, its extents, their product without the zeros. */
static const char *read_shape(const cft_value *list, layout *at) {
    int64_t product = 1;
    if (list->count > MAX_RANK) return "layouts/rank";
    at->rank = list->count;
    for (int32_t k = 0; k < at->rank; k++) {
        if ((at->shape[k] = list->items[k].integer) < 0) return "layouts/negative-extent";
    }
    for (int32_t k = 0; k < at->rank; k++) {
        int64_t extent = at->shape[k] == 0 ? 1 : at->shape[k];
        if (product > (INT64_C(1) << 53) / extent) return "layouts/too-many-elements";
        product *= extent;
    }
    at->offset = 0;
    int64_t stride = 1;
    for (int32_t k = at->rank; k-- > 0; stride *= at->shape[k]) at->strides[k] = stride;
    canonical(at);
    return NULL;
}

/* Where the n-th element in C order lies. */
static int64_t position(const layout *at, int64_t n) {
    int64_t found = at->offset;
    for (int32_t k = at->rank; k-- > 0; n /= at->shape[k]) found += n % at->shape[k] * at->strides[k];
    return found;
}

static bool same_shape(const layout *x, const layout *y) {
    return x->rank == y->rank && memcmp(x->shape, y->shape, sizeof(int64_t) * (size_t)x->rank) == 0;
}

static bool identical(const array *x, const array *y) {
    return x->memory == y->memory && widths[x->dtype] == widths[y->dtype] && same_shape(&x->layout, &y->layout) &&
           x->layout.offset == y->layout.offset &&
           memcmp(x->layout.strides, y->layout.strides, sizeof(int64_t) * (size_t)x->layout.rank) == 0;
}

/* Whether two arrays share a byte. */
static bool overlap(const array *x, const array *y) {
    int64_t n = size_of(&x->layout), m = size_of(&y->layout), width = widths[x->dtype], other = widths[y->dtype];
    if (x->memory != y->memory || n == 0 || m == 0) return false;
#if DEFECT == 1
    int64_t first = position(&x->layout, 0) * width, last = position(&x->layout, n - 1) * width;
    int64_t low = INT64_MAX, high = -1;
    for (int64_t k = 0; k < m; k++) {
        int64_t at = position(&y->layout, k) * other;
        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    return (low <= first && first <= high) || (low <= last && last <= high);
#else
    unsigned char *touched = calloc((size_t)x->memory->nbytes, 1);
    bool found = touched == NULL;
    for (int64_t k = 0; k < n && !found; k++) memset(touched + position(&x->layout, k) * width, 1, (size_t)width);
    for (int64_t k = 0; k < m && !found; k++) {
        found = memchr(touched + position(&y->layout, k) * other, 1, (size_t)other) != NULL;
    }
    free(touched);
    return found;
#endif
}

/* ---- elements ---- */

typedef union { float f; int32_t i; uint32_t u; } word;

static word load(const array *x, int64_t n) {
    word found = {.u = 0};
    memcpy(&found, x->memory->bytes + position(&x->layout, n) * widths[x->dtype], (size_t)widths[x->dtype]);
    return found;
}

static void store(const array *x, int64_t n, word value) { /* little-endian: a uint8 is the low byte */
    memcpy(x->memory->bytes + position(&x->layout, n) * widths[x->dtype], &value, (size_t)widths[x->dtype]);
}

/* A value's fault, or its word. An integer past 64 bits is no float32 that this library could round. */
static const char *word_of(const cft_value *value, enum dtype dtype, word *found) {
    if (dtype == FLOAT32) {
        if (value->kind != CFT_INTEGER && value->kind != CFT_FLOAT) return "dtypes/value-type";
        found->f = value->kind == CFT_FLOAT ? (float)value->number : (float)value->integer;
        return NULL;
    }
    if (value->kind != CFT_INTEGER && value->kind != CFT_OTHER) return "dtypes/value-type";
    bool is_inside = value->kind == CFT_INTEGER && lows[dtype] <= value->integer && value->integer <= highs[dtype];
    if (!is_inside) return "dtypes/value-range";
    found->i = (int32_t)value->integer;
    return NULL;
}

/* ---- commands ---- */

static memory *allocate(int64_t nbytes) {
    memory *made = memory_count < MAX_NAMES && nbytes <= ALLOWED_BYTES ? malloc(sizeof *made) : NULL;
    if (made == NULL) return NULL;
    *made = (memory){calloc((size_t)nbytes + 1, 1), nbytes};
    return memories[memory_count++] = made;
}

static void make(const cft_step *step, cft_outcome *out) {
    const cft_value *shape = cft_argument(step, "shape"), *values = cft_argument(step, "values");
    array made = {.dtype = dtype_of(step)};
    const char *fault = read_shape(shape, &made.layout);
    if (fault != NULL) { refuse(out, fault); return; }
    int64_t size = size_of(&made.layout);
    if (values != NULL && values->count != size) { refuse(out, "arrays/values-count"); return; }
    made.memory = allocate(size > ALLOWED_BYTES ? INT64_MAX : size * widths[made.dtype]);
    if (made.memory == NULL || made.memory->bytes == NULL) { skip(out, "more memory than this library takes"); return; }
    for (int32_t k = 0; values != NULL && k < size; k++) {
        word value = {.u = 0};
        if ((fault = word_of(&values->items[k], made.dtype, &value)) != NULL) { refuse(out, fault); return; }
        store(&made, k, value);
    }
    bind(step->bind, made.dtype, &made.layout, made.memory);
}

static const char *permuted(const layout *from, const cft_value *axes, layout *to) {
    bool seen[MAX_RANK] = {false};
    if (axes->count != from->rank) return "moves/permute-length";
    for (int32_t k = 0; k < from->rank; k++) {
        int64_t axis = axes->items[k].integer;
        if (axis < 0 || axis >= from->rank) return "moves/permute-axis";
        if (seen[axis]) return "moves/permute-repeat";
        seen[axis] = true;
        to->shape[k] = from->shape[axis];
        to->strides[k] = from->strides[axis];
    }
    return NULL;
}

static const char *sliced(const layout *from, const cft_value *ranges, layout *to) {
    if (ranges->count != from->rank) return "moves/slice-ranges";
    for (int32_t k = 0; k < from->rank; k++) {
        const cft_value *range = ranges->items[k].items;
        int64_t start = range[0].integer, count = range[1].integer, step = range[2].integer, extent = from->shape[k];
        if (step == 0) return "moves/slice-step";
        if (count < 0) return "moves/slice-count";
        if (count > 0 && (start < 0 || start >= extent)) return "moves/slice-start";
        if (count > 1 && step > 0 && count - 1 > (extent - 1 - start) / step) return "moves/slice-last";
        if (count > 1 && step < 0 && (step == INT64_MIN || count - 1 > start / -step)) return "moves/slice-last";
        to->shape[k] = count;
        to->offset += count > 0 ? start * from->strides[k] : 0;
        to->strides[k] = count > 1 ? step * from->strides[k] : 0;
    }
    return NULL;
}

/* Each run of source axes that lie evenly takes the target axes of as many elements; false where none does. */
static bool reshaped(const layout *from, layout *to) {
    layout dense = {.rank = 0};
    int32_t next = 0;
    to->offset = from->offset;
    if (size_of(from) == 0) return true;
    for (int32_t k = 0; k < from->rank; k++) {
        if (from->shape[k] == 1) continue;
        int32_t last = dense.rank - 1;
        if (last >= 0 && dense.strides[last] == from->shape[k] * from->strides[k]) dense.shape[last] *= from->shape[k];
        else last = dense.rank++, dense.shape[last] = from->shape[k];
        dense.strides[last] = from->strides[k];
    }
    for (int32_t run = 0; run < dense.rank; run++) {
        int64_t left = dense.shape[run], stride = dense.strides[run];
        while (next < to->rank && left > 1) {
            if (left % to->shape[next] != 0) return false;
            left /= to->shape[next];
            to->strides[next] = to->shape[next] > 1 ? stride * left : 0;
            next++;
        }
        if (left > 1) return false;
    }
    return true;
}

static void move(const cft_step *step, cft_outcome *out) {
    const array *from = find(cft_text(step, "array"));
    const cft_value *asked = cft_argument(step, "move");
    const char *what = asked->keys[0], *fault = NULL;
    layout to = from->layout;
    bool is_there = true;
    if (strcmp(what, "permute") == 0) fault = permuted(&from->layout, asked->items, &to);
    else if (strcmp(what, "slice") == 0) fault = sliced(&from->layout, asked->items, &to);
    else if (strcmp(what, "reshape") == 0) {
        fault = read_shape(asked->items, &to);
        if (fault == NULL && size_of(&to) != size_of(&from->layout)) fault = "moves/reshape-count";
        is_there = fault != NULL || reshaped(&from->layout, &to);
    } else { skip(out, "no such move"); return; }
    if (fault != NULL) { refuse(out, fault); return; }
    canonical(&to);
    if (is_there) bind(step->bind, from->dtype, &to, from->memory);
    out->value.kind = CFT_BOOL;
    out->value.integer = is_there;
}

/* The element's place in C order, or a fault. */
static const char *indexed(const array *x, const cft_value *index, int64_t *n) {
    if (index->count != x->layout.rank) return "arrays/index-rank";
    *n = 0;
    for (int32_t k = 0; k < index->count; k++) {
        int64_t i = index->items[k].kind == CFT_INTEGER ? index->items[k].integer : -1;
        if (i < 0 || i >= x->layout.shape[k]) return "arrays/index-range";
        *n = *n * x->layout.shape[k] + i;
    }
    return NULL;
}

static void element(const cft_step *step, cft_outcome *out) {
    const array *x = find(cft_text(step, "array"));
    const cft_value *value = cft_argument(step, "value");
    int64_t n = 0;
    word found = {.u = 0};
    const char *fault = indexed(x, cft_argument(step, "index"), &n);
    if (fault == NULL && value != NULL) fault = word_of(value, x->dtype, &found);
    if (fault != NULL) { refuse(out, fault); return; }
    if (value != NULL) { store(x, n, found); return; }
    found = load(x, n);
    out->value.kind = x->dtype == FLOAT32 ? CFT_FLOAT : CFT_INTEGER;
    out->value.number = x->dtype == FLOAT32 ? (double)found.f : 0.0;
    out->value.integer = found.i;
}

static void to_values(const cft_step *step, cft_outcome *out) {
    const array *x = find(cft_text(step, "array"));
    int64_t size = size_of(&x->layout);
    free(answer);
    answer = calloc(2 * (size_t)size + 1, sizeof *answer);
    if (answer == NULL) { skip(out, "no memory for the answer"); return; }
    for (int64_t k = 0; k < size; k++) answer[2 * k] = load(x, k).u;
    out->value = (cft_value){.kind = CFT_ELEMENTS, .count = (int32_t)size, .text = dtypes[x->dtype], .bits = answer};
}

static void transfer(const cft_step *step, cft_outcome *out) {
    const array *src = find(cft_text(step, "src")), *dst = find(cft_text(step, "dst"));
    if (src->dtype != dst->dtype) { refuse(out, "arrays/dtypes-differ"); return; }
    if (!same_shape(&src->layout, &dst->layout)) { refuse(out, "arrays/shapes-differ"); return; }
    if (!identical(src, dst) && overlap(dst, src)) { refuse(out, "arrays/overlapping"); return; }
    for (int64_t k = 0; k < size_of(&dst->layout); k++) store(dst, k, load(src, k));
}

static word computed(char name, enum dtype dtype, word x, word y) {
    if (dtype == FLOAT32) x.f = name == 'a' ? x.f + y.f : name == 'm' ? x.f * y.f : name == 'n' ? -x.f : x.f;
    else x.u = name == 'a' ? x.u + y.u : name == 'm' ? x.u * y.u : name == 'n' ? 0U - x.u : x.u;
    return x;
}

/* Into the destination's element that its axes left over name. */
static const char *sum(const array *dst, const array *x, const cft_value *axes) {
    bool is_summed[MAX_RANK] = {false};
    layout left = {.rank = 0}, *to = &left;
    for (int32_t k = 0; k < axes->count; k++) {
        int64_t axis = axes->items[k].kind == CFT_INTEGER ? axes->items[k].integer : -1;
        if (axis < 0 || axis >= x->layout.rank || is_summed[axis]) return "SHAPE_MISMATCH";
        is_summed[axis] = true;
    }
    array walk = *dst; /* the destination with the source's axes: those summed stand still */
    for (int32_t k = 0; k < x->layout.rank; k++) {
        walk.layout.shape[k] = x->layout.shape[k];
        walk.layout.strides[k] = is_summed[k] || left.rank >= dst->layout.rank ? 0 : dst->layout.strides[left.rank];
        if (!is_summed[k]) to->shape[to->rank++] = x->layout.shape[k];
    }
    walk.layout.rank = x->layout.rank;
    if (!same_shape(&left, &dst->layout)) return "SHAPE_MISMATCH";
    if (size_of(&x->layout) > 0 && identical(dst, x)) return "DECLINED";
    for (int64_t k = 0; k < size_of(&dst->layout); k++) store(dst, k, (word){.u = 0});
    for (int64_t k = 0; k < size_of(&x->layout); k++) {
        store(&walk, k, computed('a', x->dtype, load(&walk, k), load(x, k)));
    }
    return "DONE";
}

/* The door, in the rules' order: dtypes, overlap, shapes. Nothing of this library repeats an element. */
static const char *kernel(const char *name, const array *dst, const array *const *from, int32_t count,
                          const cft_value *axes) {
    for (int32_t k = 0; k < count; k++) if (from[k]->dtype != dst->dtype) return "WRONG_DTYPE";
    for (int32_t k = 0; k < count; k++) if (!identical(dst, from[k]) && overlap(dst, from[k])) return "OVERLAPPING";
    if (axes != NULL) return sum(dst, from[0], axes);
    for (int32_t k = 0; k < count; k++) if (!same_shape(&dst->layout, &from[k]->layout)) return "SHAPE_MISMATCH";
    for (int64_t k = 0; k < size_of(&dst->layout); k++) {
        store(dst, k, computed(name[0], dst->dtype, load(from[0], k), load(from[count - 1], k)));
    }
    return "DONE";
}

static void call(const cft_step *step, cft_outcome *out) {
    static const struct { const char *name; int32_t count; } rows[] = {
        {"add", 2}, {"mul", 2}, {"neg", 1}, {"sum", 1}, {"copy", 1}};
    const char *name = cft_text(step, "name");
    const cft_value *sources = cft_argument(step, "sources");
    const array *from[2] = {NULL, NULL};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (strcmp(rows[k].name, name) != 0 || rows[k].count != sources->count) continue;
        for (int32_t n = 0; n < sources->count; n++) from[n] = find(sources->items[n].text);
        say(out, kernel(name, find(cft_text(step, "dst")), from, sources->count, cft_argument(step, "axes")));
        return;
    }
    skip(out, "no such kernel");
}

/* ---- the target ---- */

static const struct { const char *name; void (*run)(const cft_step *, cft_outcome *); } table[] = {
    {"host", NULL}, {"empty", make}, {"host_array", make}, {"from_values", make}, {"array.move", move},
    {"array.get", element}, {"array.set", element}, {"array.to_values", to_values}, {"transfer", transfer},
    {"kernel", call}};
enum { COMMANDS = sizeof table / sizeof *table };

const cft_identity *counterfoil_target_start(void) {
    static const char *const chapters[] = {"dtypes", "layouts", "moves", "arrays", "door", NULL};
    static const char *commands[COMMANDS + 1];
    static cft_identity identity = {CFT_PROTOCOL, "strided.c", "1", chapters, dtypes, commands};
    for (int k = 0; k < COMMANDS; k++) commands[k] = table[k].name;
    return &identity;
}

void counterfoil_target_reset(void) {
    while (name_count > 0) free(names[--name_count].name);
    while (memory_count > 0) free(memories[--memory_count]->bytes), free(memories[memory_count]);
}

static bool has_other(const cft_value *value) {
    bool found = value != NULL && value->kind == CFT_OTHER;
    for (int32_t k = 0; value != NULL && k < value->count && !found; k++) found = has_other(&value->items[k]);
    return found;
}

/* Integers past 64 bits are none of this library's, but as indices and as values that no integer dtype holds. */
static bool is_past(const cft_step *step) {
    const array *x = find(cft_text(step, "array"));
    bool is_float = dtype_of(step) == FLOAT32 || (x != NULL && x->dtype == FLOAT32);
    return has_other(cft_argument(step, "shape")) || has_other(cft_argument(step, "move")) ||
           (is_float && (has_other(cft_argument(step, "values")) || has_other(cft_argument(step, "value"))));
}

void counterfoil_target_run(const cft_step *step, cft_outcome *outcome) {
    if (is_past(step)) { skip(outcome, "an integer past 64 bits"); return; }
    for (int k = 0; k < COMMANDS; k++) {
        if (strcmp(table[k].name, step->command) == 0 && table[k].run != NULL) table[k].run(step, outcome);
    }
}

void counterfoil_target_stop(void) {
    counterfoil_target_reset();
    free(answer);
    answer = NULL;
}

#include "sums.h"

int64_t cf_gcd(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void cf_sums_add(cf_sums *sums, int64_t step, int64_t extent) {
    if (step == 0 || extent == 1) return;
    sums->step[sums->count] = step;
    sums->extent[sums->count++] = extent;
}

void cf_sums_of_layout(cf_sums *sums, const cf_layout *layout, int64_t scale) {
    sums->count = 0;
    for (int axis = 0; axis < layout->rank; axis++) {
        int64_t stride = layout->strides[axis];
        cf_sums_add(sums, (stride < 0 ? -stride : stride) * scale, layout->shape[axis]);
    }
}

static void swap(int64_t *values, int i, int j) {
    int64_t value = values[i];
    values[i] = values[j];
    values[j] = value;
}

void cf_sums_sort(cf_sums *sums) {
    for (int i = 1; i < sums->count; i++) {
        for (int j = i; j > 0 && sums->step[j - 1] < sums->step[j]; j--) {
            swap(sums->step, j - 1, j);
            swap(sums->extent, j - 1, j);
        }
    }
}

static void remove_term(cf_sums *sums, int k) {
    sums->count--;
    for (; k < sums->count; k++) {
        sums->step[k] = sums->step[k + 1];
        sums->extent[k] = sums->extent[k + 1];
    }
}

void cf_sums_merge(cf_sums *sums) {
    cf_sums_sort(sums);
    for (int small = sums->count - 1; small > 0; small--) {
        for (int large = small - 1; large >= 0; large--) { /* from the next larger: each merge lets more in */
            int64_t ratio = sums->step[large] / sums->step[small];
            if (sums->step[large] % sums->step[small] != 0 || sums->extent[small] < ratio) continue;
            sums->extent[small] += ratio * (sums->extent[large] - 1);
            remove_term(sums, large);
            small--;
        }
    }
}

int64_t cf_sums_reach(const cf_sums *sums) {
    int64_t reach = 0;
    for (int k = 0; k < sums->count; k++) reach += (sums->extent[k] - 1) * sums->step[k];
    return reach;
}

int64_t cf_sums_divisor(const cf_sums *sums) {
    int64_t divisor = 0;
    for (int k = 0; k < sums->count; k++) divisor = cf_gcd(sums->step[k], divisor);
    return divisor;
}

/* ---- visits ---- */

typedef struct walk {
    const cf_sums *sums;
    int64_t low, high;
    int64_t reach[CF_MAX_TERMS + 1]; /* greatest sum of the terms from k on */
    cf_visit visit;
    void *context;
} walk;

static int64_t min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The sums from `sum` by the terms from k on. Only indices whose sums can still fall into the window are taken. */
static bool walk_term(const walk *w, int k, int64_t sum) {
    const cf_sums *sums = w->sums;
    int64_t step = sums->step[k], beyond = w->reach[k + 1];
    int64_t missing = w->low - sum - beyond;
    int64_t first = missing > 0 ? (missing + step - 1) / step : 0;
    if (w->high - 1 < sum) return false;
    int64_t last = min(sums->extent[k] - 1, (w->high - 1 - sum) / step);
    if (first > last) return false;
    if (k == sums->count - 1) return w->visit(w->context, sum + first * step, last - first + 1, step);
    for (int64_t index = first; index <= last; index++) {
        if (walk_term(w, k + 1, sum + index * step)) return true;
    }
    return false;
}

bool cf_sums_visit(const cf_sums *sums, int64_t low, int64_t high, cf_visit visit, void *context) {
    walk w = {.sums = sums, .low = low, .high = high, .visit = visit, .context = context};
    if (sums->count == 0) return low <= 0 && 0 < high && visit(context, 0, 1, 1);
    w.reach[sums->count] = 0;
    for (int k = sums->count - 1; k >= 0; k--) w.reach[k] = w.reach[k + 1] + (sums->extent[k] - 1) * sums->step[k];
    return walk_term(&w, 0, 0);
}

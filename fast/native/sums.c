#include "sums.h"

#include <stdlib.h>

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

/* ---- bitmaps ---- */

/* Adds to the bitmap of `words` words the same set shifted up by `shift`: from the top down, so that only old bits are
 * read. */
static void shift_or(uint64_t *bits, int64_t words, int64_t shift) {
    int64_t whole = shift / 64;
    int rest = (int)(shift % 64);
    for (int64_t word = words - 1; word >= whole; word--) {
        uint64_t moved = bits[word - whole] << rest;
        if (rest != 0 && word > whole) moved |= bits[word - whole - 1] >> (64 - rest);
        bits[word] |= moved;
    }
}

uint64_t *cf_sums_bitmap(const cf_sums *sums, int64_t last) {
    int64_t words = last / 64 + 1;
    uint64_t *bits = calloc((size_t)words, sizeof *bits);
    if (!bits) return NULL;
    bits[0] = 1;
    for (int k = sums->count - 1; k >= 0; k--) {
        int64_t left = sums->extent[k] - 1;
        for (int64_t many = 1; left > 0; many *= 2) { /* 1, 2, 4, ... and a rest: every index is a sum of these */
            int64_t taken = min(many, left);
            if (taken <= last / sums->step[k]) shift_or(bits, words, taken * sums->step[k]);
            left -= taken;
        }
    }
    return bits;
}

/* Calls visit for each bit set in one word, the bit k standing for the sum first + k * unit. */
static bool visit_word(uint64_t word, int64_t first, int64_t unit, cf_visit visit, void *context) {
    for (; word != 0; word &= word - 1) {
        if (visit(context, first + __builtin_ctzll(word) * unit, 1, 1)) return true;
    }
    return false;
}

/* The bits of a word, which stands for the sums from `first` on, that stand for sums in [low, high). */
static uint64_t within(uint64_t word, int64_t first, int64_t low, int64_t high) {
    if (high <= first || low >= first + 64) return 0;
    if (low > first) word &= ~UINT64_C(0) << (low - first);
    if (high < first + 64) word &= ~(~UINT64_C(0) << (high - first));
    return word;
}

bool cf_sums_visit_once(const cf_sums *sums, int64_t low, int64_t high, cf_visit visit, void *context, bool *answer) {
    cf_sums units = *sums;
    int64_t unit = cf_sums_divisor(sums);
    if (unit == 0) unit = 1;
    for (int k = 0; k < units.count; k++) units.step[k] /= unit;
    int64_t last = min(cf_sums_reach(&units), high > 0 ? (high - 1) / unit : 0);
    int64_t from = low > 0 ? (low + unit - 1) / unit : 0, to = high > 0 ? last + 1 : 0;
    uint64_t *bits = cf_sums_bitmap(&units, last);
    if (!bits) return false;
    *answer = false;
    for (int64_t word = from / 64; !*answer && word <= last / 64; word++)
        *answer = visit_word(within(bits[word], word * 64, from, to), word * 64 * unit, unit, visit, context);
    free(bits);
    return true;
}

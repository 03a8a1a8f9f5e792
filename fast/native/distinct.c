#include "distinct.h"

#include <stdlib.h>
#include <string.h>

#include "sums.h"

#define EXACT_SPAN (INT64_C(1) << 32)
#define WINDOW (INT64_C(1) << 15) /* positions swept at a time without scratch: 4 KiB on the stack */

bool cf_layout_nests(const cf_layout *layout) {
    cf_sums sums;
    int64_t reach = 0;
    cf_sums_of_layout(&sums, layout, 1);
    cf_sums_sort(&sums);
    for (int axis = 0; axis < layout->rank; axis++) {
        if (layout->shape[axis] == 0) return true;
        if (layout->shape[axis] > 1 && layout->strides[axis] == 0) return false;
    }
    for (int k = sums.count - 1; k >= 0; k--) {
        if (sums.step[k] <= reach) return false;
        reach += (sums.extent[k] - 1) * sums.step[k];
    }
    return true;
}

/* ---- exact shortcuts ---- */

static int64_t divisor_of_others(const cf_sums *sums, int except) {
    int64_t divisor = 0;
    for (int k = 0; k < sums->count; k++) {
        if (k != except) divisor = cf_gcd(sums->step[k], divisor);
    }
    return divisor;
}

/* Whether two equal sums have one index on term k, so that the term can be left out of the question. Either its step
 * exceeds what the others reach together; or, the others being multiples of some divisor, so is the difference on term
 * k, and the term has fewer indices than its first multiple needs. */
static bool separable(const cf_sums *sums, int k) {
    int64_t step = sums->step[k], own = (sums->extent[k] - 1) * step;
    if (step > cf_sums_reach(sums) - own) return true;
    int64_t divisor = divisor_of_others(sums, k);
    return sums->extent[k] <= divisor / cf_gcd(step, divisor);
}

static void drop_separable(cf_sums *sums) {
    for (int k = 0; k < sums->count;) {
        if (!separable(sums, k)) {
            k++;
            continue;
        }
        sums->count--;
        sums->step[k] = sums->step[sums->count];
        sums->extent[k] = sums->extent[sums->count];
        k = 0; /* fewer others: more may be separable */
    }
}

/* Two terms alone collide iff each has the other's step, less the common divisor, among its indices. */
static bool some_pair_collides(const cf_sums *sums) {
    for (int i = 0; i < sums->count; i++) {
        for (int j = 0; j < i; j++) {
            int64_t divisor = cf_gcd(sums->step[i], sums->step[j]);
            if (sums->extent[i] > sums->step[j] / divisor && sums->extent[j] > sums->step[i] / divisor) return true;
        }
    }
    return false;
}

/* ---- the sweep ---- */

typedef struct sweep {
    uint64_t *seen; /* one bit per position from `low` on */
    int64_t low;
} sweep;

static bool mark(void *context, int64_t first, int64_t n, int64_t step) {
    sweep *s = context;
    int64_t at = first - s->low;
    for (int64_t k = 0; k < n; k++, at += step) {
        uint64_t bit = UINT64_C(1) << (at & 63);
        if (s->seen[at >> 6] & bit) return true;
        s->seen[at >> 6] |= bit;
    }
    return false;
}

static bool collides_with_scratch(const cf_sums *sums, int64_t span, uint64_t *scratch) {
    sweep s = {scratch, 0};
    return cf_sums_visit(sums, 0, span, mark, &s);
}

/* The same answer window by window: slower, since every window walks the outer axes again, but without memory. */
static bool collides_by_windows(const cf_sums *sums, int64_t span) {
    uint64_t seen[WINDOW / 64];
    for (int64_t low = 0; low < span; low += WINDOW) {
        sweep s = {seen, low};
        memset(seen, 0, sizeof seen);
        if (cf_sums_visit(sums, low, low + WINDOW, mark, &s)) return true;
    }
    return false;
}

static bool collides(cf_sums *sums) {
    int64_t divisor = cf_sums_divisor(sums), size = 1;
    for (int k = 0; k < sums->count; k++) sums->step[k] /= divisor;
    int64_t span = cf_sums_reach(sums) + 1;
    for (int k = 0; k < sums->count; k++) {
        if (sums->extent[k] > span / size) return true; /* more indices than positions */
        size *= sums->extent[k];
    }
    cf_sums_sort(sums);
    uint64_t *scratch = span > WINDOW ? calloc((size_t)(span / 64 + 1), sizeof *scratch) : NULL;
    if (!scratch) return collides_by_windows(sums, span);
    bool answer = collides_with_scratch(sums, span, scratch);
    free(scratch);
    return answer;
}

bool cf_layout_is_distinct(const cf_layout *layout) {
    cf_sums sums;
    if (layout->flags & CF_LAYOUT_DISTINCT) return true;
    if (layout->flags & CF_LAYOUT_REPEATED) return false;
    if (layout->high - layout->low > EXACT_SPAN) return cf_layout_nests(layout);
    cf_sums_of_layout(&sums, layout, 1);
    drop_separable(&sums);
    if (sums.count < 2) return true;
    return !some_pair_collides(&sums) && !collides(&sums);
}

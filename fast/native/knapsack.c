#include "knapsack.h"

#include <stdlib.h>

__extension__ typedef __int128 wide;

static int64_t min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* For a >= 0 or a < 0 and b > 0. */
static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static int64_t ceil_div(int64_t a, int64_t b) {
    return -floor_div(-a, b);
}

/* ---- normal form ---- */

/* Leaves out indices whose own part exceeds the target. */
static void trim(cf_sums *terms, int64_t target) {
    int kept = 0;
    for (int k = 0; k < terms->count; k++) {
        int64_t extent = min(terms->extent[k], target / terms->step[k] + 1);
        if (extent < 2) continue;
        terms->step[kept] = terms->step[k];
        terms->extent[kept++] = extent;
    }
    terms->count = kept;
}

/* Divides all by the greatest divisor of the steps, an interval to the multiples within. */
static void divide(cf_sums *terms, int64_t *low, int64_t *high) {
    int64_t divisor = cf_sums_divisor(terms);
    if (divisor < 2) return;
    for (int k = 0; k < terms->count; k++) terms->step[k] /= divisor;
    *low = ceil_div(*low, divisor);
    *high = floor_div(*high, divisor);
}

/* Clips the interval to what the terms reach, from the end that is nearer: turning every index round turns the interval
 * round too. */
static void turn(const cf_sums *terms, int64_t *low, int64_t *high) {
    int64_t reach = cf_sums_reach(terms), least = *low, greatest = *high;
    if (reach - *low < *high) {
        least = reach - *high;
        greatest = reach - *low;
    }
    *low = max(least, 0);
    *high = min(greatest, reach);
}

/* One round towards normal form; the interval can be empty after it. */
static void reduce(cf_sums *terms, int64_t *low, int64_t *high) {
    cf_sums_merge(terms);
    divide(terms, low, high);
    turn(terms, low, high);
    if (*low <= *high) trim(terms, *high);
}

enum cf_decision cf_knapsack_of(cf_knapsack *knapsack, const cf_sums *given, int64_t low, int64_t high) {
    cf_sums *terms = &knapsack->terms;
    *terms = *given;
    reduce(terms, &low, &high);
    if (low > high) return CF_NO;
    if (low == 0 || high == cf_sums_reach(terms)) return CF_YES; /* the least or the greatest sum */
    cf_sums_add(terms, 1, high - low + 1); /* an interval is a target with one more term of step 1 */
    low = high;
    for (int before = -1; before != terms->count;) { /* each round that changes anything drops a term or is the last */
        before = terms->count;
        reduce(terms, &low, &high);
        if (low > high) return CF_NO;
    }
    knapsack->target = high;
    int64_t reach = cf_sums_reach(terms);
    if (high == 0 || high == reach) return CF_YES;
    return high > reach ? CF_NO : CF_OPEN;
}

/* ---- search ---- */

typedef struct search {
    const cf_sums *terms;
    int64_t reach[CF_MAX_TERMS + 1];   /* greatest sum of the terms from k on */
    int64_t divisor[CF_MAX_TERMS + 1]; /* greatest divisor of the steps from k on */
    int64_t inverse;                   /* of the last step but one, modulo the last, both less their divisor */
    int nodes;                         /* left to visit */
} search;

/* The inverse of a modulo m, for coprime a and m. */
static int64_t inverse_modulo(int64_t a, int64_t m) {
    int64_t r0 = m, r1 = a % m, t0 = 0, t1 = 1;
    while (r1 > 0) {
        int64_t quotient = r0 / r1, r2 = r0 - quotient * r1, t2 = t0 - quotient * t1;
        r0 = r1;
        r1 = r2;
        t0 = t1;
        t1 = t2;
    }
    return t0 < 0 ? t0 + m : t0;
}

static void prepare(search *s, const cf_sums *terms) {
    int last = terms->count - 1;
    s->terms = terms;
    s->nodes = CF_SEARCH_NODES;
    s->reach[terms->count] = s->divisor[terms->count] = 0;
    for (int k = last; k >= 0; k--) {
        s->reach[k] = s->reach[k + 1] + (terms->extent[k] - 1) * terms->step[k];
        s->divisor[k] = cf_gcd(terms->step[k], s->divisor[k + 1]);
    }
    if (last < 1) return;
    int64_t divisor = s->divisor[last - 1];
    s->inverse = inverse_modulo(terms->step[last - 1] / divisor, terms->step[last] / divisor);
}

/* The last two terms, a * x + b * y = rest, which their divisor divides: x is known modulo b, so look at the least x
 * that leaves y within its bound. */
static bool solve_two(const search *s, int k, int64_t rest) {
    int64_t a = s->terms->step[k], b = s->terms->step[k + 1], divisor = s->divisor[k];
    int64_t modulus = b / divisor;
    int64_t x = (int64_t)((wide)(rest / divisor % modulus) * s->inverse % modulus);
    int64_t least = max(0, ceil_div(rest - s->reach[k + 1], a));
    if (x < least) x += ceil_div(least - x, modulus) * modulus;
    return x <= min(s->terms->extent[k] - 1, rest / a);
}

static enum cf_decision search_term(search *s, int k, int64_t rest) {
    const cf_sums *terms = s->terms;
    if (rest < 0 || rest > s->reach[k]) return CF_NO;
    if (rest == 0 || rest == s->reach[k]) return CF_YES;
    if (rest % s->divisor[k] != 0) return CF_NO;
    if (k == terms->count - 1) return CF_YES; /* its step is the divisor, and rest is in reach */
    if (k == terms->count - 2) return solve_two(s, k, rest) ? CF_YES : CF_NO;
    int64_t step = terms->step[k];
    int64_t least = max(0, ceil_div(rest - s->reach[k + 1], step));
    for (int64_t index = min(terms->extent[k] - 1, rest / step); index >= least; index--) {
        if (s->nodes-- <= 0) return CF_OPEN;
        enum cf_decision decision = search_term(s, k + 1, rest - index * step);
        if (decision != CF_NO) return decision;
    }
    return CF_NO;
}

enum cf_decision cf_knapsack_search(const cf_knapsack *knapsack) {
    search s;
    prepare(&s, &knapsack->terms);
    return search_term(&s, 0, knapsack->target);
}

/* ---- residues ---- */

typedef struct queued {
    int64_t sum;       /* less `step` for every turn so far: so all on the queue are comparable */
    int64_t turn;
} queued;

/* The least sums by residue, and the queue that finds the least of the last so many of them. */
typedef struct table {
    int64_t modulus;
    int64_t limit;     /* stands for no sum: more than the target */
    int64_t *least;    /* by residue */
    queued *queue;     /* sums rising from head to tail; two turns of a cycle fit */
} table;

/* One cycle of residues start, start + step, ...: each gets the least of its own sum and those up to `most` steps back,
 * with the steps added. The first turn only fills the queue; the second reads each old sum before it writes it. A sum
 * no smaller than a later one can never be the least again, so the queue drops it. */
static void relax_cycle(table *t, int64_t start, int64_t step, int64_t most, int64_t length) {
    int64_t at = start, jump = step % t->modulus, head = 0, tail = 0;
    for (int64_t turn = 0; turn < 2 * length; turn++) {
        int64_t sum = t->least[at] - turn * step;
        while (tail > head && t->queue[tail - 1].sum >= sum) tail--;
        t->queue[tail++] = (queued){sum, turn};
        head += t->queue[head].turn < turn - most;
        if (turn >= length) t->least[at] = min(t->queue[head].sum + turn * step, t->limit);
        at += jump;
        if (at >= t->modulus) at -= t->modulus;
    }
}

/* Lets up to extent - 1 steps be added. A whole cycle of them comes back to its residue, and never to a smaller sum. */
static void relax(table *t, int64_t step, int64_t extent) {
    int64_t cycles = cf_gcd(t->modulus, step % t->modulus), length = t->modulus / cycles;
    for (int64_t start = 0; start < cycles; start++) relax_cycle(t, start, step, min(extent, length) - 1, length);
}

static bool make_table(table *t, int64_t modulus, int64_t target) {
    t->modulus = modulus;
    t->limit = target + 1;
    t->least = malloc((size_t)modulus * sizeof *t->least);
    t->queue = malloc((size_t)modulus * 2 * sizeof *t->queue);
    if (!t->least || !t->queue) return false;
    for (int64_t residue = 1; residue < modulus; residue++) t->least[residue] = t->limit;
    t->least[0] = 0;
    return true;
}

static void free_table(const table *t) {
    free(t->least);
    free(t->queue);
}

enum cf_decision cf_knapsack_residues(const cf_knapsack *knapsack, int modulo) {
    table t;
    const cf_sums *terms = &knapsack->terms;
    int64_t step = terms->step[modulo], target = knapsack->target;
    bool made = make_table(&t, step, target);
    for (int k = 0; made && k < terms->count; k++) {
        if (k != modulo) relax(&t, terms->step[k], terms->extent[k]);
    }
    int64_t rest = made ? target - t.least[target % step] : 0;
    free_table(&t);
    if (!made) return CF_OPEN;
    if (rest < 0) return CF_NO;
    return rest / step < terms->extent[modulo] ? CF_YES : CF_OPEN;
}

int cf_knapsack_free_term(const cf_knapsack *knapsack) {
    const cf_sums *terms = &knapsack->terms;
    for (int k = terms->count - 1; k >= 0; k--) {
        if (terms->extent[k] > knapsack->target / terms->step[k]) return k;
    }
    return -1;
}

int64_t cf_knapsack_residues_work(const cf_knapsack *knapsack, int modulo) {
    return knapsack->terms.step[modulo] * knapsack->terms.count * 8;
}

/* ---- bitmap ---- */

enum cf_decision cf_knapsack_bitmap(const cf_knapsack *knapsack) {
    int64_t target = knapsack->target;
    uint64_t *bits = cf_sums_bitmap(&knapsack->terms, target);
    if (!bits) return CF_OPEN;
    bool hit = bits[target / 64] >> (target % 64) & 1;
    free(bits);
    return hit ? CF_YES : CF_NO;
}

int64_t cf_knapsack_bitmap_work(const cf_knapsack *knapsack) {
    const cf_sums *terms = &knapsack->terms;
    int64_t rounds = 0;
    for (int k = 0; k < terms->count; k++) rounds += 64 - __builtin_clzll((uint64_t)terms->extent[k]);
    return (knapsack->target / 64 + 1) * rounds;
}

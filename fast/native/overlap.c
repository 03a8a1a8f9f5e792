#include "overlap.h"

#include <stdlib.h>
#include <string.h>

#include "door.h"
#include "knapsack.h"

#define RESIDUE_BITS 320 /* of scratch for a residue: a bitmap of all sums takes a bit for each */
#define WINDOW (INT64_C(1) << 15) /* units swept at a time without scratch: 4 KiB on the stack */

/* One operand as a set of bit addresses: its elements start at first + sums. A byte-wise one starts on bytes only. A
 * packed one has elements narrower than a byte that start inside bytes: an element lies in the byte of its start. */
typedef struct side {
    cf_sums sums;
    int64_t first;
    int64_t reach;
    int64_t width; /* bits: whole bytes if byte-wise, 1 if packed */
    int64_t bits;  /* of an element */
    bool packed;
} side;

static int64_t min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static side side_of(const cf_array *array) {
    side s;
    cf_sums_of_layout(&s.sums, &array->layout, array->bits);
    cf_sums_merge(&s.sums);
    s.reach = cf_sums_reach(&s.sums);
    s.first = (int64_t)(uintptr_t)array->data * 8 + array->layout.low * array->bits;
    s.bits = array->bits;
    s.packed = array->bits < 8 && cf_sums_divisor(&s.sums) % 8 != 0;
    s.width = s.packed ? 1 : max(array->bits, 8);
    if (!s.packed) s.first &= ~INT64_C(7); /* all its elements lie alike in their bytes: take the bytes */
    return s;
}

/* Whether every byte from the first to the last is one of its bytes. */
static bool dense(const side *s) {
    return s->sums.count == 0 || (s->sums.count == 1 && s->sums.step[0] <= max(s->width, 8));
}

/* Whether the byte at bit address `at` lies in the range of a dense side. */
static bool holds(const side *s, int64_t at) {
    int64_t byte = at & ~INT64_C(7);
    return byte >= (s->first & ~INT64_C(7)) && byte <= s->first + s->reach + s->width - 1;
}

static bool holds_an_end(const side *s, const side *other) {
    return holds(s, other->first) || holds(s, other->first + other->reach + other->width - 1);
}

/* ---- by sums ---- */

/* The question whether some element of a starts between low and high bits after some element of b: b's indices are
 * turned round, so that all signs are plus. */
static enum cf_decision ask(cf_knapsack *question, const side *a, const side *b, int64_t low, int64_t high) {
    cf_sums terms = a->sums;
    for (int k = 0; k < b->sums.count; k++) cf_sums_add(&terms, b->sums.step[k], b->sums.extent[k]);
    int64_t apart = b->first + b->reach - a->first;
    return cf_knapsack_of(question, &terms, low + apart, high + apart);
}

/* Residues modulo the step of a term, if that is worth its while: cheaper than the last resorts, in no more scratch. */
static enum cf_decision by_residues(const cf_knapsack *question, int modulo, int64_t work) {
    if (modulo < 0 || question->terms.step[modulo] > question->target / RESIDUE_BITS) return CF_OPEN;
    if (cf_knapsack_residues_work(question, modulo) > work) return CF_OPEN;
    return cf_knapsack_residues(question, modulo);
}

/* The least step makes the smallest table; a term with indices enough always decides. */
static enum cf_decision cheaply(const cf_knapsack *question, int64_t work, int *by) {
    *by = CF_BY_SEARCH;
    enum cf_decision decision = cf_knapsack_search(question);
    if (decision != CF_OPEN) return decision;
    *by = CF_BY_RESIDUE;
    int least = question->terms.count - 1, enough = cf_knapsack_free_term(question);
    if (enough != least) decision = by_residues(question, least, work);
    return decision == CF_OPEN ? by_residues(question, enough, work) : decision;
}

/* ---- by bytes ---- */

typedef struct sweep {
    uint64_t *bits; /* one per unit from bit address `low` on */
    int64_t low;
    int64_t units;
    int64_t unit;   /* in bits, a multiple of 8 */
    const side *side;
} sweep;

/* The units [*from, *to] of the window that an element starting at `sum` lies in. */
static void units_of(const sweep *s, int64_t sum, int64_t *from, int64_t *to) {
    int64_t start = s->side->first + sum - s->low; /* below 0 where it starts before the window */
    *from = start > 0 ? start / s->unit : 0;
    *to = min((start + s->side->width - 1) / s->unit, s->units - 1);
}

static int64_t elements(const side *s) {
    double many = 1;
    for (int k = 0; k < s->sums.count; k++) many *= (double)s->sums.extent[k];
    return many < 0x1p62 ? (int64_t)many : INT64_C(1) << 62;
}

static bool mark(void *context, int64_t first, int64_t n, int64_t step) {
    const sweep *s = context;
    for (int64_t k = 0; k < n; k++, first += step) {
        int64_t from, to;
        for (units_of(s, first, &from, &to); from <= to; from++) s->bits[from >> 6] |= UINT64_C(1) << (from & 63);
    }
    return false;
}

static bool marked(void *context, int64_t first, int64_t n, int64_t step) {
    const sweep *s = context;
    for (int64_t k = 0; k < n; k++, first += step) {
        int64_t from, to;
        for (units_of(s, first, &from, &to); from <= to; from++) {
            if (s->bits[from >> 6] >> (from & 63) & 1) return true;
        }
    }
    return false;
}

/* Visits the elements of a side that lie in the window; ones that lie in one place once, where there must be many. */
static bool visit(sweep *s, const side *side, cf_visit f) {
    bool answer;
    int64_t low = s->low - side->first - side->width + 1, high = s->low + s->units * s->unit - side->first;
    s->side = side;
    if (elements(side) > side->reach && cf_sums_visit_once(&side->sums, low, high, f, s, &answer)) return answer;
    return cf_sums_visit(&side->sums, low, high, f, s);
}

/* The widest step in which both sides lie: a whole number of bytes. */
static int64_t unit_of(const side *a, const side *b, int64_t low) {
    if (a->packed || b->packed) return 8;
    int64_t unit = cf_gcd(cf_sums_divisor(&a->sums), cf_sums_divisor(&b->sums));
    unit = cf_gcd(cf_gcd(unit, a->width), b->width);
    int64_t from_a = a->first - low, from_b = b->first - low;
    return cf_gcd(cf_gcd(unit, from_a < 0 ? -from_a : from_a), from_b < 0 ? -from_b : from_b);
}

static bool meet_in(sweep *s, const side *a, const side *b) {
    visit(s, a, mark);
    return visit(s, b, marked);
}

/* One pass over the elements of both in the bytes they have in common, a bit per unit: all at once, or, without memory
 * for that, window by window. `a` has the fewer elements. */
static bool meet(const side *a, const side *b) {
    uint64_t window[WINDOW / 64];
    int64_t low = max(a->first, b->first) & ~INT64_C(7);
    int64_t high = min(a->first + a->reach + a->width, b->first + b->reach + b->width);
    int64_t unit = unit_of(a, b, low), units = (high - low + unit - 1) / unit;
    uint64_t *scratch = units > WINDOW ? calloc((size_t)(units / 64 + 1), sizeof *scratch) : NULL;
    sweep s = {scratch ? scratch : window, low, scratch ? units : WINDOW, unit, NULL};
    bool answer = false;
    for (; !answer && s.low < high; s.low += s.units * unit) {
        if (!scratch) memset(window, 0, sizeof window);
        answer = meet_in(&s, a, b);
    }
    free(scratch);
    return answer;
}

/* ---- both ---- */

static bool sweep_both(const side *a, const side *b, int *by) {
    *by = CF_BY_SWEEP;
    return elements(a) <= elements(b) ? meet(a, b) : meet(b, a);
}

/* At most one is packed: starts apart by so many bits are the whole question. */
static bool decide_by_starts(const side *a, const side *b, int *by) {
    cf_knapsack question;
    *by = CF_BY_SEARCH;
    enum cf_decision decision = ask(&question, a, b, 1 - a->width, b->width - 1);
    if (decision != CF_OPEN) return decision == CF_YES;
    int64_t sweeping = elements(a) / 2 + elements(b) / 2, summing = cf_knapsack_bitmap_work(&question);
    decision = cheaply(&question, min(sweeping, summing), by);
    if (decision == CF_OPEN && summing < sweeping) {
        *by = CF_BY_SUMS;
        decision = cf_knapsack_bitmap(&question);
    }
    return decision == CF_OPEN ? sweep_both(a, b, by) : decision == CF_YES;
}

/* Both are packed: starts more than 7 bits apart share no byte, elements that share a bit do, and what lies between
 * depends on where bytes begin. */
static bool decide_packed(const side *a, const side *b, int *by) {
    cf_knapsack question;
    *by = CF_BY_SEARCH;
    enum cf_decision decision = ask(&question, a, b, -7, 7);
    if (decision == CF_OPEN) decision = cf_knapsack_search(&question);
    if (decision == CF_NO) return false;
    decision = ask(&question, a, b, 1 - a->bits, b->bits - 1);
    if (decision == CF_OPEN) decision = cf_knapsack_search(&question);
    return decision == CF_YES || sweep_both(a, b, by);
}

bool cf_overlap_decide(const cf_array *a, const cf_array *b, int *by) {
    *by = CF_BY_RANGE;
    if (cf_array_empty(a) || cf_array_empty(b)) return false;
    cf_bytes p = cf_array_bytes(a), q = cf_array_bytes(b);
    if (p.end <= q.first || q.end <= p.first) return false;
    side s = side_of(a), t = side_of(b);
    *by = CF_BY_DENSE;
    if (dense(&s) && (dense(&t) || holds_an_end(&s, &t))) return true;
    if (dense(&t) && holds_an_end(&t, &s)) return true;
    return s.packed && t.packed ? decide_packed(&s, &t, by) : decide_by_starts(&s, &t, by);
}

bool cf_overlapping(const cf_array *a, const cf_array *b) {
    int by;
    return cf_overlap_decide(a, b, &by);
}

/* ---- identity (A4) ---- */

bool cf_same_shape(const cf_array *a, const cf_array *b) {
    if (a->layout.rank != b->layout.rank) return false;
    for (int axis = 0; axis < a->layout.rank; axis++) {
        if (a->layout.shape[axis] != b->layout.shape[axis]) return false;
    }
    return true;
}

static bool same_strides(const cf_array *a, const cf_array *b) {
    for (int axis = 0; axis < a->layout.rank; axis++) {
        if (a->layout.strides[axis] != b->layout.strides[axis]) return false;
    }
    return true;
}

/* Layouts are canonical, so equal maps have equal strides; elements of one width then lie alike if the first do. */
bool cf_identical(const cf_array *a, const cf_array *b) {
    if (a->bits != b->bits || cf_array_empty(a) || !cf_same_shape(a, b)) return false;
    int64_t p = (int64_t)(uintptr_t)a->data * 8 + a->layout.offset * a->bits;
    int64_t q = (int64_t)(uintptr_t)b->data * 8 + b->layout.offset * b->bits;
    return p == q && same_strides(a, b);
}

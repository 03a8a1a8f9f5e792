/* Sets of sums: index[0] * step[0] + ... for 0 <= index[k] < extent[k], all steps positive.
 *
 * The positions of a layout are its least position plus such sums, once negative strides are walked from their other
 * end. Whether two layouts meet is whether some sum of the steps of both hits a target.
 */
#ifndef COUNTERFOIL_SUMS_H
#define COUNTERFOIL_SUMS_H

#include "layout.h"

#define CF_MAX_TERMS (2 * CF_MAX_RANK + 1)

typedef struct cf_sums {
    int32_t count;                  /* terms; none: the one sum 0 */
    int64_t step[CF_MAX_TERMS];     /* > 0; every sum stays below 2^62 */
    int64_t extent[CF_MAX_TERMS];   /* > 1 */
} cf_sums;

int64_t cf_gcd(int64_t a, int64_t b);

/* Adds a term; one of step 0 or extent 1 adds nothing. */
void cf_sums_add(cf_sums *sums, int64_t step, int64_t extent);

/* The terms of a layout with an element, each stride (by magnitude) times `scale`. */
void cf_sums_of_layout(cf_sums *sums, const cf_layout *layout, int64_t scale);

/* Sorts by decreasing step. */
void cf_sums_sort(cf_sums *sums);

/* Merges terms that reach the same set as one: c and m * c become c where c has at least m indices. Sorts. */
void cf_sums_merge(cf_sums *sums);

/* The greatest sum. */
int64_t cf_sums_reach(const cf_sums *sums);

/* The greatest divisor of all steps, 0 without terms. */
int64_t cf_sums_divisor(const cf_sums *sums);

/* Calls visit(context, first, n, step) for every innermost run of sums first, first + step, ... (n of them) with low <=
 * sum < high, the terms being sorted. Stops and answers true once visit answers true. */
typedef bool (*cf_visit)(void *context, int64_t first, int64_t n, int64_t step);
bool cf_sums_visit(const cf_sums *sums, int64_t low, int64_t high, cf_visit visit, void *context);

/* Each sum in [low, high) once, however many indices reach it, as runs of one: the terms need not be sorted. Answers
 * through *answer as cf_sums_visit does; false, and nothing visited, without memory for a bit per multiple of the
 * terms' greatest divisor up to `high`. */
bool cf_sums_visit_once(const cf_sums *sums, int64_t low, int64_t high, cf_visit visit, void *context, bool *answer);

/* Which sums there are up to `last`, a bit each, to be freed; NULL without memory. */
uint64_t *cf_sums_bitmap(const cf_sums *sums, int64_t last);

#endif

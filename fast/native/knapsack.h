/* Bounded subset sums: does some sum of a set (sums.h) hit a target?
 *
 * Deciding it is hard in general, so each method here has a cost known before it starts: a search of at most
 * CF_SEARCH_NODES nodes, a table of the residues of one step, and a bitmap of all sums up to the target.
 */
#ifndef COUNTERFOIL_KNAPSACK_H
#define COUNTERFOIL_KNAPSACK_H

#include "sums.h"

#define CF_SEARCH_NODES 1024

enum cf_decision {
    CF_NO = 0,
    CF_YES = 1,
    CF_OPEN = 2                     /* this method does not say */
};

typedef struct cf_knapsack {
    cf_sums terms;                  /* sorted by decreasing step, merged, their greatest divisor 1 */
    int64_t target;                 /* between 0 and the greatest sum */
} cf_knapsack;

/* Whether a sum of the terms lies in [low, high]: takes it to normal form, which decides the easy ones. */
enum cf_decision cf_knapsack_of(cf_knapsack *knapsack, const cf_sums *terms, int64_t low, int64_t high);

/* Depth first, larger steps first, leaving out what reach and divisors exclude; two terms are solved directly. */
enum cf_decision cf_knapsack_search(const cf_knapsack *knapsack);

/* The least sum of the other terms for each residue modulo the step of term `modulo`: no, if the one congruent to the
 * target exceeds it; yes, if the term makes up for the rest. Open only if that term's indices are too few for the rest,
 * or without memory for 5 words a residue. */
enum cf_decision cf_knapsack_residues(const cf_knapsack *knapsack, int modulo);

/* The term of least step that has indices enough for the whole target, -1 if none has: residues modulo it decide. */
int cf_knapsack_free_term(const cf_knapsack *knapsack);

/* What the residues cost, in the words of cf_knapsack_bitmap_work. */
int64_t cf_knapsack_residues_work(const cf_knapsack *knapsack, int modulo);

/* All sums up to the target in a bitmap: always decides, unless there is no memory for it. */
enum cf_decision cf_knapsack_bitmap(const cf_knapsack *knapsack);

/* What the bitmap costs: words read and written, and bytes of scratch. */
int64_t cf_knapsack_bitmap_work(const cf_knapsack *knapsack);

#endif

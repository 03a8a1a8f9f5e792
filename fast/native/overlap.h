/* Whether two arrays share a byte (A1), exactly and at bounded cost.
 *
 * cf_overlapping and cf_identical are declared in door.h. Cheap tests come first: address ranges, equal maps, divisors,
 * short searches. What they leave open is decided by one pass over the elements of both inside the range of bytes they
 * have in common, or over the sums of strides, whichever is cheaper.
 */
#ifndef COUNTERFOIL_OVERLAP_H
#define COUNTERFOIL_OVERLAP_H

#include "array.h"

/* How cf_overlapping came to its answer: for tests and benchmarks. */
enum cf_overlap_by {
    CF_BY_RANGE = 0,                /* no element, or address ranges apart */
    CF_BY_DENSE = 1,                /* one of them holds every byte of its range */
    CF_BY_SEARCH = 2,               /* divisors and a short search decided */
    CF_BY_RESIDUE = 3,              /* the least sums by residue left no solution, or gave one */
    CF_BY_SUMS = 4,                 /* all sums of strides, as a bitmap */
    CF_BY_SWEEP = 5                 /* all bytes of both, as a bitmap */
};

/* As cf_overlapping, also answering how in *by (enum cf_overlap_by). */
bool cf_overlap_decide(const cf_array *a, const cf_array *b, int *by);

#endif

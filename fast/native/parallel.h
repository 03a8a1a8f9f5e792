/* Loops over threads, for generated code.
 *
 * Where a loop is cut depends on its count and grain alone, so what is computed does not depend on who computes it.
 */
#ifndef COUNTERFOIL_PARALLEL_H
#define COUNTERFOIL_PARALLEL_H

#include <stdint.h>

/* How many threads take part in a loop, the caller's own included: called once, before any loop. */
void cf_parallel_use(int threads);

/* body(state, first, last) for each stretch of `grain` iterations of [0, count), the last one shorter, in any order and
 * on any thread; back when all are done. A loop in a loop, or beside another thread's, is done by its caller alone. */
void cf_parallel_for(void (*body)(void *state, int64_t first, int64_t last), void *state, int64_t count,
                     int64_t grain);

#endif

/* Loops over threads: every iteration once, cut where count and grain say, from several callers and from within. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "parallel.c:%d: %s does not hold\n", __LINE__, #condition);    \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

enum { MOST = 5000, CALLERS = 3, ROUNDS = 200 };

/* Each iteration is written plainly by whoever does it: twice done it would race, or count twice. */
typedef struct loop {
    int64_t count, grain;
    int64_t times[MOST];
    atomic_long inner;
} loop;

static void visit(void *state, int64_t first, int64_t last) {
    loop *l = state;
    CHECK(first % l->grain == 0 && (last == l->count || last - first == l->grain));
    for (int64_t k = first; k < last; k++) l->times[k]++;
}

static void count_inner(void *state, int64_t first, int64_t last) {
    atomic_fetch_add_explicit(&((loop *)state)->inner, last - first, memory_order_relaxed);
}

static void nest(void *state, int64_t first, int64_t last) {
    for (int64_t k = first; k < last; k++) cf_parallel_for(count_inner, state, 10, 3);
}

static void *call_often(void *unused) {
    (void)unused;
    static const int64_t counts[] = {0, 1, 7, 64, 1000, MOST}, grains[] = {1, 7, 64, MOST};
    loop *l = calloc(1, sizeof *l);
    CHECK(l != NULL);
    for (int round = 0; round < ROUNDS; round++) {
        l->count = counts[round % 6], l->grain = grains[round / 6 % 4];
        memset(l->times, 0, sizeof l->times);
        cf_parallel_for(visit, l, l->count, l->grain);
        for (int64_t k = 0; k < MOST; k++) CHECK(l->times[k] == (k < l->count));
        atomic_store(&l->inner, 0);
        cf_parallel_for(nest, l, 20, 2);
        CHECK(atomic_load(&l->inner) == 200);
    }
    free(l);
    return NULL;
}

int main(void) {
    pthread_t callers[CALLERS];
    cf_parallel_use(4);
    for (int k = 0; k < CALLERS; k++) CHECK(pthread_create(&callers[k], NULL, call_often, NULL) == 0);
    for (int k = 0; k < CALLERS; k++) CHECK(pthread_join(callers[k], NULL) == 0);
    puts("parallel: every iteration once");
    return 0;
}

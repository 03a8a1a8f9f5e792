/* Threads over ledgers and dispatch: on one root, on roots of their own, and on roots that share a constant.
 *
 * What each thread asserts is said by the functions below; ThreadSanitizer says whether they race.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "claims.h"
#include "dispatch.h"

enum { THREADS = 4, RUNS = 20000 };

/* A root with one routine that reads a constant and adds it to a buffer of its own. */
typedef struct program {
    cf_ledger *ledger;
    cf_unit root, child;
    cf_mark mark;
    cf_record constant, sum;
    cf_buffer *pools[2];
    cf_buffer sums;
    cf_record *outputs[1], *reads[1];
    cf_undo undo[1];
    void *arguments[2];
    uint8_t writing[2];
    cf_routine routine;
    cf_standing value;
} program;

static cf_device *host;
static cf_memory *shared_memory;
static cf_buffer shared_buffer;
static cf_shared shared;

static void add(void *const *arguments, const int64_t *bindings, const void *merge, const cf_services *services) {
    (void)bindings, (void)merge, (void)services;
    *(int64_t *)arguments[0] += *(const int64_t *)arguments[1];
}

static void set_up(program *p, uint32_t number) {
    memset(p, 0, sizeof *p);
    p->ledger = cf_ledger_create(number);
    cf_memory *memory = cf_memory_create(sizeof(int64_t), host, NULL, 0);
    assert(p->ledger != NULL && memory != NULL);
    memset(memory->base, 0, sizeof(int64_t));
    cf_buffer_make(&p->sums, memory, 0, sizeof(int64_t), host, 1);
    p->child.parent = &p->root;
    p->constant.shared = &shared;
    p->pools[0] = &p->sums, p->pools[1] = &shared_buffer;
    p->writing[0] = 1;
    p->outputs[0] = &p->sum, p->reads[0] = &p->constant;
    p->arguments[0] = memory->base, p->arguments[1] = shared_memory->base;
    p->routine = (cf_routine){
        .serial = number, .ledger = p->ledger, .unit = &p->child, .mark = &p->mark,
        .shared_reads = p->reads, .shared_count = 1, .outputs = p->outputs, .undo = p->undo, .output_count = 1,
        .pools = p->pools, .writing = p->writing, .pool_count = 2, .entry = add, .arguments = p->arguments,
    };
    p->value.ledger = p->ledger, p->value.unit = &p->child;
}

static void tear_down(program *p) {
    cf_memory_destroy(p->sums.memory);
    cf_ledger_destroy(p->ledger);
}

static int run(program *p) {
    int64_t place;
    cf_ledger_enter(p->ledger);
    int answer = cf_routine_run(&p->value, &p->routine, NULL, 0, &place);
    cf_ledger_leave(p->ledger);
    return answer;
}

static int64_t sum_of(const program *p) {
    int64_t sum;
    memcpy(&sum, p->sums.memory->base, sizeof sum);
    return sum;
}

/* Every run is done: none is refused, none is lost. */
static void *run_often(void *argument) {
    for (int k = 0; k < RUNS; k++) assert(run(argument) == CF_RUN_FINE);
    return NULL;
}

/* A root that writes the constant, by its books, makes the others' reads foreign until they adopt it. */
static void *write_often(void *argument) {
    program *p = argument;
    for (int k = 0; k < RUNS; k++) {
        cf_ledger_enter(p->ledger);
        cf_record_upload(p->ledger, &p->constant);
        assert(!cf_record_stale(p->ledger, &p->constant));
        cf_ledger_leave(p->ledger);
    }
    return NULL;
}

static void *run_or_adopt(void *argument) {
    program *p = argument;
    for (int k = 0; k < RUNS; k++) {
        int answer = run(p);
        assert(answer == CF_RUN_FINE || answer == CF_RUN_FOREIGN);
        if (answer == CF_RUN_FINE) continue;
        cf_ledger_enter(p->ledger);
        cf_record_adopt(p->ledger, &p->constant);
        cf_ledger_leave(p->ledger);
    }
    return NULL;
}

/* A run meets the released mark or it is done; after it nothing runs. */
static void *run_until_released(void *argument) {
    int answer = CF_RUN_FINE;
    while (answer == CF_RUN_FINE) answer = run(argument);
    assert(answer == CF_RUN_RELEASED);
    return NULL;
}

static void *release_late(void *argument) {
    program *p = argument;
    for (int k = 0; k < 1000; k++) assert(run(p) == CF_RUN_FINE);
    cf_unit_release(&p->root);
    return NULL;
}

/* A donation in between is refused by the door, or sees no run. */
static void *donate_often(void *argument) {
    program *p = argument;
    for (int k = 0; k < RUNS; k++) {
        if (cf_claim(&p->sums, true) != CF_DONE) continue;
        if (cf_donate(&p->sums)) {
            *(int64_t *)(void *)p->sums.memory->base += 1;
            cf_donate_end(&p->sums);
        }
        cf_release(&p->sums);
    }
    return NULL;
}

static void *run_past_donations(void *argument) {
    for (int k = 0; k < RUNS; k++) {
        int answer = run(argument);
        assert(answer == CF_RUN_FINE || answer == CF_RUN_DOOR);
    }
    return NULL;
}

static void together(void *(*first)(void *), void *(*other)(void *), program *const *programs) {
    pthread_t threads[THREADS];
    for (int k = 0; k < THREADS; k++) {
        assert(pthread_create(&threads[k], NULL, k == 0 ? first : other, programs[k]) == 0);
    }
    for (int k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
}

int main(void) {
    static program own[THREADS];
    program *same[THREADS], *each[THREADS];
    int64_t one = 1;
    host = cf_device_create(NULL);
    shared_memory = cf_memory_create(sizeof one, host, NULL, 0);
    assert(host != NULL && shared_memory != NULL);
    memcpy(shared_memory->base, &one, sizeof one);
    cf_buffer_make(&shared_buffer, shared_memory, 0, sizeof one, host, 1);
    for (int k = 0; k < THREADS; k++) {
        set_up(&own[k], (uint32_t)k + 1);
        same[k] = &own[0], each[k] = &own[k];
    }
    together(run_often, run_often, same);
    assert(sum_of(&own[0]) == (int64_t)THREADS * RUNS);
    together(run_often, run_often, each);
    assert(sum_of(&own[1]) == RUNS);
    together(write_often, run_or_adopt, each);
    for (int k = 1; k < THREADS; k++) { /* what came last may still have to be adopted */
        run_or_adopt(&own[k]);
    }
    together(donate_often, run_past_donations, same);
    assert(cf_claims_state(own[0].sums.memory, &(bool){0}, &(bool){0}) == 0);
    cf_record_adopt(own[0].ledger, &own[0].constant);
    together(release_late, run_until_released, same);
    for (int k = 0; k < THREADS; k++) tear_down(&own[k]);
    cf_memory_destroy(shared_memory);
    cf_device_destroy(host);
    puts("contexts: ledgers and dispatch hold together");
    return 0;
}

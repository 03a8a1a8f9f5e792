#include "ledger.h"

#include <pthread.h>
#include <stdlib.h>

struct cf_ledger {
    pthread_mutex_t lock;           /* recursive: a finalizer may come in between */
    uint32_t root;
    _Atomic int32_t poisoned;       /* set once; read without the lock by other roots' runs */
    uint64_t clock;                 /* the last moment given */
    uint64_t writes;                /* tokens given */
    int64_t executed, writers;
};

cf_ledger *cf_ledger_create(uint32_t root) {
    cf_ledger *ledger = calloc(1, sizeof *ledger);
    pthread_mutexattr_t recursive;
    if (ledger == NULL) return NULL;
    ledger->root = root;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    int failed = pthread_mutex_init(&ledger->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    if (failed) {
        free(ledger);
        return NULL;
    }
    return ledger;
}

void cf_ledger_destroy(cf_ledger *ledger) {
    if (ledger == NULL) return;
    pthread_mutex_destroy(&ledger->lock);
    free(ledger);
}

void cf_ledger_enter(cf_ledger *ledger) { pthread_mutex_lock(&ledger->lock); }

bool cf_ledger_try(cf_ledger *ledger) { return pthread_mutex_trylock(&ledger->lock) == 0; }

void cf_ledger_leave(cf_ledger *ledger) { pthread_mutex_unlock(&ledger->lock); }

void cf_ledger_poison(cf_ledger *ledger) { atomic_store_explicit(&ledger->poisoned, 1, memory_order_release); }

bool cf_ledger_poisoned(const cf_ledger *ledger) {
    return atomic_load_explicit(&ledger->poisoned, memory_order_acquire) != 0;
}

uint64_t cf_ledger_tick(cf_ledger *ledger) { return ++ledger->clock; }

int64_t cf_ledger_executed(const cf_ledger *ledger) { return ledger->executed; }

int64_t cf_ledger_writers(const cf_ledger *ledger) { return ledger->writers; }

/* ---- units ---- */

int cf_unit_released(const cf_unit *unit) {
    int levels = 0;
    for (; unit != NULL; unit = unit->parent, levels++) {
        if (atomic_load_explicit(&unit->released, memory_order_acquire)) return levels;
    }
    return -1;
}

void cf_unit_release(cf_unit *unit) { atomic_store_explicit(&unit->released, 1, memory_order_release); }

/* ---- marks and records ---- */

void cf_mark_set(cf_ledger *ledger, cf_mark *mark, bool executed) {
    ledger->executed += (int)executed - mark->executed;
    mark->executed = executed;
}

void cf_record_own(cf_ledger *ledger, cf_record *record, cf_mark *writer) {
    ledger->writers += (writer != NULL) - (record->writer != NULL);
    record->writer = writer;
}

/* A token names the root and the write, so that no two writes have one. */
static void write_token(cf_ledger *ledger, cf_record *record) {
    if (record->shared == NULL) return;
    record->token = (uint64_t)ledger->root << 32 | (++ledger->writes & UINT32_MAX);
    atomic_store_explicit(&record->shared->token, record->token, memory_order_release);
}

void cf_record_run(cf_ledger *ledger, cf_record *record, cf_mark *writer) {
    record->written = 1;
    record->version = cf_ledger_tick(ledger);
    cf_record_own(ledger, record, writer);
    write_token(ledger, record);
}

void cf_record_upload(cf_ledger *ledger, cf_record *record) {
    cf_record_run(ledger, record, NULL);
    cf_record_reset(ledger, record);
}

void cf_record_reset(cf_ledger *ledger, cf_record *record) { record->epoch = cf_ledger_tick(ledger); }

void cf_record_adopt(cf_ledger *ledger, cf_record *record) {
    (void)ledger;
    record->written = 1;
    if (record->shared != NULL) record->token = atomic_load_explicit(&record->shared->token, memory_order_acquire);
}

void cf_record_forget(cf_ledger *ledger, cf_record *record) {
    cf_record_own(ledger, record, NULL);
    record->written = 0;
    record->forgotten = 1;
    record->token = 0;
    record->version = cf_ledger_tick(ledger);
    cf_record_reset(ledger, record);
}

bool cf_record_stale(const cf_ledger *ledger, const cf_record *record) {
    if (record->shared == NULL) return false;
    uint64_t last = atomic_load_explicit(&record->shared->token, memory_order_acquire);
    return last != 0 && last >> 32 != ledger->root && last != record->token;
}

/* ---- counts ---- */

int64_t cf_count_runs(const cf_count *count) { return count->epoch == count->record->epoch ? count->runs : 0; }

void cf_count_set(cf_count *count, int64_t runs) {
    count->epoch = count->record->epoch;
    count->runs = runs;
}

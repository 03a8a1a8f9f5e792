#include "dispatch.h"

#include <stddef.h>

#include "claims.h"

/* ---- the value ---- */

bool cf_standing_accepts(const cf_standing *value, uint64_t serial) {
    return value->accepted[serial % CF_ACCEPTED] == serial;
}

void cf_standing_accept(cf_standing *value, uint64_t serial) { value->accepted[serial % CF_ACCEPTED] = serial; }

/* ---- the merge buffer ---- */

uint64_t cf_slab_close(cf_slab *slab) { return atomic_exchange(&slab->fill, 0); }

bool cf_slab_idle(const cf_slab *slab) { return atomic_load(&slab->readers) == 0; }

bool cf_slab_holds(const cf_slab *slab, uint64_t fill) { return atomic_load(&slab->fill) == fill; }

void cf_slab_open(cf_slab *slab, uint64_t fill) { atomic_store(&slab->fill, fill); }

/* ---- checks ---- */

static int fault(int64_t *place, int64_t where, int answer) {
    *place = where;
    return answer;
}

static int check_life(const cf_standing *value, const cf_routine *routine, uint32_t flags, int64_t *place) {
    int levels = cf_unit_released(value->unit);
    if (levels >= 0) return fault(place, levels, CF_RUN_RELEASED);
    if (routine->unit != value->unit && !(flags & CF_RUN_FORKED)) {
        levels = cf_unit_released(routine->unit);
        if (levels >= 0) return fault(place, levels, CF_RUN_COMPILE_RELEASED);
    }
    if (cf_ledger_poisoned(value->ledger)) return fault(place, 0, CF_RUN_POISONED);
    if (cf_ledger_poisoned(routine->ledger)) return fault(place, 1, CF_RUN_POISONED);
    return CF_RUN_FINE;
}

static int check_books(const cf_routine *routine, int64_t *place) {
    for (int32_t k = 0; k < routine->needed_count; k++) {
        if (!routine->needed[k]->written) return fault(place, k, CF_RUN_UNWRITTEN);
    }
    for (int32_t k = 0; k < routine->shared_count; k++) {
        if (cf_record_stale(routine->ledger, routine->shared_reads[k])) return fault(place, k, CF_RUN_FOREIGN);
    }
    for (int32_t k = 0; k < routine->dependency_count; k++) {
        if (!routine->dependencies[k]->executed) return fault(place, k, CF_RUN_DEPENDENCIES);
    }
    return CF_RUN_FINE;
}

int cf_run_check_lineage(const cf_standing *value, const cf_routine *routine, uint32_t flags, int64_t *place) {
    int answer = check_life(value, routine, flags, place);
    return answer != CF_RUN_FINE ? answer : check_books(routine, place);
}

int cf_run_check_bindings(const cf_routine *routine, const int64_t *bindings, int64_t *place) {
    for (int32_t k = 0; k < routine->binding_count; k++) {
        if (bindings[k] < 0 || bindings[k] > routine->limits[k]) return fault(place, k, CF_RUN_BINDING);
    }
    return CF_RUN_FINE;
}

static int check_gradients(const cf_routine *routine, int64_t *place) {
    for (int32_t k = 0; k < routine->count_count; k++) {
        const cf_count *count = &routine->counts[k];
        if (cf_count_runs(count) >= count->allowance) return fault(place, k, CF_RUN_GRADIENT);
    }
    return CF_RUN_FINE;
}

/* Work that must come first: any of a pool that is written, writes of one that is read; dropped work counts. */
static bool pending(const cf_buffer *pool, bool writing) {
    const cf_memory *memory = pool->memory;
    int32_t count = writing ? cf_memory_pending_uses(memory) : cf_memory_pending_writes(memory);
    return count != 0 || cf_buffer_lost(pool, writing);
}

static int enter_door(const cf_routine *routine, uint32_t flags, int64_t *place) {
    int where = 0;
    if (routine->slab != NULL && routine->slab->fill != routine->fill) return fault(place, 0, CF_RUN_SLAB);
    int answer = cf_claims_take(routine->pools, routine->writing, routine->pool_count, &where);
    if (answer != CF_DONE) return fault(place, (int64_t)where * 16 + answer, CF_RUN_DOOR);
    for (int32_t k = 0; !(flags & CF_RUN_DEFERRED) && k < routine->pool_count; k++) {
        if (!pending(routine->pools[k], routine->writing[k] != 0)) continue;
        cf_claims_release(routine->pools, routine->pool_count);
        return fault(place, k, CF_RUN_PENDING);
    }
    return CF_RUN_FINE;
}

int cf_run_enter(const cf_standing *value, cf_routine *routine, const int64_t *bindings, uint32_t flags,
                 int64_t *place) {
    int answer = cf_run_check_lineage(value, routine, flags, place);
    if (answer == CF_RUN_FINE) answer = cf_run_check_bindings(routine, bindings, place);
    if (answer == CF_RUN_FINE && !(flags & CF_RUN_TIMING)) answer = check_gradients(routine, place);
    return answer == CF_RUN_FINE ? enter_door(routine, flags, place) : answer;
}

/* ---- the run and its books ---- */

void cf_run_work(const cf_routine *routine, const int64_t *bindings) {
    const void *merge = routine->slab == NULL ? NULL : routine->slab->data;
    routine->entry(routine->arguments, bindings, merge, routine->services);
}

static void remember(cf_undo *undo, const cf_record *record) {
    undo->earlier = record->version;
    undo->writer = record->writer;
    undo->token = record->token;
    undo->written = record->written;
    if (record->shared != NULL) {
        undo->shared = atomic_load_explicit(&record->shared->token, memory_order_acquire);
    }
}

static void count_gradients(cf_routine *routine) {
    for (int32_t k = 0; k < routine->zeroed_count; k++) {
        routine->unzeroed[k] = routine->zeroed[k]->epoch;
        cf_record_reset(routine->ledger, routine->zeroed[k]);
    }
    for (int32_t k = 0; k < routine->count_count; k++) {
        cf_count *count = &routine->counts[k];
        routine->counted[k].epoch = count->epoch;
        routine->counted[k].token = (uint64_t)count->runs;
        cf_count_set(count, cf_count_runs(count) + 1);
    }
}

void cf_run_done(cf_routine *routine) {
    if (routine->mark != NULL) cf_mark_set(routine->ledger, routine->mark, true);
    for (int32_t k = 0; k < routine->output_count; k++) {
        remember(&routine->undo[k], routine->outputs[k]);
        cf_record_run(routine->ledger, routine->outputs[k], routine->mark);
        routine->undo[k].version = routine->outputs[k]->version;
    }
    count_gradients(routine);
    routine->latest = cf_ledger_tick(routine->ledger);
    cf_claims_release(routine->pools, routine->pool_count);
}

int cf_routine_run(const cf_standing *value, cf_routine *routine, const int64_t *bindings, uint32_t flags, int64_t *place) {
    if (routine->slab != NULL) atomic_fetch_add(&routine->slab->readers, 1);
    int answer = cf_run_enter(value, routine, bindings, flags, place);
    if (answer == CF_RUN_FINE) {
        cf_run_work(routine, bindings);
        cf_run_done(routine);
    }
    if (routine->slab != NULL) atomic_fetch_sub(&routine->slab->readers, 1);
    return answer;
}

/* ---- rollback ---- */

bool cf_run_overtaken(const cf_routine *routine, int32_t k) {
    const cf_record *record = routine->outputs[k];
    if (record->forgotten) return false;
    if (record->version != routine->undo[k].version) return true;
    return record->shared != NULL && atomic_load_explicit(&record->shared->token, memory_order_acquire) != record->token;
}

void cf_run_undo(cf_routine *routine) {
    for (int32_t k = 0; k < routine->count_count; k++) {
        routine->counts[k].epoch = routine->counted[k].epoch;
        routine->counts[k].runs = (int64_t)routine->counted[k].token;
    }
    for (int32_t k = 0; k < routine->zeroed_count; k++) routine->zeroed[k]->epoch = routine->unzeroed[k];
    for (int32_t k = 0; k < routine->output_count; k++) {
        cf_record *record = routine->outputs[k];
        const cf_undo *undo = &routine->undo[k];
        if (record->forgotten) continue;
        record->version = undo->earlier;
        record->token = undo->token;
        record->written = undo->written;
        if (record->shared != NULL) atomic_store_explicit(&record->shared->token, undo->shared, memory_order_release);
        cf_record_own(routine->ledger, record, undo->writer);
    }
    cf_mark_set(routine->ledger, routine->mark, false);
    routine->latest = 0;
}

void cf_run_forget(cf_routine *routine, const cf_mark *mark) {
    for (int32_t k = 0; k < routine->output_count; k++) {
        if (routine->undo[k].writer == mark) routine->undo[k].writer = NULL;
    }
}

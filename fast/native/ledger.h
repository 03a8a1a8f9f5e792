/* The ledger of a root: who ran, who wrote which buffer, and how often a gradient was added to since its last reset.
 *
 * Flat records: one cf_record for each buffer a root knows, one cf_mark for each id (a routine's, or a fill's of the
 * merge buffer), one cf_count for each gradient a routine adds to. Whoever makes them keeps them as long as anything
 * points to them. All changes are made between cf_ledger_enter and cf_ledger_leave; only what other threads read
 * without that is atomic.
 */
#ifndef COUNTERFOIL_LEDGER_H
#define COUNTERFOIL_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A release unit: values that are released at once, and whose lifecycle parent must live. */
typedef struct cf_unit {
    _Atomic int32_t released;       /* stored with release once its buffers were given up, loaded with acquire */
    struct cf_unit *parent;         /* NULL for a root's */
} cf_unit;

/* An id of the ledger: whether it was executed. */
typedef struct cf_mark {
    int64_t id;
    int32_t executed;
} cf_mark;

/* What all roots of a device know of a constant buffer: the token of its last write, 0 before the first. Atomic, for
 * roots have locks of their own: stored with release, loaded with acquire. */
typedef struct cf_shared {
    _Atomic uint64_t token;
} cf_shared;

/* One buffer, as one root knows it. */
typedef struct cf_record {
    cf_mark *writer;                /* the latest run that wrote it; NULL: none, or a write from outside came after */
    cf_shared *shared;              /* NULL where no other root can bind it */
    uint64_t token;                 /* what this root last wrote or adopted there */
    uint64_t version;               /* moves with every write */
    uint64_t epoch;                 /* moves with every reset: counts of an earlier epoch are 0 */
    int32_t written;                /* by a run, an upload or a device copy */
    int32_t forgotten;              /* its location was given up: no rollback brings anything back */
} cf_record;

/* How often a routine added to a buffer. */
typedef struct cf_count {
    cf_record *record;
    uint64_t epoch;                 /* the record's epoch when `runs` was counted */
    int64_t runs;
    int64_t allowance;              /* most runs between two resets */
} cf_count;

typedef struct cf_ledger cf_ledger;

/* The ledger of the root with that number, in [1, 2^32); NULL without memory. */
cf_ledger *cf_ledger_create(uint32_t root);
void cf_ledger_destroy(cf_ledger *ledger);

/* One thread at a time, which may enter again; `try` answers whether it entered without waiting. */
void cf_ledger_enter(cf_ledger *ledger);
bool cf_ledger_try(cf_ledger *ledger);
void cf_ledger_leave(cf_ledger *ledger);

/* Poison, set once. */
void cf_ledger_poison(cf_ledger *ledger);
bool cf_ledger_poisoned(const cf_ledger *ledger);

/* The next moment: no two writes, resets or runs have one. */
uint64_t cf_ledger_tick(cf_ledger *ledger);

/* How many ids are executed, and how many buffers have a current writer. */
int64_t cf_ledger_executed(const cf_ledger *ledger);
int64_t cf_ledger_writers(const cf_ledger *ledger);

/* How many levels up the first released unit is, 0 the unit itself; -1 if all live. */
int cf_unit_released(const cf_unit *unit);
void cf_unit_release(cf_unit *unit);

void cf_mark_set(cf_ledger *ledger, cf_mark *mark, bool executed);

/* A run wrote the buffer. */
void cf_record_run(cf_ledger *ledger, cf_record *record, cf_mark *writer);

/* A write from outside of a run: no current writer, and every count starts again. */
void cf_record_upload(cf_ledger *ledger, cf_record *record);

/* Every count of the buffer starts again. */
void cf_record_reset(cf_ledger *ledger, cf_record *record);

/* The value of the source's root is adopted, where nothing was moved (C6). */
void cf_record_adopt(cf_ledger *ledger, cf_record *record);

/* The buffer's current writer is that one, or nobody (NULL). */
void cf_record_own(cf_ledger *ledger, cf_record *record, cf_mark *writer);

/* The location was given up: nothing is known of it any more. */
void cf_record_forget(cf_ledger *ledger, cf_record *record);

/* Whether another root wrote the buffer after this one last wrote or adopted it. */
bool cf_record_stale(const cf_ledger *ledger, const cf_record *record);

/* The runs counted since the last reset. */
int64_t cf_count_runs(const cf_count *count);
void cf_count_set(cf_count *count, int64_t runs);

#endif

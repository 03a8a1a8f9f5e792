/* Dispatch: everything that `run` asks, does and writes down, over tables that compile prepared (C1).
 *
 * The answer of a check is CF_RUN_FINE or the first fault, with *place saying where it begins (an index into the table
 * that was looked at, or levels up); nothing has happened then. Nothing here allocates, and no lock but the ledger's is
 * taken.
 */
#ifndef COUNTERFOIL_DISPATCH_H
#define COUNTERFOIL_DISPATCH_H

#include "block_product.h"
#include "ledger.h"
#include "memory.h"

enum cf_run_fault {
    CF_RUN_FINE,
    CF_RUN_RELEASED,                /* the value's unit, or an ancestor: place = levels up */
    CF_RUN_COMPILE_RELEASED,        /* the unit the routine was compiled from, or an ancestor: place = levels up */
    CF_RUN_POISONED,                /* the value's root: place 0; the routine's: place 1 */
    CF_RUN_UNWRITTEN,               /* place in `needed` */
    CF_RUN_FOREIGN,                 /* place in `shared_reads` */
    CF_RUN_DEPENDENCIES,            /* place in `dependencies` */
    CF_RUN_BINDING,                 /* place in `limits` */
    CF_RUN_GRADIENT,                /* place in `counts` */
    CF_RUN_SLAB,                    /* another fill is in the merge buffer */
    CF_RUN_DOOR,                    /* place in `pools`, times 16, plus the answer of claims.h */
    CF_RUN_PENDING,                 /* a pool has work pending that must come first; or lost it */
};

/* What the caller vouches for, or wants left out. */
enum cf_run_flags {
    CF_RUN_FORKED = 1,              /* the value is a live fork holding the routine's pools (C14) */
    CF_RUN_TIMING = 2,              /* no refusal of a gradient without reset */
    CF_RUN_DEFERRED = 4,            /* pending work of the pools is waited for by whoever dispatches */
};

#define CF_UNASSIGNED INT64_MIN     /* the value of a binding nobody assigned */

/* What generated code calls: our own products, which are always there; and where they are not NULL, a BLAS's row-major
 * products c = alpha a b + beta c (trans 0 or 1), and loops over threads. */
typedef struct cf_services {
    cf_product_f32 *product_f32;
    cf_product_f64 *product_f64;
    cf_pack_f32 *pack_f32;
    cf_pack_f64 *pack_f64;
    void (*sgemm)(int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                  const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
    void (*dgemm)(int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
                  const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
    void (*parallel_for)(void (*body)(void *state, int64_t first, int64_t last), void *state, int64_t count,
                         int64_t grain);
} cf_services;

typedef void (*cf_entry)(void *const *arguments, const int64_t *bindings, const void *merge,
                         const cf_services *services);

/* A device's merge buffer: its bytes, and which fill of any root they are of, 0 for none. Roots have locks of their own:
 * a run counts itself a reader before it looks at the fill; whoever fills sets the fill to 0 and waits for the readers
 * to leave. Both atomics are sequentially consistent: one of the two sees the other. */
typedef struct cf_slab {
    void *data;
    _Atomic uint64_t fill;
    _Atomic int32_t readers;
} cf_slab;

/* The fill there was; no run that comes from now on reads the buffer until it is opened with a fill. */
uint64_t cf_slab_close(cf_slab *slab);
bool cf_slab_idle(const cf_slab *slab);
bool cf_slab_holds(const cf_slab *slab, uint64_t fill);
void cf_slab_open(cf_slab *slab, uint64_t fill);

/* What one buffer's record was before a routine's latest run wrote it. */
typedef struct cf_undo {
    uint64_t version, earlier;      /* after that run, and before it */
    cf_mark *writer;
    uint64_t epoch, token, shared;
    int32_t written;
} cf_undo;

/* A routine: flat tables, made once by compile. */
typedef struct cf_routine {
    uint64_t serial;                /* unique in the process */
    cf_ledger *ledger;
    cf_unit *unit;                  /* of the context it was compiled from */
    cf_mark *mark;                  /* NULL once it is retired: what a fork still runs of it leaves no trace (C17) */
    cf_record **needed;             /* buffers that somebody must have written, by uid */
    cf_record **shared_reads;       /* constants it reads that another root may write */
    cf_mark **dependencies;
    int64_t *limits;                /* the greatest value of each binding */
    cf_count *counts;               /* gradients it adds to and does not zero */
    cf_undo *counted;               /* of counts: version unused, epoch and token the count before the latest run */
    cf_record **zeroed;             /* gradients it zeroes */
    uint64_t *unzeroed;             /* of zeroed: the epoch before the latest run */
    cf_record **outputs;
    cf_undo *undo;                  /* of outputs */
    cf_buffer **pools;              /* the distinct pools bound, the written ones first */
    uint8_t *writing;
    cf_entry entry;
    void **arguments;
    cf_slab *slab;                  /* NULL: reads no merge buffer */
    uint64_t fill;                  /* of the slab it reads */
    const cf_services *services;
    int32_t needed_count, shared_count, dependency_count, binding_count, count_count, zeroed_count, output_count,
        pool_count;
    uint64_t latest;                /* the time of the latest run; 0: it never ran, or that run was rolled back */
    int32_t heavy;                  /* takes longer than handing the interpreter to another thread */
} cf_routine;

/* What run asks of the value it is called on. `accepted` remembers, by serial, routines of the same device whose
 * fragments the value's lineage owns and whose outputs are all marked: then the value itself is what run returns. */
enum { CF_ACCEPTED = 8 };
typedef struct cf_standing {
    cf_ledger *ledger;
    cf_unit *unit;
    uint64_t accepted[CF_ACCEPTED];
} cf_standing;

bool cf_standing_accepts(const cf_standing *value, uint64_t serial);
void cf_standing_accept(cf_standing *value, uint64_t serial);

/* The half of the checks that looks at the lineage, and the half that looks at the bindings (context:65, 67, 71). */
int cf_run_check_lineage(const cf_standing *value, const cf_routine *routine, uint32_t flags, int64_t *place);
int cf_run_check_bindings(const cf_routine *routine, const int64_t *bindings, int64_t *place);

/* All checks and the claims. CF_RUN_FINE holds the claims, for cf_run_done to give back. */
int cf_run_enter(const cf_standing *value, cf_routine *routine, const int64_t *bindings, uint32_t flags,
                 int64_t *place);

/* The books of a run, then the claims are given back. */
void cf_run_done(cf_routine *routine);

/* The work alone. */
void cf_run_work(const cf_routine *routine, const int64_t *bindings);

/* All of a run, by whoever entered the ledger of the routine (and the value's, where it is another). */
int cf_routine_run(const cf_standing *value, cf_routine *routine, const int64_t *bindings, uint32_t flags, int64_t *place);

/* Whether output k was written since the routine's latest run. */
bool cf_run_overtaken(const cf_routine *routine, int32_t k);

/* Undoes the books of the routine's latest run (C5): nobody wrote its outputs since. */
void cf_run_undo(cf_routine *routine);

/* The mark is given up: nothing brings it back as a writer. */
void cf_run_forget(cf_routine *routine, const cf_mark *mark);

#endif

/* How a C library is checked in one file: implement the four functions at the end and hand `counterfoil check` the
 * shared library. Commands and values are those of docs/protocol.md; nothing is parsed.
 *
 * Everything a step points to belongs to the checker and lives until the call returns. Everything an outcome points to
 * belongs to the library and must live until the next call.
 */
#ifndef COUNTERFOIL_TARGET_H
#define COUNTERFOIL_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CFT_PROTOCOL 1

/* ---- values ---- */

enum cft_kind { CFT_NULL, CFT_BOOL, CFT_INTEGER, CFT_FLOAT, CFT_TEXT, CFT_LIST, CFT_TABLE, CFT_REFERENCE, CFT_ELEMENTS,
                CFT_OTHER /* an integer past 64 bits, an argument no caller should pass */ };

typedef struct cft_value {
    int32_t kind;
    int32_t count;                 /* of a list or table its items, of elements how many */
    int64_t integer;               /* CFT_INTEGER; CFT_BOOL: 0 or 1 */
    double number;                 /* CFT_FLOAT: the exact binary64 */
    const char *text;              /* CFT_TEXT; CFT_REFERENCE: the name; CFT_ELEMENTS: the dtype's name */
    const struct cft_value *items; /* CFT_LIST, CFT_TABLE */
    const char *const *keys;       /* CFT_TABLE: one for each item */
    const uint64_t *bits;          /* CFT_ELEMENTS: two words an element, the low one first */
} cft_value;

/* ---- what is asked, and what is answered ---- */

typedef struct cft_step {
    const char *command;
    const char *bind;              /* the name of what it makes, or NULL */
    cft_value arguments;           /* a table */
} cft_step;

enum cft_outcome_kind { CFT_RETURNED, CFT_REFUSED, CFT_SKIPPED, CFT_ERRORED };

typedef struct cft_outcome {
    int32_t kind;
    const char *rule;              /* CFT_REFUSED: the rule's id, or NULL where `message` says it in words */
    const char *message;           /* CFT_SKIPPED: why; CFT_ERRORED: how it failed */
    cft_value value;               /* CFT_RETURNED; CFT_NULL for an object */
} cft_outcome;

typedef struct cft_identity {
    int32_t protocol;              /* CFT_PROTOCOL */
    const char *name, *version;
    const char *const *chapters, *const *dtypes, *const *commands; /* each ended by NULL */
} cft_identity;

/* ---- reading arguments ---- */

/* The argument of that name, or NULL. */
static inline const cft_value *cft_argument(const cft_step *step, const char *name) {
    for (int32_t k = 0; k < step->arguments.count; k++) {
        if (strcmp(step->arguments.keys[k], name) == 0) return &step->arguments.items[k];
    }
    return NULL;
}

/* The text of an argument of texts or references, or NULL. */
static inline const char *cft_text(const cft_step *step, const char *name) {
    const cft_value *found = cft_argument(step, name);
    return found != NULL && (found->kind == CFT_TEXT || found->kind == CFT_REFERENCE) ? found->text : NULL;
}

/* Copies an argument's integers into out, at most `room`; how many there are, or -1 if it is no list of integers. */
static inline int32_t cft_integers(const cft_step *step, const char *name, int64_t *out, int32_t room) {
    const cft_value *found = cft_argument(step, name);
    if (found == NULL || found->kind != CFT_LIST) return -1;
    for (int32_t k = 0; k < found->count; k++) {
        if (found->items[k].kind != CFT_INTEGER) return -1;
        if (k < room) out[k] = found->items[k].integer;
    }
    return found->count;
}

/* ---- what the library implements ---- */

const cft_identity *counterfoil_target_start(void);
void counterfoil_target_reset(void);                                  /* forget every name */
void counterfoil_target_run(const cft_step *step, cft_outcome *outcome); /* outcome comes zeroed: returned, null */
void counterfoil_target_stop(void);

#ifdef __cplusplus
}
#endif
#endif

#include "door.h"

#include "claims.h"
#include "distinct.h"
#include "overlap.h"

/* ---- claims ---- */

static void release_all(const cf_array *const *operands, int count) {
    for (int k = 0; k < count; k++) cf_release(operands[k]->buffer);
}

/* Operand by operand, any number of them: nothing here grows with the number but the time. */
static int claim_all(const cf_array *const *operands, int written, int count) {
    for (int k = 0; k < count; k++) {
        int answer = cf_claim(operands[k]->buffer, k < written);
        if (answer == CF_DONE) continue;
        release_all(operands, k);
        return answer;
    }
    return CF_DONE;
}

/* ---- checks ---- */

static bool some_off_host(const cf_array *const *operands, int count) {
    for (int k = 0; k < count; k++) {
        if (!operands[k]->buffer->addressable && !cf_array_empty(operands[k])) return true;
    }
    return false;
}

static bool some_repeated(const cf_array *const *operands, int written) {
    for (int k = 0; k < written; k++) {
        if (!cf_layout_is_distinct(&operands[k]->layout)) return true;
    }
    return false;
}

/* Whether a written operand may not be written beside another. Address ranges decide nearly always. */
static bool conflict(const cf_array *written, const cf_array *other, bool other_written) {
    cf_bytes p = cf_array_bytes(written), q = cf_array_bytes(other);
    if (p.end <= q.first || q.end <= p.first) return false; /* also where one has no element: its range is [0, 0) */
    if (cf_identical(written, other)) return other_written;
    return cf_overlapping(written, other);
}

static bool some_conflict(const cf_array *const *operands, int written, int count) {
    for (int k = 0; k < written; k++) {
        for (int j = k + 1; j < count; j++) {
            if (conflict(operands[k], operands[j], j < written)) return true;
        }
    }
    return false;
}

int cf_door_lost(const cf_array *const *operands, int written, int count) {
    for (int k = 0; k < count; k++) {
        if (cf_buffer_lost(operands[k]->buffer, k < written)) return k;
    }
    return -1;
}

/* The answer of the checks that need no wait, dtype and host already decided. */
static int check(const cf_array *const *operands, int written, int count) {
    if (some_repeated(operands, written)) return CF_REPEATED_ELEMENTS;
    if (some_conflict(operands, written, count)) return CF_OVERLAPPING;
    return cf_door_lost(operands, written, count) < 0 ? CF_DONE : CF_LOST;
}

/* ---- the door ---- */

int cf_door_enter(const cf_array *const *operands, int written, int count, bool dtypes_fit) {
    int answer = claim_all(operands, written, count);
    if (answer != CF_DONE) return answer;
    if (!dtypes_fit) answer = CF_WRONG_DTYPE;
    else if (some_off_host(operands, count)) answer = CF_OFF_HOST;
    else answer = check(operands, written, count);
    return answer == CF_DONE ? CF_DONE : cf_door_refuse(operands, count, answer);
}

int cf_door_enter_work(const cf_array *const *operands, int written, int count) {
    int answer = claim_all(operands, written, count);
    if (answer != CF_DONE) return answer;
    answer = check(operands, written, count);
    return answer == CF_DONE ? CF_DONE : cf_door_refuse(operands, count, answer);
}

int cf_door_refuse(const cf_array *const *operands, int count, int answer) {
    release_all(operands, count);
    return answer;
}

int cf_door_wait(const cf_array *const *operands, int written, int count) {
    for (int k = 0; k < count; k++) {
        if (cf_buffer_wait(operands[k]->buffer, k < written) != 0) return cf_door_refuse(operands, count, CF_LOST);
    }
    return 0;
}

int cf_door_leave(const cf_array *const *operands, int count) {
    return cf_door_refuse(operands, count, CF_DONE);
}

/* ---- rows (K1) ---- */

typedef struct row {
    int family;
    uint32_t domain;    /* one bit per dtype */
    int result;         /* the dtype written, -1: the sources' */
    uint32_t condition;
} row;

#define ROW(code, name, family, domain, result, condition) [code] = {(family), (domain), (result), (condition)},
static const row rows[CF_KERNELS] = {CF_KERNEL_ROWS(ROW)};

static bool in(uint32_t set, int dtype) {
    return set >> dtype & 1;
}

/* The sources from `first` on have one dtype, in the domain, and the destination the row's. */
static bool sources_fit(const row *r, int dst_dtype, const int *sources, int first, int count) {
    for (int k = first; k < count; k++) {
        if (sources[k] != sources[first]) return false;
    }
    return in(r->domain, sources[first]) && dst_dtype == (r->result < 0 ? sources[first] : r->result);
}

static bool all_in_domain(const row *r, const int *sources, int count) {
    for (int k = 0; k < count; k++) {
        if (!in(r->domain, sources[k])) return false;
    }
    return true;
}

bool cf_row_fits(int kernel, int dst_dtype, const int *source_dtypes, int sources) {
    const row *r = &rows[kernel];
    switch (r->family) {
    case CF_FAMILY_FILL:
    case CF_FAMILY_IOTA:
        return in(r->domain, dst_dtype);
    case CF_FAMILY_CAST:
    case CF_FAMILY_MAP: /* its nodes are typed by its caller */
        return all_in_domain(r, source_dtypes, sources);
    case CF_FAMILY_WHERE:
        return in(r->condition, source_dtypes[0]) && sources_fit(r, dst_dtype, source_dtypes, 1, sources);
    default:
        return sources_fit(r, dst_dtype, source_dtypes, 0, sources);
    }
}

/* Layouts: maps from indices to element positions, canonical (A14), every bound checked without wrap-around (A7). */
#ifndef COUNTERFOIL_LAYOUT_H
#define COUNTERFOIL_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "words.h"

#define CF_LAYOUT_CONTIGUOUS 1u     /* element k in C order lies at offset + k */
#define CF_LAYOUT_EMPTY 2u          /* no element */
#define CF_LAYOUT_DISTINCT 4u       /* known: no position is reached twice */
#define CF_LAYOUT_REPEATED 8u       /* known: some position is; neither flag: not decided yet */

typedef struct cf_layout {
    int32_t rank;
    uint32_t flags;                 /* from construction; DISTINCT, REPEATED where that could decide it */
    int64_t size;                   /* number of elements */
    int64_t offset;                 /* position of index 0,..,0 */
    int64_t low, high;              /* span: positions reached lie in [low, high), both ends reached; 0, 0 if empty */
    int64_t shape[CF_MAX_RANK];
    int64_t strides[CF_MAX_RANK];   /* in elements; entries past rank are unspecified */
} cf_layout;

/* Why a construction or a move was refused. `rule` is an enum cf_rule, and 0 (CF_FINE) when nothing was. */
#define CF_FINE 0

enum cf_fault_of {
    CF_OF_ARGUMENT = 0,             /* the shape given or moved, or the entries of the move against it */
    CF_OF_TARGET = 1                /* a move's target or resulting shape: rank, extents and product rules */
};

typedef struct cf_fault {
    int32_t rule;                   /* enum cf_rule, or CF_FINE */
    int32_t of;                     /* enum cf_fault_of: whose shape the rules of layouts/ mean */
    int32_t where;                  /* the axis of a shape, or the entry of a move; 0 where the rule names none */
} cf_fault;

/* The rank, extents and product rules of a shape, in that order. Answers the rule, 0 if none; *where is the axis. */
int cf_shape_check(int rank, const int64_t *shape, int *where);

/* The layout of shape, strides and offset, canonical. Answers 0 or the rule violated (then *out is untouched):
 * layouts/rank, negative-extent (*where = axis), too-many-elements, negative-position, past-limit.
 * `where` may be NULL. Entries are int64: larger ones are the caller's to judge (entries that A14 drops may be passed
 * as 0; extents may be saturated, which changes no answer; strides and offsets that count may not). */
int cf_layout_make(cf_layout *out, int rank, const int64_t *shape, const int64_t *strides, int64_t offset, int *where);

/* The C-contiguous layout of a shape, offset 0. Answers as cf_layout_make. */
int cf_layout_contiguous(cf_layout *out, int rank, const int64_t *shape, int *where);

/* For authors of layouts inside the core: a layout whose rank, shape, strides and offset are set and known to be
 * within the limits (the shape's rules hold, positions lie in [0, 2^53)) gets canonical form, size, span and flags.
 * `known` is CF_LAYOUT_DISTINCT or CF_LAYOUT_REPEATED where the caller knows that, else 0. */
void cf_layout_finish(cf_layout *layout, uint32_t known);

/* Copies the header and `rank` entries: all that is specified. */
void cf_layout_assign(cf_layout *out, const cf_layout *from);

/* Same shape, strides and offset, which is the same map and the same shape. */
bool cf_layout_equal(const cf_layout *a, const cf_layout *b);

/* The layouts of one shape with extent-1 axes dropped and neighbours merged where every one walks them as one; C order
 * is kept, and at least one axis is left (an empty shape gives extent 0, stride 0; a scalar extent 1, stride 0).
 * out[k] may be layouts[k]. Answers false, out untouched, if the shapes differ; count is at least 1. */
bool cf_layout_coalesce(int count, const cf_layout *const *layouts, cf_layout *const *out);

#endif

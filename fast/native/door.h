/* The door (A3): every operand of a kernel is claimed or none is, and the answer to faulty operands has a total order.
 *
 * A kernel is one C call shaped like this:
 *
 *     const cf_array *operands[] = {dst, x, y};                   written first, then read
 *     int answer = cf_door_enter(operands, 1, 3, dtypes_fit);     claims, dtype, off host, repeated, overlap, lost
 *     if (answer != CF_DONE) return answer;                       nothing is held
 *     if (!shapes fit) return cf_door_refuse(operands, 3, CF_SHAPE_MISMATCH);
 *     if (declined)    return cf_door_refuse(operands, 3, CF_DECLINED);
 *     if (cf_door_wait(operands, 1, 3)) return CF_LOST;           waits under the claims, released on loss
 *     ... work ...
 *     return cf_door_leave(operands, 3);                          releases, answers CF_DONE
 *
 * Nothing here allocates for up to CF_MAX_OPERANDS operands when overlap and distinctness need no sweep.
 */
#ifndef COUNTERFOIL_DOOR_H
#define COUNTERFOIL_DOOR_H

#include "array.h"

#define CF_LOST 10                  /* not an answer: the caller raises Lost */

/* Claims operands[0..count), the first `written` for writing, and checks them; CF_DONE holds the claims. */
int cf_door_enter(const cf_array *const *operands, int written, int count, bool dtypes_fit);

/* As cf_door_enter for the function `door`: no dtype and no off-host check. */
int cf_door_enter_work(const cf_array *const *operands, int written, int count);

/* Releases the claims and answers `answer`. */
int cf_door_refuse(const cf_array *const *operands, int count, int answer);

/* Waits for the device work each access must follow; 0, or CF_LOST with the claims released. */
int cf_door_wait(const cf_array *const *operands, int written, int count);

/* Releases the claims; CF_DONE. */
int cf_door_leave(const cf_array *const *operands, int count);

/* Whether two operands are identical (A4; ones without an element are not), and whether some byte holds bits of both
 * (A1). */
bool cf_identical(const cf_array *a, const cf_array *b);
bool cf_overlapping(const cf_array *a, const cf_array *b);

/* The first operand whose access is known to be lost, -1 if none: what a Lost raised after CF_LOST names. */
int cf_door_lost(const cf_array *const *operands, int written, int count);

/* Whether kernel `kernel`'s row takes these source dtypes and this destination dtype (K1; cast: any pair). */
bool cf_row_fits(int kernel, int dst_dtype, const int *source_dtypes, int sources);

/* Whether two arrays have one shape. */
bool cf_same_shape(const cf_array *a, const cf_array *b);

#endif

/* Axes of one operand split in two: those kept in the result, and those walked for each kept index. */
#ifndef COUNTERFOIL_AXES_H
#define COUNTERFOIL_AXES_H

#include <stdbool.h>
#include <stdint.h>

#include "array.h"
#include "loop.h"

typedef struct cf_split {
    cf_array kept;      /* the operand at the first walked index: the kept axes, in order */
    cf_array walked;    /* the walked axes, in order, relative to a kept position: offset 0 */
    int64_t terms;      /* indices of the walked axes: 1 without any, 0 if one is empty */
} cf_split;

/* Splits by `axes` (count entries). False if an axis is out of range or named twice. Walks nothing. */
bool cf_split_axes(cf_split *split, const cf_array *array, const int64_t *axes, int count);

#endif

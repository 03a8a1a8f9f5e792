/* Transposed copies: the source runs along one axis, the destination along another. */
#ifndef COUNTERFOIL_TRANSPOSE_H
#define COUNTERFOIL_TRANSPOSE_H

#include <stdbool.h>
#include <stdint.h>

/* to[r * to_stride + c] = from[c * from_stride + r] for r < rows, c < columns; strides in elements of `bytes` bytes (1,
 * 2, 4, 8 or 16), no overlap. By tiles of whole cache lines, streamed if the destination will not be read soon. */
void cf_transpose(int bytes, uint8_t *to, int64_t to_stride, const uint8_t *from, int64_t from_stride, int64_t rows,
                  int64_t columns, bool streamed);

#endif

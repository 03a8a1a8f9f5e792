/* Blocks of a matrix product in a computing format, on the stack: nothing is allocated for any size. */
#ifndef COUNTERFOIL_PRODUCT_H
#define COUNTERFOIL_PRODUCT_H

#include <stdint.h>

/* Rows and columns of a block of the result, and terms summed at a time. */
enum { CF_PRODUCT_SIDE = 64, CF_PRODUCT_DEPTH = 128 };

/* c[i][j] += sum over l < CF_PRODUCT_DEPTH of a[i][l] b[l][j], all three row-major and whole: unused rows, columns and
 * terms are zero in a and b. computing: float32, float64, (u)int32 or (u)int64, whose sums wrap. */
void cf_product_block(int computing, const void *a, const void *b, void *c);

#endif

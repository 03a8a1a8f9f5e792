/* float32 operations, also for narrower floats: those round once more, harmlessly, since 24 bits are at least twice the
 * narrow precision plus two. Functions are computed in double and rounded. */
#include <math.h>

#include "format.h"
#include "operation.h"
#include "vector.h"

#define REAL float
#define WIDE double
#define BITS_OF cf_bits_of_float
#define OF_BITS cf_float_of_bits
#define SQRT sqrtf
#define FABS fabsf
#define TANH(x) tanh((double)(x))
#define FLOOR floorf
#define CEIL ceilf
#define TRUNC truncf
#define ROUND roundf
#define FMOD fmodf
#define FMA fmaf
#define PICK cf_float32_operation

#include "operation_float.inc"

/* float64 operations. */
#include <math.h>

#include "format.h"
#include "operation.h"
#include "vector.h"

#define REAL double
#define WIDE double
#define BITS_OF cf_bits_of_double
#define OF_BITS cf_double_of_bits
#define SQRT sqrt
#define FABS fabs
#define TANH(x) tanhl(x) /* the C library's tanh errs by up to 2.2 units in the last place, past the bound of 2 */
#define FLOOR floor
#define CEIL ceil
#define TRUNC trunc
#define ROUND round
#define FMOD fmod
#define FMA fma
#define PICK cf_float64_operation

#include "operation_float.inc"

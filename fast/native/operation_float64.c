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
#define FLOOR floor
#define CEIL ceil
#define TRUNC trunc
#define ROUND round
#define FMOD fmod
#define FMA fma
#define PICK cf_float64_operation

#include "operation_float.inc"

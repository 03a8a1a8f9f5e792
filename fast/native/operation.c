/* Which operation a pointwise kernel performs (operation.h). */
#include "operation.h"

#include <stddef.h>

cf_operation cf_operation_of(int kernel, int computing) {
    switch (computing) {
    case CF_FLOAT32: return cf_float32_operation(kernel);
    case CF_FLOAT64: return cf_float64_operation(kernel);
    case CF_COMPLEX64:
    case CF_COMPLEX128: return cf_complex_operation(kernel, computing);
    default: return cf_integer_operation(kernel, computing);
    }
}

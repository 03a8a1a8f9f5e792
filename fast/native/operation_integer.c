/* Integer and boolean operations; booleans are uint8 0 or 1, on which the integer ones are the logical ones. */
#include "operation.h"
#include "vector.h"

#define INT int64_t
#define RING uint64_t
#define SIGNED 1
#define NAME(name) int64_##name
#include "operation_integer.inc"

#define INT uint64_t
#define RING uint64_t
#define SIGNED 0
#define NAME(name) uint64_##name
#include "operation_integer.inc"

#define INT int32_t
#define RING uint32_t
#define SIGNED 1
#define NAME(name) int32_##name
#include "operation_integer.inc"

#define INT uint32_t
#define RING uint32_t
#define SIGNED 0
#define NAME(name) uint32_##name
#include "operation_integer.inc"

#define INT uint8_t
#define RING uint32_t
#define SIGNED 0
#define NAME(name) boolean_##name
#include "operation_integer.inc"

cf_operation cf_integer_operation(int kernel, int computing) {
    switch (computing) {
    case CF_INT64: return int64_table[kernel];
    case CF_UINT64: return uint64_table[kernel];
    case CF_INT32: return int32_table[kernel];
    case CF_UINT32: return uint32_table[kernel];
    default: return boolean_table[kernel];
    }
}

// Atomic operations. One thread runs at a time and is interrupted at barriers and shuffles only, so each is a plain
// read and write; that they are whole is all that is emulated. The driver is asked where each one is.
#pragma once

namespace emucuda {
inline void begin_atomic(const void *at) { services->atomic(at); }
}  // namespace emucuda

#define EMUCUDA_ATOMIC(name, type, expression)  \
    inline type name(type *at, type value) {    \
        emucuda::begin_atomic(at);              \
        type old = *at;                         \
        *at = static_cast<type>(expression);    \
        return old;                             \
    }
#define EMUCUDA_ATOMIC_INTEGERS(name, expression)          \
    EMUCUDA_ATOMIC(name, int, expression)                  \
    EMUCUDA_ATOMIC(name, unsigned, expression)             \
    EMUCUDA_ATOMIC(name, long long, expression)            \
    EMUCUDA_ATOMIC(name, unsigned long long, expression)

// Sums wrap round: of signed numbers too.
EMUCUDA_ATOMIC(atomicAdd, int, unsigned(old) + unsigned(value))
EMUCUDA_ATOMIC(atomicAdd, unsigned, old + value)
EMUCUDA_ATOMIC(atomicAdd, unsigned long long, old + value)
EMUCUDA_ATOMIC(atomicAdd, float, old + value)
EMUCUDA_ATOMIC(atomicAdd, double, old + value)
EMUCUDA_ATOMIC(atomicSub, int, unsigned(old) - unsigned(value))
EMUCUDA_ATOMIC(atomicSub, unsigned, old - value)
EMUCUDA_ATOMIC_INTEGERS(atomicMin, old < value ? old : value)
EMUCUDA_ATOMIC_INTEGERS(atomicMax, old > value ? old : value)
EMUCUDA_ATOMIC(atomicAnd, int, old & value)
EMUCUDA_ATOMIC(atomicAnd, unsigned, old & value)
EMUCUDA_ATOMIC(atomicAnd, unsigned long long, old & value)
EMUCUDA_ATOMIC(atomicOr, int, old | value)
EMUCUDA_ATOMIC(atomicOr, unsigned, old | value)
EMUCUDA_ATOMIC(atomicOr, unsigned long long, old | value)
EMUCUDA_ATOMIC(atomicXor, int, old ^ value)
EMUCUDA_ATOMIC(atomicXor, unsigned, old ^ value)
EMUCUDA_ATOMIC(atomicXor, unsigned long long, old ^ value)
EMUCUDA_ATOMIC(atomicExch, int, value)
EMUCUDA_ATOMIC(atomicExch, unsigned, value)
EMUCUDA_ATOMIC(atomicExch, unsigned long long, value)
EMUCUDA_ATOMIC(atomicExch, float, value)
EMUCUDA_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
EMUCUDA_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#undef EMUCUDA_ATOMIC_INTEGERS
#undef EMUCUDA_ATOMIC

#define EMUCUDA_CAS(type)                                       \
    inline type atomicCAS(type *at, type expected, type value) {  \
        emucuda::begin_atomic(at);                              \
        type old = *at;                                         \
        if (old == expected) *at = value;                       \
        return old;                                             \
    }
EMUCUDA_CAS(int)
EMUCUDA_CAS(unsigned)
EMUCUDA_CAS(unsigned short)
EMUCUDA_CAS(unsigned long long)
#undef EMUCUDA_CAS

// The CUDA dialect in plain C++. Force-included, precompiled, before every kernel source.
#pragma once
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel_abi.h"

// Sources may ask whether they are compiled for the emulated driver.
#define EMUCUDA 1

#define __global__ __attribute__((used, visibility("default")))
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define __builtin_assume(condition) ((void)0)

#include "vector_types.h"

namespace emucuda {

// One module is one shared object: these are its own.
inline const Services *services __attribute__((visibility("hidden"))) = nullptr;
inline BuiltIns built_ins __attribute__((visibility("hidden")));
alignas(1024) inline char dynamic_shared[dynamic_shared_bytes] __attribute__((visibility("hidden")));

}  // namespace emucuda

#define threadIdx (reinterpret_cast<const uint3 &>(emucuda::built_ins.thread_index))
#define blockIdx (reinterpret_cast<const uint3 &>(emucuda::built_ins.block_index))
#define blockDim (reinterpret_cast<const uint3 &>(emucuda::built_ins.block_dim))
#define gridDim (reinterpret_cast<const uint3 &>(emucuda::built_ins.grid_dim))
static constexpr int warpSize = 32;

#include "undefined.h"

#include "arithmetic.h"
#include "atomics.h"
#include "cooperation.h"
#include "memory_operations.h"
#include "registration.h"

// What a compiled module and the driver know of each other. Plain C layout: both sides include this file.
#pragma once
#include <cstddef>
#include <cstdint>

namespace emucuda {

struct Index3 {
    unsigned x, y, z;
};

// The built-in variables of device code. One kernel runs at a time, so one copy in the module suffices; the driver
// changes it whenever another thread of the block takes over.
struct BuiltIns {
    Index3 thread_index, block_index, block_dim, grid_dim;
};

struct Parameter {
    uint32_t offset, size;
};

// One __global__ function, in a list that begins at the module's `emucuda_module`.
struct Kernel {
    const Kernel *next;
    const void *address;  // its dynamic symbol is the kernel's name
    uint32_t argument_bytes;
    uint32_t parameter_count;
    const Parameter *parameters;
    uint32_t maximum_threads;  // of __launch_bounds__; 0 without
    void (*thread)(const char *arguments);  // runs the thread that the built-in variables name
};

// One __device__ or __constant__ variable.
struct Global {
    const Global *next;
    const void *address;
    size_t size;
    const char *name;
};

// What device code asks of the driver while a kernel runs.
struct Services {
    // Waits for every thread of the block that has not returned; the sum, over them, of `value`.
    unsigned (*block_barrier)(unsigned value);
    // Waits for the lanes of `mask` that have not returned; afterwards what lane i gave lies in `lanes()[i]`, until
    // this thread's next call. The result is the mask of the lanes that came.
    uint32_t (*warp_exchange)(uint32_t mask, uint64_t value);
    const uint64_t *(*lanes)();
    // The lanes of this warp that have not returned.
    uint32_t (*active_lanes)();
    // True once per block and address: shared memory holds nothing when a block begins.
    bool (*shared_is_fresh)(const void *address);
    // An atomic operation is about to touch an address.
    void (*atomic)(const void *address);
    // Ends the launch with an error of the driver; `file` may be null.
    void (*fail)(int code, const char *what, const char *file, unsigned line);
};

enum : uint32_t { kernel_abi_version = 2, dynamic_shared_bytes = 232448, most_parameter_bytes = 4096 };

struct Module {
    uint32_t version;
    const Kernel *kernels;
    const Global *globals;
    BuiltIns *built_ins;
    const Services **services;
    char *dynamic_shared;
};

}  // namespace emucuda

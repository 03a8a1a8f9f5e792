#include "tasks.h"

#include <cstring>

#include "driver.h"

namespace emucuda {
namespace {

// The bytes from the first to the last that a side covers; false when that is no range of addresses.
bool span(size_t pitch, size_t slice, size_t width, size_t height, size_t depth, size_t &bytes) {
    size_t rows = 0, slices = 0;
    if (__builtin_mul_overflow(pitch, height - 1, &rows) || __builtin_mul_overflow(slice, depth - 1, &slices))
        return false;
    return !__builtin_add_overflow(rows, slices, &bytes) && !__builtin_add_overflow(bytes, width, &bytes);
}

bool reachable(const Memory &memory, const Side &side, size_t width, size_t height, size_t depth) {
    size_t bytes = 0;
    if (!span(side.pitch, side.slice, width, height, depth, bytes)) return false;
    if (side.on_device) {
        const Allocation *allocation = memory.holding(side.address, bytes);
        return allocation && !allocation->is_elsewhere();
    }
    // Host memory that the driver does not know is the program's own affair; device addresses are not host memory.
    return side.address && !memory.on_a_device(side.address);
}

bool belongs(const Memory &memory, uintptr_t address, const Context &context) {
    const Allocation *allocation = memory.holding(address, 1);
    return !allocation || allocation->on_host() || context.reaches(allocation->owner);
}

bool lies_on(const Memory &memory, uintptr_t address, int device) {
    const Allocation *allocation = memory.holding(address, 1);
    return allocation && !allocation->on_host() && allocation->device == device;
}

}  // namespace

bool CopyTask::is_within(const Memory &memory, const Context &context) const {
    return (!to.on_device || belongs(memory, to.address, context)) &&
           (!from.on_device || belongs(memory, from.address, context));
}

bool CopyTask::is_between(const Memory &memory, const Context &target, const Context &source) const {
    return lies_on(memory, to.address, target.device) && lies_on(memory, from.address, source.device);
}

bool FillTask::is_within(const Memory &memory, const Context &context) const {
    return belongs(memory, address, context);
}

CUresult CopyTask::check(const Memory &memory) const {
    if (!width || !height || !depth) return CUDA_SUCCESS;
    bool source = !staged.empty() || reachable(memory, from, width, height, depth);
    return source && reachable(memory, to, width, height, depth) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void CopyTask::stage(const Memory &memory) {
    staged.resize(width * height * depth);
    for (size_t row = 0; row < height * depth; ++row) {
        uintptr_t source = from.address + row / height * from.slice + row % height * from.pitch;
        memcpy(staged.data() + row * width, memory.view(source), width);
    }
}

void CopyTask::move_rows(size_t first, size_t last) {
    const Memory &memory = Driver::get().memory;
    for (size_t row = first; row < last; ++row) {
        size_t slice = row / height, line = row % height;
        char *target = memory.view(to.address + slice * to.slice + line * to.pitch);
        const char *source = staged.empty() ? memory.view(from.address + slice * from.slice + line * from.pitch)
                                            : staged.data() + row * width;
        memmove(target, source, width);
    }
}

CUresult CopyTask::run(Context &) {
    // Checked again: the memory may have been freed since the call.
    if (check(Driver::get().memory)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (width) move_rows(0, height * depth);
    return CUDA_SUCCESS;
}

void CopyTask::run_partly(Context &) {
    if (check(Driver::get().memory) || !width) return;
    if (height * depth > 1) return move_rows(0, height * depth / 2);
    size_t all = std::exchange(width, width / 2);
    move_rows(0, 1);
    width = all;
}

CUresult FillTask::check(const Memory &memory) const {
    size_t bytes = 0, row = 0;
    if (!width || !height) return CUDA_SUCCESS;
    if (__builtin_mul_overflow(width, size_t{element_size}, &row)) return CUDA_ERROR_INVALID_VALUE;
    const Allocation *allocation = memory.holding(address, 1);
    if (pitch > most_pitch || (allocation && allocation->is_elsewhere())) return CUDA_ERROR_INVALID_VALUE;
    bool fits = address % element_size == 0 && (height == 1 || pitch % element_size == 0) &&
                span(pitch, 0, row, height, 1, bytes);
    return fits && memory.holding(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void FillTask::fill_rows(size_t rows) {
    const Memory &memory = Driver::get().memory;
    for (size_t row = 0; row < rows; ++row) {
        char *target = memory.view(address + row * pitch);
        for (size_t i = 0; i < width; ++i) memcpy(target + i * element_size, &value, element_size);
    }
}

CUresult FillTask::run(Context &) {
    if (check(Driver::get().memory)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (width) fill_rows(height);
    return CUDA_SUCCESS;
}

void FillTask::run_partly(Context &) {
    if (check(Driver::get().memory)) return;
    size_t all = std::exchange(width, width / 2);
    fill_rows(height);
    width = all;
}

CUresult HostTask::run(Context &) {
    inside_callback() = true;
    if (callback)
        callback(stream, CUDA_SUCCESS, argument);
    else
        function(argument);
    inside_callback() = false;
    return CUDA_SUCCESS;
}

CUresult KernelTask::take(void **parameters, void **extra) {
    const Kernel &kernel = *function->kernel;
    arguments.assign(kernel.argument_bytes, 0);
    if (parameters && extra) return CUDA_ERROR_INVALID_VALUE;
    if (parameters) {
        for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
            if (!parameters[i]) return CUDA_ERROR_INVALID_VALUE;
            memcpy(arguments.data() + kernel.parameters[i].offset, parameters[i], kernel.parameters[i].size);
        }
        return CUDA_SUCCESS;
    }
    const void *buffer = nullptr;
    size_t bytes = 0;
    for (void **word = extra; word && *word != CU_LAUNCH_PARAM_END; word += 2) {
        if (*word == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = word[1];
        else if (*word == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<size_t *>(word[1]);
        else return CUDA_ERROR_INVALID_VALUE;
    }
    // Longer than the parameters is as wrong as shorter: the program and the kernel disagree.
    size_t padded = (kernel.argument_bytes + 15) / 16 * 16;
    if (bytes < kernel.argument_bytes || bytes > padded || (bytes && !buffer)) return CUDA_ERROR_INVALID_VALUE;
    if (kernel.argument_bytes) memcpy(arguments.data(), buffer, kernel.argument_bytes);
    return CUDA_SUCCESS;
}

CUresult KernelTask::check() const {
    bool some = grid.x && grid.y && grid.z && block.x && block.y && block.z;
    bool grid_fits = grid.x <= 0x7fffffffu && grid.y <= 65535 && grid.z <= 65535;
    bool block_fits = block.x <= 1024 && block.y <= 1024 && block.z <= 64;
    uint64_t threads = uint64_t{block.x} * block.y * block.z;
    if (!some || !grid_fits || !block_fits || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
    if (threads > uint64_t(function->most_threads())) return CUDA_ERROR_INVALID_VALUE;
    return shared_bytes > function->most_dynamic_shared ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult KernelTask::run(Context &context) {
    return run_grid(context, *function, grid, block, shared_bytes, arguments.data(), ~uint64_t{0});
}

void KernelTask::run_partly(Context &context) {
    uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
    run_grid(context, *function, grid, block, shared_bytes, arguments.data(), blocks / 2);
}

}  // namespace emucuda

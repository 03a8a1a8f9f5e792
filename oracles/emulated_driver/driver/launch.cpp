#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "arena_filling.h"
#include "block.h"
#include "driver.h"
#include "faults.h"
#include "module.h"

namespace emucuda {
namespace {

// Beyond the dynamic shared memory of a launch, bytes that must stay as they are.
constexpr size_t shared_fence_bytes = 1024;

unsigned block_barrier(unsigned value) { return running_block()->barrier(value); }
uint32_t warp_exchange(uint32_t mask, uint64_t value) { return running_block()->exchange(mask, value); }
const uint64_t *lanes() { return running_block()->lanes(); }
uint32_t active_lanes() { return running_block()->alive_in_warp(); }
void atomic(const void *address) {
    if (Driver::get().settings.host_atomics) return;
    const Allocation *allocation = Driver::get().memory.holding(reinterpret_cast<uintptr_t>(address), 1);
    if (allocation && allocation->on_host())
        KernelGuard::running()->fail(CUDA_ERROR_ILLEGAL_ADDRESS, "an atomic operation on memory of the host",
                                     reinterpret_cast<uintptr_t>(address));
}
bool shared_is_fresh(const void *address) { return running_block()->shared_is_fresh(address); }
void fail(int code, const char *what, const char *file, unsigned line) {
    static char text[400];
    if (file) snprintf(text, sizeof text, "%s at %s:%u", what, file, line);
    KernelGuard::running()->fail(CUresult(code), file ? text : what);
}

constexpr Services services = {block_barrier, warp_exchange, lanes, active_lanes, shared_is_fresh, atomic, fail};

class Grid {
  public:
    Grid(const Function &function, Index3 grid, Index3 block, unsigned shared_bytes, const char *arguments)
        : code_(*function.module->code), grid_(grid), shared_bytes_(shared_bytes),
          block_(*function.kernel, *code_.built_ins, block, arguments) {
        *code_.services = &services;
        code_.built_ins->grid_dim = grid;
        code_.built_ins->block_dim = block;
        fence_ = std::min<size_t>(shared_fence_bytes, dynamic_shared_bytes - shared_bytes);
    }

    // Runs `most` of the blocks, in the order that the settings say, with their threads in it.
    void run(Settings &settings, uint64_t most, KernelGuard &guard) {
        uint64_t count = uint64_t{grid_.x} * grid_.y * grid_.z;
        Order order = settings.order_of_threads();
        uint64_t stride = 1, first = 0;
        if (order == Order::reversed) stride = first = count - 1;
        if (order == Order::shuffled && count > 1) {
            // i -> first + i * stride visits every block once when the stride has no divisor in common with the count.
            for (stride = 1 + settings.random() % (count - 1); std::gcd(stride, count) != 1;) ++stride;
            first = settings.random() % count;
        }
        for (uint64_t i = 0; i < std::min(count, most); ++i)
            run_block((first + (unsigned __int128){i} * stride) % count, settings, guard);
    }

  private:
    void run_block(uint64_t number, Settings &settings, KernelGuard &guard) {
        code_.built_ins->block_index = {unsigned(number % grid_.x), unsigned(number / grid_.x % grid_.y),
                                        unsigned(number / grid_.x / grid_.y)};
        memset(code_.dynamic_shared, fresh_byte, shared_bytes_);
        memset(code_.dynamic_shared + shared_bytes_, fence_byte, fence_);
        if (!block_.run(settings)) guard.fail(CUDA_ERROR_LAUNCH_TIMEOUT, block_.stuck);
        for (size_t i = 0; i < fence_; ++i)
            if (static_cast<unsigned char>(code_.dynamic_shared[shared_bytes_ + i]) != fence_byte)
                guard.fail(CUDA_ERROR_ILLEGAL_ADDRESS, "a write beyond the dynamic shared memory");
    }

    const Module &code_;
    Index3 grid_;
    unsigned shared_bytes_;
    size_t fence_;
    Block block_;
};

void note(const Function &function, const KernelGuard &guard) {
    const BuiltIns &at = *function.module->code->built_ins;
    char text[512];
    snprintf(text, sizeof text, "kernel %s, block (%u, %u, %u), thread (%u, %u, %u): %s", function.name.c_str(),
             at.block_index.x, at.block_index.y, at.block_index.z, at.thread_index.x, at.thread_index.y,
             at.thread_index.z, guard.what);
    last_fault() = text;
    if (guard.address) {
        snprintf(text, sizeof text, ", %p", reinterpret_cast<void *>(guard.address));
        last_fault() += text;
    }
    if (Driver::get().settings.log) fprintf(stderr, "emulated driver: %s\n", last_fault().c_str());
}

}  // namespace

CUresult run_grid(Context &context, const Function &function, Index3 grid, Index3 block, unsigned shared_bytes,
                  const char *arguments, uint64_t blocks) {
    Grid running(function, grid, block, shared_bytes, arguments);
    KernelGuard guard(context);
    guard.open_arguments(arguments, function.kernel->argument_bytes);
    // No signal is blocked while a kernel runs, so no mask has to be restored.
    if (sigsetjmp(guard.escape, 0) == 0) running.run(Driver::get().settings, blocks, guard);
    if (!guard.error) {
        if (const Allocation *beside = guard.broken_fence()) {
            guard.error = CUDA_ERROR_ILLEGAL_ADDRESS;
            guard.what = "a write beside an allocation";
            guard.address = beside->start;
        }
    }
    if (guard.error) note(function, guard);
    return guard.error;
}

}  // namespace emucuda

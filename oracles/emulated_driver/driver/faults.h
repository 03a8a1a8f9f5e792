// Faults of kernels: memory that a kernel may touch is opened when it first does, anything else ends the kernel.
#pragma once
#include <cuda.h>

#include <csetjmp>
#include <csignal>
#include <string>
#include <vector>

#include "memory.h"

namespace emucuda {

// For as long as it lives, signals that this thread raises are the running kernel's.
class KernelGuard {
  public:
    explicit KernelGuard(const Context &context);
    ~KernelGuard();
    KernelGuard(const KernelGuard &) = delete;

    // Ends the kernel: goes on where `escape` was set.
    [[noreturn]] void fail(CUresult error, const char *what, uintptr_t address = 0);
    // Opens what the argument block seems to point at: it would be opened when first touched, which is slower.
    void open_arguments(const char *arguments, size_t bytes);
    // The allocation beside which the kernel wrote, or null.
    const Allocation *broken_fence() const;

    sigjmp_buf escape;
    CUresult error = CUDA_SUCCESS;
    const char *what = "";
    uintptr_t address = 0;

    static KernelGuard *&running();

  private:
    static void on_signal(int number, siginfo_t *info, void *state);
    bool open(uintptr_t address);

    const Context &context_;
    bool handles_signals_ = false;
    stack_t stack_before_{};
};

// What the last kernel that failed did, in words; empty when none did.
std::string &last_fault();

}  // namespace emucuda

// Stacks of their own for the threads of a block, switched by hand.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

// Stores the callee-saved registers on the running stack, its top in *from, and goes on with the stack `to`.
extern "C" void emucuda_switch(void **from, void *to);

namespace emucuda {

class FiberStack {
  public:
    FiberStack();
    ~FiberStack();
    FiberStack(const FiberStack &) = delete;

    // A stack pointer that, switched to, calls `entry` (which must never return).
    void *prepare(void (*entry)()) const;

  private:
    char *pages_;
};

// The stacks, made when first wanted and kept: one kernel runs at a time.
const FiberStack &fiber_stack(size_t index);

}  // namespace emucuda

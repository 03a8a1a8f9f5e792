// What queued operations do.
#pragma once
#include <cuda.h>

#include <memory>
#include <vector>

#include "memory.h"
#include "module.h"
#include "work.h"

namespace emucuda {

// Nothing: the place of a record, a wait or a join in the order.
class MarkerTask : public Task {
  public:
    CUresult run(Context &) override { return CUDA_SUCCESS; }
    std::shared_ptr<Task> copy() const override { return std::make_shared<MarkerTask>(*this); }
};

// The most bytes from one row to the next.
constexpr size_t most_pitch = 0x7fffffff;

// One side of a copy: rows of `width` bytes, `pitch` apart, in slices `slice` apart.
struct Side {
    uintptr_t address = 0;
    size_t pitch = 0, slice = 0;
    bool on_device = false;
};

struct CopyTask : Task {
    Side to, from;
    size_t width = 0, height = 1, depth = 1;
    // The bytes of the source, when they were taken at the call.
    std::vector<char> staged;

    CUresult check(const Memory &memory) const;
    // Whether a context may do it without naming whose memory it is: its own, a peer's, or the host's.
    bool is_within(const Memory &memory, const Context &context) const;
    // Whether its sides lie on the devices of these contexts.
    bool is_between(const Memory &memory, const Context &target, const Context &source) const;
    void stage(const Memory &memory);
    CUresult run(Context &context) override;
    void run_partly(Context &context) override;
    std::shared_ptr<Task> copy() const override { return std::make_shared<CopyTask>(*this); }

  private:
    void move_rows(size_t first, size_t last);
};

struct FillTask : Task {
    uintptr_t address = 0;
    size_t pitch = 0, width = 0, height = 1;  // width in elements
    unsigned element_size = 1, value = 0;

    CUresult check(const Memory &memory) const;
    bool is_within(const Memory &memory, const Context &context) const;
    CUresult run(Context &context) override;
    void run_partly(Context &context) override;
    std::shared_ptr<Task> copy() const override { return std::make_shared<FillTask>(*this); }

  private:
    void fill_rows(size_t rows);
};

struct KernelTask : Task {
    std::shared_ptr<Function> function;
    Index3 grid{1, 1, 1}, block{1, 1, 1};
    unsigned shared_bytes = 0;
    std::vector<char> arguments;

    // Copies the arguments from one of the two forms in which a launch gives them.
    CUresult take(void **parameters, void **extra);
    CUresult check() const;
    CUresult run(Context &context) override;
    void run_partly(Context &context) override;
    std::shared_ptr<Task> copy() const override { return std::make_shared<KernelTask>(*this); }
};

struct HostTask : Task {
    CUhostFn function = nullptr;
    CUstreamCallback callback = nullptr;
    CUstream stream = nullptr;
    void *argument = nullptr;

    bool calls_back() const override { return true; }
    CUresult run(Context &context) override;
    std::shared_ptr<Task> copy() const override { return std::make_shared<HostTask>(*this); }
};

}  // namespace emucuda

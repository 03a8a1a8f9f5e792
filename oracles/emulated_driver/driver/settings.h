// What the environment, or `emucuda_configure`, sets.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace emucuda {

enum class Mode { eager, lazy, shuffled };

// In which order the blocks of a launch run, and the threads of a block between two of its barriers.
enum class Order { forward, reversed, shuffled };

// `fail=NAME:N=CODE`: the N-th call of NAME answers CODE (`N+=`: that call and every later one).
// `fail=NAME:N@CODE`: the work queued by the N-th call of NAME stops half-way with CODE when it runs.
struct Fault {
    std::string name;
    uint64_t nth;
    CUresult code;
    bool persistent, when_run;
    uint64_t seen = 0;
};

class Settings {
  public:
    Settings();

    // Applies `key=value` words, separated by spaces, commas or semicolons; false, with a line on standard error, at a
    // word that means nothing. `devices`, `memory`, `protect` and `capability` count until cuInit.
    bool apply(const std::string &words);

    // Counts a call of `name`; what it has to answer at once, or CUDA_SUCCESS.
    CUresult fault_of_call(const char *name);

    // What the work queued by the call being made has to fail with, or CUDA_SUCCESS. Asked once per call.
    CUresult fault_of_work();

    uint64_t calls(const std::string &name) const;
    size_t below(size_t bound) { return bound < 2 ? 0 : random() % bound; }
    // The order of blocks and threads: shuffled mode shuffles them too.
    Order order_of_threads() const { return mode == Mode::shuffled ? Order::shuffled : order; }
    // Shuffled mode: whether to run one more operation that nobody waits for. How often changes from time to time, from
    // never to almost always: a constant rate would leave hardly anything queued, or hardly ever run anything early.
    bool eager_now();

    Mode mode = Mode::eager;
    Order order = Order::forward;
    bool protect = true, free_waits = true, log = false;
    // Whether copies and fills that name no context may touch the memory of another device's, as unified addressing
    // lets them, and whether atomic operations of kernels may touch the host's memory.
    bool plain_across = false, host_atomics = false;
    int devices = 2, capability = 90;
    size_t memory = size_t{1} << 30;
    std::mt19937_64 random{0};

  private:
    bool set(const std::string &key, const std::string &value);
    bool add_fault(const std::string &value);

    std::vector<Fault> faults_;
    std::unordered_map<std::string, uint64_t> calls_;
    CUresult work_fault_ = CUDA_SUCCESS;
    unsigned eagerness_ = 0, until_change_ = 0;
};

// The newest version of an entry point that this library has; null if it has none of that name.
void *entry_point(const std::string &name);

// Whether this process runs under AddressSanitizer.
bool sanitized();

}  // namespace emucuda

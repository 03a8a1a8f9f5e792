// The threads of one block: who runs, who waits for whom.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "../device/kernel_abi.h"
#include "settings.h"

namespace emucuda {

class Block {
  public:
    Block(const Kernel &kernel, BuiltIns &built_ins, Index3 dim, const char *arguments);

    // Runs every thread to its end, in the order that the settings say, drawn anew at every barrier of the block where
    // it is shuffled. False when threads wait for each other for ever; `stuck` says how.
    bool run(Settings &settings);
    const char *stuck = "";

    unsigned barrier(unsigned value);
    uint32_t exchange(uint32_t mask, uint64_t value);
    const uint64_t *lanes() const { return results_.data() + current_ / 32 * 32; }
    uint32_t alive_in_warp() const { return alive_[current_ / 32]; }
    bool shared_is_fresh(const void *address);

  private:
    enum class State : uint8_t { running, at_barrier, at_exchange, done };
    struct Thread {
        void *stack;
        Index3 index;
        uint32_t mask;
        State state;
    };

    void arrange(Settings &settings);
    static void fiber_entry();
    [[noreturn]] void run_threads_in_turn();
    void resume(unsigned thread);
    void start_all();
    void yield();
    bool release_barrier(Settings &settings);
    bool release_exchanges();
    bool release_exchange(unsigned warp);
    uint32_t complete_group(unsigned warp) const;

    const Kernel &kernel_;
    BuiltIns &built_ins_;
    const char *arguments_;
    unsigned count_, started_ = 0, finished_ = 0, fibers_ = 0, current_ = 0;
    void *scheduler_ = nullptr;
    std::vector<Thread> threads_;
    std::vector<unsigned> order_;        // the threads, as they take turns
    std::vector<unsigned> lane_order_;   // the same within each warp: the threads of warp w from 32 * w on
    std::vector<unsigned> warp_order_;
    std::vector<uint32_t> alive_;
    std::vector<uint64_t> values_, results_;
    std::vector<const void *> fresh_;
    unsigned barrier_values_ = 0, barrier_result_ = 0;
    uint32_t exchange_result_ = 0;
};

// The block that runs now.
Block *&running_block();

}  // namespace emucuda

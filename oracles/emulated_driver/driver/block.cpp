#include "block.h"

#include <algorithm>
#include <numeric>

#include "fibers.h"

namespace emucuda {

Block *&running_block() {
    static Block *block = nullptr;
    return block;
}

Block::Block(const Kernel &kernel, BuiltIns &built_ins, Index3 dim, const char *arguments)
    : kernel_(kernel), built_ins_(built_ins), arguments_(arguments), count_(dim.x * dim.y * dim.z) {
    threads_.resize(count_);
    order_.resize(count_);
    lane_order_.resize(count_);
    warp_order_.resize((count_ + 31) / 32);
    values_.resize((count_ + 31) / 32 * 32);
    results_.resize(values_.size());
    for (unsigned i = 0; i < count_; ++i) {
        threads_[i] = {nullptr, {i % dim.x, i / dim.x % dim.y, i / dim.x / dim.y}, 0, State::running};
    }
}

void Block::yield() { emucuda_switch(&threads_[current_].stack, scheduler_); }

void Block::resume(unsigned thread) {
    current_ = thread;
    threads_[thread].state = State::running;
    built_ins_.thread_index = threads_[thread].index;
    emucuda_switch(&scheduler_, threads_[thread].stack);
}

// One stack runs thread after thread for as long as none of them waits: kernels without barriers never switch. The
// thread that waits keeps the stack, and the rest go on with another.
void Block::run_threads_in_turn() {
    for (;;) {
        while (started_ < count_) {
            current_ = order_[started_++];
            built_ins_.thread_index = threads_[current_].index;
            kernel_.thread(arguments_);
            threads_[current_].state = State::done;
            alive_[current_ / 32] &= ~(1u << current_ % 32);
            ++finished_;
        }
        yield();
    }
}

void Block::fiber_entry() { running_block()->run_threads_in_turn(); }

void Block::start_all() {
    while (started_ < count_) {
        void *stack = fiber_stack(fibers_++).prepare(fiber_entry);
        emucuda_switch(&scheduler_, stack);
    }
}

// Who comes first among all threads, among those of a warp, and among the warps.
void Block::arrange(Settings &settings) {
    Order order = settings.order_of_threads();
    std::iota(order_.begin(), order_.end(), 0u);
    if (order == Order::reversed) std::reverse(order_.begin(), order_.end());
    if (order == Order::shuffled) std::shuffle(order_.begin(), order_.end(), settings.random);
    std::vector<unsigned> filled(warp_order_.size());
    unsigned met = 0;
    for (unsigned thread : order_) {
        unsigned warp = thread / 32;
        if (filled[warp] == 0) warp_order_[met++] = warp;
        lane_order_[warp * 32 + filled[warp]++] = thread;
    }
}

bool Block::run(Settings &settings) {
    started_ = finished_ = fibers_ = barrier_values_ = 0;
    fresh_.clear();
    alive_.assign((count_ + 31) / 32, ~0u);
    if (count_ % 32) alive_.back() = (1u << count_ % 32) - 1;
    for (Thread &thread : threads_) thread.state = State::running;
    arrange(settings);
    running_block() = this;
    start_all();
    while (finished_ < count_)
        if (!release_exchanges() && !release_barrier(settings)) return false;
    return true;
}

unsigned Block::barrier(unsigned value) {
    threads_[current_].state = State::at_barrier;
    barrier_values_ += value;
    yield();
    return barrier_result_;
}

bool Block::release_barrier(Settings &settings) {
    for (const Thread &thread : threads_) {
        if (thread.state == State::at_barrier || thread.state == State::done) continue;
        stuck = "some threads wait for the block and others for lanes of their warp that will not come";
        return false;
    }
    barrier_result_ = barrier_values_;
    barrier_values_ = 0;
    // All are woken by this barrier: one that runs ahead to the next must not be woken twice.
    Order order = settings.order_of_threads();
    if (order == Order::shuffled) arrange(settings);
    // Either each thread runs up to where it waits, or each warp, its shuffles done, up to the next barrier.
    bool by_warps = order == Order::reversed || (order == Order::shuffled && settings.below(2));
    std::vector<unsigned> waiting;
    for (unsigned thread : by_warps ? lane_order_ : order_)
        if (threads_[thread].state == State::at_barrier) waiting.push_back(thread);
    if (!by_warps) {
        for (unsigned thread : waiting) resume(thread);
        return true;
    }
    for (unsigned warp : warp_order_) {
        for (unsigned thread : waiting)
            if (thread / 32 == warp) resume(thread);
        while (release_exchange(warp)) {}
    }
    return true;
}

uint32_t Block::exchange(uint32_t mask, uint64_t value) {
    threads_[current_].state = State::at_exchange;
    threads_[current_].mask = mask;
    values_[current_] = value;
    yield();
    return exchange_result_;
}

bool Block::release_exchanges() {
    bool progress = false;
    for (unsigned warp : warp_order_)
        while (release_exchange(warp)) progress = true;
    return progress;
}

// Lanes that wait with one mask, when no living lane of that mask is missing; 0 when there are none.
uint32_t Block::complete_group(unsigned warp) const {
    uint32_t tried = 0;
    for (unsigned lane = 0; lane < 32 && warp * 32 + lane < count_; ++lane) {
        const Thread &thread = threads_[warp * 32 + lane];
        if (thread.state != State::at_exchange || tried >> lane & 1) continue;
        uint32_t group = 0;
        for (unsigned other = lane; other < 32 && warp * 32 + other < count_; ++other) {
            const Thread &candidate = threads_[warp * 32 + other];
            if (candidate.state == State::at_exchange && candidate.mask == thread.mask) group |= 1u << other;
        }
        tried |= group;
        if ((thread.mask & alive_[warp] & ~group) == 0) return group;
    }
    return 0;
}

// The members run before any other group of the warp is released, so that what they read stays.
bool Block::release_exchange(unsigned warp) {
    uint32_t group = complete_group(warp);
    if (!group) return false;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (group >> lane & 1) results_[warp * 32 + lane] = values_[warp * 32 + lane];
    for (unsigned place = warp * 32; place < std::min(count_, warp * 32 + 32); ++place) {
        unsigned thread = lane_order_[place];
        if (!(group >> thread % 32 & 1)) continue;
        exchange_result_ = group;
        resume(thread);
    }
    return true;
}

bool Block::shared_is_fresh(const void *address) {
    if (std::find(fresh_.begin(), fresh_.end(), address) != fresh_.end()) return false;
    fresh_.push_back(address);
    return true;
}

}  // namespace emucuda

// Work that was queued and the orders between it.
#pragma once
#include <cuda.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "settings.h"

namespace emucuda {

class Context;

// What one queued operation does. Everything it needs was copied from the arguments of the call that queued it.
class Task {
  public:
    virtual ~Task() = default;
    virtual CUresult run(Context &context) = 0;
    // What the device leaves behind when it is lost while doing this: some of the work.
    virtual void run_partly(Context &) {}
    // Tasks that call back into the program run while the driver is open to other threads.
    virtual bool calls_back() const { return false; }
    virtual std::shared_ptr<Task> copy() const = 0;
};

// An operation in the partial order of all work. The order is what CUDA promises and nothing else: an operation may run
// as soon as those it was ordered after are done.
struct Operation {
    std::shared_ptr<Context> context;
    std::shared_ptr<Task> task;
    std::vector<std::shared_ptr<Operation>> after;  // not yet done; cleared when this is done
    std::vector<Operation *> before;                // those that wait for this; cleared likewise
    uint64_t number = 0;
    size_t waits_for = 0;
    CUresult fault = CUDA_SUCCESS;  // an injected failure
    enum { queued, running, done } state = queued;
    std::chrono::steady_clock::time_point finished;
};

using OperationRef = std::shared_ptr<Operation>;
using Lock = std::unique_lock<std::mutex>;

class Work {
  public:
    explicit Work(Settings &settings) : settings_(settings) {}

    // Queues `task` after the operations given.
    OperationRef queue(std::shared_ptr<Context> context, std::shared_ptr<Task> task,
                       const std::vector<OperationRef> &after);
    // In eager mode, runs an operation that was just queued; never waits for what another thread is running, as that
    // may be a callback that needs something of the caller's.
    void begin(const OperationRef &operation, Lock &lock);
    // Runs what `targets` wait for, and them. Lazy: that and nothing else; shuffled: other work as well.
    void finish(const std::vector<OperationRef> &targets, Lock &lock);
    void finish_all_of(const Context &context, Lock &lock);
    void finish_all_on(int device, Lock &lock);
    // Forgets the queued operations of a context.
    void abandon(const Context &context);
    // Shuffled mode: runs some of what may run. Called at the begin and the end of every call.
    void stir(Lock &lock);
    // One operation among those that `target` waits for: queries do not make progress, but the 64th in a row does.
    void nudge(const OperationRef &target, Lock &lock);

    size_t pending() const { return queued_.size(); }

  private:
    void run(const OperationRef &operation, Lock &lock);
    CUresult execute(Operation &operation, Lock &lock);
    void complete(Operation &operation);
    void wait_while_running(const OperationRef &operation, Lock &lock);
    std::vector<OperationRef> needed_by(const std::vector<OperationRef> &targets) const;
    OperationRef any_ready();

    Settings &settings_;
    std::map<uint64_t, OperationRef> queued_;  // by number, so that a seed means the same in every process
    std::condition_variable changed_;
    uint64_t last_number_ = 0;
};

}  // namespace emucuda

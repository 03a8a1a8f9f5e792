// Contexts, their streams, and the events recorded in them.
#pragma once
#include <cuda.h>

#include <memory>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "registry.h"
#include "work.h"

namespace emucuda {

struct Capture;
struct Graph;
struct GraphNode;

struct Stream {
    std::weak_ptr<Context> context;
    unsigned flags = 0;
    int priority = 0;
    bool legacy = false;
    OperationRef tail;
    // While captured: what the next node of this stream comes after.
    std::shared_ptr<Capture> capture;
    std::vector<GraphNode *> frontier;
    unsigned queries = 0;

    bool blocking() const { return !(flags & CU_STREAM_NON_BLOCKING); }
};

struct Event {
    std::weak_ptr<Context> context;
    unsigned flags = 0;
    // The latest record: waits refer to the one that was there when they were called.
    OperationRef record;
    std::shared_ptr<Capture> capture;
    std::vector<GraphNode *> frontier;
    unsigned queries = 0;
};

class Context : public std::enable_shared_from_this<Context> {
  public:
    Context(int device, unsigned flags, bool primary) : device(device), flags(flags), primary(primary) {
        legacy.legacy = true;
    }

    // The operations that the next one of `stream` has to wait for.
    std::vector<OperationRef> order(const Stream &stream) const;
    // Every operation queued in the context that others may still have to wait for.
    std::vector<OperationRef> tails() const;
    // Orders everything that comes after `operation`.
    void fence(OperationRef operation) { fence_ = std::move(operation); }
    void adopt(const std::shared_ptr<Stream> &stream) { streams_.push_back(stream); }
    // A destroyed stream's work goes on.
    void orphan(const Stream &stream);
    std::shared_ptr<Stream> of_this_thread();
    // Errors that stick: the context answers nothing else from now on.
    void lose(CUresult error);
    // Whether kernels of this context may touch what `other` owns.
    bool reaches(const Context *other) const { return other == this || peers.count(other); }

    const int device;
    unsigned flags;
    const bool primary;
    int uses = 1;
    bool destroyed = false;
    CUresult lost = CUDA_SUCCESS;
    CUcontext handle = nullptr;
    Stream legacy;
    std::unordered_set<const Context *> peers;
    std::unordered_map<int, size_t> limits;
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;

  private:
    std::vector<std::shared_ptr<Stream>> streams_;
    std::unordered_map<std::thread::id, std::shared_ptr<Stream>> per_thread_;
    std::vector<OperationRef> orphans_;
    OperationRef fence_;
};

// Whether an error ends the context in which it happens.
bool sticks(CUresult error);

}  // namespace emucuda

// The one driver of a process, and the way into it.
#pragma once
#include <cuda.h>

#include <memory>
#include <mutex>
#include <vector>

#include "context.h"
#include "memory.h"
#include "registry.h"
#include "settings.h"
#include "work.h"

namespace emucuda {

struct LoadedModule;
struct Function;
struct Capture;
struct Graph;
struct GraphExec;

class Driver {
  public:
    static Driver &get();

    std::mutex mutex;
    Settings settings;
    Memory memory{settings};
    Work work{settings};
    bool initialised = false;
    int device_count = 0;

    std::vector<std::shared_ptr<Context>> primaries;  // by device; empty while nobody retains one
    Registry<Context, CUcontext, 1> contexts;
    Registry<Stream, CUstream, 2> streams;
    Registry<Event, CUevent, 3> events;
    Registry<LoadedModule, CUmodule, 4> modules;
    Registry<Function, CUfunction, 5> functions;
    Registry<Graph, CUgraph, 6> graphs;
    Registry<GraphExec, CUgraphExec, 7> executables;
    std::vector<std::weak_ptr<Capture>> captures;

    CUresult initialise();
    bool has(CUdevice device) const { return device >= 0 && device < device_count; }
    std::shared_ptr<Context> make_context(int device, unsigned flags, bool primary);
    // Waits for the context's work, then frees everything that lives in it.
    void destroy(Context &context, Lock &lock);
};

// The contexts of the calling thread, the current one last.
std::vector<std::shared_ptr<Context>> &context_stack();
std::shared_ptr<Context> current_context();

// What a call needs to find before it does anything.
enum class Needs { nothing, driver, context, live_context };

// A call in progress: the driver is locked for as long as it lives.
struct Call {
    Driver &driver;
    Lock &lock;
    Context *context;  // of the calling thread; null unless the call needs one

    // The stream that a handle means in the current context; null when it means none.
    std::shared_ptr<Stream> stream(CUstream handle) const;
    // Queues a task in a stream's order and after `more`, or adds it to the graph that the stream is captured into.
    CUresult submit(Stream &stream, std::shared_ptr<Task> task, const std::vector<OperationRef> &more = {}) const;
    // Waits for operations on behalf of the host, and tells what became of the current context.
    CUresult wait(const std::vector<OperationRef> &targets) const;
    // Refuses what must not be called while a stream is captured, and spoils the capture.
    CUresult refuse_while_capturing() const;
};

// Whether the calling thread runs a callback of the driver's, from which no call is allowed.
bool &inside_callback();
CUresult admit(const char *name, Needs needs, Driver &driver, std::shared_ptr<Context> &context);

// Runs the body of an entry point: counted, locked, with injected failures and stuck errors answered before it.
template <class Body>
CUresult enter(const char *name, Needs needs, Body body) {
    if (inside_callback()) return CUDA_ERROR_NOT_PERMITTED;
    Driver &driver = Driver::get();
    Lock lock(driver.mutex);
    std::shared_ptr<Context> context;
    if (CUresult refused = admit(name, needs, driver, context)) return refused;
    driver.work.stir(lock);
    if (needs == Needs::live_context && context->lost) return context->lost;
    CUresult result = body(Call{driver, lock, context.get()});
    driver.work.stir(lock);
    return result;
}

}  // namespace emucuda

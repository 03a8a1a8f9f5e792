#include "driver.h"

#include <cstdio>

#include "graph.h"
#include "module.h"

namespace emucuda {

// Never destroyed: threads of the program may still call while the process ends.
Driver &Driver::get() {
    static Driver &driver = *new Driver;
    return driver;
}

CUresult Driver::initialise() {
    if (initialised) return CUDA_SUCCESS;
    if (!settings.devices) return CUDA_ERROR_NO_DEVICE;
    for (device_count = 0; device_count < settings.devices; ++device_count) memory.add_device();
    primaries.resize(size_t(device_count));
    initialised = true;
    return CUDA_SUCCESS;
}

std::shared_ptr<Context> Driver::make_context(int device, unsigned flags, bool primary) {
    auto context = std::make_shared<Context>(device, flags, primary);
    context->legacy.context = context;
    context->handle = contexts.add(context);
    return context;
}

void Driver::destroy(Context &context, Lock &lock) {
    work.finish_all_of(context, lock);
    work.abandon(context);
    context.destroyed = true;
    auto of_it = [&](const auto &object) { return object.context.lock().get() == &context; };
    streams.remove_if(of_it);
    events.remove_if(of_it);
    functions.remove_if([&](const Function &function) { return function.module->context.lock().get() == &context; });
    modules.remove_if(of_it);
    memory.free_all_of(&context);
    contexts.remove(context.handle);
}

std::vector<std::shared_ptr<Context>> &context_stack() {
    thread_local std::vector<std::shared_ptr<Context>> stack;
    return stack;
}

std::shared_ptr<Context> current_context() {
    auto &stack = context_stack();
    return stack.empty() ? nullptr : stack.back();
}

bool &inside_callback() {
    thread_local bool inside = false;
    return inside;
}

CUresult admit(const char *name, Needs needs, Driver &driver, std::shared_ptr<Context> &context) {
    context = current_context();
    CUresult injected = driver.settings.fault_of_call(name);
    if (driver.settings.log) fprintf(stderr, "emulated driver: %s%s\n", name, injected ? " fails, as told" : "");
    if (injected) {
        if (context && sticks(injected)) context->lose(injected);
        return injected;
    }
    if (needs == Needs::nothing) return CUDA_SUCCESS;
    if (!driver.initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (needs == Needs::driver) return CUDA_SUCCESS;
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return needs == Needs::live_context ? context->lost : CUDA_SUCCESS;
}

std::shared_ptr<Stream> Call::stream(CUstream handle) const {
    // The legacy stream is part of its context: a pointer that shares nothing.
    if (!handle || handle == CU_STREAM_LEGACY) return {std::shared_ptr<Stream>(), &context->legacy};
    if (handle == CU_STREAM_PER_THREAD) return context->of_this_thread();
    auto found = driver.streams.find(handle);
    auto owner = found ? found->context.lock() : nullptr;
    return owner && !owner->destroyed ? found : nullptr;
}

CUresult Call::submit(Stream &stream, std::shared_ptr<Task> task, const std::vector<OperationRef> &more) const {
    if (stream.capture) return capture_task(stream, std::move(task));
    if (CUresult refused = refuse_beside_capture(driver, stream)) return refused;
    auto owner = stream.context.lock();
    if (owner->lost) return owner->lost;
    std::vector<OperationRef> after = owner->order(stream);
    after.insert(after.end(), more.begin(), more.end());
    // Last in its stream before it runs: a callback may let others in, who queue behind it.
    stream.tail = driver.work.queue(owner, std::move(task), after);
    OperationRef operation = stream.tail;
    driver.work.begin(operation, lock);
    return CUDA_SUCCESS;
}

CUresult Call::wait(const std::vector<OperationRef> &targets) const {
    driver.work.finish(targets, lock);
    return context->lost;
}

CUresult Call::refuse_while_capturing() const { return refuse_unsafe_call(driver); }

}  // namespace emucuda

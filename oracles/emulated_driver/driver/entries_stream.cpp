// Entry points: streams.
#include "driver.h"
#include "graph.h"
#include "tasks.h"

using namespace emucuda;

namespace {

// Queries make no progress in lazy mode, but a program that asks this often in a row waits by asking.
constexpr unsigned patience = 64;

CUresult create(const Call &call, CUstream *handle, unsigned flags, int priority) {
    if (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) return CUDA_ERROR_INVALID_VALUE;
    auto stream = std::make_shared<Stream>();
    stream->context = call.context->weak_from_this();
    stream->flags = flags;
    stream->priority = priority;
    call.context->adopt(stream);
    *handle = call.driver.streams.add(stream);
    return CUDA_SUCCESS;
}

CUresult query(const Call &call, OperationRef target, const Context &owner, unsigned &queries) {
    bool waits = target && target->state != Operation::done;
    if (waits && ++queries % patience == 0) call.driver.work.nudge(target, call.lock);
    if (owner.lost) return owner.lost;
    if (target && target->state != Operation::done) return CUDA_ERROR_NOT_READY;
    queries = 0;
    return CUDA_SUCCESS;
}

// What asking a captured stream or event for its state does to the capture.
CUresult spoil(const std::shared_ptr<Capture> &capture, CUresult answer) {
    capture->spoiled = true;
    return answer;
}

// A wait on an event that was recorded while captured makes the waiting stream part of the capture.
CUresult join_capture(const std::shared_ptr<Stream> &stream, const Event &event) {
    if (!event.capture) return spoil(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (stream->legacy) return spoil(event.capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    bool two_captures = stream->capture && stream->capture != event.capture;
    if (two_captures) return spoil(stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    if (!stream->capture) {
        stream->capture = event.capture;
        stream->frontier.clear();
        event.capture->members.push_back(stream);
    }
    for (GraphNode *node : event.frontier) stream->frontier.push_back(node);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) { return create(call, stream, flags, 0); });
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    return enter(__func__, Needs::live_context,
                 [&](const Call &call) { return create(call, stream, flags, priority); });
}

CUresult cuStreamDestroy_v2(CUstream handle) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        auto stream = call.driver.streams.remove(handle);
        if (!stream) return CUDA_ERROR_INVALID_HANDLE;
        auto context = stream->context.lock();
        if (context) context->orphan(*stream);
        return context ? context->lost : CUDA_SUCCESS;
    });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto stream = call.stream(handle);
        if (!stream) return CUDA_ERROR_INVALID_HANDLE;
        *flags = stream->flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetPriority(CUstream handle, int *priority) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto stream = call.stream(handle);
        if (!stream) return CUDA_ERROR_INVALID_HANDLE;
        *priority = stream->priority;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *context) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto stream = call.stream(handle);
        if (!stream) return CUDA_ERROR_INVALID_HANDLE;
        *context = stream->context.lock()->handle;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (!call.stream(handle)) return CUDA_ERROR_INVALID_HANDLE;
        *id = reinterpret_cast<unsigned long long>(handle);
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamQuery(CUstream handle) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto stream = call.stream(handle);
        if (!stream) return CUDA_ERROR_INVALID_HANDLE;
        if (stream->capture) return spoil(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        if (CUresult refused = call.refuse_while_capturing()) return refused;
        return query(call, stream->tail, *stream->context.lock(), stream->queries);
    });
}

CUresult cuStreamSynchronize(CUstream handle) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto stream = call.stream(handle);
        if (!stream) return CUDA_ERROR_INVALID_HANDLE;
        if (stream->capture) return spoil(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        if (CUresult refused = call.refuse_while_capturing()) return refused;
        auto owner = stream->context.lock();
        call.driver.work.finish({stream->tail}, call.lock);
        return owner->lost;
    });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto stream = call.stream(handle);
        auto event = call.driver.events.find(event_handle);
        if (!stream || !event) return CUDA_ERROR_INVALID_HANDLE;
        if (flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) return CUDA_ERROR_INVALID_VALUE;
        if (stream->capture || event->capture) return join_capture(stream, *event);
        if (!event->record) return CUDA_SUCCESS;
        return call.submit(*stream, std::make_shared<MarkerTask>(), {event->record});
    });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *argument) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto stream = call.stream(handle);
        if (!stream) return CUDA_ERROR_INVALID_HANDLE;
        if (!function) return CUDA_ERROR_INVALID_VALUE;
        auto task = std::make_shared<HostTask>();
        task->function = function;
        task->argument = argument;
        return call.submit(*stream, task);
    });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *argument, unsigned flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto stream = call.stream(handle);
        if (!stream) return CUDA_ERROR_INVALID_HANDLE;
        if (!callback || flags) return CUDA_ERROR_INVALID_VALUE;
        if (stream->capture) return spoil(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        auto task = std::make_shared<HostTask>();
        task->callback = callback;
        task->stream = handle;
        task->argument = argument;
        return call.submit(*stream, task);
    });
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr pointer, size_t, unsigned) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (!call.stream(handle)) return CUDA_ERROR_INVALID_HANDLE;
        const Allocation *allocation = call.driver.memory.holding(pointer, 1);
        return allocation && allocation->kind == MemoryKind::managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuEventCreate(CUevent *handle, unsigned flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        constexpr unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
        if (flags & ~known) return CUDA_ERROR_INVALID_VALUE;
        if ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
        auto event = std::make_shared<Event>();
        event->context = call.context->weak_from_this();
        event->flags = flags;
        *handle = call.driver.events.add(event);
        return CUDA_SUCCESS;
    });
}

CUresult cuEventDestroy_v2(CUevent handle) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        auto event = call.driver.events.remove(handle);
        if (!event) return CUDA_ERROR_INVALID_HANDLE;
        auto context = event->context.lock();
        return context ? context->lost : CUDA_SUCCESS;
    });
}

CUresult cuEventRecord(CUevent event_handle, CUstream handle) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto stream = call.stream(handle);
        auto event = call.driver.events.find(event_handle);
        if (!stream || !event || stream->context.lock() != event->context.lock()) return CUDA_ERROR_INVALID_HANDLE;
        event->capture = stream->capture;
        event->frontier = stream->frontier;
        if (stream->capture) return CUDA_SUCCESS;
        if (CUresult refused = call.submit(*stream, std::make_shared<MarkerTask>())) return refused;
        event->record = stream->tail;
        event->queries = 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    return flags ? CUDA_ERROR_NOT_SUPPORTED : cuEventRecord(event, stream);
}

CUresult cuEventQuery(CUevent handle) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto event = call.driver.events.find(handle);
        if (!event) return CUDA_ERROR_INVALID_HANDLE;
        if (event->capture) return spoil(event->capture, CUDA_ERROR_CAPTURED_EVENT);
        if (CUresult refused = call.refuse_while_capturing()) return refused;
        return query(call, event->record, *event->context.lock(), event->queries);
    });
}

CUresult cuEventSynchronize(CUevent handle) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto event = call.driver.events.find(handle);
        if (!event) return CUDA_ERROR_INVALID_HANDLE;
        if (event->capture) return spoil(event->capture, CUDA_ERROR_CAPTURED_EVENT);
        if (CUresult refused = call.refuse_while_capturing()) return refused;
        auto owner = event->context.lock();
        call.driver.work.finish({event->record}, call.lock);
        return owner->lost;
    });
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start_handle, CUevent end_handle) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto start = call.driver.events.find(start_handle), end = call.driver.events.find(end_handle);
        if (!start || !end || !start->record || !end->record) return CUDA_ERROR_INVALID_HANDLE;
        if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
        if (start->record->state != Operation::done || end->record->state != Operation::done)
            return CUDA_ERROR_NOT_READY;
        *milliseconds =
            std::chrono::duration<float, std::milli>(end->record->finished - start->record->finished).count();
        return CUDA_SUCCESS;
    });
}

}  // extern "C"

// Entry points: copies and fills.
#include <algorithm>

#include "driver.h"
#include "tasks.h"

using namespace emucuda;

namespace {

using CopyRef = std::shared_ptr<CopyTask>;

uintptr_t number(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

Side host(const void *pointer) { return {number(pointer), 0, 0, false}; }
Side device(CUdeviceptr pointer) { return {pointer, 0, 0, true}; }

CopyRef line(Side to, Side from, size_t bytes) {
    auto task = std::make_shared<CopyTask>();
    task->to = to;
    task->from = from;
    task->width = bytes;
    return task;
}

// Memory of the host that the driver has not locked.
bool pageable(const Memory &memory, const Side &side) { return !side.on_device && !memory.holding(side.address, 1); }

// Copies and fills that name no context: only unified addressing lets them touch what is another device's.
template <class Task>
CUresult check_plain(const Call &call, const Task &task) {
    bool within = call.driver.settings.plain_across || task.is_within(call.driver.memory, *call.context);
    return within ? task.check(call.driver.memory) : CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_async(const Call &call, const CopyRef &task, CUstream handle) {
    auto stream = call.stream(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult wrong = check_plain(call, *task)) return wrong;
    return task->width && task->height && task->depth ? call.submit(*stream, task) : CUDA_SUCCESS;
}

// A copy in the order of the legacy stream. The host waits where it must: until the bytes have left pageable memory
// (whose last leg to the device may still be under way), until all is done for other memory of the host, and not at all
// between devices.
CUresult copy_in_order(const Call &call, const CopyRef &task) {
    if (CUresult refused = call.refuse_while_capturing()) return refused;
    if (CUresult wrong = check_plain(call, *task)) return wrong;
    if (!task->width || !task->height || !task->depth) return CUDA_SUCCESS;
    Stream &stream = call.context->legacy;
    bool stages = task->to.on_device && pageable(call.driver.memory, task->from);
    if (stages) {
        if (CUresult lost = call.wait(call.context->order(stream))) return lost;
        task->stage(call.driver.memory);
    }
    bool waits = !task->to.on_device || (!task->from.on_device && !stages);
    if (CUresult refused = call.submit(stream, task)) return refused;
    return waits ? call.wait({stream.tail}) : call.context->lost;
}

// One side of a two- or three-dimensional copy as its descriptor gives it.
bool side_of(const Memory &memory, Side &side, CUmemorytype type, const void *host_pointer, CUdeviceptr pointer,
             size_t pitch, size_t slice, size_t offset) {
    if (type == CU_MEMORYTYPE_ARRAY) return false;
    if (type == CU_MEMORYTYPE_UNIFIED) {
        // PyCUDA puts the address into the host's field.
        uintptr_t address = pointer ? pointer : number(host_pointer);
        side = {address + offset, pitch, slice, memory.holding(address, 1) != nullptr};
        return true;
    }
    bool on_device = type == CU_MEMORYTYPE_DEVICE;
    side = {(on_device ? pointer : number(host_pointer)) + offset, pitch, slice, on_device};
    return true;
}

CopyRef plane(const Memory &memory, const CUDA_MEMCPY2D &d) {
    auto task = std::make_shared<CopyTask>();
    size_t from_pitch = d.srcPitch ? d.srcPitch : d.WidthInBytes, to_pitch = d.dstPitch ? d.dstPitch : d.WidthInBytes;
    if (from_pitch < d.WidthInBytes + d.srcXInBytes || to_pitch < d.WidthInBytes + d.dstXInBytes) return nullptr;
    if (std::max(from_pitch, to_pitch) > most_pitch) return nullptr;
    bool known = side_of(memory, task->from, d.srcMemoryType, d.srcHost, d.srcDevice, from_pitch, 0,
                                        d.srcY * from_pitch + d.srcXInBytes) &&
                 side_of(memory, task->to, d.dstMemoryType, d.dstHost, d.dstDevice, to_pitch, 0,
                                        d.dstY * to_pitch + d.dstXInBytes);
    task->width = d.WidthInBytes;
    task->height = d.Height;
    return known ? task : nullptr;
}

template <class Descriptor>
CopyRef volume(const Memory &memory, const Descriptor &d) {
    auto task = std::make_shared<CopyTask>();
    size_t from_pitch = d.srcPitch ? d.srcPitch : d.WidthInBytes, to_pitch = d.dstPitch ? d.dstPitch : d.WidthInBytes;
    size_t from_rows = d.srcHeight ? d.srcHeight : d.Height, to_rows = d.dstHeight ? d.dstHeight : d.Height;
    if (from_pitch < d.WidthInBytes + d.srcXInBytes || to_pitch < d.WidthInBytes + d.dstXInBytes) return nullptr;
    if (d.Depth > 1 && (from_rows < d.Height + d.srcY || to_rows < d.Height + d.dstY)) return nullptr;
    size_t from_slice = from_pitch * from_rows, to_slice = to_pitch * to_rows;
    bool known = side_of(memory, task->from, d.srcMemoryType, d.srcHost, d.srcDevice, from_pitch, from_slice,
                                     d.srcZ * from_slice + d.srcY * from_pitch + d.srcXInBytes) &&
                 side_of(memory, task->to, d.dstMemoryType, d.dstHost, d.dstDevice, to_pitch, to_slice,
                                     d.dstZ * to_slice + d.dstY * to_pitch + d.dstXInBytes);
    task->width = d.WidthInBytes;
    task->height = d.Height;
    task->depth = d.Depth;
    return known ? task : nullptr;
}

// Between contexts, after everything queued in them and before everything queued later.
CUresult copy_between(const Call &call, const CopyRef &task, CUcontext to, CUcontext from) {
    if (CUresult refused = call.refuse_while_capturing()) return refused;
    auto target = call.driver.contexts.find(to), source = call.driver.contexts.find(from);
    if (!target || !source) return CUDA_ERROR_INVALID_CONTEXT;
    if (!task->is_between(call.driver.memory, *target, *source)) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult wrong = task->check(call.driver.memory)) return wrong;
    std::vector<OperationRef> after;
    Context *const contexts[] = {target.get(), source.get(), call.context};
    for (const Context *context : contexts)
        for (const OperationRef &tail : context->tails()) after.push_back(tail);
    if (CUresult refused = call.submit(call.context->legacy, task, after)) return refused;
    for (Context *context : contexts) context->fence(call.context->legacy.tail);
    return call.context->lost;
}

CUresult copy_between_async(const Call &call, const CopyRef &task, CUcontext to, CUcontext from, CUstream handle) {
    auto target = call.driver.contexts.find(to), source = call.driver.contexts.find(from);
    auto stream = call.stream(handle);
    if (!target || !source) return CUDA_ERROR_INVALID_CONTEXT;
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (!task->is_between(call.driver.memory, *target, *source)) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult wrong = task->check(call.driver.memory)) return wrong;
    return task->width && task->height && task->depth ? call.submit(*stream, task) : CUDA_SUCCESS;
}

std::shared_ptr<FillTask> fill(CUdeviceptr pointer, size_t pitch, unsigned size, unsigned value, size_t width,
                               size_t height) {
    auto task = std::make_shared<FillTask>();
    task->address = pointer;
    task->pitch = pitch;
    task->element_size = size;
    task->value = value;
    task->width = width;
    task->height = height;
    return task;
}

CUresult fill_async(const Call &call, const std::shared_ptr<FillTask> &task, CUstream handle) {
    auto stream = call.stream(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult wrong = check_plain(call, *task)) return wrong;
    return task->width && task->height ? call.submit(*stream, task) : CUDA_SUCCESS;
}

// The host waits for fills of its own memory only.
CUresult fill_in_order(const Call &call, const std::shared_ptr<FillTask> &task) {
    if (CUresult refused = call.refuse_while_capturing()) return refused;
    if (CUresult result = fill_async(call, task, nullptr)) return result;
    const Allocation *allocation = call.driver.memory.holding(task->address, 1);
    return allocation && allocation->on_host() ? call.wait({call.context->legacy.tail}) : call.context->lost;
}

template <class Make>
CUresult in_order(const char *name, Make make) {
    return enter(name, Needs::live_context, [&](const Call &call) {
        CopyRef task = make(call.driver.memory);
        return task ? copy_in_order(call, task) : CUDA_ERROR_INVALID_VALUE;
    });
}

template <class Make>
CUresult async(const char *name, CUstream stream, Make make) {
    return enter(name, Needs::live_context, [&](const Call &call) {
        CopyRef task = make(call.driver.memory);
        return task ? copy_async(call, task, stream) : CUDA_ERROR_INVALID_VALUE;
    });
}

template <class Make>
CUresult fill_entry(const char *name, Make make) {
    return enter(name, Needs::live_context, [&](const Call &call) { return fill_in_order(call, make()); });
}

template <class Make>
CUresult fill_entry_async(const char *name, CUstream stream, Make make) {
    return enter(name, Needs::live_context, [&](const Call &call) { return fill_async(call, make(), stream); });
}

Side unified(const Memory &memory, CUdeviceptr pointer) {
    return {pointer, 0, 0, memory.holding(pointer, 1) != nullptr};
}

}  // namespace

extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return in_order(__func__, [&](const Memory &m) { return line(unified(m, to), unified(m, from), bytes); });
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return async(__func__, stream, [&](const Memory &m) { return line(unified(m, to), unified(m, from), bytes); });
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    return in_order(__func__, [&](const Memory &) { return line(device(to), host(from), bytes); });
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    return in_order(__func__, [&](const Memory &) { return line(host(to), device(from), bytes); });
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return in_order(__func__, [&](const Memory &) { return line(device(to), device(from), bytes); });
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    return async(__func__, stream, [&](const Memory &) { return line(device(to), host(from), bytes); });
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return async(__func__, stream, [&](const Memory &) { return line(host(to), device(from), bytes); });
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return async(__func__, stream, [&](const Memory &) { return line(device(to), device(from), bytes); });
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy) {
    return in_order(__func__, [&](const Memory &m) { return plane(m, *copy); });
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy) {
    return in_order(__func__, [&](const Memory &m) { return plane(m, *copy); });
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
    return async(__func__, stream, [&](const Memory &m) { return plane(m, *copy); });
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy) {
    return in_order(__func__, [&](const Memory &m) { return volume(m, *copy); });
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
    return async(__func__, stream, [&](const Memory &m) { return volume(m, *copy); });
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        return copy_between(call, line(device(to), device(from), bytes), to_context, from_context);
    });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        return copy_between_async(call, line(device(to), device(from), bytes), to_context, from_context, stream);
    });
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        CopyRef task = volume(call.driver.memory, *copy);
        return task ? copy_between(call, task, copy->dstContext, copy->srcContext) : CUDA_ERROR_INVALID_VALUE;
    });
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        CopyRef task = volume(call.driver.memory, *copy);
        if (!task) return CUDA_ERROR_INVALID_VALUE;
        return copy_between_async(call, task, copy->dstContext, copy->srcContext, stream);
    });
}

CUresult cuMemsetD8_v2(CUdeviceptr pointer, unsigned char value, size_t count) {
    return fill_entry(__func__, [&] { return fill(pointer, 0, 1, value, count, 1); });
}
CUresult cuMemsetD16_v2(CUdeviceptr pointer, unsigned short value, size_t count) {
    return fill_entry(__func__, [&] { return fill(pointer, 0, 2, value, count, 1); });
}
CUresult cuMemsetD32_v2(CUdeviceptr pointer, unsigned value, size_t count) {
    return fill_entry(__func__, [&] { return fill(pointer, 0, 4, value, count, 1); });
}
CUresult cuMemsetD2D8_v2(CUdeviceptr pointer, size_t pitch, unsigned char value, size_t width, size_t height) {
    return fill_entry(__func__, [&] { return fill(pointer, pitch, 1, value, width, height); });
}
CUresult cuMemsetD2D16_v2(CUdeviceptr pointer, size_t pitch, unsigned short value, size_t width, size_t height) {
    return fill_entry(__func__, [&] { return fill(pointer, pitch, 2, value, width, height); });
}
CUresult cuMemsetD2D32_v2(CUdeviceptr pointer, size_t pitch, unsigned value, size_t width, size_t height) {
    return fill_entry(__func__, [&] { return fill(pointer, pitch, 4, value, width, height); });
}
CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, size_t count, CUstream stream) {
    return fill_entry_async(__func__, stream, [&] { return fill(pointer, 0, 1, value, count, 1); });
}
CUresult cuMemsetD16Async(CUdeviceptr pointer, unsigned short value, size_t count, CUstream stream) {
    return fill_entry_async(__func__, stream, [&] { return fill(pointer, 0, 2, value, count, 1); });
}
CUresult cuMemsetD32Async(CUdeviceptr pointer, unsigned value, size_t count, CUstream stream) {
    return fill_entry_async(__func__, stream, [&] { return fill(pointer, 0, 4, value, count, 1); });
}
CUresult cuMemsetD2D8Async(CUdeviceptr pointer, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
    return fill_entry_async(__func__, stream, [&] { return fill(pointer, pitch, 1, value, width, height); });
}
CUresult cuMemsetD2D16Async(CUdeviceptr pointer, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
    return fill_entry_async(__func__, stream, [&] { return fill(pointer, pitch, 2, value, width, height); });
}
CUresult cuMemsetD2D32Async(CUdeviceptr pointer, size_t pitch, unsigned value, size_t width, size_t height,
                            CUstream stream) {
    return fill_entry_async(__func__, stream, [&] { return fill(pointer, pitch, 4, value, width, height); });
}

}  // extern "C"

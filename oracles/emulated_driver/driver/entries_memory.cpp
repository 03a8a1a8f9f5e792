// Entry points: memory of the device, page-locked memory of the host, and questions about both.
#include "arena_filling.h"
#include "driver.h"

using namespace emucuda;

namespace {

uintptr_t number(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// The driver waits for all work of a device before it takes memory away; `free=now` does without, as nothing that is
// written down promises it.
void wait_before_freeing(const Call &call, uintptr_t address) {
    const Allocation *allocation = call.driver.memory.holding(address, 1);
    if (call.driver.settings.free_waits && allocation) call.driver.work.finish_all_on(allocation->device, call.lock);
}

CUresult allocate(const Call &call, size_t bytes, MemoryKind kind, unsigned flags, uintptr_t &start) {
    if (CUresult refused = call.refuse_while_capturing()) return refused;
    return call.driver.memory.allocate(bytes, kind, call.context, call.context->device, flags, start);
}

CUresult attribute(void *data, CUpointer_attribute which, const Allocation &allocation,
                   CUdeviceptr pointer) {
    bool host = allocation.on_host();
    switch (which) {
        case CU_POINTER_ATTRIBUTE_CONTEXT: *static_cast<CUcontext *>(data) = allocation.owner->handle; break;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned *>(data) = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *static_cast<CUdeviceptr *>(data) = allocation.for_devices(pointer);
            break;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            if (!host) return CUDA_ERROR_INVALID_VALUE;
            *static_cast<CUdeviceptr *>(data) = allocation.for_host(pointer);
            break;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID: *static_cast<unsigned long long *>(data) = allocation.id; break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<unsigned *>(data) = allocation.kind == MemoryKind::managed;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int *>(data) = allocation.device; break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<CUdeviceptr *>(data) = allocation.start; break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<size_t *>(data) = allocation.size; break;
        case CU_POINTER_ATTRIBUTE_MAPPED: *static_cast<unsigned *>(data) = 1; break;
        default: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        const Arena &arena = call.driver.memory.arena(call.context->device);
        if (available) *available = arena.capacity - arena.used;
        if (total) *total = arena.capacity;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        uintptr_t start = 0;
        CUresult result = allocate(call, bytes, MemoryKind::device, 0, start);
        if (!result) *pointer = start;
        return result;
    });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height, unsigned element) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
        size_t row = round_up(width, granule), bytes = 0;
        if (row < width || __builtin_mul_overflow(row, height, &bytes)) return CUDA_ERROR_INVALID_VALUE;
        uintptr_t start = 0;
        CUresult result = allocate(call, bytes, MemoryKind::device, 0, start);
        if (result) return result;
        *pointer = start;
        *pitch = row;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t bytes, unsigned flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
        uintptr_t start = 0;
        CUresult result = allocate(call, bytes, MemoryKind::managed, flags, start);
        if (!result) *pointer = start;
        return result;
    });
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (!pointer) return CUDA_SUCCESS;
        if (CUresult refused = call.refuse_while_capturing()) return refused;
        wait_before_freeing(call, pointer);
        if (call.context->lost) return call.context->lost;
        return call.driver.memory.free(pointer, false);
    });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr pointer) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        const Allocation *allocation = call.driver.memory.holding(pointer, 1);
        if (!allocation) return CUDA_ERROR_NOT_FOUND;
        if (base) *base = allocation->start;
        if (size) *size = allocation->size;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        constexpr unsigned known =
            CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
        if (flags & ~known) return CUDA_ERROR_INVALID_VALUE;
        uintptr_t start = 0;
        CUresult result = allocate(call, bytes, MemoryKind::pinned, flags, start);
        if (!result) *pointer = reinterpret_cast<void *>(start);
        return result;
    });
}

CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        uintptr_t start = 0;
        CUresult result = allocate(call, bytes, MemoryKind::pinned, 0, start);
        if (!result) *pointer = reinterpret_cast<void *>(start);
        return result;
    });
}

CUresult cuMemFreeHost(void *pointer) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (CUresult refused = call.refuse_while_capturing()) return refused;
        wait_before_freeing(call, number(pointer));
        if (call.context->lost) return call.context->lost;
        return call.driver.memory.free(number(pointer), true);
    });
}

CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        constexpr unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                   CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
        if (flags & ~known) return CUDA_ERROR_INVALID_VALUE;
        if (CUresult refused = call.refuse_while_capturing()) return refused;
        return call.driver.memory.watch(number(pointer), bytes, MemoryKind::registered, call.context,
                                        call.context->device, flags);
    });
}

CUresult cuMemHostUnregister(void *pointer) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (CUresult refused = call.refuse_while_capturing()) return refused;
        wait_before_freeing(call, number(pointer));
        if (call.context->lost) return call.context->lost;
        return call.driver.memory.unwatch(number(pointer), MemoryKind::registered);
    });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device_pointer, void *pointer, unsigned flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        const Allocation *allocation = call.driver.memory.holding(number(pointer), 1);
        if (flags || !allocation || !allocation->on_host()) return CUDA_ERROR_INVALID_VALUE;
        // Memory that the driver allocated is always mapped under unified addressing; registered memory when asked for.
        bool registered = allocation->kind == MemoryKind::registered;
        if (registered && !(allocation->flags & CU_MEMHOSTREGISTER_DEVICEMAP)) return CUDA_ERROR_INVALID_VALUE;
        *device_pointer = allocation->for_devices(number(pointer));
        return CUDA_SUCCESS;
    });
}

CUresult cuMemHostGetFlags(unsigned *flags, void *pointer) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        const Allocation *allocation = call.driver.memory.holding(number(pointer), 1);
        if (!allocation || !allocation->on_host()) return CUDA_ERROR_INVALID_VALUE;
        *flags = allocation->flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr pointer) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        const Allocation *allocation = call.driver.memory.holding(pointer, 1);
        if (!data || !allocation) return CUDA_ERROR_INVALID_VALUE;
        return attribute(data, which, *allocation, pointer);
    });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *which, void **data, CUdeviceptr pointer) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        const Allocation *allocation = call.driver.memory.holding(pointer, 1);
        // A pointer that the driver does not know is answered with zeros, not with an error.
        for (unsigned i = 0; i < count; ++i) {
            if (allocation)
                attribute(data[i], which[i], *allocation, pointer);
            else if (which[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
                *static_cast<unsigned *>(data[i]) = 0;
            else if (which[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
                *static_cast<int *>(data[i]) = -2;
        }
        return CUDA_SUCCESS;
    });
}

}  // extern "C"

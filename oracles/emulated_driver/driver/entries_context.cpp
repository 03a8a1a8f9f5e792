// Entry points: contexts, and which one is current.
#include <algorithm>

#include "driver.h"

using namespace emucuda;

namespace {

std::shared_ptr<Context> living(const Driver &driver, CUcontext handle) {
    return handle ? driver.contexts.find(handle) : current_context();
}

// One use fewer; the last one ends the context, which leaves the stack of the calling thread.
void release(const Call &call, const std::shared_ptr<Context> &context) {
    if (--context->uses > 0) return;
    call.driver.destroy(*context, call.lock);
    auto &stack = context_stack();
    if (!stack.empty() && stack.back() == context) stack.pop_back();
}

void end_primary(const Call &call, CUdevice device) {
    std::shared_ptr<Context> context = std::move(call.driver.primaries[size_t(device)]);
    call.driver.primaries[size_t(device)].reset();
    if (context) call.driver.destroy(*context, call.lock);
}

}  // namespace

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        auto &primary = call.driver.primaries[size_t(device)];
        if (primary)
            ++primary->uses;
        else
            primary = call.driver.make_context(device, 0, true);
        *context = primary->handle;
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        auto &primary = call.driver.primaries[size_t(device)];
        if (!primary) return CUDA_ERROR_INVALID_CONTEXT;
        if (--primary->uses == 0) end_primary(call, device);
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        end_primary(call, device);
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        const auto &primary = call.driver.primaries[size_t(device)];
        *flags = primary ? primary->flags : 0;
        *active = primary != nullptr;
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        if (auto &primary = call.driver.primaries[size_t(device)]) primary->flags = flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned flags, CUdevice device) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        if (parameters) return CUDA_ERROR_NOT_SUPPORTED;
        auto made = call.driver.make_context(device, flags, false);
        context_stack().push_back(made);
        *context = made->handle;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        auto context = call.driver.contexts.find(handle);
        if (!context || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
        context->uses = 1;
        release(call, context);
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxAttach(CUcontext *handle, unsigned flags) {
    return enter(__func__, Needs::context, [&](const Call &call) {
        if (flags) return CUDA_ERROR_INVALID_VALUE;
        ++call.context->uses;
        *handle = call.context->handle;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxDetach(CUcontext handle) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        auto context = call.driver.contexts.find(handle);
        if (!context || context != current_context()) return CUDA_ERROR_INVALID_CONTEXT;
        release(call, context);
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        auto context = call.driver.contexts.find(handle);
        if (!context) return CUDA_ERROR_INVALID_CONTEXT;
        context_stack().push_back(context);
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxPopCurrent_v2(CUcontext *handle) {
    return enter(__func__, Needs::driver, [&](const Call &) {
        auto &stack = context_stack();
        if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
        if (handle) *handle = stack.back()->handle;
        stack.pop_back();
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        auto context = call.driver.contexts.find(handle);
        if (handle && !context) return CUDA_ERROR_INVALID_CONTEXT;
        auto &stack = context_stack();
        if (!stack.empty()) stack.pop_back();
        if (context) stack.push_back(context);
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetCurrent(CUcontext *handle) {
    return enter(__func__, Needs::driver, [&](const Call &) {
        auto context = current_context();
        *handle = context ? context->handle : nullptr;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetDevice(CUdevice *device) {
    return enter(__func__, Needs::context, [&](const Call &call) {
        *device = call.context->device;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetFlags(unsigned *flags) {
    return enter(__func__, Needs::context, [&](const Call &call) {
        *flags = call.context->flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        auto context = living(call.driver, handle);
        if (!context) return CUDA_ERROR_INVALID_CONTEXT;
        *id = reinterpret_cast<unsigned long long>(context->handle);
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!living(call.driver, handle)) return CUDA_ERROR_INVALID_CONTEXT;
        *version = CUDA_VERSION;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSynchronize() {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (CUresult refused = call.refuse_while_capturing()) return refused;
        call.driver.work.finish_all_of(*call.context, call.lock);
        return call.context->lost;
    });
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    return enter(__func__, Needs::context, [&](const Call &) {
        if (least) *least = 0;
        if (greatest) *greatest = -5;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
        call.context->limits[limit] = value;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
    return enter(__func__, Needs::context, [&](const Call &call) {
        if (limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
        *value = call.context->limits[limit];
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        call.context->cache = config;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config) {
    return enter(__func__, Needs::context, [&](const Call &call) {
        *config = call.context->cache;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig) {
    return enter(__func__, Needs::live_context, [](const Call &) { return CUDA_SUCCESS; });
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config) {
    return enter(__func__, Needs::context, [&](const Call &) {
        *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto peer = call.driver.contexts.find(handle);
        if (!peer || peer.get() == call.context) return CUDA_ERROR_INVALID_CONTEXT;
        if (flags) return CUDA_ERROR_INVALID_VALUE;
        bool added = call.context->peers.insert(peer.get()).second;
        return added ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto peer = call.driver.contexts.find(handle);
        if (!peer) return CUDA_ERROR_INVALID_CONTEXT;
        return call.context->peers.erase(peer.get()) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    });
}

}  // extern "C"

// Entry points: the driver itself and its devices.
#include <cstdio>
#include <cstring>

#include "../device/kernel_abi.h"
#include "driver.h"

using namespace emucuda;

namespace {

// What every emulated device has, except for what the settings say.
int attribute(CUdevice_attribute which, const Settings &settings) {
    switch (which) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return settings.capability / 10;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return settings.capability % 10;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: return 0x7fffffff;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return 49152;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return int(dynamic_shared_bytes);
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return 233472;
        case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return 1024;
        case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: return 65536;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
        case CU_DEVICE_ATTRIBUTE_MAX_PITCH: return 0x7fffffff;
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return 65536;
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1980000;
        case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return 3201000;
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return 6144;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return 62914560;
        case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: return 512;
        case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: return 32;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return 4;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return 32;
        case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 3;
        case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
        case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: return 1;
        default: return 0;
    }
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned flags) {
    return enter(__func__, Needs::nothing, [&](const Call &call) {
        return flags ? CUDA_ERROR_INVALID_VALUE : call.driver.initialise();
    });
}

CUresult cuDriverGetVersion(int *version) {
    return enter(__func__, Needs::nothing, [&](const Call &) {
        if (!version) return CUDA_ERROR_INVALID_VALUE;
        *version = CUDA_VERSION;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetCount(int *count) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        *count = call.driver.device_count;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
        *device = ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        snprintf(name, size_t(size), "Emulated CUDA device");
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        memset(uuid, 0, sizeof *uuid);
        memcpy(uuid->bytes, "emulated", 8);
        uuid->bytes[15] = char(device);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        *major = call.driver.settings.capability / 10;
        *minor = call.driver.settings.capability % 10;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        *bytes = call.driver.memory.arena(device).capacity;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        if (which < 1 || which >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
        *value = which == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID ? device : attribute(which, call.driver.settings);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device)) return CUDA_ERROR_INVALID_DEVICE;
        snprintf(text, size_t(size), "0000:00:%02x.0", unsigned(device));
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        unsigned domain = 0, bus = 0, slot = 0;
        bool parsed = sscanf(text, "%x:%x:%x", &domain, &bus, &slot) == 3;
        if (!parsed || domain || bus || !call.driver.has(int(slot))) return CUDA_ERROR_INVALID_DEVICE;
        *device = int(slot);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device) || !call.driver.has(peer)) return CUDA_ERROR_INVALID_DEVICE;
        *can = device != peer;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute which, CUdevice device, CUdevice peer) {
    return enter(__func__, Needs::driver, [&](const Call &call) {
        if (!call.driver.has(device) || !call.driver.has(peer) || device == peer) return CUDA_ERROR_INVALID_DEVICE;
        *value = which == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
        return CUDA_SUCCESS;
    });
}

}  // extern "C"

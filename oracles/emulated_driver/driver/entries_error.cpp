// Entry points: what errors are called, how entry points are found, and what tests may ask of the emulator.

#include <cstdio>
#include <string>

#include "driver.h"
#include "faults.h"

using namespace emucuda;

namespace {

struct Error {
    CUresult code;
    const char *name, *text;
};

#define EMUCUDA_ERROR(name, text) {name, #name, text}
constexpr Error errors[] = {
    EMUCUDA_ERROR(CUDA_SUCCESS, "no error"),
    EMUCUDA_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    EMUCUDA_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    EMUCUDA_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    EMUCUDA_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    EMUCUDA_ERROR(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    EMUCUDA_ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
    EMUCUDA_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    EMUCUDA_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    EMUCUDA_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    EMUCUDA_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    EMUCUDA_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    EMUCUDA_ERROR(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    EMUCUDA_ERROR(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    EMUCUDA_ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    EMUCUDA_ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    EMUCUDA_ERROR(CUDA_ERROR_NVLINK_UNCORRECTABLE, "uncorrectable NVLink error detected during the execution"),
    EMUCUDA_ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain."),
    EMUCUDA_ERROR(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    EMUCUDA_ERROR(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
    EMUCUDA_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    EMUCUDA_ERROR(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    EMUCUDA_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    EMUCUDA_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    EMUCUDA_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    EMUCUDA_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    EMUCUDA_ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    EMUCUDA_ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    EMUCUDA_ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    EMUCUDA_ERROR(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
    EMUCUDA_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    EMUCUDA_ERROR(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    EMUCUDA_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                  "part or all of the requested memory range is already mapped"),
    EMUCUDA_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"),
    EMUCUDA_ERROR(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    EMUCUDA_ERROR(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    EMUCUDA_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    EMUCUDA_ERROR(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space"),
    EMUCUDA_ERROR(CUDA_ERROR_INVALID_PC, "invalid program counter"),
    EMUCUDA_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    EMUCUDA_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    EMUCUDA_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    EMUCUDA_ERROR(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    EMUCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    EMUCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    EMUCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences"),
    EMUCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began"),
    EMUCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    EMUCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream"),
    EMUCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                  "operation would make the legacy stream depend on a capturing blocking stream"),
    EMUCUDA_ERROR(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream"),
    EMUCUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                  "attempt to terminate a thread-local capture sequence from another thread"),
    EMUCUDA_ERROR(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                  "the graph update was not performed: the change is not one that an executable graph can take"),
    EMUCUDA_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef EMUCUDA_ERROR

const Error *find(CUresult code) {
    for (const Error &error : errors)
        if (error.code == code) return &error;
    return nullptr;
}

}  // namespace

extern "C" {

CUresult cuGetErrorName(CUresult code, const char **name) {
    const Error *error = find(code);
    *name = error ? error->name : nullptr;
    return error ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **text) {
    const Error *error = find(code);
    // PyCUDA makes a string of the answer without looking at the result.
    *text = error ? error->text : "unrecognized error code";
    return error ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetProcAddress_v2(const char *name, void **pointer, int, cuuint64_t,
                             CUdriverProcAddressQueryResult *status) {
    *pointer = entry_point(name);
    if (status) *status = *pointer ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *pointer ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuProfilerStart() {
    return enter(__func__, Needs::context, [](const Call &) { return CUDA_SUCCESS; });
}

CUresult cuProfilerStop() {
    return enter(__func__, Needs::context, [](const Call &) { return CUDA_SUCCESS; });
}

// What an entry point answers that is declared in cuda.h and not emulated.
CUresult emucuda_unsupported(const char *name) {
    return enter(name, Needs::nothing, [&](const Call &call) {
        if (call.driver.settings.log) fprintf(stderr, "emulated driver: %s is not emulated\n", name);
        return CUDA_ERROR_NOT_SUPPORTED;
    });
}

// 0, or -1 when a word of the settings means nothing.
int emucuda_configure(const char *words) {
    Driver &driver = Driver::get();
    Lock lock(driver.mutex);
    return driver.settings.apply(words) ? 0 : -1;
}

// How often an entry point was called, refused calls included; versions count together under the plain name.
unsigned long long emucuda_calls(const char *name) {
    Driver &driver = Driver::get();
    Lock lock(driver.mutex);
    return driver.settings.calls(name);
}

unsigned long long emucuda_pending() {
    Driver &driver = Driver::get();
    Lock lock(driver.mutex);
    return driver.work.pending();
}

// Allocations and registrations that nobody undid.
unsigned long long emucuda_live_allocations() {
    Driver &driver = Driver::get();
    Lock lock(driver.mutex);
    return driver.memory.live();
}

// Streams, events, modules and graphs that nobody destroyed.
unsigned long long emucuda_live_objects() {
    Driver &driver = Driver::get();
    Lock lock(driver.mutex);
    return driver.streams.size() + driver.events.size() + driver.modules.size() + driver.graphs.size() +
           driver.executables.size();
}

// What the last kernel that failed did, in words; valid until the next one fails.
const char *emucuda_last_fault() { return last_fault().c_str(); }

}  // extern "C"

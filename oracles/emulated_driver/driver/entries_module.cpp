// Entry points: modules, functions, launches.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "driver.h"
#include "module.h"
#include "tasks.h"

using namespace emucuda;

namespace {

#if defined(__x86_64__)
constexpr Elf64_Half machine = EM_X86_64;
#else
constexpr Elf64_Half machine = EM_AARCH64;
#endif

// The length of an ELF image made for this machine, or 0: device code, PTX and anything else.
size_t image_size(const void *image) {
    const auto *bytes = static_cast<const char *>(image);
    if (memcmp(bytes, ELFMAG, SELFMAG) != 0) return 0;
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != machine || header.e_type != ET_DYN) return 0;
    return header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
}

// A file of its own for every load: the dynamic linker shares what comes from one file, and contexts must not.
int private_file(const void *bytes, size_t size) {
    int file = memfd_create("kernels", MFD_CLOEXEC);
    for (size_t done = 0; file >= 0 && done < size;) {
        ssize_t count = write(file, static_cast<const char *>(bytes) + done, size - done);
        if (count <= 0) {
            close(file);
            return -1;
        }
        done += size_t(count);
    }
    return file;
}

// A path to an open file that no library was loaded from before: the linker knows libraries by their paths first, and
// file numbers come again. The count of loads is written into it, bit by bit, as "/." and "//.".
std::string path_of_its_own(int file) {
    static std::atomic<uint64_t> loads{0};
    std::string path = "/proc/self/fd";
    for (uint64_t number = ++loads; number; number >>= 1) path += number & 1 ? "/." : "//.";
    return path + "/" + std::to_string(file);
}

// Kernels are named by their symbols: mangled, unless they are extern "C".
void list_kernels(LoadedModule &module) {
    for (const Kernel *kernel = module.code->kernels; kernel; kernel = kernel->next) {
        Dl_info info{};
        if (dladdr(kernel->address, &info) && info.dli_sname) module.kernels[info.dli_sname] = kernel;
    }
}

CUresult load(const Call &call, CUmodule *handle, const void *image, size_t size) {
    if (CUresult refused = call.refuse_while_capturing()) return refused;
    if (!size) return CUDA_ERROR_INVALID_IMAGE;
    int file = private_file(image, size);
    if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    auto module = std::make_shared<LoadedModule>();
    module->library = dlopen(path_of_its_own(file).c_str(), RTLD_NOW | RTLD_LOCAL);
    close(file);
    if (!module->library) {
        if (call.driver.settings.log) fprintf(stderr, "emulated driver: %s\n", dlerror());
        return CUDA_ERROR_INVALID_IMAGE;
    }
    module->code = static_cast<const Module *>(dlsym(module->library, "emucuda_module"));
    if (!module->code || module->code->version != kernel_abi_version) return CUDA_ERROR_INVALID_IMAGE;
    module->context = call.context->weak_from_this();
    list_kernels(*module);
    for (const Global *global = module->code->globals; global; global = global->next)
        call.driver.memory.watch(reinterpret_cast<uintptr_t>(global->address), global->size, MemoryKind::module_global,
                                 call.context, call.context->device, 0);
    *handle = call.driver.modules.add(module);
    return CUDA_SUCCESS;
}

CUresult load_file(const Call &call, CUmodule *handle, const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return CUDA_ERROR_FILE_NOT_FOUND;
    std::vector<char> bytes(size_t(std::max<off_t>(lseek(file, 0, SEEK_END), 0)));
    bool whole = pread(file, bytes.data(), bytes.size(), 0) == ssize_t(bytes.size());
    close(file);
    size_t size = whole && bytes.size() >= sizeof(Elf64_Ehdr) ? image_size(bytes.data()) : 0;
    return load(call, handle, bytes.data(), size <= bytes.size() ? size : 0);
}

CUresult find_function(const Call &call, CUfunction *handle, CUmodule module_handle, const char *name) {
    auto module = call.driver.modules.find(module_handle);
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    auto known = module->handles.find(name);
    if (known == module->handles.end()) {
        auto kernel = module->kernels.find(name);
        if (kernel == module->kernels.end()) return CUDA_ERROR_NOT_FOUND;
        auto function = std::make_shared<Function>(Function{module, kernel->second, name});
        known = module->handles.emplace(name, call.driver.functions.add(function)).first;
    }
    *handle = known->second;
    return CUDA_SUCCESS;
}

CUresult attribute(int *value, CUfunction_attribute which, const Function &function) {
    switch (which) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = function.most_threads(); break;
        case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = Driver::get().settings.capability; break;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = int(function.most_dynamic_shared); break;
        default:
            if (which < 0 || which >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
            *value = 0;
    }
    return CUDA_SUCCESS;
}

CUresult launch(const Call &call, CUfunction handle, Index3 grid, Index3 block, unsigned shared_bytes,
                CUstream stream_handle, void **parameters, void **extra) {
    auto task = std::make_shared<KernelTask>();
    task->function = call.driver.functions.find(handle);
    auto stream = call.stream(stream_handle);
    if (!task->function || !stream) return CUDA_ERROR_INVALID_HANDLE;
    // A kernel runs in the context of its module: the current one, which has to be the stream's too.
    if (task->function->module->context.lock().get() != call.context) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->context.lock().get() != call.context) return CUDA_ERROR_INVALID_HANDLE;
    task->grid = grid;
    task->block = block;
    task->shared_bytes = shared_bytes;
    if (CUresult wrong = task->check()) return wrong;
    if (CUresult wrong = task->take(parameters, extra)) return wrong;
    return call.submit(*stream, task);
}

}  // namespace

extern "C" {

CUresult cuModuleLoad(CUmodule *module, const char *path) {
    return enter(__func__, Needs::live_context, [&](const Call &call) { return load_file(call, module, path); });
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    return enter(__func__, Needs::live_context,
                 [&](const Call &call) { return load(call, module, image, image_size(image)); });
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned, CUjit_option *, void **) {
    return enter(__func__, Needs::live_context,
                 [&](const Call &call) { return load(call, module, image, image_size(image)); });
}

CUresult cuModuleUnload(CUmodule handle) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (CUresult refused = call.refuse_while_capturing()) return refused;
        auto module = call.driver.modules.remove(handle);
        if (!module) return CUDA_ERROR_INVALID_HANDLE;
        for (const auto &[name, function] : module->handles) call.driver.functions.remove(function);
        for (const Global *global = module->code->globals; global; global = global->next)
            call.driver.memory.unwatch(reinterpret_cast<uintptr_t>(global->address), MemoryKind::module_global);
        return CUDA_SUCCESS;
    });
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    return enter(__func__, Needs::live_context,
                 [&](const Call &call) { return find_function(call, function, module, name); });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes, CUmodule handle, const char *name) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto module = call.driver.modules.find(handle);
        if (!module) return CUDA_ERROR_INVALID_HANDLE;
        for (const Global *global = module->code->globals; global; global = global->next) {
            if (strcmp(global->name, name) != 0) continue;
            if (pointer) *pointer = reinterpret_cast<CUdeviceptr>(global->address);
            if (bytes) *bytes = global->size;
            return CUDA_SUCCESS;
        }
        return CUDA_ERROR_NOT_FOUND;
    });
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction handle) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto function = call.driver.functions.find(handle);
        return function ? attribute(value, which, *function) : CUDA_ERROR_INVALID_HANDLE;
    });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which, int value) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto function = call.driver.functions.find(handle);
        if (!function) return CUDA_ERROR_INVALID_HANDLE;
        if (which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
            return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        bool known = which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        if (!known || value < 0 || unsigned(value) > dynamic_shared_bytes) return CUDA_ERROR_INVALID_VALUE;
        function->most_dynamic_shared = unsigned(value);
        return CUDA_SUCCESS;
    });
}

CUresult cuFuncSetBlockShape(CUfunction handle, int x, int y, int z) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (!call.driver.functions.find(handle)) return CUDA_ERROR_INVALID_HANDLE;
        bool fits = x > 0 && y > 0 && z > 0 && x <= 1024 && y <= 1024 && z <= 64 && x * y * z <= 1024;
        return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        return call.driver.functions.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads, size_t shared_bytes) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        auto function = call.driver.functions.find(handle);
        if (!function) return CUDA_ERROR_INVALID_HANDLE;
        if (threads <= 0) return CUDA_ERROR_INVALID_VALUE;
        bool fits = threads <= function->most_threads() && shared_bytes <= function->most_dynamic_shared;
        *blocks = fits ? int(std::min<size_t>({32, size_t(2048 / threads), 233472 / (shared_bytes + 1024)})) : 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared_bytes, CUstream stream, void **parameters, void **extra) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        return launch(call, function, {gx, gy, gz}, {bx, by, bz}, shared_bytes, stream, parameters, extra);
    });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction function, void **parameters, void **extra) {
    return enter(__func__, Needs::live_context, [&](const Call &call) {
        if (c->numAttrs) return CUDA_ERROR_NOT_SUPPORTED;
        Index3 grid{c->gridDimX, c->gridDimY, c->gridDimZ}, block{c->blockDimX, c->blockDimY, c->blockDimZ};
        return launch(call, function, grid, block, c->sharedMemBytes, c->hStream, parameters, extra);
    });
}

}  // extern "C"

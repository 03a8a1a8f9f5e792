// Modules: host code in place of device code, loaded once for each context.
#pragma once
#include <cuda.h>

#include <map>
#include <memory>
#include <string>

#include "../device/kernel_abi.h"
#include "context.h"

namespace emucuda {

struct LoadedModule {
    std::weak_ptr<Context> context;
    void *library = nullptr;
    const Module *code = nullptr;
    std::map<std::string, const Kernel *> kernels;
    std::map<std::string, CUfunction> handles;

    ~LoadedModule();
};

struct Function {
    std::shared_ptr<LoadedModule> module;
    const Kernel *kernel;
    std::string name;
    unsigned most_dynamic_shared = 49152;

    int most_threads() const { return kernel->maximum_threads ? int(std::min(kernel->maximum_threads, 1024u)) : 1024; }
};

// Runs a grid, all of it or the blocks before `blocks`; the error that it ended with.
CUresult run_grid(Context &context, const Function &function, Index3 grid, Index3 block, unsigned shared_bytes,
                  const char *arguments, uint64_t blocks);

}  // namespace emucuda

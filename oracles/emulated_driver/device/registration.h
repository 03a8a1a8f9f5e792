// How a module tells the driver of its kernels and variables. The stand-in compiler writes one EMUCUDA_KERNEL after
// every __global__ function and one EMUCUDA_GLOBAL after every variable of the device.
#pragma once

namespace emucuda {

inline const Kernel *first_kernel __attribute__((visibility("hidden"))) = nullptr;
inline const Global *first_global __attribute__((visibility("hidden"))) = nullptr;

struct AddKernel {
    explicit AddKernel(Kernel &kernel) {
        kernel.next = first_kernel;
        first_kernel = &kernel;
    }
};

struct AddGlobal {
    explicit AddGlobal(Global &global) {
        global.next = first_global;
        first_global = &global;
    }
};

// Parameters lie one after another, each aligned as its type is: the layout of a packed argument buffer.
template <class... Types>
struct Layout {
    static constexpr int count = int(sizeof...(Types));
    Parameter parameters[count + 1] = {};
    uint32_t bytes = 0;

    constexpr Layout() {
        int i = 0;
        ((bytes = uint32_t((bytes + alignof(Types) - 1) / alignof(Types) * alignof(Types)),
          parameters[i++] = {bytes, uint32_t(sizeof(Types))}, bytes += uint32_t(sizeof(Types))),
         ...);
    }
};

template <class... Types>
inline constexpr Layout<Types...> layout{};

template <int... indices>
struct Indices {};
template <int n, int... indices>
struct MakeIndices : MakeIndices<n - 1, n - 1, indices...> {};
template <int... indices>
struct MakeIndices<0, indices...> {
    using Result = Indices<indices...>;
};

template <class Type>
inline Type load(const char *from) {
    alignas(Type) char bytes[sizeof(Type)];
    memcpy(bytes, from, sizeof(Type));
    return *reinterpret_cast<Type *>(bytes);
}

template <auto function>
struct Entry;

template <class... Types, void (*function)(Types...)>
struct Entry<function> {
    // noexcept: an exception that left a kernel would unwind a stack that has no caller.
    static void thread(const char *arguments) noexcept {
        run(arguments, typename MakeIndices<int(sizeof...(Types))>::Result{});
    }
    static constexpr Kernel kernel(uint32_t maximum_threads) {
        static_assert(layout<Types...>.bytes <= most_parameter_bytes, "a kernel takes at most 4096 bytes of parameters");
        return {nullptr, reinterpret_cast<const void *>(function), layout<Types...>.bytes, uint32_t(sizeof...(Types)),
                layout<Types...>.parameters, maximum_threads, thread};
    }

  private:
    template <int... indices>
    static void run(const char *arguments, Indices<indices...>) {
        (void)arguments;
        function(load<Types>(arguments + layout<Types...>.parameters[indices].offset)...);
    }
};

}  // namespace emucuda

#define EMUCUDA_JOIN_(a, b) a##b
#define EMUCUDA_JOIN(a, b) EMUCUDA_JOIN_(a, b)
#define EMUCUDA_KERNEL_(number, maximum_threads, ...)                                                              \
    static emucuda::Kernel EMUCUDA_JOIN(emucuda_kernel_, number) =                                                 \
        emucuda::Entry<static_cast<decltype(&__VA_ARGS__)>(&__VA_ARGS__)>::kernel(maximum_threads);                \
    static const emucuda::AddKernel EMUCUDA_JOIN(emucuda_add_, number)(EMUCUDA_JOIN(emucuda_kernel_, number));
#define EMUCUDA_KERNEL(maximum_threads, ...) EMUCUDA_KERNEL_(__COUNTER__, maximum_threads, __VA_ARGS__)
#define EMUCUDA_GLOBAL_(number, name)                                                                              \
    static emucuda::Global EMUCUDA_JOIN(emucuda_global_, number) = {nullptr, &name, sizeof name, #name};           \
    static const emucuda::AddGlobal EMUCUDA_JOIN(emucuda_add_, number)(EMUCUDA_JOIN(emucuda_global_, number));
#define EMUCUDA_GLOBAL(name) EMUCUDA_GLOBAL_(__COUNTER__, name)
// Ends every module.
#define EMUCUDA_MODULE                                                                                             \
    static emucuda::Module emucuda_module_made();                                                                  \
    extern "C" {                                                                                                   \
    __attribute__((visibility("default"), used)) emucuda::Module emucuda_module = emucuda_module_made();           \
    }                                                                                                              \
    static emucuda::Module emucuda_module_made() {                                                                 \
        return {emucuda::kernel_abi_version, emucuda::first_kernel, emucuda::first_global, &emucuda::built_ins,    \
                &emucuda::services, emucuda::dynamic_shared};                                                      \
    }

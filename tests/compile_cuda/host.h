/* What emitted kernels name, for a host compiler: blocks one after the other, the threads of one taking turns, both in
 * the order that host_order says. Kernels without barriers run thread after thread. Not CUDA: no speed, no races but
 * those that an order shows, the host's mathematics. */
#pragma once
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define memcpy __builtin_memcpy
struct host_dim { unsigned x, y, z; };
extern host_dim threadIdx, blockIdx;
extern "C" void __syncthreads();
extern "C" void __syncwarp();
unsigned long long host_exchange(unsigned long long value, unsigned lane);
void host_launch(host_dim grid, host_dim block, bool waits, void (*body)(const unsigned long long *), const unsigned long long *p);
unsigned host_lane();
extern "C" void host_order(int which);
template <class T> T __shfl_down_sync(unsigned, T value, unsigned step) {
    unsigned long long code = 0;
    memcpy(&code, &value, sizeof value);
    code = host_exchange(code, host_lane() + step);
    memcpy(&value, &code, sizeof value);
    return value;
}
#define HOST_FUNCTION(name) \
    static inline float name##f(float x) { return __builtin_##name##f(x); } \
    static inline double name(double x) { return __builtin_##name(x); }
#define HOST_FUNCTION2(name) \
    static inline float name##f(float x, float y) { return __builtin_##name##f(x, y); } \
    static inline double name(double x, double y) { return __builtin_##name(x, y); }
HOST_FUNCTION(exp) HOST_FUNCTION(exp2) HOST_FUNCTION(log) HOST_FUNCTION(log2) HOST_FUNCTION(sin) HOST_FUNCTION(cos)
HOST_FUNCTION(sqrt) HOST_FUNCTION(trunc) HOST_FUNCTION2(fmod) HOST_FUNCTION2(pow)
static inline float tanhf(float x) { return (float)__builtin_tanh(x); }
static inline double tanh(double x) { return (double)__builtin_tanhl(x); }
static inline float rsqrtf(float x) { return (float)(1.0 / __builtin_sqrt(x)); }
static inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
static inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
template <int... I> struct host_places {};
template <int N, int... I> struct host_count : host_count<N - 1, N - 1, I...> {};
template <int... I> struct host_count<0, I...> { typedef host_places<I...> type; };
template <class... A, int... I> void host_call(void (*kernel)(A...), const unsigned long long *p, host_places<I...>) {
    kernel((A)p[I]...);
}
template <class... A> void host_call(void (*kernel)(A...), const unsigned long long *p) {
    host_call(kernel, p, typename host_count<sizeof...(A)>::type());
}
/* The entry of a kernel: 6 numbers for grid and block, then its parameters. */
#define HOST_KERNEL(name, waits) \
    extern "C" void run_##name(const unsigned *d, const unsigned long long *p) { \
        host_launch({d[0], d[1], d[2]}, {d[3], d[4], d[5]}, waits, \
                    [](const unsigned long long *q) { host_call(name, q); }, p); \
    }

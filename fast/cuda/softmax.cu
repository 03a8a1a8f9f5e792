/* softmax along an axis: exp(x - max) over the sum of these, in float for floats of 32 bits and less, else in double.
 *
 * A line with a NaN or +inf, or of -inf alone, has a NaN in its sum and is NaN throughout; beside a finite element,
 * -inf gives exp(-inf) = +0. Every element is read before it is written, so a destination identical
 * to the source is computed right.
 *
 * Defines: CF_DTYPE; CF_KEPT, the capacity of the walk over lines; CF_WIDE; CF_HELD where the block's lines fit dynamic
 * shared memory, extent elements for each, so that a line is read once.
 */
#include "computing.cuh"
#include "lanes.cuh"
#include "walk.cuh"

#define CF_THREADS 256

struct cf_softmax {
    unsigned char *dst;
    const unsigned char *src;
    long long lines, extent, dst_start, src_start, dst_step, src_step;
    cf_walk<CF_KEPT> kept; /* of dst and src */
};

CF_DEVICE float cf_exponential(float x) { return expf(x); }
CF_DEVICE double cf_exponential(double x) { return exp(x); }

/* The greater one; beside a NaN either, since the sum will be NaN. */
CF_DEVICE cf_compute cf_greater(cf_compute a, cf_compute b) { return b > a ? b : a; }

CF_DEVICE cf_compute cf_nothing() { return -(cf_compute)cf_real_of(0x7f800000u); }

/* The values along x joined, for all of them. `shared` has one for each warp. */
template <bool GREATEST>
CF_DEVICE cf_compute cf_across(cf_compute value, cf_compute *shared) {
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2) {
        cf_compute other = cf_from_above(value, offset);
        value = GREATEST ? cf_greater(value, other) : value + other;
    }
    if (blockDim.x == 32) return cf_from_lane(value, 0);
    int warps = (int)blockDim.x / 32;
    cf_compute *row = shared + (int)threadIdx.y * warps;
    __syncthreads(); /* the row is free of what was joined before */
    if (threadIdx.x % 32 == 0) row[threadIdx.x / 32] = value;
    __syncthreads();
    value = row[0];
    for (int k = 1; k < warps; k++) value = GREATEST ? cf_greater(value, row[k]) : value + row[k];
    return value;
}

/* The threads along x share a line, the threads along y have one each. */
extern "C" __global__ void __launch_bounds__(CF_THREADS) cf_softmax_lines(const __grid_constant__ cf_softmax call) {
    __shared__ cf_compute shared[CF_THREADS / 32];
#ifdef CF_HELD
    extern __shared__ double cf_lines[];
    cf_compute *held = (cf_compute *)cf_lines + (long long)threadIdx.y * call.extent;
#endif
    long long step = (long long)gridDim.x * blockDim.y;
    for (long long base = (long long)blockIdx.x * blockDim.y; base < call.lines; base += step) {
        long long line = base + threadIdx.y, extent = line < call.lines ? call.extent : 0;
        cf_place at = cf_place_of(call.kept, (cf_index)(line < call.lines ? line : 0));
        long long target = call.dst_start + at.here, source = call.src_start + at.there;
        cf_compute greatest = cf_nothing(), total = 0;
        for (long long k = threadIdx.x; k < extent; k += blockDim.x) {
            cf_compute x = cf_load_compute(call.src, source + k * call.src_step);
#ifdef CF_HELD
            held[k] = x;
#endif
            greatest = cf_greater(greatest, x);
        }
        greatest = cf_across<true>(greatest, shared);
        for (long long k = threadIdx.x; k < extent; k += blockDim.x) {
#ifdef CF_HELD
            total += held[k] = cf_exponential(held[k] - greatest);
#else
            total += cf_exponential(cf_load_compute(call.src, source + k * call.src_step) - greatest);
#endif
        }
        total = cf_across<false>(total, shared);
        for (long long k = threadIdx.x; k < extent; k += blockDim.x) {
#ifdef CF_HELD
            cf_compute power = held[k];
#else
            cf_compute power = cf_exponential(cf_load_compute(call.src, source + k * call.src_step) - greatest);
#endif
            cf_store_compute(call.dst, target + k * call.dst_step, power / total);
        }
    }
}

/* A thread for each line: where neighbouring lines are nearer than neighbours on a line, or lines are short. */
extern "C" __global__ void __launch_bounds__(CF_THREADS) cf_softmax_columns(const __grid_constant__ cf_softmax call) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long line = (long long)blockIdx.x * blockDim.x + threadIdx.x; line < call.lines; line += step) {
        cf_place at = cf_place_of(call.kept, (cf_index)line);
        long long target = call.dst_start + at.here, source = call.src_start + at.there;
        cf_compute greatest = cf_nothing(), total = 0;
        for (long long k = 0; k < call.extent; k++) {
            greatest = cf_greater(greatest, cf_load_compute(call.src, source + k * call.src_step));
        }
        for (long long k = 0; k < call.extent; k++) {
            total += cf_exponential(cf_load_compute(call.src, source + k * call.src_step) - greatest);
        }
        for (long long k = 0; k < call.extent; k++) {
            cf_compute power = cf_exponential(cf_load_compute(call.src, source + k * call.src_step) - greatest);
            cf_store_compute(call.dst, target + k * call.dst_step, power / total);
        }
    }
}

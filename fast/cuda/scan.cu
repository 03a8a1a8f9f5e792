/* cumsum: the inclusive running sum along an axis, kept in the computing format, each prefix rounded once.
 *
 * Every prefix is the sum of a tree over exactly its own terms. Lines are cut into `chunk` elements where there are few
 * and long ones: their totals first, then what comes before each chunk, then the chunks. Every element is read before
 * it is written, so a destination identical to the source is computed right.
 *
 * Defines: CF_DTYPE; CF_KEPT, the capacity of the walk over lines; CF_WIDE.
 */
#include "computing.cuh"
#include "lanes.cuh"
#include "walk.cuh"

#define CF_THREADS 256
#define CF_ROUNDS 4

struct cf_scan {
    unsigned char *dst;
    const unsigned char *src;
    cf_compute *totals; /* [chunk][line] */
    long long lines, extent, chunk, dst_start, src_start, dst_step, src_step;
    cf_walk<CF_KEPT> kept; /* of dst and src */
};

CF_DEVICE cf_compute cf_scan_warp(cf_compute value, int lane) {
#pragma unroll
    for (unsigned offset = 1; offset < 32; offset *= 2) {
        cf_compute below = cf_from_below(value, offset);
        if (lane >= (int)offset) value = cf_sum(below, value);
    }
    return value;
}

/* What comes before this thread's warp on its line, and all of it; in `total` the warp's own sum. */
struct cf_before {
    cf_compute warps, line;
};

CF_DEVICE cf_before cf_warps_before(cf_compute total, cf_compute *shared) {
    int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32;
    cf_before before = {cf_compute_of(0), total};
    if (warps == 1) return before;
    cf_compute *row = shared + (int)threadIdx.y * warps;
    __syncthreads(); /* the row is free of what the round before left */
    if (threadIdx.x % 32 == 0) row[warp] = total;
    __syncthreads();
    before.line = row[0];
    for (int k = 1; k < warps; k++) {
        if (k == warp) before.warps = before.line;
        before.line = cf_sum(before.line, row[k]);
    }
    return before;
}

/* CF_ROUNDS times 32 elements of a warp, from `first` on, of which those below `end` are there: running sums of its
 * own. Answers the warp's sum. */
CF_DEVICE cf_compute cf_scan_rounds(const cf_scan &call, long long source, long long first,
                                                     long long end, cf_compute (&values)[CF_ROUNDS]) {
    int lane = (int)threadIdx.x % 32;
    cf_compute running = cf_compute_of(0);
#pragma unroll
    for (int k = 0; k < CF_ROUNDS; k++) {
        long long at = first + k * 32 + lane;
        values[k] = at < end ? cf_load_compute(call.src, source + at * call.src_step) : cf_compute_of(0);
    }
#pragma unroll
    for (int k = 0; k < CF_ROUNDS; k++) {
        values[k] = cf_sum(running, cf_scan_warp(values[k], lane));
        running = cf_from_lane(values[k], 31);
    }
    return running;
}

/* The threads along x scan a line, the threads along y have one each; blockIdx.y is the chunk. */
extern "C" __global__ void __launch_bounds__(CF_THREADS) cf_scan_lines(const __grid_constant__ cf_scan call) {
    __shared__ cf_compute shared[CF_THREADS / 32];
    long long begin = (long long)blockIdx.y * call.chunk, tile = (long long)blockDim.x * CF_ROUNDS;
    long long whole = begin + call.chunk < call.extent ? begin + call.chunk : call.extent;
    long long step = (long long)gridDim.x * blockDim.y;
    for (long long base = (long long)blockIdx.x * blockDim.y; base < call.lines; base += step) {
        long long line = base + threadIdx.y, end = line < call.lines ? whole : begin;
        cf_place at = cf_place_of(call.kept, (cf_index)(line < call.lines ? line : 0));
        long long target = call.dst_start + at.here, source = call.src_start + at.there;
        cf_compute carry = cf_compute_of(0);
        if (gridDim.y > 1 && line < call.lines) carry = call.totals[(long long)blockIdx.y * call.lines + line];
        for (long long done = begin; done < whole; done += tile) {
            cf_compute values[CF_ROUNDS];
            long long first = done + (long long)(threadIdx.x / 32) * 32 * CF_ROUNDS;
            cf_before before = cf_warps_before(cf_scan_rounds(call, source, first, end, values), shared);
            cf_compute offset = cf_sum(carry, before.warps);
#pragma unroll
            for (int k = 0; k < CF_ROUNDS; k++) {
                long long to = first + k * 32 + threadIdx.x % 32;
                if (to < end) cf_store_compute(call.dst, target + to * call.dst_step, cf_sum(offset, values[k]));
            }
            carry = cf_sum(carry, before.line);
        }
    }
}

/* The totals of all chunks but the last: totals[chunk + 1] is the sum of chunk `chunk`. A block for each line. */
extern "C" __global__ void __launch_bounds__(CF_THREADS) cf_scan_totals(const __grid_constant__ cf_scan call) {
    __shared__ cf_compute shared[CF_THREADS / 32];
    long long begin = (long long)blockIdx.y * call.chunk, end = begin + call.chunk;
    for (long long line = blockIdx.x; line < call.lines; line += gridDim.x) {
        long long source = call.src_start + cf_place_of(call.kept, (cf_index)line).there;
        cf_compute sum = cf_compute_of(0);
        for (long long k = begin + threadIdx.x; k < end; k += blockDim.x) {
            sum = cf_sum(sum, cf_load_compute(call.src, source + k * call.src_step));
        }
#pragma unroll
        for (unsigned offset = 16; offset > 0; offset /= 2) sum = cf_sum(sum, cf_from_above(sum, offset));
        sum = cf_warps_before(sum, shared).line;
        if (threadIdx.x == 0) call.totals[((long long)blockIdx.y + 1) * call.lines + line] = sum;
    }
}

/* Totals to what comes before each chunk, by a warp for each line; `chunk` says how many chunks there are. */
extern "C" __global__ void __launch_bounds__(CF_THREADS) cf_scan_chunks(const __grid_constant__ cf_scan call) {
    int lane = (int)threadIdx.x;
    long long step = (long long)gridDim.x * blockDim.y;
    for (long long line = (long long)blockIdx.x * blockDim.y + threadIdx.y; line < call.lines; line += step) {
        cf_compute carry = cf_compute_of(0);
        for (long long base = 0; base < call.chunk; base += 32) {
            long long k = base + lane;
            bool there = k > 0 && k < call.chunk;
            cf_compute value = there ? call.totals[k * call.lines + line] : cf_compute_of(0);
            value = cf_sum(carry, cf_scan_warp(value, lane));
            if (k < call.chunk) call.totals[k * call.lines + line] = value;
            carry = cf_from_lane(value, 31);
        }
    }
}

/* A thread for each line: where neighbouring lines are nearer than neighbours on a line, or lines are short. */
extern "C" __global__ void __launch_bounds__(CF_THREADS) cf_scan_columns(const __grid_constant__ cf_scan call) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long line = (long long)blockIdx.x * blockDim.x + threadIdx.x; line < call.lines; line += step) {
        cf_place at = cf_place_of(call.kept, (cf_index)line);
        long long target = call.dst_start + at.here, source = call.src_start + at.there;
        cf_compute sum = cf_compute_of(0);
#pragma unroll 4
        for (long long k = 0; k < call.extent; k++) {
            sum = cf_sum(sum, cf_load_compute(call.src, source + k * call.src_step));
            cf_store_compute(call.dst, target + k * call.dst_step, sum);
        }
    }
}

/* The walks of reductions, of whatever is joined.
 *
 * The file that includes this gives
 *     cf_part                                      what terms are joined in, a multiple of 4 bytes
 *     cf_part cf_no_part()                         the part of no term
 *     cf_part cf_part_of(code, at)                 the part of one term, the at-th of its result
 *     cf_part cf_join(cf_part, cf_part)
 *     void cf_finish(dst, position, part, terms)   the result
 * and the defines CF_DTYPE, CF_KEPT and CF_WALKED, the capacities of the two walks; CF_NEIGHBOURS where the terms of a
 * result, and of a split, are neighbours from a 16-byte boundary on. Blocks are x by y threads, x a multiple of 32;
 * blockIdx.y is the split: `chunk` terms of every result, joined to a part each where there are several. The order of
 * joining depends on the launch and the extents alone.
 */
#ifndef COUNTERFOIL_REDUCTION_CUH
#define COUNTERFOIL_REDUCTION_CUH

#include "lanes.cuh"
#include "numbers.cuh"
#include "walk.cuh"

#define CF_THREADS 256

struct cf_reduction {
    unsigned char *dst;
    const unsigned char *src;
    cf_part *parts; /* [split][result] */
    long long results, terms, chunk, dst_start, src_start;
    cf_walk<CF_KEPT> kept;     /* of dst and src */
    cf_walk<CF_WALKED> walked; /* of src */
};

CF_DEVICE cf_part cf_term(const cf_reduction &call, long long start, cf_index at) {
    return cf_part_of(cf_load<CF_DTYPE>(call.src, start + cf_place_of(call.walked, at).here), at);
}

/* The part of every `step`-th of the terms from `first` below `end`, of the result that begins at `start`: four at a
 * time, so that four loads are under way. */
CF_DEVICE cf_part cf_fold(const cf_reduction &call, long long start, cf_index first, cf_index end, cf_index step) {
    cf_part parts[4] = {cf_no_part(), cf_no_part(), cf_no_part(), cf_no_part()};
    cf_index at = first;
    for (; at < end && end - at > 3 * step; at += 4 * step) {
#pragma unroll
        for (int k = 0; k < 4; k++) parts[k] = cf_join(parts[k], cf_term(call, start, at + (cf_index)k * step));
    }
    for (; at < end; at += step) parts[0] = cf_join(parts[0], cf_term(call, start, at));
    return cf_join(cf_join(parts[0], parts[1]), cf_join(parts[2], parts[3]));
}

#ifdef CF_NEIGHBOURS

#define CF_NEAR (16 / (int)sizeof(cf_code<CF_DTYPE>))

struct __align__(16) cf_group {
    cf_code<CF_DTYPE> codes[CF_NEAR];
};

CF_DEVICE cf_part cf_join_group(cf_part part, const cf_group &group, cf_index at) {
#pragma unroll
    for (int k = 0; k < CF_NEAR; k++) part = cf_join(part, cf_part_of(group.codes[k], at + k));
    return part;
}

/* The same for terms that are neighbours in memory, `begin` on 16 bytes: by groups of 16 bytes, two at a time, then
 * what is left. */
CF_DEVICE cf_part cf_fold_groups(const cf_reduction &call, long long start, cf_index begin, cf_index end) {
    const cf_group *groups = (const cf_group *)((const cf_code<CF_DTYPE> *)call.src + start + begin);
    cf_index count = begin < end ? (end - begin) / CF_NEAR : 0, step = blockDim.x, at = threadIdx.x;
    cf_part near = cf_no_part(), far = cf_no_part();
    for (; at < count && count - at > step; at += 2 * step) {
        cf_group first = groups[at], second = groups[at + step];
        near = cf_join_group(near, first, begin + at * CF_NEAR);
        far = cf_join_group(far, second, begin + (at + step) * CF_NEAR);
    }
    if (at < count) near = cf_join_group(near, groups[at], begin + at * CF_NEAR);
    return cf_join(cf_join(near, far), cf_fold(call, start, begin + count * CF_NEAR + threadIdx.x, end, step));
}

#endif

/* The terms of this block's split. */
CF_DEVICE cf_index cf_first_term(const cf_reduction &call) {
    return (cf_index)((long long)blockIdx.y * call.chunk);
}

CF_DEVICE cf_index cf_end_term(const cf_reduction &call) {
    long long end = ((long long)blockIdx.y + 1) * call.chunk;
    return (cf_index)(end < call.terms ? end : call.terms);
}

CF_DEVICE void cf_deliver(const cf_reduction &call, long long result, cf_part part) {
    if (gridDim.y > 1) {
        call.parts[(long long)blockIdx.y * call.results + result] = part;
    } else {
        long long position = call.dst_start + cf_place_of(call.kept, (cf_index)result).here;
        cf_finish(call.dst, position, part, call.terms);
    }
}

CF_DEVICE cf_part cf_join_warp(cf_part part) {
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2) part = cf_join(part, cf_from_above(part, offset));
    return part;
}

/* The parts along x joined, for x = 0. `shared` has a part for each warp. */
CF_DEVICE cf_part cf_join_across(cf_part part, cf_part *shared) {
    part = cf_join_warp(part);
    if (blockDim.x == 32) return part;
    int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    cf_part *row = shared + (int)threadIdx.y * warps;
    __syncthreads(); /* the row is free of what an earlier result left */
    if (lane == 0) row[warp] = part;
    __syncthreads();
    if (warp > 0) return part;
    return cf_join_warp(lane < warps ? row[lane] : cf_no_part());
}

/* By rows: the threads along x share the terms of a result. */
extern "C" __global__ void __launch_bounds__(CF_THREADS) cf_reduce_rows(const __grid_constant__ cf_reduction call) {
    __shared__ cf_part storage[CF_THREADS / 32];
    long long step = (long long)gridDim.x * blockDim.y;
    for (long long base = (long long)blockIdx.x * blockDim.y; base < call.results; base += step) {
        long long result = base + threadIdx.y;
        cf_part part = cf_no_part();
        if (result < call.results) {
            long long start = call.src_start + cf_place_of(call.kept, (cf_index)result).there;
#ifdef CF_NEIGHBOURS
            part = cf_fold_groups(call, start, cf_first_term(call), cf_end_term(call));
#else
            part = cf_fold(call, start, cf_first_term(call) + threadIdx.x, cf_end_term(call), blockDim.x);
#endif
        }
        part = cf_join_across(part, storage);
        if (threadIdx.x == 0 && result < call.results) cf_deliver(call, result, part);
    }
}

/* By columns: each thread along x has a result, the threads along y share its terms. */
extern "C" __global__ void __launch_bounds__(CF_THREADS) cf_reduce_columns(const __grid_constant__ cf_reduction call) {
    __shared__ cf_part storage[CF_THREADS];
    cf_part *shared = storage;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long base = (long long)blockIdx.x * blockDim.x; base < call.results; base += step) {
        long long result = base + threadIdx.x;
        cf_part part = cf_no_part();
        if (result < call.results) {
            long long start = call.src_start + cf_place_of(call.kept, (cf_index)result).there;
            part = cf_fold(call, start, cf_first_term(call) + threadIdx.y, cf_end_term(call), blockDim.y);
        }
        if (blockDim.y > 1) {
            __syncthreads();
            shared[threadIdx.y * blockDim.x + threadIdx.x] = part;
            __syncthreads();
            for (unsigned y = 1; threadIdx.y == 0 && y < blockDim.y; y++) {
                part = cf_join(part, shared[y * blockDim.x + threadIdx.x]);
            }
        }
        if (threadIdx.y == 0 && result < call.results) cf_deliver(call, result, part);
    }
}

/* The parts of the splits to results: a warp for each result; `chunk` says how many splits there are. */
extern "C" __global__ void __launch_bounds__(CF_THREADS) cf_reduce_parts(const __grid_constant__ cf_reduction call) {
    long long step = (long long)gridDim.x * blockDim.y;
    for (long long result = (long long)blockIdx.x * blockDim.y + threadIdx.y; result < call.results; result += step) {
        cf_part part = cf_no_part();
        for (long long split = threadIdx.x; split < call.chunk; split += 32) {
            part = cf_join(part, call.parts[split * call.results + result]);
        }
        part = cf_join_warp(part);
        if (threadIdx.x == 0) {
            long long position = call.dst_start + cf_place_of(call.kept, (cf_index)result).here;
            cf_finish(call.dst, position, part, call.terms);
        }
    }
}

#endif

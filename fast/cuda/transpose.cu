/* Copies between layouts whose nearest neighbours lie along different axes: tiles are turned in shared memory, so that
 * both sides are read and written along their own neighbours.
 *
 * Defines: CF_BYTES of an element, 1, 2, 4, 8 or 16; CF_KEPT, the capacity of the walk over the other axes; CF_WIDE.
 * Blocks are 32 by 8 threads.
 */
#include "walk.cuh"

/* A tile's side, and its line in shared memory: padded, so that neighbours of a column lie in other banks. */
enum { CF_SIDE = CF_BYTES <= 2 ? 64 : 32, CF_LINE = CF_SIDE + (CF_BYTES < 4 ? 4 / CF_BYTES : 1) };

#if CF_BYTES == 1
typedef unsigned char cf_cell;
#elif CF_BYTES == 2
typedef unsigned short cf_cell;
#elif CF_BYTES == 4
typedef unsigned cf_cell;
#elif CF_BYTES == 8
typedef unsigned long long cf_cell;
#else
typedef ulonglong2 cf_cell;
#endif

/* Lines: the axis along which dst has its neighbours; columns: that of src. */
struct cf_transpose {
    unsigned char *dst;
    const unsigned char *src;
    long long lines, columns, planes, dst_start, src_start, dst_stride, src_stride;
    long long tiles_along; /* tiles along the lines */
    cf_walk<CF_KEPT> kept; /* the planes, of dst and src */
};

extern "C" __global__ void __launch_bounds__(256) cf_transpose_tiles(const __grid_constant__ cf_transpose call) {
    __shared__ cf_cell tile[CF_SIDE][CF_LINE];
    long long line = (long long)(blockIdx.x % (unsigned)call.tiles_along) * CF_SIDE;
    long long column = (long long)(blockIdx.x / (unsigned)call.tiles_along) * CF_SIDE;
    for (long long plane = blockIdx.y; plane < call.planes; plane += gridDim.y) {
        cf_place at = cf_place_of(call.kept, (cf_index)plane);
        const cf_cell *src = (const cf_cell *)call.src + call.src_start + at.there + line * call.src_stride + column;
        cf_cell *dst = (cf_cell *)call.dst + call.dst_start + at.here + column * call.dst_stride + line;
#pragma unroll
        for (int y = (int)threadIdx.y; y < CF_SIDE; y += 8) {
#pragma unroll
            for (int x = (int)threadIdx.x; x < CF_SIDE; x += 32) {
                if (line + y < call.lines && column + x < call.columns) tile[y][x] = src[y * call.src_stride + x];
            }
        }
        __syncthreads();
#pragma unroll
        for (int y = (int)threadIdx.y; y < CF_SIDE; y += 8) {
#pragma unroll
            for (int x = (int)threadIdx.x; x < CF_SIDE; x += 32) {
                if (line + x < call.lines && column + y < call.columns) dst[y * call.dst_stride + x] = tile[x][y];
            }
        }
        __syncthreads();
    }
}

/* matmul: products over the last two axes, in tiles, in the computing format.
 *
 * A block computes CF_TILE_M by CF_TILE_N results, CF_TILE_K terms at a time: panels of both operands lie in shared
 * memory, the next ones are fetched into registers meanwhile, and every thread joins CF_REG_M by CF_REG_N results. A
 * product and its addition are one fma for floats: one rounding less than N3 allows. blockIdx.y is the matrix of the
 * batch, blockIdx.z the split: `chunk` of the terms, the sums of which are added up by cf_matmul_parts in order.
 *
 * Defines: CF_DTYPE; CF_TILE_M, CF_TILE_N, CF_TILE_K, CF_REG_M, CF_REG_N; CF_A_TERMS and CF_B_TERMS, 1 where neighbours
 * in memory are neighbours in the terms; CF_A_VECTOR and CF_B_VECTOR, 1 where groups of four neighbours are aligned;
 * CF_BATCH, the capacity of the walks over the batch; CF_SPLIT where there are several splits; CF_WIDE.
 */
#include "computing.cuh"
#include "walk.cuh"

#define CF_ACROSS (CF_TILE_N / CF_REG_N)
#define CF_THREADS (CF_ACROSS * (CF_TILE_M / CF_REG_M))
#define CF_GROUP 4
#define CF_PAD 4

struct cf_matmul {
    unsigned char *dst;
    const unsigned char *a, *b;
    cf_compute *parts; /* [split][matrix][i][j] */
    long long m, n, k, chunk, matrices, dst_start, a_start, b_start;
    long long dst_row, dst_column, a_row, a_column, b_row, b_column;
    long long tiles_m, tiles_n;
    cf_walk<CF_BATCH> batch;   /* of dst and a */
    cf_walk<CF_BATCH> batch_b; /* of b */
};

CF_DEVICE float cf_accumulate(float a, float b, float sum) { return fmaf(a, b, sum); }
CF_DEVICE double cf_accumulate(double a, double b, double sum) { return fma(a, b, sum); }
CF_DEVICE cf_u32 cf_accumulate(cf_u32 a, cf_u32 b, cf_u32 sum) { return a * b + sum; }
CF_DEVICE cf_u64 cf_accumulate(cf_u64 a, cf_u64 b, cf_u64 sum) { return a * b + sum; }

#define CF_GROUP_BYTES (CF_GROUP * (int)sizeof(cf_code<CF_DTYPE>))

struct __align__(CF_GROUP_BYTES < 16 ? CF_GROUP_BYTES : 16) cf_group {
    cf_code<CF_DTYPE> codes[CF_GROUP];
};

/* A thread's share of CF_TILE_K terms of LINES lines (rows of a, columns of b): a group of four neighbours. TERMS:
 * they are terms, else lines. VECTOR: they are read at once. */
template <int LINES, bool TERMS, bool VECTOR> struct cf_panel {
    enum { ACROSS = (TERMS ? CF_TILE_K : LINES) / CF_GROUP, GROUPS = LINES * CF_TILE_K / CF_GROUP };
    static_assert(GROUPS <= CF_THREADS, "a group for each thread");
    typedef cf_compute cf_shared[CF_TILE_K][LINES + CF_PAD];

    long long at;    /* position of the group's first element */
    int line, term;  /* of that element in the panel */
    int lines;       /* from it on that are there */
    cf_compute values[CF_GROUP];

    /* The first panel: `along` and `across` are the strides to the next term and to the next line, `left` the lines
     * that are there. */
    CF_DEVICE void begin(long long first, long long along, long long across, long long left) {
        int group = (int)threadIdx.x;
        line = TERMS ? group / ACROSS : group % ACROSS * CF_GROUP;
        term = TERMS ? group % ACROSS * CF_GROUP : group / ACROSS;
        lines = group < GROUPS ? (int)(left < LINES ? left : LINES) - line : 0;
        at = first + line * across + term * along;
    }

    /* The group into registers, `left` terms being there; then on to the next panel. */
    CF_DEVICE void fetch(const unsigned char *data, long long along, long long across, long long left) {
        int terms = (int)(left < CF_TILE_K ? left : CF_TILE_K) - term;
        int count = lines > 0 && terms > 0 ? (TERMS ? terms : lines) : 0;
        if (VECTOR && count >= CF_GROUP) {
            cf_group group = *(const cf_group *)(data + at * (long long)sizeof(cf_code<CF_DTYPE>));
#pragma unroll
            for (int e = 0; e < CF_GROUP; e++) values[e] = cf_compute_of_code(group.codes[e]);
        } else {
#pragma unroll
            for (int e = 0; e < CF_GROUP; e++) {
                long long position = at + e * (TERMS ? along : across);
                values[e] = e < count ? cf_load_compute(data, position) : cf_compute_of(0);
            }
        }
        at += CF_TILE_K * along;
    }

    CF_DEVICE void share(cf_shared &shared) const {
        if (GROUPS < CF_THREADS && (int)threadIdx.x >= GROUPS) return;
#pragma unroll
        for (int e = 0; e < CF_GROUP; e++) shared[TERMS ? term + e : term][TERMS ? line : line + e] = values[e];
    }
};

/* A thread's results: groups of neighbours, spread over the tile so that a warp reads shared memory without conflict,
 * a group at a time. */
template <int TILE, int REG> struct cf_spread {
    enum { MOST = 16 / (int)sizeof(cf_compute), NEAR = REG < MOST ? REG : MOST, APART = TILE / (REG / NEAR) };

    struct __align__(NEAR * (int)sizeof(cf_compute)) cf_near {
        cf_compute values[NEAR];
    };

    CF_DEVICE static int at(int thread, int r) { return r / NEAR * APART + thread * NEAR + r % NEAR; }

    CF_DEVICE static void load(const cf_compute *line, int thread, cf_compute (&into)[REG]) {
#pragma unroll
        for (int r = 0; r < REG; r += NEAR) {
            cf_near near = *(const cf_near *)(line + at(thread, r));
#pragma unroll
            for (int e = 0; e < NEAR; e++) into[r + e] = near.values[e];
        }
    }
};

typedef cf_panel<CF_TILE_M, CF_A_TERMS != 0, CF_A_VECTOR != 0> cf_panel_a;
typedef cf_panel<CF_TILE_N, CF_B_TERMS != 0, CF_B_VECTOR != 0> cf_panel_b;
typedef cf_spread<CF_TILE_M, CF_REG_M> cf_rows;
typedef cf_spread<CF_TILE_N, CF_REG_N> cf_columns;

CF_DEVICE void cf_multiply(const cf_panel_a::cf_shared &a, const cf_panel_b::cf_shared &b, int down,
                                            int across, cf_compute (&sums)[CF_REG_M][CF_REG_N]) {
#pragma unroll 2 /* more take registers that the sums need */
    for (int term = 0; term < CF_TILE_K; term++) {
        cf_compute left[CF_REG_M], right[CF_REG_N];
        cf_rows::load(a[term], down, left);
        cf_columns::load(b[term], across, right);
#pragma unroll
        for (int i = 0; i < CF_REG_M; i++) {
#pragma unroll
            for (int j = 0; j < CF_REG_N; j++) sums[i][j] = cf_accumulate(left[i], right[j], sums[i][j]);
        }
    }
}

struct cf_tile {
    long long row, column, matrix, target; /* target: position in dst of the matrix */
};

/* Results of a tile: to dst, or to the split's parts. */
CF_DEVICE void cf_deliver(const cf_matmul &call, const cf_tile &tile, int down, int across,
                          const cf_compute (&sums)[CF_REG_M][CF_REG_N]) {
#ifdef CF_SPLIT
    cf_compute *parts = call.parts + ((long long)blockIdx.z * call.matrices + tile.matrix) * call.m * call.n;
#endif
#pragma unroll
    for (int i = 0; i < CF_REG_M; i++) {
        long long row = tile.row + cf_rows::at(down, i);
        if (row >= call.m) continue;
#pragma unroll
        for (int j = 0; j < CF_REG_N; j++) {
            long long column = tile.column + cf_columns::at(across, j);
            if (column >= call.n) continue;
#ifdef CF_SPLIT
            parts[row * call.n + column] = sums[i][j];
#else
            cf_store_compute(call.dst, tile.target + row * call.dst_row + column * call.dst_column, sums[i][j]);
#endif
        }
    }
}

/* blockIdx.x to a tile of a matrix: eight rows of tiles side by side, so that blocks under way together share panels in
 * the cache. */
CF_DEVICE cf_tile cf_tile_of(const cf_matmul &call, long long matrix) {
    unsigned across = (unsigned)call.tiles_n, down = (unsigned)call.tiles_m, strip = 8 * across;
    unsigned top = blockIdx.x / strip * 8, height = down - top < 8 ? down - top : 8, rest = blockIdx.x % strip;
    cf_tile tile = {(long long)(top + rest % height) * CF_TILE_M, (long long)(rest / height) * CF_TILE_N, matrix,
                    call.dst_start + cf_place_of(call.batch, (cf_index)matrix).here};
    return tile;
}

CF_DEVICE void cf_matrix(const cf_matmul &call, const cf_tile &tile, cf_panel_a::cf_shared *shared_a,
                         cf_panel_b::cf_shared *shared_b) {
    int across = (int)threadIdx.x % CF_ACROSS, down = (int)threadIdx.x / CF_ACROSS, turn = 0;
    long long begin = (long long)blockIdx.z * call.chunk, left = call.k - begin;
    left = left < call.chunk ? left : call.chunk;
    cf_panel_a a;
    cf_panel_b b;
    long long start_a = call.a_start + cf_place_of(call.batch, (cf_index)tile.matrix).there;
    long long start_b = call.b_start + cf_place_of(call.batch_b, (cf_index)tile.matrix).here;
    a.begin(start_a + tile.row * call.a_row + begin * call.a_column, call.a_column, call.a_row, call.m - tile.row);
    b.begin(start_b + tile.column * call.b_column + begin * call.b_row, call.b_row, call.b_column,
            call.n - tile.column);
    cf_compute sums[CF_REG_M][CF_REG_N];
#pragma unroll
    for (int i = 0; i < CF_REG_M; i++) {
#pragma unroll
        for (int j = 0; j < CF_REG_N; j++) sums[i][j] = cf_compute_of(0);
    }
    a.fetch(call.a, call.a_column, call.a_row, left);
    b.fetch(call.b, call.b_row, call.b_column, left);
    for (; left > 0; left -= CF_TILE_K, turn ^= 1) {
        a.share(shared_a[turn]);
        b.share(shared_b[turn]);
        __syncthreads(); /* two buffers: nobody writes this one before all have read it and met again */
        a.fetch(call.a, call.a_column, call.a_row, left - CF_TILE_K);
        b.fetch(call.b, call.b_row, call.b_column, left - CF_TILE_K);
        cf_multiply(shared_a[turn], shared_b[turn], down, across, sums);
    }
    cf_deliver(call, tile, down, across, sums);
}

/* Which tile it is lies in shared memory, so that it takes no registers while products are summed. */
extern "C" __global__ void __launch_bounds__(CF_THREADS, 2) cf_matmul_tiles(const __grid_constant__ cf_matmul call) {
    __shared__ __align__(16) cf_panel_a::cf_shared shared_a[2];
    __shared__ __align__(16) cf_panel_b::cf_shared shared_b[2];
    __shared__ cf_tile tile;
    for (long long matrix = blockIdx.y; matrix < call.matrices; matrix += gridDim.y) {
        __syncthreads();
        if (threadIdx.x == 0) tile = cf_tile_of(call, matrix);
        __syncthreads();
        cf_matrix(call, tile, shared_a, shared_b);
    }
}

/* The sums of the splits, added up in order; `chunk` says how many there are. A block has 256 columns of a row. */
extern "C" __global__ void __launch_bounds__(256) cf_matmul_parts(const __grid_constant__ cf_matmul call) {
    unsigned blocks = (unsigned)((call.n + 255) / 256);
    long long row = blockIdx.x / blocks, column = (long long)(blockIdx.x % blocks) * 256 + threadIdx.x;
    if (column >= call.n) return;
    for (long long matrix = blockIdx.y; matrix < call.matrices; matrix += gridDim.y) {
        const cf_compute *part = call.parts + (matrix * call.m + row) * call.n + column;
        cf_compute sum = *part;
        for (long long split = 1; split < call.chunk; split++) {
            part += call.matrices * call.m * call.n;
            sum = cf_sum(sum, *part);
        }
        long long target = call.dst_start + cf_place_of(call.batch, (cf_index)matrix).here;
        cf_store_compute(call.dst, target + row * call.dst_row + column * call.dst_column, sum);
    }
}

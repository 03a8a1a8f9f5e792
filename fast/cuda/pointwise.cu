/* Kernels that compute one element of dst from the sources' elements of the same index: fill, unary to fma, comparisons,
 * where, casts, copies, and programs of map.
 *
 * Defines: CF_DST, the dtype written; CF_SOURCES, the dtypes read, separated by commas, and CF_COUNT, how many;
 * CF_EXPRESSION, the code stored, of the codes CF_X(0), CF_X(1) ... read and of the constants CF_VALUE(dtype, k), of which
 * there are CF_CONSTANTS. And a way of walking: CF_RANK, the capacity of the layouts; CF_LANES, elements of a vector; both;
 * or CF_PARTS. With the latter three CF_ALIKE may have bit k set: source k is one element along the innermost axis. With
 * CF_TABLE the parameters lie in memory, where they would be more than a launch takes.
 *
 * dst may be identical to a source: a thread has read all it computes from before it stores, and nobody else reads that.
 */
#include "layout.cuh"
#include "operations.cuh"

#define CF_ALL (CF_COUNT + 1)
#define CF_X(k) cf_member<k>(x)
#define CF_VALUE(dtype, k) cf_constant<dtype>(values, k)

/* ---- the sources' codes of one index ---------------------------------------------------------------------------- */

template <int... D> struct cf_row {};
template <int F, int... R> struct cf_row<F, R...> {
    cf_code<F> first;
    cf_row<R...> rest;
};

template <int K, int F, int... R> CF_DEVICE auto cf_member(const cf_row<F, R...> &row) {
    if constexpr (K == 0) return row.first;
    else return cf_member<K - 1>(row.rest);
}

template <int K, int N> CF_DEVICE void cf_load_row(cf_row<> &, void *const (&)[N], const cf_places<N> &) {}
template <int K, int N, int F, int... R>
CF_DEVICE void cf_load_row(cf_row<F, R...> &row, void *const (&data)[N], const cf_places<N> &places) {
    row.first = cf_load<F>(data[K], places.at[K]);
    cf_load_row<K + 1, N>(row.rest, data, places);
}

typedef cf_row<CF_SOURCES> cf_sources;

/* Bits of constants, the low 64 first. */
struct cf_values {
    cf_u64 bits[CF_CONSTANTS][2];
};

template <int D> CF_DEVICE cf_code<D> cf_constant(const cf_values &values, int k) {
    cf_u64 low = values.bits[k][0];
    if constexpr (D == CF_COMPLEX64) return {(cf_u32)low, (cf_u32)(low >> 32)};
    else if constexpr (D == CF_COMPLEX128) return {low, values.bits[k][1]};
    else return (cf_code<D>)low;
}

CF_DEVICE cf_code<CF_DST> cf_computed_element(const cf_sources &x, const cf_values &values) { return CF_EXPRESSION; }

/* ---- parameters ------------------------------------------------------------------------------------------------- */

#ifdef CF_TABLE
template <class T> struct cf_table {
    T all;
    cf_values values;
};
#define CF_GIVEN(type) const cf_table<type> *__restrict__ given
#define CF_TAKE const auto &all = given->all; const cf_values &values = given->values
#else
#define CF_GIVEN(type) const __grid_constant__ type all, const __grid_constant__ cf_values values
#define CF_TAKE
#endif

#ifdef CF_RANK
typedef cf_operands<CF_ALL, CF_RANK> cf_layouts;
#endif

/* ---- any layouts ------------------------------------------------------------------------------------------------ */

#if defined CF_RANK && !defined CF_LANES

extern "C" __global__ void __launch_bounds__(256)
cf_pointwise_strided(CF_GIVEN(cf_layouts)) {
    CF_TAKE;
    for (cf_u64 index = cf_first_index(); index < all.size; index += cf_index_step()) {
        cf_places<CF_ALL> places = cf_places_of(all, (cf_number)index);
        cf_sources x;
        cf_load_row<1, CF_ALL>(x, all.data, places);
        cf_store<CF_DST>(all.data[0], places.at[0], cf_computed_element(x, values));
    }
}

#endif

/* ---- vectors ---------------------------------------------------------------------------------------------------- */

#ifndef CF_ALIKE
#define CF_ALIKE 0
#endif

template <int K> CF_DEVICE constexpr bool cf_is_alike() { return K > 0 && (CF_ALIKE >> (K - 1) & 1) != 0; }

/* Where operand k's element, or vector, of an index lies, where all are contiguous but for single elements. */
template <int K, int N> CF_DEVICE void cf_follow(cf_places<N> &places, cf_i64 index) {
    places.at[K] = cf_is_alike<K>() ? 0 : index;
    if constexpr (K + 1 < N) cf_follow<K + 1, N>(places, index);
}

#ifdef CF_LANES

/* As many bytes as one access takes. */
template <int BYTES> struct cf_chunk;
template <> struct cf_chunk<1> {
    cf_u8 x;
};
template <> struct cf_chunk<2> {
    cf_u16 x;
};
template <> struct cf_chunk<4> {
    cf_u32 x;
};
template <> struct __align__(8) cf_chunk<8> {
    cf_u32 x, y;
};
template <> struct __align__(16) cf_chunk<16> {
    cf_u32 x, y, z, w;
};

/* Where all operands are contiguous, each byte is touched once: whole accesses stream, and leave the caches to what is
 * touched again. Rows may be read more than once. */
#ifdef CF_RANK
#define CF_STREAMS(chunk) false
#else
#define CF_STREAMS(chunk) (sizeof(chunk) == 16)
#endif

template <class C> CF_DEVICE C cf_read_chunk(const C *at) {
    if constexpr (CF_STREAMS(C)) {
        uint4 read = __ldcs((const uint4 *)at);
        return {read.x, read.y, read.z, read.w};
    } else return *at;
}

template <class C> CF_DEVICE void cf_write_chunk(C *at, C chunk) {
    if constexpr (CF_STREAMS(C)) __stcs((uint4 *)at, make_uint4(chunk.x, chunk.y, chunk.z, chunk.w));
    else *at = chunk;
}

template <int... D> struct cf_vectors {};
template <int F, int... R> struct cf_vectors<F, R...> {
    cf_code<F> lanes[CF_LANES];
    cf_vectors<R...> rest;
};

/* The sources' vectors at these places, counted in vectors; of a source that is alike in elements. */
template <int K, int N> CF_DEVICE void cf_load_vectors(cf_vectors<> &, void *const (&)[N], const cf_places<N> &) {}
template <int K, int N, int F, int... R>
CF_DEVICE void cf_load_vectors(cf_vectors<F, R...> &vectors, void *const (&data)[N], const cf_places<N> &places) {
    typedef cf_chunk<CF_LANES * sizeof(cf_code<F>)> chunk;
    if constexpr (cf_is_alike<K>()) {
        cf_code<F> code = cf_load<F>(data[K], places.at[K]);
        for (int lane = 0; lane < CF_LANES; lane++) vectors.lanes[lane] = code;
    } else {
        chunk read = cf_read_chunk((const chunk *)data[K] + places.at[K]);
        memcpy(vectors.lanes, &read, sizeof read);
    }
    cf_load_vectors<K + 1, N>(vectors.rest, data, places);
}

CF_DEVICE void cf_take_lane(cf_row<> &, const cf_vectors<> &, int) {}
template <int F, int... R> CF_DEVICE void cf_take_lane(cf_row<F, R...> &row, const cf_vectors<F, R...> &from, int lane) {
    row.first = from.lanes[lane];
    cf_take_lane(row.rest, from.rest, lane);
}

CF_DEVICE void cf_compute_vector(void *const (&data)[CF_ALL], const cf_places<CF_ALL> &places, const cf_values &values) {
    typedef cf_chunk<CF_LANES * sizeof(cf_code<CF_DST>)> chunk;
    cf_vectors<CF_SOURCES> vectors;
    cf_code<CF_DST> results[CF_LANES];
    cf_load_vectors<1, CF_ALL>(vectors, data, places);
#pragma unroll
    for (int lane = 0; lane < CF_LANES; lane++) {
        cf_sources x;
        cf_take_lane(x, vectors, lane);
        results[lane] = cf_computed_element(x, values);
    }
    chunk written;
    memcpy(&written, results, sizeof written);
    cf_write_chunk((chunk *)data[0] + places.at[0], written);
}

#ifdef CF_RANK

/* Rows of whole vectors: the layouts count vectors, of sources that are alike elements. */
extern "C" __global__ void __launch_bounds__(256)
cf_pointwise_rows(CF_GIVEN(cf_layouts)) {
    CF_TAKE;
    for (cf_u64 index = cf_first_index(); index < all.size; index += cf_index_step()) {
        cf_compute_vector(all.data, cf_places_of(all, (cf_number)index), values);
    }
}

#else

struct cf_contiguous {
    void *data[CF_ALL];
    cf_u64 size;
};

/* All elements one after the other. Every operand that is walked lies on a multiple of its vector. */
extern "C" __global__ void __launch_bounds__(256)
cf_pointwise_vectors(const __grid_constant__ cf_contiguous all, const __grid_constant__ cf_values values) {
    cf_places<CF_ALL> places;
    cf_u64 whole = all.size / CF_LANES;
    for (cf_u64 number = cf_first_index(); number < whole; number += cf_index_step()) {
        cf_follow<0>(places, (cf_i64)number);
        cf_compute_vector(all.data, places, values);
    }
    cf_u64 index = whole * CF_LANES + cf_first_index();
    if (index >= all.size) return;
    cf_follow<0>(places, (cf_i64)index);
    cf_sources x;
    cf_load_row<1, CF_ALL>(x, all.data, places);
    cf_store<CF_DST>(all.data[0], places.at[0], cf_computed_element(x, values));
}

#endif

#endif

/* ---- all contiguous, dst's elements narrower than a byte --------------------------------------------------------- */

#ifdef CF_PARTS

struct cf_packed {
    void *data[CF_ALL];
    cf_i64 start[CF_ALL];
    cf_u64 size;
};

/* A thread owns a byte of dst: one at an end keeps the bits of others, which nobody stores meanwhile. */
extern "C" __global__ void __launch_bounds__(256)
cf_pointwise_bytes(const __grid_constant__ cf_packed all, const __grid_constant__ cf_values values) {
    const int bits = cf_traits<CF_DST>::bits, count = 8 / bits;
    cf_i64 size = (cf_i64)all.size, bytes = (all.start[0] + size + count - 1) / count;
    for (cf_i64 number = (cf_i64)cf_first_index(); number < bytes; number += (cf_i64)cf_index_step()) {
        cf_i64 first = number * count - all.start[0];
        cf_u32 byte = 0, kept = 0;
        bool whole = first >= 0 && first + count <= size;
        for (int part = 0; part < count; part++) {
            cf_i64 index = first + part;
            if (index < 0 || index >= size) {
                kept |= ((1u << bits) - 1) << (part * bits);
                continue;
            }
            cf_places<CF_ALL> places;
            cf_follow<0>(places, index);
            for (int k = 0; k < CF_ALL; k++) places.at[k] += all.start[k];
            cf_sources x;
            cf_load_row<1, CF_ALL>(x, all.data, places);
            byte |= (cf_u32)cf_computed_element(x, values) << (part * bits);
        }
        cf_u8 *target = (cf_u8 *)all.data[0] + number;
        *target = (cf_u8)(whole ? byte : byte | (*target & kept));
    }
}

#endif

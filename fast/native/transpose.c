/* Transposed copies (transpose.h).
 *
 * A tile is T by T elements, T of them filling a cache line: T source lines are read whole, turned in registers, and T
 * destination lines are written whole. What is left at the edges is copied element by element.
 */
#include "transpose.h"

#include <string.h>

#include "stream.h"

typedef struct side {
    uint8_t *data;
    int64_t stride; /* bytes from one line to the next */
} side;

/* ---- a tile in registers ---------------------------------------------------------------------------------------- */

#if defined(__SSE2__)

#include <emmintrin.h>

static inline __m128i load(const uint8_t *from) { return _mm_loadu_si128((const __m128i *)from); }

static inline void store(uint8_t *to, __m128i value) { _mm_storeu_si128((__m128i *)to, value); }

/* Interleaves the halves of a and b at the given granularity (bytes), low halves first. */
static inline void interleave(int bytes, __m128i a, __m128i b, __m128i *low, __m128i *high) {
    switch (bytes) {
    case 1: *low = _mm_unpacklo_epi8(a, b), *high = _mm_unpackhi_epi8(a, b); return;
    case 2: *low = _mm_unpacklo_epi16(a, b), *high = _mm_unpackhi_epi16(a, b); return;
    case 4: *low = _mm_unpacklo_epi32(a, b), *high = _mm_unpackhi_epi32(a, b); return;
    default: *low = _mm_unpacklo_epi64(a, b), *high = _mm_unpackhi_epi64(a, b); return;
    }
}

/* k by k elements, k = 16 / bytes: rounds of interleaving row i with row i + k/2, after which row i is column i. */
static inline __attribute__((always_inline)) void turn_block(int bytes, const uint8_t *from, int64_t from_stride,
                                                             uint8_t *to) {
    enum { MOST = 16 };
    __m128i rows[MOST], next[MOST];
    int k = 16 / bytes;
    for (int i = 0; i < k; i++) rows[i] = load(from + i * from_stride);
    for (int round = 1; round < k; round *= 2) {
        for (int i = 0; i < k / 2; i++) interleave(bytes, rows[i], rows[i + k / 2], &next[2 * i], &next[2 * i + 1]);
        for (int i = 0; i < k; i++) rows[i] = next[i];
    }
    for (int i = 0; i < k; i++) store(to + i * CF_LINE, rows[i]);
}

static inline __attribute__((always_inline)) void turn_tile(int bytes, const uint8_t *from, int64_t from_stride,
                                                            uint8_t *tile) {
    int side = CF_LINE / bytes, k = 16 / bytes;
    for (int c = 0; c < side; c += k) {
        for (int r = 0; r < side; r += k) {
            turn_block(bytes, from + c * from_stride + r * bytes, from_stride, tile + r * CF_LINE + c * bytes);
        }
    }
}

#else

static inline void turn_tile(int bytes, const uint8_t *from, int64_t from_stride, uint8_t *tile) {
    int side = CF_LINE / bytes;
    for (int c = 0; c < side; c++) {
        for (int r = 0; r < side; r++) {
            memcpy(tile + r * CF_LINE + c * bytes, from + c * from_stride + r * bytes, (size_t)bytes);
        }
    }
}

#endif

/* ---- tiles and edges -------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void tile(int bytes, side to, side from, bool streamed) {
    uint8_t lines[CF_LINE * CF_LINE] __attribute__((aligned(CF_LINE)));
    int side = CF_LINE / bytes;
    turn_tile(bytes, from.data, from.stride, lines);
    for (int r = 0; r < side; r++) {
        if (streamed) {
            cf_stream_line(to.data + r * to.stride, lines + r * CF_LINE);
        } else {
            memcpy(to.data + r * to.stride, lines + r * CF_LINE, CF_LINE);
        }
    }
}

static void edge(int bytes, side to, side from, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            memcpy(to.data + r * to.stride + c * bytes, from.data + c * from.stride + r * bytes, (size_t)bytes);
        }
    }
}

static side at(side origin, int64_t line, int64_t byte) {
    return (side){origin.data + line * origin.stride + byte, origin.stride};
}

/* Tiles from the first column whose destination begins a cache line: a streamed line that straddles two costs both. */
static inline __attribute__((always_inline)) void tiles(int bytes, side to, side from, int64_t rows, int64_t columns,
                                                        bool streamed) {
    int64_t step = CF_LINE / bytes, head = streamed ? (int64_t)(-(uintptr_t)to.data % CF_LINE) / bytes : 0;
    if (head > columns) head = columns;
    int64_t whole_rows = rows - rows % step, whole_columns = (columns - head) - (columns - head) % step;
    edge(bytes, to, from, rows, head);
    to = at(to, 0, head * bytes), from = at(from, head, 0), columns -= head;
    for (int64_t c = 0; c < whole_columns; c += step) {
        for (int64_t r = 0; r < whole_rows; r += step) {
            tile(bytes, at(to, r, c * bytes), at(from, c, r * bytes), streamed);
        }
    }
    edge(bytes, at(to, whole_rows, 0), at(from, 0, whole_rows * bytes), rows - whole_rows, columns);
    edge(bytes, at(to, 0, whole_columns * bytes), at(from, whole_columns, 0), whole_rows, columns - whole_columns);
}

void cf_transpose(int bytes, uint8_t *to, int64_t to_stride, const uint8_t *from, int64_t from_stride, int64_t rows,
                  int64_t columns, bool streamed) {
    side target = {to, to_stride * bytes}, source = {(uint8_t *)from, from_stride * bytes};
    /* Every row must begin its lines at the same column, and some column at a line. */
    streamed = streamed && target.stride % CF_LINE == 0 && (uintptr_t)to % (uintptr_t)bytes == 0;
    switch (bytes) {
    case 1: tiles(1, target, source, rows, columns, streamed); break;
    case 2: tiles(2, target, source, rows, columns, streamed); break;
    case 4: tiles(4, target, source, rows, columns, streamed); break;
    case 8: tiles(8, target, source, rows, columns, streamed); break;
    default: edge(bytes, target, source, rows, columns); break;
    }
    if (streamed) cf_stream_end();
}

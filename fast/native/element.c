/* Elements in and out of memory (element.h). */
#include "element.h"

#include <stdatomic.h>
#include <string.h>

#include "vector.h"

/* ---- whole bytes ------------------------------------------------------------------------------------------------ */

#define STRIDED(width, type)                                                                              \
    CF_VECTOR static void load_##width(const type *from, int64_t stride, int64_t n, type *to) {           \
        for (int64_t i = 0; i < n; i++) to[i] = from[i * stride];                                         \
    }                                                                                                     \
    CF_VECTOR static void store_##width(type *to, int64_t stride, int64_t n, const type *from) {          \
        for (int64_t i = 0; i < n; i++) to[i * stride] = from[i];                                         \
    }

/* Complex elements are aligned to one component only. */
typedef uint64_t word __attribute__((aligned(4)));
typedef struct pair {
    uint64_t low, high;
} __attribute__((aligned(8))) pair;

STRIDED(8, uint8_t)
STRIDED(16, uint16_t)
STRIDED(32, uint32_t)
STRIDED(64, word)
STRIDED(128, pair)

static void load_bytes(int bits, const uint8_t *from, int64_t stride, int64_t n, void *to) {
    switch (bits) {
    case 8: load_8(from, stride, n, to); return;
    case 16: load_16((const uint16_t *)from, stride, n, to); return;
    case 32: load_32((const uint32_t *)from, stride, n, to); return;
    case 64: load_64((const word *)from, stride, n, to); return;
    default: load_128((const pair *)from, stride, n, to); return;
    }
}

static void store_bytes(int bits, uint8_t *to, int64_t stride, int64_t n, const void *from) {
    switch (bits) {
    case 8: store_8(to, stride, n, from); return;
    case 16: store_16((uint16_t *)to, stride, n, from); return;
    case 32: store_32((uint32_t *)to, stride, n, from); return;
    case 64: store_64((word *)to, stride, n, from); return;
    default: store_128((pair *)to, stride, n, from); return;
    }
}

/* ---- parts of a byte -------------------------------------------------------------------------------------------- */

static inline uint8_t load_part(int bits, const uint8_t *data, int64_t position) {
    int64_t bit = position * bits;
    /* Relaxed: a neighbour may be stored by another thread meanwhile; our own bits are ordered by the claims. */
    uint8_t byte = atomic_load_explicit((const _Atomic uint8_t *)(data + (bit >> 3)), memory_order_relaxed);
    return (uint8_t)((byte >> (bit & 7)) & ((1u << bits) - 1));
}

/* Replaces the bits of `mask` by those of `value`; the byte's other bits may change meanwhile and are kept. */
static inline void store_masked(uint8_t *byte, uint8_t mask, uint8_t value) {
    _Atomic uint8_t *shared = (_Atomic uint8_t *)byte;
    uint8_t old = atomic_load_explicit(shared, memory_order_relaxed);
    /* Relaxed, and weak in a loop: only the atomicity of the exchange matters, see load_part. */
    while (!atomic_compare_exchange_weak_explicit(shared, &old, (uint8_t)((old & ~mask) | value), memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

static inline void store_part(int bits, uint8_t *data, int64_t position, uint8_t code) {
    int64_t bit = position * bits;
    int shift = (int)(bit & 7);
    uint32_t mask = (1u << bits) - 1;
    store_masked(data + (bit >> 3), (uint8_t)(mask << shift), (uint8_t)((code & mask) << shift));
}

CF_VECTOR static void unpack_nibbles(const uint8_t *from, int64_t bytes, uint8_t *to) {
    for (int64_t i = 0; i < bytes; i++) {
        to[2 * i] = from[i] & 15;
        to[2 * i + 1] = from[i] >> 4;
    }
}

CF_VECTOR static void pack_nibbles(uint8_t *to, int64_t bytes, const uint8_t *from) {
    for (int64_t i = 0; i < bytes; i++) to[i] = (uint8_t)((from[2 * i] & 15) | (from[2 * i + 1] << 4));
}

/* Eight bits to eight bytes at once: the multiplication spreads copies of the byte, the mask keeps bit r in byte r. */
CF_VECTOR static void unpack_bits(const uint8_t *from, int64_t bytes, uint8_t *to) {
    for (int64_t i = 0; i < bytes; i++) {
        uint64_t spread = (from[i] * UINT64_C(0x0101010101010101)) & UINT64_C(0x8040201008040201);
        uint64_t flags = ((spread + UINT64_C(0x7f7f7f7f7f7f7f7f)) | spread) >> 7 & UINT64_C(0x0101010101010101);
        memcpy(to + 8 * i, &flags, 8);
    }
}

CF_VECTOR static void pack_bits(uint8_t *to, int64_t bytes, const uint8_t *from) {
    for (int64_t i = 0; i < bytes; i++) {
        uint64_t flags;
        memcpy(&flags, from + 8 * i, 8);
        to[i] = (uint8_t)((flags & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56);
    }
}

/* A run at stride 1: up to a byte boundary one by one, then whole bytes, then the rest one by one. */
static void load_parts_run(int bits, const uint8_t *data, int64_t first, int64_t n, uint8_t *loose) {
    int per_byte = 8 / bits;
    int64_t i = 0;
    for (; i < n && (first + i) % per_byte != 0; i++) loose[i] = load_part(bits, data, first + i);
    int64_t bytes = (n - i) / per_byte;
    const uint8_t *whole = data + (first + i) / per_byte;
    if (bits == 4) {
        unpack_nibbles(whole, bytes, loose + i);
    } else {
        unpack_bits(whole, bytes, loose + i);
    }
    for (i += bytes * per_byte; i < n; i++) loose[i] = load_part(bits, data, first + i);
}

static void store_parts_run(int bits, uint8_t *data, int64_t first, int64_t n, const uint8_t *loose) {
    int per_byte = 8 / bits;
    int64_t i = 0;
    for (; i < n && (first + i) % per_byte != 0; i++) store_part(bits, data, first + i, loose[i]);
    int64_t bytes = (n - i) / per_byte;
    uint8_t *whole = data + (first + i) / per_byte;
    if (bits == 4) {
        pack_nibbles(whole, bytes, loose + i);
    } else {
        pack_bits(whole, bytes, loose + i);
    }
    for (i += bytes * per_byte; i < n; i++) store_part(bits, data, first + i, loose[i]);
}

static void load_parts(int bits, const uint8_t *data, int64_t first, int64_t stride, int64_t n, uint8_t *loose) {
    if (stride == 1) {
        load_parts_run(bits, data, first, n, loose);
        return;
    }
    for (int64_t i = 0; i < n; i++) loose[i] = load_part(bits, data, first + i * stride);
}

static void store_parts(int bits, uint8_t *data, int64_t first, int64_t stride, int64_t n, const uint8_t *loose) {
    if (stride == 1) {
        store_parts_run(bits, data, first, n, loose);
        return;
    }
    for (int64_t i = 0; i < n; i++) store_part(bits, data, first + i * stride, loose[i]);
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

void cf_element_load(int bits, const uint8_t *data, int64_t first, int64_t stride, int64_t n, void *loose) {
    if (bits < 8) {
        load_parts(bits, data, first, stride, n, loose);
        return;
    }
    const uint8_t *from = data + first * (bits / 8);
    if (stride == 1) {
        memcpy(loose, from, (size_t)n * (size_t)(bits / 8));
        return;
    }
    load_bytes(bits, from, stride, n, loose);
}

void cf_element_store(int bits, uint8_t *data, int64_t first, int64_t stride, int64_t n, const void *loose) {
    if (bits < 8) {
        store_parts(bits, data, first, stride, n, loose);
        return;
    }
    uint8_t *to = data + first * (bits / 8);
    if (stride == 1) {
        memcpy(to, loose, (size_t)n * (size_t)(bits / 8));
        return;
    }
    store_bytes(bits, to, stride, n, loose);
}

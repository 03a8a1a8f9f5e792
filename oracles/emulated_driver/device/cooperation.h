// Barriers, votes and shuffles.
#pragma once

namespace emucuda {

inline unsigned lane() {
    const BuiltIns &b = built_ins;
    return (b.thread_index.x + b.block_dim.x * (b.thread_index.y + b.block_dim.y * b.thread_index.z)) % 32;
}

// What every lane of `mask` gave; the caller reads the lane that it wants at once.
inline const uint64_t *exchange(unsigned mask, uint64_t value, unsigned *came = nullptr) {
    if (!(mask >> lane() & 1)) services->fail(719, "a lane that its own mask leaves out", nullptr, 0);
    unsigned lanes = services->warp_exchange(mask, value);
    if (came) *came = lanes;
    return services->lanes();
}

template <class Type>
inline uint64_t to_word(Type value) {
    static_assert(sizeof(Type) <= 8, "shuffles move at most 8 bytes");
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    return word;
}

template <class Type>
inline Type from_word(uint64_t word) {
    Type value;
    memcpy(&value, &word, sizeof value);
    return value;
}

// A lane that did not come has nothing to give: what is read then is not what anybody meant.
template <class Type>
inline Type take(unsigned mask, Type value, unsigned source) {
    unsigned came = 0;
    const uint64_t *lanes = exchange(mask, to_word(value), &came);
    return from_word<Type>(came >> source & 1 ? lanes[source] : 0xCBCBCBCBCBCBCBCBull);
}

// Shared memory holds nothing when a block begins.
template <class Type>
inline void begin_shared(Type &variable) {
    const void *address = const_cast<const void *>(static_cast<const volatile void *>(&variable));
    if (services->shared_is_fresh(address)) memset(const_cast<void *>(address), 0xCB, sizeof variable);
}

}  // namespace emucuda

inline void __syncthreads() { emucuda::services->block_barrier(0); }
inline int __syncthreads_count(int predicate) { return int(emucuda::services->block_barrier(predicate != 0)); }
inline int __syncthreads_or(int predicate) { return emucuda::services->block_barrier(predicate != 0) != 0; }
inline int __syncthreads_and(int predicate) { return emucuda::services->block_barrier(predicate == 0) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { emucuda::exchange(mask, 0); }
inline unsigned __activemask() { return emucuda::services->active_lanes(); }

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    unsigned came = 0, votes = 0;
    const uint64_t *lanes = emucuda::exchange(mask, predicate != 0, &came);
    for (unsigned lane = 0; lane < 32; ++lane)
        if ((came >> lane & 1) && lanes[lane]) votes |= 1u << lane;
    return votes;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

// Lanes are taken in segments of `width`; what lies beyond a segment is the lane itself.
template <class Type>
inline Type __shfl_sync(unsigned mask, Type value, int source, int width = 32) {
    unsigned first = emucuda::lane() & ~unsigned(width - 1);
    return emucuda::take(mask, value, first + (unsigned(source) & unsigned(width - 1)));
}
template <class Type>
inline Type __shfl_xor_sync(unsigned mask, Type value, int lanes, int width = 32) {
    unsigned lane = emucuda::lane(), source = lane ^ unsigned(lanes);
    unsigned end = (lane & ~unsigned(width - 1)) + unsigned(width);
    return emucuda::take(mask, value, source < end ? source : lane);
}
template <class Type>
inline Type __shfl_down_sync(unsigned mask, Type value, unsigned delta, int width = 32) {
    unsigned lane = emucuda::lane(), end = (lane & ~unsigned(width - 1)) + unsigned(width);
    return emucuda::take(mask, value, lane + delta < end ? lane + delta : lane);
}
template <class Type>
inline Type __shfl_up_sync(unsigned mask, Type value, unsigned delta, int width = 32) {
    unsigned lane = emucuda::lane(), first = lane & ~unsigned(width - 1);
    return emucuda::take(mask, value, lane >= first + delta ? lane - delta : lane);
}

// The reductions of whole warps, of sm_80 and later.
#define EMUCUDA_REDUCE(name, type, expression)                                              \
    inline type name(unsigned mask, type value) {                                           \
        unsigned came = 0;                                                                  \
        const uint64_t *lanes = emucuda::exchange(mask, emucuda::to_word(value), &came);    \
        bool some = false;                                                                  \
        type result{};                                                                      \
        for (unsigned lane = 0; lane < 32; ++lane) {                                        \
            if (!(came >> lane & 1)) continue;                                              \
            type other = emucuda::from_word<type>(lanes[lane]);                             \
            result = some ? static_cast<type>(expression) : other;                          \
            some = true;                                                                    \
        }                                                                                   \
        return result;                                                                      \
    }
EMUCUDA_REDUCE(__reduce_add_sync, unsigned, result + other)
EMUCUDA_REDUCE(__reduce_add_sync, int, unsigned(result) + unsigned(other))
EMUCUDA_REDUCE(__reduce_min_sync, unsigned, result < other ? result : other)
EMUCUDA_REDUCE(__reduce_min_sync, int, result < other ? result : other)
EMUCUDA_REDUCE(__reduce_max_sync, unsigned, result > other ? result : other)
EMUCUDA_REDUCE(__reduce_max_sync, int, result > other ? result : other)
EMUCUDA_REDUCE(__reduce_and_sync, unsigned, result & other)
EMUCUDA_REDUCE(__reduce_or_sync, unsigned, result | other)
EMUCUDA_REDUCE(__reduce_xor_sync, unsigned, result ^ other)
#undef EMUCUDA_REDUCE

template <class Type>
inline unsigned __match_any_sync(unsigned mask, Type value) {
    unsigned came = 0, same = 0;
    const uint64_t word = emucuda::to_word(value), *lanes = emucuda::exchange(mask, word, &came);
    for (unsigned lane = 0; lane < 32; ++lane)
        if ((came >> lane & 1) && lanes[lane] == word) same |= 1u << lane;
    return same;
}

inline void __trap() { emucuda::services->fail(719, "a trap", nullptr, 0); }
// The device's assert: <assert.h> of the host would end the process.
#undef assert
#define assert(condition)                                                                                  \
    ((condition) ? (void)0                                                                                 \
                 : emucuda::services->fail(710, "the failed assertion " #condition, __FILE__, __LINE__))

/* Values moved between the lanes of a warp, whatever their type: word by word. All 32 lanes take part. */
#ifndef COUNTERFOIL_LANES_CUH
#define COUNTERFOIL_LANES_CUH

#define CF_ALL_LANES 0xffffffffu

template <class T> union cf_words {
    T value;
    unsigned words[sizeof(T) / 4];
    __device__ cf_words() {}
};

/* Lane l's value from lane l + offset (its own beyond the last). */
template <class T> __device__ __forceinline__ T cf_from_above(T value, unsigned offset) {
    cf_words<T> moved;
    moved.value = value;
#pragma unroll
    for (int k = 0; k < (int)(sizeof(T) / 4); k++) {
        moved.words[k] = __shfl_down_sync(CF_ALL_LANES, moved.words[k], offset);
    }
    return moved.value;
}

/* Lane l's value from lane l - offset (its own before the first). */
template <class T> __device__ __forceinline__ T cf_from_below(T value, unsigned offset) {
    cf_words<T> moved;
    moved.value = value;
#pragma unroll
    for (int k = 0; k < (int)(sizeof(T) / 4); k++) {
        moved.words[k] = __shfl_up_sync(CF_ALL_LANES, moved.words[k], offset);
    }
    return moved.value;
}

/* Every lane's value from one lane. */
template <class T> __device__ __forceinline__ T cf_from_lane(T value, int lane) {
    cf_words<T> moved;
    moved.value = value;
#pragma unroll
    for (int k = 0; k < (int)(sizeof(T) / 4); k++) {
        moved.words[k] = __shfl_sync(CF_ALL_LANES, moved.words[k], lane);
    }
    return moved.value;
}

#endif

/* The hardware's limits, measured beside the rows: written for this one purpose, shared with nothing that is measured. */
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

/* 64-byte aligned; n a multiple of 64. */
__attribute__((target("avx"))) void probe_stream_copy(float *to, const float *from, int64_t n) {
    for (int64_t i = 0; i < n / 4; i += 16) {
        _mm256_stream_ps(to + i, _mm256_load_ps(from + i));
        _mm256_stream_ps(to + i + 8, _mm256_load_ps(from + i + 8));
    }
    _mm_sfence();
}

__attribute__((target("avx"))) void probe_stream_add(float *to, const float *x, const float *y, int64_t n) {
    for (int64_t i = 0; i < n / 4; i += 8) {
        _mm256_stream_ps(to + i, _mm256_add_ps(_mm256_load_ps(x + i), _mm256_load_ps(y + i)));
    }
    _mm_sfence();
}

/* `read` bytes in for every 64 out: the traffic of a cast. */
__attribute__((target("avx"))) void probe_stream_convert(float *to, const float *from, int64_t to_bytes, int64_t from_bytes) {
    int64_t lines = to_bytes / 64, step = from_bytes / (lines ? lines : 1) / 4;
    for (int64_t line = 0; line < lines; line++) {
        __m256 sum = _mm256_setzero_ps();
        const float *source = from + line * step;
        for (int64_t i = 0; i + 8 <= step; i += 8) sum = _mm256_xor_ps(sum, _mm256_loadu_ps(source + i));
        if (step < 8) sum = _mm256_broadcast_ss(source);
        _mm256_stream_ps(to + line * 16, sum);
        _mm256_stream_ps(to + line * 16 + 8, sum);
    }
    _mm_sfence();
}

__attribute__((target("avx"))) float probe_read(const float *from, int64_t n) {
    __m256 sums[8];
    for (int k = 0; k < 8; k++) sums[k] = _mm256_setzero_ps();
    for (int64_t i = 0; i < n / 4; i += 64) {
        for (int k = 0; k < 8; k++) sums[k] = _mm256_add_ps(sums[k], _mm256_load_ps(from + i + 8 * k));
    }
    float lanes[8], total = 0;
    for (int k = 1; k < 8; k++) sums[0] = _mm256_add_ps(sums[0], sums[k]);
    _mm256_storeu_ps(lanes, sums[0]);
    for (int k = 0; k < 8; k++) total += lanes[k];
    return total;
}
#else
void probe_stream_copy(float *to, const float *from, int64_t n) { memcpy(to, from, (size_t)n); }

void probe_stream_add(float *to, const float *x, const float *y, int64_t n) {
    for (int64_t i = 0; i < n / 4; i++) to[i] = x[i] + y[i];
}

void probe_stream_convert(float *to, const float *from, int64_t to_bytes, int64_t from_bytes) {
    memcpy(to, from, (size_t)(to_bytes < from_bytes ? to_bytes : from_bytes));
}

float probe_read(const float *from, int64_t n) {
    float lanes[16] = {0}, total = 0;
    for (int64_t i = 0; i < n / 4; i++) lanes[i % 16] += from[i];
    for (int k = 0; k < 16; k++) total += lanes[k];
    return total;
}
#endif

void probe_memcpy(void *to, const void *from, int64_t n) { memcpy(to, from, (size_t)n); }

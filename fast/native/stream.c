/* Streaming stores (stream.h): SSE2 on x86-64, which every such CPU has; plain copies elsewhere. */
#include "stream.h"

#include <string.h>

#if defined(__SSE2__)

#include <emmintrin.h>

void cf_stream_line(uint8_t *to, const uint8_t *line) {
    for (int i = 0; i < CF_LINE; i += 16) {
        _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(line + i)));
    }
}

void cf_stream_end(void) { _mm_sfence(); }

#else

void cf_stream_line(uint8_t *to, const uint8_t *line) { memcpy(to, line, CF_LINE); }

void cf_stream_end(void) {}

#endif

void cf_stream_copy(uint8_t *to, const uint8_t *from, size_t n) {
    if (n < CF_STREAM_BYTES) {
        memcpy(to, from, n);
        return;
    }
    size_t head = -(uintptr_t)to & (CF_LINE - 1), lines = (n - head) / CF_LINE;
    memcpy(to, from, head);
    for (size_t i = 0; i < lines; i++) cf_stream_line(to + head + i * CF_LINE, from + head + i * CF_LINE);
    size_t done = head + lines * CF_LINE;
    memcpy(to + done, from + done, n - done);
    cf_stream_end();
}

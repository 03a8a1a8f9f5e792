/* Streaming stores (stream.h): SSE2 on x86-64, which every such CPU has; plain copies elsewhere.
 *
 * Large transfers walk LANES pages side by side: that many streams keep the memory busier than one does.
 */
#include "stream.h"

#include <string.h>

enum { LANES = 4, PAGE = 4096, GROUP = LANES * PAGE };

#if defined(__SSE2__)

#include <emmintrin.h>

static inline void stream_line(uint8_t *to, const uint8_t *line) {
    for (int i = 0; i < CF_LINE; i += 16) {
        _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(line + i)));
    }
}

void cf_stream_end(void) { _mm_sfence(); }

#else

static inline void stream_line(uint8_t *to, const uint8_t *line) { memcpy(to, line, CF_LINE); }

void cf_stream_end(void) {}

#endif

void cf_stream_line(uint8_t *to, const uint8_t *line) { stream_line(to, line); }

static void stream_group(uint8_t *to, const uint8_t *from) {
    for (int line = 0; line < PAGE; line += CF_LINE) {
        for (int lane = 0; lane < GROUP; lane += PAGE) stream_line(to + lane + line, from + lane + line);
    }
}

/* Bytes from an address to the next line. */
static size_t to_line(const uint8_t *address) { return -(uintptr_t)address & (CF_LINE - 1); }

void cf_stream_store(uint8_t *to, const uint8_t *from, size_t n) {
    size_t done = to_line(to) < n ? to_line(to) : n;
    memcpy(to, from, done);
    for (; n - done >= CF_LINE; done += CF_LINE) stream_line(to + done, from + done);
    memcpy(to + done, from + done, n - done);
}

void cf_stream_copy(uint8_t *to, const uint8_t *from, size_t n) {
    if (n < CF_STREAM_BYTES) {
        memcpy(to, from, n);
        return;
    }
    size_t done = to_line(to);
    memcpy(to, from, done);
    for (; n - done >= GROUP; done += GROUP) stream_group(to + done, from + done);
    memcpy(to + done, from + done, n - done);
    cf_stream_end();
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* n elements from `first` on, less than a group or unaligned, stored plainly. */
static void store_plainly(uint8_t *to, int64_t bytes, int64_t first, int64_t n, cf_produce produce, void *context) {
    uint8_t strip[CF_STRIP] __attribute__((aligned(CF_LINE)));
    int64_t per_strip = CF_STRIP / bytes;
    for (int64_t done = 0; done < n; done += per_strip) {
        int64_t count = n - done < per_strip ? n - done : per_strip;
        produce(context, first + done, count, strip);
        memcpy(to + (first + done) * bytes, strip, (size_t)(count * bytes));
    }
}

static void produce_group(int64_t bytes, int64_t first, uint8_t *group, cf_produce produce, void *context) {
    for (int strip = 0; strip < PAGE; strip += CF_STRIP) {
        for (int lane = 0; lane < GROUP; lane += PAGE) {
            int at = lane + strip;
            produce(context, first + at / bytes, CF_STRIP / bytes, group + at);
        }
    }
}

void cf_stream_run(uint8_t *to, int64_t bytes, int64_t n, cf_produce produce, void *context) {
    uint8_t group[GROUP] __attribute__((aligned(CF_LINE)));
    int64_t per_group = GROUP / bytes, head = (int64_t)to_line(to) / bytes;
    bool aligned = (int64_t)to_line(to) % bytes == 0; /* some element begins on a line */
    if (!aligned || n < head + per_group) head = n;
    store_plainly(to, bytes, 0, head, produce, context);
    int64_t done = head;
    for (; n - done >= per_group; done += per_group) {
        produce_group(bytes, done, group, produce, context);
        stream_group(to + done * bytes, group);
    }
    store_plainly(to, bytes, done, n - done, produce, context);
    cf_stream_end();
}

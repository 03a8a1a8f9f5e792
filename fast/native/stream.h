/* Bytes stored past the caches, for destinations too large to be read again soon. */
#ifndef COUNTERFOIL_STREAM_H
#define COUNTERFOIL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CF_LINE = 64 };

/* From this many bytes on a destination is streamed: more than the caches near one core hold. */
#define CF_STREAM_BYTES ((size_t)5 << 20)

/* n bytes, no overlap: memcpy, or streaming stores from CF_STREAM_BYTES on. */
void cf_stream_copy(uint8_t *to, const uint8_t *from, size_t n);

/* One whole line to an address aligned to 16 bytes, by streaming stores, which cf_stream_end orders before the rest. */
void cf_stream_line(uint8_t *to, const uint8_t *line);
void cf_stream_end(void);

/* n bytes, whole lines of `to` by streaming stores, of which cf_stream_end makes an end; no overlap. */
void cf_stream_store(uint8_t *to, const uint8_t *from, size_t n);

/* Computes the loose elements first .. first + n - 1 of a run into `out`, aligned to a line. */
typedef void (*cf_produce)(void *context, int64_t first, int64_t n, void *out);

/* A run of n elements of `bytes` bytes at `to`, a multiple of their alignment: produced CF_STRIP bytes at a time into
 * near storage, and streamed. Strips are not produced in order, each index once. `to` is read by no strip. */
enum { CF_STRIP = 2048 };
void cf_stream_run(uint8_t *to, int64_t bytes, int64_t n, cf_produce produce, void *context);

/* Whether a run is worth it. */
static inline bool cf_stream_pays(int64_t bytes, int64_t n) { return (size_t)(bytes * n) >= CF_STREAM_BYTES; }

#endif

/* Bytes copied past the caches, for destinations too large to be read again soon. */
#ifndef COUNTERFOIL_STREAM_H
#define COUNTERFOIL_STREAM_H

#include <stddef.h>
#include <stdint.h>

enum { CF_LINE = 64 };

/* From this many bytes on a destination is streamed: more than the caches near one core hold. */
#define CF_STREAM_BYTES ((size_t)4 << 20)

/* n bytes, no overlap: memcpy, or streaming stores from CF_STREAM_BYTES on. */
void cf_stream_copy(uint8_t *to, const uint8_t *from, size_t n);

/* One whole line to an address aligned to 16 bytes, by streaming stores; cf_stream_end orders them before what follows. */
void cf_stream_line(uint8_t *to, const uint8_t *line);
void cf_stream_end(void);

#endif

/* Memories and buffers.
 *
 * A memory is bytes plus who may touch them. All its buffers (views, borrows) share it. The bytes belong to whoever
 * made the memory (cf_memory_create allocates them; cf_memory_adopt takes foreign ones). Death is a generation: a
 * buffer is dead when the memory moved on. Who holds a memory is claims.h's subject.
 *
 * Atomics: a word that says "you may now look at the bytes" is stored with release and loaded with acquire.
 */
#ifndef COUNTERFOIL_MEMORY_H
#define COUNTERFOIL_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CF_EXCLUSIVE INT64_MIN      /* the sign of `claims`: a donation holds the memory */
#define CF_CLAIMS_EXPORTED (INT64_C(1) << 62) /* the mark in `claims`: handed out beyond them (never cleared) */

#define CF_MEMORY_READ 1u           /* Read memory: never written, never exclusive */
#define CF_MEMORY_EXPORTED 2u       /* born handed out beyond the claims (from_buffer): never exclusive */

struct cf_buffer;

/* Performs the work that an access of the buffer's memory must follow: access 0 read, 1 write. Answers 0, or not 0 if
 * that work was lost. Called with a claim held, and only where the memory's counters say there is pending work. */
typedef int (*cf_wait_function)(struct cf_buffer *buffer, int access);

typedef struct cf_device {
    _Atomic int32_t lost;           /* set once, with release; a door that sees it answers CF_LOST */
    cf_wait_function wait;          /* NULL: nothing of this device is ever pending */
} cf_device;

typedef struct cf_memory {
    uint8_t *base;                  /* first byte, also for memory the host does not address (then only for copies) */
    int64_t nbytes;
    cf_device *device;              /* who made it */
    void *handle;                   /* the owner's object, for the wait callback */
    void *allocation;               /* what cf_memory_destroy frees; NULL for adopted bytes */
    uint32_t flags;                 /* CF_MEMORY_*, facts from birth */
    _Atomic int64_t claims;         /* counted, plus CF_CLAIMS_EXPORTED, plus CF_EXCLUSIVE (then 0 are counted) */
    _Atomic uint64_t generation;    /* raised by consume and free */
    _Atomic int32_t pending_writes; /* submissions not performed that write it: a read must wait */
    _Atomic int32_t pending_uses;   /* submissions not performed that name it: a write must wait */
    _Atomic uint32_t lost;          /* bit 0: a read must follow work a lost device dropped; bit 1: a write must */
} cf_memory;

typedef struct cf_buffer {
    cf_memory *memory;
    int64_t offset, nbytes;         /* the bytes [offset, offset + nbytes) of the memory */
    uint64_t generation;            /* the memory's when the buffer was made */
    cf_device *device;              /* the device it is a buffer of (a borrow's may differ from the memory's) */
    int32_t addressable;            /* the host addresses it through this buffer */
} cf_buffer;

/* A device record; NULL without memory. `wait` is called for memory that this device made. */
cf_device *cf_device_create(cf_wait_function wait);
void cf_device_destroy(cf_device *device);
void cf_device_lose(cf_device *device);
bool cf_device_lost(const cf_device *device);

/* Fresh memory of nbytes >= 0 unspecified bytes: on a multiple of 64 bytes, of a page from 64 KiB on; 0 bytes have no
 * address. NULL if there is none. flags: CF_MEMORY_*. */
cf_memory *cf_memory_create(int64_t nbytes, cf_device *device, void *handle, uint32_t flags);

/* Memory over foreign bytes, which outlive it. NULL if the record itself cannot be allocated. */
cf_memory *cf_memory_adopt(void *base, int64_t nbytes, cf_device *device, void *handle, uint32_t flags);

/* Frees the record, and the bytes of cf_memory_create. No buffer, claim or view of it may be left. */
void cf_memory_destroy(cf_memory *memory);

/* The words other threads change, as they are now. */
uint64_t cf_memory_generation(const cf_memory *memory);
int32_t cf_memory_pending_writes(const cf_memory *memory);
int32_t cf_memory_pending_uses(const cf_memory *memory);
uint32_t cf_memory_lost(const cf_memory *memory);

/* A submission that names the memory was queued (sign +1), or performed or dropped (sign -1). */
void cf_memory_count_pending(cf_memory *memory, bool writes, int sign);

/* Dropped work: a read (writes true) or at least a write must follow what was never done. Adds to what was lost. */
void cf_memory_lose(cf_memory *memory, bool writes);

/* A buffer of the memory's bytes [offset, offset + nbytes), which the caller has checked, alive now. */
void cf_buffer_make(cf_buffer *out, cf_memory *memory, int64_t offset, int64_t nbytes, cf_device *device,
                    int addressable);

/* Whether the buffer's memory was consumed or freed since the buffer was made. */
bool cf_buffer_dead(const cf_buffer *buffer);

/* Whether it covers all of its memory. */
bool cf_buffer_spans(const cf_buffer *buffer);

/* Whether two buffers share a byte, by host address; two that have no byte share none. Memory without host addresses
 * has addresses of its own all the same (base), so this holds for every pair. */
bool cf_buffers_overlap(const cf_buffer *a, const cf_buffer *b);

/* Whether an access (write or read) of the buffer is known to be lost: its device, its memory's device, or dropped work
 * that the access must follow. Waits for nothing. */
bool cf_buffer_lost(const cf_buffer *buffer, bool writing);

/* Performs the pending work the access must follow, through the memory's device; 0, or CF_LOST (door.h). The caller
 * holds a claim. Nothing pending and nothing lost: four loads. */
int cf_buffer_wait(cf_buffer *buffer, bool writing);

#endif

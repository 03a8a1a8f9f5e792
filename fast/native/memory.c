#include "memory.h"

#include <stdlib.h>

#include "door.h"

#define LINE 64           /* bytes of a cache line and of the widest vector */
#define PAGE 4096         /* other devices map whole pages */
#define PAGED (64 * 1024) /* from this size on, memory starts on a page */

#define LOST_READ 1u
#define LOST_WRITE 2u

/* ---- devices ---- */

cf_device *cf_device_create(cf_wait_function wait) {
    cf_device *device = malloc(sizeof *device);
    if (!device) return NULL;
    atomic_init(&device->lost, 0);
    device->wait = wait;
    return device;
}

void cf_device_destroy(cf_device *device) {
    free(device);
}

/* Release: whoever sees the loss (acquire) also sees the dropped work that was recorded before it. */
void cf_device_lose(cf_device *device) {
    atomic_store_explicit(&device->lost, 1, memory_order_release);
}

bool cf_device_lost(const cf_device *device) {
    return atomic_load_explicit(&device->lost, memory_order_acquire);
}

/* ---- memories ---- */

cf_memory *cf_memory_adopt(void *base, int64_t nbytes, cf_device *device, void *handle, uint32_t flags) {
    cf_memory *memory = malloc(sizeof *memory);
    if (!memory) return NULL;
    memory->base = base;
    memory->nbytes = nbytes;
    memory->device = device;
    memory->handle = handle;
    memory->allocation = NULL;
    memory->flags = flags;
    atomic_init(&memory->claims, flags & CF_MEMORY_EXPORTED ? CF_CLAIMS_EXPORTED : 0);
    atomic_init(&memory->generation, 0);
    atomic_init(&memory->pending_writes, 0);
    atomic_init(&memory->pending_uses, 0);
    atomic_init(&memory->lost, 0);
    return memory;
}

cf_memory *cf_memory_create(int64_t nbytes, cf_device *device, void *handle, uint32_t flags) {
    void *bytes = NULL;
    if (nbytes > 0) {
        size_t alignment = nbytes >= PAGED ? PAGE : LINE;
        if ((uint64_t)nbytes > SIZE_MAX || posix_memalign(&bytes, alignment, (size_t)nbytes) != 0) return NULL;
    }
    cf_memory *memory = cf_memory_adopt(bytes, nbytes, device, handle, flags);
    if (!memory) {
        free(bytes);
        return NULL;
    }
    memory->allocation = bytes;
    return memory;
}

void cf_memory_destroy(cf_memory *memory) {
    if (!memory) return;
    free(memory->allocation);
    free(memory);
}

uint64_t cf_memory_generation(const cf_memory *memory) {
    return atomic_load_explicit(&memory->generation, memory_order_acquire);
}

/* ---- pending and lost work ----
 *
 * Acquire: a count of 0 says that the work is done, and its writes are then seen. */

int32_t cf_memory_pending_writes(const cf_memory *memory) {
    return atomic_load_explicit(&memory->pending_writes, memory_order_acquire);
}

int32_t cf_memory_pending_uses(const cf_memory *memory) {
    return atomic_load_explicit(&memory->pending_uses, memory_order_acquire);
}

uint32_t cf_memory_lost(const cf_memory *memory) {
    return atomic_load_explicit(&memory->lost, memory_order_acquire);
}

/* Release: the last subtraction publishes what the work wrote. */
void cf_memory_count_pending(cf_memory *memory, bool writes, int sign) {
    if (writes) atomic_fetch_add_explicit(&memory->pending_writes, sign, memory_order_release);
    atomic_fetch_add_explicit(&memory->pending_uses, sign, memory_order_release);
}

void cf_memory_lose(cf_memory *memory, bool writes) {
    atomic_fetch_or_explicit(&memory->lost, writes ? LOST_READ | LOST_WRITE : LOST_WRITE, memory_order_release);
}

/* ---- buffers ---- */

void cf_buffer_make(cf_buffer *out, cf_memory *memory, int64_t offset, int64_t nbytes, cf_device *device,
                    int addressable) {
    out->memory = memory;
    out->offset = offset;
    out->nbytes = nbytes;
    out->generation = cf_memory_generation(memory);
    out->device = device;
    out->addressable = addressable;
}

bool cf_buffer_dead(const cf_buffer *buffer) {
    return cf_memory_generation(buffer->memory) != buffer->generation;
}

bool cf_buffer_spans(const cf_buffer *buffer) {
    return buffer->offset == 0 && buffer->nbytes == buffer->memory->nbytes;
}

bool cf_buffers_overlap(const cf_buffer *a, const cf_buffer *b) {
    if (a->nbytes == 0 || b->nbytes == 0) return false;
    uintptr_t p = (uintptr_t)a->memory->base + (uintptr_t)a->offset;
    uintptr_t q = (uintptr_t)b->memory->base + (uintptr_t)b->offset;
    return p < q + (uintptr_t)b->nbytes && q < p + (uintptr_t)a->nbytes;
}

bool cf_buffer_lost(const cf_buffer *buffer, bool writing) {
    const cf_memory *memory = buffer->memory;
    if (cf_device_lost(buffer->device)) return true;
    if (memory->device != buffer->device && cf_device_lost(memory->device)) return true;
    return cf_memory_lost(memory) & (writing ? LOST_WRITE : LOST_READ);
}

int cf_buffer_wait(cf_buffer *buffer, bool writing) {
    cf_memory *memory = buffer->memory;
    if (cf_buffer_lost(buffer, writing)) return CF_LOST;
    int32_t pending = writing ? cf_memory_pending_uses(memory) : cf_memory_pending_writes(memory);
    if (pending == 0 || !memory->device->wait) return 0;
    if (memory->device->wait(buffer, writing) != 0) return CF_LOST;
    return cf_buffer_lost(buffer, writing) ? CF_LOST : 0;
}

#include "claims.h"

/* The counted claims in the word, whatever else it says. */
static int64_t counted(int64_t word) {
    return word & (CF_CLAIMS_EXPORTED - 1);
}

/* One more claim, unless the memory is exclusive. Acquire: bytes and generation as the last holder left them. */
static bool count_claim(cf_memory *memory) {
    int64_t seen = atomic_load_explicit(&memory->claims, memory_order_relaxed);
    do {
        if (seen < 0) return false;
    } while (!atomic_compare_exchange_weak_explicit(&memory->claims, &seen, seen + 1, memory_order_acquire,
                                                    memory_order_relaxed));
    return true;
}

void cf_release(cf_buffer *buffer) {
    atomic_fetch_sub_explicit(&buffer->memory->claims, 1, memory_order_release);
}

int cf_claim(cf_buffer *buffer, bool writing) {
    cf_memory *memory = buffer->memory;
    if (cf_buffer_dead(buffer)) return CF_DEAD_BUFFER;
    if (!count_claim(memory)) return cf_buffer_dead(buffer) ? CF_DEAD_BUFFER : CF_HELD_EXCLUSIVE;
    int answer = CF_DONE;
    if (cf_buffer_dead(buffer)) answer = CF_DEAD_BUFFER;
    else if (writing && memory->flags & CF_MEMORY_READ) answer = CF_READ_ONLY;
    if (answer != CF_DONE) cf_release(buffer);
    return answer;
}

void cf_claims_release(cf_buffer *const *buffers, int count) {
    for (int k = 0; k < count; k++) cf_release(buffers[k]);
}

/* The first dead buffer, -1 if all live. */
static int first_dead(cf_buffer *const *buffers, int count) {
    for (int k = 0; k < count; k++) {
        if (cf_buffer_dead(buffers[k])) return k;
    }
    return -1;
}

/* The first buffer of Read memory that is to be written, -1 if none. */
static int first_read_only(cf_buffer *const *buffers, const uint8_t *writing, int count) {
    for (int k = 0; writing && k < count; k++) {
        if (writing[k] && buffers[k]->memory->flags & CF_MEMORY_READ) return k;
    }
    return -1;
}

int cf_claims_take(cf_buffer *const *buffers, const uint8_t *writing, int count, int *where) {
    int held = 0;
    if ((*where = first_dead(buffers, count)) >= 0) return CF_DEAD_BUFFER;
    while (held < count && count_claim(buffers[held]->memory)) held++;
    int answer = CF_DONE, dead = first_dead(buffers, count), exclusive = held < count ? held : -1;
    if ((*where = dead) >= 0) answer = CF_DEAD_BUFFER;
    else if ((*where = exclusive) >= 0) answer = CF_HELD_EXCLUSIVE;
    else if ((*where = first_read_only(buffers, writing, count)) >= 0) answer = CF_READ_ONLY;
    if (answer != CF_DONE) cf_claims_release(buffers, held);
    return answer;
}

/* Only the very state "one claim, not handed out" becomes exclusive, in one step: an export, which marks the word under
 * a claim of its own, can come before or after, never between. Acquire: all that earlier holders wrote. */
bool cf_donate(cf_buffer *buffer) {
    cf_memory *memory = buffer->memory;
    int64_t mine = 1;
    if (memory->flags & CF_MEMORY_READ || !cf_buffer_spans(buffer) || cf_buffer_dead(buffer)) return false;
    return atomic_compare_exchange_strong_explicit(&memory->claims, &mine, CF_EXCLUSIVE, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* CF_EXCLUSIVE + CF_EXCLUSIVE wraps to 0 (atomic arithmetic does), so this leaves one counted claim. An addition, not a
 * store: a mark of export set meanwhile stays. Release: the next claimant sees what was written. */
void cf_donate_end(cf_buffer *buffer) {
    atomic_fetch_add_explicit(&buffer->memory->claims, CF_EXCLUSIVE + 1, memory_order_release);
}

/* Release: a buffer is seen to be dead no later than the bytes its consumer writes. */
uint64_t cf_consume(cf_buffer *buffer) {
    return atomic_fetch_add_explicit(&buffer->memory->generation, 1, memory_order_acq_rel) + 1;
}

void cf_export(cf_buffer *buffer) {
    atomic_fetch_or_explicit(&buffer->memory->claims, CF_CLAIMS_EXPORTED, memory_order_acq_rel);
}

int64_t cf_retire(cf_buffer *buffer) {
    cf_memory *memory = buffer->memory;
    int64_t seen = atomic_load_explicit(&memory->claims, memory_order_relaxed);
    do {
        if (cf_buffer_dead(buffer)) return -2;
        if (seen < 0) return -1;
        if (counted(seen) != 0) return counted(seen);
    } while (!atomic_compare_exchange_weak_explicit(&memory->claims, &seen, seen | CF_EXCLUSIVE, memory_order_acquire,
                                                    memory_order_relaxed));
    bool dead = cf_buffer_dead(buffer); /* a consumer may have come between the look and the step */
    if (!dead) cf_consume(buffer);
    atomic_fetch_and_explicit(&memory->claims, ~CF_EXCLUSIVE, memory_order_release);
    return dead ? -2 : 0;
}

int64_t cf_claims_state(const cf_memory *memory, bool *exclusive, bool *exported) {
    int64_t word = atomic_load_explicit(&memory->claims, memory_order_acquire);
    *exclusive = word < 0;
    *exported = word & CF_CLAIMS_EXPORTED;
    return word < 0 ? 0 : counted(word);
}

/* Claims, donation, death, export and neighbouring nibbles under threads; run under ThreadSanitizer.
 *
 * The payload of a memory is read and written plainly, so where the claims fail to order two threads the sanitizer sees
 * a race, and where they fail to exclude, a check fails. Exits with 0 and prints how often each thing happened. */
#include "counterfoil_native.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "threads.c:%d: %s does not hold\n", __LINE__, #condition);    \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

#define WORDS 16
#define BYTES ((int64_t)(WORDS * sizeof(uint64_t)))
#define DEAD UINT64_C(0xdeaddeaddeaddead)
#define CLAIMANTS 3

static cf_device *device;

static cf_buffer new_buffer(int64_t nbytes) {
    cf_buffer buffer;
    cf_memory *memory = cf_memory_create(nbytes, device, NULL, 0);
    CHECK(memory);
    memset(memory->base, 0, (size_t)nbytes);
    cf_buffer_make(&buffer, memory, 0, nbytes, device, 1);
    return buffer;
}

static cf_array array_of(int dtype, int rank, const int64_t *shape, const int64_t *strides, int64_t offset, cf_buffer *buffer) {
    cf_layout layout;
    cf_array array;
    CHECK(cf_layout_make(&layout, rank, shape, strides, offset, NULL) == CF_FINE);
    CHECK(cf_array_make(&array, dtype, &layout, buffer) == CF_FINE);
    return array;
}

static void run(int count, void *(*body)(void *), void *argument, void *(*other)(void *), void *other_argument) {
    pthread_t threads[16];
    for (int k = 0; k < count; k++) {
        bool last = k == count - 1;
        CHECK(pthread_create(&threads[k], NULL, last ? other : body, last ? other_argument : argument) == 0);
    }
    for (int k = 0; k < count; k++) CHECK(pthread_join(threads[k], NULL) == 0);
}

static int64_t claims_of(const cf_memory *memory) {
    bool exclusive, exported;
    int64_t count = cf_claims_state(memory, &exclusive, &exported);
    return exclusive ? -1 : count;
}

/* ---- donation against claims ---- */

typedef struct contest {
    cf_buffer buffer;
    _Atomic int donor_done, read, refused, exclusive;
} contest;

static uint64_t *payload(const cf_buffer *buffer) {
    return (uint64_t *)buffer->memory->base;
}

/* Every claim granted sees one round's words, never two rounds' nor a dead memory's. */
static void look(contest *c) {
    const uint64_t *words = payload(&c->buffer);
    for (int k = 0; k < WORDS; k++) CHECK(words[k] == words[0] && words[k] != DEAD);
}

static void *claim_and_look(void *argument) {
    contest *c = argument;
    while (!atomic_load(&c->donor_done)) {
        int answer = cf_claim(&c->buffer, false);
        if (answer != CF_DONE) {
            CHECK(answer == CF_HELD_EXCLUSIVE || answer == CF_DEAD_BUFFER);
            atomic_fetch_add(&c->refused, 1);
            continue;
        }
        look(c);
        atomic_fetch_add(&c->read, 1);
        cf_release(&c->buffer);
    }
    return NULL;
}

static void write_round(contest *c, uint64_t value) {
    for (int k = 0; k < WORDS; k++) payload(&c->buffer)[k] = value;
}

static void *donate_rounds(void *argument) {
    contest *c = argument;
    for (uint64_t round = 1; atomic_load(&c->exclusive) < 400 || atomic_load(&c->read) < 400; round++) {
        CHECK(cf_claim(&c->buffer, true) == CF_DONE);
        if (cf_donate(&c->buffer)) {
            atomic_fetch_add(&c->exclusive, 1);
            CHECK(claims_of(c->buffer.memory) == -1); /* the refused leave no trace, not even for a moment */
            write_round(c, round);
            cf_donate_end(&c->buffer);
        }
        cf_release(&c->buffer);
    }
    atomic_store(&c->donor_done, 1);
    return NULL;
}

static void donation_excludes(void) {
    contest c = {.buffer = new_buffer(BYTES)};
    run(CLAIMANTS + 1, claim_and_look, &c, donate_rounds, &c);
    CHECK(claims_of(c.buffer.memory) == 0);
    printf("donation: %d exclusive, %d reads\n", c.exclusive, c.read);
    cf_memory_destroy(c.buffer.memory);
}

/* ---- death ---- */

static void *consume_once(void *argument) {
    contest *c = argument;
    while (atomic_load(&c->read) < 200) continue;
    for (;;) {
        CHECK(cf_claim(&c->buffer, true) == CF_DONE);
        if (cf_donate(&c->buffer)) break;
        cf_release(&c->buffer);
    }
    cf_consume(&c->buffer);
    write_round(c, DEAD);
    cf_donate_end(&c->buffer);
    cf_release(&c->buffer);
    int before = atomic_load(&c->refused);
    while (atomic_load(&c->refused) < before + 200) continue;
    atomic_store(&c->donor_done, 1);
    return NULL;
}

static void dead_stay_dead(void) {
    contest c = {.buffer = new_buffer(BYTES)};
    run(CLAIMANTS + 1, claim_and_look, &c, consume_once, &c);
    CHECK(cf_buffer_dead(&c.buffer) && cf_claim(&c.buffer, false) == CF_DEAD_BUFFER);
    CHECK(claims_of(c.buffer.memory) == 0);
    printf("death: %d reads before, %d refused\n", c.read, c.refused);
    cf_memory_destroy(c.buffer.memory);
}

static void *retire_once(void *argument) {
    contest *c = argument;
    while (atomic_load(&c->read) < 200) continue;
    int64_t answer;
    while ((answer = cf_retire(&c->buffer)) != 0) CHECK(answer > 0 && answer <= CLAIMANTS);
    write_round(c, DEAD); /* nobody holds a claim, and nobody gets one */
    atomic_store(&c->donor_done, 1);
    return NULL;
}

static void free_waits_for_no_claim(void) {
    contest c = {.buffer = new_buffer(BYTES)};
    run(CLAIMANTS + 1, claim_and_look, &c, retire_once, &c);
    CHECK(cf_retire(&c.buffer) == -2 && claims_of(c.buffer.memory) == 0);
    printf("free: %d reads before\n", c.read);
    cf_memory_destroy(c.buffer.memory);
}

/* ---- export ---- */

static void *export_once(void *argument) {
    contest *c = argument;
    while (atomic_load(&c->exclusive) < 50) continue;
    while (cf_claim(&c->buffer, false) != CF_DONE) continue;
    cf_export(&c->buffer);
    cf_release(&c->buffer);
    atomic_store(&c->donor_done, 1);
    return NULL;
}

static void *donate_until_exported(void *argument) {
    contest *c = argument;
    for (int after = 0; after < 50;) {
        bool exported = atomic_load(&c->donor_done);
        CHECK(cf_claim(&c->buffer, true) == CF_DONE);
        if (cf_donate(&c->buffer)) {
            CHECK(!exported);
            atomic_fetch_add(&c->exclusive, 1);
            cf_donate_end(&c->buffer);
        }
        cf_release(&c->buffer);
        after += exported;
    }
    return NULL;
}

static void exported_is_never_exclusive(void) {
    contest c = {.buffer = new_buffer(BYTES)};
    run(2, donate_until_exported, &c, export_once, &c);
    CHECK(!cf_donate(&c.buffer) && claims_of(c.buffer.memory) == 0);
    printf("export: %d exclusive before\n", c.exclusive);
    cf_memory_destroy(c.buffer.memory);
}

/* ---- all or none ---- */

#define OPERANDS 20 /* more than one run of 18 */

typedef struct party {
    cf_buffer buffers[OPERANDS];
    cf_array arrays[OPERANDS];
    const cf_array *forward[OPERANDS], *backward[OPERANDS];
    cf_buffer *vector[OPERANDS];
    _Atomic int turn, done, held, refused;
} party;

static void *through_the_door(void *argument) {
    party *p = argument;
    bool forward = atomic_fetch_add(&p->turn, 1) % 2;
    const cf_array *const *operands = forward ? p->forward : p->backward;
    while (!atomic_load(&p->done)) {
        int answer = cf_door_enter(operands, 0, OPERANDS, true);
        CHECK(answer == CF_DONE || answer == CF_HELD_EXCLUSIVE);
        if (answer == CF_DONE) {
            for (int k = 0; k < OPERANDS; k++) CHECK(claims_of(operands[k]->buffer->memory) > 0);
            cf_door_leave(operands, OPERANDS);
        }
        atomic_fetch_add(answer == CF_DONE ? &p->held : &p->refused, 1);
    }
    return NULL;
}

static void *donate_one_or_the_other(void *argument) {
    party *p = argument;
    for (int round = 0; atomic_load(&p->held) < 300 || atomic_load(&p->refused) < 300; round++) {
        cf_buffer *buffer = &p->buffers[round % 2 ? 0 : OPERANDS - 1];
        CHECK(cf_claim(buffer, true) == CF_DONE);
        bool exclusive = cf_donate(buffer);
        for (int k = 0; exclusive && k < 200; k++) CHECK(claims_of(buffer->memory) == -1);
        if (exclusive) cf_donate_end(buffer);
        cf_release(buffer);
    }
    atomic_store(&p->done, 1);
    return NULL;
}

static void set_up(party *p) {
    int64_t shape = 4, stride = 1;
    memset(p, 0, sizeof *p);
    for (int k = 0; k < OPERANDS; k++) {
        p->buffers[k] = new_buffer(16);
        p->arrays[k] = array_of(CF_FLOAT32, 1, &shape, &stride, 0, &p->buffers[k]);
        p->forward[k] = p->backward[OPERANDS - 1 - k] = &p->arrays[k];
        p->vector[k] = &p->buffers[k];
    }
}

static void all_or_none(void) {
    party *p = malloc(sizeof *p);
    CHECK(p);
    set_up(p);
    run(CLAIMANTS, through_the_door, p, donate_one_or_the_other, p);
    int where;
    CHECK(cf_claims_take(p->vector, NULL, OPERANDS, &where) == CF_DONE);
    for (int k = 0; k < OPERANDS; k++) CHECK(cf_donate(&p->buffers[k])); /* each claim is the only one: none stayed */
    printf("all or none: %d held, %d refused\n", p->held, p->refused);
    for (int k = 0; k < OPERANDS; k++) cf_memory_destroy(p->buffers[k].memory);
    free(p);
}

/* ---- neighbours within a byte ---- */

#define NIBBLES 64
#define STORES 400

typedef struct neighbours {
    cf_buffer buffer;
    int dtype, lanes;  /* lane k owns elements k, k + lanes, ... */
    _Atomic int turn;
} neighbours;

/* One element at a time, then the whole lane at once; the last value of a lane is its number plus one. */
static void *store_lane(void *argument) {
    neighbours *n = argument;
    int lane = atomic_fetch_add(&n->turn, 1);
    int64_t shape = NIBBLES / n->lanes, stride = n->lanes;
    cf_array array = array_of(n->dtype, 1, &shape, &stride, lane, &n->buffer);
    uint8_t loose[NIBBLES];
    for (int round = STORES; round >= 0; round--) {
        uint64_t bits[2] = {(uint64_t)(lane + 1 + round) & ((1u << array.bits) - 1), 0};
        for (int64_t index = 0; index < shape; index += 7) CHECK(cf_array_set(&array, &index, bits) == CF_DONE);
        memset(loose, (int)bits[0], sizeof loose);
        cf_array_scatter(&array, loose);
    }
    return NULL;
}

static void stores_keep_neighbours(int dtype, int lanes) {
    neighbours n = {.buffer = new_buffer(NIBBLES * cf_dtype_bits(dtype) / 8), .dtype = dtype, .lanes = lanes};
    run(lanes, store_lane, &n, store_lane, &n);
    int64_t shape = NIBBLES, stride = 1;
    cf_array array = array_of(dtype, 1, &shape, &stride, 0, &n.buffer);
    uint8_t loose[NIBBLES];
    CHECK(cf_array_read(&array, loose) == CF_DONE);
    for (int k = 0; k < NIBBLES; k++) CHECK(loose[k] == ((k % lanes + 1) & ((1 << array.bits) - 1)));
    printf("neighbours: %d lanes of %d bits\n", lanes, array.bits);
    cf_memory_destroy(n.buffer.memory);
}

/* Two copies whose destinations meet inside a byte: elements [0, 31) and [31, 64) of one array. */
typedef struct halves {
    cf_buffer from, to;
    _Atomic int turn;
} halves;

static void *copy_half(void *argument) {
    halves *h = argument;
    int64_t second = atomic_fetch_add(&h->turn, 1), shape = second ? 33 : 31, stride = 1;
    cf_array src = array_of(CF_UINT4, 1, &shape, &stride, second * 31, &h->from);
    cf_array dst = array_of(CF_UINT4, 1, &shape, &stride, second * 31, &h->to);
    for (int round = 0; round < STORES; round++) cf_array_transfer(&dst, &src);
    return NULL;
}

static void copies_keep_neighbours(void) {
    halves h = {.from = new_buffer(32), .to = new_buffer(32)};
    for (int k = 0; k < 32; k++) h.from.memory->base[k] = (uint8_t)(k * 37 + 11);
    run(2, copy_half, &h, copy_half, &h);
    CHECK(memcmp(h.from.memory->base, h.to.memory->base, 32) == 0);
    cf_memory_destroy(h.from.memory);
    cf_memory_destroy(h.to.memory);
}

/* ---- pending work ---- */

static void *perform(void *argument) {
    contest *c = argument;
    write_round(c, 7);
    cf_memory_count_pending(c->buffer.memory, true, -1);
    return NULL;
}

static void *wait_and_look(void *argument) {
    contest *c = argument;
    while (cf_memory_pending_writes(c->buffer.memory) != 0) continue;
    CHECK(cf_buffer_wait(&c->buffer, false) == 0 && payload(&c->buffer)[WORDS - 1] == 7);
    return NULL;
}

static void performed_work_is_seen(void) {
    contest c = {.buffer = new_buffer(BYTES)};
    cf_memory_count_pending(c.buffer.memory, true, 1);
    run(3, wait_and_look, &c, perform, &c);
    cf_memory_destroy(c.buffer.memory);
}

int main(void) {
    device = cf_device_create(NULL);
    donation_excludes();
    dead_stay_dead();
    free_waits_for_no_claim();
    exported_is_never_exclusive();
    all_or_none();
    stores_keep_neighbours(CF_INT4, 2);
    stores_keep_neighbours(CF_BIT, 8);
    copies_keep_neighbours();
    performed_work_is_seen();
    cf_device_destroy(device);
    return 0;
}

/* Claims (A8): who holds a memory, and donation.
 *
 * One word per memory counts the claims; reading and writing claims count alike. A donation turns "exactly my one
 * claim" into CF_EXCLUSIVE, and back. Every change of the word is one compare-and-swap or one addition, so what one
 * thread sees is a state the memory was in: a refused claim was never counted.
 *
 * Orders: taking a claim, or exclusivity, is acquire; giving either up is release. So whoever takes the memory after
 * somebody gave it up sees all bytes written before that, and a new generation set before that.
 */
#ifndef COUNTERFOIL_CLAIMS_H
#define COUNTERFOIL_CLAIMS_H

#include "memory.h"
#include "words.h"

/* One counted claim on the buffer's memory. CF_DONE, or CF_DEAD_BUFFER, CF_HELD_EXCLUSIVE, CF_READ_ONLY (writing, Read
 * memory), the first that applies, with nothing held. The generation is looked at before claiming and again after:
 * a buffer consumed meanwhile is dead, not exclusive. */
int cf_claim(cf_buffer *buffer, bool writing);

/* Gives back one counted claim, of a live or a dead buffer. */
void cf_release(cf_buffer *buffer);

/* Claims on all of them, or none (A13's order: any dead one first, then any exclusive, then any Read one written).
 * writing[k] says whether buffers[k] is written; NULL: none is. CF_DONE, or the fault with *where its first buffer. */
int cf_claims_take(cf_buffer *const *buffers, const uint8_t *writing, int count, int *where);
void cf_claims_release(cf_buffer *const *buffers, int count);

/* The holder of one counted claim donates the memory: true, and it is exclusive, iff the buffer is live and spans its
 * memory, the memory is neither Read nor exported, and that claim is the only one. Else the claim stays counted. */
bool cf_donate(cf_buffer *buffer);

/* The end of an exclusive holding: it is one counted claim again, to be released. */
void cf_donate_end(cf_buffer *buffer);

/* Every buffer of the memory made so far is dead. Answers the new generation. The holder of a claim calls it. */
uint64_t cf_consume(cf_buffer *buffer);

/* Marks the memory as handed out beyond the claims: it is never exclusive again (an exclusive holding goes on to its
 * end). The caller holds a claim or the exclusivity, so no donation comes between. */
void cf_export(cf_buffer *buffer);

/* Ends the memory for `free`: 0, and all its buffers are dead, if nobody holds a claim; else the number of claims; or
 * -1 if it is exclusive, -2 if the buffer is dead. While it acts the memory is held as if exclusive. */
int64_t cf_retire(cf_buffer *buffer);

/* The state, for `Buffer.claims`: counted claims (0 when exclusive), held exclusive, handed out. One look. */
int64_t cf_claims_state(const cf_memory *memory, bool *exclusive, bool *exported);

#endif

/* Answers questions put on standard input to the 64-bit checks of fast/native/bounds.h, one line each.
 *
 *   p RANK EXTENTS...                  -> within size        (cf_product_within; size -1 if not within)
 *   s RANK SHAPE... STRIDES... OFFSET  -> answer lo hi       (cf_span; lo and hi -1 if not CF_SPAN_OK)
 *   r EXTENT START COUNT STEP          -> within             (cf_last_within)
 *   w EXTENT SIZE STEP DILATION        -> count              (cf_window_count)
 *   b HI BITS NBYTES                   -> within             (cf_reach_within_bytes)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CF_BOUNDS_FIT(condition) ((condition) ? (void)0 : abort())

#include "bounds.h"

static cf_index next(void) {
    cf_index value;
    if (scanf("%" SCNd64, &value) != 1) abort();
    return value;
}

static void read_into(cf_index *values, int count) {
    for (int k = 0; k < count; k++) values[k] = next();
}

static void product(void) {
    cf_index extents[32], size = -1;
    int rank = (int)next();
    read_into(extents, rank);
    int within = cf_product_within(rank, extents, &size);
    printf("%d %" PRId64 "\n", within, size);
}

static void span(void) {
    cf_index shape[32], strides[32], lo = -1, hi = -1;
    int rank = (int)next();
    read_into(shape, rank);
    read_into(strides, rank);
    int answer = cf_span(rank, shape, strides, next(), &lo, &hi);
    printf("%d %" PRId64 " %" PRId64 "\n", answer, lo, hi);
}

int main(void) {
    cf_index of[4];
    char question;
    while (scanf(" %c", &question) == 1) {
        switch (question) {
        case 'p': product(); break;
        case 's': span(); break;
        case 'r': read_into(of, 4); printf("%d\n", cf_last_within(of[0], of[1], of[2], of[3])); break;
        case 'w': read_into(of, 4); printf("%" PRId64 "\n", cf_window_count(of[0], of[1], of[2], of[3])); break;
        case 'b': read_into(of, 3); printf("%d\n", cf_reach_within_bytes(of[0], (int)of[1], of[2])); break;
        default: abort();
        }
    }
    return 0;
}

/* The checks of fast/native/bounds.h with an 8-bit index, compared with exact integers on every input.
 *
 * `long` is exact for everything formed here. The right answers are found by enumeration where the header counts or
 * divides: positions of indices, elements of a range, windows one after another. Prints the number of inputs compared
 * of each check; stops at the first difference with exit status 1.
 */
#include <stdio.h>
#include <stdlib.h>

#define CF_INDEX_BITS 8
#define CF_BOUNDS_FIT(condition) ((condition) ? (void)0 : lost(#condition, __LINE__))

static void lost(const char *condition, int line) {
    fprintf(stderr, "bounds.h:%d: a value was narrowed that does not fit: %s\n", line, condition);
    exit(1);
}

#include "bounds.h"

enum { LOW = -128, HIGH = 127, LIMIT = CF_LIMIT };

static void differs(const char *what, long a, long b, long c, long d, long e) {
    fprintf(stderr, "%s differs at %ld %ld %ld %ld %ld\n", what, a, b, c, d, e);
    exit(1);
}

/* Ranks 0 to 3, every extent of 0 to 127. */
static long products(void) {
    long inputs = 0;
    for (int rank = 0; rank <= 3; rank++) {
        long shapes = 1;
        for (int axis = 0; axis < rank; axis++) shapes *= HIGH + 1;
        for (long shape = 0; shape < shapes; shape++, inputs++) {
            cf_index extents[3] = {(cf_index)(shape % 128), (cf_index)(shape / 128 % 128), (cf_index)(shape / 16384)};
            long other_than_0 = 1, all = 1;
            for (int axis = 0; axis < rank; axis++) {
                all *= extents[axis];
                if (extents[axis] != 0) other_than_0 *= extents[axis];
            }
            cf_index size = -1;
            bool within = cf_product_within(rank, extents, &size);
            if (within != (other_than_0 <= LIMIT) || size != (within ? all : -1)) {
                differs("cf_product_within", rank, extents[0], extents[1], extents[2], size);
            }
        }
    }
    return inputs;
}

/* The least and the greatest of index * stride over the indices of an axis, by enumeration. */
static signed short least_of[LIMIT + 1][256], greatest_of[LIMIT + 1][256];

static void enumerate_axes(void) {
    for (int extent = 1; extent <= LIMIT; extent++) {
        for (int stride = LOW; stride <= HIGH; stride++) {
            short least = 0, greatest = 0;
            for (int index = 0; index < extent; index++) {
                if (index * stride < least) least = (short)(index * stride);
                if (index * stride > greatest) greatest = (short)(index * stride);
            }
            least_of[extent][stride - LOW] = least;
            greatest_of[extent][stride - LOW] = greatest;
        }
    }
}

/* Every offset, for one shape and strides. */
static void span_at(int rank, const cf_index *shape, const cf_index *strides, bool empty) {
    long below = 0, above = 0;
    for (int axis = 0; axis < rank && !empty; axis++) {
        below += least_of[shape[axis]][strides[axis] - LOW];
        above += greatest_of[shape[axis]][strides[axis] - LOW];
    }
    for (int offset = LOW; offset <= HIGH; offset++) {
        long least = empty ? 0 : offset + below, end = empty ? 0 : offset + above + 1;
        enum cf_span_answer right = least < 0 ? CF_SPAN_NEGATIVE : end > LIMIT ? CF_SPAN_PAST : CF_SPAN_OK;
        cf_index lo = -1, hi = -1;
        enum cf_span_answer answer = cf_span(rank, shape, strides, (cf_index)offset, &lo, &hi);
        bool accepted = right == CF_SPAN_OK;
        if (answer != right || lo != (accepted ? least : -1) || hi != (accepted ? end : -1)) {
            differs("cf_span", shape[0], shape[1], strides[0], strides[1], offset);
        }
    }
}

/* Ranks 0 to 2, every shape that cf_product_within accepts, every stride and offset. */
static long spans(void) {
    enumerate_axes();
    const cf_index none[2] = {0, 0};
    span_at(0, none, none, false);
    long inputs = 256;
    for (int d = 0; d <= LIMIT; d++) {
        for (int s = LOW; s <= HIGH; s++, inputs += 256) {
            cf_index shape[2] = {(cf_index)d, 0}, strides[2] = {(cf_index)s, 0};
            span_at(1, shape, strides, d == 0);
        }
    }
    for (int d = 0; d <= LIMIT; d++) {
        for (int e = 0; e <= LIMIT && (d == 0 ? 1 : d) * (e == 0 ? 1 : e) <= LIMIT; e++) {
            for (long pair = 0; pair < 65536; pair++, inputs += 256) {
                cf_index shape[2] = {(cf_index)d, (cf_index)e};
                cf_index strides[2] = {(cf_index)(pair / 256 + LOW), (cf_index)(pair % 256 + LOW)};
                span_at(2, shape, strides, d == 0 || e == 0);
            }
        }
    }
    return inputs;
}

/* Every extent of an accepted shape, every start, count and step. */
static long ranges(void) {
    long inputs = 0;
    for (int extent = 0; extent <= LIMIT; extent++) {
        for (int start = LOW; start <= HIGH; start++) {
            for (int step = LOW; step <= HIGH; step++) {
                /* The elements inside the axis, walking from start: a range of more than these leaves it. */
                int inside = 0;
                for (int at = start; step != 0 && at >= 0 && at < extent; at += step) inside++;
                for (int count = LOW; count <= HIGH; count++, inputs++) {
                    bool right = step != 0 && count >= 0 && count <= inside;
                    if (cf_last_within((cf_index)extent, (cf_index)start, (cf_index)count, (cf_index)step) != right) {
                        differs("cf_last_within", extent, start, count, step, inside);
                    }
                }
            }
        }
    }
    return inputs;
}

/* Every extent of an accepted shape, every size, step and dilation. */
static long windows(void) {
    long inputs = 0;
    for (int extent = 0; extent <= LIMIT; extent++) {
        for (int size = LOW; size <= HIGH; size++) {
            for (int step = LOW; step <= HIGH; step++) {
                for (int dilation = LOW; dilation <= HIGH; dilation++, inputs++) {
                    int right = 0;
                    bool window = size >= 1 && step >= 1 && dilation >= 1;
                    while (window && right * step + dilation * (size - 1) < extent) right++;
                    cf_index count =
                        cf_window_count((cf_index)extent, (cf_index)size, (cf_index)step, (cf_index)dilation);
                    if (count != right) differs("cf_window_count", extent, size, step, dilation, right);
                }
            }
        }
    }
    return inputs;
}

/* Every end of a span, every width, every number of bytes. */
static long bytes(void) {
    long inputs = 0;
    for (int hi = 0; hi <= LIMIT; hi++) {
        for (int bits = 1; bits <= 128; bits *= 2) {
            for (int nbytes = 0; nbytes <= HIGH; nbytes++, inputs++) {
                bool right = (long)hi * bits <= (long)nbytes * 8;
                if (cf_reach_within_bytes((cf_index)hi, bits, (cf_index)nbytes) != right) {
                    differs("cf_reach_within_bytes", hi, bits, nbytes, right, 0);
                }
            }
        }
    }
    return inputs;
}

int main(void) {
    printf("cf_product_within %ld\n", products());
    printf("cf_span %ld\n", spans());
    printf("cf_last_within %ld\n", ranges());
    printf("cf_window_count %ld\n", windows());
    printf("cf_reach_within_bytes %ld\n", bytes());
    return 0;
}

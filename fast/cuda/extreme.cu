/* max, min, argmax, argmin: over integers that are ordered as max and min order elements.
 *
 * The key of a code: the code moved to the top of a word, negative floats turned around, the sign bit of unsigned codes
 * turned over; for the least, all upside down. -0 is before +0. A NaN's key is the greatest of all, so a NaN wins. Keys
 * are turned back into codes: nothing is rounded, and every NaN comes out as one NaN.
 *
 * Defines: CF_DTYPE; CF_LEAST for min and argmin; CF_POSITION for argmax and argmin; CF_KEPT, CF_WALKED, CF_WIDE,
 * CF_NEIGHBOURS (reduction.cuh).
 */
#include "numbers.cuh"
#include "walk.cuh"

#if CF_DTYPE == CF_FLOAT64 || CF_DTYPE == CF_INT64 || CF_DTYPE == CF_UINT64
typedef long long cf_key;
typedef unsigned long long cf_word;
#else
typedef int cf_key;
typedef unsigned cf_word;
#endif

/* Bits of a code as the key holds it; the code of the greatest number that is no NaN; a NaN. */
#if CF_DTYPE == CF_FLOAT64
#define CF_KEY_BITS 64
#define CF_GREATEST 0x7ff0000000000000ull
#define CF_NAN 0x7ff8000000000000ull
#elif CF_DTYPE == CF_FLOAT32
#define CF_KEY_BITS 32
#define CF_GREATEST 0x7f800000u
#define CF_NAN 0x7fc00000u
#elif CF_DTYPE == CF_FLOAT16
#define CF_KEY_BITS 16
#define CF_GREATEST 0x7c00u
#define CF_NAN 0x7e00u
#elif CF_DTYPE == CF_BFLOAT16
#define CF_KEY_BITS 16
#define CF_GREATEST 0x7f80u
#define CF_NAN 0x7fc0u
#elif CF_DTYPE == CF_FLOAT8_E4M3FN
#define CF_KEY_BITS 8
#define CF_GREATEST 0x7eu
#define CF_NAN 0x7fu
#elif CF_DTYPE == CF_FLOAT8_E5M2
#define CF_KEY_BITS 8
#define CF_GREATEST 0x7cu
#define CF_NAN 0x7eu
#elif CF_DTYPE == CF_FLOAT4_E2M1FN
#define CF_KEY_BITS 4
#define CF_GREATEST 0x7u
#define CF_NAN 0u
#elif CF_DTYPE == CF_BOOL || CF_DTYPE == CF_BIT
#define CF_KEY_BITS 1
#else
#define CF_KEY_BITS (int)cf_traits<CF_DTYPE>::bits
#endif

#if CF_DTYPE == CF_UINT64 || CF_DTYPE == CF_UINT32 || CF_DTYPE == CF_UINT16 || CF_DTYPE == CF_UINT8 || \
    CF_DTYPE == CF_UINT4 || CF_DTYPE == CF_BOOL || CF_DTYPE == CF_BIT
#define CF_TURNED 1
#else
#define CF_TURNED 0
#endif

#ifdef CF_LEAST
#define CF_FLIP (~(cf_word)0)
#else
#define CF_FLIP ((cf_word)0)
#endif

#define CF_WORD_BITS ((int)sizeof(cf_word) * 8)
#define CF_TOP ((cf_word)1 << (CF_WORD_BITS - 1))
#define CF_LAST_KEY ((cf_key)(CF_TOP - 1))
#define CF_FIRST_KEY ((cf_key)CF_TOP)

/* Negative floats turned around: twice is not at all. */
CF_DEVICE cf_word cf_turned(cf_word word) {
#ifdef CF_GREATEST
    return word ^ ((word & CF_TOP) ? CF_TOP - 1 : 0);
#else
    return CF_TURNED ? word ^ CF_TOP : word;
#endif
}

CF_DEVICE cf_key cf_key_of(cf_code<CF_DTYPE> code) {
    cf_word value = CF_DTYPE == CF_BOOL ? (cf_word)(code != 0) : (cf_word)code;
    cf_word word = value << (CF_WORD_BITS - CF_KEY_BITS);
#ifdef CF_GREATEST
    if ((word & ~CF_TOP) > ((cf_word)CF_GREATEST << (CF_WORD_BITS - CF_KEY_BITS))) return CF_LAST_KEY;
#endif
    return (cf_key)(cf_turned(word) ^ CF_FLIP);
}

CF_DEVICE cf_code<CF_DTYPE> cf_code_of(cf_key key) {
#ifdef CF_GREATEST
    if (key == CF_LAST_KEY) return (cf_code<CF_DTYPE>)CF_NAN;
#endif
    return (cf_code<CF_DTYPE>)(cf_turned((cf_word)key ^ CF_FLIP) >> (CF_WORD_BITS - CF_KEY_BITS));
}

#ifdef CF_POSITION

/* Of equal keys the earlier one. */
struct cf_part {
    cf_key key;
    cf_index at;
};

CF_DEVICE cf_part cf_no_part() {
    cf_part none = {CF_FIRST_KEY, ~(cf_index)0};
    return none;
}

CF_DEVICE cf_part cf_join(cf_part a, cf_part b) {
    bool second = b.key > a.key || (b.key == a.key && b.at < a.at);
    return second ? b : a;
}

CF_DEVICE cf_part cf_part_of(cf_code<CF_DTYPE> code, cf_index at) {
    cf_part part = {cf_key_of(code), at};
    return part;
}

CF_DEVICE void cf_finish(unsigned char *dst, long long position, cf_part part, long long terms) {
    ((long long *)dst)[position] = (long long)part.at;
}

#else

typedef cf_key cf_part;

CF_DEVICE cf_part cf_no_part() { return CF_FIRST_KEY; }

CF_DEVICE cf_part cf_join(cf_part a, cf_part b) { return b > a ? b : a; }

CF_DEVICE cf_part cf_part_of(cf_code<CF_DTYPE> code, cf_index at) {
    return cf_key_of(code);
}

CF_DEVICE void cf_finish(unsigned char *dst, long long position, cf_part part, long long terms) {
    cf_store<CF_DTYPE>(dst, position, cf_code_of(part));
}

#endif

#include "reduction.cuh"

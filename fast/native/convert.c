/* Conversions (convert.h): decode to an intermediate that holds the value exactly, then round once.
 *
 * Intermediates: float for floats of 32 bits and less, integers of 16 and less, booleans; double for float64 and
 * integers of 32 bits; int64 or uint64 for the rest and between integers. A double, or an integer past 2^53, reaches a
 * narrow float through "round to odd": truncate, and set the last bit if anything was dropped. What is left has at
 * least two bits more than any narrow format, so the rounding that follows cannot land on a tie the value is not on.
 */
#include "convert.h"

#include <stdbool.h>
#include <string.h>

#include "format.h"
#include "vector.h"

enum { BLOCK = 512 };

enum intermediate { AS_FLOAT, AS_DOUBLE, AS_INT64, AS_UINT64 };

static bool is_integer(int dtype) { return dtype >= CF_INT64 && dtype <= CF_UINT4; }

static bool is_boolean(int dtype) { return dtype == CF_BOOL || dtype == CF_BIT; }

static bool is_complex(int dtype) { return dtype == CF_COMPLEX128 || dtype == CF_COMPLEX64; }

static int loose_width(int dtype) {
    static const uint8_t widths[CF_DTYPES] = {8, 4, 2, 2, 1, 1, 1, 8, 8, 4, 4, 2, 2, 1, 1, 1, 1, 16, 8, 1, 1};
    return widths[dtype];
}

int cf_computing(int dtype) {
    static const uint8_t computing[CF_DTYPES] = {
        CF_FLOAT64, CF_FLOAT32, CF_FLOAT32, CF_FLOAT32, CF_FLOAT32, CF_FLOAT32, CF_FLOAT32,
        CF_INT64, CF_UINT64, CF_INT32, CF_UINT32, CF_INT32, CF_UINT32, CF_INT32, CF_UINT32, CF_INT32, CF_UINT32,
        CF_COMPLEX128, CF_COMPLEX64, CF_UINT8, CF_UINT8,
    };
    return computing[dtype];
}

/* ---- decoding to an intermediate -------------------------------------------------------------------------------- */

#define DECODE(name, stored, wide, expression)                              \
    CF_VECTOR static void name(const void *in, wide *out, int64_t n) {      \
        const stored *from = in;                                            \
        for (int64_t i = 0; i < n; i++) {                                   \
            stored code = from[i];                                          \
            out[i] = (expression);                                          \
        }                                                                   \
    }

DECODE(float_of_float16, uint16_t, float, cf_float_of_f16(code))
DECODE(float_of_bfloat16, uint16_t, float, cf_float_of_bf16(code))
DECODE(float_of_e4m3fn, uint8_t, float, cf_float_of_e4m3fn(code))
DECODE(float_of_e5m2, uint8_t, float, cf_float_of_e5m2(code))
DECODE(float_of_e2m1fn, uint8_t, float, cf_float_of_e2m1fn(code))
DECODE(float_of_int16, int16_t, float, (float)code)
DECODE(float_of_uint16, uint16_t, float, (float)code)
DECODE(float_of_int8, int8_t, float, (float)code)
DECODE(float_of_uint8, uint8_t, float, (float)code)
DECODE(float_of_int4, uint8_t, float, (float)cf_int4_value(code))
DECODE(float_of_boolean, uint8_t, float, (float)(code != 0))
DECODE(double_of_int32, int32_t, double, (double)code)
DECODE(double_of_uint32, uint32_t, double, (double)code)
DECODE(float_of_int32, int32_t, float, (float)code)
DECODE(float_of_uint32, uint32_t, float, (float)code)
DECODE(double_of_float, float, double, (double)code)
DECODE(int64_of_int32, int32_t, int64_t, code)
DECODE(int64_of_uint32, uint32_t, int64_t, code)
DECODE(int64_of_int16, int16_t, int64_t, code)
DECODE(int64_of_uint16, uint16_t, int64_t, code)
DECODE(int64_of_int8, int8_t, int64_t, code)
DECODE(int64_of_uint8, uint8_t, int64_t, code)
DECODE(int64_of_int4, uint8_t, int64_t, cf_int4_value(code))
DECODE(int64_of_boolean, uint8_t, int64_t, code != 0)

/* The parts of complex numbers: every other component. */
CF_VECTOR static void every_other_float(const float *in, float *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = in[2 * i];
}

CF_VECTOR static void every_other_double(const double *in, double *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = in[2 * i];
}

static void decode_float(int from, const void *in, float *out, int64_t n) {
    switch (from) {
    case CF_FLOAT32: memcpy(out, in, (size_t)n * sizeof *out); return;
    case CF_FLOAT16: float_of_float16(in, out, n); return;
    case CF_BFLOAT16: float_of_bfloat16(in, out, n); return;
    case CF_FLOAT8_E4M3FN: float_of_e4m3fn(in, out, n); return;
    case CF_FLOAT8_E5M2: float_of_e5m2(in, out, n); return;
    case CF_FLOAT4_E2M1FN: float_of_e2m1fn(in, out, n); return;
    case CF_INT16: float_of_int16(in, out, n); return;
    case CF_UINT16: float_of_uint16(in, out, n); return;
    case CF_INT8: float_of_int8(in, out, n); return;
    case CF_UINT8:
    case CF_UINT4: float_of_uint8(in, out, n); return;
    case CF_INT4: float_of_int4(in, out, n); return;
    case CF_COMPLEX64: every_other_float(in, out, n); return;
    default: float_of_boolean(in, out, n); return;
    }
}

static void decode_double(int from, const void *in, double *out, int64_t n) {
    switch (from) {
    case CF_FLOAT64: memcpy(out, in, (size_t)n * sizeof *out); return;
    case CF_COMPLEX128: every_other_double(in, out, n); return;
    case CF_INT32: double_of_int32(in, out, n); return;
    default: double_of_uint32(in, out, n); return;
    }
}

static void decode_int64(int from, const void *in, int64_t *out, int64_t n) {
    switch (from) {
    case CF_INT64:
    case CF_UINT64: memcpy(out, in, (size_t)n * sizeof *out); return;
    case CF_INT32: int64_of_int32(in, out, n); return;
    case CF_UINT32: int64_of_uint32(in, out, n); return;
    case CF_INT16: int64_of_int16(in, out, n); return;
    case CF_UINT16: int64_of_uint16(in, out, n); return;
    case CF_INT8: int64_of_int8(in, out, n); return;
    case CF_UINT8:
    case CF_UINT4: int64_of_uint8(in, out, n); return;
    case CF_INT4: int64_of_int4(in, out, n); return;
    default: int64_of_boolean(in, out, n); return;
    }
}

/* ---- encoding from an intermediate ------------------------------------------------------------------------------ */

#define ENCODE(name, wide, stored, expression)                              \
    CF_VECTOR static void name(const wide *in, void *out, int64_t n) {      \
        stored *to = out;                                                   \
        for (int64_t i = 0; i < n; i++) {                                   \
            wide value = in[i];                                             \
            to[i] = (stored)(expression);                                   \
        }                                                                   \
    }

ENCODE(float16_of_float, float, uint16_t, cf_f16_of_float(value))
ENCODE(bfloat16_of_float, float, uint16_t, cf_bf16_of_float(value))
ENCODE(e4m3fn_of_float, float, uint8_t, cf_e4m3fn_of_float(value))
ENCODE(e5m2_of_float, float, uint8_t, cf_e5m2_of_float(value))
ENCODE(e2m1fn_of_float, float, uint8_t, cf_e2m1fn_of_float(value))
ENCODE(int16_of_float, float, int16_t, cf_clamp_float(value, -32768.0f, 32767.0f))
ENCODE(uint16_of_float, float, uint16_t, cf_clamp_float(value, 0.0f, 65535.0f))
ENCODE(int8_of_float, float, int8_t, cf_clamp_float(value, -128.0f, 127.0f))
ENCODE(uint8_of_float, float, uint8_t, cf_clamp_float(value, 0.0f, 255.0f))
ENCODE(int4_of_float, float, uint8_t, cf_clamp_float(value, -8.0f, 7.0f) & 15)
ENCODE(uint4_of_float, float, uint8_t, cf_clamp_float(value, 0.0f, 15.0f))
ENCODE(boolean_of_float, float, uint8_t, value != 0.0f)
ENCODE(int32_of_double, double, int32_t, cf_clamp_double(value, -2147483648.0, 2147483647.0))
ENCODE(uint32_of_double, double, uint32_t, cf_clamp_double(value, 0.0, 4294967295.0))
ENCODE(int64_of_double, double, int64_t, cf_int64_of_double(value))
ENCODE(uint64_of_double, double, uint64_t, cf_uint64_of_double(value))
ENCODE(boolean_of_double, double, uint8_t, value != 0.0)
ENCODE(float_of_double, double, float, value)
ENCODE(odd_float_of_double, double, float, cf_odd_float(value))
ENCODE(float_of_int64, int64_t, float, value)
ENCODE(double_of_int64, int64_t, double, value)
ENCODE(odd_double_of_int64, int64_t, double, cf_odd_double_of_int64(value))
ENCODE(float_of_uint64, uint64_t, float, value)
ENCODE(double_of_uint64, uint64_t, double, value)
ENCODE(odd_double_of_uint64, uint64_t, double, cf_odd_double_of_uint64(value))
ENCODE(bits32_of_int64, int64_t, uint32_t, value)
ENCODE(bits16_of_int64, int64_t, uint16_t, value)
ENCODE(bits8_of_int64, int64_t, uint8_t, value)
ENCODE(bits4_of_int64, int64_t, uint8_t, value & 15)
ENCODE(boolean_of_int64, int64_t, uint8_t, value != 0)

static void encode_double(int to, const double *in, void *out, int64_t n);

static void encode_float(int to, const float *in, void *out, int64_t n) {
    double wide[BLOCK];
    switch (to) {
    case CF_FLOAT32: memcpy(out, in, (size_t)n * sizeof *in); return;
    case CF_FLOAT16: float16_of_float(in, out, n); return;
    case CF_BFLOAT16: bfloat16_of_float(in, out, n); return;
    case CF_FLOAT8_E4M3FN: e4m3fn_of_float(in, out, n); return;
    case CF_FLOAT8_E5M2: e5m2_of_float(in, out, n); return;
    case CF_FLOAT4_E2M1FN: e2m1fn_of_float(in, out, n); return;
    case CF_INT16: int16_of_float(in, out, n); return;
    case CF_UINT16: uint16_of_float(in, out, n); return;
    case CF_INT8: int8_of_float(in, out, n); return;
    case CF_UINT8: uint8_of_float(in, out, n); return;
    case CF_INT4: int4_of_float(in, out, n); return;
    case CF_UINT4: uint4_of_float(in, out, n); return;
    case CF_BOOL:
    case CF_BIT: boolean_of_float(in, out, n); return;
    default:
        double_of_float(in, wide, n);
        encode_double(to, wide, out, n);
    }
}

static void encode_double(int to, const double *in, void *out, int64_t n) {
    float narrow[BLOCK];
    switch (to) {
    case CF_FLOAT64: memcpy(out, in, (size_t)n * sizeof *in); return;
    case CF_FLOAT32: float_of_double(in, out, n); return;
    case CF_INT64: int64_of_double(in, out, n); return;
    case CF_UINT64: uint64_of_double(in, out, n); return;
    case CF_INT32: int32_of_double(in, out, n); return;
    case CF_UINT32: uint32_of_double(in, out, n); return;
    case CF_BOOL:
    case CF_BIT: boolean_of_double(in, out, n); return;
    default: /* narrow floats and integers: round to odd keeps which side of every boundary the value is on */
        odd_float_of_double(in, narrow, n);
        encode_float(to, narrow, out, n);
    }
}

static void encode_int64(int to, const int64_t *in, void *out, int64_t n) {
    double wide[BLOCK];
    switch (to) {
    case CF_FLOAT64: double_of_int64(in, out, n); return;
    case CF_FLOAT32: float_of_int64(in, out, n); return;
    case CF_INT64:
    case CF_UINT64: memcpy(out, in, (size_t)n * sizeof *in); return;
    case CF_INT32:
    case CF_UINT32: bits32_of_int64(in, out, n); return;
    case CF_INT16:
    case CF_UINT16: bits16_of_int64(in, out, n); return;
    case CF_INT8:
    case CF_UINT8: bits8_of_int64(in, out, n); return;
    case CF_INT4:
    case CF_UINT4: bits4_of_int64(in, out, n); return;
    case CF_BOOL:
    case CF_BIT: boolean_of_int64(in, out, n); return;
    default:
        odd_double_of_int64(in, wide, n);
        encode_double(to, wide, out, n);
    }
}

static void encode_uint64(int to, const uint64_t *in, void *out, int64_t n) {
    double wide[BLOCK];
    switch (to) {
    case CF_FLOAT64: double_of_uint64(in, out, n); return;
    case CF_FLOAT32: float_of_uint64(in, out, n); return;
    default:
        if (is_integer(to) || is_boolean(to)) {
            encode_int64(to, (const int64_t *)in, out, n);
            return;
        }
        odd_double_of_uint64(in, wide, n);
        encode_double(to, wide, out, n);
    }
}

/* ---- one block of reals ----------------------------------------------------------------------------------------- */

/* Which intermediate holds every value of `from` exactly and reaches `to` by the shortest way. */
static enum intermediate intermediate_of(int from, int to) {
    switch (from) {
    case CF_FLOAT64:
    case CF_COMPLEX128: return AS_DOUBLE;
    case CF_UINT64: return AS_UINT64;
    case CF_INT64: return AS_INT64;
    case CF_INT32:
    case CF_UINT32: return is_integer(to) || is_boolean(to) ? AS_INT64 : AS_DOUBLE;
    default: return (is_integer(from) || is_boolean(from)) && is_integer(to) ? AS_INT64 : AS_FLOAT;
    }
}

static void convert_block(int from, int to, const void *in, void *out, int64_t n) {
    union {
        float f[BLOCK];
        double d[BLOCK];
        int64_t i[BLOCK];
        uint64_t u[BLOCK];
    } value;
    switch (intermediate_of(from, to)) {
    case AS_FLOAT:
        decode_float(from, in, value.f, n);
        encode_float(to, value.f, out, n);
        return;
    case AS_DOUBLE:
        decode_double(from, in, value.d, n);
        encode_double(to, value.d, out, n);
        return;
    case AS_INT64:
        decode_int64(from, in, value.i, n);
        encode_int64(to, value.i, out, n);
        return;
    default:
        memcpy(value.u, in, (size_t)n * sizeof *value.u);
        encode_uint64(to, value.u, out, n);
    }
}

/* ---- without an intermediate ------------------------------------------------------------------------------------ */

DECODE(bits4_of_bits8, uint8_t, uint8_t, code & 15)
DECODE(bits8_of_int4, uint8_t, uint8_t, (uint8_t)cf_int4_value(code))
DECODE(truth_of_bits8, uint8_t, uint8_t, code != 0)
DECODE(int32_of_float, float, int32_t, cf_int32_of_float(code))

/* Between integers and booleans that take a byte each. */
static void convert_bytes(int from, int to, const void *in, void *out, int64_t n) {
    if (is_boolean(from) || is_boolean(to)) {
        truth_of_bits8(in, out, n);
    } else if (to == CF_INT4 || to == CF_UINT4) {
        bits4_of_bits8(in, out, n);
    } else if (from == CF_INT4) {
        bits8_of_int4(in, out, n);
    } else {
        memmove(out, in, (size_t)n); /* in may be out */
    }
}

static bool is_byte(int dtype) { return loose_width(dtype) == 1 && (is_integer(dtype) || is_boolean(dtype)); }

/* The pairs that need no intermediate storage. */
static bool convert_directly(int from, int to, const void *in, void *out, int64_t n) {
    if (from == CF_FLOAT32 && to != CF_FLOAT64 && intermediate_of(from, to) == AS_FLOAT && !is_complex(to) &&
        loose_width(to) <= 2) {
        encode_float(to, in, out, n);
    } else if (to == CF_FLOAT32 && intermediate_of(from, to) == AS_FLOAT) {
        decode_float(from, in, out, n);
    } else if (is_byte(from) && is_byte(to)) {
        convert_bytes(from, to, in, out, n);
    } else if (to == CF_INT32 && from == CF_FLOAT32) {
        int32_of_float(in, out, n);
    } else if (to == CF_FLOAT32 && from == CF_INT32) {
        float_of_int32(in, out, n);
    } else if (to == CF_FLOAT32 && from == CF_UINT32) {
        float_of_uint32(in, out, n);
    } else if (to == CF_FLOAT64 && from == CF_FLOAT32) {
        double_of_float(in, out, n);
    } else if (to == CF_FLOAT64 && (from == CF_INT32 || from == CF_UINT32)) {
        decode_double(from, in, out, n);
    } else if (from == CF_FLOAT64 && (to == CF_FLOAT32 || to == CF_INT64 || to == CF_UINT64 || to == CF_INT32)) {
        encode_double(to, in, out, n);
    } else if (is_integer(from) && is_integer(to) && loose_width(from) == loose_width(to) && loose_width(to) > 1) {
        memmove(out, in, (size_t)n * (size_t)loose_width(to)); /* in may be out */
    } else {
        return false;
    }
    return true;
}

/* ---- complex ---------------------------------------------------------------------------------------------------- */

/* n reals into the real parts of n complex numbers of `to`, the imaginary ones 0. */
static void complex_of_real(int from, int to, const void *in, void *out, int64_t n) {
    union {
        float f[BLOCK];
        double d[BLOCK];
    } part;
    bool single = to == CF_COMPLEX64;
    convert_block(from, single ? CF_FLOAT32 : CF_FLOAT64, in, &part, n);
    for (int64_t i = 0; i < n; i++) {
        if (single) {
            ((float *)out)[2 * i] = part.f[i];
            ((float *)out)[2 * i + 1] = 0.0f;
        } else {
            ((double *)out)[2 * i] = part.d[i];
            ((double *)out)[2 * i + 1] = 0.0;
        }
    }
}

static void boolean_of_complex(int from, const void *in, uint8_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (from == CF_COMPLEX64) {
            const float *parts = (const float *)in + 2 * i;
            out[i] = parts[0] != 0.0f || parts[1] != 0.0f;
        } else {
            const double *parts = (const double *)in + 2 * i;
            out[i] = parts[0] != 0.0 || parts[1] != 0.0;
        }
    }
}

static void convert_complex_block(int from, int to, const void *in, void *out, int64_t n) {
    if (is_complex(from) && is_complex(to)) { /* per part: twice as many reals, half a block at a time */
        int part = from == CF_COMPLEX64 ? CF_FLOAT32 : CF_FLOAT64;
        int64_t half = n / 2, width_in = loose_width(from), width_out = loose_width(to);
        convert_block(part, to == CF_COMPLEX64 ? CF_FLOAT32 : CF_FLOAT64, in, out, 2 * half);
        convert_block(part, to == CF_COMPLEX64 ? CF_FLOAT32 : CF_FLOAT64, (const uint8_t *)in + half * width_in,
                      (uint8_t *)out + half * width_out, 2 * (n - half));
    } else if (is_complex(to)) {
        complex_of_real(from, to, in, out, n);
    } else if (is_boolean(to)) {
        boolean_of_complex(from, in, out, n);
    } else {
        convert_block(from, to, in, out, n);
    }
}

void cf_convert(int from, int to, const void *in, void *out, int64_t n) {
    if (from == to) {
        memmove(out, in, (size_t)n * (size_t)loose_width(to));
        return;
    }
    if (convert_directly(from, to, in, out, n)) return;
    bool complex = is_complex(from) || is_complex(to);
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        const uint8_t *source = (const uint8_t *)in + done * loose_width(from);
        uint8_t *target = (uint8_t *)out + done * loose_width(to);
        if (complex) {
            convert_complex_block(from, to, source, target, count);
        } else {
            convert_block(from, to, source, target, count);
        }
    }
}

void cf_of_double(int dtype, double x, uint64_t bits[2]) {
    bits[0] = bits[1] = 0;
    cf_convert(CF_FLOAT64, dtype, &x, bits, 1);
}

double cf_to_double(int dtype, const uint64_t bits[2]) {
    double x;
    cf_convert(dtype, CF_FLOAT64, bits, &x, 1);
    return x;
}

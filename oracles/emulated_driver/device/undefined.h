// What C++ leaves undefined and devices do in their own way: kernels stop there, with the place in the source. The
// checks are the host compiler's (-fsanitize); these take the place of its runtime.
#pragma once

namespace emucuda {

// What the compiler passes first: where in the source.
struct Place {
    const char *file;
    unsigned line, column;
};

inline void stop(int code, const char *what, const Place *place) {
    services->fail(code, what, place->file, place->line);
}

}  // namespace emucuda

#define EMUCUDA_CHECK(name, code, what, ...)                                                  \
    extern "C" __attribute__((visibility("hidden"), used, noinline)) inline void name(        \
        emucuda::Place *place, __VA_ARGS__) {                                                 \
        emucuda::stop(code, what, place);                                                     \
    }
EMUCUDA_CHECK(__ubsan_handle_type_mismatch_v1_abort, 716, "a misaligned address", void *)
EMUCUDA_CHECK(__ubsan_handle_out_of_bounds_abort, 700, "an index outside its array", void *)
EMUCUDA_CHECK(__ubsan_handle_shift_out_of_bounds_abort, 719, "a shift by more than the width", void *, void *)
EMUCUDA_CHECK(__ubsan_handle_float_cast_overflow_abort, 719, "a conversion of a float that no integer equals", void *)
#undef EMUCUDA_CHECK

// What lies in memory that holds nothing yet, or nothing any more.
#pragma once
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace emucuda {

inline const size_t page = size_t(sysconf(_SC_PAGESIZE));
constexpr size_t granule = 512, alignment = 256;
constexpr unsigned char fresh_byte = 0xCB, freed_byte = 0xDD, fence_byte = 0xFE;
// Beyond this size an allocation keeps whatever it has: writing every page of it would cost more than it finds.
constexpr size_t most_filled = size_t{64} << 20;
// Freed memory that is not closed keeps its filling while there is no more of it than this.
constexpr size_t most_kept = size_t{256} << 20;

constexpr size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }
constexpr uintptr_t round_down(uintptr_t address, size_t unit) { return address / unit * unit; }

}  // namespace emucuda

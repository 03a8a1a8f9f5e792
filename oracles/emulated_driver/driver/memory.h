// Memory of the emulated devices and what the driver knows of the host's.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "settings.h"

namespace emucuda {

class Context;

// `view`: where devices find combined memory of the host, whose own address they do not know.
enum class MemoryKind { device, pinned, registered, managed, module_global, view };

struct Allocation {
    uintptr_t start;
    size_t size;
    MemoryKind kind;
    Context *owner;
    int device;
    unsigned flags;
    uint64_t id;
    uintptr_t other;  // of combined memory where its view begins, and the other way round; else 0

    // Whether devices find it under another address than this one.
    bool is_elsewhere() const { return kind == MemoryKind::pinned && other; }
    uintptr_t for_devices(uintptr_t address) const { return is_elsewhere() ? address - start + other : address; }
    uintptr_t for_host(uintptr_t address) const {
        return kind == MemoryKind::view ? address - start + other : address;
    }
    uintptr_t end() const { return start + size; }
    bool on_host() const { return kind != MemoryKind::device && kind != MemoryKind::module_global; }
};

// The addresses of one device: reserved once, backed by an anonymous file that is mapped twice. `base` is where the
// device's addresses are, closed to everybody but a running kernel; the driver itself copies through the second view.
class Arena {
  public:
    Arena(size_t capacity, bool protect);
    ~Arena();
    Arena(const Arena &) = delete;

    bool contains(uintptr_t address) const { return address - base_ < size_; }
    // Where the driver reaches what lies at a device address.
    char *view(uintptr_t address) const { return alias_ + (address - base_); }
    // An address for `size` bytes, aligned to 256, that ends where a page ends (to within the alignment); 0 when full.
    uintptr_t reserve(size_t size, const std::map<uintptr_t, Allocation> &live);
    void release(const Allocation &allocation);
    // Opens the pages of an allocation to kernels, and closes them. Safe in a signal handler.
    void open(const Allocation &allocation) const;
    void close(const Allocation &allocation) const;
    // False when something was written beside an allocation, in the pages that it lies in.
    bool fences_stand(const Allocation &allocation) const;

    size_t capacity, used = 0;

  private:
    void raise_fences(uintptr_t start, size_t size) const;
    void give_back(uintptr_t first, size_t bytes) const;

    int file_;
    size_t size_, next_ = 0;
    uintptr_t base_;
    char *alias_;
    bool protect_;
    std::deque<std::pair<uintptr_t, size_t>> kept_;
    size_t kept_bytes_ = 0;
};

// Tells AddressSanitizer that a range must not be touched, or may be again; nothing without it.
void poison(uintptr_t start, size_t size, bool poisoned);

// Every range that the driver gave out or was told of, by address.
class Memory {
  public:
    explicit Memory(Settings &settings) : settings_(settings) {}

    void add_device() { arenas_.emplace(int(arenas_.size()), std::make_unique<Arena>(settings_.memory, protecting())); }
    bool protecting() const { return settings_.protect && !sanitized(); }

    CUresult allocate(size_t size, MemoryKind kind, Context *owner, int device, unsigned flags, uintptr_t &start);
    // Frees the allocation that begins at `start` and is of one of the kinds that `free` is for.
    CUresult free(uintptr_t start, bool host);
    CUresult watch(uintptr_t start, size_t size, MemoryKind kind, Context *owner, int device, unsigned flags);
    CUresult unwatch(uintptr_t start, MemoryKind kind);
    void free_all_of(const Context *owner);

    // The allocation that holds all of [start, start + size), or null.
    const Allocation *holding(uintptr_t start, size_t size) const;
    // The allocation of a device in whose pages an address lies, or null.
    const Allocation *sharing_a_page(uintptr_t address) const;
    // The address at which the driver itself may touch [start, ...).
    char *view(uintptr_t address) const;
    bool on_a_device(uintptr_t address) const;
    Arena &arena(int device) { return *arenas_.at(device); }
    size_t live() const { return live_.size() - unlisted_; }

  private:
    static CUresult allocate_host(size_t size, uintptr_t &start, int file);
    CUresult allocate_combined(size_t size, uintptr_t &start, uintptr_t &view);
    static void free_host(uintptr_t start, size_t size);
    void drop(std::map<uintptr_t, Allocation>::iterator found);

    Settings &settings_;
    std::map<int, std::unique_ptr<Arena>> arenas_;
    std::map<uintptr_t, Allocation> live_;
    uint64_t last_id_ = 0;
    size_t unlisted_ = 0;  // variables of modules, and views
};

}  // namespace emucuda

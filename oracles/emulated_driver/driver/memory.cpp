#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "arena_filling.h"

namespace emucuda {

// Page-locked memory has a closed page at either end. `file`: what lies behind it, or -1.
CUresult Memory::allocate_host(size_t size, uintptr_t &start, int file) {
    size_t bytes = round_up(size, page);
    if (bytes < size) return CUDA_ERROR_OUT_OF_MEMORY;
    void *pages = mmap(nullptr, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    char *inside = static_cast<char *>(pages) + page;
    bool shared = file >= 0;
    int kind = shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    if (mmap(inside, bytes, PROT_READ | PROT_WRITE, kind | MAP_FIXED, file, 0) == MAP_FAILED) {
        munmap(pages, bytes + 2 * page);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(inside, fresh_byte, std::min(size, most_filled));
    start = reinterpret_cast<uintptr_t>(inside);
    poison(start + size, bytes - size, true);
    return CUDA_SUCCESS;
}

CUresult Memory::allocate_combined(size_t size, uintptr_t &start, uintptr_t &view) {
    int file = memfd_create("combined memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, off_t(round_up(size, page))) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = allocate_host(size, start, file);
    if (!result && (result = allocate_host(size, view, file))) free_host(start, size);
    close(file);
    return result;
}

void Memory::free_host(uintptr_t start, size_t size) {
    size_t bytes = round_up(size, page);
    poison(start + size, bytes - size, false);
    munmap(reinterpret_cast<char *>(start) - page, bytes + 2 * page);
}

CUresult Memory::allocate(size_t size, MemoryKind kind, Context *owner, int device, unsigned flags, uintptr_t &start) {
    if (!size) return CUDA_ERROR_INVALID_VALUE;
    Arena &arena = *arenas_.at(device);
    bool counted = kind != MemoryKind::pinned;
    if (counted && (size > arena.capacity || arena.used + round_up(size, granule) > arena.capacity))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (kind == MemoryKind::device) {
        start = arena.reserve(size, live_);
        if (!start) return CUDA_ERROR_OUT_OF_MEMORY;
    } else if (kind == MemoryKind::pinned && flags & CU_MEMHOSTALLOC_WRITECOMBINED) {
        uintptr_t view = 0;
        if (CUresult result = allocate_combined(size, start, view)) return result;
        live_[start] = {start, size, kind, owner, device, flags, ++last_id_, view};
        live_[view] = {view, size, MemoryKind::view, owner, device, flags, last_id_, start};
        ++unlisted_;
        return CUDA_SUCCESS;
    } else if (CUresult result = allocate_host(size, start, -1)) {
        return result;
    }
    if (counted) arena.used += round_up(size, granule);
    live_[start] = {start, size, kind, owner, device, flags, ++last_id_, 0};
    return CUDA_SUCCESS;
}

CUresult Memory::free(uintptr_t start, bool host) {
    auto found = live_.find(start);
    if (found == live_.end()) return CUDA_ERROR_INVALID_VALUE;
    MemoryKind kind = found->second.kind;
    bool right = host ? kind == MemoryKind::pinned : kind == MemoryKind::device || kind == MemoryKind::managed;
    if (!right) return CUDA_ERROR_INVALID_VALUE;
    drop(found);
    return CUDA_SUCCESS;
}

void Memory::drop(std::map<uintptr_t, Allocation>::iterator found) {
    const Allocation allocation = found->second;
    live_.erase(found);
    unlisted_ -= allocation.kind == MemoryKind::module_global || allocation.kind == MemoryKind::view;
    Arena &arena = *arenas_.at(allocation.device);
    if (allocation.kind == MemoryKind::device || allocation.kind == MemoryKind::managed)
        arena.used -= round_up(allocation.size, granule);
    if (allocation.kind == MemoryKind::device)
        arena.release(allocation);
    else if (allocation.on_host() && allocation.kind != MemoryKind::registered)
        free_host(allocation.start, allocation.size);
    auto view = allocation.is_elsewhere() ? live_.find(allocation.other) : live_.end();
    if (view != live_.end()) drop(view);
}

CUresult Memory::watch(uintptr_t start, size_t size, MemoryKind kind, Context *owner, int device, unsigned flags) {
    if (!start || !size || start + size < start) return CUDA_ERROR_INVALID_VALUE;
    auto after = live_.upper_bound(start);
    bool overlaps = after != live_.end() && after->first < start + size;
    if (after != live_.begin()) overlaps |= std::prev(after)->second.end() > start;
    if (overlaps || on_a_device(start)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    live_[start] = {start, size, kind, owner, device, flags, ++last_id_, 0};
    unlisted_ += kind == MemoryKind::module_global;
    return CUDA_SUCCESS;
}

CUresult Memory::unwatch(uintptr_t start, MemoryKind kind) {
    auto found = live_.find(start);
    if (found == live_.end() || found->second.kind != kind) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    drop(found);
    return CUDA_SUCCESS;
}

void Memory::free_all_of(const Context *owner) {
    for (auto entry = live_.begin(); entry != live_.end();) {
        auto found = entry++;
        // A view goes with the memory that it is one of.
        if (found->second.owner != owner || found->second.kind == MemoryKind::view) continue;
        uintptr_t next = found->second.end();
        drop(found);
        entry = live_.lower_bound(next);
    }
}

const Allocation *Memory::holding(uintptr_t start, size_t size) const {
    auto after = live_.upper_bound(start);
    if (after == live_.begin()) return nullptr;
    const Allocation &found = std::prev(after)->second;
    bool inside = start - found.start <= found.size && size <= found.size - (start - found.start);
    return inside && (size || start < found.end()) ? &found : nullptr;
}

const Allocation *Memory::sharing_a_page(uintptr_t address) const {
    uintptr_t first = round_down(address, page);
    auto found = live_.lower_bound(first);
    if (found != live_.end() && found->second.start < first + page) return &found->second;
    return found == live_.begin() || std::prev(found)->second.end() <= first ? nullptr : &std::prev(found)->second;
}

bool Memory::on_a_device(uintptr_t address) const {
    for (const auto &[device, arena] : arenas_)
        if (arena->contains(address)) return true;
    return false;
}

char *Memory::view(uintptr_t address) const {
    for (const auto &[device, arena] : arenas_)
        if (arena->contains(address)) return arena->view(address);
    return reinterpret_cast<char *>(address);
}

}  // namespace emucuda

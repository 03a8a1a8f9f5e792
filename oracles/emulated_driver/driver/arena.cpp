#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <system_error>

#include "arena_filling.h"
#include "memory.h"

namespace emucuda {
namespace {

// Addresses are dealt out in a circle through a reserve this many times what the device holds, so that a freed address
// comes back late and its users meet closed pages.
constexpr size_t turns = 16, least_reserve = size_t{4} << 30;

void *map(size_t size, int protection, int file) {
    void *pages = mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (pages == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "reserving a device's addresses");
    return pages;
}

bool all_are(const char *bytes, size_t count, unsigned char value) {
    for (size_t i = 0; i < count; ++i)
        if (static_cast<unsigned char>(bytes[i]) != value) return false;
    return true;
}

uintptr_t first_page(const Allocation &allocation) { return round_down(allocation.start, page); }
size_t page_bytes(const Allocation &allocation) { return round_up(allocation.end(), page) - first_page(allocation); }

}  // namespace

void poison(uintptr_t start, size_t size, bool poisoned) {
    using Mark = void (*)(const volatile void *, size_t);
    static const auto forbid = reinterpret_cast<Mark>(dlsym(RTLD_DEFAULT, "__asan_poison_memory_region"));
    static const auto allow = reinterpret_cast<Mark>(dlsym(RTLD_DEFAULT, "__asan_unpoison_memory_region"));
    if (forbid && allow) (poisoned ? forbid : allow)(reinterpret_cast<void *>(start), size);
}

Arena::Arena(size_t capacity, bool protect) : capacity(capacity), protect_(protect) {
    size_ = round_up(std::max(capacity * turns, least_reserve), page);
    file_ = memfd_create("emulated device", MFD_CLOEXEC);
    if (file_ < 0 || ftruncate(file_, off_t(size_)) != 0)
        throw std::system_error(errno, std::generic_category(), "making a device's memory");
    base_ = reinterpret_cast<uintptr_t>(map(size_, protect ? PROT_NONE : PROT_READ | PROT_WRITE, file_));
    alias_ = static_cast<char *>(map(size_, PROT_READ | PROT_WRITE, file_));
}

Arena::~Arena() {
    munmap(reinterpret_cast<void *>(base_), size_);
    munmap(alias_, size_);
    ::close(file_);
}

// Every allocation has pages of its own, and at least a page that is nobody's before the next.
uintptr_t Arena::reserve(size_t size, const std::map<uintptr_t, Allocation> &live) {
    size_t room = round_up(size, page) + page;
    for (int lap = 0; lap < 2; ++lap) {
        while (room <= size_ - next_) {
            uintptr_t from = base_ + next_, to = from + room;
            auto after = live.lower_bound(from);
            if (after == live.end() || first_page(after->second) >= to) {
                next_ += room;
                uintptr_t start = to - page - round_up(size, alignment);
                raise_fences(start, size);
                return start;
            }
            next_ = round_up(after->second.end(), page) + page - base_;
        }
        next_ = 0;
    }
    return 0;
}

void Arena::raise_fences(uintptr_t start, size_t size) const {
    uintptr_t first = round_down(start, page), end = round_up(start + size, page);
    memset(view(first), fence_byte, start - first);
    memset(view(start), fresh_byte, std::min(size, most_filled));
    memset(view(start + size), fence_byte, end - (start + size));
    poison(first, start - first, true);
    poison(start, size, false);
    poison(start + size, end + page - (start + size), true);
}

bool Arena::fences_stand(const Allocation &allocation) const {
    uintptr_t first = first_page(allocation), end = first + page_bytes(allocation);
    return all_are(view(first), allocation.start - first, fence_byte) &&
           all_are(view(allocation.end()), end - allocation.end(), fence_byte);
}

// Closed pages need no filling: what they held goes back to the machine. Open ones show that their owner is gone.
void Arena::release(const Allocation &allocation) {
    poison(allocation.start, allocation.size, true);
    uintptr_t first = first_page(allocation);
    size_t bytes = page_bytes(allocation);
    if (protect_ || bytes > most_kept) return give_back(first, bytes);
    memset(view(allocation.start), freed_byte, allocation.size);
    kept_.emplace_back(first, bytes);
    for (kept_bytes_ += bytes; kept_bytes_ > most_kept; kept_.pop_front()) {
        give_back(kept_.front().first, kept_.front().second);
        kept_bytes_ -= kept_.front().second;
    }
}

void Arena::give_back(uintptr_t first, size_t bytes) const {
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(first - base_), off_t(bytes));
}

void Arena::open(const Allocation &allocation) const {
    mprotect(reinterpret_cast<void *>(first_page(allocation)), page_bytes(allocation), PROT_READ | PROT_WRITE);
}

void Arena::close(const Allocation &allocation) const {
    if (protect_) mprotect(reinterpret_cast<void *>(first_page(allocation)), page_bytes(allocation), PROT_NONE);
}

}  // namespace emucuda

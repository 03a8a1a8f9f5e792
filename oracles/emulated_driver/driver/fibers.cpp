#include "fibers.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__x86_64__)
asm(R"(
    .text
    .hidden emucuda_switch
    .globl emucuda_switch
    .type emucuda_switch, @function
emucuda_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emucuda_switch, .-emucuda_switch
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .hidden emucuda_switch
    .globl emucuda_switch
    .type emucuda_switch, %function
emucuda_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x2, sp
    str x2, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size emucuda_switch, .-emucuda_switch
)");
#else
#error "the emulated driver switches stacks on x86-64 and aarch64 only"
#endif

namespace emucuda {
namespace {

// Below every stack lie closed pages, more of them than the compiler lets a frame skip untouched.
constexpr size_t stack_bytes = size_t{64} << 10, guard_bytes = size_t{64} << 10;

}  // namespace

FiberStack::FiberStack() {
    void *pages = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<char *>(pages);
    mprotect(pages_, guard_bytes, PROT_NONE);
}

FiberStack::~FiberStack() { munmap(pages_, guard_bytes + stack_bytes); }

void *FiberStack::prepare(void (*entry)()) const {
    auto **top = reinterpret_cast<void **>(pages_ + guard_bytes + stack_bytes);
#if defined(__x86_64__)
    // As after a call: the return address lies where the stack is 8 short of a multiple of 16.
    top[-2] = reinterpret_cast<void *>(entry);
    top[-1] = nullptr;
    return top - 2 - 6;
#else
    void **frame = top - 20;
    frame[11] = reinterpret_cast<void *>(entry);  // x30
    frame[10] = nullptr;                           // x29: the end of the frames
    return frame;
#endif
}

const FiberStack &fiber_stack(size_t index) {
    static auto &stacks = *new std::vector<std::unique_ptr<FiberStack>>;
    while (stacks.size() <= index) stacks.push_back(std::make_unique<FiberStack>());
    return *stacks[index];
}

}  // namespace emucuda

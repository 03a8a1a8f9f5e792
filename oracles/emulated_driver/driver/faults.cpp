#include "faults.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include "driver.h"

namespace emucuda {
namespace {

constexpr int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
constexpr size_t signal_stack_bytes = size_t{64} << 10;
// One kernel runs at a time. Nothing here grows while a signal is handled.
constexpr size_t most_opened = 4096;
const Allocation *opened[most_opened];
size_t opened_count = 0;
struct sigaction before[std::size(signals)];

}  // namespace

std::string &last_fault() {
    static auto &text = *new std::string;
    return text;
}

KernelGuard *&KernelGuard::running() {
    thread_local KernelGuard *guard = nullptr;
    return guard;
}

KernelGuard::KernelGuard(const Context &context) : context_(context), handles_signals_(!sanitized()) {
    running() = this;
    opened_count = 0;
    if (!handles_signals_) return;  // AddressSanitizer reports faults itself
    static auto &pages = *new std::vector<char>(signal_stack_bytes);
    stack_t stack{};
    stack.ss_sp = pages.data();
    stack.ss_size = pages.size();
    sigaltstack(&stack, &stack_before_);
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &action, &before[i]);
}

KernelGuard::~KernelGuard() {
    running() = nullptr;
    if (handles_signals_) {
        for (size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before[i], nullptr);
        sigaltstack(&stack_before_, nullptr);
    }
    for (size_t i = 0; i < opened_count; ++i) Driver::get().memory.arena(opened[i]->device).close(*opened[i]);
}

bool KernelGuard::open(uintptr_t address) {
    Memory &memory = Driver::get().memory;
    const Allocation *allocation = memory.holding(address, 1);
    // A write to the fence of an allocation opens its pages too: the fence is looked at when the kernel is done.
    if (!allocation) allocation = memory.sharing_a_page(address);
    if (!allocation || allocation->kind != MemoryKind::device || !context_.reaches(allocation->owner)) return false;
    bool known = std::find(opened, opened + opened_count, allocation) != opened + opened_count;
    if (known || opened_count == most_opened) return false;
    memory.arena(allocation->device).open(*allocation);
    opened[opened_count++] = allocation;
    return true;
}

void KernelGuard::open_arguments(const char *arguments, size_t bytes) {
    if (!Driver::get().memory.protecting()) return;
    for (size_t at = 0; at + sizeof(uintptr_t) <= bytes; at += sizeof(uintptr_t)) {
        uintptr_t word = 0;
        memcpy(&word, arguments + at, sizeof word);
        if (Driver::get().memory.holding(word, 1)) open(word);
    }
}

void KernelGuard::on_signal(int number, siginfo_t *info, void *) {
    KernelGuard *guard = running();
    if (!guard) {  // raised by another thread of the program, which has nothing to do with the kernel
        const int *found = std::find(std::begin(signals), std::end(signals), number);
        sigaction(number, &before[found - signals], nullptr);
        return;
    }
    auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    bool memory = number == SIGSEGV || number == SIGBUS;
    if (memory && guard->open(address)) return;
    if (memory) guard->fail(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal address", address);
    if (number == SIGILL) guard->fail(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction");
    guard->fail(CUDA_ERROR_LAUNCH_FAILED, "a division by zero");
}

void KernelGuard::fail(CUresult code, const char *words, uintptr_t where) {
    error = code;
    what = words;
    address = where;
    siglongjmp(escape, 1);
}

const Allocation *KernelGuard::broken_fence() const {
    for (size_t i = 0; i < opened_count; ++i)
        if (!Driver::get().memory.arena(opened[i]->device).fences_stand(*opened[i])) return opened[i];
    return nullptr;
}

}  // namespace emucuda

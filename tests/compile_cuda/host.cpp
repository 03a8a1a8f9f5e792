/* The threads of a block as contexts that take turns; each barrier counts who arrives. */
#include "host.h"
#include <ucontext.h>
#include <vector>

host_dim threadIdx, blockIdx;

namespace {
struct Barrier {
    unsigned alive = 0, arrived = 0, turn = 0;
    void pass() { if (arrived && arrived >= alive) { arrived = 0; turn++; } }
};
struct Thread { ucontext_t context; std::vector<char> stack; host_dim index; bool done; };
const unsigned long long *parameters;
void (*work)(const unsigned long long *);
std::vector<Thread> threads;
std::vector<Barrier> warps;
std::vector<unsigned long long> slots;
Barrier block;
ucontext_t scheduler;
unsigned current;
int order;
unsigned long long drawn;

/* 0 to count - 1: forward (order 0), backward (1), or drawn anew (else). */
std::vector<unsigned> turns(unsigned count) {
    std::vector<unsigned> found(count);
    for (unsigned i = 0; i < count; i++) {
        unsigned place = i;
        if (order > 1) {
            drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
            place = (unsigned)((drawn >> 33) % (i + 1));
        }
        found[i] = found[place];
        found[place] = order == 1 ? count - 1 - i : i;
    }
    return found;
}

void leave() { swapcontext(&threads[current].context, &scheduler); }

void wait(Barrier &barrier) {
    unsigned turn = barrier.turn;
    barrier.arrived++;
    barrier.pass();
    while (barrier.turn == turn) leave();
}

void body() {
    work(parameters);
    threads[current].done = true;
    block.alive--;
    block.pass();
    warps[current / 32].alive--;
    warps[current / 32].pass();
    leave();
}

void together(unsigned count, host_dim shape) {
    block = Barrier{count};
    warps.assign((count + 31) / 32, Barrier{});
    slots.assign((count + 31) / 32 * 32, 0);
    if (threads.size() < count) threads.resize(count);
    for (unsigned i = 0; i < count; i++) {
        Thread &t = threads[i];
        t.stack.resize(1 << 16);
        t.index = {i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y};
        t.done = false;
        warps[i / 32].alive++;
        getcontext(&t.context);
        t.context.uc_stack.ss_sp = t.stack.data();
        t.context.uc_stack.ss_size = t.stack.size();
        t.context.uc_link = nullptr;
        makecontext(&t.context, body, 0);
    }
    while (block.alive)
        for (unsigned turn : turns(count))
            if (!threads[turn].done) {
                current = turn;
                threadIdx = threads[current].index;
                swapcontext(&scheduler, &threads[current].context);
            }
}
}

unsigned host_lane() { return current % 32; }

extern "C" void __syncthreads() { wait(block); }

extern "C" void __syncwarp() { wait(warps[current / 32]); }

unsigned long long host_exchange(unsigned long long value, unsigned lane) {
    Barrier &warp = warps[current / 32];
    slots[current] = value;
    wait(warp);
    unsigned long long found = lane < 32 ? slots[current / 32 * 32 + lane] : value;
    wait(warp);
    return found;
}

void host_launch(host_dim grid, host_dim shape, bool waits, void (*kernel)(const unsigned long long *),
                 const unsigned long long *p) {
    parameters = p;
    work = kernel;
    const unsigned count = shape.x * shape.y * shape.z;
    for (unsigned b : turns(grid.x * grid.y * grid.z)) {
        blockIdx = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
        if (waits) { together(count, shape); continue; }
        for (unsigned t : turns(count)) {
            threadIdx = {t % shape.x, t / shape.x % shape.y, t / shape.x / shape.y};
            kernel(p);
        }
    }
}

extern "C" void host_order(int which) {
    order = which;
    drawn = (unsigned)which;
}

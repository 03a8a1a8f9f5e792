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
        for (current = 0; current < count; current++)
            if (!threads[current].done) {
                threadIdx = threads[current].index;
                swapcontext(&scheduler, &threads[current].context);
            }
}
}

unsigned host_lane() { return current % 32; }

extern "C" void __syncthreads() { wait(block); }

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
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = {x, y, z};
                if (waits) { together(shape.x * shape.y * shape.z, shape); continue; }
                for (unsigned k = 0; k < shape.z; k++)
                    for (unsigned j = 0; j < shape.y; j++)
                        for (unsigned i = 0; i < shape.x; i++) { threadIdx = {i, j, k}; kernel(p); }
            }
}

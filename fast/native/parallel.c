#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* One loop at a time. `lock` guards all but `next`; the stretches are taken by adding to it. */
static struct {
    pthread_mutex_t busy;                       /* held by the caller whose loop it is */
    pthread_mutex_t lock;
    pthread_cond_t called, left;                /* there is a loop; its last helper left it */
    int threads, started;
    bool open;                                  /* helpers may still join the loop */
    uint64_t loops;                             /* so that a helper joins each loop once */
    int helping;
    void (*body)(void *state, int64_t first, int64_t last);
    void *state;
    int64_t count, grain;
    _Atomic int64_t next;                       /* relaxed: joining and leaving under the lock order the rest */
} team = {.busy = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
          .called = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER, .threads = 1};

static void take_stretches(void) {
    for (;;) {
        int64_t first = atomic_fetch_add_explicit(&team.next, team.grain, memory_order_relaxed);
        if (first >= team.count) return;
        int64_t rest = team.count - first;
        team.body(team.state, first, first + (rest < team.grain ? rest : team.grain));
    }
}

static void *help(void *unused) {
    (void)unused;
    uint64_t joined = 0;
    pthread_mutex_lock(&team.lock);
    for (;;) {
        while (!team.open || team.loops == joined) pthread_cond_wait(&team.called, &team.lock);
        joined = team.loops;
        team.helping++;
        pthread_mutex_unlock(&team.lock);
        take_stretches();
        pthread_mutex_lock(&team.lock);
        if (--team.helping == 0) pthread_cond_signal(&team.left);
    }
    return NULL;
}

/* A forked process has none of the helpers, and nobody holds a lock there. */
static void start_anew(void) {
    pthread_mutex_init(&team.busy, NULL);
    pthread_mutex_init(&team.lock, NULL);
    pthread_cond_init(&team.called, NULL);
    pthread_cond_init(&team.left, NULL);
    team.started = team.helping = 0;
    team.open = false;
}

void cf_parallel_use(int threads) {
    team.threads = threads;
    pthread_atfork(NULL, NULL, start_anew);
}

/* The helpers that are still missing; as many as there can be, where the system gives no more. */
static void start_helpers(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while (team.started < team.threads - 1 && pthread_create(&thread, &attributes, help, NULL) == 0) team.started++;
    pthread_attr_destroy(&attributes);
}

static void call_helpers(void (*body)(void *, int64_t, int64_t), void *state, int64_t count, int64_t grain) {
    pthread_mutex_lock(&team.lock);
    if (team.started < team.threads - 1) start_helpers();
    team.body = body, team.state = state, team.count = count, team.grain = grain;
    atomic_store_explicit(&team.next, 0, memory_order_relaxed);
    team.open = true;
    team.loops++;
    pthread_cond_broadcast(&team.called);
    pthread_mutex_unlock(&team.lock);
}

static void dismiss_helpers(void) {
    pthread_mutex_lock(&team.lock);
    team.open = false;
    while (team.helping > 0) pthread_cond_wait(&team.left, &team.lock);
    pthread_mutex_unlock(&team.lock);
}

void cf_parallel_for(void (*body)(void *, int64_t, int64_t), void *state, int64_t count, int64_t grain) {
    if (grain < 1) grain = 1;
    if (count > grain && count <= INT64_MAX / 2 && pthread_mutex_trylock(&team.busy) == 0) {
        call_helpers(body, state, count, grain);
        take_stretches();
        dismiss_helpers();
        pthread_mutex_unlock(&team.busy);
        return;
    }
    for (int64_t first = 0; first < count; first += grain) {
        body(state, first, count - first < grain ? count : first + grain);
        if (count - first <= grain) return; /* so that the sum above cannot pass what an integer holds */
    }
}

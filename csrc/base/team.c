#define _GNU_SOURCE
#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* `state` holds the job in one word: its number (bits 16 and up), whether it may be entered (OPEN, bit
 * 15), and how many helpers are inside (bits 0 to 14). A helper enters by a compare-and-swap that adds
 * one. It fails if the caller closed the job or opened another one meanwhile, so nobody enters a job that
 * has ended.
 *
 * `job` and `arg` need no atomics of their own. The caller writes them before it stores `state`, and a
 * helper reads them after it has entered. The caller writes them again only after every helper has left. */
#define INSIDE_MASK 0x7FFFu
#define OPEN 0x8000u
#define NUMBER 0x10000u

#define SPINS_FOR_A_JOB 20000  /* 0.2 to 1 ms of busy waiting before a helper sleeps */
#define SPINS_FOR_A_HELPER 500 /* then the caller yields: a helper inside may have lost its core */

typedef struct helper {
    hd_team *team;
    pthread_t thread;
    int number;
} helper;

/* `state` has a cache line of its own: helpers read it all the time while they wait. */
struct hd_team {
    _Alignas(64) _Atomic uint64_t state;
    _Alignas(64) atomic_int sleeping; /* helpers that wait for `wake` */
    atomic_int spins;
    atomic_bool stopping;
    hd_job job;
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int count;
    helper helpers[];
};

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- the helpers ------------------------------------------------------------------------------------ */

/* last: the job that this helper did last. It does no job twice. */
static bool is_new_job(uint64_t state, uint64_t last) {
    return (state & OPEN) && state / NUMBER != last;
}

static bool worth_waking(hd_team *team, uint64_t last) {
    return is_new_job(atomic_load(&team->state), last) || atomic_load(&team->stopping);
}

/* Waits until there is a job other than `last`, or the team stops; first busily, then asleep.
 *
 * No wake-up is lost. A helper counts itself in `sleeping` and then looks at the state; the caller stores
 * the state and then looks at `sleeping`. All four are sequentially consistent, so one of the two sees
 * the other. The caller broadcasts under the lock, and a helper holds it from its look until it waits. */
static void wait_for_job(hd_team *team, uint64_t last) {
    int spins = atomic_load_explicit(&team->spins, memory_order_relaxed);
    for (int i = 0; i < spins; i++) {
        if (worth_waking(team, last)) return;
        relax();
    }
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->sleeping, 1);
    while (!worth_waking(team, last)) pthread_cond_wait(&team->wake, &team->lock);
    atomic_fetch_sub(&team->sleeping, 1);
    pthread_mutex_unlock(&team->lock);
}

/* Enters the open job and returns its number; 0 if there is none any more. */
static uint64_t enter(hd_team *team) {
    uint64_t state = atomic_load(&team->state);
    while (state & OPEN)
        if (atomic_compare_exchange_weak(&team->state, &state, state + 1)) return state / NUMBER;
    return 0;
}

/* The release at the end pairs with the acquire in wait_for_those_inside: what the job wrote is visible
 * to the caller. */
static void *help(void *arg) {
    helper *self = arg;
    hd_team *team = self->team;
    uint64_t last = 0;
    for (;;) {
        wait_for_job(team, last);
        if (atomic_load(&team->stopping)) return NULL;
        uint64_t number = enter(team);
        if (!number) continue;
        last = number;
        team->job(team->arg, self->number);
        atomic_fetch_sub_explicit(&team->state, 1, memory_order_release);
    }
}

/* ---- the caller ------------------------------------------------------------------------------------- */

static void wake_sleepers(hd_team *team) {
    if (!atomic_load(&team->sleeping)) return;
    pthread_mutex_lock(&team->lock);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
}

static void wait_for_those_inside(hd_team *team) {
    for (int i = 0; atomic_load_explicit(&team->state, memory_order_acquire) & INSIDE_MASK; i++) {
        if (i < SPINS_FOR_A_HELPER)
            relax();
        else
            sched_yield();
    }
}

void hd_team_run(hd_team *team, hd_job job, void *arg, int spin) {
    team->job = job;
    team->arg = arg;
    atomic_store_explicit(&team->spins, spin ? SPINS_FOR_A_JOB : 0, memory_order_relaxed);
    uint64_t number = atomic_load_explicit(&team->state, memory_order_relaxed) / NUMBER + 1;
    atomic_store(&team->state, number * NUMBER | OPEN);
    wake_sleepers(team);
    job(arg, 0);
    atomic_fetch_and(&team->state, ~(uint64_t)OPEN);
    wait_for_those_inside(team);
}

static int start_helpers(hd_team *team, int wanted) {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* of mapped files (mapping.h): where it is blocked, it ends the process */
    pthread_sigmask(SIG_SETMASK, &all,
                    &before); /* helpers inherit it: the host's signals stay with the host */
    int made = 0;
    while (made < wanted) {
        helper *h = &team->helpers[made];
        *h = (helper){.team = team, .number = made + 1};
        if (pthread_create(&h->thread, NULL, help, h)) break;
        made++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

static void destroy(hd_team *team) {
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

hd_team *hd_team_start(int helpers) {
    size_t size = sizeof(hd_team) + (size_t)helpers * sizeof(helper);
    hd_team *team = aligned_alloc(64, (size + 63) / 64 * 64);
    if (!team) return NULL;
    atomic_init(&team->state, 0);
    atomic_init(&team->sleeping, 0);
    atomic_init(&team->spins, 0);
    atomic_init(&team->stopping, false);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    team->count = start_helpers(team, helpers);
    if (team->count) return team;
    destroy(team);
    return NULL;
}

void hd_team_stop(hd_team *team) {
    atomic_store(&team->stopping, true);
    wake_sleepers(team);
    for (int i = 0; i < team->count; i++) pthread_join(team->helpers[i].thread, NULL);
    destroy(team);
}

#define _GNU_SOURCE
#include "base/bus_error.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The handler may run at any moment, also while a range changes. So ranges are in a list that only grows, those
 * forgotten are used again, and `sequence` is odd while one changes: such a one is nobody's memory. */
struct hd_range {
    atomic_uint sequence;
    _Atomic uintptr_t base, end; /* 0, 0: free */
    atomic_uint lost;
    hd_range *next; /* never changes once it is in the list */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of everything but the handler's reading */
static _Atomic(hd_range *) ranges;
static atomic_uint losses;
static size_t watched; /* ranges in use */
static bool installed;
static struct sigaction before; /* while installed */
static size_t page_size;

/* ---- the handler: only what a signal handler may call ---------------------------------------- */

static bool holds(hd_range *range, uintptr_t address, uintptr_t *end) {
    const unsigned sequence = atomic_load(&range->sequence);
    const uintptr_t base = atomic_load(&range->base);
    *end = atomic_load(&range->end);
    return sequence % 2 == 0 && sequence == atomic_load(&range->sequence) && address >= base &&
           address < *end;
}

/* Zeros from this page to the range's end: what lies behind a lost page is not trusted either. The kernel is asked
 * itself: what stands in for mmap in a process may not be safe in a signal handler. */
static bool put_zeros(uintptr_t address) {
    uintptr_t end;
    hd_range *range = atomic_load(&ranges);
    while (range != NULL && !holds(range, address, &end)) range = range->next;
    if (range == NULL) return false;
    const uintptr_t page = address & ~(uintptr_t)(page_size - 1);
    const int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (syscall(SYS_mmap, page, end - page, PROT_READ | PROT_WRITE, flags, -1, 0) == -1) return false;
    atomic_store(&range->lost, atomic_fetch_add(&losses, 1) + 1);
    return true;
}

/* As the kernel would without us: a fault that nobody handles ends the process where it happened. */
static void pass_on(int number, siginfo_t *info, void *context) {
    const bool is_fault = info->si_code > 0;
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler == SIG_DFL || (before.sa_handler == SIG_IGN && is_fault)) {
        sigaction(SIGBUS, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        if (!is_fault) raise(SIGBUS); /* arrives when this handler returns */
    } else if (before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    }
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    const int error = errno;
    const bool is_missing_page = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR;
    const bool is_ours = is_missing_page && put_zeros((uintptr_t)info->si_addr);
    errno = error;
    if (!is_ours) pass_on(number, info, context);
}

/* ---- in and out -------------------------------------------------------------------------------- */

static bool install(void) {
    if (installed) return true;
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = on_bus_error,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    return installed = sigaction(SIGBUS, NULL, &before) == 0 && sigaction(SIGBUS, &action, NULL) == 0;
}

/* Somebody's handler that came later may call ours, so ours stays, and the library with it. */
static void stay_loaded(void) {
    Dl_info self;
    if (dladdr((void *)on_bus_error, &self) && self.dli_fname)
        dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static void uninstall(void) {
    struct sigaction now;
    const bool is_ours =
        sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus_error;
    if (is_ours)
        installed = sigaction(SIGBUS, &before, NULL) != 0;
    else
        stay_loaded();
}

/* ---- ranges --------------------------------------------------------------------------------------- */

static hd_range *free_range(void) {
    hd_range *range = atomic_load(&ranges);
    while (range != NULL && atomic_load(&range->end) != 0) range = range->next;
    if (range != NULL) return range;
    range = calloc(1, sizeof *range);
    if (range == NULL) return NULL;
    range->next = atomic_load(&ranges);
    atomic_store(&ranges, range);
    return range;
}

static void set(hd_range *range, uintptr_t base, uintptr_t end) {
    atomic_fetch_add(&range->sequence, 1);
    atomic_store(&range->base, base);
    atomic_store(&range->end, end);
    atomic_store(&range->lost, 0);
    atomic_fetch_add(&range->sequence, 1);
}

hd_range *hd_range_watch(char *base, size_t size) {
    pthread_mutex_lock(&lock);
    hd_range *range = install() ? free_range() : NULL;
    if (range != NULL) {
        set(range, (uintptr_t)base, (uintptr_t)base + size);
        watched++;
    }
    pthread_mutex_unlock(&lock);
    return range;
}

void hd_range_forget(hd_range *range) {
    pthread_mutex_lock(&lock);
    set(range, 0, 0);
    if (--watched == 0) uninstall();
    pthread_mutex_unlock(&lock);
}

uint32_t hd_range_lost(const hd_range *range) {
    return atomic_load(&range->lost);
}

uint32_t hd_range_losses(void) {
    return atomic_load_explicit(&losses, memory_order_relaxed);
}

/* Mapped files: pages that go away, and the signals of the host. */
#define _GNU_SOURCE
#include "base/mapping.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/parallel.h"
#include "check.h"
#include "io/mapped.h"
#include "io/source.h"

enum { PAGES = 64 };
static long page;
static hd_ctx *cx;

/* A file of pages full of ones, which has a name. */
static int file_of_ones(char name[], int pages) {
    strcpy(name, "/tmp/heed-mapping-XXXXXX");
    int fd = mkstemp(name);
    char *ones = malloc((size_t)page);
    memset(ones, 1, (size_t)page);
    for (int i = 0; i < pages; i++) CHECK(write(fd, ones, (size_t)page) == page);
    free(ones);
    return fd;
}

static hd_mapping *mapping_of(const char *name) {
    hd_source source;
    CHECK(hd_source_open(cx, &source, name) == HD_OK);
    hd_mapping *m = hd_source_map(&source);
    hd_source_close(&source);
    CHECK(m != NULL);
    return m;
}

static int sum_of_pages(const char *bytes, int pages) {
    int sum = 0;
    for (int i = 0; i < pages; i++) sum += *(const volatile char *)(bytes + (long)i * page);
    return sum;
}

/* ---- pages that go away -------------------------------------------------------------------------- */

static void zeros_and_an_error(void) {
    char name[64];
    int fd = file_of_ones(name, PAGES);
    hd_mapping *m = mapping_of(name), *other = mapping_of(name);
    CHECK(sum_of_pages(hd_mapping_bytes(m), PAGES) == PAGES);
    CHECK(hd_mapping_check(cx, m) == HD_OK);
    const uint32_t losses = hd_mapping_losses();
    CHECK(ftruncate(fd, 10 * page) == 0);
    CHECK(sum_of_pages(hd_mapping_bytes(m), PAGES) == 10);
    CHECK(hd_mapping_check(cx, m) == HD_EIO && strstr(cx->error.message, name));
    CHECK(hd_mapping_check(cx, other) == HD_OK); /* it was not touched there */
    CHECK(hd_mapping_check_since(cx, losses) == HD_EIO);
    CHECK(hd_mapping_check_since(cx, hd_mapping_losses()) == HD_OK);
    hd_ctx *another = hd_ctx_new(1);
    CHECK(hd_mapping_check_since(another, losses) == HD_OK); /* not of its mappings */
    hd_ctx_free(another);
    hd_mapping_release(m);
    hd_mapping_release(other);
    close(fd);
    unlink(name);
}

static void writes_stay_here(void) {
    char name[64], byte;
    int fd = file_of_ones(name, 1);
    const int64_t shape[1] = {page / 4};
    hd_mapping *m = mapping_of(name);
    const int64_t live = cx->account->live;
    hd_tensor *t = hd_mapped_tensor(cx, m, 0, HD_I32, 1, shape);
    hd_mapping_release(m);
    CHECK(cx->account->live - live < 2048); /* of the headers alone */
    *(int32_t *)hd_data(t) = 7;
    CHECK(pread(fd, &byte, 1, 0) == 1 && byte == 1);
    CHECK(hd_check_memory(cx, t) == HD_OK);
    hd_release(t);
    CHECK(cx->account->live == live);
    CHECK(!hd_mapped_fits(HD_F32, 6) && hd_mapped_fits(HD_BF16, 6) && !hd_mapped_fits(HD_BOOL, 0));
    close(fd);
    unlink(name);
}

static void pages_let_go_come_back(void) {
    char name[64];
    int fd = file_of_ones(name, PAGES);
    hd_mapping *m = mapping_of(name);
    char *bytes = hd_mapping_bytes(m);
    CHECK(sum_of_pages(bytes, PAGES) == PAGES);
    bytes[0] = 5; /* in the first page, which is not let go whole */
    hd_mapping_let_go(m, 1, (size_t)((PAGES - 1) * page));
    CHECK(bytes[0] == 5 && sum_of_pages(bytes, PAGES) == PAGES + 4);
    hd_mapping_let_go(m, 10, 20); /* no whole page */
    CHECK(bytes[0] == 5);
    hd_mapping_release(m);
    close(fd);
    unlink(name);
}

/* ---- while other threads read ---------------------------------------------------------------------- */

static atomic_bool stop;

static void read_on(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    for (int64_t i = first; i < last; i++)
        while (!atomic_load(&stop)) sum_of_pages(arg, PAGES);
}

static void *shorten(void *arg) {
    usleep(20000);
    const int failed = ftruncate(*(int *)arg, 0);
    usleep(20000);
    atomic_store(&stop, true);
    return failed ? arg : NULL;
}

static void in_all_threads(void) {
    char name[64];
    int fd = file_of_ones(name, PAGES);
    hd_mapping *m = mapping_of(name);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, shorten, &fd) == 0);
    CHECK(hd_parallel_ranges(cx, 2, 1, read_on, hd_mapping_bytes(m)) == HD_OK);
    void *failed;
    CHECK(pthread_join(thread, &failed) == 0 && failed == NULL);
    CHECK(hd_mapping_check(cx, m) == HD_EIO);
    hd_mapping_release(m);
    close(fd);
    unlink(name);
}

/* ---- the host's signals ---------------------------------------------------------------------------- */

static volatile sig_atomic_t host_calls;

/* As a host would that maps files of its own. */
static void host_handler(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    host_calls++;
    if (info->si_code <= 0) return;
    char *at = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(page - 1));
    mmap(at, (size_t)page, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static struct sigaction host_action(void) {
    struct sigaction action = {.sa_sigaction = host_handler, .sa_flags = SA_SIGINFO};
    return action;
}

static void host_comes_first(void) {
    char name[64];
    struct sigaction action = host_action(), before, after;
    sigaction(SIGBUS, &action, &before);
    int fd = file_of_ones(name, 2);
    char *own = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
    hd_mapping *m = mapping_of(name);
    CHECK(ftruncate(fd, 0) == 0);
    host_calls = 0;
    CHECK(sum_of_pages(hd_mapping_bytes(m), 2) == 0 && host_calls == 0);
    CHECK(sum_of_pages(own, 1) == 0 && host_calls == 1); /* its own fault */
    raise(SIGBUS);
    CHECK(host_calls == 2);
    hd_mapping_release(m);
    sigaction(SIGBUS, &before, &after);
    CHECK(after.sa_sigaction == host_handler); /* as it was */
    munmap(own, (size_t)page);
    close(fd);
    unlink(name);
}

static struct sigaction found;

static void later_handler(int number, siginfo_t *info, void *context) {
    host_calls++;
    if (info->si_code > 0) found.sa_sigaction(number, info, context);
}

static void host_comes_later(void) {
    char name[64];
    struct sigaction action = {.sa_sigaction = later_handler, .sa_flags = SA_SIGINFO}, now;
    int fd = file_of_ones(name, 2);
    hd_mapping *m = mapping_of(name);
    sigaction(SIGBUS, &action, &found);
    host_calls = 0;
    CHECK(ftruncate(fd, 0) == 0);
    CHECK(sum_of_pages(hd_mapping_bytes(m), 2) == 0 && host_calls == 1);
    hd_mapping_release(m);
    sigaction(SIGBUS, NULL, &now);
    CHECK(now.sa_sigaction == later_handler); /* not taken out under it */
    sigaction(SIGBUS, &found, NULL);
    m = mapping_of("/proc/self/exe");
    hd_mapping_release(m); /* and ours, the last one now, goes with the last mapping */
    sigaction(SIGBUS, NULL, &now);
    CHECK(now.sa_sigaction != found.sa_sigaction);
    close(fd);
    unlink(name);
}

/* The signal that ends a child that does this with a mapping open; 0: none. */
static int end_of_child(void (*handler)(int), void (*act)(void)) {
    pid_t child = fork();
    if (child == 0) {
        signal(SIGBUS, handler);
        hd_mapping *m = mapping_of("/proc/self/exe");
        act();
        hd_mapping_release(m);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void raise_it(void) {
    raise(SIGBUS);
}

static void fault(void) {
    char name[64];
    int fd = file_of_ones(name, 1);
    unlink(name);
    char *own = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
    if (ftruncate(fd, 0) == 0) sum_of_pages(own, 1);
}

static void nobody_handles_it(void) {
    CHECK(end_of_child(SIG_DFL, raise_it) == SIGBUS);
    CHECK(end_of_child(SIG_DFL, fault) == SIGBUS);
    CHECK(end_of_child(SIG_IGN, raise_it) == 0);
    CHECK(end_of_child(SIG_IGN, fault) == SIGBUS);
}

static void where_it_is_blocked(void) {
    sigset_t bus;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    CHECK(hd_mapping_is_safe());
    pthread_sigmask(SIG_BLOCK, &bus, NULL);
    CHECK(!hd_mapping_is_safe());
    hd_source source;
    CHECK(hd_source_open(cx, &source, "/proc/self/exe") == HD_OK);
    CHECK(hd_source_map(&source) == NULL);
    hd_source_close(&source);
    pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
}

int main(void) {
    page = sysconf(_SC_PAGESIZE);
    cx = hd_ctx_new(2);
    zeros_and_an_error();
    writes_stay_here();
    pages_let_go_come_back();
    in_all_threads();
    host_comes_first();
    host_comes_later();
    nobody_handles_it();
    where_it_is_blocked();
    hd_ctx_free(cx);
    return checks_done();
}

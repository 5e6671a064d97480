#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pages.h"
#include "check.h"

/* ---- a kernel whose pages are larger than ours ----------------------------------------------- */

static size_t kernel_page;

/* What pages.c asks goes through these two (HeedTests.cmake), with the answers of a kernel of such pages. */
long __wrap_sysconf(int name);
int __wrap_madvise(void *from, size_t length, int advice);
long __real_sysconf(int name);
int __real_madvise(void *from, size_t length, int advice);

long __wrap_sysconf(int name) {
    return name == _SC_PAGESIZE ? (long)kernel_page : __real_sysconf(name);
}

int __wrap_madvise(void *from, size_t length, int advice) {
    if ((uintptr_t)from % kernel_page != 0) {
        errno = EINVAL;
        return -1;
    }
    length = (length + kernel_page - 1) / kernel_page * kernel_page;
    return __real_madvise(from, length, advice);
}

/* ---- runs ------------------------------------------------------------------------------------------------ */

enum { RUNS = 60 };

static size_t size_of(const hd_run *run) {
    return run->pages * HD_PAGE_SIZE;
}

static void check_filled(const hd_run *run, int with) {
    for (size_t i = 0; i < size_of(run); i++) CHECK((unsigned char)run->base[i] == with);
}

static bool is_cleared(const hd_run *run, size_t page) {
    return run->base[page * HD_PAGE_SIZE] == 0 && run->base[(page + 1) * HD_PAGE_SIZE - 1] == 0;
}

/* Every second run is given back: what is taken keeps its contents, and free runs lose the pages
 * that are theirs alone. */
static void test_trim(size_t page) {
    kernel_page = page;
    hd_run *runs[RUNS];
    for (int i = 0; i < RUNS; i++) {
        runs[i] = hd_pages_take(HD_HEAP_LARGE, (size_t)i * 7 % 40 + 1);
        CHECK(runs[i] != NULL);
        memset(runs[i]->base, i + 1, size_of(runs[i]));
    }
    for (int i = 1; i < RUNS; i += 2) hd_pages_give(runs[i]);
    CHECK(hd_pages_trim() > 0);
    for (int i = 0; i < RUNS; i += 2) check_filled(runs[i], i + 1);
    const size_t own = page / HD_PAGE_SIZE;
    for (int i = 1; i + 1 < RUNS; i += 2)
        if (runs[i]->pages >= 2 * own) CHECK(is_cleared(runs[i], own - 1) && is_cleared(runs[i], own));
    for (int i = 0; i < RUNS; i += 2) hd_pages_give(runs[i]);
    hd_pages_trim();
    CHECK(hd_pages_touched() == 0);
}

int main(void) {
    test_trim(4096);
    test_trim(16384);
    test_trim(65536);
    return checks_done();
}

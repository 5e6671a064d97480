#define _GNU_SOURCE
#include "base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct features {
    bool avx2, avx512; /* with FMA; with F, DQ, BW and VL: what our kernels are built for */
    bool amd, intel;
    unsigned family, model;
} features;

#if defined(__x86_64__)
#include <cpuid.h>

static uint64_t enabled_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static void read_vendor(features *f) {
    unsigned a, b, c, d;
    char vendor[12];
    if (!__get_cpuid(0, &a, &b, &c, &d)) return;
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    f->amd = memcmp(vendor, "AuthenticAMD", 12) == 0;
    f->intel = memcmp(vendor, "GenuineIntel", 12) == 0;
}

static void read_model(features *f, unsigned signature) {
    f->family = signature >> 8 & 0xf;
    f->model = (signature >> 4 & 0xf) | (signature >> 12 & 0xf0);
    if (f->family == 0xf) f->family += signature >> 20 & 0xff;
}

static features identify(void) {
    features f = {0};
    unsigned a, b, c, d;
    read_vendor(&f);
    if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
    read_model(&f, a);
    if (!(c & bit_OSXSAVE) || !(c & bit_AVX) || !(c & bit_FMA)) return f;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
    /* The system must save the registers too: xmm and ymm; mask, upper zmm halves, zmm16..31. */
    uint64_t state = enabled_state();
    f.avx2 = (b & bit_AVX2) && (state & 0x06) == 0x06;
    const unsigned wanted = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    f.avx512 = f.avx2 && (b & wanted) == wanted && (state & 0xe6) == 0xe6;
    return f;
}
#else
static features identify(void) {
    features f = {0};
    return f;
}
#endif

static features found;

static void find_once(void) {
    found = identify();
}

/* cpuid costs tens of microseconds in a virtual machine. */
static const features *cpu(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_once);
    return &found;
}

static const char *const isa_names[HD_ISA_COUNT] = {"plain", "avx2", "avx512"};

const char *hd_isa_name(hd_isa isa) {
    return isa_names[isa];
}

hd_isa hd_cpu_isa(int *ignored) {
    const features *f = cpu();
    hd_isa best = f->avx512 ? HD_ISA_AVX512 : f->avx2 ? HD_ISA_AVX2 : HD_ISA_PLAIN;
    const char *wanted = getenv("HEED_ISA");
    if (ignored != NULL) *ignored = 0;
    if (wanted == NULL || *wanted == '\0') return best;
    for (int isa = 0; isa <= (int)best; isa++)
        if (strcmp(wanted, isa_names[isa]) == 0) return (hd_isa)isa;
    if (ignored != NULL) *ignored = 1;
    return best;
}

static hd_microarch amd_microarch(const features *f) {
    if (f->family == 0x17) return HD_UARCH_ZEN2;
    if (f->family == 0x19) return f->avx512 ? HD_UARCH_ZEN4 : HD_UARCH_ZEN3;
    if (f->family >= 0x1a) return HD_UARCH_ZEN5;
    return HD_UARCH_OTHER;
}

hd_microarch hd_cpu_microarch(void) {
    const features *f = cpu();
    if (!f->avx2) return HD_UARCH_OTHER;
    if (f->amd) return amd_microarch(f);
    if (f->intel) return f->avx512 ? HD_UARCH_SKX : HD_UARCH_HASWELL;
    return HD_UARCH_OTHER;
}

const char *hd_microarch_name(hd_microarch m) {
    static const char *const names[] = {"other", "haswell", "skx", "zen2", "zen3", "zen4", "zen5"};
    return names[m];
}

int hd_cpu_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int n = CPU_COUNT(&set);
        if (n > 0) return n;
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

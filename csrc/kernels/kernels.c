#include "kernels/kernels.h"

#include <pthread.h>

void hd_fill_kernels_plain(hd_kernels *k);
void hd_fill_kernels_avx2(hd_kernels *k);
void hd_fill_kernels_avx512(hd_kernels *k);

/* Written once, before anybody can see them; a table whose isa cannot run here keeps a NULL name. */
static hd_kernels tables[HD_ISA_COUNT];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void fill(hd_isa isa, void (*fill_kernels)(hd_kernels *)) {
    tables[isa].isa = isa;
    fill_kernels(&tables[isa]);
    tables[isa].name = hd_isa_name(isa);
}

/* A filling function is itself compiled for its instruction set: it must not be called where that
 * is lacking. */
static void fill_tables(void) {
    fill(HD_ISA_PLAIN, hd_fill_kernels_plain);
#ifdef HD_HAVE_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        fill(HD_ISA_AVX2, hd_fill_kernels_avx2);
#endif
#ifdef HD_HAVE_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        fill(HD_ISA_AVX512, hd_fill_kernels_avx512);
#endif
}

const hd_kernels *hd_kernels_of(hd_isa isa) {
    pthread_once(&tables_once, fill_tables);
    if ((unsigned)isa >= HD_ISA_COUNT || tables[isa].name == NULL) return NULL;
    return &tables[isa];
}

hd_status hd_kernels_init(hd_ctx *cx) {
    int isa = (int)hd_cpu_isa(NULL);
    while (isa > HD_ISA_PLAIN && hd_kernels_of((hd_isa)isa) == NULL) isa--;
    cx->kernels = hd_kernels_of((hd_isa)isa);
    return HD_OK;
}

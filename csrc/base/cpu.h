/* cpu.h: what the processor can do, read once from cpuid. */
#ifndef HD_CPU_H
#define HD_CPU_H

typedef enum hd_isa { HD_ISA_PLAIN = 0, HD_ISA_AVX2, HD_ISA_AVX512, HD_ISA_COUNT } hd_isa;

typedef enum hd_microarch {
    HD_UARCH_OTHER = 0,
    HD_UARCH_HASWELL,
    HD_UARCH_SKX,
    HD_UARCH_ZEN2,
    HD_UARCH_ZEN3,
    HD_UARCH_ZEN4,
    HD_UARCH_ZEN5
} hd_microarch;

/* The best instruction set of this processor, or what HEED_ISA (plain, avx2, avx512) asks for when the
 * processor has it; an unknown or impossible HEED_ISA is ignored and reported by *ignored = true. */
hd_isa hd_cpu_isa(int *ignored);
const char *hd_isa_name(hd_isa isa);
hd_microarch hd_cpu_microarch(void);
const char *hd_microarch_name(hd_microarch m);
int hd_cpu_cores(void);

#endif

/* gemm.c: chooses the micro-kernel of matrix products, that of BLIS or heed's own. BLIS supplies the
 * micro-kernel and the block sizes for the processor. Packing, loops, buffers and threads are heed's, so
 * no call into BLIS allocates or aborts.
 */
#include "kernels/gemm.h"

#include <blis.h>
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "base/cpu.h"
#include "kernels/gemm_tile.h"

/* Header and library must be of the same version: the layout of cntx_t changes and the SONAME does not.
 * The header of 0.9 does not state its version; that of 1.0 is the first to do so. */
#if defined(BLIS_VERSION_STRING)
#define HEADER_VERSION BLIS_VERSION_STRING
#define get_micro_kernel(type, cntx) bli_cntx_get_ukr_dt(type, BLIS_GEMM_UKR, cntx)
#define NAMES_IN_ARCH_TYPE 1
#else
#define HEADER_VERSION "0.9.0"
#define get_micro_kernel(type, cntx) bli_cntx_get_l3_nat_ukr_dt(type, BLIS_GEMM_UKR, cntx)
#define NAMES_IN_ARCH_TYPE 0
#endif

/* ---- BLIS: may it be initialised? ------------------------------------------------------------ */

#if defined(__x86_64__)
#define HAVE_AVX512 __builtin_cpu_supports("avx512dq")
#define HAVE_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#else
#define HAVE_AVX512 false
#define HAVE_AVX2 false
#endif
#if defined(__aarch64__)
#define HAVE_NEON true
#define HAVE_SVE ((getauxval(AT_HWCAP) & HWCAP_SVE) != 0)
#else
#define HAVE_NEON false
#define HAVE_SVE false
#endif

/* Whether this BLIS has the configuration and this processor can run it. */
static bool arch_is_usable(const char *name) {
    const struct {
        const char *name;
        bool usable;
    } archs[] = {
#ifdef BLIS_CONFIG_GENERIC
        {"generic", true},
#endif
#ifdef BLIS_CONFIG_PENRYN
        {"penryn", true},
#endif
#ifdef BLIS_CONFIG_SANDYBRIDGE
        {"sandybridge", HAVE_AVX2},
#endif
#ifdef BLIS_CONFIG_HASWELL
        {"haswell", HAVE_AVX2},
#endif
#ifdef BLIS_CONFIG_ZEN
        {"zen", HAVE_AVX2},
#endif
#ifdef BLIS_CONFIG_ZEN2
        {"zen2", HAVE_AVX2},
#endif
#ifdef BLIS_CONFIG_ZEN3
        {"zen3", HAVE_AVX2},
#endif
#ifdef BLIS_CONFIG_SKX
        {"skx", HAVE_AVX512},
#endif
#ifdef BLIS_CONFIG_CORTEXA53
        {"cortexa53", HAVE_NEON},
#endif
#ifdef BLIS_CONFIG_CORTEXA57
        {"cortexa57", HAVE_NEON},
#endif
#ifdef BLIS_CONFIG_THUNDERX2
        {"thunderx2", HAVE_NEON},
#endif
#ifdef BLIS_CONFIG_FIRESTORM
        {"firestorm", HAVE_NEON},
#endif
#ifdef BLIS_CONFIG_ARMSVE
        {"armsve", HAVE_SVE},
#endif
        {"", false},
    };
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strcmp(name, archs[i].name) == 0) return archs[i].usable;
    return false;
}

static int arch_of_name(const char *name) {
    for (int i = 0; NAMES_IN_ARCH_TYPE && i < BLIS_NUM_ARCHS; i++)
        if (strcasecmp(name, bli_arch_string((arch_t)i)) == 0) return i;
    return NAMES_IN_ARCH_TYPE ? -1 : 0; /* 0.9 reads any text as 0 */
}

/* BLIS aborts the process if BLIS_ARCH_TYPE names a configuration that it lacks, and does not check whether
 * the processor can run the one that is named. */
static bool arch_type_is_sane(const char *value) {
    if (value == NULL) return true;
    char *end;
    while (isspace((unsigned char)*value)) value++;
    long id = strtol(value, &end, 10);
    if (id == -1 && strcmp(value, "-1") == 0) return true;
    if (end == value) id = arch_of_name(value);
    return id >= 0 && id < BLIS_NUM_ARCHS && arch_is_usable(bli_arch_string((arch_t)id));
}

const char *hd_gemm_blis_version(void) {
    return bli_info_get_version_str();
}

static hd_status check_blis(hd_ctx *cx) {
    const char *loaded = hd_gemm_blis_version(), *arch_type = getenv("BLIS_ARCH_TYPE");
    if (strcmp(loaded, HEADER_VERSION) != 0)
        return hd_fail(
            cx, HD_EARG,
            "BLIS: expected version %s, for which heed was built, got version %s: build heed again",
            HEADER_VERSION, loaded);
    if (!arch_type_is_sane(arch_type))
        return hd_fail(
            cx, HD_EARG,
            "BLIS_ARCH_TYPE: expected the number of a BLIS configuration that this processor can run, got "
            "'%.64s': unset it",
            arch_type);
    return HD_OK;
}

/* ---- BLIS: its micro-kernel as a tile -------------------------------------------------------- */

typedef void (*micro_kernel)(dim_t m, dim_t n, dim_t k, const void *alpha, const void *a, const void *b,
                             const void *beta, void *c, inc_t rs, inc_t cs, const auxinfo_t *data,
                             const cntx_t *cntx);

static void run_foreign(const hd_gemm_tile *t, int64_t m, int64_t n, int64_t k, const void *alpha,
                        const void *a, const void *b, const void *beta, void *c, int64_t c_rs) {
    auxinfo_t data;
    memset(&data, 0, sizeof data);
    bli_auxinfo_set_next_a((void *)a, &data);
    bli_auxinfo_set_next_b((void *)b, &data);
    ((micro_kernel)t->foreign)(m, n, k, alpha, a, b, beta, c, c_rs, 1, &data, t->foreign_context);
}

static void run_foreign_f32(const hd_gemm_tile *t, int64_t m, int64_t n, int64_t k, double alpha,
                            const void *a, int64_t a_rs, int64_t a_cs, const void *b, int64_t b_rs,
                            double beta, void *c, int64_t c_rs) {
    (void)a_rs, (void)a_cs, (void)b_rs;
    const float scale = (float)alpha, keep = (float)beta;
    run_foreign(t, m, n, k, &scale, a, b, &keep, c, c_rs);
}

static void run_foreign_f64(const hd_gemm_tile *t, int64_t m, int64_t n, int64_t k, double alpha,
                            const void *a, int64_t a_rs, int64_t a_cs, const void *b, int64_t b_rs,
                            double beta, void *c, int64_t c_rs) {
    (void)a_rs, (void)a_cs, (void)b_rs;
    run_foreign(t, m, n, k, &alpha, a, b, &beta, c, c_rs);
}

static struct {
    const char *arch;
    hd_gemm_tiles tiles;
    char names[2][48];
} blis;

/* BLIS packs b once for all rows, gemm_blocked.c once for each block of rows. So blocks are as large as
 * half of the second-level cache. */
static int64_t block_rows(const hd_gemm_tile *t, int64_t size, int64_t blis_rows) {
    const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    const int64_t rows = cache > 0 ? cache / 2 / (t->kc * size) / t->mr * t->mr : 0;
    return rows > blis_rows ? rows : blis_rows;
}

static void describe(num_t type, cntx_t *cntx, hd_gemm_tile *t, char *name, size_t size) {
    t->mr = bli_cntx_get_blksz_max_dt(type, BLIS_MR, cntx);
    t->nr = bli_cntx_get_blksz_max_dt(type, BLIS_NR, cntx);
    t->kc = bli_cntx_get_blksz_def_dt(type, BLIS_KC, cntx);
    t->mc = block_rows(t, type == BLIS_DOUBLE ? 8 : 4, bli_cntx_get_blksz_def_dt(type, BLIS_MC, cntx));
    t->foreign = (void *)get_micro_kernel(type, cntx);
    t->foreign_context = cntx;
    snprintf(name, size, "BLIS %s %dx%d", blis.arch, (int)t->mr, (int)t->nr);
    t->name = name;
}

static void init_blis(void) {
    bli_init();
    cntx_t *cntx = (cntx_t *)bli_gks_query_cntx();
    blis.arch = bli_arch_string(bli_arch_query_id());
    describe(BLIS_FLOAT, cntx, &blis.tiles.f32, blis.names[0], sizeof blis.names[0]);
    describe(BLIS_DOUBLE, cntx, &blis.tiles.f64, blis.names[1], sizeof blis.names[1]);
    blis.tiles.f32.run = run_foreign_f32;
    blis.tiles.f64.run = run_foreign_f64;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static const hd_gemm_tiles *own_tiles(hd_isa isa) {
    switch (isa) {
#ifdef HD_HAVE_AVX512
    case HD_ISA_AVX512: return &hd_gemm_tiles_avx512;
#endif
#ifdef HD_HAVE_AVX2
    case HD_ISA_AVX2: return &hd_gemm_tiles_avx2;
#endif
    default: return &hd_gemm_tiles_plain;
    }
}

static bool blis_fits(const hd_gemm_tile *t, int64_t size) {
    return t->mr > 0 && t->nr > 0 && t->mr * t->nr * size <= HD_GEMM_TILE_BYTES && t->kc > 0;
}

/* BLIS does not know Zen 5, nor that Zen 4 has 32 vector registers; and it takes for a Haswell every processor
 * with AVX-512 whose name does not say how many units it has for it, as in virtual machines. On x86-64 the
 * plain instruction set may be a wish (HEED_ISA), which BLIS would ignore; elsewhere it is all there is. */
static bool own_is_better(hd_isa isa) {
    const hd_microarch cpu = hd_cpu_microarch();
    if (isa == HD_ISA_AVX512 && (cpu == HD_UARCH_ZEN4 || cpu == HD_UARCH_ZEN5)) return true;
    if (isa == HD_ISA_AVX512 && strcmp(blis.arch, "haswell") == 0) return true;
#if defined(__x86_64__)
    if (isa == HD_ISA_PLAIN) return true;
#endif
    return strcmp(blis.arch, "generic") == 0;
}

static void take_blis(struct hd_gemm_plan *plan) {
    const hd_gemm_tiles own = plan->direct;
    plan->blocked = blis.tiles;
    plan->blocked.f32.pack = own.f32.pack;
    plan->blocked.f64.pack = own.f64.pack;
}

hd_status hd_gemm_choose(hd_ctx *cx, hd_gemm_source source) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (check_blis(cx) != HD_OK) return HD_EARG;
    if (cx->gemm == NULL) cx->gemm = calloc(1, sizeof *cx->gemm);
    if (cx->gemm == NULL) return hd_fail(cx, HD_ENOMEM, "memory: %zu bytes wanted", sizeof *cx->gemm);
    pthread_once(&once, init_blis);
    const hd_isa isa = hd_cpu_isa(NULL);
    struct hd_gemm_plan *plan = cx->gemm;
    plan->direct = plan->blocked = *own_tiles(isa);
    const bool fits = blis_fits(&blis.tiles.f32, 4) && blis_fits(&blis.tiles.f64, 8);
    if (fits && (source == HD_GEMM_BLIS || (source == HD_GEMM_BEST && !own_is_better(isa)))) take_blis(plan);
    return HD_OK;
}

hd_status hd_gemm_init(hd_ctx *cx) {
    return cx->gemm != NULL ? HD_OK : hd_gemm_choose(cx, HD_GEMM_BEST);
}

void hd_gemm_done(hd_ctx *cx) {
    free(cx->gemm);
    cx->gemm = NULL;
}

const char *hd_gemm_kernel_name(const hd_ctx *cx) {
    return cx->gemm != NULL ? cx->gemm->blocked.f32.name : "none";
}

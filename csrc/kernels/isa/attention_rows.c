/* attention_rows.c: products of few queries with rows of keys and values (kernels/attention_rows.h). */
#include "base/minmax.h"
#include "kernels/isa/parts.h"
#include "kernels/vec_half.h"

/* The body is included once for each pair of a computing and a storing type. HD_REAL is the first;
 * KEY is the second. WIDE(p) loads LANES stored elements as a vector of `real`, WIDE_N(p, n) the
 * first n. ROWS_NAME(x) names what the body defines: dots_f32_rows, dots_bf16_rows, ...
 *
 * dots_f32_rows dots_f64_rows dots_f16_rows dots_bf16_rows mix_of_head_f32_rows
 * mix_of_head_f64_rows mix_of_head_f16_rows mix_of_head_bf16_rows along_f32_rows along_f64_rows
 * along_f16_rows along_bf16_rows accumulate_f32_rows accumulate_f64_rows accumulate_f16_rows
 * accumulate_bf16_rows widen_f32_rows widen_f64_rows widen_f16_rows widen_bf16_rows */
#define HD_REAL 32
#define KEY float
#define WIDE vf_load
#define WIDE_N vf_load_n
#define ROWS_NAME(x) x##_f32_rows
#include "kernels/isa/attention_rows_body.h"

#define HD_REAL 64
#define KEY double
#define WIDE vd_load
#define WIDE_N vd_load_n
#define ROWS_NAME(x) x##_f64_rows
#include "kernels/isa/attention_rows_body.h"

#define HD_REAL 32
#define KEY uint16_t
#define WIDE vf_of_bf16
#define WIDE_N vf_of_bf16_n
#define ROWS_NAME(x) x##_bf16_rows
#include "kernels/isa/attention_rows_body.h"

#define HD_REAL 32
#define KEY uint16_t
#define WIDE vf_of_f16
#define WIDE_N vf_of_f16_n
#define ROWS_NAME(x) x##_f16_rows
#include "kernels/isa/attention_rows_body.h"

void HD_ISA(hd_fill_attention_rows)(hd_kernels *k) {
    k->attention_rows[HD_F32] = &table_f32_rows;
    k->attention_rows[HD_F64] = &table_f64_rows;
    k->attention_rows[HD_BF16] = &table_bf16_rows;
    k->attention_rows[HD_F16] = &table_f16_rows;
}

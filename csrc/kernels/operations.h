/* operations.h: which operations the kernels are tables of, and what is known of each.
 *
 * The families that have a table of rows are listed there alone; who adds a row has added it everywhere.
 */
#ifndef HD_OPERATIONS_H
#define HD_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the columns of the tables ------------------------------------------------------------------------- */

/* Elements a task: for kernels as cheap as their memory traffic, and for those that compute (exp, pow). */
#define HD_GRAIN_LIGHT 32768
#define HD_GRAIN_HEAVY 8192

typedef enum hd_result { HD_TO_F32, HD_WHOLE, HD_TO_BOOL } hd_result;
typedef enum hd_slope {
    HD_SAVES_INPUT,
    HD_SAVES_OUTPUT,
    HD_SLOPE_0,
    HD_SLOPE_1,
    HD_SLOPE_NEG_1,
    HD_NO_SLOPE
} hd_slope;
typedef enum hd_binary_sort {
    HD_ARITHMETIC,
    HD_CHECKED,
    HD_DIVISION,
    HD_COMPARISON,
    HD_LOGIC
} hd_binary_sort;
typedef enum hd_binding { HD_IN_PLACE, HD_NEW_ONLY, HD_BY_HAND } hd_binding;

/* ---- families with a table ----------------------------------------------------------------------------- */

#define HD_ROW(op, ...) op,
typedef enum hd_unary {
#include "kernels/tables/unary.h"
    HD_UNARY_COUNT
} hd_unary;
typedef struct hd_unary_row {
    const char *name, *in_place;
    hd_result result;
    hd_slope slope;
    int64_t grain;
    hd_binding binding;
} hd_unary_row;
extern const hd_unary_row hd_unary_rows[HD_UNARY_COUNT];

#define HD_ROW(op, ...) op,
typedef enum hd_parametric {
#include "kernels/tables/parametric.h"
    HD_PARAMETRIC_COUNT
} hd_parametric;
typedef struct hd_parametric_row {
    const char *name, *in_place, *parameter;
    double otherwise;
    int64_t grain;
} hd_parametric_row;
extern const hd_parametric_row hd_parametric_rows[HD_PARAMETRIC_COUNT];

#define HD_ROW(op, ...) op,
typedef enum hd_binary {
#include "kernels/tables/binary.h"
    HD_BINARY_COUNT
} hd_binary;
typedef struct hd_binary_row {
    const char *name, *in_place, *metamethod;
    hd_binary_sort sort;
    int64_t grain;
    hd_binding binding;
} hd_binary_row;
extern const hd_binary_row hd_binary_rows[HD_BINARY_COUNT];

#define HD_ROW(op, ...) op,
typedef enum hd_pointwise {
#include "kernels/tables/pointwise.h"
    HD_POINTWISE_COUNT
} hd_pointwise;
typedef struct hd_pointwise_row {
    const char *name, *public_name; /* "mse_loss", "loss.mse_loss" */
    bool batchmean;
} hd_pointwise_row;
extern const hd_pointwise_row hd_pointwise_rows[HD_POINTWISE_COUNT];

#define HD_ROW(act, ...) act,
typedef enum hd_activation {
    HD_ACT_NONE = -1,
#include "kernels/tables/activation.h"
    HD_ACT_COUNT
} hd_activation;
typedef struct hd_activation_row {
    const char *name;
    hd_unary op;
} hd_activation_row;
extern const hd_activation_row hd_activation_rows[HD_ACT_COUNT];

/* ---- the others ---------------------------------------------------------------------------------------- */

typedef enum hd_reduction {
    HD_SUM,
    HD_PROD,
    HD_MAX,
    HD_MIN,
    HD_ANY,
    HD_ALL,
    HD_REDUCTION_COUNT
} hd_reduction;

/* Reductions whose state is two numbers, (a, b): */
typedef enum hd_partial {
    HD_MOMENTS,   /* the mean, and the sum of squares of the distances from it */
    HD_LOGSUMEXP, /* the largest, and the sum of exp(x - largest) */
    HD_SQUARES,   /* the sum of squares, in f64, and 0 */
    HD_ABS_SUM,
    HD_ABS_MAX,
    HD_ABS_MIN, /* of |x|, and 0; NaN wins */
    HD_PARTIAL_COUNT
} hd_partial;
#define HD_PARTIAL_COLUMNS 1024
#define HD_SOFTMAX_COLUMNS 32

#endif

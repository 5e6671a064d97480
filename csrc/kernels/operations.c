/* operations.c: the rows of the tables, with all their columns. */
#include "kernels/operations.h"

const hd_unary_row hd_unary_rows[HD_UNARY_COUNT] = {
#define HD_ROW(op, kernel, name, result, slope, grain, binding)                                              \
    [op] = {name, name "_", result, slope, grain, binding},
#include "kernels/tables/unary.h"
};

const hd_parametric_row hd_parametric_rows[HD_PARAMETRIC_COUNT] = {
#define HD_ROW(op, kernel, name, parameter, otherwise, grain)                                                \
    [op] = {name, name "_", parameter, otherwise, grain},
#include "kernels/tables/parametric.h"
};

const hd_binary_row hd_binary_rows[HD_BINARY_COUNT] = {
#define HD_ROW(op, kernel, name, metamethod, sort, grain, binding)                                           \
    [op] = {name, name "_", metamethod, sort, grain, binding},
#include "kernels/tables/binary.h"
};

const hd_pointwise_row hd_pointwise_rows[HD_POINTWISE_COUNT] = {
#define HD_ROW(op, kernel, name, public_name, batchmean) [op] = {name, "loss." public_name, batchmean},
#include "kernels/tables/pointwise.h"
};

const hd_activation_row hd_activation_rows[HD_ACT_COUNT] = {
#define HD_ROW(act, kernel, name, op) [act] = {name, op},
#include "kernels/tables/activation.h"
};

/* The types of tensors by ggml's numbers. Those that are neither a dtype nor a block format of
 * kernels/blocks.h are known by name only; those that ggml gave up are not listed. */
#include <string.h>

#include "io/gguf.h"

enum { BLOCKS = HD_DTYPE_COUNT }; /* no dtype */

static const struct {
    uint32_t number;
    int dtype;
    const char *name;
} types[] = {
    {0, HD_F32, "F32"},      {1, HD_F16, "F16"},     {2, BLOCKS, "Q4_0"},     {3, BLOCKS, "Q4_1"},
    {6, BLOCKS, "Q5_0"},     {7, BLOCKS, "Q5_1"},    {8, BLOCKS, "Q8_0"},     {9, BLOCKS, "Q8_1"},
    {10, BLOCKS, "Q2_K"},    {11, BLOCKS, "Q3_K"},   {12, BLOCKS, "Q4_K"},    {13, BLOCKS, "Q5_K"},
    {14, BLOCKS, "Q6_K"},    {15, BLOCKS, "Q8_K"},   {16, BLOCKS, "IQ2_XXS"}, {17, BLOCKS, "IQ2_XS"},
    {18, BLOCKS, "IQ3_XXS"}, {19, BLOCKS, "IQ1_S"},  {20, BLOCKS, "IQ4_NL"},  {21, BLOCKS, "IQ3_S"},
    {22, BLOCKS, "IQ2_S"},   {23, BLOCKS, "IQ4_XS"}, {24, HD_I8, "I8"},       {25, HD_I16, "I16"},
    {26, HD_I32, "I32"},     {27, HD_I64, "I64"},    {28, HD_F64, "F64"},     {29, BLOCKS, "IQ1_M"},
    {30, HD_BF16, "BF16"},   {34, BLOCKS, "TQ1_0"},  {35, BLOCKS, "TQ2_0"},   {39, BLOCKS, "MXFP4"},
    {40, BLOCKS, "NVFP4"},   {41, BLOCKS, "Q1_0"},
};

static hd_gguf_type type_of(size_t row) {
    hd_gguf_type type = {.number = types[row].number, .name = types[row].name, .dtype = HD_F32};
    if (types[row].dtype == BLOCKS) {
        type.blocks = hd_block_format_named(type.name);
        type.is_read = type.blocks != NULL;
    } else {
        type.dtype = (hd_dtype)types[row].dtype;
        type.is_read = true;
    }
    return type;
}

hd_gguf_type hd_gguf_type_numbered(uint32_t number) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].number == number) return type_of(i);
    return (hd_gguf_type){.number = number};
}

bool hd_gguf_type_named(const char *name, hd_gguf_type *type) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name)) {
            *type = type_of(i);
            return true;
        }
    return false;
}

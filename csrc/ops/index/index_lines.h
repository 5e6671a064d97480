/* index_lines.h: an index beside what it leads to, line by line along a dimension.
 *
 * The list has an element for each position of the index; the table is where the index leads to. A task is some lines,
 * which share no element, and goes along each in the order of the index: the result is the same on any number of threads.
 */
#ifndef HD_OPS_INDEX_LINES_H
#define HD_OPS_INDEX_LINES_H

#include "ops/ops.h"

#define HD_LINE_COLUMNS 64 /* that go along together */

typedef struct hd_line {
    const int64_t *index;
    int64_t size, index_step; /* along dim */
    int columns;
    char *list, *table, *other; /* other: a second list with the steps of the first, or NULL */
    int64_t list_step, table_step;
    int64_t list_at[HD_LINE_COLUMNS], table_at[HD_LINE_COLUMNS]; /* where each column begins */
} hd_line;

typedef void (*hd_line_run)(const hd_line *l);

typedef uint8_t bits_1 __attribute__((may_alias));
typedef uint16_t bits_2 __attribute__((may_alias));
typedef uint32_t bits_4 __attribute__((may_alias));
typedef uint64_t bits_8 __attribute__((may_alias));

/* Of one column, and of several. The numbers of the line are read first: what is written may be anything to the
 * compiler, even them. */
#define HD_LINE_RUN(name, type, statement)                                                                   \
    static void name(const hd_line *l) {                                                                     \
        const int64_t *index = l->index;                                                                     \
        const int64_t size = l->size, index_step = l->index_step, columns = l->columns;                      \
        const int64_t list_step = l->list_step, table_step = l->table_step;                                  \
        type *list = (type *)l->list, *table = (type *)l->table, *other = (type *)l->other;                  \
        (void)list, (void)other;                                                                             \
        if (columns == 1) {                                                                                  \
            list += l->list_at[0], table += l->table_at[0], other += l->list_at[0];                          \
            for (int64_t p = 0; p < size; p++) {                                                             \
                int64_t at = p * list_step, to = (index[p * index_step] - 1) * table_step;                   \
                statement;                                                                                   \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t p = 0; p < size; p++, index += index_step, list += list_step, other += list_step)       \
            for (int64_t c = 0; c < columns; c++) {                                                          \
                int64_t at = l->list_at[c], to = (index[c] - 1) * table_step + l->table_at[c];               \
                statement;                                                                                   \
            }                                                                                                \
    }

typedef struct hd_lines_pass {
    const hd_tensor *index, *list, *table; /* index: i64, contiguous, checked */
    const hd_tensor *other;                /* laid out as the list; or NULL */
    int dim;
    hd_line_run run;
    bool backwards; /* the last of a line first */
} hd_lines_pass;

hd_status hd_run_lines(hd_ctx *cx, hd_lines_pass p);

/* As many dimensions as x, and none but `dim` longer. */
hd_status hd_check_fits(hd_ctx *cx, const hd_tensor *index, const hd_tensor *x, int dim);
/* That, and nowhere longer than src. */
hd_status hd_check_scatter(hd_ctx *cx, const hd_tensor *x, int dim, const hd_tensor *index,
                           const hd_tensor *src);

#endif

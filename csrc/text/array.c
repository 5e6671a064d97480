#include "text/array.h"

#include <string.h>

hd_status hd_array_reserve(hd_ctx *cx, void *block, int64_t *capacity, int64_t needed, size_t element) {
    if (needed <= *capacity) return HD_OK;
    int64_t wanted = *capacity + *capacity / 2, bytes;
    if (wanted < needed) wanted = needed;
    if (wanted < 16) wanted = 16;
    if (!hd_mul_fits(wanted, (int64_t)element, &bytes)) return hd_fail(cx, HD_ENOMEM, "too large an array");
    void *held, *larger = hd_alloc(cx, (size_t)bytes);
    if (!larger) return cx->error.status;
    memcpy(&held, block, sizeof held); /* a pointer of whatever type */
    if (held) memcpy(larger, held, (size_t)*capacity * element);
    hd_free(cx->account, held);
    memcpy(block, &larger, sizeof larger);
    *capacity = wanted;
    return HD_OK;
}

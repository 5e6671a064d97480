/* embed.h: the Lua modules that libheed carries. CMake writes the table from lua/
 * (csrc/cmake/EmbedLua.cmake). */
#ifndef HD_EMBED_H
#define HD_EMBED_H

#include <stddef.h>

typedef struct hd_embedded_module {
    const char *name;   /* "heed.nn.linear"; NULL ends the table */
    const char *source; /* zero-terminated; length does not count the zero */
    size_t length;
} hd_embedded_module;

extern const hd_embedded_module hd_embedded_modules[];

#endif

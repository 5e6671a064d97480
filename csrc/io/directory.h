/* directory.h: the names of what a directory holds. */
#ifndef HD_DIRECTORY_H
#define HD_DIRECTORY_H

#include "base/context.h"

/* Names one behind another, each with its zero, in no order; hidden ones are left out. */
typedef struct hd_directory {
    char *names;
    int64_t size, count;
} hd_directory;

/* HD_EIO (the message has the path) or HD_ENOMEM. */
hd_status hd_directory_read(hd_ctx *cx, hd_directory *directory, const char *path);
void hd_directory_free(hd_account *account, hd_directory *directory);

#endif

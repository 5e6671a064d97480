/* status.h: how a room below Lua says that something went wrong.
 *
 * A function that can fail returns hd_status (HD_OK is 0) or a pointer (NULL on failure), and has
 * then written one message into the context with hd_fail(). Nothing prints, exits or jumps.
 *
 * Messages read "argument: expected ..., got ..."; the caller in Lua puts the function's name before.
 */
#ifndef HD_STATUS_H
#define HD_STATUS_H

typedef enum hd_status {
    HD_OK = 0,
    HD_EARG,    /* misuse: wrong shape, dtype, index, option */
    HD_ENOMEM,  /* an allocation failed or passed the limit */
    HD_EIO,     /* the world failed: a file, its bytes */
    HD_ECANCEL, /* interrupted between two tasks or nodes */
    HD_EFOREIGN /* a function supplied from outside failed; its error is kept by whoever supplied it */
} hd_status;

#define HD_MESSAGE_SIZE 512

typedef struct hd_error {
    hd_status status;
    char message[HD_MESSAGE_SIZE];
} hd_error;

#endif

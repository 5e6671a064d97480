/* jpeg_errors.h: libjpeg's errors as a jump back into the function that called it, instead of exit. Includes
 * jpeglib.h. */
#ifndef HD_JPEG_ERRORS_H
#define HD_JPEG_ERRORS_H

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it and does not include it */

#include <jpeglib.h>

typedef struct hd_jpeg_errors {
    struct jpeg_error_mgr base; /* first: libjpeg hands out its address */
    jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
} hd_jpeg_errors;

/* For cinfo.err; then `if (setjmp(errors->jump))` before the first call of libjpeg. */
struct jpeg_error_mgr *hd_jpeg_errors_begin(hd_jpeg_errors *errors);

#endif

/* Feeds damaged JPEG files to the reader: the target fuzz-jpeg (reader_fuzz.h). */
#define _GNU_SOURCE
#define FORMAT HD_IMAGE_JPEG
#define CHANNELS 3
#define MEND mutate_mend_none
#include "image_fuzz.h"

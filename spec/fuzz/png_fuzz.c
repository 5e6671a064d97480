/* Feeds damaged PNG files to the reader: the target fuzz-png (reader_fuzz.h). */
#define _GNU_SOURCE
#define FORMAT HD_IMAGE_PNG
#define CHANNELS 4
#define MEND mutate_mend_png
#include "image_fuzz.h"

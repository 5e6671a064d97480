/* sound_file.h: libsndfile on a descriptor of heed's: what audio_load.c and audio_save.c share. */
#ifndef HD_SOUND_FILE_H
#define HD_SOUND_FILE_H

#include <sndfile.h>
#include <stdbool.h>

/* What libsndfile sees as a file. */
typedef struct hd_sound_file {
    int fd;
    sf_count_t at, size;
    bool failed; /* reading or writing did: errno said why */
    int error;   /* that errno */
} hd_sound_file;

extern SF_VIRTUAL_IO hd_sound_io;

#endif

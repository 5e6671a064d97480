/* Feeds damaged GGUF files to the reader: the target fuzz-gguf (reader_fuzz.h). */
#define _GNU_SOURCE
#include "io/gguf.h"
#ifndef HD_LIBFUZZER
#include "gguf_sample.h"
#include "mutate.h"
#endif

#define DATA 0
#define MEND mutate_mend_none
#include "reader_fuzz.h"

/* Every value, as deep as it goes. */
static const char *walk_value(hd_gguf_kind kind, const char *at) {
    hd_gguf_value v = hd_gguf_value_at(kind, at);
    if (kind != HD_GGUF_ARRAY) return v.next;
    at = v.array.values;
    for (int64_t i = 0; i < v.array.count; i++) at = walk_value(v.array.kind, at);
    return at;
}

static bool read_tensors(hd_source *source, hd_mapping *m, const hd_gguf *file) {
    bool fine = true;
    for (int64_t i = 0; i < file->tensor_count && fine; i++) {
        hd_tensor *t = hd_gguf_tensor_read(source, m, &file->tensors[i]);
        fine = t != NULL;
        hd_release(t);
    }
    return fine;
}

static bool read_file(hd_ctx *cx, const char *path) {
    hd_source source;
    hd_gguf file;
    if (hd_source_open(cx, &source, path)) return false;
    bool fine = !hd_gguf_read(&source, &file);
    if (fine) {
        for (int64_t i = 0; i < file.item_count; i++) walk_value(file.items[i].kind, file.items[i].value);
        hd_mapping *m = hd_source_map(&source);
        fine = read_tensors(&source, NULL, &file);
        if (fine != read_tensors(&source, m, &file)) __builtin_trap();
        hd_mapping_release(m);
        hd_gguf_free(cx->account, &file);
    }
    hd_source_close(&source);
    return fine;
}

#ifndef HD_LIBFUZZER
static size_t compose(uint64_t *state, uint8_t *bytes) {
    (void)state;
    return gguf_sample(bytes);
}
#endif

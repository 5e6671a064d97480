#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/history.h"

#define LONGEST_ENTRY 65536
#define LONGEST_FILE (64 << 20)

char *hh_history_path(void) {
    const char *chosen = getenv("HEED_HISTORY"), *home = getenv("HOME");
    if (chosen) return *chosen ? strdup(chosen) : NULL;
    char *path = NULL;
    if (home && *home && asprintf(&path, "%s/.heed_history", home) < 0) path = NULL;
    return path;
}

/* A plain file of this name, or -1: a pipe would wait for somebody. */
static int open_plain(const char *path, int flags) {
    int file = open(path, flags | O_NONBLOCK | O_CLOEXEC, 0600);
    struct stat s;
    if (file < 0 || (fstat(file, &s) == 0 && S_ISREG(s.st_mode))) return file;
    close(file);
    return -1;
}

/* ---- entries as lines ------------------------------------------------------------------------------------ */

static size_t encode(const char *entry, char *line) {
    char *end = line;
    for (; *entry; entry++) {
        if (*entry == '\n' || *entry == '\\') *end++ = '\\';
        *end++ = *entry == '\n' ? 'n' : *entry;
    }
    *end++ = '\n';
    return (size_t)(end - line);
}

static void decode(char *line) {
    char *end = line;
    for (; *line; line++) {
        bool escaped = line[0] == '\\' && line[1];
        if (escaped) line++;
        *end++ = escaped && *line == 'n' ? '\n' : *line;
    }
    *end = '\0';
}

static bool write_all(int file, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t wrote = write(file, bytes, length);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        bytes += wrote;
        length -= (size_t)wrote;
    }
    return true;
}

void hh_history_append(const char *path, const char *entry) {
    size_t length = strlen(entry);
    if (length > LONGEST_ENTRY) return;
    char *line = malloc(2 * length + 1);
    int file = line ? open_plain(path, O_WRONLY | O_APPEND | O_CREAT) : -1;
    if (file >= 0) {
        flock(file, LOCK_EX); /* against an interleaved write; without locks it is as good as it can be */
        write_all(file, line, encode(entry, line));
        close(file);
    }
    free(line);
}

/* ---- reading --------------------------------------------------------------------------------------------- */

/* The whole file with a zero behind it, or NULL. */
static char *read_file(const char *path) {
    int file = open_plain(path, O_RDONLY);
    struct stat s;
    char *text = NULL;
    if (file >= 0 && fstat(file, &s) == 0 && s.st_size <= LONGEST_FILE) text = malloc((size_t)s.st_size + 1);
    size_t length = 0;
    while (text && length < (size_t)s.st_size) {
        ssize_t got = read(file, text + length, (size_t)s.st_size - length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        length += (size_t)got;
    }
    if (text) text[length] = '\0';
    if (file >= 0) close(file);
    return text;
}

typedef struct line_list {
    char **lines; /* into the text, which is cut at its line ends */
    size_t count;
} line_list;

static line_list split(char *text) {
    size_t capacity = 1;
    for (const char *p = text; *p; p++) capacity += *p == '\n';
    line_list list = {calloc(capacity, sizeof *list.lines), 0};
    if (!list.lines) return list;
    for (char *line = text; *line;) {
        char *end = line + strcspn(line, "\n"), *next = *end ? end + 1 : end;
        *end = '\0';
        if (end > line) list.lines[list.count++] = line;
        line = next;
    }
    return list;
}

/* Of equal entries the last stays; of all the last HH_HISTORY_ENTRIES. What goes becomes NULL. */
static void thin_out(line_list list) {
    size_t kept = 0;
    for (size_t i = list.count; i-- > 0;) {
        if (!list.lines[i]) continue;
        bool known = kept == HH_HISTORY_ENTRIES;
        for (size_t j = list.count; !known && j-- > i + 1;)
            known = list.lines[j] && strcmp(list.lines[i], list.lines[j]) == 0;
        if (known)
            list.lines[i] = NULL;
        else
            kept++;
    }
}

static bool write_lines(int file, line_list list) {
    bool ok = true;
    for (size_t i = 0; ok && i < list.count; i++)
        if (list.lines[i])
            ok = write_all(file, list.lines[i], strlen(list.lines[i])) && write_all(file, "\n", 1);
    return ok;
}

/* Another file takes its place at once, so that no moment is without one. */
static void rewrite(const char *path, line_list list) {
    char *real = realpath(path, NULL), *draft = NULL;
    if (real && asprintf(&draft, "%s.XXXXXX", real) < 0) draft = NULL;
    int file = draft ? mkostemp(draft, O_CLOEXEC) : -1;
    if (file >= 0) {
        bool ok = write_lines(file, list);
        if (close(file) != 0 || !ok || rename(draft, real) != 0) unlink(draft);
    }
    free(draft);
    free(real);
}

void hh_history_load(const char *path, void (*visit)(void *arg, const char *entry), void *arg) {
    char *text = read_file(path);
    if (!text) return;
    line_list list = split(text);
    size_t before = list.count, looked_at = 4 * HH_HISTORY_ENTRIES;
    if (list.lines) {
        for (size_t i = 0; i + looked_at < list.count; i++) list.lines[i] = NULL;
        thin_out(list);
        if (before > 2 * HH_HISTORY_ENTRIES) rewrite(path, list);
    }
    for (size_t i = 0; i < list.count; i++) {
        if (!list.lines[i]) continue;
        decode(list.lines[i]);
        visit(arg, list.lines[i]);
    }
    free(list.lines);
    free(text);
}

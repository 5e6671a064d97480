/* line.h: one line from the person, edited, completed and remembered where libedit was found at build time. */
#ifndef HH_LINE_H
#define HH_LINE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hh_lines hh_lines;

typedef enum hh_line_status { HH_LINE, HH_LINE_END, HH_LINE_INTERRUPTED } hh_line_status;

/* What the Tab key does: characters to remove before the cursor (or remove < 0: complete the name of a file),
 * what to put there, and a list to show. The texts are malloc'ed or NULL; the line editor frees them. */
typedef struct hh_completion {
    int remove;
    char *insert, *list;
} hh_completion;
typedef hh_completion (*hh_completer)(void *arg, const char *before_cursor, size_t length);

/* Reads standard input; editing and history when it is a terminal that can do it. NULL when memory fails. */
hh_lines *hh_lines_open(hh_completer complete, void *arg);
void hh_lines_close(hh_lines *lines);
/* Does somebody type, and can he edit what he types? */
bool hh_lines_is_terminal(const hh_lines *lines);
bool hh_lines_edits(const hh_lines *lines);
/* text[0 .. length), without the newline, is valid until the next call. The prompt shows on terminals only; when
 * lines are edited, what takes no room in it (colours) is between two \1. */
hh_line_status hh_lines_read(hh_lines *lines, const char *prompt, const char **text, size_t *length);
/* One input, which may be several lines, into the history and its file. */
void hh_lines_remember(hh_lines *lines, const char *text);

#endif

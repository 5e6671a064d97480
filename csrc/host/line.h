/* line.h: one line from the person, edited and remembered where libedit was found at build time. */
#ifndef HH_LINE_H
#define HH_LINE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hh_lines hh_lines;

typedef enum hh_line_status { HH_LINE, HH_LINE_END, HH_LINE_INTERRUPTED } hh_line_status;

/* Reads standard input; editing and history when it is a terminal. NULL when memory fails. */
hh_lines *hh_lines_open(void);
void hh_lines_close(hh_lines *lines);
bool hh_lines_is_terminal(const hh_lines *lines);
/* text[0 .. length), without the newline, is valid until the next call. The prompt shows on terminals only.
 */
hh_line_status hh_lines_read(hh_lines *lines, const char *prompt, const char **text, size_t *length);
/* One input, which may be several lines, into the history and its file. */
void hh_lines_remember(hh_lines *lines, const char *text);

#endif

/* history.h: the file of what was typed at the prompt. An input a line, oldest first; inside it a new line is
 * written \n and a backslash \\. Sessions that run side by side append to it and lose nothing of each other.
 * Every failure (no home, not writable, full) only means that less is remembered. */
#ifndef HH_HISTORY_H
#define HH_HISTORY_H

#define HH_HISTORY_ENTRIES 2000

/* $HEED_HISTORY, or .heed_history at home; NULL when there is to be none. The caller frees it. */
char *hh_history_path(void);
/* The last HH_HISTORY_ENTRIES different ones, the oldest first. A file that has grown to twice as many is cut. */
void hh_history_load(const char *path, void (*visit)(void *arg, const char *entry), void *arg);
void hh_history_append(const char *path, const char *entry);

#endif

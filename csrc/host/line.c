#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#ifdef HEED_HAVE_EDIT
#include <histedit.h>
#endif

#include "host/interrupt.h"
#include "host/line.h"

#define HISTORY_LINES 2000

struct hh_lines {
    bool terminal;
    char *buffer; /* of getline, when nothing edits */
    size_t capacity;
#ifdef HEED_HAVE_EDIT
    EditLine *editor;
    History *history;
    char *history_path; /* NULL without a home */
    const char *prompt;
#endif
};

#ifdef HEED_HAVE_EDIT
static char *prompt_of(EditLine *editor) {
    hh_lines *lines;
    el_get(editor, EL_CLIENTDATA, &lines);
    return (char *)lines->prompt;
}

/* Waits for a byte or for Ctrl-C, also for one that came just before. */
static bool wait_for_input(void) {
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (!hh_interrupt_pending() && ppoll(&input, 1, NULL, &before) < 0 && errno == EINTR) {
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return !hh_interrupt_pending();
}

/* libedit's own reader starts again after a signal; this one ends the line when it was Ctrl-C. */
static int read_character(EditLine *editor, wchar_t *character) {
    (void)editor;
    mbstate_t state = {0};
    for (;;) {
        char byte;
        if (!wait_for_input()) return -1;
        if (read(STDIN_FILENO, &byte, 1) != 1) return 0;
        size_t length = mbrtowc(character, &byte, 1, &state);
        if (length == (size_t)-1)
            state = (mbstate_t){0}; /* not UTF-8: the byte is dropped */
        else if (length != (size_t)-2)
            return 1;
    }
}

static void open_history(hh_lines *lines) {
    lines->history = history_init();
    if (!lines->history) return;
    HistEvent event;
    history(lines->history, &event, H_SETSIZE, HISTORY_LINES);
    history(lines->history, &event, H_SETUNIQUE, 1);
    el_set(lines->editor, EL_HIST, history, lines->history);
    const char *home = getenv("HOME");
    if (home && asprintf(&lines->history_path, "%s/.heed_history", home) < 0) lines->history_path = NULL;
    if (lines->history_path) history(lines->history, &event, H_LOAD, lines->history_path);
}

static void open_editor(hh_lines *lines) {
    lines->editor = el_init("heed", stdin, stdout, stderr);
    if (!lines->editor) return;
    el_set(lines->editor, EL_CLIENTDATA, lines);
    el_set(lines->editor, EL_PROMPT, prompt_of);
    el_set(lines->editor, EL_EDITOR, "emacs");
    el_set(lines->editor, EL_SIGNAL, 1);
    el_set(lines->editor, EL_GETCFN, read_character);
    el_set(lines->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    open_history(lines);
    el_source(lines->editor, NULL);
}

static hh_line_status read_edited(hh_lines *lines, const char *prompt, const char **text, size_t *length) {
    lines->prompt = prompt;
    int count = 0;
    el_set(lines->editor, EL_PREP_TERM, 1); /* before the prompt shows: a Ctrl-D typed at once must count */
    *text = el_gets(lines->editor, &count);
    if (hh_interrupt_take()) {
        el_reset(lines->editor);
        putchar('\n');
        return HH_LINE_INTERRUPTED;
    }
    if (!*text || count <= 0) return HH_LINE_END;
    *length = (size_t)count;
    return HH_LINE;
}
#endif

hh_lines *hh_lines_open(void) {
    hh_lines *lines = calloc(1, sizeof *lines);
    if (!lines) return NULL;
    lines->terminal = isatty(STDIN_FILENO);
#ifdef HEED_HAVE_EDIT
    if (lines->terminal) open_editor(lines);
#endif
    return lines;
}

void hh_lines_close(hh_lines *lines) {
#ifdef HEED_HAVE_EDIT
    if (lines->history) history_end(lines->history);
    if (lines->editor) el_end(lines->editor);
    free(lines->history_path);
#endif
    free(lines->buffer);
    free(lines);
}

bool hh_lines_is_terminal(const hh_lines *lines) {
    return lines->terminal;
}

static hh_line_status read_plain(hh_lines *lines, const char *prompt, const char **text, size_t *length) {
    if (lines->terminal) {
        fputs(prompt, stdout);
        fflush(stdout);
    }
    ssize_t count = getline(&lines->buffer, &lines->capacity, stdin);
    if (hh_interrupt_take()) {
        clearerr(stdin);
        putchar('\n');
        return HH_LINE_INTERRUPTED;
    }
    if (count < 0) return HH_LINE_END;
    *text = lines->buffer;
    *length = (size_t)count;
    return HH_LINE;
}

hh_line_status hh_lines_read(hh_lines *lines, const char *prompt, const char **text, size_t *length) {
    hh_line_status status;
#ifdef HEED_HAVE_EDIT
    if (lines->editor)
        status = read_edited(lines, prompt, text, length);
    else
#endif
        status = read_plain(lines, prompt, text, length);
    if (status == HH_LINE && (*text)[*length - 1] == '\n') --*length;
    return status;
}

void hh_lines_remember(hh_lines *lines, const char *text) {
#ifdef HEED_HAVE_EDIT
    if (!lines->history || !*text) return;
    HistEvent event;
    history(lines->history, &event, H_ENTER, text);
    /* Saved at once: os.exit at the prompt, or a kill, loses nothing. */
    if (lines->history_path) history(lines->history, &event, H_SAVE, lines->history_path);
#else
    (void)lines;
    (void)text;
#endif
}

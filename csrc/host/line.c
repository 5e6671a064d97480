#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#ifdef HEED_HAVE_EDIT
#include <histedit.h>
#endif

#include "host/history.h"
#include "host/interrupt.h"
#include "host/line.h"

struct hh_lines {
    bool terminal;
    char *buffer; /* of getline, when nothing edits */
    size_t capacity;
#ifdef HEED_HAVE_EDIT
    EditLine *editor;
    History *history;
    char *history_path; /* NULL: nothing is kept */
    const char *prompt;
    hh_completer complete;
    void *complete_arg;
#endif
};

typedef enum wait_status { WAIT_INPUT, WAIT_INTERRUPTED, WAIT_OTHER_SIGNAL } wait_status;

/* Waits for input of a terminal or for Ctrl-C, also for one that came just before, or for another signal. */
static wait_status wait_for_input(void) {
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    bool signalled = !hh_interrupt_pending() && ppoll(&input, 1, NULL, &before) < 0 && errno == EINTR;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return hh_interrupt_pending() ? WAIT_INTERRUPTED : signalled ? WAIT_OTHER_SIGNAL : WAIT_INPUT;
}

#ifdef HEED_HAVE_EDIT
static hh_lines *lines_of(EditLine *editor) {
    hh_lines *lines;
    el_get(editor, EL_CLIENTDATA, &lines);
    return lines;
}

static char *prompt_of(EditLine *editor) {
    return (char *)lines_of(editor)->prompt;
}

/* ---- reading characters ---------------------------------------------------------------------------------- */

static unsigned terminal_columns(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* libedit's own reader starts again after a signal; this one ends the line when it was Ctrl-C. */
static int read_character(EditLine *editor, wchar_t *character) {
    mbstate_t state = {0};
    unsigned columns = terminal_columns();
    for (;;) {
        char byte;
        wait_status waited = wait_for_input();
        if (waited == WAIT_INTERRUPTED) return -1;
        if (waited == WAIT_OTHER_SIGNAL) {
            /* In the foreground again after Ctrl-Z; what a new width asks for libedit does. */
            if (terminal_columns() == columns) el_set(editor, EL_REFRESH);
            columns = terminal_columns();
            continue;
        }
        ssize_t got = read(STDIN_FILENO, &byte, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got != 1) return 0;
        size_t length = mbrtowc(character, &byte, 1, &state);
        if (length == (size_t)-1)
            state = (mbstate_t){0}; /* not UTF-8: the byte is dropped */
        else if (length != (size_t)-2)
            return 1;
    }
}

/* ---- keys ------------------------------------------------------------------------------------------------ */

static unsigned char show_list(EditLine *editor, const char *list) {
    const LineInfo *line = el_line(editor);
    int to_end = (int)(line->lastchar - line->cursor);
    el_cursor(editor, to_end); /* below an input of several lines, not into it */
    printf("\n%s\n", list);
    fflush(stdout);
    el_cursor(editor, -to_end);
    return CC_REDISPLAY;
}

static unsigned char on_tab(EditLine *editor, int key) {
    hh_lines *lines = lines_of(editor);
    const LineInfo *line = el_line(editor);
    size_t before = (size_t)(line->cursor - line->buffer);
    hh_completion c = lines->complete(lines->complete_arg, line->buffer, before);
    unsigned char result = CC_REFRESH;
    if (c.remove < 0) {
        result = _el_fn_complete(editor, key);
    } else if (c.list) {
        result = show_list(editor, c.list);
    } else if (c.insert && *c.insert) {
        if (c.remove > 0) el_deletestr(editor, c.remove);
        if (el_insertstr(editor, c.insert) != 0) result = CC_ERROR;
    } else {
        result = CC_ERROR;
    }
    free(c.insert);
    free(c.list);
    return result;
}

static unsigned char on_newline(EditLine *editor, int key) {
    (void)key;
    return el_insertstr(editor, "\n") == 0 ? CC_REFRESH : CC_ERROR;
}

static const wchar_t *start_of_line(const LineInfoW *line, const wchar_t *at) {
    while (at > line->buffer && at[-1] != L'\n') at--;
    return at;
}

static const wchar_t *end_of_line(const LineInfoW *line, const wchar_t *at) {
    while (at < line->lastchar && *at != L'\n') at++;
    return at;
}

static unsigned char move_to(EditLine *editor, const wchar_t *target) {
    el_cursor(editor, (int)(target - el_wline(editor)->cursor));
    return CC_REFRESH;
}

/* The arrows go from line to line inside an input, and beyond it to other inputs: those keys are pushed. */
static unsigned char on_up(EditLine *editor, int key) {
    (void)key;
    const LineInfoW *line = el_wline(editor);
    const wchar_t *start = start_of_line(line, line->cursor);
    if (start == line->buffer) {
        el_push(editor, "\020");
        return CC_NORM;
    }
    const wchar_t *target = start_of_line(line, start - 1) + (line->cursor - start);
    return move_to(editor, target < start ? target : start - 1);
}

static unsigned char on_down(EditLine *editor, int key) {
    (void)key;
    const LineInfoW *line = el_wline(editor);
    const wchar_t *end = end_of_line(line, line->cursor);
    if (end == line->lastchar) {
        el_push(editor, "\016");
        return CC_NORM;
    }
    const wchar_t *target = end + 1 + (line->cursor - start_of_line(line, line->cursor));
    const wchar_t *below = end_of_line(line, end + 1);
    return move_to(editor, target < below ? target : below);
}

static unsigned char on_start(EditLine *editor, int key) {
    (void)key;
    const LineInfoW *line = el_wline(editor);
    return move_to(editor, start_of_line(line, line->cursor));
}

static unsigned char on_end(EditLine *editor, int key) {
    (void)key;
    const LineInfoW *line = el_wline(editor);
    return move_to(editor, end_of_line(line, line->cursor));
}

/* The name is wide since libedit keeps it, and would not release its own copy of another. */
static void bind(EditLine *editor, const wchar_t *name, unsigned char (*function)(EditLine *, int),
                 const wchar_t *const keys[]) {
    el_wset(editor, EL_ADDFN, name, L"of heed", function);
    for (; *keys; keys++) el_wset(editor, EL_BIND, *keys, name, NULL);
}

/* ---- the editor ------------------------------------------------------------------------------------------ */

static void add_entry(void *arg, const char *entry) {
    HistEvent event;
    history(arg, &event, H_ENTER, entry);
}

static void open_history(hh_lines *lines) {
    lines->history = history_init();
    if (!lines->history) return;
    HistEvent event;
    history(lines->history, &event, H_SETSIZE, HH_HISTORY_ENTRIES);
    history(lines->history, &event, H_SETUNIQUE, 1);
    el_set(lines->editor, EL_HIST, history, lines->history);
    lines->history_path = hh_history_path();
    if (lines->history_path) hh_history_load(lines->history_path, add_entry, lines->history);
}

static bool can_edit(void) {
    const char *terminal = getenv("TERM");
    return terminal && *terminal && strcmp(terminal, "dumb") != 0 && isatty(STDOUT_FILENO);
}

static void open_editor(hh_lines *lines) {
    lines->editor = el_init("heed", stdin, stdout, stderr);
    if (!lines->editor) return;
    EditLine *editor = lines->editor;
    el_set(editor, EL_CLIENTDATA, lines);
    el_set(editor, EL_PROMPT_ESC, prompt_of, '\1');
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_SIGNAL, 1);
    el_set(editor, EL_GETCFN, read_character);
    el_set(editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    bind(editor, L"heed-complete", on_tab, (const wchar_t *const[]){L"^I", NULL});
    bind(editor, L"heed-newline", on_newline, (const wchar_t *const[]){L"\\e\\r", L"\\e\\n", NULL});
    bind(editor, L"heed-up", on_up, (const wchar_t *const[]){L"\\e[A", L"\\eOA", NULL});
    bind(editor, L"heed-down", on_down, (const wchar_t *const[]){L"\\e[B", L"\\eOB", NULL});
    bind(editor, L"heed-start", on_start,
         (const wchar_t *const[]){L"^A", L"\\e[H", L"\\eOH", L"\\e[1~", NULL});
    bind(editor, L"heed-end", on_end, (const wchar_t *const[]){L"^E", L"\\e[F", L"\\eOF", L"\\e[4~", NULL});
    open_history(lines);
    el_source(editor, NULL);
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
    *length = strlen(*text);
    return HH_LINE;
}
#endif

hh_lines *hh_lines_open(hh_completer complete, void *arg) {
    hh_lines *lines = calloc(1, sizeof *lines);
    if (!lines) return NULL;
    lines->terminal = isatty(STDIN_FILENO);
#ifdef HEED_HAVE_EDIT
    lines->complete = complete;
    lines->complete_arg = arg;
    if (lines->terminal && can_edit()) open_editor(lines);
#else
    (void)complete;
    (void)arg;
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

bool hh_lines_edits(const hh_lines *lines) {
#ifdef HEED_HAVE_EDIT
    return lines->editor != NULL;
#else
    (void)lines;
    return false;
#endif
}

static hh_line_status read_plain(hh_lines *lines, const char *prompt, const char **text, size_t *length) {
    if (lines->terminal) {
        fputs(prompt, stdout);
        fflush(stdout);
        clearerr(stdin); /* a read of the person's own that was stopped, or saw Ctrl-D, leaves a mark */
    }
    wait_status waited = WAIT_OTHER_SIGNAL;
    while (lines->terminal && waited == WAIT_OTHER_SIGNAL) waited = wait_for_input();
    ssize_t count = -1;
    if (waited != WAIT_INTERRUPTED) count = getline(&lines->buffer, &lines->capacity, stdin);
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
    if (status == HH_LINE && *length > 0 && (*text)[*length - 1] == '\n') --*length;
    return status;
}

void hh_lines_remember(hh_lines *lines, const char *text) {
#ifdef HEED_HAVE_EDIT
    if (!lines->history || !*text) return;
    HistEvent event;
    bool again = history(lines->history, &event, H_FIRST) == 0 && strcmp(event.str, text) == 0;
    if (again) return;
    history(lines->history, &event, H_ENTER, text);
    /* Saved at once: os.exit at the prompt, or a kill, loses nothing. */
    if (lines->history_path) hh_history_append(lines->history_path, text);
#else
    (void)lines;
    (void)text;
#endif
}

/* terminal: runs a command on a terminal of its own, as a person would, for the specs of the prompt.
 *
 *     terminal COMMAND [ARGUMENT...] < steps > what the terminal showed
 *
 * A step a line: "wait TEXT" reads until the TEXT was shown since the last step; "send TEXT" types, with the
 * escapes \n (return), \t (Tab), \e (escape), \c (Ctrl-C), \d (Ctrl-D), \r (Ctrl-R), \u (the arrow up), \\ (itself);
 * "insist TEXT" presses Ctrl-C again and again until the TEXT is shown. Exit status: the command's; 124 when a
 * text did not come in time; 125 when there are no terminals here.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define PAUSE_MS 150

static char shown[1 << 20];
static size_t length, seen;

static bool ended; /* the command closed its terminal */

/* False when it ended, or patience did. */
static bool read_more(int terminal, int patience_ms) {
    struct pollfd p = {.fd = terminal, .events = POLLIN};
    if (poll(&p, 1, patience_ms) <= 0) return false;
    ssize_t got = read(terminal, shown + length, sizeof shown - 1 - length);
    if (got <= 0) ended = true;
    if (ended) return false;
    length += (size_t)got;
    return true;
}

static bool was_shown(const char *text) {
    const char *found = memmem(shown + seen, length - seen, text, strlen(text));
    if (found) seen = (size_t)(found - shown) + strlen(text);
    return found != NULL;
}

static bool wait_for(int terminal, const char *text) {
    while (!was_shown(text))
        if (!read_more(terminal, PATIENCE_MS)) return false;
    return true;
}

static const char *key(char letter) {
    switch (letter) {
    case 'n': return "\r";
    case 't': return "\t";
    case 'e': return "\033";
    case 'c': return "\003";
    case 'd': return "\004";
    case 'r': return "\022";
    case 'u': return "\033[A";
    default: return "\\";
    }
}

static void type(int terminal, const char *text) {
    for (; *text; text++) {
        const char *bytes = (char[]){*text, 0};
        if (*text == '\\' && text[1]) bytes = key(*++text);
        if (write(terminal, bytes, strlen(bytes)) < 0) return;
    }
}

static bool insist(int terminal, const char *text) {
    for (int waited = 0; waited < PATIENCE_MS; waited += PAUSE_MS) {
        type(terminal, "\\c");
        while (read_more(terminal, PAUSE_MS)) {
        }
        if (was_shown(text)) return true;
        if (ended) return false;
    }
    return false;
}

static bool play(int terminal) {
    char *line = NULL;
    size_t capacity = 0;
    bool ok = true;
    while (ok && getline(&line, &capacity, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "wait ", 5) == 0)
            ok = wait_for(terminal, line + 5);
        else if (strncmp(line, "insist ", 7) == 0)
            ok = insist(terminal, line + 7);
        else if (strncmp(line, "send ", 5) == 0)
            type(terminal, line + 5);
    }
    free(line);
    return ok;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    int terminal;
    struct winsize size = {.ws_row = 24, .ws_col = 100};
    pid_t child = forkpty(&terminal, NULL, NULL, &size);
    if (child < 0) return 125;
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    bool ok = play(terminal);
    while (ok && !ended) ok = read_more(terminal, PATIENCE_MS) || ended;
    if (!ok) kill(child, SIGKILL);
    fwrite(shown, 1, length, stdout);
    int status;
    waitpid(child, &status, 0);
    if (!ok) return 124;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

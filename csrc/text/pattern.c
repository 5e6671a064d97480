#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* A pattern's own stack when compiled to machine code, at most. */
#define LARGEST_STACK (64 << 20)

struct hd_pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

/* What PCRE2's own classes hold differs from what these files mean in a few characters: written out. */
static const struct {
    char name;
    const char *inside, *alone;
} classes[] = {
    {'s', "\\t-\\r\\x{85}\\p{Z}", "[\\t-\\r\\x{85}\\p{Z}]"},
    {'S', NULL, "[^\\t-\\r\\x{85}\\p{Z}]"},
    {'w', "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}", "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}]"},
    {'W', NULL, "[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}]"},
};

static const char *written_out(char name, bool inside) {
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].name == name) return inside ? classes[i].inside : classes[i].alone;
    return NULL;
}

/* The pattern in PCRE2's words, by malloc. */
static char *translated(const char *text, int64_t length, size_t *size) {
    char *out = malloc((size_t)length * 40 + 1), *end = out;
    bool inside = false;
    for (int64_t i = 0; out && i < length; i++) {
        const char c = text[i];
        if (c == '\\' && i + 1 < length) {
            const char *class = written_out(text[++i], inside);
            if (class) {
                end = stpcpy(end, class);
            } else {
                *end++ = c;
                *end++ = text[i];
            }
            continue;
        }
        if (c == '[' && !inside) {
            inside = true;
        } else if (c == '[' && inside && !(i + 1 < length && text[i + 1] == ':')) {
            *end++ = '\\'; /* a bracket in a class is itself here */
        } else if (c == ']') {
            inside = false;
        }
        *end++ = c;
    }
    if (out) *size = (size_t)(end - out);
    return out;
}

hd_pattern *hd_pattern_new(hd_ctx *cx, const char *text, int64_t length) {
    int code = 0;
    size_t at = 0, size = 0;
    if (length > 1 << 20)
        return hd_fail_null(cx, HD_EIO, "a regular expression of %lld bytes", (long long)length);
    hd_pattern *p = calloc(1, sizeof *p);
    char *words = p ? translated(text, length, &size) : NULL;
    if (!words) {
        free(p);
        return hd_fail_null(cx, HD_ENOMEM, "no memory for a regular expression");
    }
    p->code = pcre2_compile((PCRE2_SPTR)words, size, PCRE2_UTF | PCRE2_UCP | PCRE2_DOTALL, &code, &at, NULL);
    free(words);
    if (!p->code) {
        PCRE2_UCHAR reason[128];
        pcre2_get_error_message(code, reason, sizeof reason);
        hd_pattern_free(p);
        return hd_fail_null(cx, HD_EIO, "a regular expression that is not understood: %s: %.*s",
                            (char *)reason, (int)(length < 200 ? length : 200), text);
    }
    pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* where it cannot, the interpreter matches */
    p->data = pcre2_match_data_create(1, NULL);
    p->context = pcre2_match_context_create(NULL);
    p->stack = pcre2_jit_stack_create(32 << 10, LARGEST_STACK, NULL);
    if (!p->data || !p->context || !p->stack) {
        hd_pattern_free(p);
        return hd_fail_null(cx, HD_ENOMEM, "no memory for a regular expression");
    }
    pcre2_jit_stack_assign(p->context, NULL, p->stack);
    return p;
}

void hd_pattern_free(hd_pattern *p) {
    if (!p) return;
    pcre2_jit_stack_free(p->stack);
    pcre2_match_context_free(p->context);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    free(p);
}

int hd_pattern_find(hd_ctx *cx, const hd_pattern *p, const char *text, int64_t size, int64_t start,
                    int64_t *from, int64_t *to) {
    const int found = pcre2_match(p->code, (PCRE2_SPTR)text, (size_t)size, (size_t)start, PCRE2_NO_UTF_CHECK,
                                  p->data, p->context);
    if (found == PCRE2_ERROR_NOMATCH) return 0;
    if (found < 0) {
        PCRE2_UCHAR reason[128];
        pcre2_get_error_message(found, reason, sizeof reason);
        hd_fail(cx, HD_EIO, "a regular expression gave up on this text: %s", (char *)reason);
        return -1;
    }
    const size_t *ends = pcre2_get_ovector_pointer(p->data);
    *from = (int64_t)ends[0];
    *to = (int64_t)ends[1];
    return 1;
}

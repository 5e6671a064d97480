#include "text/forms.h"

#include <string.h>
#include <utf8proc.h>

#include "text/unicode.h"
#include "base/utf8.h"

/* Characters from one that stands alone to the next, decomposed. `takes`: how many characters of the text it is
 * counted for: 1 the first of a decomposition, 0 the others. */
typedef struct hd_form_char {
    int32_t c;
    int takes, class;
} hd_form_char;

typedef struct hd_form {
    hd_ctx *cx;
    bool composed, compatible;
    const hd_text *text;
    hd_text *out;
    hd_form_char *chars;
    int64_t chars_capacity, count;
    int32_t *joined;
    int64_t joined_capacity;
} hd_form;

/* Can the form change nothing at this character, if nothing behind it combines? */
static bool is_inert(const hd_form *f, int32_t c) {
    return c < 0xA0 || (f->composed && !f->compatible && c < 0x300) || hd_came_after_unicode_9(c);
}

/* Does it combine with nothing before it? */
static bool stands_alone(int32_t c) {
    if (c < 0x300 || hd_came_after_unicode_9(c)) return true;
    if (c >= 0x1160 && c <= 0x11FF) return false; /* vowels and finals of Hangul */
    return hd_combining_class(c) == 0 && !hd_is_mark(c);
}

/* ---- decomposing --------------------------------------------------------------------------- */

#define LONGEST_DECOMPOSITION 32

static hd_status decompose(hd_form *f, int32_t c) {
    int32_t parts[LONGEST_DECOMPOSITION];
    const utf8proc_option_t options = UTF8PROC_DECOMPOSE | (f->compatible ? UTF8PROC_COMPAT : 0);
    utf8proc_ssize_t count = 1;
    parts[0] = c;
    if (!hd_came_after_unicode_9(c))
        count = utf8proc_decompose_char(c, parts, LONGEST_DECOMPOSITION, options, NULL);
    if (count < 0 || count > LONGEST_DECOMPOSITION)
        return hd_fail(f->cx, HD_EIO, "a decomposition of U+%04X", c);
    hd_status status = HD_RESERVE(f->cx, f, chars, f->count + count);
    for (utf8proc_ssize_t i = 0; i < count && !status; i++)
        f->chars[f->count++] = (hd_form_char){parts[i], i == 0, hd_combining_class(parts[i])};
    return status;
}

/* Runs of marks by their classes; equal ones stay in order. A run may be as long as the text. */
static void merge_runs(hd_form_char *chars, hd_form_char *spare, int64_t count) {
    if (count < 2) return;
    const int64_t half = count / 2;
    merge_runs(chars, spare, half);
    merge_runs(chars + half, spare, count - half);
    memcpy(spare, chars, (size_t)half * sizeof *chars);
    for (int64_t i = 0, j = half, k = 0; i < half; k++)
        chars[k] = j < count && chars[j].class < spare[i].class ? chars[j++] : spare[i++];
}

static hd_status order_marks(hd_form *f) {
    hd_form_char few[16], *spare = few;
    for (int64_t i = 0; i < f->count;) {
        int64_t end = i;
        while (end < f->count && f->chars[end].class != 0) end++;
        const int64_t half = (end - i) / 2;
        if (half > (int64_t)(sizeof few / sizeof *few)) spare = hd_alloc(f->cx, (size_t)half * sizeof *spare);
        if (!spare) return f->cx->error.status;
        merge_runs(f->chars + i, spare, end - i);
        if (spare != few) hd_free(f->cx->account, spare);
        spare = few;
        i = end > i ? end : i + 1;
    }
    return HD_OK;
}

/* ---- composing ----------------------------------------------------------------------------- */

/* What went into one composed character: its decomposition, each part the first such that is left. How many
 * characters of the text that is. */
static int take_parts(hd_form *f, int32_t c, int64_t *first) {
    int32_t parts[LONGEST_DECOMPOSITION];
    utf8proc_ssize_t count = 1;
    parts[0] = c;
    if (!hd_came_after_unicode_9(c))
        count = utf8proc_decompose_char(c, parts, LONGEST_DECOMPOSITION, UTF8PROC_DECOMPOSE, NULL);
    int takes = 0;
    for (utf8proc_ssize_t i = 0; i < count && i < LONGEST_DECOMPOSITION; i++) {
        int64_t k = *first;
        while (k < f->count && (f->chars[k].takes < 0 || f->chars[k].c != parts[i])) k++;
        if (k == f->count) continue;
        takes += f->chars[k].takes;
        f->chars[k].takes = -1; /* used */
        while (*first < f->count && f->chars[*first].takes < 0) ++*first;
    }
    return takes;
}

static hd_status put(hd_form *f, int32_t c, int takes, int64_t *source, int64_t *last) {
    /* What takes none came from the same character as what is before. */
    hd_status status = hd_text_put_char(f->cx, f->out, c, hd_text_origin(f->text, takes ? *source : *last));
    if (takes) *last = *source;
    for (int i = 0; i < takes; i++) {
        *last = *source;
        *source += hd_utf8_size((unsigned char)f->text->bytes[*source]);
    }
    return status;
}

static hd_status put_composed(hd_form *f, int64_t source) {
    hd_status status = HD_RESERVE(f->cx, f, joined, f->count);
    int64_t last = source, first = 0;
    if (status) return status;
    for (int64_t i = 0; i < f->count; i++) f->joined[i] = f->chars[i].c;
    const utf8proc_ssize_t count =
        utf8proc_normalize_utf32(f->joined, f->count, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    for (utf8proc_ssize_t i = 0; i < count && !status; i++)
        status = put(f, f->joined[i], take_parts(f, f->joined[i], &first), &source, &last);
    return status;
}

static hd_status put_decomposed(hd_form *f, int64_t source) {
    hd_status status = HD_OK;
    int64_t last = source;
    for (int64_t i = 0; i < f->count && !status; i++)
        status = put(f, f->chars[i].c, f->chars[i].takes, &source, &last);
    return status;
}

/* ---- the text ------------------------------------------------------------------------------ */

static hd_status put_part(hd_form *f, int64_t from, int64_t to) {
    hd_status status = HD_OK;
    f->count = 0;
    for (int64_t i = from; i < to && !status;) {
        int size;
        status = decompose(f, hd_utf8_get(f->text->bytes + i, &size));
        i += size;
    }
    if (!status) status = order_marks(f);
    if (status) return status;
    return f->composed ? put_composed(f, from) : put_decomposed(f, from);
}

/* Parts in which all is inert are copied, many at once. */
static hd_status put_all(hd_form *f) {
    const hd_text *text = f->text;
    int64_t done = 0, part = 0;
    bool inert = true; /* all of part .. i - 1 */
    hd_status status = HD_OK;
    for (int64_t i = 0; i <= text->size && !status;) {
        int size = 1;
        const int32_t c = i < text->size ? hd_utf8_get(text->bytes + i, &size) : 0;
        if (stands_alone(c)) {
            if (!inert) {
                status = hd_text_copy(f->cx, f->out, text, done, part);
                if (!status) status = put_part(f, part, i);
                done = i;
            }
            part = i;
            inert = true;
            if (i / 65536 != (i - size) / 65536 && hd_must_stop(f->cx))
                return hd_fail(f->cx, HD_ECANCEL, "interrupted");
        }
        inert = inert && (is_inert(f, c) || i == text->size) && (part == i || stands_alone(c));
        i += size;
    }
    return status ? status : hd_text_copy(f->cx, f->out, text, done, text->size);
}

hd_status hd_normal_form(hd_ctx *cx, bool composed, bool compatible, const hd_text *text, hd_text *out) {
    hd_form f = {.cx = cx, .composed = composed, .compatible = compatible, .text = text, .out = out};
    hd_status status = put_all(&f);
    hd_free(cx->account, f.chars);
    hd_free(cx->account, f.joined);
    return status;
}

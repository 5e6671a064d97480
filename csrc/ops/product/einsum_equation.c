#include "ops/product/einsum_equation.h"

#include <string.h>

typedef struct reader {
    hd_ctx *cx;
    const char *text, *at;
} reader;

static hd_status unexpected(reader *r, const char *expected) {
    int position = (int)(r->at - r->text) + 1;
    if (!*r->at)
        return hd_fail(r->cx, HD_EARG, "equation: expected %s at the end of \"%.200s\"", expected, r->text);
    int length = 1; /* of a letter beyond ASCII: its bytes belong together */
    while ((r->at[length] & 0xC0) == 0x80 && length < 4) length++;
    return hd_fail(r->cx, HD_EARG, "equation: expected %s, got '%.*s' at position %d of \"%.200s\"", expected,
                   length, r->at, position, r->text);
}

static int label_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

char hd_einsum_letter(int label) {
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

static char peek(reader *r) {
    while (*r->at == ' ') r->at++;
    return *r->at;
}

/* Letters and at most one "...", up to what is neither. */
static hd_status read_term(reader *r, hd_einsum_term *t) {
    *t = (hd_einsum_term){.dots_at = -1};
    for (char c; (c = peek(r)) && c != ',' && c != '-';) {
        int label = label_of(c);
        if (c == '.' && strncmp(r->at, "...", 3) == 0 && t->dots_at < 0) {
            t->dots_at = t->count;
            r->at += 3;
        } else if (label < 0) {
            return unexpected(r, c == '.' ? "one \"...\"" : "a letter, \"...\", ',' or \"->\"");
        } else if (t->count == HD_MAX_DIMS) {
            return unexpected(r, "at most 8 letters for a tensor");
        } else {
            t->labels[t->count++] = label;
            r->at++;
        }
    }
    return HD_OK;
}

static hd_status read_arrow(reader *r) {
    if (r->at[1] != '>') {
        r->at++;
        return unexpected(r, "'>' after '-'");
    }
    r->at += 2;
    return HD_OK;
}

/* Each letter of the output once, and from the operands. */
static hd_status check_output(reader *r, const hd_einsum_term *output, hd_label_set known) {
    hd_label_set seen = 0;
    for (int i = 0; i < output->count; i++) {
        hd_label_set bit = hd_label_bit(output->labels[i]);
        if (known & bit && !(seen & bit)) {
            seen |= bit;
            continue;
        }
        const char *arrow = strstr(r->text, "->");
        r->at = strchr(arrow, hd_einsum_letter(output->labels[i]));
        if (seen & bit) r->at = strchr(r->at + 1, hd_einsum_letter(output->labels[i]));
        return unexpected(r, seen & bit ? "each letter once behind \"->\""
                                        : "letters of the operands behind \"->\"");
    }
    return HD_OK;
}

hd_status hd_einsum_too_many_dims(hd_ctx *cx, int ndim) {
    return hd_fail(cx, HD_EARG,
                   "equation: a product on the way would have %d dimensions, at most %d are possible", ndim,
                   HD_MAX_DIMS);
}

/* ---- the output --------------------------------------------------------------------------------- */

/* Without "->": "..." and then the letters that occur once, sorted. */
static hd_status implicit_output(hd_ctx *cx, int count, const hd_einsum_term *terms, int dots,
                                 hd_einsum_output *output) {
    int times[HD_EINSUM_LETTERS] = {0}, total = dots;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < terms[i].count; k++) times[terms[i].labels[k]]++;
    for (int label = 0; label < HD_EINSUM_LETTERS; label++) total += times[label] == 1;
    if (total > HD_MAX_DIMS) return hd_einsum_too_many_dims(cx, total);
    for (int k = 0; k < dots; k++) output->labels[output->count++] = HD_EINSUM_LABELS - dots + k;
    for (int label = 0; label < HD_EINSUM_LETTERS; label++)
        if (times[label] == 1) output->labels[output->count++] = label;
    return HD_OK;
}

static hd_status explicit_output(hd_ctx *cx, const hd_einsum_term *t, int dots, hd_einsum_output *output) {
    int total = t->count + (t->dots_at >= 0 ? dots : 0);
    if (total > HD_MAX_DIMS) return hd_einsum_too_many_dims(cx, total);
    for (int i = 0; i <= t->count; i++) {
        for (int k = 0; i == t->dots_at && k < dots; k++)
            output->labels[output->count++] = HD_EINSUM_LABELS - dots + k;
        if (i < t->count) output->labels[output->count++] = t->labels[i];
    }
    return HD_OK;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

/* What stands behind the operands: "->" and the output, or nothing. */
static hd_status read_output(reader *r, int count, const hd_einsum_term *terms, int dots,
                             hd_einsum_output *output) {
    if (peek(r) == ',')
        return hd_fail(r->cx, HD_EARG,
                       "equation: \"%.200s\" has letters for more operands than the %d tensors", r->text,
                       count);
    if (peek(r) != '-') return implicit_output(r->cx, count, terms, dots, output);
    hd_label_set known = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < terms[i].count; k++) known |= hd_label_bit(terms[i].labels[k]);
    hd_einsum_term wanted;
    hd_status status = read_arrow(r);
    if (!status) status = read_term(r, &wanted);
    if (!status && peek(r)) status = unexpected(r, "letters or \"...\"");
    if (!status) status = check_output(r, &wanted, known);
    return status ? status : explicit_output(r->cx, &wanted, dots, output);
}

hd_status hd_einsum_read(hd_ctx *cx, const char *equation, int count, hd_tensor *const *tensors,
                         hd_einsum_term *terms, hd_einsum_output *output) {
    reader r = {cx, equation, equation};
    int dots = 0;
    for (int i = 0; i < count; i++) {
        if (read_term(&r, &terms[i])) return cx->error.status;
        int own = terms[i].dots_at < 0 ? 0 : tensors[i]->ndim - terms[i].count;
        if (own > dots) dots = own;
        if (i + 1 == count) break;
        if (peek(&r) != ',')
            return hd_fail(cx, HD_EARG, "equation: \"%.200s\" has letters for %d operands, got %d tensors",
                           equation, i + 1, count);
        r.at++;
    }
    return read_output(&r, count, terms, dots, output);
}

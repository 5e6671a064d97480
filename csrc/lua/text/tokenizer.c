/* Tokenizers for lua/heed/text/tokenizer: one is made of a table that says its parts, as the readers of files write
 * it. Ids count from 1 here, and from 0 below. */
#include "text/tokenizer.h"

#include <math.h>
#include <string.h>

#include "lua/runtime/check.h"

typedef struct hd_tokenizer_box {
    hd_tokenizer tokenizer;
    hd_account *account;
    uint64_t calls; /* a finalizer that encodes while a result is made is noticed by it */
} hd_tokenizer_box;

/* ---- a table's fields ---------------------------------------------------------------------- */

static bool flag(lua_State *L, int table, const char *name) {
    lua_getfield(L, table, name);
    const bool value = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

static int64_t integer(hd_call *c, int table, const char *name, int64_t otherwise) {
    int is_integer = 1;
    if (lua_getfield(c->L, table, name) != LUA_TNIL) otherwise = lua_tointegerx(c->L, -1, &is_integer);
    if (!is_integer) hd_arg_error(c, name, "expected an integer");
    lua_pop(c->L, 1);
    return otherwise;
}

static int32_t id_field(hd_call *c, int table, const char *name) {
    const int64_t id = integer(c, table, name, HD_NO_ID);
    if (id < HD_NO_ID || id > INT32_MAX) hd_arg_error(c, name, "expected an id, got %lld", (long long)id);
    return (int32_t)id;
}

/* Stays on the stack; NULL when absent. */
static const char *text_field(hd_call *c, int table, const char *name, size_t *length) {
    *length = 0;
    const int type = lua_getfield(c->L, table, name);
    if (type == LUA_TNIL) return NULL;
    if (type != LUA_TSTRING) hd_arg_error(c, name, "expected a string");
    const char *text = lua_tolstring(c->L, -1, length);
    if (!hd_utf8_valid(text, (int64_t)*length) && strcmp(name, "map") != 0)
        hd_arg_error(c, name, "expected UTF-8");
    return text;
}

/* Copied into an array of its own. */
static void keep_text(hd_call *c, int table, const char *name, char **text, int64_t *capacity,
                      int64_t *size) {
    size_t length;
    const char *found = text_field(c, table, name, &length);
    hd_try(c, hd_array_reserve(c->cx, text, capacity, (int64_t)length + 1, 1));
    if (found) memcpy(*text, found, length);
    *size = (int64_t)length;
    lua_pop(c->L, 1);
}

static void short_text(hd_call *c, int table, const char *name, char *out, size_t space) {
    size_t length;
    const char *text = text_field(c, table, name, &length);
    if (length >= space) hd_arg_error(c, name, "expected at most %zu bytes", space - 1);
    if (text) memcpy(out, text, length);
    out[length] = 0;
    lua_pop(c->L, 1);
}

static int choice(hd_call *c, int table, const char *name, const char *const *names) {
    size_t length;
    const char *text = text_field(c, table, name, &length);
    for (int i = 0; text && names[i]; i++) {
        if (strcmp(names[i], text) != 0) continue;
        lua_pop(c->L, 1);
        return i;
    }
    return hd_arg_error(c, name, "unknown: %s", text ? text : "nil");
}

static hd_pattern *pattern_field(hd_call *c, int table) {
    size_t length;
    const char *text = text_field(c, table, "pattern", &length);
    hd_pattern *pattern = text ? hd_pattern_new(c->cx, text, (int64_t)length) : NULL;
    if (text && !pattern) hd_raise(c);
    lua_pop(c->L, 1);
    return pattern;
}

/* Pushes a field that is a list; its length. */
static int64_t list_field(hd_call *c, int table, const char *name) {
    if (lua_getfield(c->L, table, name) != LUA_TTABLE) hd_arg_error(c, name, "expected a list");
    return (int64_t)lua_rawlen(c->L, -1);
}

/* ---- the vocabulary ------------------------------------------------------------------------ */

static void add_token(hd_call *c, hd_tokenizer *t, int at, int64_t id) {
    size_t length;
    if (lua_type(c->L, at) != LUA_TSTRING) hd_arg_error(c, "vocabulary", "expected strings");
    const char *text = lua_tolstring(c->L, at, &length);
    if (!hd_utf8_valid(text, (int64_t)length))
        hd_arg_error(c, "vocabulary", "expected UTF-8, token %lld", (long long)id);
    if (id < 0 || id > INT32_MAX)
        hd_arg_error(c, "vocabulary", "expected ids from 0, got %lld", (long long)id);
    hd_try(c, hd_vocabulary_add(c->cx, &t->vocabulary, text, (int64_t)length, (int32_t)id));
    hd_try(c, hd_vocabulary_add(c->cx, &t->all, text, (int64_t)length, (int32_t)id));
}

/* A list, whose first has id 0; or a map of strings to ids. */
static void read_vocabulary(hd_call *c, hd_tokenizer *t, int spec) {
    lua_State *L = c->L;
    const int64_t count = list_field(c, spec, "vocabulary");
    const int list = lua_gettop(L);
    for (int64_t i = 1; i <= count; i++) {
        lua_rawgeti(L, list, i);
        add_token(c, t, lua_gettop(L), i - 1);
        lua_settop(L, list);
    }
    if (count == 0) {
        for (lua_pushnil(L); lua_next(L, list); lua_settop(L, list + 1)) {
            int is_integer;
            const lua_Integer id = lua_tointegerx(L, -1, &is_integer);
            add_token(c, t, list + 1, is_integer ? id : -1);
        }
    }
    lua_settop(L, list - 1);
}

/* Of each token, in memory that the collector owns (pushed). NaN where there is none. */
static double *read_scores(hd_call *c, int model, int32_t count) {
    lua_State *L = c->L;
    double *scores = lua_newuserdatauv(L, sizeof *scores * ((size_t)count + 1), 0);
    const int64_t given = list_field(c, model, "scores");
    for (int64_t i = 0; i < count; i++) {
        scores[i] = NAN;
        if (i < given && lua_rawgeti(L, -1, i + 1) != LUA_TNUMBER)
            hd_arg_error(c, "scores", "expected numbers");
        if (i < given) {
            scores[i] = lua_tonumber(L, -1);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
    return scores;
}

/* ---- models -------------------------------------------------------------------------------- */

/* "left right", or {left, right}. */
static void read_merge(hd_call *c, hd_bpe *b, int64_t i) {
    lua_State *L = c->L;
    size_t left_size = 0, right_size = 0;
    const char *left = NULL, *right = NULL;
    if (lua_type(L, -1) == LUA_TTABLE) {
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        if (lua_type(L, -2) == LUA_TSTRING) left = lua_tolstring(L, -2, &left_size);
        if (lua_type(L, -1) == LUA_TSTRING) right = lua_tolstring(L, -1, &right_size);
    } else if (lua_type(L, -1) == LUA_TSTRING) {
        left = lua_tolstring(L, -1, &left_size);
        const char *space = left_size ? memchr(left + 1, ' ', left_size - 1) : NULL;
        right = space ? space + 1 : NULL;
        right_size = right ? left_size - (size_t)(right - left) : 0;
        left_size = right ? (size_t)(space - left) : 0;
    }
    bool known = false;
    if (left && right)
        hd_try(c, hd_bpe_add_merge(c->cx, b, left, (int64_t)left_size, right, (int64_t)right_size,
                                   (uint32_t)i, &known));
    if (!known)
        hd_arg_error(c, "merges", "merge %lld: expected two tokens whose union is one", (long long)i + 1);
}

/* The id of the token for what the vocabulary has not, or HD_NO_ID. */
static int32_t unknown_field(hd_call *c, const hd_tokenizer *t, int model) {
    const int32_t id = id_field(c, model, "unknown");
    if (id >= t->vocabulary.count)
        hd_arg_error(c, "unknown", "expected an id below %lld, got %d", (long long)t->vocabulary.count, id);
    return id;
}

static void read_bpe(hd_call *c, hd_tokenizer *t, int model) {
    lua_State *L = c->L;
    hd_bpe *b = &t->bpe;
    b->vocabulary = &t->vocabulary;
    b->byte_level = flag(L, model, "byte_level");
    b->whole_first = flag(L, model, "whole_first");
    b->fuse_unknown = flag(L, model, "fuse_unknown");
    b->byte_fallback = flag(L, model, "byte_fallback");
    b->unknown = unknown_field(c, t, model);
    short_text(c, model, "prefix", b->prefix, sizeof b->prefix);
    short_text(c, model, "suffix", b->suffix, sizeof b->suffix);
    hd_try(c, hd_bpe_prepare(c->cx, b));
    if (lua_getfield(L, model, "scores") != LUA_TNIL) {
        hd_try(c, hd_bpe_set_scores(c->cx, b, read_scores(c, model, t->vocabulary.count)));
        return;
    }
    const int64_t count = list_field(c, model, "merges");
    const int list = lua_gettop(L);
    for (int64_t i = 0; i < count; i++) {
        lua_rawgeti(L, list, i + 1);
        read_merge(c, b, i);
        lua_settop(L, list);
    }
}

static void read_unigram(hd_call *c, hd_tokenizer *t, int model) {
    hd_unigram *u = &t->unigram;
    u->vocabulary = &t->vocabulary;
    u->fuse_unknown = true;
    u->byte_fallback = flag(c->L, model, "byte_fallback");
    u->in_floats = flag(c->L, model, "in_floats");
    u->unknown = unknown_field(c, t, model);
    hd_try(c, hd_unigram_prepare(c->cx, u, read_scores(c, model, t->vocabulary.count)));
}

static void read_wordpiece(hd_call *c, hd_tokenizer *t, int model) {
    hd_wordpiece *w = &t->wordpiece;
    w->vocabulary = &t->vocabulary;
    w->unknown = unknown_field(c, t, model);
    w->most_chars = integer(c, model, "most_chars", 100);
    w->whole = flag(c->L, model, "whole");
    size_t length;
    const char *prefix = text_field(c, model, "prefix", &length);
    hd_try(c, hd_wordpiece_prepare(c->cx, w, prefix ? prefix : "", (int64_t)length));
}

static void read_model(hd_call *c, hd_tokenizer *t, int spec) {
    static const char *const kinds[] = {"bpe", "unigram", "wordpiece", NULL};
    static void (*const readers[])(hd_call *, hd_tokenizer *, int) = {read_bpe, read_unigram, read_wordpiece};
    if (lua_getfield(c->L, spec, "model") != LUA_TTABLE) hd_arg_error(c, "model", "expected a table");
    const int model = lua_gettop(c->L);
    t->model = (hd_model_kind)choice(c, model, "kind", kinds);
    readers[t->model](c, t, model);
    lua_settop(c->L, model - 1);
}

/* ---- steps --------------------------------------------------------------------------------- */

static void read_kept(hd_call *c, hd_normalizer *n, int step) {
    lua_State *L = c->L;
    const int64_t count = list_field(c, step, "kept");
    for (int64_t i = 1; i <= count; i++) {
        size_t length;
        if (lua_rawgeti(L, -1, i) != LUA_TSTRING) hd_arg_error(c, "kept", "expected strings");
        const char *text = lua_tolstring(L, -1, &length);
        if (length) hd_try(c, hd_trie_add(c->cx, &n->kept, text, (int64_t)length, (int32_t)i));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_map(hd_call *c, hd_normalizer *n, int step) {
    size_t length;
    const char *map = text_field(c, step, "map", &length);
    if (map && length) hd_try(c, hd_charsmap_read(c->cx, &n->map, map, (int64_t)length));
    lua_pop(c->L, 1);
}

static void read_normalizer(hd_call *c, hd_normalizer *n, int step) {
    static const char *const kinds[] = {"form",  "lowercase", "strip_accents", "bert",     "nmt",
                                        "strip", "replace",   "prepend",       "charsmap", "sentencepiece",
                                        NULL};
    lua_State *L = c->L;
    n->kind = (hd_normalizer_kind)choice(c, step, "kind", kinds);
    n->composed = flag(L, step, "composed");
    n->compatible = flag(L, step, "compatible");
    n->clean = flag(L, step, "clean");
    n->spaced_han = flag(L, step, "spaced_han");
    n->without_accents = flag(L, step, "without_accents");
    n->in_lowercase = flag(L, step, "in_lowercase");
    n->left = flag(L, step, "left");
    n->right = flag(L, step, "right");
    n->one_space = flag(L, step, "one_space");
    n->first_space = flag(L, step, "first_space");
    keep_text(c, step, "from", &n->from, &n->from_capacity, &n->from_size);
    keep_text(c, step, "to", &n->to, &n->to_capacity, &n->to_size);
    n->pattern = pattern_field(c, step);
    read_map(c, n, step);
    if (n->kind == HD_NORMALIZE_SENTENCEPIECE) read_kept(c, n, step);
}

static void read_splitter(hd_call *c, hd_splitter *s, int step) {
    static const char *const kinds[] = {"pattern",      "literal", "class", "metaspace",
                                        "prefix_space", "length",  NULL};
    static const char *const behaviors[] = {"removed",          "isolated",   "merged_with_previous",
                                            "merged_with_next", "contiguous", NULL};
    static const char *const class_names[] = {"space", "number", "punctuation", NULL};
    lua_State *L = c->L;
    s->kind = (hd_splitter_kind)choice(c, step, "kind", kinds);
    if (s->kind <= HD_SPLIT_CLASS) s->behavior = (hd_behavior)choice(c, step, "behavior", behaviors);
    if (s->kind == HD_SPLIT_CLASS) s->class = (hd_char_class)choice(c, step, "class", class_names);
    s->inverted = flag(L, step, "inverted");
    s->always = flag(L, step, "always");
    s->first = flag(L, step, "first");
    s->cuts = flag(L, step, "cuts");
    s->length = integer(c, step, "length", 1);
    if (s->length < 1) hd_arg_error(c, "length", "expected a size, got %lld", (long long)s->length);
    keep_text(c, step, "literal", &s->literal, &s->literal_capacity, &s->literal_size);
    s->pattern = pattern_field(c, step);
    if (s->kind == HD_SPLIT_PATTERN && !s->pattern) hd_arg_error(c, "pattern", "expected a string");
}

static void read_steps(hd_call *c, hd_tokenizer *t, int spec) {
    lua_State *L = c->L;
    int64_t count = list_field(c, spec, "normalizers");
    int list = lua_gettop(L);
    hd_try(c, HD_RESERVE(c->cx, t, normalizers, count));
    for (int64_t i = 1; i <= count; i++) {
        if (lua_rawgeti(L, list, i) != LUA_TTABLE) hd_arg_error(c, "normalizers", "expected tables");
        t->normalizers[t->normalizer_count] = (hd_normalizer){0};
        read_normalizer(c, &t->normalizers[t->normalizer_count++], list + 1);
        lua_settop(L, list);
    }
    count = list_field(c, spec, "splitters");
    list = lua_gettop(L);
    hd_try(c, HD_RESERVE(c->cx, t, splitters, count));
    for (int64_t i = 1; i <= count; i++) {
        if (lua_rawgeti(L, list, i) != LUA_TTABLE) hd_arg_error(c, "splitters", "expected tables");
        t->splitters[t->splitter_count] = (hd_splitter){0};
        read_splitter(c, &t->splitters[t->splitter_count++], list + 1);
        lua_settop(L, list);
    }
}

static void read_added(hd_call *c, hd_tokenizer *t, int spec) {
    lua_State *L = c->L;
    const int64_t count = list_field(c, spec, "added");
    const int list = lua_gettop(L);
    for (int64_t i = 1; i <= count; i++) {
        if (lua_rawgeti(L, list, i) != LUA_TTABLE) hd_arg_error(c, "added", "expected tables");
        const hd_added_token token = {
            .id = id_field(c, list + 1, "id"),
            .special = flag(L, list + 1, "special"),
            .left = flag(L, list + 1, "left"),
            .right = flag(L, list + 1, "right"),
            .single_word = flag(L, list + 1, "single_word"),
        };
        const bool normalized = flag(L, list + 1, "normalized");
        size_t length;
        const char *text = text_field(c, list + 1, "text", &length);
        if (!text || token.id < 0) hd_arg_error(c, "added", "token %lld: expected text and id", (long long)i);
        hd_try(c, flag(L, list + 1, "as_it_is")
                      ? hd_added_add(c->cx, &t->normalized, text, (int64_t)length, token)
                      : hd_tokenizer_add(c->cx, t, text, (int64_t)length, token, normalized));
        lua_settop(L, list);
    }
}

/* ---- the userdata -------------------------------------------------------------------------- */

static int collected(lua_State *L) {
    hd_tokenizer_box *box = lua_touserdata(L, 1);
    if (!box->account) return 0;
    hd_tokenizer_free(box->account, &box->tokenizer);
    hd_account_release(box->account);
    box->account = NULL;
    return 0;
}

/* tokenizer_new(spec) */
static int tokenizer_new(lua_State *L) {
    hd_call c = hd_begin(L, "text.tokenizer");
    if (lua_type(L, 1) != LUA_TTABLE) hd_arg_expected(&c, 1, "spec", "a table");
    hd_tokenizer_box *box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = (hd_tokenizer_box){.account = NULL};
    hd_push_uv(L, HD_UV_TOKENIZER);
    lua_setmetatable(L, -2);
    hd_account_retain(c.cx->account);
    box->account = c.cx->account;
    read_vocabulary(&c, &box->tokenizer, 1);
    read_model(&c, &box->tokenizer, 1);
    read_steps(&c, &box->tokenizer, 1);
    read_added(&c, &box->tokenizer, 1);
    lua_settop(L, 2);
    return 1;
}

static hd_tokenizer_box *box_at(hd_call *c, int index) {
    hd_tokenizer_box *box = hd_to_type(c->L, c->h->tokenizer_type, index);
    if (!box) hd_arg_expected(c, index, "tokenizer", "a tokenizer; its methods are called with a colon");
    return box;
}

static const char *string_at(hd_call *c, int index, const char *argument, size_t *length) {
    if (lua_type(c->L, index) != LUA_TSTRING) hd_arg_expected(c, index, argument, "a string");
    return lua_tolstring(c->L, index, length);
}

/* tokenizer_encode(tokenizer, text, specials, offsets) -> ids, and first and last byte of each in one list */
static int tokenizer_encode(lua_State *L) {
    hd_call c = hd_begin(L, "text.tokenizer.encode");
    hd_tokenizer_box *box = box_at(&c, 1);
    hd_tokenizer *t = &box->tokenizer;
    size_t size;
    const char *text = string_at(&c, 2, "text", &size);
    const bool specials = lua_toboolean(L, 3), offsets = lua_toboolean(L, 4);
    uint64_t call;
    do { /* tables for the result may run a finalizer, and that encode with the same tokenizer */
        lua_settop(L, 4);
        call = ++box->calls;
        hd_try(&c, hd_tokenizer_encode(c.cx, t, text, (int64_t)size, specials, offsets));
        if (t->tokens.count > INT32_MAX / 2) hd_arg_error(&c, "text", "expected less than 2^30 tokens");
        const int count = (int)t->tokens.count;
        lua_createtable(L, count, 0);
        if (offsets) lua_createtable(L, 2 * count, 0);
    } while (box->calls != call);
    for (int64_t i = 0; i < t->tokens.count; i++) {
        const hd_token token = t->tokens.items[i];
        lua_pushinteger(L, (lua_Integer)token.id + 1);
        lua_rawseti(L, 5, i + 1);
        if (!offsets) continue;
        lua_pushinteger(L, token.from + 1);
        lua_rawseti(L, 6, 2 * i + 1);
        lua_pushinteger(L, token.to);
        lua_rawseti(L, 6, 2 * i + 2);
    }
    return offsets ? 2 : 1;
}

/* tokenizer_token(tokenizer, id) -> string, or nil */
static int tokenizer_token(lua_State *L) {
    hd_call c = hd_begin(L, "text.tokenizer.token");
    const hd_tokenizer *t = &box_at(&c, 1)->tokenizer;
    const int64_t id = hd_arg_integer(&c, 2, "id") - 1;
    int64_t length;
    if (!hd_vocabulary_has(&t->all, id)) {
        lua_pushnil(L);
        return 1;
    }
    const char *text = hd_vocabulary_text(&t->all, (int32_t)id, &length);
    lua_pushlstring(L, text, (size_t)length);
    return 1;
}

/* tokenizer_id(tokenizer, token) -> id, or nil */
static int tokenizer_id(lua_State *L) {
    hd_call c = hd_begin(L, "text.tokenizer.id");
    const hd_tokenizer *t = &box_at(&c, 1)->tokenizer;
    size_t length;
    const char *text = string_at(&c, 2, "token", &length);
    const int32_t id = hd_vocabulary_find(&t->all, text, (int64_t)length);
    if (id == HD_NO_ID)
        lua_pushnil(L);
    else
        lua_pushinteger(L, (lua_Integer)id + 1);
    return 1;
}

/* tokenizer_count(tokenizer) -> how many ids there are, the greatest one */
static int tokenizer_count(lua_State *L) {
    hd_call c = hd_begin(L, "text.tokenizer.count");
    lua_pushinteger(L, box_at(&c, 1)->tokenizer.all.count);
    return 1;
}

/* tokenizer_bytes(token) -> the bytes that a token of a byte-level vocabulary stands for: its own, when it has characters
 * that stand for none */
static int tokenizer_bytes(lua_State *L) {
    hd_call c = hd_begin(L, "text.tokenizer.decode");
    size_t length;
    const char *text = string_at(&c, 1, "token", &length);
    luaL_Buffer buffer;
    char *out = luaL_buffinitsize(L, &buffer, length);
    int64_t size;
    if (!hd_utf8_valid(text, (int64_t)length) || !hd_bytes_of_token(text, (int64_t)length, out, &size)) {
        memcpy(out, text, length);
        size = (int64_t)length;
    }
    luaL_pushresultsize(&buffer, (size_t)size);
    return 1;
}

static const hd_function functions[] = {
    {"tokenizer_new", tokenizer_new, HD_INTERNAL},
    {"tokenizer_encode", tokenizer_encode, HD_INTERNAL},
    {"tokenizer_token", tokenizer_token, HD_INTERNAL},
    {"tokenizer_id", tokenizer_id, HD_INTERNAL},
    {"tokenizer_count", tokenizer_count, HD_INTERNAL},
    {"tokenizer_bytes", tokenizer_bytes, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_tokenizer(hd_registrar *r) {
    hd_define(r, functions);
    r->h->tokenizer_type = hd_new_type(r, "heed.tokenizer", HD_UV_TOKENIZER);
    hd_define_meta(r, lua_gettop(r->L), "__gc", collected, NULL);
    lua_pop(r->L, 1);
}

/* The records of a CSV text as Lua values. Each maker here gives a function read(block, at, is_last),
 * which reads from byte `at` of the block on, the last of its text or not. It gives
 *
 *     value, at, lines, start                      a record: its value, where the next one may begin, how
 *                                                  many lines were passed, and where the record begins
 *     nil, at, lines, start, first, problem, ...   none: which of the lines would be its first, a word that
 *                                                  says why there is none, and its details
 */
#define _GNU_SOURCE
#include "io/csv.h"

#include <math.h>
#include <string.h>

#include "lua/io/files.h"

typedef enum kind { SKIPPED, TEXT, INTEGER, NUMBER } kind;

typedef struct text {
    const char *bytes;
    size_t length;
} text;

/* What a read function knows of its file; its upvalue SCANNER. The strings lie in the table at KEPT. */
typedef struct scanner {
    char delimiter;
    bool trim;
    bool goes_on; /* the delimiter could be a part of a number */
    int64_t max_line;
    locale_t plain; /* the locale "C" */
    int columns;
    bool is_list; /* the names are 1, 2, ... */
    int missing_count;
    text *missing;      /* what stands for no number */
    int64_t rows, room; /* of the columns */
    uint8_t *kinds;
} scanner;

/* Upvalues, after those of every function. KEPT: a list of the columns' names, or of what they hold;
 * behind these the missing texts. */
enum { SCANNER = 3, KEPT };
enum { BLOCK = 1, AT, IS_LAST };

#define FEW 64 /* columns whose fields the C stack holds */

static scanner *scanner_of(lua_State *L) {
    return lua_touserdata(L, lua_upvalueindex(SCANNER));
}

/* ---- scanning -------------------------------------------------------------------------------- */

/* The scan that the arguments ask for. */
static hd_csv begin(hd_call *c, const scanner *s) {
    lua_State *L = c->L;
    if (lua_type(L, BLOCK) != LUA_TSTRING) hd_arg_expected(c, BLOCK, "block", "a string");
    size_t length;
    const char *block = lua_tolstring(L, BLOCK, &length);
    int64_t at = hd_arg_integer(c, AT, "at");
    if (at < 1 || (uint64_t)at > length + 1) hd_arg_expected(c, AT, "at", "a place in the block");
    return (hd_csv){.delimiter = s->delimiter,
                    .trim = s->trim,
                    .max_line = s->max_line,
                    .at = block + at - 1,
                    .end = block + length,
                    .is_last = lua_toboolean(L, IS_LAST)};
}

/* Where it stands: at, lines, start. */
static void push_place(lua_State *L, const hd_csv *scan) {
    const char *block = lua_tostring(L, BLOCK);
    lua_pushinteger(L, scan->at - block + 1);
    lua_pushinteger(L, scan->lines);
    lua_pushinteger(L, scan->start - block + 1);
}

static void push_problem(lua_State *L, const hd_csv *scan, const char *problem) {
    lua_settop(L, IS_LAST);
    luaL_pushfail(L);
    push_place(L, scan);
    lua_pushinteger(L, scan->blank + 1);
    lua_pushstring(L, problem);
}

/* What came instead of a record. */
static int stopped(lua_State *L, const hd_csv *scan, hd_csv_outcome outcome) {
    static const char *const problems[] = {
        [HD_CSV_MORE] = "more",           [HD_CSV_END] = "end",
        [HD_CSV_LONG_LINE] = "long_line", [HD_CSV_LONG_FIELD] = "long_field",
        [HD_CSV_NO_END] = "no_end",       [HD_CSV_AFTER_QUOTE] = "after_quote",
    };
    push_problem(L, scan, problems[outcome]);
    if (outcome != HD_CSV_AFTER_QUOTE) return 6;
    lua_pushinteger(L, scan->count);
    lua_pushlstring(L, &scan->wrong, 1);
    return 8;
}

static int wrong_count(lua_State *L, const hd_csv *scan, const scanner *s) {
    push_problem(L, scan, "count");
    lua_pushinteger(L, s->columns);
    lua_pushinteger(L, scan->count);
    return 8;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void push_text(lua_State *L, const hd_csv_field *field) {
    if (!field->escaped) {
        lua_pushlstring(L, field->text, field->length);
        return;
    }
    luaL_Buffer buffer;
    char *out = luaL_buffinitsize(L, &buffer, field->length);
    luaL_pushresultsize(&buffer, hd_csv_unescape(field, out));
}

static int misfit(lua_State *L, const hd_csv *scan, int column) {
    hd_csv_field field = scan->fields[column]; /* they go with the stack */
    push_problem(L, scan, "column");
    lua_pushinteger(L, column + 1);
    push_text(L, &field);
    return 8;
}

static bool is_missing(const scanner *s, text field) {
    hd_csv_trim(&field.bytes, &field.length);
    for (int i = 0; i < s->missing_count; i++)
        if (s->missing[i].length == field.length && !memcmp(s->missing[i].bytes, field.bytes, field.length))
            return true;
    return false;
}

typedef union value {
    int64_t integer;
    double number;
} value;

/* The number that the column's kind makes of the text; false if it makes none. */
static bool read_value(const scanner *s, kind kind, text field, value *out) {
    if (kind == INTEGER) return hd_csv_integer(field.bytes, field.length, &out->integer);
    if (is_missing(s, field)) {
        out->number = (double)NAN;
        return true;
    }
    return hd_csv_number(field.bytes, field.length, s->plain, &out->number);
}

/* The number of the field of this column. A field that cannot be read where it lies is pushed for as long. */
static bool read_field(lua_State *L, const scanner *s, const hd_csv *scan, int column, value *out) {
    const hd_csv_field *field = &scan->fields[column];
    text whole = {field->text, field->length};
    bool copied = field->escaped || s->goes_on;
    if (copied) {
        push_text(L, field);
        whole.bytes = lua_tolstring(L, -1, &whole.length);
    }
    bool fine = read_value(s, s->kinds[column], whole, out);
    if (copied) lua_pop(L, 1);
    return fine;
}

/* ---- a record as texts ----------------------------------------------------------------------- */

/* read: the record's texts, as many as it has */
static int read_texts(lua_State *L) {
    hd_call c = hd_begin(L, "data.csv");
    lua_settop(L, IS_LAST);
    hd_csv scan = begin(&c, scanner_of(L));
    const char *at = scan.at;
    hd_csv_outcome outcome = hd_csv_next(&scan); /* counts them */
    if (outcome) return stopped(L, &scan, outcome);
    scan.fields = lua_newuserdatauv(L, sizeof *scan.fields * (size_t)scan.count, 0);
    scan.capacity = scan.count;
    scan.at = at;
    hd_csv_next(&scan);
    lua_createtable(L, (int)scan.count, 0);
    for (int64_t i = 0; i < scan.count; i++) {
        push_text(L, &scan.fields[i]);
        lua_rawseti(L, -2, i + 1);
    }
    push_place(L, &scan);
    return 4;
}

/* ---- a record as a row ----------------------------------------------------------------------- */

/* Puts the fields into the table on top, by name; the column that does not fit, or -1. */
static int fill_row(lua_State *L, const scanner *s, const hd_csv *scan) {
    for (int i = 0; i < s->columns; i++) {
        value v;
        kind kind = s->kinds[i];
        if (kind != TEXT && !read_field(L, s, scan, i, &v)) return i;
        lua_rawgeti(L, lua_upvalueindex(KEPT), i + 1);
        if (kind == TEXT)
            push_text(L, &scan->fields[i]);
        else if (kind == INTEGER)
            lua_pushinteger(L, v.integer);
        else
            lua_pushnumber(L, v.number);
        lua_rawset(L, -3);
    }
    return -1;
}

/* The fields of a call lie with it, for a finalizer may call the same function meanwhile. */
static void place_fields(lua_State *L, const scanner *s, hd_csv *scan, hd_csv_field *few) {
    scan->capacity = s->columns;
    scan->fields = s->columns <= FEW ? few : lua_newuserdatauv(L, sizeof *few * (size_t)s->columns, 0);
}

/* read: the record as {name = value} */
static int read_row(lua_State *L) {
    hd_call c = hd_begin(L, "data.csv");
    lua_settop(L, IS_LAST);
    const scanner *s = scanner_of(L);
    hd_csv_field few[FEW];
    hd_csv scan = begin(&c, s);
    place_fields(L, s, &scan, few);
    hd_csv_outcome outcome = hd_csv_next(&scan);
    if (outcome) return stopped(L, &scan, outcome);
    if (scan.count != s->columns) return wrong_count(L, &scan, s);
    lua_createtable(L, s->is_list ? s->columns : 0, s->is_list ? 0 : s->columns);
    int wrong = fill_row(L, s, &scan);
    if (wrong >= 0) return misfit(L, &scan, wrong);
    push_place(L, &scan);
    return 4;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Room for twice as many rows in the columns of numbers: userdata in the list of what is kept. */
static void grow(lua_State *L, scanner *s) {
    int64_t room = s->room ? 2 * s->room : 1024;
    for (int i = 0; i < s->columns; i++) {
        if (s->kinds[i] != INTEGER && s->kinds[i] != NUMBER) continue;
        value *larger = lua_newuserdatauv(L, sizeof *larger * (size_t)room, 0);
        lua_rawgeti(L, lua_upvalueindex(KEPT), i + 1);
        if (s->rows) memcpy(larger, lua_touserdata(L, -1), sizeof *larger * (size_t)s->rows);
        lua_pop(L, 1);
        lua_rawseti(L, lua_upvalueindex(KEPT), i + 1);
    }
    s->room = room;
}

/* Adds a record to the columns; the column that does not fit, or -1. */
static int add_row(lua_State *L, scanner *s, const hd_csv *scan) {
    if (s->rows == s->room) grow(L, s);
    for (int i = 0; i < s->columns; i++) {
        if (s->kinds[i] == SKIPPED) continue;
        lua_rawgeti(L, lua_upvalueindex(KEPT), i + 1);
        if (s->kinds[i] == TEXT) {
            push_text(L, &scan->fields[i]);
            lua_rawseti(L, -2, s->rows + 1);
        } else {
            value *column = lua_touserdata(L, -1);
            if (!read_field(L, s, scan, i, &column[s->rows])) return i;
        }
        lua_pop(L, 1);
    }
    s->rows++;
    return -1;
}

/* read: puts all records of the block into the columns; then it gives what came instead of one */
static int read_block(lua_State *L) {
    hd_call c = hd_begin(L, "data.csv");
    lua_settop(L, IS_LAST);
    scanner *s = scanner_of(L);
    hd_csv_field few[FEW];
    hd_csv scan = begin(&c, s);
    place_fields(L, s, &scan, few);
    int64_t lines = 0;
    for (;;) {
        hd_csv_outcome outcome = hd_csv_next(&scan);
        scan.blank += lines;
        lines = scan.lines += lines;
        if (outcome) return stopped(L, &scan, outcome);
        if (scan.count != s->columns) return wrong_count(L, &scan, s);
        int wrong = add_row(L, s, &scan);
        if (wrong >= 0) return misfit(L, &scan, wrong);
    }
}

/* take(i): the list of a column of texts; of numbers their bytes, i64 or f64, and how many there are. The
 * column is let go. */
static int take_column(lua_State *L) {
    hd_call c = hd_begin(L, "data.csv");
    scanner *s = scanner_of(L);
    int64_t i = hd_arg_integer(&c, 1, "i");
    if (i < 1 || i > s->columns || s->kinds[i - 1] == SKIPPED) hd_arg_expected(&c, 1, "i", "a column");
    bool is_text = s->kinds[i - 1] == TEXT;
    lua_rawgeti(L, lua_upvalueindex(KEPT), i);
    s->kinds[i - 1] = SKIPPED;
    lua_pushboolean(L, false);
    lua_rawseti(L, lua_upvalueindex(KEPT), i);
    if (is_text) return 1;
    lua_pushlstring(L, s->rows ? lua_touserdata(L, -1) : "", sizeof(value) * (size_t)s->rows);
    lua_pushinteger(L, s->rows);
    return 2;
}

/* ---- making them ----------------------------------------------------------------------------- */

static kind kind_at(hd_call *c, int index) {
    if (!lua_toboolean(c->L, index)) return SKIPPED;
    const char *name = lua_type(c->L, index) == LUA_TSTRING ? lua_tostring(c->L, index) : "";
    if (!strcmp(name, "string")) return TEXT;
    if (!strcmp(name, "integer")) return INTEGER;
    if (strcmp(name, "number")) hd_arg_error(c, "kinds", "expected \"string\", \"integer\" or \"number\"");
    return NUMBER;
}

static int length_at(hd_call *c, int index, const char *argument) {
    if (lua_type(c->L, index) != LUA_TTABLE) hd_arg_expected(c, index, argument, "a list");
    return (int)hd_count(c, index, argument);
}

/* Pushes the scanner of the arguments delimiter, max_line, trim; with so many columns and missing texts. */
static scanner *push_scanner(hd_call *c, int columns, int missing) {
    lua_State *L = c->L;
    size_t length = 0;
    const char *delimiter = lua_type(L, 1) == LUA_TSTRING ? lua_tolstring(L, 1, &length) : NULL;
    if (length != 1) hd_arg_expected(c, 1, "delimiter", "one byte");
    int64_t max_line = hd_arg_integer(c, 2, "max_line");
    scanner *s = lua_newuserdatauv(L, sizeof *s + sizeof(text) * (size_t)missing + (size_t)columns, 0);
    *s = (scanner){
        .delimiter = *delimiter, .max_line = max_line, .columns = columns, .missing_count = missing};
    s->trim = lua_toboolean(L, 3);
    s->goes_on = *delimiter && strchr("0123456789.eE", *delimiter);
    s->missing = (text *)(s + 1);
    s->kinds = (uint8_t *)(s->missing + missing);
    /* It allocates nothing, so nothing is to be freed, and cannot fail: "C" is built in. */
    s->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return s;
}

/* Reads kinds and missing texts from the lists at these indices; the strings are kept in the table on top. */
static void read_lists(hd_call *c, scanner *s, int kinds, int missing) {
    lua_State *L = c->L;
    for (int i = 0; i < s->columns; i++) {
        lua_rawgeti(L, kinds, i + 1);
        s->kinds[i] = (uint8_t)kind_at(c, -1);
        lua_pop(L, 1);
    }
    for (int i = 0; i < s->missing_count; i++) {
        if (lua_rawgeti(L, missing, i + 1) != LUA_TSTRING) hd_arg_error(c, "missing", "expected strings");
        s->missing[i].bytes = lua_tolstring(L, -1, &s->missing[i].length);
        lua_rawseti(L, -2, s->columns + i + 1);
    }
}

/* A function of ours with the two values on top as its upvalues SCANNER and KEPT, which are popped. */
static void push_function(lua_State *L, lua_CFunction f) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_rotate(L, -4, 2);
    lua_pushcclosure(L, f, 4);
}

/* csv_texts(delimiter, max_line, trim): read_texts */
static int csv_texts(lua_State *L) {
    hd_call c = hd_begin(L, "data.csv");
    lua_settop(L, 3);
    push_scanner(&c, 0, 0);
    lua_pushnil(L);
    push_function(L, read_texts);
    return 1;
}

enum { NAMES = 4, KINDS, MISSING };

/* csv_rows(delimiter, max_line, trim, names, kinds, missing): read_row */
static int csv_rows(lua_State *L) {
    hd_call c = hd_begin(L, "data.csv");
    lua_settop(L, MISSING);
    int columns = length_at(&c, KINDS, "kinds"), missing = length_at(&c, MISSING, "missing");
    if (length_at(&c, NAMES, "names") != columns) hd_arg_expected(&c, NAMES, "names", "a name for each kind");
    scanner *s = push_scanner(&c, columns, missing);
    lua_createtable(L, columns + missing, 0);
    read_lists(&c, s, KINDS, MISSING);
    for (int i = 1; i <= columns; i++) {
        lua_rawgeti(L, NAMES, i);
        s->is_list = lua_isinteger(L, -1);
        if (s->kinds[i - 1] == SKIPPED || (!s->is_list && lua_type(L, -1) != LUA_TSTRING))
            hd_arg_error(&c, "names", "expected a name and a kind for each column");
        lua_rawseti(L, -2, i);
    }
    push_function(L, read_row);
    return 1;
}

/* csv_columns(delimiter, max_line, trim, kinds, missing): read_block and take_column; the kind false leaves a
 * column out */
static int csv_columns(lua_State *L) {
    hd_call c = hd_begin(L, "data.csv");
    lua_settop(L, 5);
    int columns = length_at(&c, 4, "kinds"), missing = length_at(&c, 5, "missing");
    scanner *s = push_scanner(&c, columns, missing);
    int index = lua_gettop(L);
    lua_createtable(L, columns + missing, 0);
    read_lists(&c, s, 4, 5);
    for (int i = 0; i < columns; i++) {
        if (s->kinds[i] != TEXT) continue;
        lua_newtable(L);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushvalue(L, index);
    lua_pushvalue(L, index + 1);
    push_function(L, read_block);
    lua_insert(L, index);
    push_function(L, take_column);
    return 2;
}

/* csv_kind(text): "integer", "number" or "string": the narrowest that reads it */
static int csv_kind(lua_State *L) {
    hd_call c = hd_begin(L, "data.csv");
    if (lua_type(L, 1) != LUA_TSTRING) hd_arg_expected(&c, 1, "text", "a string");
    size_t length;
    const char *bytes = lua_tolstring(L, 1, &length);
    value v;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    lua_pushstring(L, hd_csv_integer(bytes, length, &v.integer)        ? "integer"
                      : hd_csv_number(bytes, length, plain, &v.number) ? "number"
                                                                       : "string");
    freelocale(plain);
    return 1;
}

static const hd_function functions[] = {
    {"csv_texts", csv_texts, HD_INTERNAL},
    {"csv_rows", csv_rows, HD_INTERNAL},
    {"csv_columns", csv_columns, HD_INTERNAL},
    {"csv_kind", csv_kind, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_csv(hd_registrar *r) {
    hd_define(r, functions);
}

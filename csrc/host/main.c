/* main.c: the `heed` command, an ordinary host of libheed. It runs scripts as lua5.4 does, and the prompt. */
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lualib.h>

#include "heed.h"
#include "host/at_interrupt.h"
#include "host/interrupt.h"
#include "host/repl.h"
#include "host/run.h"

static const char usage[] =
    "usage: heed [options] [script [args]]\n"
    "  script           run a Lua file, with args in ... and in the table arg\n"
    "  -                run standard input as a script\n"
    "  help [WORDS]     print what help(...) says at the prompt, unless there is a file help\n"
    "  -e CODE          run CODE; heed is a global there\n"
    "  -l MODULE        require MODULE into a global of its name\n"
    "  -i               the prompt after the script or CODE\n"
    "  -v, --version    print heed.info()\n"
    "  -h, --help       print this\n"
    "  --               end of options\n"
    "Without a script or CODE: the prompt.\n";

typedef struct command {
    int argc;
    char **argv;
    int script; /* index in argv; argc when there is none */
    bool eval, interactive, version, help;
    bool asks;       /* help, and what about, in place of a script */
    const char *bad; /* an option that is unknown or lacks its argument */
} command;

static command parse(int argc, char **argv) {
    command c = {.argc = argc, .argv = argv, .script = argc};
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (option[0] != '-' || option[1] == '\0') {
            c.script = i;
            break;
        }
        if (strcmp(option, "--") == 0) {
            c.script = i + 1;
            break;
        }
        if (strcmp(option, "-v") == 0 || strcmp(option, "--version") == 0)
            c.version = true;
        else if (strcmp(option, "-h") == 0 || strcmp(option, "--help") == 0)
            c.help = true;
        else if (strcmp(option, "-i") == 0)
            c.interactive = true;
        else if (option[1] == 'e' || option[1] == 'l') {
            c.eval |= option[1] == 'e';
            if (option[2] == '\0' && (++i >= argc)) c.bad = option;
        } else
            c.bad = option;
        if (c.bad) break;
    }
    bool named =
        c.script < argc && strcmp(argv[c.script], "help") == 0 && strcmp(argv[c.script - 1], "--") != 0;
    c.asks = named && access("help", F_OK) != 0;
    return c;
}

/* The table arg as in lua5.4: the script at 0, its arguments from 1, what stands before it below 0. */
static void set_arg_table(lua_State *L, const command *c) {
    int zero = c->script < c->argc ? c->script : 0;
    lua_createtable(L, c->argc - zero, zero + 1);
    for (int i = 0; i < c->argc; i++) {
        lua_pushstring(L, c->argv[i]);
        lua_rawseti(L, -2, i - zero);
    }
    lua_setglobal(L, "arg");
}

/* Runs the function below its arguments. What waits for an interrupt that ended it comes before what it says. */
static int run_function(lua_State *L, int arguments) {
    int status = hh_call(L, arguments, 0, hh_traceback);
    bool ended = hh_at_interrupt_run(L);
    status = hh_report(L, status);
    return ended ? HH_INTERRUPTED : status;
}

static int run_code(lua_State *L, const char *code) {
    int status = luaL_loadbuffer(L, code, strlen(code), "=(command line)");
    return status == LUA_OK ? run_function(L, 0) : hh_report(L, status);
}

static int run_require(lua_State *L, const char *module) {
    lua_getglobal(L, "require");
    lua_pushstring(L, module);
    int status = hh_call(L, 1, 1, hh_traceback);
    if (status == LUA_OK) lua_setglobal(L, module);
    return hh_report(L, status);
}

/* -e and -l, in their order. */
static int run_options(lua_State *L, const command *c) {
    for (int i = 1; i < c->script; i++) {
        char letter = c->argv[i][1];
        if (letter != 'e' && letter != 'l') continue;
        const char *argument = c->argv[i] + 2;
        if (*argument == '\0') argument = c->argv[++i];
        int status = letter == 'e' ? run_code(L, argument) : run_require(L, argument);
        if (status != LUA_OK) return status;
    }
    return LUA_OK;
}

static int run_script(lua_State *L, const command *c) {
    const char *name = c->argv[c->script];
    bool is_stdin = strcmp(name, "-") == 0 && strcmp(c->argv[c->script - 1], "--") != 0;
    bool before_prompt = c->interactive && !is_stdin;
    int status = before_prompt ? hh_repl_load(L, name) : luaL_loadfile(L, is_stdin ? NULL : name);
    if (status == LUA_ERRSYNTAX && !is_stdin) hh_explain_syntax(L, name);
    if (status != LUA_OK) return hh_report(L, status);
    int count = c->argc - c->script - 1;
    luaL_checkstack(L, count + LUA_MINSTACK, "too many arguments to script");
    for (int i = 0; i < count; i++) lua_pushstring(L, c->argv[c->script + 1 + i]);
    return run_function(L, count);
}

/* Status 1 when nothing is known. */
static int run_help(lua_State *L, const command *c) {
    lua_pushcfunction(L, hh_repl_answer);
    int count = c->argc - c->script - 1;
    luaL_checkstack(L, count + LUA_MINSTACK, "too many words");
    for (int i = 0; i < count; i++) lua_pushstring(L, c->argv[c->script + 1 + i]);
    int status = hh_call(L, count, 1, hh_traceback);
    if (status != LUA_OK) return hh_report(L, status);
    return lua_toboolean(L, -1) ? LUA_OK : LUA_ERRRUN;
}

static int print_version(lua_State *L) {
    lua_getglobal(L, "print");
    luaL_requiref(L, "heed", luaopen_heed, false);
    lua_getfield(L, -1, "info");
    lua_remove(L, -2);
    lua_call(L, 0, 1);
    lua_call(L, 1, 0);
    return LUA_OK;
}

/* heed as a global, unless the script made one of that name. */
static void offer_heed(lua_State *L) {
    bool taken = lua_getglobal(L, "heed") != LUA_TNIL;
    lua_pop(L, 1);
    luaL_requiref(L, "heed", luaopen_heed, !taken);
    lua_pop(L, 1);
}

static int prompt(lua_State *L, const command *c) {
    bool banner = isatty(STDIN_FILENO) && !c->eval && c->script == c->argc;
    if (banner)
        puts("heed " HEED_VERSION ", " LUA_RELEASE
             ". Expressions print their values; Tab completes; help says more; Ctrl-D ends.");
    offer_heed(L);
    hh_at_interrupt_listen(L, false);
    int failed = hh_repl(L);
    return failed && !isatty(STDIN_FILENO) ? LUA_ERRRUN : LUA_OK;
}

/* Called with the command as its argument; leaves the status. */
static int protected_main(lua_State *L) {
    const command *c = lua_touserdata(L, 1);
    bool has_script = c->script < c->argc && !c->asks;
    bool at_prompt = c->interactive || (!has_script && !c->eval && !c->version && !c->asks);
    luaL_openlibs(L);
    set_arg_table(L, c);
    /* Opened here, so that it needs no path; scripts say require, as they do under lua5.4. */
    luaL_requiref(L, "heed", luaopen_heed, c->eval || c->asks || (at_prompt && !has_script));
    lua_pop(L, 1);
    hh_interrupt_install(L);
    hh_at_interrupt_listen(L, true);
    if (at_prompt || c->asks) hh_repl_prepare(L);
    int status = c->version ? print_version(L) : LUA_OK;
    if (status == LUA_OK) status = run_options(L, c);
    if (status == LUA_OK && has_script) status = run_script(L, c);
    if (status == LUA_OK && c->asks) status = run_help(L, c);
    if (at_prompt && (status == LUA_OK || c->interactive)) status = prompt(L, c);
    lua_pushinteger(L, status);
    return 1;
}

/* For the editor of lines. Where no locale is set, as in containers, letters are UTF-8 nevertheless. */
static void use_utf8(void) {
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1 && strcmp(setlocale(LC_CTYPE, NULL), "C") == 0) setlocale(LC_CTYPE, "C.UTF-8");
}

int main(int argc, char **argv) {
    command c = parse(argc, argv);
    if (c.bad) fprintf(stderr, "heed: unknown option, or one without its argument: '%s'\n", c.bad);
    if (c.bad || c.help) {
        fputs(usage, c.bad ? stderr : stdout);
        return c.bad ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    use_utf8();
    lua_State *L = luaL_newstate();
    if (!L) {
        fputs("heed: not enough memory\n", stderr);
        return EXIT_FAILURE;
    }
    lua_pushcfunction(L, protected_main);
    lua_pushlightuserdata(L, &c);
    int status = hh_report(L, lua_pcall(L, 1, 1, 0));
    if (status == LUA_OK) status = (int)lua_tointeger(L, -1);
    lua_close(L);
    if (status == HH_INTERRUPTED) hh_interrupt_die(); /* so that a shell's loop around us ends too */
    return status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

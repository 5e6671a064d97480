#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <lualib.h>

#include "heed.h"
#include "host/interrupt.h"

#define PATIENCE_NS 1000000000LL
#define INSISTING 3 /* interrupts within PATIENCE_NS: whoever sends them wants out */

/* What hook a thread of Lua had before ours. */
typedef struct saved_hook {
    lua_State *L;
    lua_Hook hook;
    int mask, count;
} saved_hook;

/* A handler of signals has no argument of its own: the one global of this executable. */
static struct {
    lua_State *L;
    pthread_t thread;
    lua_State *volatile running_coroutine; /* L outside of coroutines */
    volatile sig_atomic_t *cancel;         /* the library's flag of this state */
    volatile sig_atomic_t running, pending;
    volatile sig_atomic_t breaking; /* raise at every instruction until the computation has ended */
    saved_hook main, coroutine;
    int64_t since;             /* when the pending interrupt came */
    int64_t recent[INSISTING]; /* when the last ones came, in a ring */
    int next;
    bool warns, warned; /* before the end of a session, once */
    volatile sig_atomic_t ends_all, ended;
} self;

static int64_t monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- hooks ----------------------------------------------------------------------------------------------- */

static void at_instruction(lua_State *L, lua_Debug *ar);

static void ask_hook(lua_State *L, saved_hook *saved) {
    lua_Hook hook = lua_gethook(L);
    if (hook != at_instruction) *saved = (saved_hook){L, hook, lua_gethookmask(L), lua_gethookcount(L)};
    lua_sethook(L, at_instruction, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

/* The person's own hook, if that thread had one, comes back. */
static void give_back(lua_State *L) {
    if (lua_gethook(L) != at_instruction) return;
    const saved_hook *saved = L == self.main.L ? &self.main : &self.coroutine;
    if (saved->L == L)
        lua_sethook(L, saved->hook, saved->mask, saved->count);
    else
        lua_sethook(L, NULL, 0, 0);
}

static void clear(void) {
    give_back(self.L);
    *self.cancel = 0;
    self.pending = 0;
}

/* Runs before the next instruction of Lua, in whichever coroutine that is. */
static void at_instruction(lua_State *L, lua_Debug *ar) {
    (void)ar;
    bool raised_by_library = !*self.cancel && !self.breaking;
    if (!raised_by_library && !heed_interruptible(L)) {
        /* Again when a function returns, as uninterrupted does: between two of them there may be no time. */
        lua_sethook(L, at_instruction, LUA_MASKRET | LUA_MASKCOUNT, 100);
        return;
    }
    if (self.breaking) {
        ask_hook(L, &self.coroutine); /* for what a pcall on the way out goes on with */
        self.pending = 0;
    } else {
        give_back(L);
        clear();
    }
    if (raised_by_library) return;
    lua_pushliteral(L, "interrupted");
    lua_error(L);
}

/* ---- the signal ------------------------------------------------------------------------------------------ */

static bool insists(int64_t now) {
    self.recent[self.next] = now;
    self.next = (self.next + 1) % INSISTING;
    int64_t earliest = self.recent[self.next];
    return earliest != 0 && now - earliest < PATIENCE_NS;
}

/* The computation is in C code that is not ours and gives no point to stop at. */
static void lose_patience(void) {
    static const char warning[] =
        "\nNothing here can stop this computation but the end of heed: Ctrl-C again ends it.\n";
    if (self.warns && !self.warned) {
        self.warned = true;
        if (write(STDERR_FILENO, warning, sizeof warning - 1) > 0) return;
    }
    hh_interrupt_die(); /* when this handler returns */
}

static void ask_to_stop(void) {
    int64_t now = monotonic_ns();
    bool impatient = insists(now);
    if (impatient || self.ends_all) self.breaking = self.ended = 1;
    if (self.pending && now - self.since > PATIENCE_NS) {
        lose_patience();
        return;
    }
    if (!self.pending) self.since = now;
    self.pending = 1;
    *self.cancel = 1;
    ask_hook(self.L, &self.main);
    if (self.running_coroutine != self.L) ask_hook(self.running_coroutine, &self.coroutine);
}

static void on_interrupt(int number) {
    int saved_errno = errno;
    if (!pthread_equal(pthread_self(), self.thread))
        pthread_kill(self.thread, number); /* lua_sethook must not race with Lua */
    else if (!self.running)
        self.pending = 1;
    else
        ask_to_stop();
    errno = saved_errno;
}

/* ---- which coroutine runs -------------------------------------------------------------------------------- */

/* A hook belongs to one coroutine and Lua does not tell which one runs: resume and wrap note it. */

static lua_CFunction plain_resume, plain_wrap;

/* Back in the coroutine that resumed another: it must not go on either when all is to end. */
static void return_to(lua_State *coroutine) {
    self.running_coroutine = coroutine;
    if (self.breaking && coroutine) ask_hook(coroutine, coroutine == self.L ? &self.main : &self.coroutine);
}

static int noting_resume(lua_State *L) {
    lua_State *coroutine = lua_tothread(L, 1), *before = self.running_coroutine;
    if (!coroutine) return plain_resume(L);
    self.running_coroutine = coroutine;
    int results = plain_resume(L); /* raises nothing once its argument is a coroutine */
    return_to(before);
    return results;
}

/* Upvalue 1: the function that the plain wrap gave; upvalue 2: its coroutine. */
static int call_wrapped(lua_State *L) {
    lua_State *before = self.running_coroutine;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    self.running_coroutine = lua_tothread(L, lua_upvalueindex(2));
    int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    return_to(before);
    return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

static int noting_wrap(lua_State *L) {
    plain_wrap(L);
    if (!lua_getupvalue(L, -1, 1) || !lua_isthread(L, -1)) return 1;
    lua_pushcclosure(L, call_wrapped, 2);
    return 1;
}

static void replace(lua_State *L, const char *name, lua_CFunction *plain, lua_CFunction noting) {
    lua_getfield(L, -1, name);
    *plain = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    lua_pushcfunction(L, noting);
    lua_setfield(L, -2, name);
}

static void note_coroutines(lua_State *L) {
    lua_getglobal(L, LUA_COLIBNAME);
    replace(L, "resume", &plain_resume, noting_resume);
    replace(L, "wrap", &plain_wrap, noting_wrap);
    lua_pop(L, 1);
}

/* ---- doors ----------------------------------------------------------------------------------------------- */

void hh_interrupt_install(lua_State *L) {
    self.L = L;
    self.thread = pthread_self();
    self.cancel = heed_cancel_flag(L);
    note_coroutines(L);
    struct sigaction action;
    /* Ignored by whoever started us (nohup, a job in the background): it stays so. */
    if (sigaction(SIGINT, NULL, &action) != 0 || action.sa_handler == SIG_IGN) return;
    action = (struct sigaction){.sa_handler = on_interrupt}; /* no SA_RESTART: reading a line ends */
    sigaction(SIGINT, &action, NULL);
}

void hh_interrupt_warn_first(void) {
    self.warns = true;
}

void hh_interrupt_begin(void) {
    self.pending = self.breaking = self.ended = 0;
    self.main.L = self.coroutine.L = NULL;
    self.warned = false;
    self.running_coroutine = self.L;
    self.running = 1;
}

void hh_interrupt_end(void) {
    self.running = self.breaking = 0;
    clear();
}

void hh_interrupt_ends_all(bool ends) {
    self.ends_all = ends;
}

bool hh_interrupt_ended(void) {
    return self.ended;
}

bool hh_interrupt_pending(void) {
    return self.pending;
}

bool hh_interrupt_take(void) {
    bool taken = self.pending;
    self.pending = 0;
    return taken;
}

void hh_interrupt_die(void) {
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
}

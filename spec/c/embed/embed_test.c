/* A host's view: libheed in states with few libraries, tensors in and out, interrupts, several states at
 * once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lualib.h>

#include "heed.h"

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static void run(lua_State *L, const char *code) {
    if (luaL_dostring(L, code) == LUA_OK) return;
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(1);
}

/* No package, io, os, debug, load. */
static lua_State *bare_state(void) {
    lua_State *L = luaL_newstate();
    CHECK(L);
    luaL_requiref(L, "_G", luaopen_base, 1);
    luaL_requiref(L, "string", luaopen_string, 1);
    luaL_requiref(L, "table", luaopen_table, 1);
    luaL_requiref(L, "math", luaopen_math, 1);
    luaL_requiref(L, "utf8", luaopen_utf8, 1);
    luaL_requiref(L, "coroutine", luaopen_coroutine, 1);
    lua_settop(L, 0);
    run(L, "load, loadfile, dofile, collectgarbage = nil");
    luaL_requiref(L, "heed", luaopen_heed, 1);
    lua_settop(L, 0);
    return L;
}

static void works_in_a_bare_state(void) {
    lua_State *L = bare_state();
    run(L, "local layer = heed.nn.Linear(3, 2)\n"
           "local loss = layer(heed.ones(4, 3)):square():sum()\n"
           "loss:backward()\n"
           "assert(layer.weight.grad.shape == { 2, 3 })\n"
           "assert(package == nil and require == nil)");
    lua_close(L);
}

static void gives_modules_to_require(void) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    run(L, "package.path, package.cpath = '', ''");
    luaL_requiref(L, "heed", luaopen_heed, 0);
    run(L, "local heed = require 'heed'\n"
           "assert(require('heed.nn') == heed.nn and require('heed.core').zeros == heed.zeros)\n"
           "local ok, message = pcall(heed.nn.Linear, 'x')\n"
           "assert(not ok and message)");
    lua_close(L);
}

static void passes_tensors(void) {
    lua_State *L = bare_state();
    const float values[6] = {1, 2, 3, 4, 5, 6};
    const int64_t shape[2] = {2, 3};
    heed_view view;
    heed_push_tensor(L, "f32", 2, shape, values, &view);
    CHECK(view.ndim == 2 && view.shape[0] == 2 && view.stride[0] == 3 && ((float *)view.data)[5] == 6);
    ((float *)view.data)[0] = 10;
    heed_wrote(L, -1);
    lua_setglobal(L, "t");
    run(L, "assert(t:sum():item() == 30)  u = t:t()");
    lua_getglobal(L, "u");
    CHECK(heed_to_tensor(L, -1, &view));
    CHECK(view.shape[0] == 3 && view.stride[0] == 1 && strcmp(view.dtype, "f32") == 0);
    lua_pushinteger(L, 1);
    CHECK(!heed_to_tensor(L, -1, &view));
    heed_push_tensor(L, "i64", 0, NULL, NULL, &view);
    CHECK(*(int64_t *)view.data == 0);
    lua_close(L);
}

static int cancel(lua_State *L) {
    *heed_cancel_flag(L) = 1;
    lua_pushboolean(L, heed_interruptible(L));
    return 1;
}

static int interruptible(lua_State *L) {
    lua_pushboolean(L, heed_interruptible(L));
    return 1;
}

static void is_interrupted(void) {
    lua_State *L = bare_state();
    CHECK(heed_interruptible(L));
    heed_interrupt(L);
    run(L, "local ok, message = pcall(heed.ones, 2)\n"
           "assert(not ok and message == 'interrupted')\n"
           "assert(heed.ones(2):sum():item() == 2)");
    lua_register(L, "cancel", cancel);
    run(L, "assert(heed.uninterrupted(function()\n"
           "  assert(not cancel())\n"
           "  return heed.ones(2):sum():item()\n"
           "end) == 2)\n"
           "local ok, message = pcall(heed.ones, 2)\n"
           "assert(not ok and message == 'interrupted')\n"
           "assert(cancel() and not pcall(heed.ones, 2))");
    lua_close(L);
}

/* An interrupt is held off by the coroutine that runs uninterrupted, and not by one that died or rests in it. */
static void is_held_off_for_as_long_as_it_runs(void) {
    lua_State *L = bare_state();
    lua_register(L, "interruptible", interruptible);
    run(L, "local function ended() error 'on purpose' end\n"
           "for _, leave in ipairs { ended, coroutine.yield } do\n"
           "  kept = coroutine.create(function() heed.uninterrupted(function()\n"
           "    assert(not interruptible())\n"
           "    coroutine.wrap(function() assert(not interruptible()) end)()\n"
           "    leave()\n"
           "    assert(not interruptible())\n"
           "  end) end)\n"
           "  coroutine.resume(kept)\n"
           "  assert(interruptible())\n"
           "  heed.ones(1)\n"
           "end\n"
           "assert(coroutine.resume(kept))\n"
           "assert(interruptible())\n"
           "local opt = heed.optim.SGD({ heed.ones(1, { requires_grad = true }) })\n"
           "opt.remembered = 5\n"
           "kept = coroutine.create(function() opt:step() end)\n"
           "assert(not coroutine.resume(kept) and interruptible())");
    heed_interrupt(L);
    run(L, "local ok, message = pcall(heed.ones, 2)\n"
           "assert(not ok and message == 'interrupted')");
    lua_close(L);
}

static void *interrupt_soon(void *flag) {
    const struct timespec soon = {.tv_nsec = 200 * 1000 * 1000};
    nanosleep(&soon, NULL);
    __atomic_store_n((volatile sig_atomic_t *)flag, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Expanded tensors are long without taking memory. */
static void is_interrupted_in_long_loops(void) {
    const char *const loops[] = {
        "local t = heed.zeros(1):expand(1 << 40) t:allclose(t)",
        "heed.nn.Embedding(3, 2)(heed.ids { 1 }:expand(1 << 40))",
        "heed.loss.cross_entropy(heed.zeros(1, 3):expand(1 << 40, 3), heed.ids { 1 }:expand(1 << 40))",
        "heed.pack_sequences(heed.zeros(1, 3):expand(1 << 40, 3), heed.ids { 0 }:expand(1 << 40))",
        "heed.sequence_starts(heed.ids { 1 }:expand(1 << 40))",
        "heed.unpack_sequences(heed.zeros(0, 3), heed.ids { 0 }:expand(1 << 40), 1)",
    };
    lua_State *L = bare_state();
    run(L, "function stopped(f)\n"
           "  local ok, message = pcall(f)\n"
           "  assert(not ok and message == 'interrupted', message)\n"
           "end");
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        char code[256];
        pthread_t other;
        snprintf(code, sizeof code, "stopped(function() %s end)", loops[i]);
        CHECK(pthread_create(&other, NULL, interrupt_soon, (void *)heed_cancel_flag(L)) == 0);
        run(L, code);
        pthread_join(other, NULL);
    }
    lua_close(L);
}

/* An interrupt that comes when a check is nearly over leaves nothing of it behind. */
static void leaves_no_mode_behind(void) {
    lua_State *L = bare_state();
    lua_register(L, "cancel", cancel);
    run(L, "local Late = heed.nn.Module:extend 'Late'\n"
           "function Late:forward(x) local y = x * 2 cancel() return y end\n"
           "local late, stream = Late(), heed.rng_state()\n"
           "heed.manual_seed(1)\n"
           "local before = heed.rng_state()\n"
           "pcall(late.check, late, heed.ones(3))\n"
           "pcall(heed.ones, 1)\n"
           "assert(heed.ones(100000):sum():item() == 100000)\n"
           "assert(heed.equal(before, heed.rng_state()))");
    lua_close(L);
}

/* What one state has computed no other reads. */
static void keeps_memory_apart(void) {
    lua_State *first = bare_state(), *second = bare_state();
    run(first, "for _, n in ipairs { 3, 100, 1000, 100000 } do\n"
               "  for i = 1, 20 do heed.full({ n }, 0x5EC):free() end\n"
               "end");
    lua_close(first);
    run(second, "for _, n in ipairs { 3, 100, 1000, 100000 } do\n"
                "  for i = 1, 20 do\n"
                "    local t = heed.empty(n)\n"
                "    assert(t:eq(0):all() and heed.empty_like(t):eq(0):all())\n"
                "  end\n"
                "end");
    lua_close(second);
}

static void *train(void *seed) {
    lua_State *L = bare_state();
    lua_pushinteger(L, (lua_Integer)(intptr_t)seed);
    lua_setglobal(L, "seed");
    run(L, "heed.manual_seed(seed)\n"
           "local w = heed.randn(64, 64, { requires_grad = true })\n"
           "for i = 1, 20 do\n"
           "  w.grad = nil\n"
           "  heed.tanh(heed.randn(32, 64):matmul(w)):sum():backward()\n"
           "  heed.no_grad(function() w:sub_(w.grad * 0.01) end)\n"
           "end\n"
           "result = w:sum():item()");
    lua_getglobal(L, "result");
    double *result = malloc(sizeof *result);
    *result = lua_tonumber(L, -1);
    lua_close(L);
    return result;
}

static void works_in_several_threads(void) {
    pthread_t threads[4];
    double *results[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, train, (void *)(intptr_t)(i / 2 + 1)) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], (void **)&results[i]) == 0);
    CHECK(*results[0] == *results[1] && *results[2] == *results[3] && *results[0] != *results[2]);
    for (int i = 0; i < 4; i++) free(results[i]);
}

int main(void) {
    works_in_a_bare_state();
    gives_modules_to_require();
    passes_tensors();
    is_interrupted();
    is_interrupted_in_long_loops();
    is_held_off_for_as_long_as_it_runs();
    leaves_no_mode_behind();
    keeps_memory_apart();
    works_in_several_threads();
    return 0;
}

/* state.h: what this room keeps for each Lua state, and how a C function of ours begins and ends.
 *
 * One hd_lua record a state: a full userdata, anchored in the registry under a static address and held as
 * upvalue 1 of every function (upvalue 2 is the tensors' metatable). A tensor in Lua is a userdata hd_handle
 * that owns one reference to a hd_tensor; types are known by the address of their metatable.
 *
 * The way of a call, which keeps C memory safe from errors and from other people's finalizers:
 *
 *     hd_call c = hd_enter(L, "matmul");               collects when due, makes the result's userdata (empty)
 *     hd_tensor *a = hd_arg_tensor(&c, 1, "a");        then checks arguments (check.h), which may raise
 *     hd_tensor *b = hd_arg_tensor(&c, 2, "b");
 *     return hd_return(&c, hd_matmul(c.cx, a, b));     then one call below, which cannot raise
 *
 * Nothing that malloc gave is held across anything that may raise.
 */
#ifndef HD_LUA_STATE_H
#define HD_LUA_STATE_H

#include <lua.h>
#include <lauxlib.h>

#include "ops/ops.h"

typedef struct hd_scope hd_scope; /* memory.c */

/* A tensor as Lua holds it. User value 1: the anchor of Lua functions in its graph (function.c),
 * usually nil. */
typedef struct hd_handle {
    hd_tensor *t; /* NULL: not made yet, or dropped */
    struct hd_handle *scope_next,
        **scope_link; /* in the list of the scope it was made in; link NULL: in none */
} hd_handle;

typedef struct hd_lua hd_lua;

typedef struct hd_guard hd_guard; /* modes.h */

struct hd_lua {
    hd_ctx *cx; /* NULL while the state closes */
    const void *tensor_type, *shape_type, *generator_type, *mask_type, *guard_type, *scope_type,
        *function_type, *tokenizer_type, *gguf_type;
    hd_guard *guards;          /* newest first, of all coroutines; usually none */
    hd_scope *scopes;          /* likewise */
    hd_handle *doomed;         /* what a finalizer wanted dropped: at the entry of the next operation */
    int live_functions;        /* contexts of heed.func that are alive: with none, results need no anchors */
    lua_State *trace_state;    /* the coroutine that cx->where looks at */
    lua_State *backward_state; /* who runs backward now; functions written in Lua run there */
    bool backward_retain;
    bool trying_again; /* memory ran out, all garbage was collected, and the operation runs a second time */
    struct {           /* the collector's clock, memory.c */
        int64_t due;   /* collect when the account's `allocated` reaches this */
        int64_t since, live;   /* `allocated` and `live` after the last collection */
        int64_t dropped;       /* tensors whose userdata were collected since it began */
        double last_end, cost; /* seconds */
    } clock;
};

/* User values of the record. */
enum {
    HD_UV_MODULE = 1, /* what require "heed.core" gives */
    HD_UV_METHODS,    /* name -> function, or an integer (a property) */
    HD_UV_TENSOR,
    HD_UV_SHAPE,
    HD_UV_GENERATOR,
    HD_UV_MASK,
    HD_UV_GUARD,
    HD_UV_SCOPE,
    HD_UV_FUNCTION, /* metatables */
    HD_UV_GRADS,    /* weak: address of a gradient -> its userdata, so that t.grad == t.grad */
    HD_UV_CONTEXTS, /* weak: address of a context of heed.func -> its userdata */
    HD_UV_ERROR,    /* what a Lua function raised inside backward */
    HD_UV_LOCATE,   /* what the Lua side gave to core.locate_errors, or nil */
    HD_UV_SUGGEST,  /* the second of it */
    HD_UV_FIELDS,   /* the names of modules' fields (nn/fields.c) */
    HD_UV_TOKENIZER,
    HD_UV_GGUF, /* metatables */
    HD_UV_COUNT = HD_UV_GGUF
};

/* The record of this state: made by luaopen_heed_core. NULL when heed was not opened. */
hd_lua *hd_lua_of(lua_State *L);
/* Pushes the record's userdata (nil when heed was not opened). */
void hd_lua_push_record(lua_State *L);
/* Is a chunk of this name one of lua/heed? */
bool hd_is_own_source(const char *source);
/* Pushes user value n of the record, from inside a function of ours. */
void hd_push_uv(lua_State *L, int n);

/* ---- a call ------------------------------------------------------------------------------ */
typedef struct hd_call {
    lua_State *L;
    hd_lua *h;
    hd_ctx *cx;
    const char
        *name;   /* as in Lua: "matmul", "loss.cross_entropy"; or what is written without one: "t[key]" */
    int top;     /* the arguments are 1..top */
    int options; /* index of the options table, once hd_take_options found one; else 0 */
    const char *allowed; /* the options' names, once hd_take_options was told; else NULL */
    uint64_t pushed;     /* bit i: index i holds an option's value */
    bool reads_fields;   /* of modules: what they hold stays on the stack, for hd_anchor_result */
    bool skipping;       /* an argument has no numbers: neither has the result (hd_ctx.skipping) */
    uint32_t losses;     /* of pages of mapped files, when it began (mapping.h) */
    hd_rng rng;          /* the training stream as the call found it: a second try draws the same numbers */
    int slot;            /* index of the result's userdata, 0: none */
    hd_handle *out;
} hd_call;

/* Collects when due, raises when interrupted, sets the modes of this coroutine. Without a result. */
hd_call hd_begin(lua_State *L, const char *name);
/* The same, and pushes the empty userdata of one result. */
hd_call hd_enter(lua_State *L, const char *name);
/* Pushes one more empty userdata. */
hd_handle *hd_push_handle(hd_call *c);
/* The modes again, after anything that may have run Lua code. */
void hd_set_modes(hd_call *c);

/* The result: owned by the userdata from here on. NULL raises the context's error under the call's name; when
 * memory ran out, the whole call is first tried once more after a full collection. */
int hd_return(hd_call *c, hd_tensor *t);
/* For functions that may give their argument back (contiguous, to): then the same userdata is returned. */
int hd_return_or_same(hd_call *c, int argument, hd_tensor *t);
/* After an in-place operation on argument 1: raises or returns it. */
int hd_return_self(hd_call *c, hd_status status);
/* Two results: values, and indices, whose userdata `second` lies at second_slot. */
int hd_return_pair(hd_call *c, hd_handle *second, int second_slot, hd_status status, hd_tensor *values,
                   hd_tensor *indices);
/* Raises when the call read memory of this state that a mapped file lost meanwhile. hd_return and its like do
 * so; for functions that read and return something else than tensors. */
void hd_check_losses(hd_call *c);
/* Gives a handle that hd_push_handle made its tensor; raises for NULL. */
void hd_settle(hd_call *c, int index, hd_handle *handle, hd_tensor *t);

/* "heed.matmul: " and the message of cx->error, or the Lua error kept by a function, or "interrupted". */
int hd_raise(hd_call *c);
static inline void hd_try(hd_call *c, hd_status status) {
    if (status) hd_raise(c);
}

/* ---- handles ----------------------------------------------------------------------------- */
/* The userdata at index, or NULL when it is none of this type (h->scope_type, ...). */
void *hd_to_type(lua_State *L, const void *type, int index);
/* The handle at index, or NULL when it is something else. */
hd_handle *hd_to_handle(lua_State *L, const hd_lua *h, int index);
/* Out of its scope's list; a scope that closes does not drop it any more. */
void hd_handle_unscope(hd_handle *handle);
/* Drops the reference now. */
void hd_handle_drop(hd_handle *handle);

/* ---- registration ------------------------------------------------------------------------ */
/* HD_INTERNAL: in heed.core, for the modules of lua/heed alone; its name is in the set core.internal. */
typedef enum hd_place { HD_MODULE = 1, HD_METHOD = 2, HD_BOTH = 3, HD_INTERNAL = 4 } hd_place;
typedef struct hd_function {
    const char *name;
    lua_CFunction function;
    hd_place place;
} hd_function;

/* While luaopen runs: the record, the module, the set of its internal names, the methods and the tensors' metatable at
 * these indices. */
typedef struct hd_registrar {
    lua_State *L;
    hd_lua *h;
    int record, module, internal, methods, tensor;
} hd_registrar;

void hd_define(const hd_registrar *r, const hd_function *functions); /* ends with a NULL name */
/* One member of a family: upvalue 3 points to its entry (static). */
void hd_define_entry(const hd_registrar *r, const char *name, lua_CFunction f, hd_place place,
                     const void *entry);
/* An internal name for the value on top, which is popped. */
void hd_define_value(const hd_registrar *r, const char *name);
/* A metamethod of the table at index `metatable`; entry may be NULL. */
void hd_define_meta(const hd_registrar *r, int metatable, const char *name, lua_CFunction f,
                    const void *entry);
static inline const void *hd_entry(lua_State *L) {
    return lua_touserdata(L, lua_upvalueindex(3));
}
/* A new metatable with __name and __metatable, kept as user value n of the record; pushed. Returns its
 * address. */
const void *hd_new_type(const hd_registrar *r, const char *name, int n);

/* The module heed.core on the stack, its record made and its functions registered when the state has none. */
int hd_open(lua_State *L, void (*register_rooms)(hd_registrar *r));
/* One a file of csrc/lua that has functions for Lua; open.c calls them all. */
void hd_register_tensor(hd_registrar *r);
void hd_register_property(hd_registrar *r);
void hd_register_create(hd_registrar *r);
void hd_register_index(hd_registrar *r);
void hd_register_print(hd_registrar *r);
void hd_register_shape(hd_registrar *r);
void hd_register_arrange(hd_registrar *r);
void hd_register_split(hd_registrar *r);
void hd_register_scatter(hd_registrar *r);
void hd_register_einsum(hd_registrar *r);
void hd_register_cdist(hd_registrar *r);
void hd_register_quantized(hd_registrar *r);
void hd_register_rfft(hd_registrar *r);
void hd_register_audio(hd_registrar *r);
void hd_register_unary(hd_registrar *r);
void hd_register_parametric(hd_registrar *r);
void hd_register_binary(hd_registrar *r);
void hd_register_where(hd_registrar *r);
void hd_register_lerp(hd_registrar *r);
void hd_register_in_place(hd_registrar *r);
void hd_register_matmul(hd_registrar *r);
void hd_register_channels(hd_registrar *r);
void hd_register_tril(hd_registrar *r);
void hd_register_softmax(hd_registrar *r);
void hd_register_compare(hd_registrar *r);
void hd_register_reduce(hd_registrar *r);
void hd_register_sort(hd_registrar *r);
void hd_register_nonzero(hd_registrar *r);
void hd_register_nn(hd_registrar *r);
void hd_register_mask(hd_registrar *r);
void hd_register_loss(hd_registrar *r);
void hd_register_layers(hd_registrar *r);
void hd_register_recurrent(hd_registrar *r);
void hd_register_modes(hd_registrar *r);
void hd_register_autograd(hd_registrar *r);
void hd_register_function(hd_registrar *r);
void hd_register_recompute(hd_registrar *r);
void hd_register_memory(hd_registrar *r);
void hd_register_random(hd_registrar *r);
void hd_register_optim(hd_registrar *r);
void hd_register_info(hd_registrar *r);
void hd_register_dtypes(hd_registrar *r);
void hd_register_io(hd_registrar *r);
void hd_register_gguf(hd_registrar *r);
void hd_register_directory(hd_registrar *r);
void hd_register_marian(hd_registrar *r);
void hd_register_characters(hd_registrar *r);
void hd_register_tokenizer(hd_registrar *r);
void hd_register_image(hd_registrar *r);
void hd_register_json(hd_registrar *r);
void hd_register_json_write(hd_registrar *r);
void hd_register_csv(hd_registrar *r);
void hd_register_npz(hd_registrar *r);

/* memory.c */
void hd_clock_start(hd_lua *h);
void hd_clock_collect(lua_State *L, hd_lua *h, bool after_backward); /* when due and allowed */
double hd_seconds(void);                                             /* monotonic */
void hd_scope_adopt(hd_lua *h, lua_State *L,
                    hd_handle *handle); /* into the innermost scope of this coroutine */

void hd_drop(lua_State *L, hd_lua *h, hd_handle *handle); /* now, or soon when a finalizer asks */
void hd_drop_doomed(hd_lua *h);

/* function.c: a recorded result keeps what its arguments' graphs need of Lua. */
void hd_anchor_result(hd_call *c, int index);

#endif

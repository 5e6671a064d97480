-- Deliberate faults in attention: what is wrong, the file, its text (which stands there once), and what replaces it.

local BODY = "csrc/kernels/isa/attention_body.h"
local TILED = "csrc/ops/attention/attention_tiled.c"
local DECODE = "csrc/ops/attention/attention_decode.c"
local ROWS = "csrc/kernels/isa/attention_rows_body.h"
local BACKWARD = "csrc/ops/attention/attention_tiled_backward.c"
local MASK = "csrc/ops/attention/resolved_mask.c"

return {
    { "tail lane skipped", BODY, "i < LANES && l + i < count", "i < LANES && l + i + 1 < count" },
    { "tail features of dk and dv skipped", BODY, "if (features) NAME(accumulate_transposed_tile)",
        "if (features > LANES) NAME(accumulate_transposed_tile)" },
    { "sum not counted from the new largest", BODY,
        "sum[v] = sum[v] * factor[v] + total[v]", "sum[v] = sum[v] + total[v]" },
    { "ALiBi with the other sign", BODY, "s -= (real)rules->slope", "s += (real)rules->slope" },
    { "slope of softcap wrong", BODY, "[2 * n + v] = 1 - t * t;", "[2 * n + v] = 1 - t;" },
    { "delta dropped", BODY, "p * (g - less)", "p * (g - 0 * less)" },
    { "poison in a tail unnoticed", BODY, "if (d < features) bad[1]", "if (d > features) bad[1]" },
    { "scale dropped", TILED, ": a->scale * log2_e;", ": log2_e;" },
    { "log-sum-exp not saved", TILED, "if (a->lse) memcpy", "if (a->lse && !a->lse) memcpy" },
    { "key head of another group", TILED, "b->hk = b->h / (a->H / a->Hk)", "b->hk = b->h % a->Hk" },
    { "poison behind a mask leaks", TILED,
        "if (b->all_seen || !b->careful ||", "if (b->all_seen || b->keys ||" },
    { "half seen taken for wholly seen", TILED,
        "(every & wanted) == wanted", "(every & wanted) != 0" },
    { "dropout drawn again in backward", BACKWARD,
        "hd_tiled_draw(b);", "b->j++, hd_tiled_draw(b), b->j--;" },
    { "dq of a split lost", BACKWARD, "for (int64_t i = 1; i < all->splits; i++) {",
        "for (int64_t i = 2; i < all->splits; i++) {" },
    { "gradient of bias keeps the scale", BACKWARD, "l, 1 / a->scale);", "l, 1);" },
    { "gradient of a repeated bias overwritten", BACKWARD,
        "to, t->stride[2], true", "to, t->stride[2], false" },
    { "causal edge off by one", MASK,
        "CAUSAL: return (key_range){0, p + 1};", "CAUSAL: return (key_range){0, p + 2};" },
    { "window's edge off by one in its bits", MASK,
        "sum_within(at, s->left) + 1", "sum_within(at, s->left)" },
    { "block of one seen key skipped", MASK, "hull.to <= b->j ||", "hull.to <= b->j + 1 ||" },
    { "block of the last segment skipped", MASK,
        "keys.high < queries.low", "keys.high <= queries.low" },
    { "last key of a segment cut off", MASK, "return (key_range){b->j + from, b->j + to};",
        "return (key_range){b->j + from, b->j + to - (to < b->keys)};" },
    { "hull of two alternatives too small", MASK,
        "hd_min(x.from, y->from), hd_max(x.to, y->to)", "hd_min(x.from, y->from), y->to" },
    { "heads of a few queries tiled", DECODE,
        "(b->hk + g / b->count) * (a->H / a->Hk) + b->first + g % b->count",
        "b->hk + g / b->count + (b->first + g % b->count) * a->Hk" },
    { "splits merged unweighed", DECODE, "exp(logs[i] - origin) / sum,", "1.0 / all->splits," },
    { "log-sum-exp of splits not shifted", DECODE, "origin + log(sum)", "log(sum)" },
    { "poison leaks to a few queries", DECODE,
        "if (b->s.hides && !is_finite", "if (b->s.h < 0 && !is_finite" },
    { "tail features of a key skipped", ROWS,
        "vr y = WIDE_N(x + d, features - d)", "vr y = WIDE_N(x + d, features - d - 1)" },
    { "keys widened from the wrong one", TILED,
        "(at + first * x->row)", "(at + (first + 1 < b->span.S ? first + 1 : first) * x->row)" },
}

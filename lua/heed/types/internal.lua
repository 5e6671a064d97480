---@meta _
--- What heed's own modules call, by position and without defaults: the INSIDE of lua/heed/init.lua. Nothing for users.

---@class heed.core: heed.Functions, heed.Methods
local inside = {}

---The table of a tensor's methods: what is put into it can be called as t:name(...).
inside.methods = {}

---Equal for tensors that share memory.
---@param t heed.Tensor
---@return lightuserdata
function inside.data_id(t) end

---heed.info without its way to print.
---@return { version: string, lua: string, blis: string, gemm: string, isa: string, cpu: string, threads: integer }
function inside.info() end

---A mask as attention takes it: everything given hides at once. Steps are in postfix order: { "causal" },
---{ "window", left, right }, { "prefix", n }, { "prefixes", i64 [B] }, { "lengths", i64 [B] },
---{ "segments", i64 [L] or [B, L], i64 [S] or [B, S] }, { "dense", integers or bool }, { "ends", i64 [B] },
---{ "and" }, { "or" }, { "not" }.
---@param steps? table[]|userdata or another mask: its steps, starts and alibi
---@param bias? heed.Tensor that broadcasts to [B, H, L, S]
---@param query_starts? heed.Tensor i64 [sequences + 1], of packed sequences
---@param key_starts? heed.Tensor
---@param alibi? heed.Tensor f64 [H], slopes
---@return userdata
function inside.mask(steps, bias, query_starts, key_starts, alibi) end

---@param mask userdata
---@return heed.Tensor|nil bias
function inside.mask_bias(mask) end

---Which keys the queries see, nil: all; with a dtype, what ALiBi adds to their scores, nil: nothing.
---@param mask userdata
---@param B integer
---@param H integer
---@param L integer
---@param S integer
---@param rows? heed.Tensor i64 [n] in 1..L; all when left out
---@param dtype? "f32"|"f64"
---@return heed.Tensor|nil bool [B, H, n, S], or floats [1, H, n, S]
function inside.mask_dense(mask, B, H, L, S, rows, dtype) end

---softmax(scale q k^T + bias) v.
---@param q heed.Tensor [B, H, L, D], [B, L, D] or [L, D]
---@param k heed.Tensor [B, Hk, S, D]
---@param v heed.Tensor [B, Hk, S, Dv]
---@param scale? number 1/sqrt(D)
---@param softcap? number
---@param dropout? number
---@param mask? userdata of heed.core.mask
---@param want_weights? boolean
---@return heed.Tensor out [B, H, L, Dv]
---@return heed.Tensor? weights [B, H, L, S]
function inside.attention(q, k, v, scale, softcap, dropout, mask, want_weights) end

---Pairs of features turned by angles: y_a = x_a cos - x_b sin, y_b = x_b cos + x_a sin. heed.nn.Rotary gives it its tables.
---@param x heed.Tensor [..., L, D]
---@param cos heed.Tensor [L, P] or [B, L, P], 2P at most D: the features after the pairs pass
---@param sin heed.Tensor as cos
---@param interleaved? boolean pair i is (2i - 1, 2i); default (i, P + i)
---@return heed.Tensor # [..., L, D]
function inside.rotary(x, cos, sin, interleaved) end

---@param logits heed.Tensor [..., V]
---@param targets heed.Ids [...] 1..V or ignore_index
---@param ignore_index? integer
---@param label_smoothing? number
---@param weight? heed.Tensor [V]
---@param reduction? "mean"|"sum"|"none"
---@param smoothing_exclude? integer[]
---@return heed.Tensor
function inside.cross_entropy(logits, targets, ignore_index, label_smoothing, weight, reduction, smoothing_exclude) end

---@param hidden heed.Tensor [..., E]
---@param weight heed.Tensor [V, E]
---@param targets heed.Ids [...] 1..V or ignore_index
---@param bias? heed.Tensor [V]
---@param ignore_index? integer
---@param label_smoothing? number
---@param class_weight? heed.Tensor [V]
---@param reduction? "mean"|"sum"|"none"
---@param smoothing_exclude? integer[]
---@return heed.Tensor
function inside.linear_cross_entropy(hidden, weight, targets, bias, ignore_index, label_smoothing, class_weight, reduction, smoothing_exclude) end

---@param log_probs heed.Tensor [..., V]
---@param targets heed.Ids [...] 1..V or ignore_index
---@param ignore_index? integer
---@param weight? heed.Tensor [V]
---@param reduction? "mean"|"sum"|"none"
---@return heed.Tensor
function inside.nll_loss(log_probs, targets, ignore_index, weight, reduction) end

---(input - target)², times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function inside.mse_loss(input, target, reduction, weight, pos_weight, parameter, factor) end

---|input - target|, times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function inside.l1_loss(input, target, reduction, weight, pos_weight, parameter, factor) end

---d²/2 where |d| < parameter, else parameter (|d| - parameter/2), times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function inside.huber_loss(input, target, reduction, weight, pos_weight, parameter, factor) end

---binary cross entropy of logits, times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function inside.bce_with_logits(input, target, reduction, weight, pos_weight, parameter, factor) end

---target (log target - input), times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"|"batchmean"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function inside.kl_div(input, target, reduction, weight, pos_weight, parameter, factor) end

---e^target (target - input), times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"|"batchmean"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function inside.kl_div_log(input, target, reduction, weight, pos_weight, parameter, factor) end

---Sines and cosines of positions (Vaswani et al. 2017, section 3.5).
---@param max_len integer
---@param d_model integer
---@param first_position? integer default 0
---@param layout? "interleaved"|"halves"
---@param rates? number[] one a pair of columns
---@return heed.Tensor # [max_len, d_model]
function inside.sinusoidal_positions(max_len, d_model, first_position, layout, rates) end

---@param in_w heed.Tensor [3E, E]
---@param in_b heed.Tensor|nil [3E]
---@param out_w heed.Tensor [E, E]
---@param out_b heed.Tensor|nil [E]
---@param num_heads integer
---@param dropout number
---@param training boolean
---@param query heed.Tensor [B, L, E] or [L, E]
---@param key? heed.Tensor [B, S, E]
---@param value? heed.Tensor [B, S, E]
---@param mask? userdata
---@param want_weights? boolean
---@return heed.Tensor out
---@return heed.Tensor? weights
function inside.multi_head_attention(in_w, in_b, out_w, out_b, num_heads, dropout, training, query, key, value, mask, want_weights) end

---Attention over keys and values that are kept; the call's own are made with its queries and written behind them. No gradients.
---@param in_w heed.Tensor [(H + 2 Hk) D, E]
---@param in_b heed.Tensor|nil
---@param out_w heed.Tensor [E, H D]
---@param out_b heed.Tensor|nil [E]
---@param num_heads integer
---@param num_kv_heads integer
---@param scale? number
---@param softcap? number
---@param query heed.Tensor [B, L, E]
---@param mask? userdata
---@param want_weights? boolean
---@param cos? heed.Tensor of rotary, for the call's positions
---@param sin? heed.Tensor
---@param interleaved? boolean
---@param of_memory? boolean the kept are a memory's: nothing is written
---@param k heed.Tensor [B, room, Hk, D]
---@param v heed.Tensor [B, room, Hk, D]
---@param places? heed.Tensor i64 [B L], rows of [B room] that the call's own go to; left out, they go to `before` + 1 on
---@param before integer
---@param length integer how many are attended to
---@return heed.Tensor out
---@return heed.Tensor? weights
function inside.cached_attention(in_w, in_b, out_w, out_b, num_heads, num_kv_heads, scale, softcap, query, mask, want_weights, cos, sin, interleaved, of_memory, k, v, places, before, length) end

---@param w1 heed.Tensor [F, E]
---@param b1 heed.Tensor|nil [F]
---@param w2 heed.Tensor [E, F]
---@param b2 heed.Tensor|nil [E]
---@param activation? "relu"|"gelu"|"silu"
---@param dropout number
---@param training boolean
---@param x heed.Tensor [..., E]
---@return heed.Tensor
function inside.feed_forward(w1, b1, w2, b2, activation, dropout, training, x) end

---(x, mask, training, dropout, attention_dropout, num_heads, activation, norm_first, eps,
---in_w, in_b, out_w, out_b, w1, b1, w2, b2, n1w, n1b, n2w, n2b)
---@return heed.Tensor
function inside.encoder_layer(...) end

---(x, memory, mask, memory_mask, training, dropout, attention_dropout, num_heads,
---activation, norm_first, eps, in_w, in_b, out_w, out_b of self-attention, the same of cross-attention, w1, b1, w2, b2,
---n1w, n1b, n2w, n2b, n3w, n3b)
---@return heed.Tensor
function inside.decoder_layer(...) end

---One step of all groups, { params, m, v, steps, lr, ... }; parameters without a gradient are passed over. Never left half done;
---steps, a list, counts up for those that moved.
---@param kind "sgd"|"adam"|"adamw"
---@param groups table[]
function inside.optim_step(kind, groups) end

---averages = decay averages + (1 - decay) tensors
---@param averages heed.Tensor[]
---@param tensors heed.Tensor[]
---@param decay number
function inside.average_all(averages, tensors, decay) end

---The contents of the tensors of two lists change places.
---@param a heed.Tensor[]
---@param b heed.Tensor[]
function inside.swap_all(a, b) end

---The 2-norm of all their gradients together.
---@param params heed.Tensor[]
---@return number
function inside.grad_norm(params) end

---@param params heed.Tensor[]
---@param factor number
function inside.scale_grads(params, factor) end

---@param params heed.Tensor[]
function inside.zero_grads(params) end

---From now on tensors of floats have shapes and no numbers, and nothing is computed from them: heed.nn.Module:check.
---@param on? boolean only asks when left out
---@return boolean before
function inside.shapes_only(on) end

---For specs: the n-th allocation from now fails.
---@param n integer 0: none does
function inside.fail_allocation(n) end

---@param path string
---@return table<string, heed.Tensor>|nil tensors
---@return table<string, string>|string metadata or message
---@return string[]? # names in the file's order
function inside.safetensors_load(path) end

---@param path string
---@param tensors { [1]: string, [2]: heed.Tensor }[] in this order
---@param metadata? table<string, string>
---@return true|nil
---@return string? message
function inside.safetensors_save(path, tensors, metadata) end

---heed.npy.load.
---@param path string
---@return heed.Tensor|nil t
---@return string? message
function inside.npy_load(path) end

---heed.npy.save.
---@param path string
---@param t heed.Tensor
---@return true|nil
---@return string? message
function inside.npy_save(path, t) end

---Pixels as a PNG file's bytes.
---@param pixels string red, green and blue of each, row by row
---@param width integer
---@param height integer
---@return string|nil bytes nil when heed was built without libpng
---@return string? message
function inside.png_encode(pixels, width, height) end

---Replaces a file whole or not at all.
---@param path string
---@param bytes string
---@return true|nil
---@return string? message
function inside.replace_file(path, bytes) end

---@param descriptor integer 0 standard input, 1 output, 2 errors
---@return boolean
function inside.isatty(descriptor) end

---What makes the message of every error of this module, with its position; and what is said of a name that there is not.
---@param locate fun(name: string, message: string): string
---@param suggest? fun(kind: string, name: string, candidates: string[]): string
function inside.locate_errors(locate, suggest) end

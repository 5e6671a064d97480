---@meta _
--- What heed's own modules call, by position and without defaults: what C registers as HD_INTERNAL.
--- Nothing for users.

---@class heed.core: heed.Functions, heed.Methods
local inside = {}

---The table of a tensor's methods: what is put into it can be called as t:name(...).
inside.methods = {}

---The names of what is here.
---@type table<string, true>
inside.internal = {}

---The dtypes of floats, and those among them that are stored and not computed with: lists that are
---sets too.
---@type { floats: table, halves: table }
inside.dtypes = {}

---The activations that linear and feed_forward apply in the same pass, a list.
---@type string[]
inside.activations = {}

---Equal for tensors that share memory.
---@param t heed.Tensor
---@return lightuserdata
function inside.data_id(t) end

---heed.info without its way to print.
---@return { version: string, lua: string, blis: string, gemm: string, isa: string, cpu: string, threads: integer, png: string, jpeg: string, kissfft: string, sndfile: string, soxr: string, zlib: string }
function inside.info() end

---A mask as attention takes it: everything given hides at once. Steps are in postfix order: {
---"causal" }, { "window", left, right }, { "prefix", n }, { "prefixes", i64 [B] }, { "lengths", i64
---[B] }, { "segments", i64 [L] or [B, L], i64 [S] or [B, S] }, { "dilated", step }, { "dense",
---integers or bool }, { "ends", i64 [B] }, { "and" }, { "or" }, { "not" }.
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

---Which keys the queries see, nil: all; with a dtype, what ALiBi adds to their scores, nil:
---nothing.
---@param mask userdata
---@param B integer
---@param H integer
---@param L integer
---@param S integer
---@param rows? heed.Tensor i64 [n] in 1..L; all when left out
---@param dtype? "f32"|"f64"
---@return heed.Tensor|nil bool [B, H, n, S], or floats [1, H, n, S] or [B, H, n, S]
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

---One layer of a GRU in one direction.
---@param x heed.Tensor [B, L, E]
---@param h? heed.Tensor [B, H] before, default zeros
---@param lengths? heed.Ids [B], default L for all
---@param weight_ih heed.Tensor [3 H, E]: r, z, n
---@param weight_hh heed.Tensor [3 H, H]
---@param bias_ih? heed.Tensor [3 H]
---@param bias_hh? heed.Tensor [3 H]
---@param reverse? boolean each sequence is read from its own end
---@return heed.Tensor y [B, L, H], 0 at padding
---@return heed.Tensor h [B, H] after
function inside.gru(x, h, lengths, weight_ih, weight_hh, bias_ih, bias_hh, reverse) end

---One layer of an LSTM in one direction.
---@param x heed.Tensor [B, L, E]
---@param h? heed.Tensor [B, H] before, default zeros
---@param c? heed.Tensor [B, H] before, default zeros
---@param lengths? heed.Ids [B], default L for all
---@param weight_ih heed.Tensor [4 H, E]: i, f, g, o
---@param weight_hh heed.Tensor [4 H, H]
---@param bias_ih? heed.Tensor [4 H]
---@param bias_hh? heed.Tensor [4 H]
---@param reverse? boolean each sequence is read from its own end
---@return heed.Tensor y [B, L, H], 0 at padding
---@return heed.Tensor h [B, H] after
---@return heed.Tensor c [B, H] after
function inside.lstm(x, h, c, lengths, weight_ih, weight_hh, bias_ih, bias_hh, reverse) end

---A state that is kept in part, and added to, step after step: y[t] = a[t] y[t-1] + b[t], y[0] = h.
---@param a heed.Tensor [B, L, E]
---@param b heed.Tensor [B, L, E]
---@param h? heed.Tensor [B, E] before; default: y[1] = b[1]
---@return heed.Tensor y [B, L, E]
function inside.linear_recurrence(a, b, h) end

---Pairs of features turned by angles: y_a = x_a cos - x_b sin, y_b = x_b cos + x_a sin.
---heed.nn.Rotary gives it its tables.
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

---softmax(Q K^T) V of several heads, and W^O: parameters and options are the module's fields, by
---their names (csrc/lua/nn/fields.h).
---@param module table in_proj_weight or q_proj_weight, k_proj_weight and v_proj_weight; out_proj;
---num_heads, ...
---@param query heed.Tensor [B, L, E] or [L, E]
---@param key? heed.Tensor [B, S, kdim]
---@param value? heed.Tensor [B, S, vdim]
---@param mask? userdata
---@param want_weights? boolean
---@param cos? heed.Tensor of rotary: of the step's tokens, or of positions from 1 on
---@param sin? heed.Tensor
---@param step? heed.CacheStep of a cache; no gradients then
---@return heed.Tensor out
---@return heed.Tensor? weights
function inside.multi_head_attention(module, query, key, value, mask, want_weights, cos, sin, step) end

---Its projections alone. query nil, or key and value: those are not made.
---@param module table
---@param query heed.Tensor|nil [B, L, E] or [L, E], a batch of one
---@param key? heed.Tensor
---@param value? heed.Tensor
---@return heed.Tensor|nil q [B, L, H, D]
---@return heed.Tensor|nil k [B, S, Hk, D]
---@return heed.Tensor|nil v [B, S, Hk, D]
function inside.project_heads(module, query, key, value) end

---Raises what multi_head_attention would say of these.
---@param module table
---@param query heed.Tensor
---@param key? heed.Tensor default query
---@param value? heed.Tensor default key
function inside.check_heads(module, query, key, value) end

---@param module table linear1, linear2, linear3 of a gated activation, activation, dropout,
---training
---@param x heed.Tensor [..., E]
---@return heed.Tensor
function inside.feed_forward(module, x) end

---@param layer table self_attn, norm1, norm2, norm_first, and what feed_forward reads
---@param x heed.Tensor [B, L, E] or [L, E]
---@param mask? userdata
---@param cos? heed.Tensor as multi_head_attention takes them
---@param sin? heed.Tensor
---@param step? heed.CacheStep
---@return heed.Tensor
function inside.encoder_layer(layer, x, mask, cos, sin, step) end

---@param layer table as encoder_layer reads it, and multihead_attn, norm3
---@param x heed.Tensor [B, L, E] or [L, E]
---@param memory heed.Tensor [B, S, kdim] or [S, kdim]
---@param mask? userdata
---@param memory_mask? userdata
---@param cos? heed.Tensor
---@param sin? heed.Tensor
---@param step? heed.CacheStep of self_attn
---@param memory_step? heed.CacheStep of multihead_attn
---@return heed.Tensor
function inside.decoder_layer(layer, x, memory, mask, memory_mask, cos, sin, step, memory_step) end

---One step of all groups, { params, m, v, a, steps, lr, ... }; parameters without a gradient are
---passed over. Never left half done; steps, a list, counts up for those that moved.
---@param kind "sgd"|"adam"|"adamw"|"rmsprop"|"lion"
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

---Calls fn: tensors of floats have shapes and no numbers meanwhile, and nothing is computed from
---them. heed.nn.Module:check. Without fn: is it so now?
---@param fn? fun(...: any): ...
---@param ... any arguments of fn
---@return any ... what fn returns, or a boolean
function inside.shapes_only(fn, ...) end

---Calls fn, whose gradients are wanted: heed.grad. Without fn: does such a function run now?
---@param fn? fun(...: any): ...
---@param ... any arguments of fn
---@return any ... what fn returns, or a boolean
function inside.differentiating(fn, ...) end

---For specs: the n-th allocation from now fails.
---@param n integer 0: none does
function inside.fail_allocation(n) end

---@param path string
---@param map boolean tensors in the file's pages
---@return table<string, heed.Tensor>|nil tensors
---@return table<string, string>|string metadata or message
---@return string[]? # names in the file's order
function inside.safetensors_load(path, map) end

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

---heed.npz.load.
---@param path string
---@return table<string, heed.Tensor>|nil tensors
---@return string? message
function inside.npz_load(path) end

---heed.npz.save.
---@param path string
---@param tensors { [1]: string, [2]: heed.Tensor }[] in this order
---@return true|nil
---@return string? message
function inside.npz_save(path, tensors) end

---Pixels as a PNG file's bytes.
---@param pixels string red, green and blue of each, row by row
---@param width integer
---@param height integer
---@return string|nil bytes nil when heed was built without libpng
---@return string? message
function inside.png_encode(pixels, width, height) end

---heed.image.load.
---@param path string
---@param channels integer 0: as the file has them
---@param max_pixels integer
---@return heed.Tensor|nil pixels u8 [H, W, C], as it is stored
---@return integer|string # the EXIF orientation, 1 to 8; or message
function inside.image_load(path, channels, max_pixels) end

---heed.image.save.
---@param path string
---@param pixels heed.Tensor u8 [H, W, C]
---@param format "png"|"jpeg"
---@param quality integer 1 to 100, of JPEG
---@return true|nil
---@return string? message
function inside.image_save(path, pixels, format, quality) end

---heed.audio.wav.
---@param path string
---@param mono boolean the mean of all channels
---@param max_samples integer
---@return heed.Tensor|nil samples f32 [T, channels]
---@return integer|string rate or message
function inside.audio_load(path, mono, max_samples) end

---heed.audio.save.
---@param path string
---@param samples heed.Tensor [T, channels] of i16, of i32 (its upper 24 bits), or of WAV f32
---@param rate integer
---@param format "wav"|"flac"
---@return true|nil
---@return string? message
function inside.audio_save(path, samples, rate, format) end

---heed.audio.resample.
---@param samples heed.Tensor f32 [.., T]
---@param from number
---@param to number
---@return heed.Tensor|nil # f32 [.., T to / from]
---@return string? message
function inside.resample(samples, from, to) end

---A tensor that lies in a file as plain numbers, little-endian.
---@param path string
---@param dtype heed.DType
---@param offset integer bytes before it
---@param shape integer[]
---@return heed.Tensor|nil
---@return string? message
function inside.raw_load(path, dtype, offset, shape) end

---heed.json.decode.
---@param text string
---@param null any what null becomes
---@param list_type table the metatable of lists
---@return any value nil when it is not JSON
---@return string? message
function inside.json_decode(text, null, list_type) end

---heed.json.encode.
---@param value any
---@param null any what is written as null
---@param list_type table the metatable of lists
---@param indent? integer
---@return string|nil text
---@return string? problem a word
---@return any what cannot be written
---@return table? keys that lead there, the last first
---@return integer? count of values in a list with holes
function inside.json_encode(value, null, list_type, indent) end

---A reader of records as lists of texts: csrc/lua/io/csv.c says how it is called.
---@param delimiter string
---@param max_line integer
---@param trim boolean
---@return function
function inside.csv_texts(delimiter, max_line, trim) end

---A reader of records as rows.
---@param delimiter string
---@param max_line integer
---@param trim boolean
---@param names string[]|false
---@param kinds string[]
---@param missing string[]
---@return function
function inside.csv_rows(delimiter, max_line, trim, names, kinds, missing) end

---A reader of blocks of records into columns, and a function that takes one of these.
---@param delimiter string
---@param max_line integer
---@param trim boolean
---@param kinds table false leaves a column out
---@param missing string[]
---@return function read_block
---@return function take_column
function inside.csv_columns(delimiter, max_line, trim, kinds, missing) end

---The narrowest kind that reads a text.
---@param text string
---@return "integer"|"number"|"string"
function inside.csv_kind(text) end

---heed.json.null.
---@type userdata
inside.json_null = nil
---A tokenizer's core: its vocabulary and its steps (lua/heed/text/tokenizer).
---@param description table
---@return userdata tokenizer
function inside.tokenizer_new(description) end

---@param tokenizer userdata
---@param text string
---@param specials? boolean special tokens that are written out in the text count
---@param offsets? boolean
---@return integer[] ids
---@return integer[]|nil ends first and last byte of each id
function inside.tokenizer_encode(tokenizer, text, specials, offsets) end

---@param tokenizer userdata
---@param id integer
---@return string|nil token
function inside.tokenizer_token(tokenizer, id) end

---@param tokenizer userdata
---@param token string
---@return integer|nil id
function inside.tokenizer_id(tokenizer, token) end

---@param tokenizer userdata
---@return integer count the greatest id
function inside.tokenizer_count(tokenizer) end

---The bytes that a token of a byte-level vocabulary stands for.
---@param token string
---@return string bytes
function inside.tokenizer_bytes(token) end

---Every character of a text in another case. Bytes that are no UTF-8 stay as they are.
---@param text string
---@param case "lower"|"upper"|"title"
---@return string
function inside.text_case(text, case) end

---Unicode's general category of the first character of a text: "Lu".
---@param text string
---@return string
function inside.text_category(text) end

---What a GGUF file says before its data.
---@param path string
---@return table<string, any>|nil metadata
---@return table[]|string tensors name, shape, type, offset, bytes of each, in order; or the message
---@return table<string, string>? kinds of the metadata
---@return integer? version
---@return userdata? file
function inside.gguf_open(path) end

---@param file userdata
---@param i integer
---@param map? boolean from the file's pages, plain numbers in them
---@return heed.Tensor|nil tensor the i-th of the file
---@return string? message
function inside.gguf_tensor(file, i, map) end

---The same into a contiguous tensor of its dtype and as many elements.
---@param file userdata
---@param i integer
---@param map boolean
---@param t heed.Tensor
---@return true|nil
---@return string? message
function inside.gguf_tensor_into(file, i, map, t) end

---heed.gguf.save.
---@param path string
---@param tensors table[] name, tensor, type of each
---@param count integer of the metadata
---@param metadata string as they stand in a file
---@param alignment integer
---@return true|nil
---@return string? message
function inside.gguf_save(path, tensors, count, metadata, alignment) end

---The binary file of a model of marian-nmt: its tensors, int8 dequantised, and texts by name.
---@param path string
---@return table<string, heed.Tensor|string>|nil
---@return string? message
function inside.marian_load(path) end

---The names of what a directory holds, in no order, without hidden ones.
---@param path string
---@return string[]|nil
---@return string? message
function inside.directory_names(path) end
---A directory, which may be there already.
---@param path string
---@return true|nil
---@return string? message
function inside.make_directory(path) end

---The i-th tensor of a file as a quantised weight; false where it cannot be one.
---@param file userdata
---@param i integer
---@return heed.Tensor|false|nil
---@return string? message
function inside.gguf_quantized(file, i) end

---The rows of quantised weights, one behind the other.
---@param weights heed.Tensor[]
---@return heed.Tensor
function inside.quantized_cat(weights) end

---Rows of a quantised weight.
---@param w heed.Tensor
---@param first integer
---@param count integer
---@return heed.Tensor
function inside.quantized_rows(w, first, count) end

---Replaces a file whole or not at all.
---@param path string
---@param bytes string
---@return true|nil
---@return string? message
function inside.replace_file(path, bytes) end

---@param descriptor integer 0 standard input, 1 output, 2 errors
---@return boolean
function inside.isatty(descriptor) end

---What makes the message of every error of this module, with its position; and what is said of a
---name that there is not.
---@param locate fun(name: string, message: string): string
---@param suggest? fun(kind: string, name: string, candidates: string[]): string
function inside.locate_errors(locate, suggest) end

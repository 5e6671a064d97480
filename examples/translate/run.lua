--- A training run that can be interrupted and gone on with: everything that it is stands in one
--- table of parts.

local fail = require "translate.fail"
local heed = require "heed"

local run = {}

local CLIP = 1.0
local MEASURED_STEPS = 60 -- after so many the length of a run of --minutes is planned

--- @return integer parameters of a model
function run.count(model)
    local total = 0
    for _, p in ipairs(model:parameters()) do total = total + p:numel() end
    return total
end

local function loss_of(model, batch, smoothing)
    local input, lengths = batch.tgt[{ {}, { 1, -2 } }], batch.tgt_lengths - 1
    local labels = heed.pack_sequences(batch.tgt[{ {}, { 2, -1 } }], lengths)
    local logits = model(batch.src, batch.src_lengths, input, lengths)
    return heed.loss.cross_entropy(logits, labels, { label_smoothing = smoothing })
end

-- Targets without their bos are what is predicted.
local function predicted(batch) return batch.tgt_lengths:sum():item() - batch.size end

local function validate(model, batches)
    local _ <close> = heed.no_grad()
    model:eval()
    local total, count = 0, 0
    for batch in batches do
        local _ <close> = heed.scope()
        local tokens = predicted(batch)
        total, count = total + loss_of(model, batch, 0):item() * tokens, count + tokens
    end
    model:train()
    return total / count
end

-- How many steps a run of --minutes will have, from its speed so far: the learning rate falls
-- towards that step.
local function plan(progress, minutes)
    local per_step = progress.seconds / progress.step
    progress.steps = progress.step + math.max(0,
        math.floor((minutes * 60 - progress.seconds) / per_step))
end

local function save(path, parts)
    local ok, message = heed.checkpoint.save(path, parts)
    if not ok then fail("%s", message) end
end

-- What a checkpoint of the run holds.
local SAVED = { "config", "vocabulary", "model", "optimizer", "batches", "random", "progress" }

local function saved_parts(parts)
    local list = {}
    for _, name in ipairs(SAVED) do list[name] = parts[name] end
    return list
end

local function parts_of(model, bpe, config, o, batches)
    local weights = model:parameters()
    local optimizer = heed.optim.AdamW(weights,
        { lr = 0, betas = { 0.9, 0.98 }, weight_decay = 0.01 })
    return { config = config, vocabulary = bpe, model = model, weights = weights,
        optimizer = optimizer, batches = batches,
        random = heed.rng_state, progress = { step = 0, steps = o.steps or 0, seconds = 0,
            best = 1e9, best_step = 0, validated = 0 } }
end

local function resume(parts, o)
    local found = {}
    local ok, message = heed.checkpoint.load(o.save .. ".resume", { config = found })
    if not ok then fail("%s", message) end
    for name, value in pairs(parts.config) do
        if found[name] ~= value then
            fail("%s.resume: its %s is %s, the options say %s", o.save, name, tostring(found[name]),
                tostring(value))
        end
    end
    local learned = parts.vocabulary:state_dict().text
    ok, message = heed.checkpoint.load(o.save .. ".resume", saved_parts(parts))
    if not ok then fail("%s", message) end
    if parts.vocabulary:state_dict().text ~= learned then
        fail("%s.resume: its vocabulary is not the one that --train gives: it was learned from "
            .. "other pairs", o.save)
    end
end

local function rate(progress, step, o)
    local peak, warmup = o.lr or 1.5e-3, o.warmup or 400
    if progress.steps == 0 then return peak * math.min(1, step / warmup) end
    warmup = math.min(warmup, progress.steps // 2)
    return heed.optim.schedule.cosine { lr = peak, warmup = warmup, steps = progress.steps }(step)
end

-- Where the streams of batches and random numbers stood after the last whole step.
local function mark(parts)
    parts.mark = { batches = parts.batches:state_dict(), random = heed.rng_state() }
end

local function go_back_to_mark(parts)
    parts.batches:load_state_dict(parts.mark.batches)
    heed.rng_state(parts.mark.random)
    parts.mark = nil
end

-- Weights, counters and mark move together: an interrupt finds a run at the end of a step.
local function train_step(parts, batch, o)
    local progress, optimizer = parts.progress, parts.optimizer
    local loss = loss_of(parts.model, batch, o.smoothing)
    optimizer:zero_grad()
    loss:backward()
    heed.optim.clip_grad_norm(parts.weights, CLIP)
    optimizer.lr = rate(progress, progress.step + 1, o)
    heed.uninterrupted(function()
        optimizer:step()
        progress.step = progress.step + 1
        mark(parts)
    end)
    return loss:item()
end

local function keep_the_best(parts, valid, o, bar)
    local progress = parts.progress
    local loss = validate(parts.model, valid)
    progress.validated = progress.step
    if loss < progress.best then
        progress.best, progress.best_step = loss, progress.step
        if o.save then
            save(o.save, { config = parts.config, vocabulary = parts.vocabulary,
                model = parts.model })
        end
    end
    if o.save then save(o.save .. ".resume", saved_parts(parts)) end
    bar:print("step %6d  %7.1f s  validation loss %.4f  perplexity %.2f%s", progress.step,
        progress.seconds, loss,
        math.exp(loss), progress.best_step == progress.step and "  (best)" or "")
end

-- After a step, or before the first one of a run gone on with: validation when it is time. True
-- when the run is over.
local function settle(parts, valid, o, bar)
    local progress = parts.progress
    local time_is_up = o.minutes and progress.seconds > o.minutes * 60
    local over = time_is_up or progress.steps > 0 and progress.step >= progress.steps
    local due = over or progress.step % o.validate == 0
    if due and progress.validated ~= progress.step then keep_the_best(parts, valid, o, bar) end
    return over
end

local function loop(parts, valid, o)
    local progress = parts.progress
    local started = heed.clock() - progress.seconds
    mark(parts)
    local total = progress.steps > 0 and progress.steps or nil
    local bar <close> = heed.progress(parts.batches:forever(), { label = "training", total = total,
        done = progress.step })
    if progress.step > 0 and settle(parts, valid, o, bar) then return end
    for batch in bar do
        local loss = train_step(parts, batch, o)
        progress.seconds = heed.clock() - started
        if o.minutes and (progress.step == MEASURED_STEPS or progress.step % o.validate == 0) then
            plan(progress, o.minutes)
            bar.total = progress.steps
        end
        bar:update { loss = loss, tokens = predicted(batch), lr = parts.optimizer.lr }
        if settle(parts, valid, o, bar) then return end
    end
end

--- Trains until --steps or --minutes are over. Ctrl-C saves the run and says how to go on with it.
--- @return boolean finished false after Ctrl-C
function run.train(model, bpe, config, train, valid, o)
    local pad = bpe.pad
    local batches = heed.data.batches(train, { tokens = o.tokens, shuffle = true, seed = o.seed,
        value = pad })
    local valid_batches = heed.data.batches(valid, { tokens = 2 * o.tokens, value = pad })
    if not (o.steps or o.minutes) then o.minutes = 30 end
    local parts = parts_of(model, bpe, config, o, batches)
    if o.resume then resume(parts, o) end
    local ok, message = xpcall(loop, function(e)
        return tostring(e):find "interrupted" and "interrupted" or debug.traceback(e, 2)
    end, parts, valid_batches, o)
    if ok then return true end
    if message ~= "interrupted" then error(message, 0) end
    if not o.save then
        io.stderr:write "\ninterrupted; without --save nothing is kept\n"
        return false
    end
    go_back_to_mark(parts)
    save(o.save .. ".resume", saved_parts(parts))
    io.stderr:write("\ninterrupted at step ", parts.progress.step,
        " and saved; the same command with --resume goes on\n")
    return false
end

return run

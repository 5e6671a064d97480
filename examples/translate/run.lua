--- A training run that can be interrupted and gone on with: everything that it is stands in one table of parts.

local heed = require "heed"

local run = {}

local CLIP = 1.0
local MEASURED_STEPS = 60 -- after so many the length of a run of --minutes is planned

local function fail(message)
    io.stderr:write("translate.lua: ", message, "\n")
    os.exit(1, true)
end

--- @return integer parameters of a model
function run.count(model)
    local total = 0
    for _, p in ipairs(model:parameters()) do total = total + p:numel() end
    return total
end

local function loss_of(model, batch, pad, smoothing)
    local input, labels = batch.tgt[{ {}, { 1, -2 } }], batch.tgt[{ {}, { 2, -1 } }]
    local logits = model(batch.src, batch.src_lengths, input)
    return heed.loss.cross_entropy(logits, labels, { ignore_index = pad, label_smoothing = smoothing })
end

-- Targets without their bos are what is predicted.
local function predicted(batch) return batch.tgt_lengths:sum():item() - batch.size end

local function validate(model, batches, pad)
    local _ <close> = heed.no_grad()
    model:eval()
    local total, count = 0, 0
    for batch in batches do
        local _ <close> = heed.scope()
        local tokens = predicted(batch)
        total, count = total + loss_of(model, batch, pad, 0):item() * tokens, count + tokens
    end
    model:train()
    return total / count
end

-- How many steps a run of --minutes will have, from the speed so far.
local function plan_steps(progress, started, minutes)
    local spent = heed.clock() - started
    local per_step = spent / progress.step
    return progress.step + math.max(0, math.floor((minutes * 60 - spent) / per_step))
end

local function save(path, parts)
    local ok, message = heed.checkpoint.save(path, parts)
    if not ok then fail(message) end
end

local function parts_of(model, bpe, config, o, batches)
    local optimizer = heed.optim.AdamW(model:parameters(), { lr = 0, betas = { 0.9, 0.98 }, weight_decay = 0.01 })
    return { config = config, vocabulary = bpe, model = model, optimizer = optimizer, batches = batches, random = heed.rng_state,
        progress = { step = 0, steps = o.steps or 0, seconds = 0, best = math.huge, best_step = 0 } }
end

local function resume(parts, o)
    local found = {}
    local ok, message = heed.checkpoint.load(o.save .. ".resume", { config = found })
    if not ok then fail(message) end
    for name, value in pairs(parts.config) do
        if found[name] ~= value then
            fail(("%s.resume: its %s is %s, the options say %s"):format(o.save, name, tostring(found[name]), tostring(value)))
        end
    end
    ok, message = heed.checkpoint.load(o.save .. ".resume", parts)
    if not ok then fail(message) end
end

local function rate(progress, o)
    local peak, warmup = o.lr or 1.5e-3, o.warmup or 400
    if progress.steps == 0 then return peak * math.min(1, progress.step / warmup) end
    return heed.optim.schedule.cosine { lr = peak, warmup = math.min(warmup, progress.steps // 2), steps = progress.steps }(
        progress.step)
end

local function train_step(parts, batch, pad, o)
    local loss = loss_of(parts.model, batch, pad, o.smoothing)
    parts.optimizer:zero_grad()
    loss:backward()
    heed.optim.clip_grad_norm(parts.model:parameters(), CLIP)
    parts.progress.step = parts.progress.step + 1
    parts.optimizer.lr = rate(parts.progress, o)
    parts.optimizer:step()
    return loss:item()
end

local function keep_the_best(parts, valid, pad, o, bar)
    local progress = parts.progress
    local loss = validate(parts.model, valid, pad)
    if loss < progress.best then
        progress.best, progress.best_step = loss, progress.step
        if o.save then
            save(o.save, { config = parts.config, vocabulary = parts.vocabulary, model = parts.model })
        end
    end
    bar:print("step %6d  %7.1f s  validation loss %.4f  perplexity %.2f%s", progress.step, progress.seconds, loss,
        math.exp(loss), progress.best_step == progress.step and "  (best)" or "")
end

local function loop(parts, valid, pad, o)
    local progress = parts.progress
    local started = heed.clock() - progress.seconds
    local total = progress.steps > 0 and progress.steps or nil
    local bar <close> = heed.progress(parts.batches:forever(), { label = "training", total = total, done = progress.step })
    for batch in bar do
        local loss = train_step(parts, batch, pad, o)
        progress.seconds = heed.clock() - started
        if o.minutes and progress.steps == 0 and progress.step == MEASURED_STEPS then
            progress.steps = plan_steps(progress, started, o.minutes)
            bar.total = progress.steps
        end
        bar:update { loss = loss, tokens = predicted(batch), lr = parts.optimizer.lr }
        local over = progress.steps > 0 and progress.step >= progress.steps or o.minutes and progress.seconds > o.minutes * 60
        if over or progress.step % o.validate == 0 then keep_the_best(parts, valid, pad, o, bar) end
        if over then return end
    end
end

--- Trains until --steps or --minutes are over. Ctrl-C saves the run and says how to go on with it.
--- @return boolean finished false after Ctrl-C
function run.train(model, bpe, config, train, valid, o)
    local pad = bpe.pad
    local batches = heed.data.batches(train, { tokens = o.tokens, shuffle = true, seed = o.seed, value = pad })
    local valid_batches = heed.data.batches(valid, { tokens = 2 * o.tokens, value = pad })
    if not (o.steps or o.minutes) then o.minutes = 30 end
    local parts = parts_of(model, bpe, config, o, batches)
    if o.resume then resume(parts, o) end
    local ok, message = xpcall(loop, function(e)
        return tostring(e):find "interrupted" and "interrupted" or debug.traceback(e, 2)
    end, parts, valid_batches, pad, o)
    if ok then return true end
    if message ~= "interrupted" then error(message, 0) end
    if not o.save then
        io.stderr:write "\ninterrupted; without --save nothing is kept\n"
        return false
    end
    save(o.save .. ".resume", parts)
    io.stderr:write(("\ninterrupted at step %d and saved; the same command with --resume goes on\n"):format(parts.progress.step))
    return false
end

return run

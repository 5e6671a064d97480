--- The command line of translate.lua.

local argparse = require "argparse"

local function positive(text)
    local n = math.tointeger(tonumber(text))
    if not n or n < 1 then
        return nil, ("expected a whole number of at least 1, got '%s'"):format(text)
    end
    return n
end

local function number(text)
    local n = tonumber(text)
    if not n or n ~= n or n < 0 then
        return nil, ("expected a number of at least 0, got '%s'"):format(text)
    end
    return n
end

local function share(text)
    local n = number(text)
    if not n or n > 1 then return nil, ("expected a number from 0 to 1, got '%s'"):format(text) end
    return n
end

local function whole(text)
    local n = math.tointeger(tonumber(text))
    if not n then return nil, ("expected a whole number, got '%s'"):format(text) end
    return n
end

local function layer_and_head(text)
    local layer, head = text:match "^(%d+)%.(%d+)$"
    layer, head = math.tointeger(tonumber(layer or text:match "^%d+$")),
        math.tointeger(tonumber(head))
    if not layer or layer < 1 or head == 0 then
        return nil, ("expected a layer, or its head such as 2.8, got '%s'"):format(text)
    end
    return { layer = layer, head = head }
end

-- Options that do not go together.
local function refuse(parser, options)
    if options.train and not options.valid then parser:error "--train needs --valid" end
    if options.test and not options.train then parser:error "--test needs --train" end
    if options.attention and not options.load then parser:error "--attention needs --load" end
    if options.head and not options.attention then parser:error "--head needs --attention" end
    if options.output and not options.test then parser:error "--output needs --test" end
    if options.vocab < 260 then
        parser:error "--vocab: expected at least 260: 256 bytes and 4 special tokens"
    end
    local d_model, heads = options.d_model or options.train and 256 or 64,
        options.heads or options.train and 8 or 4
    if d_model % heads ~= 0 then
        parser:error(("--heads: expected a divisor of the %d features of --d-model, got %d"):format(
            d_model, heads))
    end
    if options.resume and not options.save then
        parser:error "--resume needs the --save FILE of the run"
    end
end

--- @param arguments string[]
--- @return table options
return function(arguments)
    local parser = argparse("translate.lua",
        "Trains an encoder-decoder: on dates, or with --train on lines of source<TAB>target. "
        .. "In brackets is what an option is when it is not given: with --train; on dates.")
    parser:option("--train", "training pairs, source<TAB>target a line")
    parser:option("--valid", "pairs that choose the best checkpoint")
    parser:option("--test", "pairs that are translated and scored at the end")
    parser:option("--save", "the best model goes here, what --resume needs to FILE.resume")
        :argname "FILE"
    parser:option("--load", "translate the lines of standard input with this model"):argname "FILE"
    parser:option("--attention", "with --load: translate one line and draw what is looked at, as "
        .. "an .svg or an .html page"):argname "FILE"
    parser:option("--head", "of --attention: only cross-attention in this layer, 2.8 is its "
        .. "eighth head (everything)")
        :argname "LAYER":convert(layer_and_head)
    parser:option("--output", "the translations of the test pairs, a line each"):argname "FILE"
    parser:option("--beams", "beginnings of a translation that are gone on with (1: the "
        .. "likeliest token each time)"):convert(positive)
    parser:flag("--resume", "go on with the run that --save FILE was of")
    parser:option("--minutes", "train for so long (30, without --steps; all steps)"):convert(number)
    parser:option("--steps", "train for so many steps (as --minutes allow; 1000)"):convert(positive)
    parser:option("--tokens", "a batch has at most so many tokens on its longer side, padding "
        .. "counted (2048)", 2048):convert(positive)
    parser:option("--d-model", "features of a token (256; 64)"):convert(positive)
    parser:option("--layers", "of the encoder, and of the decoder (3; 2)"):convert(positive)
    parser:option("--heads", "of every attention (8; 4)"):convert(positive)
    parser:option("--d-ff", "features inside the feed-forward network (4 times --d-model; 256)")
        :convert(positive)
    parser:option("--vocab", "tokens of the BPE vocabulary (8000)", 8000):convert(positive)
    parser:option("--dropout", "of what each part adds (0.1; 0)"):convert(share)
    parser:option("--smoothing", "of the labels (0.1)", 0.1):convert(share)
    parser:option("--lr", "the highest learning rate (0.0015; 0.003)"):convert(number)
    parser:option("--warmup", "steps to the highest learning rate (400; 100)"):convert(positive)
    parser:option("--validate", "validate every so many steps (250)", 250):convert(positive)
    parser:option("--seed", "of everything random (1)", 1):convert(whole)
    parser:option("--threads", "(every core)"):convert(positive)
    local options = parser:parse(arguments)
    refuse(parser, options)
    return options
end

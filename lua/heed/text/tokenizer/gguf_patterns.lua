--- What GGUF files only name (`tokenizer.ggml.pre`): the regular expressions by which text is cut,
--- one after the other, before byte pairs are joined.

local ANY_CASE = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
local WORD = [=[[^\r\n\p{L}\p{N}]?\p{L}+]=]
local OTHER = [=[ ?[^\s\p{L}\p{N}]+[\r\n]*]=]
local SPACES = [[\s*[\r\n]+|\s+(?!\S)|\s+]]

local GPT2 = [=['s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)]=]
local LLAMA3 = ANY_CASE .. "|" .. WORD .. [[|\p{N}{1,3}|]] .. OTHER .. "|" .. SPACES
local QWEN2 = ANY_CASE .. "|" .. WORD .. [[|\p{N}|]] .. OTHER .. "|" .. SPACES
local QWEN35 = ANY_CASE .. [=[|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|]=]
    .. [=[ ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|]=] .. SPACES
local DEEPSEEK3 = [=[[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+]=]
    .. [=[|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|]=] .. SPACES
-- Words that begin with capitals, and words that end with them.
local UPPER, LOWER = [=[[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]]=], [=[[\p{Ll}\p{Lm}\p{Lo}\p{M}]]=]
local FIRST = [=[[^\r\n\p{L}\p{N}]?]=]
local SLASHED = [=[ ?[^\s\p{L}\p{N}]+[\r\n/]*|]=] .. SPACES
local function by_case(ending, digits)
    return FIRST .. UPPER .. "*" .. LOWER .. "+" .. ending .. "|" .. FIRST .. UPPER .. "+" .. LOWER
        .. "*" .. ending .. "|" .. digits .. "|" .. SLASHED
end

local HAN_KANA = "[一-龥\u{3040}-\u{309F}\u{30A0}-\u{30FF}]+"
local HAN_HANGUL = "[一-龥\u{800}-一가-\u{D7FF}]+"
local POUNDS = " ?[^(\\s|.,!?…。，、।۔،)]+"

local NAMED = {
    gpt2 = { GPT2 },
    digits_gpt2 = { [[\p{N}]], GPT2 },
    llama3 = { LLAMA3 },
    qwen2 = { QWEN2 },
    qwen35 = { QWEN35 },
    deepseek_llm = { "[\r\n]", [=[\s?[\p{Lu}\p{Ll}\p{Lt}]+]=],
        "\\s?[!-/:-~！-／：-～‘-‟\u{3000}-。]+", [[\s+$]], HAN_HANGUL, [[\p{N}+]] },
    deepseek_coder = { "[\r\n]", [[\s?\p{L}+]], [[\s?\p{P}+]], HAN_HANGUL, [[\p{N}]] },
    deepseek_v3 = { [[\p{N}{1,3}]], HAN_KANA, DEEPSEEK3 },
    falcon = { [=[[\p{P}\$\+<=>\^~\|`]+]=], GPT2, "[0-9][0-9][0-9]" },
    default = { [=[[\p{P}\$\+<=>\^~\|]+]=], GPT2, [[\p{N}+]], "[0-9][0-9][0-9]" },
    gpt4o = { by_case(ANY_CASE .. "?", [[\p{N}{1,3}]]) },
    tekken = { by_case("", [[\p{N}]]) },
    bloom = { POUNDS },
    viking = { POUNDS, [[\p{N}]] },
    lines = { [=[[^\n]+|[\n]+]=] },
}

-- { patterns, whole tokens first, no byte-level alphabet }
local PRE = {}
local function of(patterns, names, settings)
    for name in names:gmatch "%S+" do
        PRE[name] = { patterns = NAMED[patterns], whole_first = settings == "whole_first",
            plain = settings == "plain" }
    end
end

of("default", "default")
of("llama3", "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano "
    .. "glm4 glm5",
    "whole_first")
of("llama3", "dbrx smaug-bpe chatglm-bpe")
of("gpt2", "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum "
    .. "modern-bert mpt olmo "
    .. "jais trillion granite-docling jina-v1-en jina-v2-code roberta-bpe exaone4")
of("digits_gpt2", "starcoder refact command-r smollm codeshell exaone minerva-7b")
of("qwen2", "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan megrez grok-2 solar-open")
of("qwen35", "qwen35")
of("deepseek_llm", "deepseek-llm")
of("deepseek_coder", "deepseek-coder")
of("deepseek_v3", "deepseek-v3 hunyuan-dense joyai-llm hy_v4")
of("falcon", "falcon")
of("gpt4o", "gpt-4o llama4 kanana2 talkie minimax-m2")
of("tekken", "tekken", "whole_first")
of("bloom", "poro-chat bloom gpt3-finnish")
of("viking", "viking")
of("lines", "gemma4 sarvam-moe", "plain")

return PRE

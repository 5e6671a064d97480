--- Cutting text into the chunks that a byte-pair vocabulary never merges across.

local chunks = {}

local find, sub = string.find, string.sub

-- Bytes of 128 and more belong to letters, except in the two Unicode blocks of common punctuation
-- and signs (U+0080-U+00BF and U+2000-U+206F), which are cut out of a run of letters here.
local function cut_letters(run, emit)
    local from = 1
    while true do
        local at = find(run, "[\xC2\xE2]", from)
        while at do
            if find(run, "^\xC2[\x80-\xBF]", at) or find(run, "^\xE2[\x80\x81][\x80-\xBF]", at) then
                break
            end
            at = find(run, "[\xC2\xE2]", at + 1)
        end
        if not at then break end
        -- The space that leads a chunk stays with what follows it.
        if at > from and not (at == 2 and sub(run, 1, 1) == " ") then
            emit(sub(run, from, at - 1))
            from = at
        end
        local last = at + (run:byte(at) == 0xC2 and 1 or 2)
        emit(sub(run, from, last))
        from = last + 1
    end
    if from <= #run then emit(sub(run, from)) end
end

---Calls emit(chunk) for every chunk of the text, in order; the chunks concatenated are the text. A
---chunk is a run of letters, of digits, or of other visible characters, with the one space before
---it; or a run of white space.
---@param text string any bytes
---@param emit fun(chunk: string)
function chunks.each(text, emit)
    local at, length = 1, #text
    while at <= length do
        local _, last = find(text, "^ ?[A-Za-z\x80-\xFF]+", at)
        if last then
            local run = sub(text, at, last)
            if find(run, "[\xC2\xE2]") then cut_letters(run, emit) else emit(run) end
        else
            _, last = find(text, "^ ?[0-9]+", at)
            if not last then _, last = find(text, "^ ?[^%s0-9A-Za-z\x80-\xFF]+", at) end
            if not last then
                _, last = find(text, "^%s+", at)
                if last > at and last < length and sub(text, last, last) == " " then
                    last = last - 1
                end
            end
            emit(sub(text, at, last))
        end
        at = last + 1
    end
end

return chunks

--- The wire format of protocol buffers, as far as SentencePiece's models need it.

local unknown = require "heed.unknown"

local protobuf = {}

local function varint(bytes, at)
    local value, shift = 0, 0
    repeat
        local byte = bytes:byte(at)
        if not byte or shift > 63 then unknown.refuse "the file ended early" end
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
    until byte < 0x80
    return value, at
end

---The fields of a message, in order: their numbers and values. Texts and messages are strings; of a
---fixed number its bytes (string.unpack).
---@param bytes string
---@return fun(): integer?, any
function protobuf.fields(bytes)
    local at = 1
    return function()
        if at > #bytes then return nil end
        local key, value
        key, at = varint(bytes, at)
        local kind = key & 7
        if kind == 0 then
            value, at = varint(bytes, at)
            return key >> 3, value
        end
        local size = kind == 1 and 8 or kind == 5 and 4
        if kind == 2 then size, at = varint(bytes, at) end
        if not size then unknown.refuse("a field of wire type %d", kind) end
        if size < 0 or size > #bytes - at + 1 then unknown.refuse "the file ended early" end
        at = at + size
        return key >> 3, bytes:sub(at - size, at - 1)
    end
end

return protobuf

--- Files for the specs of heed.data: written, and removed at the end.

local files = { made = {} }

---@return string path of a new file of that text
function files.write(text)
    local path = os.tmpname()
    files.made[#files.made + 1] = path
    local file <close> = assert(io.open(path, "wb"))
    file:write(text)
    return path
end

function files.remove()
    for _, path in ipairs(files.made) do os.remove(path) end
    files.made = {}
end

---So many lines of text of different lengths, each unlike the others.
function files.lines(count)
    local list = {}
    for i = 1, count do list[i] = ("%d%s"):format(i, (" word"):rep(i * 7 % 13)) end
    return list
end

function files.text(list) return #list > 0 and table.concat(list, "\n") .. "\n" or "" end

---Everything that an iterator gives in one pass.
function files.pass(iterator)
    local list = {}
    for item in iterator do list[#list + 1] = item end
    return list
end

---So many of what it gives, the ends of passes as "end".
function files.take(iterator, count)
    local list = {}
    for i = 1, count do
        local item = iterator()
        list[i] = item == nil and "end" or item
    end
    return list
end

---Bytes of Lua's memory that stay when garbage is gone.
function files.held()
    collectgarbage()
    collectgarbage()
    return math.floor(collectgarbage "count" * 1024)
end

return files

--- Lines and pairs that stay in their files: lists that hold where each begins, six bytes a line.

local check = require "heed.check"
local pair_format = require "heed.data.pair_format"
local errors = require "heed.errors"
local line_offsets = require "heed.data.line_offsets"
local epochs = require "heed.data.epochs"
local reader = require "heed.data.reader"

local KNOWN = check.set("max_line")

---Lines or pairs in a file: `#index`, `index[i]` and ipairs work as with a list; the text is read
---when it is asked for.
---@class heed.data.Index
---@operator len: integer
---@field private count integer
---@field private files table[]
---@field private get function
---@field private what string
local Index = {}

function Index.__index(self, key)
    if math.type(key) ~= "integer" then return Index[key] end
    if key < 1 or key > self.count then return nil end
    return self.get(key)
end

function Index:__len() return self.count end

function Index:__tostring()
    local paths = {}
    for i, file in ipairs(self.files) do paths[i] = file.path end
    return ("heed.data.index(%d %s of %s)"):format(self.count, self.what, table.concat(paths, ", "))
end

---Closes the files; `local index <close> = ...` does it too, and so does the collector.
function Index:close()
    for _, file in ipairs(self.files) do file:close() end
end

Index.__close = Index.close

---An iterator over the examples, one pass after another, all of them shuffled or in the file's
---order, that has state_dict and load_state_dict. Of the shuffled order it holds eight bytes an
---example.
---@param options? { shuffle?: boolean, seed?: integer } shuffle: default false; seed: default 1
---@return heed.data.Passes
function Index:passes(options) return epochs(self, options) end

---Bytes of the files: with the count of examples what a saved state must agree with.
---@return integer
function Index:bytes()
    local total = 0
    for _, file in ipairs(self.files) do total = total + file.size end
    return total
end

local function new(what, files, get)
    return setmetatable({ what = what, files = files, count = files[1].count, get = get }, Index)
end

local function every_line() return true end

local index = {}

---The lines of a text file as a list that stays in the file.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "w"))
---file:write "one\ntwo\nthree\n"
---file:flush()
---local lines <close> = assert(heed.data.line_index(path))
---print(#lines, lines[3], lines[4]) --> 3 three nil
---for line in lines:passes { shuffle = true, seed = 7 } do print(line) end
---os.remove(path)
---```
---@param path string
---@param options? { max_line?: integer } bytes of the longest line there may be, default 2^20
---@return heed.data.Index|nil
---@return string? message
function index.lines(path, options)
    check.type("heed.data.line_index", "path", path, "string")
    options = check.options("heed.data.line_index", options, KNOWN)
    local file, message = line_offsets(path, reader.max_line("heed.data.line_index",
        options.max_line), every_line)
    if not file then return nil, message end
    return new("lines", { file }, function(i) return file:line(i) end)
end

local function of_one_file(path, max_line)
    local file, message = line_offsets(path, max_line, function(line, number)
        if line == "" then return false end
        if pair_format.split(line) then return true end
        return nil, pair_format.misfit(path, number, line)
    end)
    if not file then return nil, message end
    return new("pairs", { file }, function(i)
        return pair_format.split(file:line(i))
            or errors.raise("%s: it is no longer the file that was indexed", path)
    end)
end

---The pairs of a file of two columns, `source<TAB>target` a line, or of two files, line by line, as
---a list that stays in them.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "w"))
---file:write "eins\tone\nzwei\ttwo\n"
---file:flush()
---local pairs_of_file <close> = assert(heed.data.pair_index(path))
---print(#pairs_of_file, pairs_of_file[2][1], pairs_of_file[2][2]) --> 2 zwei two
---os.remove(path)
---```
---@param path string
---@param target? string the file of the targets
---@param options? { max_line?: integer } bytes of the longest line there may be, default 2^20
---@return heed.data.Index|nil
---@return string? message names the first line that is not two columns, or how many lines each file
---has
function index.pairs(path, target, options)
    target, options = pair_format.arguments("heed.data.pair_index", path, target, options, KNOWN)
    local max_line = reader.max_line("heed.data.pair_index", options.max_line)
    if not target then return of_one_file(path, max_line) end
    local sources, message = line_offsets(path, max_line, every_line)
    if not sources then return nil, message end
    local targets
    targets, message = line_offsets(target, max_line, every_line)
    if targets and targets.count ~= sources.count then
        message = pair_format.unequal(path, sources.count, target, targets.count)
        targets:close()
        targets = nil
    end
    if not targets then
        sources:close()
        return nil, message
    end
    return new("pairs", { sources, targets }, function(i)
        return { sources:line(i), targets:line(i) }
    end)
end

---@return boolean
function index.is_index(value) return getmetatable(value) == Index end

return index

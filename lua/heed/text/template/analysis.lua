--- What is found out about a tree before it runs: the names it reads, and filters and tests that
--- are not known.

local failure = require "heed.text.template.failure"
local filters = require "heed.text.template.filters"
local tests = require "heed.text.template.tests"

local analysis = {}

---The set of names that are read in a tree.
---@param node table
---@param found? table<string, boolean> to be added to
---@return table<string, boolean>
function analysis.names(node, found)
    found = found or {}
    if node.kind == "name" then found[node.name] = true end
    for _, child in pairs(node) do
        if type(child) == "table" and getmetatable(child) == nil then
            analysis.names(child, found)
        end
    end
    return found
end

-- As in Jinja, what is not known is no mistake where a condition decides whether it is reached:
-- templates ask which filters there are. It fails when it is reached.
local CONDITIONAL = { ["if"] = true, cond = true }
-- Inside these, which have scopes of their own, that starts anew.
local SCOPES = { macro = true, set_block = true, filter_block = true, with = true,
    generation = true }

local check

local function check_children(node, conditional)
    for _, child in pairs(node) do
        if type(child) == "table" and getmetatable(child) == nil then check(child, conditional) end
    end
end

function check(node, conditional)
    local known = node.kind == "filter" and filters or node.kind == "test" and tests
    if known and not known[node.name] and not conditional then
        failure.raise("line %d: the %s '%s' is not known", node.line, node.kind, node.name)
    end
    if node.kind == "for" then
        check(node.over, conditional)
        check_children({ node.condition or {}, node.body, node.otherwise or {} }, false)
        return
    end
    conditional = CONDITIONAL[node.kind] or conditional and not SCOPES[node.kind]
    check_children(node, conditional)
end

---Refuses a filter or test that is not known.
---@param nodes table
function analysis.check(nodes) check(nodes, false) end

return analysis

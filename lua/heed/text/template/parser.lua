--- Statements: the tree of a template.

local analysis = require "heed.text.template.analysis"
local lexer = require "heed.text.template.lexer"
local parse = require "heed.text.template.parse_expression"
local stream = require "heed.text.template.stream"

local body

-- What is between a tag and one of those that end it, which is taken too. Its name.
local function block(p, ...)
    p:accept ":"
    p:expect "block_end"
    local nodes = p:deeper(body, { ... })
    if p:is "end" then p:fail("expected '%s', got the end of the template", (select(-1, ...))) end
    return nodes, p:advance().value
end

-- ---- what is assigned to ------------------------------------------------------------------------

local function attribute_target(p)
    local node = parse.primary(p)
    if node.kind == "name" and p:accept "." then
        return { kind = "attribute", object = node.name, name = p:expect("name").value,
            line = node.line }
    end
    return node
end

local ASSIGNED = { name = true, attribute = true }

local function check_target(p, node)
    if node.kind == "tuple" then
        for _, each in ipairs(node.items) do check_target(p, each) end
    elseif not ASSIGNED[node.kind] then
        p:fail "expected a name to assign to"
    end
    return node
end

local function target(p, with_attributes, until_name)
    return check_target(p, parse.tuple(p, { until_name = until_name,
        item = with_attributes and attribute_target or parse.primary }))
end

local RESERVED = { ["true"] = true, ["false"] = true, none = true, True = true, False = true,
    None = true }

local function new_name(p)
    local name = p:expect("name").value
    if RESERVED[name] then p:fail("'%s' cannot be assigned to", name) end
    return name
end

-- ---- statements ---------------------------------------------------------------------------------

local statements = {}

statements["if"] = function(p, line)
    local node = { kind = "if", branches = {}, line = line }
    local word = "if"
    while word ~= "endif" do
        local branch = {}
        if word ~= "else" then branch.test = parse.tuple(p, { item = parse.unconditional }) end
        if word == "else" then
            branch.body, word = block(p, "endif")
        else
            branch.body, word = block(p, "elif", "else", "endif")
        end
        node.branches[#node.branches + 1] = branch
    end
    return node
end

statements["for"] = function(p, line)
    local node = { kind = "for", line = line, target = target(p, false, "in") }
    p:expect("name", "in")
    node.over = parse.tuple(p, { item = parse.unconditional, until_name = "recursive" })
    if p:accept("name", "if") then node.condition = parse.expression(p) end
    node.recursive = p:accept("name", "recursive") ~= nil
    p.loops = p.loops + 1
    local word
    node.body, word = block(p, "endfor", "else")
    p.loops = p.loops - 1
    if word == "else" then node.otherwise = block(p, "endfor") end
    return node
end

function statements.set(p, line)
    local node = { kind = "set", line = line, target = target(p, true) }
    if p:accept "=" then
        node.value = parse.tuple(p, {})
        return node
    end
    node.kind, node.filters = "set_block", {}
    while p:accept "|" do node.filters[#node.filters + 1] = parse.filter(p) end
    node.body = block(p, "endset")
    return node
end

-- Names in parentheses, with defaults or without.
local function parameters(p)
    local list = {}
    p:expect "("
    while not p:is ")" do
        if #list > 0 then p:expect "," end
        local parameter = { name = new_name(p) }
        if p:accept "=" then
            parameter.default = parse.expression(p)
        elseif #list > 0 and list[#list].default then
            p:fail "expected a default, as the parameter before has one"
        end
        list[#list + 1] = parameter
    end
    p:expect ")"
    return list
end

-- A body that is called. Loops around it do not count there.
local function called(p, node, ending)
    local loops = p.loops
    p.loops = 0
    node.body = block(p, ending)
    p.loops = loops
    node.uses = analysis.names(node.body)
    for _, parameter in ipairs(node.parameters) do
        if parameter.default then analysis.names(parameter.default, node.uses) end
    end
    return node
end

function statements.macro(p, line)
    local node = { kind = "macro", name = new_name(p), line = line, parameters = parameters(p) }
    return called(p, node, "endmacro")
end

function statements.call(p, line)
    local caller = { kind = "macro", name = "caller", line = line,
        parameters = p:is "(" and parameters(p) or {} }
    local call = parse.expression(p)
    if call.kind ~= "call" then p:fail "expected a call" end
    return { kind = "call_block", call = call, caller = called(p, caller, "endcall"), line = line }
end

function statements.filter(p, line)
    local node = { kind = "filter_block", filters = {}, line = line }
    repeat node.filters[#node.filters + 1] = parse.filter(p) until not p:accept "|"
    node.body = block(p, "endfilter")
    return node
end

function statements.with(p, line)
    local node = { kind = "with", assignments = {}, line = line }
    while not p:is "block_end" do
        if #node.assignments > 0 then p:expect "," end
        local name = check_target(p, parse.primary(p))
        p:expect "="
        node.assignments[#node.assignments + 1] = { target = name, value = parse.expression(p) }
    end
    node.body = block(p, "endwith")
    return node
end

-- What a model has written, which is printed as anything else.
function statements.generation(p, line)
    local loops = p.loops
    p.loops = 0
    local node = { kind = "generation", body = block(p, "endgeneration"), line = line }
    p.loops = loops
    return node
end

function statements.print(p, line)
    local node = { kind = "print", items = {}, line = line }
    while not p:is "block_end" do
        if #node.items > 0 then p:expect "," end
        node.items[#node.items + 1] = parse.expression(p)
    end
    return node
end

local function leaves_loop(p, word, line)
    if p.loops == 0 then p:fail("'%s' outside of a loop", word) end
    return { kind = word, line = line }
end

statements["break"] = function(p, line) return leaves_loop(p, "break", line) end

function statements.continue(p, line) return leaves_loop(p, "continue", line) end

local function statement(p)
    local token = p:expect "name"
    local parse_statement = statements[token.value]
    if not parse_statement then p:fail("the tag '%s' is not known", token.value) end
    return parse_statement(p, token.line)
end

-- ---- the body -----------------------------------------------------------------------------------

local function is_one_of(p, words)
    for _, word in ipairs(words) do
        if p:is_name(word) then return true end
    end
    return false
end

-- Up to a tag with one of the names, or to the end.
function body(p, endings)
    local nodes = {}
    while not p:is "end" do
        if p:is "data" then
            local token = p:advance()
            nodes[#nodes + 1] = { kind = "data", text = token.value, line = token.line }
        elseif p:accept "variable_begin" then
            local line = p.token.line
            nodes[#nodes + 1] = { kind = "print", items = { parse.tuple(p, {}) }, line = line }
            p:expect "variable_end"
        else
            p:expect "block_begin"
            if is_one_of(p, endings) then return nodes end
            nodes[#nodes + 1] = statement(p)
            p:expect "block_end"
        end
    end
    return nodes
end

---The tree of a template; a failure when it is none.
---@param source string
---@return table
return function(source)
    local p = stream(lexer(source))
    p.loops = 0
    local nodes = body(p, {})
    analysis.check(nodes)
    return nodes
end

--- Expressions, the loosest operator first: if else, or, and, not, comparisons, + -, ~, * / // %,
--- **, signs, and what follows a value: .name, [key], (arguments), | filter, is test.

local values = require "heed.text.template.values"

local parse = {}

local CONSTANTS = { ["true"] = true, True = true, ["false"] = false, False = false,
    none = values.none, None = values.none }

local function const(p, value) return { kind = "const", value = value, line = p.token.line } end

-- ---- values -------------------------------------------------------------------------------------

local function name_or_constant(p)
    local token = p:advance()
    local value = CONSTANTS[token.value]
    if value ~= nil then return { kind = "const", value = value, line = token.line } end
    return { kind = "name", name = token.value, line = token.line }
end

local function strings(p)
    local node = const(p, p:advance().value)
    while p:is "string" do node.value = node.value .. p:advance().value end
    return node
end

-- Items between commas up to a bracket, a comma at the end or not.
local function items(p, closing, item)
    local list = {}
    while not p:is(closing) do
        if #list > 0 then p:expect "," end
        if p:is(closing) then break end
        list[#list + 1] = item(p)
    end
    p:expect(closing)
    return list
end

local function pair(p)
    local key = parse.expression(p)
    p:expect ":"
    return { key = key, value = parse.expression(p) }
end

---A name or value, without what may follow it.
function parse.primary(p)
    local line = p.token.line
    if p:is "name" then return name_or_constant(p) end
    if p:is "string" then return strings(p) end
    if p:is "number" then return { kind = "const", value = p:advance().value, line = line } end
    if p:accept "(" then
        local node = parse.tuple(p, { parentheses = true })
        p:expect ")"
        return node
    end
    if p:accept "[" then
        return { kind = "list", items = items(p, "]", parse.expression), line = line }
    end
    if p:accept "{" then return { kind = "dict", pairs = items(p, "}", pair), line = line } end
    return p:unexpected()
end

-- ---- what follows a value -----------------------------------------------------------------------

-- One part of a slice, nil when nothing is written.
local function slice_part(p)
    if p:is ":" or p:is "]" or p:is "," then return nil end
    return parse.expression(p)
end

local function subscript(p)
    local line = p.token.line
    local first = slice_part(p)
    if not p:accept ":" then return first or p:unexpected() end
    local node = { kind = "slice", first = first, line = line }
    node.stop = slice_part(p)
    if p:accept ":" then node.step = slice_part(p) end
    return node
end

local function attribute(p, object)
    local line = p:advance().line
    if p:is "name" then
        return { kind = "getattr", object = object, name = p:advance().value, line = line }
    end
    if not p:is "number" or math.type(p.token.value) ~= "integer" then
        p:fail "expected a name or number after the dot"
    end
    return { kind = "getitem", object = object, key = const(p, p:advance().value), line = line }
end

local function item(p, object)
    local line = p:advance().line
    local keys = {}
    while not p:is "]" do
        if #keys > 0 then p:expect "," end
        keys[#keys + 1] = subscript(p)
    end
    p:expect "]"
    local key = #keys == 1 and keys[1] or { kind = "tuple", items = keys, line = line }
    return { kind = "getitem", object = object, key = key, line = line }
end

-- One argument: a value, *list, **dict or name=value.
local function argument(p, args)
    if p:accept "*" then
        if args.spread or args.spread_named then p:fail "expected one *list" end
        args.spread = parse.expression(p)
    elseif p:accept "**" then
        if args.spread_named then p:fail "expected one **dict" end
        args.spread_named = parse.expression(p)
    elseif p:is "name" and p:following().kind == "=" then
        if args.spread_named then p:fail "expected nothing behind **dict" end
        local name = p:advance().value
        p:advance()
        args.named[#args.named + 1] = { name = name, value = parse.expression(p) }
    else
        if #args.named > 0 or args.spread or args.spread_named then
            p:fail "expected values before named arguments"
        end
        args[#args + 1] = parse.expression(p)
    end
end

---Arguments in parentheses.
function parse.arguments(p)
    local args, first = { named = {} }, true
    p:expect "("
    while not p:is ")" do
        if not first then
            p:expect ","
            if p:is ")" then break end
        end
        argument(p, args)
        first = false
    end
    p:expect ")"
    return args
end

local function call(p, callee)
    return { kind = "call", callee = callee, line = p.token.line, args = parse.arguments(p) }
end

local function postfix(p, node)
    while true do
        if p:is "." then
            node = attribute(p, node)
        elseif p:is "[" then
            node = item(p, node)
        elseif p:is "(" then
            node = call(p, node)
        else
            return node
        end
    end
end

local function dotted_name(p)
    local name = p:expect("name").value
    while p:accept "." do name = name .. "." .. p:expect("name").value end
    return name
end

---A filter behind its bar.
---@param object table|nil nil: what a block has made
function parse.filter(p, object)
    local line = p.token.line
    local name = dotted_name(p)
    local args = p:is "(" and parse.arguments(p) or { named = {} }
    return { kind = "filter", object = object, name = name, args = args, line = line }
end

local BEGINS_ARGUMENT = { name = true, string = true, number = true, ["["] = true, ["{"] = true }
local ENDS_TEST = { ["else"] = true, ["or"] = true, ["and"] = true }

local function test(p, object)
    local line = p:advance().line
    local negated = p:accept("name", "not")
    local node = { kind = "test", object = object, name = dotted_name(p), line = line }
    if p:is "(" then
        node.args = parse.arguments(p)
    elseif BEGINS_ARGUMENT[p.token.kind] and not (p:is "name" and ENDS_TEST[p.token.value]) then
        if p:is_name "is" then p:fail "tests cannot follow each other" end
        node.args = { postfix(p, parse.primary(p)), named = {} }
    else
        node.args = { named = {} }
    end
    return negated and { kind = "not", object = node, line = line } or node
end

local function filters_and_tests(p, node)
    while true do
        if p:accept "|" then
            node = parse.filter(p, node)
        elseif p:is_name "is" then
            node = test(p, node)
        elseif p:is "(" then
            node = call(p, node)
        else
            return node
        end
    end
end

-- ---- operators ----------------------------------------------------------------------------------

local SIGNS = { ["-"] = "negative", ["+"] = "positive" }

local function unary(p, without_filters)
    local line, node = p.token.line
    local sign = SIGNS[p.token.kind]
    if sign then
        p:advance()
        node = { kind = sign, object = p:deeper(unary, true), line = line }
    else
        node = parse.primary(p)
    end
    node = postfix(p, node)
    return without_filters and node or filters_and_tests(p, node)
end

-- Operators of one strength, from the left.
local function left_to_right(operators, operand)
    return function(p)
        local node = operand(p)
        while operators[p.token.kind] do
            local token = p:advance()
            node = { kind = "binary", operator = token.kind, left = node, right = operand(p),
                line = token.line }
        end
        return node
    end
end

local function operand(p) return unary(p) end

local power = left_to_right({ ["**"] = true }, operand)
local product = left_to_right({ ["*"] = true, ["/"] = true, ["//"] = true, ["%"] = true }, power)

local function concat(p)
    local node = product(p)
    if not p:is "~" then return node end
    local list = { node }
    while p:accept "~" do list[#list + 1] = product(p) end
    return { kind = "concat", items = list, line = node.line }
end

local sum = left_to_right({ ["+"] = true, ["-"] = true }, concat)

local COMPARISONS = { ["=="] = true, ["!="] = true, ["<"] = true, ["<="] = true, [">"] = true,
    [">="] = true }

local function comparison_operator(p)
    if COMPARISONS[p.token.kind] then return p:advance().kind end
    if p:accept("name", "in") then return "in" end
    local following = p:following()
    if p:is_name "not" and following.kind == "name" and following.value == "in" then
        p:advance()
        p:advance()
        return "not in"
    end
    return nil
end

local function comparison(p)
    local first, others = sum(p), {}
    while true do
        local operator = comparison_operator(p)
        if not operator then break end
        others[#others + 1] = { operator = operator, value = sum(p) }
    end
    if #others == 0 then return first end
    return { kind = "compare", first = first, others = others, line = first.line }
end

local function negation(p)
    local token = p:accept("name", "not")
    if not token then return comparison(p) end
    return { kind = "not", object = p:deeper(negation), line = token.line }
end

local function logical(word, operand_of)
    return function(p)
        local node = operand_of(p)
        while p:accept("name", word) do
            node = { kind = word, left = node, right = operand_of(p), line = node.line }
        end
        return node
    end
end

local conjunction = logical("and", negation)
local disjunction = logical("or", conjunction)

local function conditional(p)
    local node = disjunction(p)
    while p:accept("name", "if") do
        node = { kind = "cond", yes = node, test = disjunction(p), line = node.line }
        if p:accept("name", "else") then node.no = p:deeper(conditional) end
    end
    return node
end

---@param p heed.text.template.Stream
function parse.expression(p) return p:deeper(conditional) end

---An expression without a bare `if`, which would begin what follows.
function parse.unconditional(p) return p:deeper(disjunction) end

-- ---- tuples -------------------------------------------------------------------------------------

local ENDS_TUPLE = { variable_end = true, block_end = true, [")"] = true }

---Expressions between commas, or one alone.
---@param how { parentheses?: boolean, item?: function, until_name?: string }
function parse.tuple(p, how)
    local list, line = {}, p.token.line
    local is_tuple, parse_item = false, how.item or parse.expression
    while true do
        if #list > 0 then p:expect "," end
        if ENDS_TUPLE[p.token.kind] or how.until_name and p:is_name(how.until_name) then break end
        list[#list + 1] = parse_item(p)
        if not p:is "," then break end
        is_tuple = true
    end
    if not is_tuple and #list > 0 then return list[1] end
    if not is_tuple and not how.parentheses then p:unexpected() end
    return { kind = "tuple", items = list, line = line }
end

return parse

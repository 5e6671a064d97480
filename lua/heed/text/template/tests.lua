--- What follows `is`. Each test is given the machine, the value and the arguments.

local arguments = require "heed.text.template.arguments"
local arithmetic = require "heed.text.template.arithmetic"
local classes = require "heed.text.template.methods.classes"
local iteration = require "heed.text.template.iteration"
local text_of = require "heed.text.template.text_of"
local values = require "heed.text.template.values"

local bind = arguments.bind

local tests = {}

-- Tests without arguments.
local function plain(name, holds)
    tests[name] = function(machine, value, args)
        bind(name, args, 0)
        return holds(value, values.kind(value), machine)
    end
end

plain("defined", function(_, kind) return kind ~= "undefined" end)
plain("undefined", function(_, kind) return kind == "undefined" end)
plain("none", function(_, kind) return kind == "none" end)
plain("boolean", function(_, kind) return kind == "boolean" end)
plain("true", function(value) return value == true end)
plain("false", function(value) return value == false end)
plain("integer", function(_, kind) return kind == "integer" end)
plain("float", function(_, kind) return kind == "float" end)
plain("number", function(value) return values.number(value) ~= nil end)
plain("string", function(value) return values.text(value) ~= nil end)
plain("mapping", function(_, kind) return kind == "dict" end)
plain("iterable", function(value) return iteration.possible(value) end)
plain("sequence", function(value, kind)
    return values.is_sequence(value) or values.text(value) ~= nil or kind == "dict"
        or kind == "undefined"
end)
plain("callable", function(value, kind)
    return kind == "function" or kind == "undefined" or kind == "loop" and value.call ~= nil
end)
plain("escaped", function(_, kind) return kind == "markup" end)
plain("upper", function(value, _, machine) return classes.upper(text_of.str(machine, value)) end)
plain("lower", function(value, _, machine) return classes.lower(text_of.str(machine, value)) end)

local function remainder(machine, value, divisor)
    return arithmetic.binary(machine, "%", value, divisor)
end

plain("odd", function(value, _, machine) return values.equal(remainder(machine, value, 2), 1) end)
plain("even", function(value, _, machine) return values.equal(remainder(machine, value, 2), 0) end)

function tests.divisibleby(machine, value, args)
    return values.equal(remainder(machine, value, (bind("divisibleby", args, 1, "num"))), 0)
end

function tests.sameas(_, value, args)
    local other = bind("sameas", args, 1, "other")
    return value == other and math.type(value) == math.type(other)
end

tests["in"] = function(machine, value, args)
    return iteration.contains(machine, bind("in", args, 1, "seq"), value)
end

for name, operator in pairs { eq = "==", ne = "!=", lt = "<", le = "<=", gt = ">", ge = ">=" } do
    tests[name] = function(machine, value, args)
        return arithmetic.compare(machine, operator, value, (bind(name, args, 1, "other")))
    end
end
for name, other in pairs { ["=="] = "eq", equalto = "eq", ["!="] = "ne", ["<"] = "lt",
    lessthan = "lt", ["<="] = "le", [">"] = "gt", greaterthan = "gt", [">="] = "ge" } do
    tests[name] = tests[other]
end

-- Which names of others are known.
local function asks(name, known)
    tests[name] = function(machine, value, args)
        bind(name, args, 0)
        return known(machine)[values.hash(value)] ~= nil
    end
end

asks("filter", function(machine) return machine.filters end)
asks("test", function() return tests end)

return tests

--- Letters as strokes, for pictures whose pixels are made here: a place that has no fonts.
---
--- A letter is 6 wide; its capitals reach from 0 down to 9, where the line is, small ones from 3,
--- tails to 12. It is written as strokes apart by blanks, each a list of points, two digits a point
--- (x, then y in hexadecimal digits). A stroke of one point is a dot; one that begins with ~ is a
--- curve with its ends on the first and last points, bent towards those between them.

local letters = {}

---How far it is from one letter to the next, and how high capitals are.
letters.ADVANCE, letters.LINE = 7.2, 9

local SHAPES = {
    ["!"] = "3036 39", ['"'] = "2023 4043", ["#"] = "2118 5148 0363 0666",
    ["$"] = "303a ~5250101454581817", ["%"] = "6009 ~102022020010 ~576769494757",
    ["&"] = "~691310404305095966", ["'"] = "3033", ["("] = "~40222749", [")"] = "~20444729",
    ["*"] = "3137 1256 5216", ["+"] = "3238 0565", [","] = "382a", ["-"] = "1555", ["."] = "39",
    ["/"] = "5019", ["0"] = "~305059191030 36", ["1"] = "123039 1959", ["2"] = "~0200606409 0969",
    ["3"] = "~0200606424 ~2464690907", ["4"] = "400666 4049", ["5"] = "501004 ~0463690907",
    ["6"] = "~500206 ~346469090434", ["7"] = "006029", ["8"] = "~305054141030 ~346469090434",
    ["9"] = "~306065050030 ~636719", [":"] = "34 38", [";"] = "34 382a", ["<"] = "521558",
    ["="] = "0464 0767", [">"] = "125518", ["?"] = "~0200606336 39",
    ["@"] = "~690900606546 ~334346262333 4346", A = "093069 1656", B = "0009 ~00606404 ~04646909",
    C = "~626000096967", D = "0009 ~00606909", E = "60000969 0454", F = "600009 0454",
    G = "~626000096965 6535", H = "0009 6069 0464", I = "1050 3039 1959", J = "5056 ~56590907",
    K = "0009 6005 2369", L = "000969", M = "0900356069", N = "09006960", O = "~306069090030",
    P = "0009 ~00606505", Q = "~306069090030 4669", R = "0009 ~00606505 3569",
    S = "~6260000465690907", T = "0060 3039", U = "0006 ~06096966 6066", V = "003960",
    W = "0019335960", X = "0069 6009", Y = "003460 3439", Z = "00600969", ["["] = "40202949",
    ["\\"] = "1059", ["]"] = "20404929", ["^"] = "133053", ["_"] = "0a6a", ["`"] = "2032",
    a = "5359 ~565303095956", b = "0009 ~060353590906", c = "~555303095957",
    d = "5059 ~565303095956", e = "0656 ~565303095958", f = "~502023 2329 0444",
    g = "~565303095956 535a ~5a5c0c0b", h = "0009 ~06035356 5659", i = "31 133339 1959",
    j = "41 23434a ~4a4c1c1b", k = "0009 5307 2559", l = "103039 1959",
    m = "0309 ~05033335 3539 ~35336365 6569", n = "0309 ~06035356 5659", o = "~060353590906",
    p = "030c ~060353590906", q = "535c ~565303095956", r = "1319 ~16135354",
    s = "~5453030656590908", t = "2027 ~27295958 0353", u = "0306 ~06095956 5359", v = "033963",
    w = "0319345963", x = "0359 5309", y = "0339 631c", z = "03530959", ["{"] = "40313425363849",
    ["|"] = "303a", ["}"] = "20313445363829", ["~"] = "~06135865", ["…"] = "09 39 69", ["·"] = "35",
    ["−"] = "0565", ["±"] = "3137 0464 0868", ["×"] = "1357 5317", ["÷"] = "32 0565 38",
    ["→"] = "0565 436547", ["°"] = "~203032120020", ["ß"] = "0902 ~0200505424 ~24646929",
    ["␣"] = "07096967", ["–"] = "0565", ["—"] = "0565", ["’"] = "3132", ["“"] = "2022 4042",
    ["”"] = "2022 4042", ["ø"] = "~060353590906 5309",
    ["æ"] = "~363303093936 3353 3656 ~565333395958", ["œ"] = "~363303093936 3656 ~565333395958",
    ["µ"] = "030c ~06095956 5359", ["²"] = "~1010505014 1454", ["³"] = "~1010505234 ~32545614",
}

-- What stands above a small letter, and above a capital three higher; the last below both.
local MARKS = {
    ["\u{300}"] = "1031", ["\u{301}"] = "5031", ["\u{302}"] = "113051", ["\u{303}"] = "~01104251",
    ["\u{308}"] = "11 41", ["\u{30A}"] = "~203032120020", ["\u{30C}"] = "103150",
    ["\u{327}"] = "393a2b",
}
local BELOW = "\u{327}"

-- Letters with marks, in the order of MARKS' names.
local MARKED = {
    ["\u{300}"] = "àa èe ìi òo ùu ÀA ÈE ÌI ÒO ÙU",
    ["\u{301}"] = "áa ée íi óo úu ýy ćc ńn śs źz ÁA ÉE ÍI ÓO ÚU ÝY ĆC ŃN ŚS ŹZ",
    ["\u{302}"] = "âa êe îi ôo ûu ÂA ÊE ÎI ÔO ÛU", ["\u{303}"] = "ãa ñn õo ÃA ÑN ÕO",
    ["\u{308}"] = "äa ëe ïi öo üu ÿy ÄA ËE ÏI ÖO ÜU", ["\u{30A}"] = "åa ůu ÅA ŮU",
    ["\u{30C}"] = "čc ďd ěe ňn řr šs ťt žz ČC ĎD ĚE ŇN ŘR ŠS ŤT ŽZ", ["\u{327}"] = "çc şs ÇC ŞS",
}

local UNKNOWN = "0060690900" -- a box

---@class heed.viz.Stroke
---@field curved boolean
---@field [integer] { [1]: number, [2]: number } points

local function read(shape, rise, strokes)
    for curve, digits in shape:gmatch "(~?)(%x+)" do
        local stroke = { curved = curve ~= "" }
        for x, y in digits:gmatch "(%x)(%x)" do
            stroke[#stroke + 1] = { tonumber(x, 16), tonumber(y, 16) - rise }
        end
        strokes[#strokes + 1] = stroke
    end
    return strokes
end

local bases = {}
for mark, pairs_of in pairs(MARKED) do
    for letter, base in pairs_of:gmatch "([^%w%s][\x80-\xBF]+)(%w)" do
        bases[letter] = { base = base, mark = mark }
    end
end

local known = {}

---The strokes of a character; a box for what it does not know.
---@param character string UTF-8
---@return heed.viz.Stroke[]
function letters.strokes(character)
    local strokes = known[character]
    if strokes then return strokes end
    local marked = bases[character]
    strokes = {}
    if marked then
        read(marked.base == "i" and "133339 1959" or SHAPES[marked.base], 0, strokes)
        local rise = marked.mark == BELOW and 0 or marked.base:find "%u" and 3 or 0
        read(MARKS[marked.mark], rise, strokes)
    elseif not character:find "^%s$" then
        read(SHAPES[character] or UNKNOWN, 0, strokes)
    end
    known[character] = strokes
    return strokes
end

return letters

"""Compares heed's templates with Jinja2's on random ones.

    python3 spec/peers/chat_fuzz.py COUNT [SEED]

lua5.4 must find heed (LUA_PATH, LUA_CPATH). Equal is the same text, or an error on both sides. What prints an
address of Python's memory, or needs larger integers than Lua's, is left out. Ends with 1 when one differs.
"""

import copy
import random
import re
import sys

import chat_templates
import jinja_reference

DATA = {
    "s": "Hello, World", "t": "  a,b ,c\n", "u": "Äpfel é 日本 ß😀", "e": "", "k": "it's \"q\" \\ <b>&", "n": 3, "m": -7,
    "z": 0, "x": 2.5, "y": -0.1, "big": 1e22, "yes": True, "no": False, "none_": None, "l": [3, 1, 2], "w": ["b", "A", "c"],
    "mix": [1, "a", None, True, 2.0, [1]], "el": [], "d": {"b": 1, "a": "x", "C": None}, "ed": {},
    "r": [{"role": "user", "c": "hi", "n": 2}, {"role": "bot", "c": "yo", "n": 1}, {"role": "user", "c": "a"}],
}
NAMES = list(DATA) + ["missing", "loop"]
LITERALS = ["1", "0", "-2", "2.0", "'a'", "'user'", "', '", "''", "true", "none", "[1, 2]", "(1, 'b')", "{'a': 1}",
            "'%s-%s'", "'{}:{0}'", "'x\\ty'", "1e3", "range(4)"]
PLAIN_FILTERS = """abs capitalize count default dictsort e escape first float forceescape int items last length list
    lower max min reverse round safe sort string sum title tojson trim unique upper urlencode wordcount
    map select reject""".split()
FILTERS = """default({a}) default({a}, true) d({a}, boolean={a}) join({a}) join(', ', attribute='c') replace({a}, {a}) replace('a', 'b', 1)
    indent(2) indent(width={a}, first=true) indent(1, blank=true) tojson(indent=2) tojson(ensure_ascii=true) tojson(sort_keys=true)
    map('upper') map('length') map(attribute='role') map(attribute='n',\xa0default=0) selectattr('role',\xa0'equalto',\xa0'user')
    selectattr('n',\xa0'defined') rejectattr('n') select('string') reject('none') select('in',\xa0{a}) sort(reverse=true)
    sort(attribute='c') sort(attribute='role,c') sort(case_sensitive=true) batch(2) batch(2,\xa0'-') slice(2) slice(3,\xa0'-')
    groupby('role') truncate(8) truncate(6,\xa0true) center(12) trim({a}) round(1) round(0,\xa0'floor') round(1,\xa0'ceil') int({a})
    int(0,\xa016) float({a}) attr({a}) sum(attribute='n') sum(start={a}) unique(attribute='role') min(attribute='n') format({a})
    format({a},\xa0{a}) dictsort(by='value') dictsort(reverse=true) first(1)""".replace("\xa0", "_").split()
METHODS = """strip() strip({a}) lstrip({a}) rstrip() split() split({a}) split(',',_1) split(none,_1) rsplit(',',_1) splitlines()
    startswith({a}) startswith(('a',_'H')) endswith({a}) upper() lower() title() capitalize() swapcase() replace({a},_{a}) replace('l',_'L',_1)
    find({a}) rfind('o') count({a}) index({a}) join({a}) format({a}) format({a},_{a}) isdigit() isalpha() isalnum() isupper() islower() isspace()
    zfill(6) ljust(6) rjust(6,_'*') center(7) partition(',') rpartition({a}) removeprefix('He') removesuffix({a}) get({a}) get('a',_{a})
    keys() values() items() copy() append(1) pop() update({a}) is_integer()""".split()
TESTS = """defined undefined none boolean true false integer float number string mapping iterable sequence callable escaped
    upper lower odd even divisibleby({a}) sameas({a}) in({a}) eq({a}) ne({a}) lt({a}) ge({a}) equalto({a}) filter test""".split()
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
SLICES = ["[0]", "[-1]", "[1:]", "[:-1]", "[::-1]", "[::2]", "['a']", "[{a}]", "[{a}:]", "[-2:5]", "['items']", "[5]"]
ATTRIBUTES = ["a", "role", "upper", "items", "missing", "b", "0", "1"]


def expression(r, depth):
    if depth <= 0 or r.random() < 0.12:
        return r.choice(NAMES) if r.random() < 0.65 else r.choice(LITERALS)

    def inner():
        return expression(r, depth - 1)

    def filled(text):
        while "{a}" in text:
            text = text.replace("{a}", expression(r, depth - 2), 1)
        return text.replace(",_", ", ")

    kind = r.randrange(12)
    if kind < 3:
        return f"{inner()} | {filled(r.choice(PLAIN_FILTERS + FILTERS))}"
    if kind < 5:
        return f"({inner()}).{filled(r.choice(METHODS))}" if r.random() < 0.2 else f"{r.choice(NAMES)}.{filled(r.choice(METHODS))}"
    if kind < 7:
        return f"{inner()} {r.choice(OPERATORS)} {inner()}"
    if kind == 7:
        return f"{inner()} is {'not ' if r.random() < 0.3 else ''}{filled(r.choice(TESTS))}"
    if kind == 8:
        return f"{r.choice(NAMES)}{filled(r.choice(SLICES))}"
    if kind == 9:
        return f"({inner()}).{r.choice(ATTRIBUTES)}"
    if kind == 10:
        return f"({inner()} if {inner()}{' else ' + inner() if r.random() < 0.7 else ''})"
    return r.choice(["not {}", "-{}", "({})", "[{}, 1]", "{{'k': {}}}", "({},)"]).format(inner())


def blank(r):
    return r.choice(["", "", " ", "\n", "\n  ", " \n", "\t", "x ", "\n\n", "é\n "])


def tag(r, text):
    return r.choice(["{%", "{%", "{%-", "{%+"]) + f" {text} " + r.choice(["%}", "%}", "-%}", "+%}"])


LOOP = ["loop.index", "loop.last", "loop.length", "loop.revindex", "loop.previtem", "loop.nextitem", "i", "loop.cycle('a', 'b')",
        "loop.changed(i)", "loop.first", "j", "q", "ns.v"]


def statements(r, depth):
    parts = []
    for _ in range(r.randrange(1, 4)):
        parts.append(blank(r))
        kind = r.randrange(10) if depth > 0 else 0

        def body():
            return statements(r, depth - 1)

        def value():
            return expression(r, 2)

        if kind < 2:
            chosen = value() if r.random() < 0.4 else r.choice(LOOP)
            parts.append(r.choice(["{{", "{{-"]) + f" {chosen} " + r.choice(["}}", "-}}"]))
        elif kind == 2:
            parts += [tag(r, f"if {value()}"), body(), tag(r, f"elif {value()}"), body(), tag(r, "else"), body(), tag(r, "endif")]
        elif kind < 5:
            target = r.choice(["i", "i", "i, j"])
            over = r.choice(["l", "w", "d", "d.items()", "r", "range(3)", "d|items", "r|map(attribute='c')", "el", "u", "mix", "missing"])
            condition = r.choice(["", "", f" if {value()}", " if i", " if not ns.v"])
            ending = r.choice([[], [tag(r, "else"), body()]])
            leaving = r.choice([[], [], [tag(r, f"if {r.choice(LOOP)}"), tag(r, r.choice(["break", "continue"])), tag(r, "endif")]])
            parts += [tag(r, f"for {target} in {over}{condition}"), body(), *leaving, body(), *ending, tag(r, "endfor")]
        elif kind == 5:
            parts.append(tag(r, r.choice([f"set q = {value()}", f"set ns.v = {value()}", "set q, j = 1, 2", f"set l = {value()}"])))
        elif kind == 6:
            parts += [tag(r, r.choice(["set q", "set q | trim", "set q | upper | trim"])), body(), tag(r, "endset")]
        elif kind == 7:
            name = r.choice("fg")
            parts += [tag(r, f"macro {name}(a, b={value()})"), body(), "{{ a }}{{ b }}", r.choice(["", "{{ varargs }}{{ kwargs }}", "{{ caller() }}"]),
                      tag(r, "endmacro"), r.choice([f"{{{{ {name}({value()}) }}}}", f"{{{{ {name}(1, b=2) }}}}", f"{{{{ {name}(1, 2, 3) }}}}",
                                                   f"{{% call {name}(1) %}}C{{{{ q }}}}{{% endcall %}}", f"{{{{ {name}(c=4) }}}}"])]
        elif kind == 8:
            parts += [tag(r, r.choice(["filter upper", "filter trim | length", "with", f"with q = {value()}"])), ""]
            word = "end" + re.search(r"(filter|with)", parts[-2]).group(1)
            parts += [body(), tag(r, word)]
        else:
            parts.append(r.choice(["{# note #}", "{#- note -#}", "{# note #}\n", "{% raw %} {{ x }}\n{% endraw %}", "{%- raw -%}\n {% if %} {%- endraw -%}\n"]))
    return "".join(parts) + blank(r)


ADDRESS = re.compile(r" at 0x|&lt;.* object|<(built-in|bound|generator|Namespace|Macro|class|method|list_rev|range_it|rev|TemplateRef|LoopContext|Undefined|Cycler|jinja)|%3C|<[a-z_]*iterator|"
                     r"range\(", re.IGNORECASE)

LEFT_OUT = re.compile("64 bits|cannot be printed")


def main(count, seed):
    r = random.Random(seed)
    sources = []
    for i in range(count):
        head = "{% set ns = namespace(v=0) %}"
        sources.append("{{ " + expression(r, 3) + " }}" if i % 2 else head + statements(r, 3))
    results = chat_templates.rendered([{"source": s, "variables": DATA, "now": 0} for s in sources])
    texts, different = 0, []
    for source, result in zip(sources, results, strict=True):
        text, problem = jinja_reference.render(source, copy.deepcopy(DATA), 0)
        if text is not None and ADDRESS.search(text) or LEFT_OUT.search(result.get("error", "")):
            continue
        texts += text is not None
        if chat_templates.differs(text, problem, result):
            different.append((repr(source), "", text, problem, result))
    for each in different[:40]:
        chat_templates.report(each)
    print(f"{count} templates, {texts} of them texts; {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))

"""Compares heed's chat templates with Jinja2's, on every template of some folders and files.

    python3 spec/peers/chat_templates.py FOLDER|FILE ...

A folder is searched for *.jinja, tokenizer_config.json and *.gguf. lua5.4 must find heed (LUA_PATH, LUA_CPATH).
Equal is the same text, or an error on both sides, with the same words when they are the template's. Ends with 1 when one differs.
"""

import json
import os
import subprocess
import sys

import chat_conversations
import jinja_reference

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = ["lua5.4", os.path.join(HERE, "render_templates.lua")]
NOW = 1735689600


def files(path):
    if not os.path.isdir(path):
        yield path
    for folder, _, names in sorted(os.walk(path)):
        for name in sorted(names):
            if name.endswith((".jinja", ".gguf")) or name == "tokenizer_config.json":
                yield os.path.join(folder, name)


def templates_of(path):
    """Pairs of a name and a template."""
    if path.endswith(".gguf"):
        held = subprocess.run(PROGRAM + [path], check=True, capture_output=True, text=True).stdout
        template = json.loads(held).get("template")
    elif path.endswith(".json"):
        template = json.load(open(path, encoding="utf-8")).get("chat_template")
    else:
        template = open(path, encoding="utf-8").read()
    if isinstance(template, list):
        for each in template:
            yield f"{path} {each['name']}", each["template"]
    elif template:
        yield path, template


def rendered(cases):
    """What heed makes of them."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(PROGRAM, input=lines, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def differs(text, problem, result):
    """The texts are the same; or both failed, with the same words when these are the template's own."""
    if "fault" in result or result.get("text") != text:
        return True
    own = problem and problem.startswith("TemplateError: ")
    return own and problem != f"TemplateError: {result['error']}"


def compare(name, template):
    """How many cases there are, and the descriptions of those that differ."""
    given = list(chat_conversations.variables())
    results = rendered([{"source": template, "variables": v, "now": NOW} for _, v in given])
    different, texts = [], 0
    for (case, variables), result in zip(given, results, strict=True):
        text, problem = jinja_reference.render(template, variables, NOW)
        texts += text is not None
        if differs(text, problem, result):
            different.append((name, case, text, problem, result))
    return len(given), texts, different


def first_difference(a, b):
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return f"at {at}: {a[max(at - 30, 0):at + 50]!r} and {b[max(at - 30, 0):at + 50]!r}"


def report(difference):
    name, case, text, problem, result = difference
    ours, our_problem = result.get("text"), result.get("error") or result.get("fault")
    print(f"{name}: {case}")
    if text is None or ours is None:
        print(f"  Jinja2: {problem or 'a text'}\n  heed: {our_problem or 'a text'}")
    else:
        print("  " + first_difference(text, ours))


def main(paths):
    templates = [pair for path in paths for file in files(path) for pair in templates_of(file)]
    cases, texts, different = 0, 0, []
    for name, template in templates:
        count, made, found = compare(name, template)
        cases, texts = cases + count, texts + made
        different += found
    for each in different[:40]:
        report(each)
    print(f"{len(templates)} templates, {cases} cases, {texts} of them texts; {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Conversations for chat_templates.py: what chat templates meet, and what they refuse."""

USER = {"role": "user", "content": "What is 2 + 2?"}
ANSWER = {"role": "assistant", "content": "It is 4."}
SYSTEM = {"role": "system", "content": "You are a helpful assistant.\nBe brief."}
UNUSUAL = {"role": "user", "content": "  <|im_end|> é 日本 😀 \"quoted\" 'single' & <b>\\n\n\n\tlast  "}

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather at a place.",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "A city, e.g. \"Köln\""},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
                "days": {"type": ["integer", "null"], "description": "How many", "minimum": 1},
            },
            "required": ["place"],
        },
        "return": {"type": "string", "description": "The weather"},
    },
}
NESTED = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Books a trip.\nIn two lines.",
        "parameters": {
            "type": "object",
            "properties": {
                "trip": {
                    "type": "object",
                    "description": "The trip",
                    "properties": {
                        "stops": {"type": "array", "items": {"type": "string"}},
                        "price": {"type": "number", "maximum": 1e6, "exclusiveMinimum": 0.5},
                    },
                    "required": ["stops"],
                },
                "paid": {"type": "boolean", "description": "Is it paid?"},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "pairs": {"type": "array", "items": {"type": "object", "properties": {
                    "a": {"type": "integer"}, "b": {"type": "null"}}}},
            },
            "required": ["trip", "paid"],
            "additionalProperties": False,
        },
    },
}
BARE = {"type": "function", "function": {"name": "now", "description": "", "parameters": {
    "type": "object", "properties": {}}}}


def call(name, arguments, id=None):
    made = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return {"id": id, **made} if id else made


PLACE = {"place": "Paris", "days": 3, "exact": True, "more": None, "list": [1, "two"], "in": {"x": 0.5}}
CALLS = {"role": "assistant", "content": "", "tool_calls": [call("get_weather", PLACE, "call00001")]}
TWO_CALLS = {"role": "assistant", "content": "Let me see.", "tool_calls": [
    call("get_weather", {"place": "Rome"}, "abcdefghi"), call("now", {}, "jklmnopqr")]}
TEXT_CALL = {"role": "assistant", "content": None, "tool_calls": [
    call("get_weather", '{"place": "Oslo"}', "call00001")]}
RESULT = {"role": "tool", "name": "get_weather", "content": "{\"sky\": \"blue\", \"t\": 21.5}",
          "tool_call_id": "call00001"}
RESULT_A = {"role": "tool", "name": "get_weather", "content": "rain", "tool_call_id": "abcdefghi"}
RESULT_B = {"role": "tool", "name": "now", "content": "noon", "tool_call_id": "jklmnopqr"}
RESULT_OBJECT = {"role": "tool", "name": "get_weather", "content": {"sky": "blue", "t": [1, 2.0]},
                 "tool_call_id": "call00001"}


def parts(*texts):
    return [{"type": "text", "text": text} for text in texts]


THOUGHT = {"role": "assistant", "content": "<think>\nLet me add.\n</think>\n\nIt is 4."}
REASONED = {"role": "assistant", "content": "It is 4.", "reasoning_content": "Let me add."}
THINKING = {"role": "assistant", "content": "It is 4.", "thinking": "Let me add."}
PICTURE = {"role": "user", "content": [{"type": "image", "image": "a.png"}, {"type": "text", "text": "What?"}]}

CONVERSATIONS = {
    "one question": [USER],
    "system": [SYSTEM, USER],
    "turns": [USER, ANSWER, UNUSUAL],
    "system and turns": [SYSTEM, USER, ANSWER, USER, ANSWER, UNUSUAL],
    "ends with an answer": [SYSTEM, USER, ANSWER],
    "unusual text": [UNUSUAL],
    "empty text": [{"role": "user", "content": ""}],
    "call": [USER, CALLS],
    "call and result": [SYSTEM, USER, CALLS, RESULT],
    "call, result, answer": [USER, CALLS, RESULT, ANSWER, UNUSUAL],
    "two calls, two results": [SYSTEM, USER, TWO_CALLS, RESULT_A, RESULT_B],
    "two calls, results, answer": [USER, TWO_CALLS, RESULT_A, RESULT_B, ANSWER],
    "a call with its arguments as text": [USER, TEXT_CALL, RESULT, ANSWER],
    "a result that is an object": [USER, CALLS, RESULT_OBJECT],
    "parts": [{"role": "system", "content": parts("Be brief.")},
              {"role": "user", "content": parts("One ", "two")},
              {"role": "assistant", "content": parts("Three")},
              {"role": "user", "content": parts("Four?")}],
    "picture": [PICTURE],
    "thoughts in the text": [USER, THOUGHT, USER],
    "thoughts beside the text": [SYSTEM, USER, REASONED, USER, REASONED],
    "thinking": [USER, THINKING, USER],
    "thoughts and calls": [USER, {**CALLS, "reasoning_content": "I must ask.\n"}, RESULT,
                           {**REASONED, "content": "\n\nIt is 4."}],
    "thinking and calls": [USER, {**CALLS, "thinking": "I must ask."}, RESULT, THINKING],
    "developer": [{"role": "developer", "content": "Be brief."}, USER],
    "switches in the text": [{"role": "system", "content": "/no_think Be brief. /think"},
                             {"role": "user", "content": "Hi /no_think"}],
    "nothing": [],
    "system alone": [SYSTEM],
    "answer first": [ANSWER, USER],
    "two questions": [USER, USER],
    "two systems": [SYSTEM, SYSTEM, USER],
    "unknown role": [USER, {"role": "wizard", "content": "Abracadabra"}],
    "no content": [{"role": "user"}],
    "no role": [{"content": "Hi"}],
    "content is None": [USER, {"role": "assistant", "content": None}],
    "content is a number": [{"role": "user", "content": 5}],
    "result first": [RESULT, USER],
    "long": [SYSTEM] + [m for i in range(20) for m in (
        {"role": "user", "content": f"Question {i}?"}, {"role": "assistant", "content": f"Answer {i}." * i})],
}

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
TOOLS = [WEATHER, NESTED, BARE]

SETTINGS = {
    "plain": {},
    "prompt": {"add_generation_prompt": True},
    "tools": {"add_generation_prompt": True, "tools": TOOLS},
    "one tool": {"tools": [WEATHER]},
    "no thinking": {"add_generation_prompt": True, "enable_thinking": False, "thinking": False},
    "thinking": {"add_generation_prompt": True, "enable_thinking": True, "thinking": True,
                 "tools": TOOLS, "reasoning_effort": "high"},
    "more": {"add_generation_prompt": True, "documents": [{"title": "A", "text": "Some text."},
                                                          {"title": "B", "text": "More <text>."}],
             "builtin_tools": ["wolfram_alpha", "code_interpreter"], "date_string": "1 Jan 2025",
             "custom_tools": TOOLS, "tools_in_user_message": False, "controls": {"length": "long"},
             "citations": True, "keep_past_thinking": True, "clear_thinking": False,
             "preserve_thinking": True, "truncate_history_thinking": False, "add_bos": True,
             "model_identity": "I am a model.", "json_schema": {"b": 1, "a": [True, None]}},
}


def variables():
    """Pairs of a name and what a template is given."""
    for name, messages in CONVERSATIONS.items():
        for setting, given in SETTINGS.items():
            base = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": False}
            yield f"{name}, {setting}", {**base, **TOKENS, **given}

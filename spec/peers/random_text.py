"""Random Unicode for comparisons of tokenizers: scripts, combining marks, emoji, controls, special tokens inside the
text, runs of spaces and digits, words."""

import random
import unicodedata

BLOCKS = (
    [(0x20, 0x7F)] * 6 + [(0xA0, 0x250)] * 3 + [(0x300, 0x370)] * 2
    + [(0x370, 0x590), (0x590, 0x700), (0x900, 0xE00), (0xE00, 0x1000), (0x1100, 0x1200), (0x1E00, 0x2000),
       (0x2000, 0x2070), (0x2070, 0x2C00), (0x3000, 0x3100), (0x3130, 0x3190), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4),
       (0xF900, 0xFB00), (0xFE00, 0x10000), (0x1F300, 0x1FA00), (0x1D400, 0x1D800), (0, 0x20), (0x10000, 0x20000),
       (0x0, 0xD800)]
)
WORDS = """the of and to in is that it was for on are as with his they be at one have this from by hot word but what
some we can out other were all there when up use your how said an each she which do their time if will way about many
don't it's we'll I've you're he'd HELLO World café naïve Straße İstanbul""".split()
SPACES = [" ", "  ", "\n", "\t", "\r\n", " \n ", "\u00a0", "\u3000", "   "]
MARKS = ".,;:!?'\"()-_/\\@#$%^&*+=<>[]{}|~`…—“”"
ODD = ["e\u0301", "a\u0308\u0323", "\u1100\u1161\u11a8", "ﬁ", "①", "½", "ａＢ", "👩‍👩‍👧‍👦", "🇩🇪", "☕️", "ς", "İ",
       "\u200d", "\ufeff", "\u180e", "\u0085", "\u2028", "ſ", "'ſ", "'S", "'LL"]


class RandomText:
    def __init__(self, seed, special=()):
        self.random = random.Random(seed)
        self.special = list(special) or ["<s>"]

    def char(self):
        r = self.random
        while True:
            c = r.randrange(*r.choice(BLOCKS))
            if 0xD800 <= c < 0xE000:
                continue
            if unicodedata.category(chr(c)) == "Cn" and r.random() < 0.97:
                continue
            return chr(c)

    def piece(self):
        r = self.random
        kind = r.randrange(12)
        if kind < 4:
            return (" " if r.random() < 0.8 else "") + r.choice(WORDS)
        if kind == 4:
            return r.choice(SPACES) * r.randrange(1, 4)
        if kind == 5:
            return "".join(r.choice("0123456789") for _ in range(r.randrange(1, 9)))
        if kind == 6:
            return r.choice(self.special)
        if kind == 7:
            return "".join(r.choice(MARKS) for _ in range(r.randrange(1, 4)))
        if kind == 8:
            return r.choice(ODD)
        return "".join(self.char() for _ in range(r.randrange(1, 8)))

    def text(self):
        return "".join(self.piece() for _ in range(self.random.choice([1, 2, 3, 5, 8, 13, 30])))

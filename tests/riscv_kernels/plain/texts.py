"""What the programs about texts compute, in Python: index to up to four words."""

import base64 as codec
import re

from tests.riscv_kernels.plain.drawing import Random

__all__ = ["REFERENCES"]

_TEXTS = [
    "1+2*3", "(1+2)*3", "((7))", "8/(4-4)", "2*(3+(4-1)*5)-6", "(1",
    "12*12*12-1", "", "3+", "5-7", "100/7/2*(9+9)", "1)",
]


def state_machine(index):
    draw = Random(index)
    text = "".join("ab1 2#\n_ "[draw() % 9] for _ in range(30 + index % 20))
    words = comments = numbers = 0
    place = 0
    while place < len(text):
        rest = text[place:]
        if found := re.match(r"[ \n]+", rest):
            mode = 0
        elif found := re.match(r"#[^\n]*(\n|$)", rest):
            comments += 1
            mode = 0 if found[0].endswith("\n") else 3
        elif found := re.match(r"[0-9]+([ \n]|$)", rest):
            numbers += 1
            mode = 0 if found[1] else 2
        elif re.match(r"[0-9]+", rest):
            return words, comments, numbers + 1, 99
        else:
            found = re.match(r"[^ \n]+([ \n]|$)", rest)
            words += 1
            mode = 0 if found[1] else 1
        place += found.end()
    return words, comments, numbers, mode


def string_search(index):
    draw = Random(index)
    text = "".join("abc"[draw() % 3] for _ in range(39))
    wanted = "".join("abc"[draw() % 3] for _ in range(1 + index % 3))
    return text.find(wanted), len(re.findall(f"(?={wanted})", text))


def base64(index):
    draw, length = Random(index), 4 * (index % 4) + (index % 7 == 6)
    text = ["AZaz09+/QmXw7b"[draw() % 14] for _ in range(length)]
    if length >= 4 and index % 5 < 2:
        text[-1] = "="
    if length >= 4 and index % 3 == 0:
        text[-2] = "="
    if index % 11 == 10 and length:
        text[draw() % length] = "?"
    if length % 4:
        return -1, 0
    wrong = re.search(r"\?|=(?!=?$)", "".join(text))
    if wrong:
        # The letter behind an early padding is what is wrong.
        early = wrong[0] == "=" and wrong.start() >= length - 2
        return (-3 if early and text[-1] != "?" else -2), 0
    word = 0
    decoded = codec.b64decode("".join(text))
    for byte in decoded:
        word = word * 257 + byte
    return len(decoded), word


def utf8(index):
    starts, draw = [0x61, 0x7A, 0xC3, 0xE2, 0xF0, 0x80, 0xC3, 0xE2], Random(index)
    text = []
    for i in range(24):
        start = i % 3 == 0 or draw() % 8 == 0
        text.append(starts[draw() % 8] if start else 0x80 + draw() % 64)
    good = bad = word = at = 0
    while at < 24:
        first = text[at]
        more = 0 if first < 0x80 else 3 if first >= 0xF0 else 2 if first >= 0xE0 else 1 if first >= 0xC0 else None
        at += 1
        if more is None:
            bad += 1
            continue
        tail = []
        while len(tail) < more and at < 24 and text[at] & 0xC0 == 0x80:
            tail.append(text[at] & 0x3F)
            at += 1
        if len(tail) < more:
            bad += 1
            if bad > 6:
                return good, bad, word, 1
            continue
        value = first & (0x7F, 0x1F, 0x0F, 0x07)[more]
        for six in tail:
            value = value << 6 | six
        good, word = good + 1, word * 17 + value
    return good, bad, word, 0


class _Expression:
    """A parser of sums: ``ValueError`` with the number of the error."""

    def __init__(self, text):
        self.tokens = [*re.findall(r"[0-9]+|.", text), ""]

    def factor(self):
        token = self.tokens.pop(0)
        if token == "(":
            value = self.sum()
            if self.tokens.pop(0) != ")":
                raise ValueError(1)
            return value
        if not token.isdigit():
            raise ValueError(2)
        return int(token)

    def product(self):
        value = self.factor()
        while self.tokens[0] in ("*", "/"):
            multiplied, right = self.tokens.pop(0) == "*", self.factor()
            if not multiplied and not right:
                raise ValueError(3)
            value = value * right if multiplied else value // right
        return value

    def sum(self):
        value = self.product()
        while self.tokens[0] in ("+", "-"):
            value += self.product() if self.tokens.pop(0) == "+" else -self.product()
        return value


def expression(index):
    parser = _Expression(_TEXTS[index % 12])
    try:
        value = parser.sum()
    except ValueError as error:
        return 0, error.args[0]
    return (0, 4) if parser.tokens[0] else (value + index, 0)


def brackets(index):
    draw, stack, pushes = Random(index), [], 0
    for i in range(24):
        drawn = draw()
        letter = "()[]{}"[drawn % 6]
        if drawn % 11 < 7 and stack and letter in ")]}":
            letter = {"(": ")", "[": "]", "{": "}"}[stack[-1]]
        if letter in "([{":
            if len(stack) == 8:
                return 1, i, pushes, 8
            stack.append(letter)
            pushes += 1
        elif not stack or stack[-1] + letter not in ("()", "[]", "{}"):
            return 2, i, pushes, len(stack)
        else:
            stack.pop()
    return 3 if stack else 0, 24, pushes, len(stack)


REFERENCES = {
    function.__name__: function for function in (
        base64, brackets, expression, state_machine, string_search, utf8
    )
}

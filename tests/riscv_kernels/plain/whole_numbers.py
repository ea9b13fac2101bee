"""What the programs about numbers and games compute, in Python: index to up to four words."""

import itertools
import math
from functools import cache

from tests.riscv_kernels.plain.drawing import Random, signed

__all__ = ["REFERENCES"]


def collatz(index):
    numbers = [index * 7 + 1]
    while numbers[-1] != 1:
        numbers.append(3 * numbers[-1] + 1 if numbers[-1] % 2 else numbers[-1] // 2)
    return len(numbers) - 1, max(numbers)


def gcd(index):
    draw = Random(index)
    a, b = draw() % 1000 + 1, draw() % 1000 + 1
    turns, x, y = 0, a, b
    while x != y:
        x, y = max(x, y) - min(x, y), min(x, y)
        turns += 1
    return math.gcd(a, b), math.lcm(a, b), turns, math.gcd(a, b)


def _is_prime(n):
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


def primes(index):
    found = [n for n in range(2, 30 + index) if _is_prime(n)]
    following = next(n for n in itertools.count(index) if _is_prime(n))
    return len(found), found[-1], _is_prime(index * 3 + 1), following - index


def queens(index):
    n = 4 + index % 3
    return (sum(
        columns[0] == index // 3 % n and all(
            abs(columns[a] - columns[b]) != b - a for a, b in itertools.combinations(range(n), 2)
        ) for columns in itertools.permutations(range(n))
    ),)


def permutations(index):
    count = 2 + index % 4
    values = list(itertools.accumulate(((index >> i & 1) + i for i in range(count)), max))
    numbers = {int("".join(map(str, order))) for order in itertools.permutations(values)}
    return len(numbers), sum(number for number in numbers if number % 3 == 0)


def _fits(grid, cell, digit):
    row, column = divmod(cell, 4)
    return not any(value == digit for other, value in enumerate(grid) if (
        other // 4 == row or other % 4 == column or (other // 8 == row // 2 and other % 4 // 2 == column // 2)
    ))


def sudoku(index):
    draw, grid, turns = Random(index), [0] * 16, 0
    for _ in range(9 + index % 5):
        cell, digit = draw() % 16, draw() % 4 + 1
        if not grid[cell] and _fits(grid, cell, digit):
            grid[cell] = digit

    def solve():
        nonlocal turns
        if 0 not in grid:
            return 1
        cell, found = grid.index(0), 0
        turns += 1
        for digit in range(1, 5):
            if _fits(grid, cell, digit):
                grid[cell] = digit
                found += solve()
                grid[cell] = 0
                if found >= 3:
                    break
        return found

    return solve(), turns


def knapsack(index):
    draw, room = Random(index), 10 + index % 31
    items = [(1 + draw() % 12, draw() % 50) for _ in range(3 + index % 5)]
    sums = [
        (sum(weight for weight, _ in chosen), sum(value for _, value in chosen))
        for count in range(len(items) + 1) for chosen in itertools.combinations(items, count)
    ]
    best = max(value for weight, value in sums if weight <= room)
    return best, min(weight for weight, value in sums if weight <= room and value == best)


def life(index):
    draw = Random(index)
    alive = {(y, x) for y in range(8) for row in [draw() & draw()] for x in range(8) if row >> x & 1}
    turn, before = -1, None
    while turn < 2 and alive and alive != before:
        turn += 1
        count = {
            (y, x): sum(
                ((y + dy) % 8, (x + dx) % 8) in alive for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)
            ) for y in range(8) for x in range(8)
        }
        before, alive = alive, {cell for cell, n in count.items() if n == 3 or (n == 2 and cell in alive)}
    mixed = 0
    for y in range(8):
        mixed = mixed * 257 + sum(1 << x for x in range(8) if (y, x) in alive)
    return len(alive), turn, mixed


def cycle(index):
    seen, x = {}, 2
    while x not in seen:
        seen[x] = len(seen)
        x = (x * x + index) % 97
    return seen[x], len(seen) - seen[x]


def function_table(index):
    x = index * 37
    return x.bit_count(), math.isqrt(x), sum(map(int, str(x)))


@cache
def _fibonacci(n):
    return n if n < 2 else _fibonacci(n - 1) + _fibonacci(n - 2)


def calls(index):
    m, n = index % 3, index % 4
    return (
        index % 17 % 2 == 0 if index % 3 else index % 13 % 2 == 1,
        (n + 1, n + 2, 2 * n + 3)[m],
        _fibonacci(index % 9) if index % 2 else 3 ** (index % 11),
        sum(2 ** _fibonacci(i) for i in range(index % 5) if i * i % 3 == 1),
    )


def long_division(index):
    x, total, turns = (0x123456789ABCDEF * (index + 1)) % 2**64, 0, 0
    divisor = 10 if index % 4 == 0 else ((index << index % 40) % 2**64 | 3)
    while x and turns < 12:
        total = (total + x % divisor) % 2**64
        x //= divisor
        turns += 1
    return total, total >> 32, turns, -((total >> 1) // (index + 1))


def dates(index):
    day, year = index * 523 + 59, 1970

    def lengths(year):
        leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
        return [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    while day >= sum(lengths(year)):
        day -= sum(lengths(year))
        year += 1
    for month, length in enumerate(lengths(year), 1):
        if day < length:
            return year, month, day + 1
        day -= length
    raise AssertionError


def decimal(index):
    draw = Random(index)
    high = draw()
    value = signed(high << 16 | draw()) >> (index % 30)
    text = list(str(value))
    length = len(text)
    if index % 8 == 7:
        text[length // 2] = "x"
    if index % 8 == 3:
        text = []
    again, status = 0, 0 if text else -2
    for place, letter in enumerate(text):
        if letter == "-" and place == 0:
            continue
        if not letter.isdigit():
            status = -1
            break
        again = again * 10 + (-1 if text[0] == "-" else 1) * int(letter)
    return length, status, again


REFERENCES = {
    function.__name__: function for function in (
        calls, collatz, cycle, dates, decimal, function_table, gcd, knapsack, life, long_division, permutations, primes,
        queens, sudoku,
    )
}

"""What the programs in float compute, in numpy: index to up to four words, bit by bit."""

import numpy as np

from tests.riscv_kernels.plain.drawing import F, Random, bits

__all__ = ["REFERENCES"]


def mandelbrot(index):
    cx, cy = F(index % 16) * F(0.1875) - F(2), F(index // 16) * F(0.25) - F(1)
    x = y = F(0)
    for n in range(51):
        xx, yy = x * x, y * y
        if n == 50 or xx + yy > F(4):
            return n, bits(x), bits(y)
        y = F(2) * x * y + cy
        x = xx - yy + cx
    raise AssertionError


def ray_march(index):
    dx, dy = F(index % 8) * F(0.125) - F(0.5), F(index // 8) * F(0.125) - F(0.5)
    length = np.sqrt(dx * dx + dy * dy + F(1))
    step = (dx / length, dy / length, F(1) / length)
    x, y, z = F(0), F(0), F(0)
    for steps in range(40):
        bz = z - F(3)
        ball, plane = np.sqrt(x * x + y * y + bz * bz) - F(1), F(5) - z
        distance = min(ball, plane)
        if distance < F(0.01):
            return steps, 1 if ball < plane else 2, bits(z)
        x, y, z = x + step[0] * distance, y + step[1] * distance, z + step[2] * distance
    return 40, 0, bits(z)


def determinant(index):
    draw, n = Random(index), 2 + index % 3
    m = np.array([[draw() % 7 - 3 for _ in range(n)] for _ in range(n)], F)
    result, swaps = F(1), 0
    for column in range(n):
        pivot = column + int(np.argmax(np.abs(m[column:, column])))
        if m[pivot, column] == 0:
            return bits(0), swaps
        if pivot != column:
            m[[pivot, column]] = m[[column, pivot]]
            result, swaps = -result, swaps + 1
        result = result * m[column, column]
        for i in range(column + 1, n):
            m[i, column:] -= m[i, column] / m[column, column] * m[column, column:]
    return bits(result), swaps


def newton(index):
    wanted = F(index) * F(3.5)
    x = max(wanted, F(1))
    for turn in range(60):
        following = F(0.5) * (x + wanted / x)
        change, x = following - x, following
        if abs(change) <= F(1e-6) * x:
            return bits(x), turn
        if x < F(1e-6):
            return bits(0), turn
    return bits(x), 59


def monte_carlo(index):
    draw = Random(index)
    inside = counted = tried = 0
    while counted < 40 + index % 9:
        x = F(draw()) * F(1 / 65536)
        y = F(draw()) * F(1 / 65536)
        square = x * x + y * y
        tried += 1
        if square >= F(0.01):
            counted += 1
            inside += square < F(1)
    return inside, counted, tried, bits(F(inside) * F(4) / F(counted))


def bisection(index):
    a, b = F(index % 7) - F(3), F(index % 11) * F(0.5) - F(2)

    def f(x):
        return x * x * x + a * x + b

    low, high, turns = F(-2), F(2), 0
    if f(low) > 0 or f(high) < 0:
        return 0, 1000
    while True:
        middle = (low + high) * F(0.5)
        value = f(middle)
        if value == 0 or high - low < F(0.001) or turns >= 30:
            return bits(middle), turns
        low, high = (low, middle) if value > 0 else (middle, high)
        turns += 1


REFERENCES = {
    function.__name__: function for function in (bisection, determinant, mandelbrot, monte_carlo, newton, ray_march)
}

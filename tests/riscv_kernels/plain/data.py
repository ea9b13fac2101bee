"""What the programs about arrays, lists and texts compute, in Python: index to up to four words."""

import itertools
from bisect import bisect_left

from tests.riscv_kernels.plain.drawing import Random, mixed

__all__ = ["REFERENCES"]

_TABLE = [3, 7, 8, 15, 16, 23, 42, 43, 50, 61, 62, 63, 70, 88, 90, 91, 99, 104, 110, 111, 120, 126, 127]
_EDGES = [
    0x0012, 0x0021, 0x0008, 0x0404, 0x0101, 0x0002, 0x00C0, 0x0040,
    0x8010, 0x0200, 0x1008, 0x0000, 0x6400, 0x1000, 0x1000, 0x0100,
]


def binary_search(index):
    places = [bisect_left(_TABLE, wanted) for wanted in (index, 2 * index)]
    return [
        place if place < len(_TABLE) and _TABLE[place] == wanted else -place - 1
        for place, wanted in zip(places, (index, 2 * index), strict=True)
    ]


def bfs(index):
    distance = {index % 16: 0}
    for node in (queue := [index % 16]):
        if distance[node] < 2 + index // 16:
            for other in range(16):
                if _EDGES[node] >> other & 1 and other not in distance:
                    distance[other] = distance[node] + 1
                    queue.append(other)
    return len(queue), sum(distance.values()), queue[-1]


def quicksort_stack(index):
    draw = Random(index)
    return [*mixed(sorted(draw() % 100 for _ in range(5 + index % 16))), 1]


def quicksort(index):
    draw = Random(index * 3 + 1)
    return mixed(sorted(draw() % 100 for _ in range(1 + index % 17)))


def heap_sort(index):
    draw = Random(index + 99)
    return mixed(sorted(draw() % 100 for _ in range(index % 21)))


def insertion_sort(index):
    draw = Random(index + 7)
    values = [draw() % 100 for _ in range(index % 13)]
    moves = sum(a > b for a, b in itertools.combinations(values, 2))
    return [*mixed(sorted(values)), moves]


def hash_table(index):
    draw, table, probes = Random(index), {}, 0
    for n in range(6 + index % 8):
        key = draw() % 24 + 1
        place = key * 5 & 15
        while table.get(place, (key,))[0] != key:
            place, probes = place + 1 & 15, probes + 1
        table[place] = (key, table.get(place, (key, 0))[1] + n)
    return probes, sum(value for _, value in table.values()), max(key for key, _ in table.values()), 24 - len(table)


def edit_distance(index):
    draw, m, n = Random(index), index % 10, index // 3 % 10
    a, b = [draw() & 3 for _ in range(m)], [draw() & 3 for _ in range(n)]
    row = list(range(n + 1))
    for i in range(m):
        new = [i + 1]
        for j in range(n):
            new.append(min(row[j] + (a[i] != b[j]), row[j + 1] + 1, new[j] + 1))
        row = new
    return (row[n],)


def run_length(index):
    draw, values = Random(index), []
    for i in range(index % 41):
        values.append((values[-1] if i else 5) if draw() % 4 else draw() % 6)
    packed = []
    for value, group in itertools.groupby(values):
        length = len(list(group))
        packed += [byte for start in range(0, length, 9) for byte in (min(9, length - start), value)]
    word = 0
    for byte in packed:
        word = word * 31 + byte
    return len(packed), len(values), word, 0


def linked_list(index):
    draw = Random(index)
    values = [value for value in {draw() % 20 for _ in range(index % 13)} if value % 3 != index % 3]
    word = 0
    for value in sorted(values, reverse=True):
        word = word * 21 + value
    return len(values), word


def union_find(index):
    draw, group, useless = Random(index), list(range(16)), 0
    for _ in range(4 + index % 11):
        a, b = group[draw() % 16], group[draw() % 16]
        useless += a == b
        group = [a if one == b else one for one in group]
    return len(set(group)), useless, max(map(group.count, group))


def binary_tree(index):
    draw, depths = Random(index), {}
    for _ in range(1 + index % 14):
        key = draw() % 40
        if key not in depths:
            below = max((one for one in depths if one < key), default=None)
            above = min((one for one in depths if one > key), default=None)
            depths[key] = 1 + max(depths.get(below, 0), depths.get(above, 0))
    word = 0
    for key in sorted(depths):
        word = word * 31 + key
    return word, max(depths.values()), len(depths)


def interpreter(index):
    """The program doubles and adds 3, n times: 13 turns each. Then it adds the 0 that is left of n: 4 turns."""
    value, n = index, index % 9
    if 13 * n + 4 <= 90:
        for _ in range(n):
            value = 2 * value + 3
        return value, 13 * n + 4, 1, 0
    for _ in range(6):
        value, n = 2 * value + 3, n - 1
    # 12 turns more: all but the jump back.
    return n - 1, 91, 2, 1


REFERENCES = {
    function.__name__: function for function in (
        bfs, binary_search, binary_tree, edit_distance, hash_table, heap_sort, insertion_sort, interpreter, linked_list,
        quicksort, quicksort_stack, run_length, union_find,
    )
}

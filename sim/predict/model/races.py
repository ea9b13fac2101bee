"""Detect whether the order of issue changes a value: each load must read from the same stores as in the recording.

The golden model recorded the program in an order of its own. If every load of the predicted run reads each byte from
the same store as there, all values and all paths of the warps are the same, and the prediction is valid. If not, the
golden model must run in step with the prediction (sim.predict.stepping).

Only words that several warps touch and at least one writes can differ; they are numbered here.
"""

import numpy as np

from ...machine.events import NONE
from .compiled import inlined, kept

__all__ = ["between_sms", "find", "mark_shared", "note_accesses", "number_words", "see", "table_of", "trace"]

#: Owners of a word while the table is built: no warp, or several.
_NOBODY, _SEVERAL = -1, -2
_MIX = np.uint64(0x9E3779B97F4A7C15)


@inlined
def find(words, word):
    """Return the place of a word in a hash table, or the free place where it would go."""
    size = len(words)
    place = (word * 0x9E3779B1 & 0xFFFF_FFFF) % size
    while words[place] != word and words[place] != NONE:
        place = place + 1 if place + 1 < size else 0
    return place


@kept
def number_words(warps, masks, sizes, stores, addresses, capacity):
    """Find the words that several warps touch and at least one writes.

    Each access has a warp, a mask of lanes, a size and a store flag; ``addresses`` has shape (accesses, threads).

    Returns a hash table of these words and all words that are stored to; both are empty if ``capacity`` is too small.
    """
    words = np.full(capacity, NONE, np.int64)
    owner = np.full(capacity, _NOBODY, np.int64)
    written = np.zeros(capacity, np.uint8)
    count = 0
    for access in range(len(warps)):
        for lane in range(addresses.shape[1]):
            if masks[access] >> lane & 1:
                place = find(words, np.int64(addresses[access, lane]) >> 2)
                if words[place] == NONE:
                    words[place] = np.int64(addresses[access, lane]) >> 2
                    owner[place] = warps[access]
                    count += 1
                    if 2 * count > capacity:
                        return words[:0], words[:0]
                elif owner[place] != warps[access]:
                    owner[place] = _SEVERAL
                written[place] |= stores[access]
    shared = 0
    all_stored = np.empty(count, np.int64)
    stored = 0
    for place in range(capacity):
        if written[place]:
            all_stored[stored] = words[place]
            stored += 1
            shared += owner[place] == _SEVERAL
    table = np.full(2 * shared + 1, NONE, np.int64)
    for place in range(capacity):
        if written[place] and owner[place] == _SEVERAL:
            table[find(table, words[place])] = words[place]
    return table, all_stored[:stored]


@kept
def table_of(words):
    """Return different words as a hash table."""
    table = np.full(2 * len(words) + 1, NONE, np.int64)
    for number in range(len(words)):
        table[find(table, words[number])] = words[number]
    return table


@kept
def note_accesses(words, owners, addresses, sm):
    """Note in ``owners``, for each place of the hash table ``words``, whether one SM or several access that word."""
    for number in range(len(addresses)):
        place = find(words, np.int64(addresses[number]) >> 2)
        if words[place] != NONE and owners[place] != sm:
            owners[place] = sm if owners[place] == _NOBODY else _SEVERAL


@kept
def mark_shared(words, owners, addresses, marks):
    """Mark the accesses to words that several SMs access."""
    for number in range(len(addresses)):
        place = find(words, np.int64(addresses[number]) >> 2)
        marks[number] = words[place] != NONE and owners[place] == _SEVERAL


@kept
def between_sms(epochs, addresses, sizes, stores, sms, capacity):
    """Return whether two SMs access a byte in one epoch, and at least one of them stores to it.

    The accesses, of a lane each, are in the order of their epochs. Returns NONE if ``capacity`` is too small.
    """
    count = 0
    words = np.full(capacity, NONE, np.int64)
    # The epoch of a word's latest accesses, and the SMs that then read and wrote each of its bytes.
    when = np.full(capacity, NONE, np.int64)
    reader, writer = np.full(4 * capacity, _NOBODY, np.int64), np.full(4 * capacity, _NOBODY, np.int64)
    for number in range(len(epochs)):
        sm = sms[number]
        place = find(words, addresses[number] >> 2)
        if words[place] == NONE:
            words[place] = addresses[number] >> 2
            count += 1
            if 2 * count > capacity:
                return NONE
        if when[place] != epochs[number]:
            when[place] = epochs[number]
            for at in range(4 * place, 4 * place + 4):
                reader[at] = writer[at] = _NOBODY
        for byte in range(addresses[number] & 3, (addresses[number] & 3) + sizes[number]):
            at = 4 * place + byte
            if writer[at] not in (_NOBODY, sm) or (stores[number] and reader[at] not in (_NOBODY, sm)):
                return 1
            if stores[number]:
                writer[at] = sm
            else:
                reader[at] = sm if reader[at] in (_NOBODY, sm) else _SEVERAL
    return 0


@inlined
def see(shared, writers, addresses, row, mask, size, store, writer):
    """Make a store the writer of its bytes, or return a hash of the stores that wrote the bytes of a load."""
    seen = np.uint64(0)
    for lane in range(addresses.shape[1]):
        if mask >> lane & 1 == 0:
            continue
        address = np.int64(addresses[row, lane])
        place = find(shared, address >> 2)
        if shared[place] == NONE:
            continue
        for byte in range(address & 3, (address & 3) + size):
            at = 4 * place + byte
            if store:
                writers[at] = writer
            else:
                seen = (seen ^ np.uint64(writers[at] + 1)) * _MIX
                seen ^= seen >> np.uint64(29)
    return seen


@kept
def trace(warps, masks, sizes, stores, addresses, writers_of, shared, writers, marks, sees):
    """Go through all accesses in the golden model's order, and fill ``marks``, ``sees`` and ``writers``.

    ``marks``: whether an access touches a shared word; ``sees``: the result of :func:`see`; ``writers_of``: a number
    for each access that does not depend on the order.
    """
    for access in range(len(warps)):
        touches = 0
        for lane in range(addresses.shape[1]):
            if masks[access] >> lane & 1:
                if shared[find(shared, np.int64(addresses[access, lane]) >> 2)] != NONE:
                    touches = 1
        marks[access] = touches
        if touches:
            sees[access] = see(
                shared, writers, addresses, access, masks[access], sizes[access], stores[access], writers_of[access]
            )

"""The order of the tests: the group with the longest build goes first, so that no process waits for it at the end."""

FIRST = "PAPER"


def pytest_collection_modifyitems(items):
    def group(item):
        mark = item.get_closest_marker("xdist_group")
        return mark.args[0] if mark and mark.args else None

    items.sort(key=lambda item: group(item) != FIRST)

"""Views: what a thread, or a message, knows of each variable.

A view has a number for each entry: for an atomic the index of the newest write that is known, for a
plain variable the number of writes that are known, and of each thread's reads. Views are numbered,
and what is made of them is remembered.
"""

EMPTY = 0


class Views:
    """All views of an exploration. A view is the index of a tuple in `known`."""

    def __init__(self, entries: int) -> None:
        self.known: list[tuple[int, ...]] = [(0,) * entries]
        self._number = {self.known[0]: EMPTY}
        self._joined: dict[tuple[int, int], int] = {}
        self._raised: dict[tuple[int, int, int], int] = {}
        self._shifted: dict[tuple[int, int, int], int] = {}

    def _number_of(self, view: tuple[int, ...]) -> int:
        number = self._number.setdefault(view, len(self.known))
        if number == len(self.known):
            self.known.append(view)
        return number

    def join(self, one: int, other: int) -> int:
        """What either knows."""
        if one == other or other == EMPTY:
            return one
        if one == EMPTY:
            return other
        key = (one, other) if one < other else (other, one)
        if (found := self._joined.get(key)) is None:
            found = self._number_of(tuple(map(max, self.known[one], self.known[other])))
            self._joined[key] = found
        return found

    def raise_to(self, view: int, entry: int, value: int) -> int:
        """The view with at least this value of an entry."""
        if self.known[view][entry] >= value:
            return view
        key = (view, entry, value)
        if (found := self._raised.get(key)) is None:
            numbers = list(self.known[view])
            numbers[entry] = value
            found = self._raised[key] = self._number_of(tuple(numbers))
        return found

    def shift(self, view: int, entry: int, index: int) -> int:
        """The view after a write has got this index, which those from there on move away from."""
        if self.known[view][entry] < index:
            return view
        key = (view, entry, index)
        if (found := self._shifted.get(key)) is None:
            numbers = list(self.known[view])
            numbers[entry] += 1
            found = self._shifted[key] = self._number_of(tuple(numbers))
        return found

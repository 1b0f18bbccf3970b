"""A capture in which some things are other ones: what a file may say that no program has done."""

import json
from binascii import crc32
from copy import deepcopy
from random import Random
from typing import Any

from nnapi_shim.recording import container
from nnapi_shim.recording.vocabulary import PARAMETERS, RUNS
from tests.fuzz.capture_bases import Base, Entry

MARK = "zqx"
"""Is in every text that says something else, and in nothing else of a capture."""

TEXTS = (
    f"{MARK}",
    f"0); {MARK}(); (0",
    f"0, &memory_1_bytes); {MARK}(",
    f"*/ int {MARK}(void); /*",
    f'"; {MARK}(); "',
    f'\\"; {MARK}(); //',
    f"\n{MARK}()\n#include <{MARK}>",
    f"??/{MARK}??/",
    f"%s{MARK}%n",
    f'""" + {MARK}() + """',
    f"' + {MARK}() + '",
    f"\ud800{MARK}",
    f"\x1b[2J{MARK}\0",
    f"memory {MARK}",
    f"{MARK}_" * 2000,
)
SANE_TEXTS = ("", "set", "ADD", "INT32", "TENSOR_FLOAT32", "BOOL", "|u1", "<f4", "0" * 64, "00")
HANDLES = ("model 1", "model 99", "event 1", "event 99", "memory 99", "device 3", "device 0", "0x0")
HANDLES += ("execution 1", "compilation 1", "burst 1", "memory descriptor 1", "0xffffffffffffffff")
HANDLES += ("0x8100000000000001", "model 0", "model 000000000001", "memory 1")
NUMBERS = tuple(
    sign * (number + more)
    for number in (0, 1, 255, 1 << 10, 1 << 16, 1 << 31, 1 << 32, 1 << 40, 1 << 63, 1 << 64)
    for more in (-1, 0, 1)
    for sign in (1, -1)
) + (3, 4, 7, 100_000, 10**400)
OTHERS: tuple[Any, ...] = (None, True, False, 0.5, 1e308, 1e39, 3e38, 5e-324, -0.0)
OTHERS += (float("nan"), float("inf"), float("-inf"), [], [0], [[]], {}, {MARK: MARK}, [None])
OTHERS += ({"count": 3}, {"at": "0x10"}, {"dtype": "|u1", "shape": [1], "hex": "00"}, [MARK])
LONG = 70_000
"""Elements of a list that is said to be longer than what there is."""


def nasty(choose: Random, known: list[str]) -> Any:
    """Any value. known: handles of the capture."""
    kind = choose.random()
    if kind < 0.3:
        return choose.choice(TEXTS)
    if kind < 0.6:
        return choose.choice(NUMBERS)
    if kind < 0.8:
        return deepcopy(choose.choice(OTHERS))
    if kind < 0.95:
        return choose.choice((*HANDLES, *known))
    return choose.choice(SANE_TEXTS)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a value: what holds it, and its key or index there."""
    actual: list[tuple[Any, Any]] = []
    waiting = [value] if isinstance(value, dict | list) else []
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(min(len(holder), 40))
        for key in keys:
            actual.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return actual


def _arguments(entry: Entry) -> Entry:
    given = entry.get("arguments")
    return given if isinstance(given, dict) else {}


class Changed:
    """A copy of a base to which changes are made, all of them chosen by a seed; None: none."""

    def __init__(self, base: Base, choose: Random | None) -> None:
        self.manifest = json.loads(base.text[0])
        self.entries: list[Entry] = json.loads(base.text[1])
        self.arrays = dict(base.arrays)
        self.has_end = True
        if choose is None:
            return
        self.has_end = choose.random() < 0.9
        self._choose = choose
        self._known = base.handles
        if choose.random() < 0.2:
            self._store_as_arrays()
        for _ in range(choose.choice((1, 1, 1, 2, 2, 3, 5))):
            changes = (self._value,) * 8 + (self._result, self._result, self._key, self._missing)
            changes += (self._list, self._call, self._call, self._function, self._contents)
            choose.choice((*changes, self._outside, self._room, self._room))()

    def _entry(self) -> Entry:
        return self._choose.choice(self.entries) if self.entries else {}

    def _value(self) -> None:
        """Something of a call is something else."""
        places = _places(self._entry())
        if places:
            holder, key = self._choose.choice(places)
            holder[key] = nasty(self._choose, self._known)

    def _result(self) -> None:
        """What a call gave is something else, or missing."""
        entry, choose = self._entry(), self._choose
        name = choose.choice(("result", "results", "end", "outputs", "of", "memories", "inputs"))
        if choose.random() < 0.5:
            entry.pop(name, None)
        elif name == "result":
            entry[name] = choose.choice((0, 1, 4, 5, 14, -1, None, MARK, 1 << 40))
        elif name in ("results", "outputs", "inputs", "memories"):
            places = _places(entry.get(name, {}))
            if places:
                holder, key = choose.choice(places)
                if isinstance(holder, dict) and choose.random() < 0.4:
                    del holder[key]
                else:
                    holder[key] = nasty(choose, self._known)
        else:
            entry[name] = nasty(choose, self._known)

    def _key(self) -> None:
        """An argument that the function does not have, or another part of a call."""
        entry, choose = self._entry(), self._choose
        names = [item.name for given in PARAMETERS.values() for item in given]
        names += ["size", "of", "memories", "outputs", "inputs", "result", MARK]
        value = nasty(choose, self._known)
        target = entry.get("arguments") if choose.random() < 0.7 else entry
        if choose.random() < 0.2:
            target = entry.get("results")
        if isinstance(target, dict):
            target.setdefault(choose.choice(names), value)

    def _missing(self) -> None:
        places = _places(self._entry())
        if places:
            holder, key = self._choose.choice(places)
            del holder[key]

    def _list(self) -> None:
        """A list that is longer, shorter, or much longer."""
        choose = self._choose
        lists = [h[k] for e in self.entries for h, k in _places(e) if isinstance(h[k], list)]
        if not lists:
            return
        actual = choose.choice(lists)
        what = choose.random()
        if what < 0.3:
            del actual[choose.randrange(len(actual) + 1) :]
        elif what < 0.6:
            actual.append(nasty(choose, self._known))
        elif what < 0.8:
            actual += deepcopy(actual)
        elif what < 0.85:
            actual += [1] * LONG
        else:
            choose.shuffle(actual)

    def _call(self) -> None:
        """A line that is missing, there twice, or elsewhere."""
        choose, entries = self._choose, self.entries
        if not entries:
            return
        at, other = choose.randrange(len(entries)), choose.randrange(len(entries))
        what = choose.random()
        if what < 0.4:
            del entries[at]
        elif what < 0.6:
            entries.insert(other, deepcopy(entries[at]))
        elif what < 0.8:
            copy = deepcopy(entries[at])
            numbers = [e["call"] for e in entries if type(e.get("call")) is int]
            copy["call"] = max(numbers, default=0) + 1
            entries.append(copy)
        else:
            first, second = entries[at], entries[other]
            first["call"], second["call"] = second.get("call"), first.get("call")

    def _room(self) -> None:
        """An argument that is set once more, elsewhere or with another length, and contents that
        are longer: lies that fit together.
        """
        choose = self._choose
        calls = [e for e in self.entries if "Execution_set" in str(e.get("function"))]
        calls = [e for e in calls if "index" in _arguments(e)]
        if not calls:
            return
        call = choose.choice(calls)
        given = call["arguments"]
        if choose.random() < 0.5:
            behind = 1 + next(at for at, entry in enumerate(self.entries) if entry is call)
            call = deepcopy(call)
            given = call["arguments"]
            self.entries.insert(behind, call)
            for number, entry in enumerate(self.entries, 1):
                if "function" in entry:  # the ends of calls that have two lines go with them
                    old, entry["call"] = entry.get("call"), number
                    for other in self.entries[number:]:
                        if "function" not in other and other.get("call") == old:
                            other["call"] = number
                            break
        length = choose.choice((0, 0, 1, 64, 4096, 1 << 33))
        given["length"] = length
        if "offset" in given:
            given["offset"] = choose.choice((1, 4, 64, 4032, 4095))
        size = choose.choice((1, 16, 4096, 5000))
        blob = {"dtype": "|u1", "shape": [size], "hex": "00" * size}
        name = "inputs" if "Input" in call["function"] else "outputs"
        for entry in self.entries:
            of = entry.get("of") if name == "outputs" else _arguments(entry).get("execution")
            actual = entry.get(name)
            for item in actual if isinstance(actual, list) else ():
                is_it = isinstance(item, dict) and item.get("index") == given.get("index")
                if is_it and of == given.get("execution"):
                    item["contents"] = deepcopy(blob)

    def _function(self) -> None:
        choose = self._choose
        runs = choose.random() < 0.2
        name: Any = choose.choice(sorted(RUNS if runs else PARAMETERS))
        self._entry()["function"] = nasty(choose, self._known) if choose.random() < 0.3 else name

    def _contents(self) -> None:
        """Contents that are cut, or say another length."""
        choose = self._choose
        actual = [h[k] for e in self.entries for h, k in _places(e) if isinstance(h[k], dict)]
        blobs = [item for item in actual if "dtype" in item]
        if not blobs:
            return
        blob, what = choose.choice(blobs), choose.random()
        text = blob.get("hex")
        if what < 0.3 and isinstance(text, str):
            blob["hex"] = text[: choose.randrange(len(text) + 1)]
        elif what < 0.5 and isinstance(text, str):
            blob["hex"] = text + choose.choice(("00", "0", " 00", "zz", "00" * 5000))
        elif what < 0.6 and self.arrays:
            name = choose.choice(sorted(self.arrays))
            self.arrays[name] = self.arrays[name][: choose.randrange(len(self.arrays[name]) + 1)]
        elif what < 0.7 and self.arrays:
            self.arrays.pop(choose.choice(sorted(self.arrays)))
        elif what < 0.8:
            blob["array"] = choose.choice((*TEXTS, "manifest.json", "../x", "calls-000001.jsonl"))
            blob.pop("hex", None)
        else:
            key = choose.choice(("dtype", "shape"))
            blob[key] = nasty(choose, self._known)

    def _outside(self) -> None:
        """The manifest."""
        places = _places(self.manifest)
        holder, key = self._choose.choice(places)
        holder[key] = nasty(self._choose, self._known)

    def _store_as_arrays(self) -> None:
        """Contents that stand in lines as members of their own, as larger ones are."""
        for entry in self.entries:
            for said in [holder[key] for holder, key in _places(entry)]:
                if isinstance(said, dict) and isinstance(said.get("hex"), str):
                    data = bytes.fromhex(said.pop("hex"))
                    parts = container.npy(said["dtype"], said["shape"], data)
                    name = container.ARRAYS.format(f"{crc32(b''.join(parts)):032x}")
                    self.arrays[name] = b"".join(parts)
                    said["array"] = name

    def file(self, fd: int) -> None:
        """Write it to a descriptor."""
        writer = container.Writer(fd)
        writer.member(container.MANIFEST, json.dumps(self.manifest).encode())
        for entry in self.entries:
            writer.line(json.dumps(entry, separators=(",", ":")).encode())
        for name, data in self.arrays.items():
            writer.member(name, data)
        if self.has_end:
            writer.close(b"{}")

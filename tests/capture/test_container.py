"""Files that are cut, damaged, later or no captures at all."""

import io
import json
import random
import zipfile

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.capture import load_capture
from nnapi_shim.recording import container
from nnapi_shim.recording.reading import read
from nnapi_shim.tools.replay import replay, write_reproducer


def written(folder, data):
    path = folder / "capture.zip"
    path.write_bytes(data)
    return path


def made(folder, members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return written(folder, file.getvalue())


MANIFEST = json.dumps({"format": container.FORMAT, "version": 1, "devices": []})


def test_a_file_is_read_up_to_where_it_is_cut(example, tmp_path):
    data = example("mobilenet_block").read_bytes()
    whole = read(example("mobilenet_block"))
    counts = []
    for part in range(1, 40):
        capture = None
        path = written(tmp_path, data[: len(data) * part // 40])
        try:
            capture = read(path)
        except NnapiError as error:
            assert part < 3 and "manifest.json" in error.message
            continue
        if capture.is_complete:  # but for the directory
            assert len(capture.calls) == len(whole.calls)
        counts.append(len(capture.calls))
        for call, complete in zip(capture.calls, whole.calls, strict=False):
            assert (call.number, call.function) == (complete.number, complete.function)
            assert call.end in (complete.end, None)
    assert counts == sorted(counts) and counts[-1] > counts[0]


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"format": container.FORMAT, "version": 2}, "format version 2; this nnapi_shim reads up"),
        ({"format": container.FORMAT, "version": "1"}, "format version of '1', which is none"),
        ({"format": "other", "version": 1}, "is no capture"),
        ([], "is no capture"),
    ],
)
def test_manifests(tmp_path, manifest, message):
    path = made(tmp_path, {container.MANIFEST: json.dumps(manifest)})
    with pytest.raises(NnapiError, match=message):
        read(path)


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\3\4", b"something else", b"PK\3\4" * 100])
def test_no_captures(tmp_path, data):
    with pytest.raises(NnapiError, match="is no capture" if data else "is empty"):
        read(written(tmp_path, data))


def test_compressed_captures_are_refused(tmp_path):
    """What is read may take no more memory than the file is large."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(container.MANIFEST, MANIFEST)
        archive.writestr("calls-000001.jsonl", b"\n" * 10_000_000)
    with pytest.raises(NnapiError, match="compressed"):
        read(written(tmp_path, file.getvalue()))


def line(function, number=1, **said):
    return json.dumps({"call": number, "function": function, "end": 1, "result": 0, **said})


TYPE = {"type": 3, "dimensionCount": 1, "dimensions": [2], "scale": 0.0, "zeroPoint": 0}


@pytest.mark.parametrize(
    "call",
    [
        line("ANeuralNetworksModel_create", arguments={"model": "set"}, results={"model": "x; y"}),
        line(
            "ANeuralNetworksModel_addOperand",
            arguments={"model": None, "type": {**TYPE, "dimensionCount": 9}},
        ),
        line("ANeuralNetworksModel_addOperand", arguments={"model": "../x", "type": TYPE}),
        line(
            "ANeuralNetworksModel_setOperandValue",
            arguments={
                "model": None,
                "index": 0,
                "length": 4,
                "buffer": {"dtype": "<f4", "shape": [2], "hex": "00000000"},
            },
        ),
        line(
            "ANeuralNetworksModel_setOperandValue",
            arguments={
                "model": None,
                "index": 0,
                "length": 4,
                "buffer": {"dtype": "|O", "shape": [1], "hex": "00000000"},
            },
        ),
        line("ANeuralNetworksModel_finish", arguments={"model": 1}),
        line("ANeuralNetworksDevice_wait", arguments={"device": "device 9"}),
        line(
            "ANeuralNetworksExecution_getOutputOperandRank",
            arguments={"execution": None, "index": 0, "rank": "set"},
            results={"rank": "many"},
        ),
        "[]",
        "no JSON",
        "[" * 100_000,
    ],
)
def test_calls_that_make_no_sense(tmp_path, call):
    path = made(
        tmp_path,
        {container.MANIFEST: MANIFEST, "calls-000001.jsonl": call + "\n", container.END: "{}"},
    )
    with pytest.raises(NnapiError) as error:
        replay(path)
    assert str(path) in error.value.message and "\n" not in error.value.message


LENGTHS = {
    "data": line(
        "ANeuralNetworksModel_setOperandValue",
        arguments={
            "model": None,
            "index": 0,
            "length": 1 << 40,
            "buffer": {"dtype": "|u1", "shape": [4], "hex": "00000000"},
        },
        result=3,
    ),
    "list": line(
        "ANeuralNetworksModel_addOperation",
        arguments={
            "model": None,
            "type": 0,
            "inputCount": 1000,
            "inputs": [1],
            "outputCount": 1,
            "outputs": [1],
        },
        result=3,
    ),
}


@pytest.mark.parametrize("kind", LENGTHS)
def test_lengths_that_lie_are_refused(tmp_path, kind):
    members = {
        container.MANIFEST: MANIFEST,
        "calls-000001.jsonl": LENGTHS[kind],
        container.END: "{}",
    }
    with pytest.raises(NnapiError, match=r"call 1, .* as many"):
        read(made(tmp_path, members))


def test_what_a_program_should_not_have_said_is_left_out(tmp_path):
    """Lists that were shorter than they were said to be, a buffer without end, another version."""
    values = {"model": None, "type": 0, "outputCount": 1, "outputs": [1]}
    buffer = {"execution": None, "index": 0, "type": None, "buffer": "0x1", "length": 1 << 60}
    calls = [
        line(
            "ANeuralNetworksModel_addOperation",
            arguments={**values, "inputCount": 1000, "inputs": {"count": 1000}},
            result=4,
        ),
        line("ANeuralNetworksExecution_setInput", number=2, arguments=buffer, result=3),
        line("nothing_known", number=3),
    ]
    members = {
        container.MANIFEST: MANIFEST,
        "calls-000001.jsonl": "\n".join(calls),
        container.END: "{}",
    }
    report = replay(made(tmp_path, members))
    assert (report.repeated, len(report.skipped)) == (0, 3)


def test_many_members(tmp_path):
    """More than zip had room for at first; other tools read it, too."""
    path = tmp_path / "capture.zip"
    with path.open("wb") as file:
        writer = container.Writer(file.fileno())
        writer.member(container.MANIFEST, MANIFEST.encode())
        for number in range(66_000):
            writer.member(f"arrays/{number}.npy", b"")
        writer.line(line("nothing").encode())
        writer.close(b"{}")
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 66_003
    capture = read(path)
    assert capture.is_complete and len(capture.calls) == 1


@pytest.mark.parametrize("seed", range(60))
def test_damaged_captures(example, tmp_path, seed):
    """A byte or two elsewhere: a capture, or one clear line; never another end."""
    choose = random.Random(seed)
    data = bytearray(example("simple_add").read_bytes())
    for _ in range(choose.randint(1, 4)):
        if choose.random() < 0.3:
            at = choose.randrange(len(data))
            del data[at : at + choose.randint(1, 300)]
        else:
            data[choose.randrange(len(data))] = choose.randrange(256)
    path = written(tmp_path, bytes(data))
    for use in (read, replay, load_capture):
        try:
            use(path)
        except NnapiError as error:
            assert "\n" not in error.message


EXTREMES = [0, 1, -1, 3, 1 << 31, 1 << 40, 1 << 64, 0.5, float("inf"), None, True, "", [], {}]
EXTREMES += ["model 1", "memory 1", "event 1", "device 9", "0x10", "INT32", "ADD", "set", [1]]


def changed(value, choose, part):
    """A value in which some things are missing, there twice, or something else."""
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if choose.random() > part / 4}
        return {name: changed(item, choose, part) for name, item in kept.items()}
    if isinstance(value, list):
        items = [changed(item, choose, part) for item in value]
        return items * choose.randint(0, 2) if choose.random() < part else items
    return choose.choice(EXTREMES) if choose.random() < part else value


@pytest.mark.parametrize("seed", range(30))
def test_captures_that_lie(example, tmp_path, seed):
    """Every number, length, handle and name may be another one."""
    choose = random.Random(seed)
    part = choose.choice([0.0005, 0.002, 0.01])
    with zipfile.ZipFile(example("basic")) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in [name for name in members if name.startswith("calls-")]:
        entries = [json.loads(text) for text in members[name].splitlines()]
        lines = [
            json.dumps(changed(entry, choose, part) | {"call": entry["call"]}) for entry in entries
        ]
        members[name] = "\n".join(lines).encode()
    path = made(tmp_path, members)
    for suffix in (None, ".c", ".py"):
        try:
            if suffix is None:
                replay(path)
                load_capture(path)
            else:
                write_reproducer(path, tmp_path / f"again{suffix}")
        except NnapiError as error:
            assert "\n" not in error.message

"""Devices of other people: found, checked, listed in their order, and left out with a reason."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import nnapi_shim
from nnapi_shim import DeviceType, FeatureLevel, NnapiError, ResultCode, register_driver
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import RUNTIME_LEVEL
from nnapi_shim.hal.types import Extension, ExtensionOperandType
from nnapi_shim.runtime import device_manager
from tests.drivers.versioned.models import Driver
from tests.waiting import HANGS_S

OWN = ["nnapi-cpu", "nnapi-reference"]

MODULE = """
from tests.drivers.versioned.models import Driver

class Quick(Driver):
    version = "3"

class Broken:
    def __init__(self):
        raise ValueError("no hardware")

class Incomplete:
    version = "1"
    type = "OTHER"

made = []
def make():
    made.append(1)
    return Quick()
"""


class Mine(ReferenceDevice):
    name = "mine"
    version = "1"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Nothing is listed or registered yet."""
    monkeypatch.setattr(device_manager, "_devices", {})
    monkeypatch.setattr(device_manager, "_registered", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("NNAPI_SHIM_DRIVERS", raising=False)
    monkeypatch.delenv("DEBUG_NN_ENABLED_DEVICES", raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of manifests with a module beside them."""
    (tmp_path / "driver_of_a_test.py").write_text(MODULE)
    monkeypatch.setenv("NNAPI_SHIM_DRIVERS", str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if "driver_of_a_test" in name]:
        del sys.modules[name]


def manifest(folder, file, **fields):
    """Writes a manifest; fields that are None are left out."""
    whole = {
        "name": file,
        "version": "1",
        "type": "OTHER",
        "hal": "1.0",
        "module": "driver_of_a_test.py",
        "class": "Quick",
    } | fields
    text = json.dumps({key: value for key, value in whole.items() if value is not None})
    (folder / f"{file}.json").write_text(text)


def names():
    return [device.name for device in nnapi_shim.devices()]


def test_manifests(folder, capfd):
    manifest(folder, "b", version=None, type=None)
    manifest(folder, "a", type="GPU", module="driver_of_a_test")
    (folder / "notes.txt").write_text("no manifest")
    assert names() == ["a", "b", *OWN]
    a, b, *_ = nnapi_shim.devices()
    assert (a.version, a.type, a.feature_level) == ("1", DeviceType.GPU, FeatureLevel.LEVEL_1)
    assert (b.version, b.type) == ("3", DeviceType.ACCELERATOR)  # as the driver has them
    assert capfd.readouterr().err == ""


def test_several_folders(folder, monkeypatch, capfd):
    for name in ("one", "two"):
        (folder / name).mkdir()
        manifest(folder / name, name, module="../driver_of_a_test.py")
    monkeypatch.setenv("NNAPI_SHIM_DRIVERS", f"{folder}/two:{folder}/missing:{folder}/one:")
    assert names() == ["two", "one", *OWN]
    (line,) = capfd.readouterr().err.splitlines()
    assert f"folder {folder}/missing cannot be read: No such file" in line


def test_a_file_is_run_once(folder):
    for name in ("a", "b"):
        manifest(folder, name, **{"class": "make"})
    assert names() == ["a", "b", *OWN]
    (module,) = [m for name, m in sys.modules.items() if "driver_of_a_test" in name]
    assert len(module.made) == 2


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": ""}, "name is ''"),
        ({"name": " a"}, "must be one line of text"),
        ({"name": "a\nb"}, "must be one line of text"),
        ({"name": None}, "has no name"),
        ({"hal": None, "class": None}, "has no hal, class"),
        ({"hal": "1.2"}, "hal is '1.2'; allowed are 1.0, 1.1, canonical"),
        ({"hal": 1.0}, "hal is 1.0; it must be a text"),
        ({"type": "TPU"}, "type is 'TPU'; allowed are UNKNOWN, OTHER, CPU, GPU, ACCELERATOR"),
        ({"clas": "Quick"}, "'clas' is no field of a manifest"),
        ({"module": "missing.py"}, "FileNotFoundError"),
        ({"module": "missing_module"}, "No module named 'missing_module'"),
        ({"class": "Missing"}, "has no Missing"),
        ({"class": "Broken"}, "Broken of driver_of_a_test.py raised ValueError: no hardware"),
        ({"class": "Incomplete"}, "is no device for HAL 1.0; it lacks getCapabilities"),
        ({"hal": "1.1"}, "it lacks getCapabilities_1_1"),
        ({"hal": "canonical"}, "it lacks wait"),
        ({"name": "nnapi-cpu"}, "there is a device nnapi-cpu already"),
    ],
)
def test_bad_manifests(folder, fields, reason, capfd):
    """Each is reported on one line, and the others are listed all the same."""
    manifest(folder, "bad", **fields)
    manifest(folder, "good")
    assert names() == ["good", *OWN]
    (line,) = capfd.readouterr().err.splitlines()
    assert reason in line and "bad.json" in line


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "is not JSON"), ("[]", "is not an object"), ("[" * 10**5, "is not JSON")],
)
def test_manifests_that_are_none(folder, text, reason, capfd):
    (folder / "bad.json").write_text(text)
    assert names() == OWN
    assert reason in capfd.readouterr().err


def test_syntax_errors(folder, capfd):
    (folder / "driver_of_a_test.py").write_text("class Quick")
    manifest(folder, "a")
    assert names() == OWN
    assert "SyntaxError" in capfd.readouterr().err


def test_names_are_unique(folder, capfd):
    manifest(folder, "a")
    manifest(folder, "b", name="a")
    assert names() == ["a", *OWN]
    assert "b.json: there is a device a already" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("pattern", "expected"), [("a|nnapi-cpu", ["a", "nnapi-cpu"]), ("b", ["b"]), ("c", [])]
)
def test_enabled_devices(folder, monkeypatch, pattern, expected):
    """What does not match is not even imported."""
    manifest(folder, "a")
    manifest(folder, "b")
    manifest(folder, "x", module="missing.py")
    monkeypatch.setenv("DEBUG_NN_ENABLED_DEVICES", pattern)
    assert names() == expected


def package(folder, text):
    """An installed package with this file of entry points."""
    metadata = folder / "some_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text(text)
    sys.path.append(str(folder))


def test_entry_points(folder, capfd):
    package(
        folder,
        "[console_scripts]\nother = other:main\n\n[nnapi_shim.drivers]\n# those of a test\n"
        "quick-device = driver_of_a_test:Quick\nbroken=driver_of_a_test:Broken [extra]\n"
        "missing = driver_of_a_test:Missing\nnothing =\nnnapi-reference = driver_of_a_test:Quick\n",
    )
    assert names() == ["quick-device", *OWN]
    lines = capfd.readouterr().err.splitlines()
    reasons = ("no hardware", "has no Missing", "is not of the form", "nnapi-reference already")
    assert len(lines) == len(reasons)
    for line, reason in zip(lines, reasons, strict=True):
        assert reason in line and "some_package-1.0.dist-info/entry_points.txt" in line


def test_manifests_stand_before_packages(folder, capfd):
    package(folder, "[nnapi_shim.drivers]\na = driver_of_a_test:Quick\nb = driver_of_a_test:make\n")
    manifest(folder, "a", version="of the manifest")
    register_driver("c", Driver())
    assert names() == ["c", "a", "b", *OWN]
    assert nnapi_shim.devices()[1].version == "of the manifest"


def test_registering():
    register_driver("mine", Driver())
    register_driver("another", Driver(), version="2", type=DeviceType.GPU)
    with pytest.raises(NnapiError, match="there is a device mine already"):
        register_driver("mine", Driver())
    assert names() == ["mine", "another", *OWN]
    assert nnapi_shim.devices()[1].version == "2"
    with pytest.raises(NnapiError, match="too late") as caught:
        register_driver("late", Driver())
    assert caught.value.code is ResultCode.BAD_STATE


@pytest.mark.parametrize(
    ("name", "driver", "reason"),
    [
        ("nnapi-cpu", Driver(), "already"),
        (5, Driver(), "must be one line of text"),
        ("x", object(), "object is no device; it lacks"),
        ("x", ReferenceDevice(), "calls itself 'nnapi-reference'"),
    ],
)
def test_registering_what_is_none(name, driver, reason):
    with pytest.raises(NnapiError, match=reason) as caught:
        register_driver(name, driver)
    assert caught.value.code is ResultCode.BAD_DATA
    assert names() == OWN


def test_a_device_that_says_too_little():
    class Nameless(Driver):
        version = None

    with pytest.raises(NnapiError, match="version is None"):
        register_driver("x", Nameless())


def test_canonical_devices():
    register_driver("mine", Mine())
    assert names() == ["mine", *OWN]
    assert nnapi_shim.devices()[0].feature_level is RUNTIME_LEVEL

    class Odd(Mine):
        name = "odd"
        feature_level = 9

    device_manager._devices.clear()
    with pytest.raises(NnapiError, match="feature_level is 9"):
        register_driver("odd", Odd())


def test_a_driver_that_asks_for_the_devices(folder, capfd):
    """The list that it is to be part of does not exist yet."""
    text = "import nnapi_shim\nnnapi_shim.devices()\n"
    (folder / "driver_of_a_test.py").write_text(text)
    manifest(folder, "a")
    assert names() == OWN
    assert "cannot use it yet" in capfd.readouterr().err


def test_drivers_are_made_once(folder):
    """However many threads ask first."""
    manifest(folder, "a", module="driver_of_a_test", **{"class": "make"})
    threads = [threading.Thread(target=device_manager.devices) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sys.modules["driver_of_a_test"].made) == 1


def test_a_canonical_device_that_raises():
    class Broken(Mine):
        def getSupportedOperations(self, model):
            raise ValueError("no hardware")

    register_driver("mine", Broken())
    device = device_manager.devices()[0]
    with pytest.raises(
        NnapiError, match=r"mine.getSupportedOperations raised ValueError"
    ) as caught:
        device.getSupportedOperations(None)
    assert caught.value.code is ResultCode.OP_FAILED


@pytest.mark.parametrize(
    "extensions",
    [
        5,
        ["com.example"],
        [Extension("com.example", ("pixel",))],
        [Extension("com.example", (ExtensionOperandType(1 << 16, True, 1),))],
        [Extension("com.example", (ExtensionOperandType(0, True, 0),))],
    ],
)
def test_extensions_that_are_none(extensions):
    class Odd(Mine):
        def getSupportedExtensions(self):
            return extensions

    with pytest.raises(NnapiError, match="getSupportedExtensions") as caught:
        register_driver("mine", Odd())
    assert caught.value.code is ResultCode.OP_FAILED
    assert names() == OWN


HOSTILE = """
import os
from tests.drivers.versioned.models import Driver

class Version(Driver):
    @property
    def version(self):
        raise OSError("no such hardware")

class Attributes:
    def __getattr__(self, name):
        raise RuntimeError("asked for " + name)

class Interrupt:
    def __init__(self):
        raise KeyboardInterrupt

class Leaving:
    def __init__(self):
        raise GeneratorExit

def __getattr__(name):
    raise LookupError("no " + name)
"""


@pytest.mark.parametrize("kind", ["Version", "Attributes", "Interrupt", "Leaving", "Nothing"])
def test_a_driver_that_cannot_be_looked_at(folder, capfd, monkeypatch, kind):
    """It is left out, and names itself; the other devices are there."""
    (folder / "hostile.py").write_text(HOSTILE)
    manifest(folder, "hostile", name="sloppy", module="hostile.py", **{"class": kind})
    old = signal.signal(signal.SIGINT, signal.SIG_DFL)  # as in a program that is written in C
    try:
        assert names() == OWN
    finally:
        signal.signal(signal.SIGINT, old)
    assert "hostile.json: sloppy is left out: " in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "SystemExit(3)", "GeneratorExit"])
@pytest.mark.parametrize("where", ["module", "class"])
def test_a_driver_that_ends_like_a_program(folder, capfd, kind, where):
    """In a Python program, where Ctrl-C raises KeyboardInterrupt: the others are there."""
    text = f"raise {kind}\n"
    if where == "class":
        text = f"class Quick:\n    def __init__(self):\n        raise {kind}\n"
    (folder / "ends.py").write_text(text)
    manifest(folder, "ends", name="rude", module="ends.py", **{"class": "Quick"})
    manifest(folder, "fine", name="fine", module="driver_of_a_test.py", **{"class": "Quick"})
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert names() == ["fine", *OWN]
    said = capfd.readouterr().err
    assert "ends.json: rude is left out: " in said and said.count("\n") == 1
    assert kind.partition("(")[0] in said and "ends.py, line" in said


WAITING = """
import threading
import nnapi_shim
found = []
thread = threading.Thread(target=lambda: found.append(nnapi_shim.devices()), daemon=True)
thread.start()
thread.join()
class Quick: pass
"""


def test_a_driver_that_waits_for_who_waits_for_it(folder, capfd, monkeypatch):
    """Its module waits for a thread that calls the library, which waits for the module."""
    monkeypatch.setenv("NNAPI_SHIM_DRIVER_LOAD_TIMEOUT", "0.3")
    (folder / "waits.py").write_text(WAITING)
    manifest(folder, "waits", name="slow", module="waits", **{"class": "Quick"})
    began = time.monotonic()
    assert names() == OWN
    assert 0.3 <= time.monotonic() - began < HANGS_S
    said = capfd.readouterr().err
    assert said.count("\n") == 1, said
    assert "waits.json: slow is left out: loading waits of slow did not end within 0.3" in said
    assert "NNAPI_SHIM_DRIVER_LOAD_TIMEOUT" in said
    until = time.monotonic() + HANGS_S
    while "waits" not in sys.modules or not hasattr(sys.modules["waits"], "Quick"):
        assert time.monotonic() < until, "the thread that waits goes on when the list is there"
        time.sleep(0.01)
    assert [device.name for device in sys.modules["waits"].found[0]] == OWN
    assert names() == OWN


INTERRUPTED = """
import sys
import nnapi_shim
try:
    nnapi_shim.devices()
except KeyboardInterrupt:
    print("interrupted")
print([device.name for device in nnapi_shim.devices()])
"""


def test_an_interrupt_of_the_user_ends_the_wait(folder):
    """Ctrl-C in a program in Python while a driver is being imported."""
    text = "import os, time\nif not os.path.exists('again'):\n    open('again', 'w').close()\n"
    (folder / "sleeps.py").write_text(f"{text}    time.sleep(1000)\n")
    manifest(folder, "sleeps", name="slow", module="sleeps.py", **{"class": "Quick"})
    program = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        cwd=folder,
        env={**os.environ, "NNAPI_SHIM_DRIVER_LOAD_TIMEOUT": str(HANGS_S)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + HANGS_S
    while not (folder / "again").exists():
        assert time.monotonic() < until and program.poll() is None
        time.sleep(0.01)
    time.sleep(0.2)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=HANGS_S)
    assert out == f"interrupted\n{OWN}\n", err


def test_pipes_in_place_of_files(folder, capfd):
    os.mkfifo(folder / "pipe.json")
    assert names() == OWN
    assert "pipe.json is left out: the manifest is not JSON" in capfd.readouterr().err

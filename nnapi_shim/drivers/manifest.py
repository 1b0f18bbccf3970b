"""Devices declared by manifests, JSON files in folders (docs/drivers.md)."""

import json
import os
import sys
from functools import partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from nnapi_shim import log
from nnapi_shim.drivers.adoption import (
    MANIFEST,
    METHODS,
    Found,
    device_type,
    made,
    require_name,
)
from nnapi_shim.drivers.versioned.answer import guarded
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hints import Any
from nnapi_shim.settings import DRIVERS

_REQUIRED = ("name", "hal", "module", "class")
_OPTIONAL = ("version", "type")
_FLAGS = ("isolated",)


def in_folders(folders: str) -> list[Found]:
    """The devices of all *.json in these folders (separated by colons), by folder and file name.

    An invalid folder or manifest is reported on stderr and skipped.
    """
    devices = []
    for folder in filter(None, folders.split(":")):
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            log.error(f"{DRIVERS.name}: folder {folder} cannot be read: {error.strerror}")
            continue
        for name in names:
            if not name.endswith(".json"):
                continue
            path = os.path.join(os.path.abspath(folder), name)
            try:
                devices.append(described(path))
            except NnapiError as error:
                log.error(f"the device of {path} is left out: {error.message}")
    return devices


def described(path: str) -> Found:
    """The device of a manifest; nothing is imported yet. Raises BAD_DATA."""
    try:
        with open(path, encoding="utf-8", opener=_without_waiting) as file:
            fields = json.load(file)
    except OSError as error:
        raise bad_data(
            f"the manifest cannot be read: {error.strerror}", "driver.manifest.unreadable"
        ) from None
    except (ValueError, RecursionError) as error:
        raise bad_data(f"the manifest is not JSON: {error}", "driver.manifest.not-json") from None
    if not isinstance(fields, dict):
        raise bad_data("the manifest is not an object { ... }", "driver.manifest.not-an-object")
    allowed = (*_REQUIRED, *_OPTIONAL, *_FLAGS)
    for key, value in fields.items():
        if key not in allowed:
            raise bad_data(
                f"{key!r} is no field of a manifest; allowed are {', '.join(allowed)}",
                "driver.manifest.unknown-field",
            )
        if key in _FLAGS:
            if not isinstance(value, bool):
                raise bad_data(
                    f"{key} is {value!r}; it must be true or false", "driver.manifest.not-a-flag"
                )
        elif not isinstance(value, str) or not value:
            raise bad_data(f"{key} is {value!r}; it must be a text", "driver.manifest.not-text")
    missing = [key for key in _REQUIRED if key not in fields]
    if missing:
        raise bad_data(f"the manifest has no {', '.join(missing)}", "driver.manifest.missing-field")
    require_name(fields["name"])
    if fields["hal"] not in METHODS:
        raise bad_data(
            f"hal is {fields['hal']!r}; allowed are {', '.join(METHODS)}", "driver.manifest.hal"
        )
    if "type" in fields:
        device_type(fields["type"])
    load = partial(_load, path, fields)
    is_isolated = fields.get("isolated", False)
    return Found(fields["name"], path, fields["module"], load, (MANIFEST, path), is_isolated)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without blocking if it is a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _load(path: str, fields: dict[str, Any]) -> IDevice:
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.append(folder)  # for modules beside the manifest, with lowest priority
    name, class_name = fields["module"], fields["class"]
    is_file = name.endswith(".py") or "/" in name
    module: Any = guarded(
        f"import of {name}",
        lambda: _from_file(os.path.join(folder, name)) if is_file else import_module(name),
    )
    if not hasattr(module, class_name):
        raise bad_data(f"{name} has no {class_name}", "driver.manifest.no-class")
    return made(
        getattr(module, class_name),
        f"{class_name} of {name}",
        name=fields["name"],
        hal=fields["hal"],
        version=fields.get("version"),
        type=fields.get("type"),
    )


def _from_file(path: str) -> ModuleType:
    """The module of a file; a file is run once, even if several manifests name it."""
    path = os.path.realpath(path)
    name = f"driver {path}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise bad_data(f"{path} is no Python file", "driver.manifest.no-python-file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module

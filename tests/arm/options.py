"""Options that the scripts of this folder have in common, checked before anything is made."""

import argparse
import os
from pathlib import Path

from tests.arm.emulated_root import BUILD, SITE


def positive(text: str) -> int:
    """A number from 1 on."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return number


def wheel(text: str) -> Path:
    """A wheel for aarch64."""
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    if not path.name.endswith("_aarch64.whl"):
        raise argparse.ArgumentTypeError(f"{text} is no wheel for aarch64")
    return path


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """The option --jobs."""
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1)


def add_root(parser: argparse.ArgumentParser) -> None:
    """The options that say in which root which wheel is."""
    parser.add_argument("--root", type=Path, default=BUILD / "root", help="an arm64 root")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--wheel", type=wheel, help="the wheel; default: it is built")
    which.add_argument("--installed", action="store_true", help="the wheel that the root has")


def check_root(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the program if the root has to have a wheel and has none."""
    if options.installed and not (options.root / SITE / "nnapi_shim").is_dir():
        parser.error(f"no wheel is installed in {options.root}: leave --installed out")

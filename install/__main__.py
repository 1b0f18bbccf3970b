"""The command line that the Makefile uses: `python -m install COMMAND`."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import build_ffi
from install import deb, dist, prefix, tree


def main() -> None:
    """Run a command; an error is one line."""
    parser = argparse.ArgumentParser(prog="python -m install", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("prefix", "uninstall"):
        command = commands.add_parser(name)
        command.add_argument("prefix", type=Path)
        command.add_argument("--destdir", default="")
    commands.add_parser("files").add_argument("libraries", type=Path)
    for name in ("dist", "deb", "sbom"):
        commands.add_parser(name).add_argument("--out", type=Path, default=Path("dist"))
    command = commands.add_parser("release-check")
    command.add_argument("--out", type=Path, default=Path("build/release"))
    command.add_argument("--final", action="store_true", help="for a release: open points fail")
    options = parser.parse_args()
    if options.command in ("prefix", "uninstall") and options.prefix == Path():
        parser.error("PREFIX is empty; `make install PREFIX=/usr/local` is the default")
    machine = os.environ.get("ARCH") or os.uname().machine
    if options.command == "prefix" and machine != os.uname().machine:
        parser.error(f"a prefix is for this machine, not for {machine}: make dist, make deb")
    try:
        if options.command == "prefix":
            prefix.install(options.prefix.absolute(), options.destdir)
        elif options.command == "uninstall":
            prefix.uninstall(options.prefix.absolute(), options.destdir)
        elif options.command == "files":
            include = os.path.relpath(build_ffi.ROOT / "include", options.libraries)
            tree.write_package_files(options.libraries, include)
        elif options.command == "release-check":
            from install.release.rehearsal import rehearse

            sys.exit(0 if rehearse(options.out.absolute(), options.final) else 1)
        elif options.command == "dist":
            dist.make_archive(options.out)
            dist.write_sums(options.out)
        elif options.command == "deb":
            deb.make_packages(options.out)
            dist.write_sums(options.out)
        else:
            for path in dist.write_sboms(options.out, dist.stage_tree()):
                print(path)
            dist.write_sums(options.out)
    except subprocess.CalledProcessError as error:
        words = " ".join(str(word) for word in error.cmd[:4])
        sys.exit(f"install: `{words} ...` failed (see above); nothing was installed")
    except FileNotFoundError as error:
        sys.exit(
            f"install: {error.filename} is not there; on Debian and Ubuntu, tools that are "
            "missing come with: apt install binutils dpkg gcc make"
        )
    except OSError as error:
        sys.exit(f"install: {error.filename}: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit("install: interrupted; nothing was installed")


if __name__ == "__main__":
    main()

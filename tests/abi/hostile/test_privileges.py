"""A program with rights that its user does not have takes nothing from its user's environment."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.emulation import NO_SET_GROUP_ID, left_out_in_emulator
from tests.waiting import HANGS_S

HERE = Path(__file__).parent
NOBODY = 65534

MARK = "open({path!r}, 'w').close()\n"
CONSTRUCTOR = """
#include <fcntl.h>
__attribute__((constructor)) static void run(void) {{ open("{path}", O_CREAT, 0600); }}
int {symbol}(void) {{ return 0; }}
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes programs set-group-id")


@pytest.fixture
def folder(tmp_path_factory):
    """A folder that another user may write to and everybody can reach."""
    path = tmp_path_factory.mktemp("theirs")
    for above in (path, *path.parents):
        if above.stat().st_mode & 0o001 == 0:
            above.chmod(above.stat().st_mode | 0o011)
    path.chmod(0o777)
    return path


@pytest.fixture
def traps(folder):
    """An environment in which every setting would run code of the user, or change results."""
    ran = folder / "ran"
    (folder / "driver.py").write_text(MARK.format(path=str(ran)))
    manifest = {"name": "theirs", "hal": "1.0", "module": "driver.py", "class": "Device"}
    (folder / "driver.json").write_text(json.dumps(manifest))
    (folder / "numba.py").write_text(MARK.format(path=str(ran)))
    package = folder / "nnapi_shim"
    package.mkdir()
    (package / "__init__.py").write_text(MARK.format(path=str(ran)))
    source = folder / "kernels.c"
    from nnapi_shim.drivers.cpu.isa import DEFAULT_TIERS
    from nnapi_shim.drivers.cpu.program.library import VERSION_SYMBOL, library_name

    source.write_text(CONSTRUCTOR.format(path=ran, symbol=VERSION_SYMBOL))
    for tier in DEFAULT_TIERS:
        command = ["cc", "-shared", "-fPIC", source, "-o", folder / library_name(tier)]
        subprocess.run(command, check=True)
    names = "PYTHONPATH PYTHONHOME NNAPI_SHIM_HOME NNAPI_SHIM_DRIVERS NNAPI_SHIM_KERNELS"
    names += " NNAPI_SHIM_PYTHON NUMBA_CACHE_DIR NNAPI_SHIM_ASSETS"
    return {
        **dict.fromkeys(names.split(), str(folder)),
        "NPY_DISABLE_CPU_FEATURES": "X86_V2",  # which numpy refuses
        "OPENBLAS_CORETYPE": "Nehalem",
        "OPENBLAS_VERBOSE": "2",
        "NNAPI_SHIM_TIER": "bogus",
        "NNAPI_SHIM_LOG": "debug",
        "NNAPI_SHIM_BREAK": "1",
        "NNAPI_SHIM_CAPTURE": str(folder / "captured"),  # a message would say that it was tried
        "NNAPI_SHIM_TRACE": str(folder / "traced"),
        "DEBUG_NN_CPUONLY": "1",
        "DEBUG_NN_VLOG": "all",
    }


def as_user(command, env):
    return subprocess.run(
        command, env=env, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True,
        text=True, timeout=HANGS_S, check=False, cwd="/",
    )  # fmt: skip


@pytest.fixture
def program(compile_c, folder, library):
    hidden = [path for path in library.parents if not path.stat().st_mode & 0o001]
    if hidden:
        pytest.skip(f"other users cannot see the library: {hidden[0]} is closed to them")
    return Path(shutil.copy(compile_c("privileged", source=HERE / "privileged.c"), folder))


@left_out_in_emulator(NO_SET_GROUP_ID)
def test_a_set_group_id_program_ignores_its_environment(program, traps, folder):
    os.chown(program, 0, 12)
    program.chmod(0o2755)
    done = as_user([program], traps)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (folder / "ran").exists()


def test_any_other_program_obeys_it(program):
    done = as_user([program, "without"], {"DEBUG_NN_CPUONLY": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

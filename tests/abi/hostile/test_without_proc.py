"""Programs in a place without /proc, as some sandboxes are."""

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
def test_it_computes(compile_c, device):
    program = compile_c("small_stacks", "-D_GNU_SOURCE", source=HERE / "small_stacks.c")
    hidden = f"umount -l /proc && test ! -e /proc/self && exec '{program}' {device} 1024"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hidden], capture_output=True, text=True, check=False
    )
    if "Operation not permitted" in done.stderr:
        pytest.skip("only root takes /proc away")
    assert (done.returncode, done.stdout, done.stderr) == (0, "computed\n", "")

"""Names of processors of all architectures, from what their kernels write."""

import os

from nnapi_shim.processors import described, processor

ARM = """\
processor\t: {number}
BogoMIPS\t: 108.00
Features\t: fp asimd evtstrm aes crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer\t: {maker}
CPU architecture: 8
CPU variant\t: 0x4
CPU part\t: {part}
CPU revision\t: 1
"""


def of_arm(*parts: str, maker: str = "0x41") -> str:
    blocks = [ARM.format(number=at, maker=maker, part=part) for at, part in enumerate(parts)]
    return "\n".join(blocks)


def test_processors_of_arm():
    name, features = described(of_arm("0xd0b", "0xd0b", "0xd0b", "0xd0b"))
    assert name == "Arm Cortex-A76"
    assert {"asimd", "asimddp"} <= features


def test_several_kinds_are_counted():
    assert (
        described(of_arm("0xd05", "0xd05", "0xd41"))[0] == "2 x Arm Cortex-A55, 1 x Arm Cortex-A78"
    )


def test_other_makers_and_unknown_parts():
    assert described(of_arm("0x022", maker="0x61"))[0] == "Apple M1"
    assert described(of_arm("0xfff"))[0] == "Arm processor 0xfff"
    assert described(of_arm("0x001", maker="0x99"))[0] == "implementer 0x99 processor 0x001"
    assert described(of_arm("what"))[0] == ""


def test_the_hardware_behind_the_processors_is_no_processor():
    """A Raspberry Pi's kernel ends the list with the board."""
    board = "\nRevision\t: c04170\nModel\t\t: Raspberry Pi 5 Model B\n"
    assert described(of_arm("0xd0b") + board)[0] == "Arm Cortex-A76"


def test_other_architectures():
    x86 = "processor\t: 0\nmodel name\t: Some Processor\nflags\t\t: fpu avx2\n\n"
    assert described(x86 * 2) == ("Some Processor", frozenset({"fpu", "avx2"}))
    power = (
        "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3.8\n\ntimebase\t: 512\n"
    )
    assert described(power)[0] == "POWER9, altivec supported"
    riscv = "processor\t: 0\nhart\t\t: 2\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n"
    assert described(riscv) == ("sifive,u74-mc", frozenset({"rv64imafdc"}))
    assert described("") == ("", frozenset())


def test_this_processor_has_a_name():
    name, _ = processor()
    assert name
    assert name != os.uname().nodename

"""The public headers: they compile everywhere, and every value and layout is the specified one."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise, product
from pathlib import Path

import pytest

from nnapi_shim.hal import enums
from nnapi_shim.operations import registry

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
COMPANION = INCLUDE / "companion"
SPECIFICATION = ROOT.parent / "shared" / "spec" / "c-api.json"

API_HEADERS = [
    "android/NeuralNetworksTypes.h",
    "android/NeuralNetworks.h",
    "android/NeuralNetworksExtensions.h",
    "nnapi_shim.h",
]
# What NeuralNetworks.h includes lies beside it, as in the NDK.
BESIDE_IT = [
    "android/NeuralNetworksOEM.h",
    "android/hardware_buffer.h",
    "android/rect.h",
]
COMPANION_HEADERS = [
    "android/api-level.h",
    "android/asset_manager.h",
    "android/asset_manager_jni.h",
    "android/log.h",
    "android/ndk-version.h",
    "android/sharedmem.h",
    "android/trace.h",
    "android/versioning.h",
    "jni.h",
    "nnapi_shim_assets.h",
    "nnapi_shim_jni.h",
    "nnapi_shim_jni_functions.h",
    "sys/system_properties.h",
]
EVERY_HEADER = API_HEADERS + BESIDE_IT + COMPANION_HEADERS

COMPILERS = {
    "gcc-c99": ["gcc", "-xc", "-std=c99"],
    "gcc-c11": ["gcc", "-xc", "-std=c11"],
    "gcc-c17": ["gcc", "-xc", "-std=c17"],
    "g++-c++11": ["g++", "-xc++", "-std=c++11"],
    "g++-c++17": ["g++", "-xc++", "-std=c++17"],
    "g++-c++20": ["g++", "-xc++", "-std=c++20"],
    "clang-c99": ["clang", "-xc", "-std=c99"],
    "clang++-c++17": ["clang++", "-xc++", "-std=c++17"],
}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wstrict-prototypes", "-Werror"]

# The typedef of each enumeration in the header, its counterpart in Python, and what the names of
# the header have in front of the names there.
ENUMERATIONS: dict[str, tuple[type[IntEnum], str]] = {
    "OperandCode": (enums.OperandType, ""),
    "OperationCode": (enums.OperationType, ""),
    "FuseCode": (enums.FuseCode, "FUSED_"),
    "PaddingCode": (enums.PaddingCode, "PADDING_"),
    "PreferenceCode": (enums.ExecutionPreference, "PREFER_"),
    "DeviceTypeCode": (enums.DeviceType, "DEVICE_"),
    "FeatureLevelCode": (enums.FeatureLevel, "FEATURE_"),
    "ResultCode": (enums.ResultCode, ""),
    "DurationCode": (enums.DurationCode, ""),
    "PriorityCode": (enums.Priority, "PRIORITY_"),
}
# A second name for a value, which Python does not need. The OEM codes have a header of their own.
ALIASES = {"PriorityCode": {"ANEURALNETWORKS_PRIORITY_DEFAULT": 100}}
CONSTANTS = {
    "ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES": 128,
    "ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN": 32,
}
# (size, {field: offset}) on a platform with pointers of 8 bytes.
STRUCTURES = {
    "ANeuralNetworksOperandType": (
        24,
        {"type": 0, "dimensionCount": 4, "dimensions": 8, "scale": 16, "zeroPoint": 20},
    ),
    "ANeuralNetworksSymmPerChannelQuantParams": (
        16,
        {"channelDim": 0, "scaleCount": 4, "scales": 8},
    ),
    "AHardwareBuffer_Desc": (
        40,
        {
            "width": 0,
            "height": 4,
            "layers": 8,
            "format": 12,
            "usage": 16,
            "stride": 24,
            "rfu0": 28,
            "rfu1": 32,
        },
    ),
    # Numbers of the functions in the table, from Java's specification.
    "struct JNINativeInterface": (
        233 * 8,
        {
            "GetVersion": 4 * 8,
            "FindClass": 6 * 8,
            "ExceptionClear": 17 * 8,
            "GetObjectClass": 31 * 8,
            "CallObjectMethod": 34 * 8,
            "CallNonvirtualVoidMethodA": 93 * 8,
            "GetFieldID": 94 * 8,
            "GetStaticMethodID": 113 * 8,
            "NewString": 163 * 8,
            "GetStringUTFChars": 169 * 8,
            "GetArrayLength": 171 * 8,
            "GetFloatArrayElements": 189 * 8,
            "SetDoubleArrayRegion": 214 * 8,
            "GetJavaVM": 219 * 8,
            "ExceptionCheck": 228 * 8,
            "GetObjectRefType": 232 * 8,
        },
    ),
    "struct JNIInvokeInterface": (
        8 * 8,
        {"DestroyJavaVM": 3 * 8, "GetEnv": 6 * 8, "AttachCurrentThreadAsDaemon": 7 * 8},
    ),
    "ARect": (16, {"left": 0, "top": 4, "right": 8, "bottom": 12}),
}
COMPANION_VALUES = {
    "AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM": 1,
    "AHARDWAREBUFFER_FORMAT_BLOB": 0x21,
    "AHARDWAREBUFFER_USAGE_CPU_READ_NEVER": 0,
    "AHARDWAREBUFFER_USAGE_CPU_READ_RARELY": 2,
    "AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN": 3,
    "AHARDWAREBUFFER_USAGE_CPU_READ_MASK": 0xF,
    "AHARDWAREBUFFER_USAGE_CPU_WRITE_NEVER": 0,
    "AHARDWAREBUFFER_USAGE_CPU_WRITE_RARELY": 0x20,
    "AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN": 0x30,
    "AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK": 0xF0,
    "AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE": 0x100,
    "AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER": 0x200,
    "AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER": 1 << 24,
    "AASSET_MODE_UNKNOWN": 0,
    "AASSET_MODE_RANDOM": 1,
    "AASSET_MODE_STREAMING": 2,
    "AASSET_MODE_BUFFER": 3,
    "ANDROID_LOG_UNKNOWN": 0,
    "ANDROID_LOG_DEFAULT": 1,
    "ANDROID_LOG_VERBOSE": 2,
    "ANDROID_LOG_DEBUG": 3,
    "ANDROID_LOG_INFO": 4,
    "ANDROID_LOG_WARN": 5,
    "ANDROID_LOG_ERROR": 6,
    "ANDROID_LOG_FATAL": 7,
    "ANDROID_LOG_SILENT": 8,
    "__ANDROID_API__": 10000,
    "__ANDROID_API_O_MR1__": 27,
    "__ANDROID_API_P__": 28,
    "__ANDROID_API_Q__": 29,
    "__ANDROID_API_R__": 30,
    "__ANDROID_API_S__": 31,
    "__ANDROID_API_T__": 33,
    "__ANDROID_API_U__": 34,
    "JNI_FALSE": 0,
    "JNI_TRUE": 1,
    "JNI_OK": 0,
    "JNI_ERR": -1,
    "JNI_EDETACHED": -2,
    "JNI_EVERSION": -3,
    "JNI_COMMIT": 1,
    "JNI_ABORT": 2,
    "JNI_VERSION_1_6": 0x10006,
    "PROP_NAME_MAX": 32,
    "PROP_VALUE_MAX": 92,
}


def declarations(header: str) -> str:
    """The part of a header between the two markers, without comments."""
    text = (INCLUDE / header).read_text(encoding="utf-8")
    begin, end = "/* nnapi_shim: declarations begin */", "/* nnapi_shim: declarations end */"
    assert text.count(begin) == 1 and text.count(end) == 1, header
    body = text.partition(begin)[2].partition(end)[0]
    return re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)


def enumerators() -> dict[str, list[str]]:
    """The enumerators in the types' header by typedef; those without one under an empty name."""
    actual: dict[str, list[str]] = {"": []}
    body = declarations("android/NeuralNetworksTypes.h")
    for inside, name in re.findall(r"enum\s*\{(.*?)\}\s*(\w*)\s*;", body, flags=re.DOTALL):
        actual.setdefault(name, []).extend(re.findall(r"(\w+)\s*=", inside))
    return actual


def prototypes() -> list[str]:
    """Every function declared in the headers of the API, in order and on one line each."""
    body = "".join(declarations(header) for header in API_HEADERS)
    actual = re.findall(r"^[\w ]+\**\s*\w+\([^)]*\);", body, flags=re.MULTILINE)
    return [" ".join(text.split()).replace("( ", "(") for text in actual]


def compile_source(
    compiler: list[str],
    source: str,
    *options: str,
    folders: Sequence[Path] = (INCLUDE, COMPANION),
) -> None:
    """Compile C or C++ text with include folders; the compiler's messages are the failure."""
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not installed")
    warnings = [w for w in WARNINGS if "++" not in compiler[0] or w != "-Wstrict-prototypes"]
    includes = [f"-I{folder}" for folder in folders]
    command = [*compiler, *warnings, *includes, *options, "-"]
    result = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def run_printer(tmp_path: Path, expressions: list[str]) -> dict[str, int]:
    """The values of C expressions, as a program prints them."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    lines = "\n".join(f'  printf("%s %lld\\n", "{e}", (long long)({e}));' for e in expressions)
    includes = "\n".join(f"#include <{header}>" for header in ["stdio.h", *EVERY_HEADER])
    program = tmp_path / "printer"
    source = f"{includes}\nint main(void) {{\n{lines}\n  return 0;\n}}\n"
    compile_source(["cc", "-xc", "-std=c99"], source, "-o", str(program))
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    pairs = (line.rpartition(" ") for line in output.splitlines())
    return {expression: int(value) for expression, _, value in pairs}


@pytest.mark.parametrize(("header", "compiler"), list(product(EVERY_HEADER, COMPILERS)))
def test_each_header_compiles_alone(header: str, compiler: str) -> None:
    """A header brings all that it needs, also if it is included twice."""
    include = f"#include <{header}>\n"
    something = "extern int something;\n"  # without which C calls the unit empty
    compile_source(COMPILERS[compiler], include * 2 + something, "-fsyntax-only")


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("headers", [EVERY_HEADER, EVERY_HEADER[::-1]], ids=["forwards", "back"])
def test_all_headers_compile_together(headers: list[str], compiler: str) -> None:
    """The order does not matter; hardware_buffer.h may stand before or behind NeuralNetworks.h."""
    source = "".join(f"#include <{header}>\n" for header in headers)
    source += (
        "int use(const struct AHardwareBuffer* buffer, ANeuralNetworksMemory** memory);\n"
        "int use(const struct AHardwareBuffer* buffer, ANeuralNetworksMemory** memory) {\n"
        "  const AHardwareBuffer* same = buffer;\n"
        "  return ANeuralNetworksMemory_createFromAHardwareBuffer(same, memory);\n"
        "}\n"
    )
    compile_source(COMPILERS[compiler], source, "-fsyntax-only")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_main_header_brings_hardware_buffers(compiler: str) -> None:
    """As in the NDK: nothing else is included, and only -Iinclude is given."""
    source = (
        "#include <android/NeuralNetworks.h>\n"
        "int use(AHardwareBuffer_Desc* desc, ANeuralNetworksMemory** memory);\n"
        "int use(AHardwareBuffer_Desc* desc, ANeuralNetworksMemory** memory) {\n"
        "  AHardwareBuffer* buffer = 0;\n"
        "  if (AHardwareBuffer_allocate(desc, &buffer) != 0) return 1;\n"
        "  int code = ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, memory);\n"
        "  AHardwareBuffer_release(buffer);\n"
        "  return code;\n"
        "}\n"
    )
    compile_source(COMPILERS[compiler], source, "-fsyntax-only", folders=[INCLUDE])


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_program_may_have_its_own_hardware_buffer_header(compiler: str, tmp_path: Path) -> None:
    """One that comes first in the include path is the one that the main header includes."""
    own = tmp_path / "android" / "hardware_buffer.h"
    own.parent.mkdir()
    own.write_text(
        "#pragma once\n"
        "typedef struct AHardwareBuffer AHardwareBuffer;\n"
        "typedef struct AHardwareBuffer_Desc { int own; } AHardwareBuffer_Desc;\n"
    )
    source = (
        "#include <android/hardware_buffer.h>\n"
        "#include <android/NeuralNetworks.h>\n"
        "int own(const AHardwareBuffer_Desc* desc);\n"
        "int own(const AHardwareBuffer_Desc* desc) { return desc->own; }\n"
    )
    compile_source(COMPILERS[compiler], source, "-fsyntax-only", folders=[tmp_path, INCLUDE])


@pytest.mark.parametrize("compiler", ["gcc-c11", "g++-c++17"])
def test_a_program_may_declare_the_buffer_itself(compiler: str) -> None:
    """Since C11, and in C++, a type definition may be repeated."""
    source = (
        "#include <android/NeuralNetworks.h>\n"
        "typedef struct AHardwareBuffer AHardwareBuffer;\n"
        "extern const AHardwareBuffer* buffer;\n"
    )
    compile_source(COMPILERS[compiler], source, "-fsyntax-only")


def test_enumerators_have_the_values_of_the_vocabulary(tmp_path: Path) -> None:
    """Header and hal/enums.py agree in names and values, in both directions."""
    names = enumerators()
    assert names.keys() - {""} == ENUMERATIONS.keys()
    assert set(names[""]) == CONSTANTS.keys()
    values = run_printer(tmp_path, [name for group in names.values() for name in group])
    assert {name: values[name] for name in CONSTANTS} == CONSTANTS
    for typedef, (enumeration, prefix) in ENUMERATIONS.items():
        in_header = {name: values[name] for name in names[typedef]}
        in_python = {
            f"ANEURALNETWORKS_{prefix}{member.name}": int(member)
            for member in enumeration
            if "OEM" not in member.name
        }
        assert in_header == in_python | ALIASES.get(typedef, {}), typedef


def test_oem_codes_are_those_of_the_vocabulary(tmp_path: Path) -> None:
    """The header of the OEM codes has what hal/enums.py has of them."""
    codes: list[IntEnum] = [*enums.OperandType, *enums.OperationType]
    oem = {f"ANEURALNETWORKS_{code.name}": int(code) for code in codes if "OEM" in code.name}
    assert len(oem) == 3
    assert run_printer(tmp_path, list(oem)) == oem


def test_operations_and_operand_types_are_numbered_without_gaps() -> None:
    """All operations that are declared, and 16 operand types."""
    names = enumerators()
    assert len(names["OperationCode"]) == len(registry())
    assert len(names["OperandCode"]) == 16


def test_structures_have_the_specified_layout(tmp_path: Path) -> None:
    """Sizes and offsets on a 64-bit platform."""
    expected = {}
    for structure, (size, offsets) in STRUCTURES.items():
        expected[f"sizeof({structure})"] = size
        for field, offset in offsets.items():
            expected[f"offsetof({structure}, {field})"] = offset
    assert run_printer(tmp_path, list(expected)) == expected


def test_companion_values(tmp_path: Path) -> None:
    """Formats, usage bits, modes and priorities are Android's."""
    assert run_printer(tmp_path, list(COMPANION_VALUES)) == COMPANION_VALUES


def test_nothing_says_that_this_is_android() -> None:
    """Only api-level.h defines the level compiled for, and it keeps one that the compiler has."""
    for header in EVERY_HEADER:
        expected = "defined" if header == "android/api-level.h" else "!defined"
        source = (
            f"#include <{header}>\n"
            f"#if defined(__ANDROID__) || !({expected}(__ANDROID_API__))\n"
            f"#error {header}\n"
            "#endif\n"
            "extern int something;\n"
        )
        compile_source(COMPILERS["gcc-c17"], source, "-fsyntax-only")
    source = "#include <android/api-level.h>\n#if __ANDROID_API__ != 29\n#error level\n#endif\n"
    compile_source(COMPILERS["gcc-c17"], source, "-fsyntax-only", "-D__ANDROID_API__=29")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_declarations_of_the_ndk_may_say_since_when_they_hold(compiler: str) -> None:
    """The macros vanish, and a program that has defined them away itself is left alone."""
    use = (
        "#include <android/versioning.h>\n"
        "int since(void) __INTRODUCED_IN(29) __DEPRECATED_IN(33);\n"
        'int until(void) __INTRODUCED_IN_64(30) __REMOVED_IN(33, "use since");\n'
    )
    compile_source(COMPILERS[compiler], use, "-fsyntax-only")
    own = "#define __INTRODUCED_IN(x)\n"
    compile_source(COMPILERS[compiler], own + use, "-fsyntax-only")


def test_every_declaration_is_documented() -> None:
    """A comment stands before each function, enumeration, enumerator, structure and field."""
    for header in API_HEADERS:
        text = (INCLUDE / header).read_text(encoding="utf-8")
        body = text.partition("declarations begin */")[2].partition("/* nnapi_shim:")[0]
        lines = body.splitlines()
        for before, line in pairwise(lines):
            is_start = re.match(r"(int|void|const|uint64_t|int64_t|struct|typedef) ?", line)
            is_member = re.match(r"  (ANEURALNETWORKS_|\w+\*? \w+;|const )", line)
            if is_start or is_member:
                assert before.rstrip().endswith("*/"), f"{header}: no comment before: {line}"


def test_the_specification_lists_the_same_api(tmp_path: Path) -> None:
    """Functions, parameters, enumerators and structures as in the specification's data."""
    if not SPECIFICATION.exists():
        pytest.skip("the specification's data is not beside the repository")
    api = json.loads(SPECIFICATION.read_text(encoding="utf-8"))

    listed = [
        f"{f['returns']} {f['name']}({', '.join(f['parameters'])});" for f in api["functions"]
    ]
    listed = [text.replace("()", "(void)") for text in listed]
    own = [text for text in prototypes() if "nnapi_shim_" not in text]
    shape = {re.sub(r"\s*\bstruct\s+", " ", text).replace(" (", "(") for text in own}
    assert {" ".join(t.split()) for t in shape} == {" ".join(t.split()) for t in listed}
    assert len(own) == 75

    names = [name for group in api["enums"].values() for name in group]
    names_in_header = [name for group in enumerators().values() for name in group]
    assert sorted(names) == sorted(names_in_header)
    values = run_printer(tmp_path, names)
    for group in api["enums"].values():
        for name, value in group.items():
            assert values[name] == (values[value] if value in values else int(value)), name

    body = declarations("android/NeuralNetworksTypes.h")
    for structure, fields in api["structs"].items():
        inside = re.search(rf"struct {structure}\s*\{{(.*?)\}}", body, flags=re.DOTALL)
        assert inside is not None
        assert [f.strip() for f in inside[1].split(";") if f.strip()] == fields

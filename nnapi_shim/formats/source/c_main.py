"""The main function of C source: it runs the model on files with the bytes of the inputs."""

from collections.abc import Sequence

import numpy as np

from nnapi_shim.api.model import Model
from nnapi_shim.formats.graph.reading import read
from nnapi_shim.formats.graph.tensor import Tensor
from nnapi_shim.formats.source.c_literals import float_literal, list_literal, string_literal
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS
from nnapi_shim.hal.types import is_known

MAIN = """
#ifdef NNAPI_MAIN
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char* name;
    size_t bytes;
} Argument;

static const Argument inputs[] = {@inputs@};
static const Argument outputs[] = {@outputs@};

static int failed(const char* call, int code) {
    static const char* const codes[] = {@codes@};
    int is_known = code >= 0 && (uint32_t)code < LENGTH(codes);
    fprintf(stderr, "%s: %s (%d)\\n", call, is_known ? codes[code] : "unknown code", code);
    return 1;
}

#define CHECK(call)                                                       \\
    do {                                                                  \\
        int result_ = (call);                                             \\
        if (result_ != ANEURALNETWORKS_NO_ERROR) return failed(#call, result_); \\
    } while (0)

static int usage(const char* program) {
    fprintf(stderr, "usage: %s FILE...: a file with the bytes of each input, in this order:\\n",
            program);
    for (int i = 0; i < @count@; ++i) {
        fprintf(stderr, "  %s: %zu bytes\\n", inputs[i].name, inputs[i].bytes);
    }
    return 1;
}

static void* contents(const char* path, const Argument* input) {
    FILE* file = fopen(path, "rb");
    char* bytes = malloc(input->bytes ? input->bytes : 1);
    size_t length = 0;
    if (file && bytes) {
        length = fread(bytes, 1, input->bytes, file);
        while (length >= input->bytes && fgetc(file) != EOF) ++length;
    }
    if (!file || !bytes || ferror(file)) {
        fprintf(stderr, "%s: %s\\n", path, strerror(errno));
    } else if (length != input->bytes) {
        fprintf(stderr, "%s has %zu bytes; the input %s, has %zu\\n", path, length, input->name,
                input->bytes);
    } else {
        fclose(file);
        return bytes;
    }
    if (file) fclose(file);
    free(bytes);
    return NULL;
}

int main(int argc, char** argv) {
@shapes@    void* results[LENGTH(outputs)];
    ANeuralNetworksModel* model = NULL;
    ANeuralNetworksCompilation* compilation = NULL;
    ANeuralNetworksExecution* execution = NULL;
    if (argc - 1 != @count@) return usage(argv[0]);
    CHECK(create_model(&model));
    CHECK(ANeuralNetworksCompilation_create(model, &compilation));
    CHECK(ANeuralNetworksCompilation_finish(compilation));
    CHECK(ANeuralNetworksExecution_create(compilation, &execution));
    for (int i = 0; i < @count@; ++i) {
        void* bytes = contents(argv[1 + i], &inputs[i]);
        if (!bytes) return 1;
        CHECK(ANeuralNetworksExecution_setInput(execution, i, @shape@, bytes, inputs[i].bytes));
    }
    for (uint32_t i = 0; i < LENGTH(outputs); ++i) {
        results[i] = malloc(outputs[i].bytes ? outputs[i].bytes : 1);
        if (!results[i]) return failed("malloc", ANEURALNETWORKS_OUT_OF_MEMORY);
        CHECK(ANeuralNetworksExecution_setOutput(execution, (int32_t)i, NULL, results[i],
                                                 outputs[i].bytes));
    }
    CHECK(ANeuralNetworksExecution_compute(execution));
    for (uint32_t i = 0; i < LENGTH(outputs); ++i) {
        if (fwrite(results[i], 1, outputs[i].bytes, stdout) != outputs[i].bytes) {
            fprintf(stderr, "stdout: %s\\n", strerror(errno));
            return 1;
        }
    }
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    free_model(model);
    return fflush(stdout) != 0;
}
#endif
"""

NO_MAIN = """
#ifdef NNAPI_MAIN
#error "inputs or outputs of this model have an unknown rank: it has no main function"
#endif
"""


def main_function(model: Model) -> str:
    """The main function; an #error for a model whose inputs or outputs have an unknown rank."""
    graph, inferred = model.graph, read(model)
    operands = [*inferred.inputs, *inferred.outputs]
    if not all(operand.type in SCALARS or operand.dimensions for operand in operands):
        return NO_MAIN
    shapes, shape = "", "NULL"
    if not all(is_known(operand.type, operand.dimensions) for operand in graph.input_operands):
        shape = "&shapes[i]"
        shapes = "    const ANeuralNetworksOperandType shapes[] = {\n"
        for operand in graph.input_operands:
            sizes = list_literal([n or 1 for n in operand.dimensions])
            shapes += (
                f"        {{ANEURALNETWORKS_{operand.type.name}, {len(operand.dimensions)}, "
                f"{sizes}, {float_literal(operand.scale)}, {operand.zero_point}}},\n"
            )
        shapes += "    };\n"
    codes = ", ".join(f'"{code.name}"' for code in sorted(ResultCode))
    text = MAIN.replace("@shapes@", shapes).replace("@shape@", shape).replace("@codes@", codes)
    text = text.replace("@count@", str(len(graph.input_operands)))
    text = text.replace("@inputs@", _arguments(inferred.inputs))
    return text.replace("@outputs@", _arguments(inferred.outputs))


def _arguments(tensors: Sequence[Tensor]) -> str:
    """Name, type, dimensions and bytes of each; an open size is 1."""
    items = []
    for tensor in tensors:
        sizes = [n or 1 for n in tensor.dimensions]
        size = int(np.prod(sizes, dtype=np.int64)) * ELEMENT_BYTES[tensor.type]
        name = string_literal(f"{tensor.name}, {tensor.type.name}{sizes or ''}")
        items.append(f"{{{name}, {size}}}")
    return ", ".join(items) or '{"", 0}'

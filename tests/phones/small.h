/* SPDX-License-Identifier: Apache-2.0 */
/* What the clients with planted errors share: a model of x + x, and a run of it. */
#include <android/NeuralNetworks.h>
#include <stdio.h>

static float input[4] = {1, 2, 3, 4}, output[4];

/* The finished model; NULL if a call failed. */
static ANeuralNetworksModel* build(void) {
  const uint32_t sizes[] = {1, 4}, inputs[] = {0, 0, 1}, outputs[] = {2};
  const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, sizes, 0.0f, 0};
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0.0f, 0};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  ANeuralNetworksModel* model = NULL;
  if (ANeuralNetworksModel_create(&model) == 0 && ANeuralNetworksModel_addOperand(model, &tensor) == 0
      && ANeuralNetworksModel_addOperand(model, &scalar) == 0
      && ANeuralNetworksModel_addOperand(model, &tensor) == 0
      && ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof none) == 0
      && ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs) == 0
      && ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, outputs) == 0
      && ANeuralNetworksModel_finish(model) == 0)
    return model;
  ANeuralNetworksModel_free(model);
  return NULL;
}

/* The code of a run. */
static int run(ANeuralNetworksExecution* execution) {
  int code = ANeuralNetworksExecution_setInput(execution, 0, NULL, input, sizeof input);
  if (code == 0) code = ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, sizeof output);
  return code == 0 ? ANeuralNetworksExecution_compute(execution) : code;
}

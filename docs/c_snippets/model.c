/* SPDX-License-Identifier: Apache-2.0 */
#include <android/NeuralNetworks.h>
#include <stddef.h>

/* The model y = x + x for two float32 values; NULL if a call fails. */
ANeuralNetworksModel* build(void) {
  const uint32_t dimensions[] = {2}, inputs[] = {0, 0, 1}, outputs[] = {2};
  const ANeuralNetworksOperandType tensor = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = dimensions};
  const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  ANeuralNetworksModel* model = NULL;
  if (ANeuralNetworksModel_create(&model) == ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksModel_addOperand(model, &tensor) == ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksModel_addOperand(model, &scalar) == ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksModel_addOperand(model, &tensor) == ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof none) ==
          ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs) ==
          ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, outputs) ==
          ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksModel_finish(model) == ANEURALNETWORKS_NO_ERROR)
    return model;
  ANeuralNetworksModel_free(model);
  return NULL;
}

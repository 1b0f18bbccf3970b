/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to be tested: doubles four numbers. It checks all result codes but two, as real programs
 * do; docs/testing.md shows how they are found.
 */
#include <android/NeuralNetworks.h>
#include <stdio.h>

#define CHECK(call) \
  if ((call) != ANEURALNETWORKS_NO_ERROR) return 1

int main(void) {
  const uint32_t sizes[] = {4}, inputs[] = {0, 0, 1}, outputs[] = {2};
  const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, sizes, 0.0f, 0};
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0.0f, 0};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  ANeuralNetworksModel* model = NULL;
  CHECK(ANeuralNetworksModel_create(&model));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_addOperand(model, &scalar));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof none));
  CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs));
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, outputs));
  CHECK(ANeuralNetworksModel_finish(model));

  ANeuralNetworksCompilation* compilation = NULL;
  CHECK(ANeuralNetworksCompilation_create(model, &compilation));
  ANeuralNetworksCompilation_finish(compilation); /* not checked */

  float numbers[4] = {1, 2, 3, 4}, doubled[4] = {0};
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksExecution_create(compilation, &execution));
  CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, numbers, sizeof numbers));
  CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, doubled, sizeof doubled));
  ANeuralNetworksExecution_compute(execution); /* not checked */
  for (int i = 0; i < 4; ++i) printf("%g ", doubled[i]);
  printf("\n");

  ANeuralNetworksExecution_free(execution);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest useful program: a model that adds two tensors, compiled and run once. */
#include <android/NeuralNetworks.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                  \
  do {                                                                               \
    int code = (call);                                                               \
    if (code != ANEURALNETWORKS_NO_ERROR) {                                          \
      fprintf(stderr, "%s:%d: result code %d from %s\n", __FILE__, __LINE__, code, #call); \
      exit(EXIT_FAILURE);                                                            \
    }                                                                                \
  } while (0)

enum { ROWS = 2, COLUMNS = 3 };

int main(void) {
  const uint32_t dimensions[] = {ROWS, COLUMNS};
  const ANeuralNetworksOperandType tensor = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 2, .dimensions = dimensions};
  const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};

  /* Operands are numbered in the order in which they are added. */
  enum { LEFT, RIGHT, ACTIVATION, SUM };
  ANeuralNetworksModel* model = NULL;
  CHECK(ANeuralNetworksModel_create(&model));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_addOperand(model, &scalar));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));

  const int32_t activation = ANEURALNETWORKS_FUSED_NONE;
  CHECK(ANeuralNetworksModel_setOperandValue(model, ACTIVATION, &activation, sizeof activation));

  const uint32_t add_inputs[] = {LEFT, RIGHT, ACTIVATION};
  const uint32_t model_inputs[] = {LEFT, RIGHT};
  const uint32_t outputs[] = {SUM};
  CHECK(ANeuralNetworksModel_addOperation(
      model, ANEURALNETWORKS_ADD, 3, add_inputs, 1, outputs));
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, model_inputs, 1, outputs));
  CHECK(ANeuralNetworksModel_finish(model));

  ANeuralNetworksCompilation* compilation = NULL;
  CHECK(ANeuralNetworksCompilation_create(model, &compilation));
  CHECK(ANeuralNetworksCompilation_finish(compilation));

  const float left[ROWS * COLUMNS] = {1, 2, 3, 4, 5, 6};
  const float right[ROWS * COLUMNS] = {0.5f, 0.25f, -3, 10, 20, 30};
  float sum[ROWS * COLUMNS] = {0};
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksExecution_create(compilation, &execution));
  CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, left, sizeof left));
  CHECK(ANeuralNetworksExecution_setInput(execution, 1, NULL, right, sizeof right));
  CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof sum));
  CHECK(ANeuralNetworksExecution_compute(execution));

  int wrong = 0;
  for (int i = 0; i < ROWS * COLUMNS; ++i) {
    printf("%g + %g = %g\n", left[i], right[i], sum[i]);
    wrong += sum[i] != left[i] + right[i];
  }

  ANeuralNetworksExecution_free(execution);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

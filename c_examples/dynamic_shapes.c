/* SPDX-License-Identifier: Apache-2.0 */
/* A model for any number of rows, whose output has a size that only the run computes. */
#include <android/NeuralNetworks.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) EXPECT(ANEURALNETWORKS_NO_ERROR, call)
#define EXPECT(expected, call)                                                       \
  do {                                                                               \
    int returned = (call);                                                           \
    if (returned != (expected)) {                                                    \
      fprintf(stderr, "%s:%d: result code %d from %s\n", __FILE__, __LINE__, returned, #call); \
      exit(EXIT_FAILURE);                                                            \
    }                                                                                \
  } while (0)

enum { COLUMNS = 3 };

/* y = x + x for rows of three values. The number of rows is 0 in the model: unknown. */
static ANeuralNetworksModel* build(void) {
  const uint32_t dimensions[] = {0, COLUMNS};
  const ANeuralNetworksOperandType tensor = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 2, .dimensions = dimensions};
  const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  const uint32_t operands[] = {0, 0, 1}, sum[] = {2};
  ANeuralNetworksModel* model = NULL;
  CHECK(ANeuralNetworksModel_create(&model));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_addOperand(model, &scalar));
  CHECK(ANeuralNetworksModel_addOperand(model, &tensor));
  CHECK(ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof none));
  CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, operands, 1, sum));
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, operands, 1, sum));
  CHECK(ANeuralNetworksModel_finish(model));
  return model;
}

/*
 * Runs with as many rows as x has and room for `room` rows of y. Returns the rows of the result;
 * if they do not fit, y is not valid.
 */
static uint32_t run(
    ANeuralNetworksCompilation* compilation, const float* x, uint32_t rows, float* y,
    uint32_t room) {
  /* An input needs all its dimensions: the type completes those of the model. */
  const uint32_t dimensions[] = {rows, COLUMNS};
  const ANeuralNetworksOperandType type = {
      .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 2, .dimensions = dimensions};
  const size_t row = COLUMNS * sizeof(float);
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksExecution_create(compilation, &execution));
  CHECK(ANeuralNetworksExecution_setInput(execution, 0, &type, x, rows * row));
  /* An output does not: without a type, the length is the room. */
  CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, room * row));
  const int code = ANeuralNetworksExecution_compute(execution);

  uint32_t rank = 0, result[2] = {0};
  if (code != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE) CHECK(code);
  /* If the output is too small, the getters return the same code, and write what is needed. */
  EXPECT(code, ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank));
  EXPECT(code, ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, result));
  printf("room for %u rows: rank %u, %u x %u%s\n", room, rank, result[0], result[1],
         code == ANEURALNETWORKS_NO_ERROR ? "" : ", too small");
  ANeuralNetworksExecution_free(execution);
  return result[0];
}

int main(void) {
  ANeuralNetworksModel* model = build();
  ANeuralNetworksCompilation* compilation = NULL;
  CHECK(ANeuralNetworksCompilation_create(model, &compilation));
  CHECK(ANeuralNetworksCompilation_finish(compilation));

  const float x[4 * COLUMNS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  float small[COLUMNS];
  run(compilation, x, 1, small, 1);
  const uint32_t rows = run(compilation, x, 4, small, 1);
  float* y = malloc(rows * COLUMNS * sizeof *y);
  if (y == NULL) return EXIT_FAILURE;
  run(compilation, x, 4, y, rows); /* once more, with a buffer that is large enough */
  printf("last value: %g\n", y[rows * COLUMNS - 1]);
  const int is_right = rows == 4 && y[rows * COLUMNS - 1] == 24;

  free(y);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* WHILE: doubles a value as long as it is below a limit. The limit is an input of the model. */
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

static const uint32_t ONE[] = {1};
static const ANeuralNetworksOperandType VALUE = {
    .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = ONE};
static const ANeuralNetworksOperandType TRUTH = {
    .type = ANEURALNETWORKS_TENSOR_BOOL8, .dimensionCount = 1, .dimensions = ONE};
static const ANeuralNetworksOperandType SCALAR = {.type = ANEURALNETWORKS_INT32};
static const ANeuralNetworksOperandType MODEL = {.type = ANEURALNETWORKS_MODEL};

static ANeuralNetworksModel* create(void) {
  ANeuralNetworksModel* model = NULL;
  CHECK(ANeuralNetworksModel_create(&model));
  return model;
}

/* The condition: value < limit. It has the inputs of the loop, and one output. */
static ANeuralNetworksModel* build_condition(void) {
  const uint32_t inputs[] = {0, 1}, output[] = {2};
  ANeuralNetworksModel* model = create();
  CHECK(ANeuralNetworksModel_addOperand(model, &VALUE)); /* value */
  CHECK(ANeuralNetworksModel_addOperand(model, &VALUE)); /* limit */
  CHECK(ANeuralNetworksModel_addOperand(model, &TRUTH));
  CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_LESS, 2, inputs, 1, output));
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, output));
  CHECK(ANeuralNetworksModel_finish(model));
  return model;
}

/* The body: value + value. Its outputs are the first inputs of the next iteration. */
static ANeuralNetworksModel* build_body(void) {
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  const uint32_t inputs[] = {0, 1}, operands[] = {0, 0, 2}, output[] = {3};
  ANeuralNetworksModel* model = create();
  CHECK(ANeuralNetworksModel_addOperand(model, &VALUE)); /* value */
  CHECK(ANeuralNetworksModel_addOperand(model, &VALUE)); /* limit, which the body does not use */
  CHECK(ANeuralNetworksModel_addOperand(model, &SCALAR));
  CHECK(ANeuralNetworksModel_addOperand(model, &VALUE));
  CHECK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
  CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, operands, 1, output));
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, output));
  CHECK(ANeuralNetworksModel_finish(model));
  return model;
}

/* The model with the loop. Its operands CONDITION and BODY have finished models as values. */
static ANeuralNetworksModel* build_loop(
    const ANeuralNetworksModel* condition, const ANeuralNetworksModel* body) {
  enum { CONDITION, BODY, START, LIMIT, RESULT };
  const uint32_t operands[] = {CONDITION, BODY, START, LIMIT};
  const uint32_t inputs[] = {START, LIMIT}, output[] = {RESULT};
  ANeuralNetworksModel* model = create();
  CHECK(ANeuralNetworksModel_addOperand(model, &MODEL));
  CHECK(ANeuralNetworksModel_addOperand(model, &MODEL));
  CHECK(ANeuralNetworksModel_addOperand(model, &VALUE));
  CHECK(ANeuralNetworksModel_addOperand(model, &VALUE));
  CHECK(ANeuralNetworksModel_addOperand(model, &VALUE));
  CHECK(ANeuralNetworksModel_setOperandValueFromModel(model, CONDITION, condition));
  CHECK(ANeuralNetworksModel_setOperandValueFromModel(model, BODY, body));
  CHECK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_WHILE, 4, operands, 1, output));
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, output));
  CHECK(ANeuralNetworksModel_finish(model));
  return model;
}

static float run(ANeuralNetworksCompilation* compilation, float start, float limit) {
  float result = 0;
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksExecution_create(compilation, &execution));
  CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, &start, sizeof start));
  CHECK(ANeuralNetworksExecution_setInput(execution, 1, NULL, &limit, sizeof limit));
  CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, &result, sizeof result));
  /* A loop that does not end in time fails with MISSED_DEADLINE_TRANSIENT. */
  CHECK(ANeuralNetworksExecution_setLoopTimeout(
      execution, ANeuralNetworks_getMaximumLoopTimeout()));
  CHECK(ANeuralNetworksExecution_compute(execution));
  ANeuralNetworksExecution_free(execution);
  printf("%g, below %g: %g\n", start, limit, result);
  return result;
}

int main(void) {
  ANeuralNetworksModel *condition = build_condition(), *body = build_body();
  ANeuralNetworksModel* loop = build_loop(condition, body);
  ANeuralNetworksCompilation* compilation = NULL;
  CHECK(ANeuralNetworksCompilation_create(loop, &compilation));
  CHECK(ANeuralNetworksCompilation_finish(compilation));

  const int is_right = run(compilation, 3, 100) == 192 && run(compilation, 1, 1000) == 1024 &&
                       run(compilation, 7, 5) == 7; /* no iteration: the output is the input */

  /* The models of condition and body outlive the model with the loop. */
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(loop);
  ANeuralNetworksModel_free(body);
  ANeuralNetworksModel_free(condition);
  return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}

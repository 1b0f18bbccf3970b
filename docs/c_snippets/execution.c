/* SPDX-License-Identifier: Apache-2.0 */
#include <android/NeuralNetworks.h>
#include <stddef.h>

/* Runs a compilation with an input and an output of two float32 values; the result code. */
int run(ANeuralNetworksCompilation* compilation, const float x[2], float y[2]) {
  ANeuralNetworksExecution* execution = NULL;
  int code = ANeuralNetworksExecution_create(compilation, &execution);
  if (code == ANEURALNETWORKS_NO_ERROR)
    code = ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 2 * sizeof *x);
  if (code == ANEURALNETWORKS_NO_ERROR)
    code = ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, 2 * sizeof *y);
  if (code == ANEURALNETWORKS_NO_ERROR) code = ANeuralNetworksExecution_compute(execution);
  ANeuralNetworksExecution_free(execution);
  return code;
}

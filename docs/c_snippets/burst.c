/* SPDX-License-Identifier: Apache-2.0 */
#include <android/NeuralNetworks.h>
#include <stddef.h>

/* Runs executions of a compilation one after the other in a burst; the first failure, if any. */
int run_all(
    ANeuralNetworksCompilation* compilation, ANeuralNetworksExecution* const* executions,
    int count) {
  ANeuralNetworksBurst* burst = NULL;
  int code = ANeuralNetworksBurst_create(compilation, &burst);
  for (int i = 0; i < count && code == ANEURALNETWORKS_NO_ERROR; ++i)
    code = ANeuralNetworksExecution_burstCompute(executions[i], burst);
  ANeuralNetworksBurst_free(burst);
  return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <android/NeuralNetworks.h>
#include <stddef.h>

/* Starts an execution whose arguments are set, and waits for its end; the result code. */
int run_in_background(ANeuralNetworksExecution* execution) {
  ANeuralNetworksEvent* event = NULL;
  int code = ANeuralNetworksExecution_startCompute(execution, &event);
  /* Other work of this thread goes here. */
  if (code == ANEURALNETWORKS_NO_ERROR) code = ANeuralNetworksEvent_wait(event);
  ANeuralNetworksEvent_free(event);
  return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A client with an error: when an execution fails it runs again, and does not free the first one. */
#include "small.h"

int main(void) {
  ANeuralNetworksModel* model = build();
  ANeuralNetworksCompilation* compilation = NULL;
  if (model == NULL || ANeuralNetworksCompilation_create(model, &compilation) != 0) return 1;
  if (ANeuralNetworksCompilation_finish(compilation) != 0) return 1;
  for (int attempt = 0; attempt < 2; ++attempt) {
    ANeuralNetworksExecution* execution = NULL;
    if (ANeuralNetworksExecution_create(compilation, &execution) != 0) return 1;
    if (run(execution) == 0) {
      printf("%g\n", output[3]);
      ANeuralNetworksExecution_free(execution);
      break;
    }
    if (attempt == 1) return 1;
  }
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client with three errors: it does not look at the code of the run; it goes on after a failed
 * finish of the compilation; it reads through NULL when there is no model.
 */
#include "small.h"

int main(void) {
  ANeuralNetworksModel* model = build();
  if (model == NULL) printf("%d\n", *(volatile int*)model);
  ANeuralNetworksCompilation* compilation = NULL;
  if (ANeuralNetworksCompilation_create(model, &compilation) != 0) return 1;
  if (ANeuralNetworksCompilation_finish(compilation) != 0) printf("no compilation\n");
  ANeuralNetworksExecution* execution = NULL;
  if (ANeuralNetworksExecution_create(compilation, &execution) != 0) return 1;
  run(execution);
  printf("%g\n", output[3]);
  ANeuralNetworksExecution_free(execution);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <android/NeuralNetworks.h>
#include <stddef.h>

/* Compiles a finished model for sustained speed; NULL if a call fails. */
ANeuralNetworksCompilation* compile(ANeuralNetworksModel* model) {
  ANeuralNetworksCompilation* compilation = NULL;
  if (ANeuralNetworksCompilation_create(model, &compilation) == ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksCompilation_setPreference(
          compilation, ANEURALNETWORKS_PREFER_SUSTAINED_SPEED) == ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksCompilation_finish(compilation) == ANEURALNETWORKS_NO_ERROR)
    return compilation;
  ANeuralNetworksCompilation_free(compilation);
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <android/NeuralNetworks.h>
#include <stddef.h>

/* A memory that is output 0 and then input 0 of executions of a compilation; NULL on failure. */
ANeuralNetworksMemory* carry(const ANeuralNetworksCompilation* compilation) {
  ANeuralNetworksMemoryDesc* desc = NULL;
  ANeuralNetworksMemory* memory = NULL;
  if (ANeuralNetworksMemoryDesc_create(&desc) == ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1.0f) ==
          ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1.0f) ==
          ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksMemoryDesc_finish(desc) == ANEURALNETWORKS_NO_ERROR)
    ANeuralNetworksMemory_createFromDesc(desc, &memory);
  ANeuralNetworksMemoryDesc_free(desc);
  return memory;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <android/NeuralNetworks.h>
#include <stddef.h>
#include <sys/mman.h>

/* Sets input 0 to the first two float32 values of a file; the memory, or NULL. */
ANeuralNetworksMemory* use_file(ANeuralNetworksExecution* execution, int fd) {
  const size_t length = 2 * sizeof(float);
  ANeuralNetworksMemory* memory = NULL;
  if (ANeuralNetworksMemory_createFromFd(length, PROT_READ, fd, 0, &memory) ==
          ANEURALNETWORKS_NO_ERROR &&
      ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, length) ==
          ANEURALNETWORKS_NO_ERROR)
    return memory; /* to be freed when the execution has run */
  ANeuralNetworksMemory_free(memory);
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <android/NeuralNetworks.h>
#include <stddef.h>
#include <string.h>

/* The device of a name, or NULL. */
ANeuralNetworksDevice* find(const char* wanted) {
  uint32_t count = 0;
  ANeuralNetworks_getDeviceCount(&count);
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = NULL;
    const char* name = "";
    if (ANeuralNetworks_getDevice(i, &device) == ANEURALNETWORKS_NO_ERROR &&
        ANeuralNetworksDevice_getName(device, &name) == ANEURALNETWORKS_NO_ERROR &&
        strcmp(name, wanted) == 0)
      return device;
  }
  return NULL;
}

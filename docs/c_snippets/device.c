/* SPDX-License-Identifier: Apache-2.0 */
#include <android/NeuralNetworks.h>
#include <stdio.h>

/* Prints the name, the version and the feature level of a device; the result code. */
int describe(const ANeuralNetworksDevice* device) {
  const char *name, *version;
  int64_t level = 0;
  int code = ANeuralNetworksDevice_getName(device, &name);
  if (code == ANEURALNETWORKS_NO_ERROR) code = ANeuralNetworksDevice_getVersion(device, &version);
  if (code == ANEURALNETWORKS_NO_ERROR)
    code = ANeuralNetworksDevice_getFeatureLevel(device, &level);
  if (code == ANEURALNETWORKS_NO_ERROR)
    printf("%s %s, level %lld\n", name, version, (long long)level);
  return code;
}

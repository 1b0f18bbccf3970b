// SPDX-License-Identifier: Apache-2.0
// A client that links functions of feature level 5, as a conformance runner does: on older phones it
// does not start. Prints the devices of the phone, with which of ADD and FLOOR of float32 they take.
#include <android/NeuralNetworks.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(int code) {
  if (code != ANEURALNETWORKS_NO_ERROR) {
    std::fprintf(stderr, "code %d\n", code);
    std::exit(3);
  }
}

int main() {
  ANeuralNetworksModel* model = nullptr;
  const uint32_t sizes[] = {1, 4};
  const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, sizes, 0.0f, 0};
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, nullptr, 0.0f, 0};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  check(ANeuralNetworksModel_create(&model));
  for (const auto* type : {&tensor, &scalar, &tensor, &tensor})
    check(ANeuralNetworksModel_addOperand(model, type));
  check(ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof none));
  const uint32_t inputs[] = {0, 0, 1}, sum[] = {2}, output[] = {3};
  check(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, sum));
  check(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FLOOR, 1, sum, 1, output));
  check(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, output));
  check(ANeuralNetworksModel_finish(model));
  std::printf("%lld", static_cast<long long>(ANeuralNetworks_getRuntimeFeatureLevel()));
  uint32_t count = 0;
  check(ANeuralNetworks_getDeviceCount(&count));
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = nullptr;
    const char* name = nullptr;
    int64_t level = 0;
    bool supported[2] = {};
    check(ANeuralNetworks_getDevice(i, &device));
    check(ANeuralNetworksDevice_getName(device, &name));
    check(ANeuralNetworksDevice_getFeatureLevel(device, &level));
    check(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, supported));
    std::printf(", %s %lld %d%d", name, static_cast<long long>(level), supported[0], supported[1]);
  }
  std::printf("\n");
  ANeuralNetworksModel_free(model);
}

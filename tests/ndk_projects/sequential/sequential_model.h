// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <android/NeuralNetworks.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// One step of a sequence: (sum, state) -> (sum + state, next state), where the next state is the
// state turned by one element and multiplied by a ratio. From equal elements a geometric sum grows.
class SequentialModel {
 public:
  static constexpr uint32_t kElements = 16;
  static constexpr size_t kTensorBytes = kElements * sizeof(float);

  // nullptr if something fails.
  static std::unique_ptr<SequentialModel> create(float ratio);
  ~SequentialModel();
  SequentialModel(const SequentialModel&) = delete;
  SequentialModel& operator=(const SequentialModel&) = delete;

  // Runs a number of steps, each as soon as the one before has ended; the sum's first element.
  bool compute(float initial_state, uint32_t steps, float* sum);

 private:
  SequentialModel() = default;
  bool build(float ratio);
  bool compile();
  bool createMemories();
  bool startStep(uint32_t step, const ANeuralNetworksEvent* before, ANeuralNetworksEvent** event);

  std::vector<float> rotation_;
  ANeuralNetworksModel* model_ = nullptr;
  ANeuralNetworksCompilation* compilation_ = nullptr;
  // Each step reads from one of a pair and writes to the other.
  std::array<ANeuralNetworksMemory*, 2> states_ = {};
  std::array<ANeuralNetworksMemory*, 2> sums_ = {};
  std::array<float*, 2> mapped_sums_ = {};
  ANeuralNetworksMemory* initial_state_ = nullptr;
  float* mapped_initial_state_ = nullptr;
};

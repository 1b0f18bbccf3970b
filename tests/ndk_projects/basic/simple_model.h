// SPDX-License-Identifier: Apache-2.0
#ifndef BASIC_SIMPLE_MODEL_H
#define BASIC_SIMPLE_MODEL_H

#include <android/NeuralNetworks.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

// A region of shared memory: mapped here, and known to NNAPI.
class SharedRegion {
 public:
  SharedRegion() = default;
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  // protection is what NNAPI may do with the region.
  bool create(const char* name, size_t size, int protection);

  void* data() const { return data_; }
  ANeuralNetworksMemory* memory() const { return memory_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
  ANeuralNetworksMemory* memory_ = nullptr;
};

// output = (input1 + constant1) * (input2 + constant2), all of kElements floats. The constants are
// the first two tensors of a file.
class SimpleModel {
 public:
  static constexpr uint32_t kElements = 200;
  static constexpr size_t kTensorBytes = kElements * sizeof(float);

  SimpleModel() = default;
  ~SimpleModel();
  SimpleModel(const SimpleModel&) = delete;
  SimpleModel& operator=(const SimpleModel&) = delete;

  // Takes the content of a file, which the caller closes.
  bool load(int fd, off_t offset, size_t length);
  // Computes with tensors of one value each; the result's first element.
  bool compute(float value1, float value2, float* result);

 private:
  bool build();
  bool check(float value1, float value2) const;

  SharedRegion constants_;
  SharedRegion input2_;
  SharedRegion output_;
  float input1_[kElements];
  ANeuralNetworksModel* model_ = nullptr;
  ANeuralNetworksCompilation* compilation_ = nullptr;
};

#endif  // BASIC_SIMPLE_MODEL_H

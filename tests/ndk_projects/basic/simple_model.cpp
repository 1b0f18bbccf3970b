// SPDX-License-Identifier: Apache-2.0
#include "simple_model.h"

#include <android/log.h>
#include <android/sharedmem.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#define LOGE(...) __android_log_print(ANDROID_LOG_ERROR, "basic", __VA_ARGS__)

// Whether a call of NNAPI went well; the log tells if it did not.
static bool wentWell(int code, const char* call) {
  if (code != ANEURALNETWORKS_NO_ERROR) LOGE("%s gives result code %d", call, code);
  return code == ANEURALNETWORKS_NO_ERROR;
}
#define TRY(call) \
  if (!wentWell((call), #call)) return false

constexpr uint32_t SimpleModel::kElements;
constexpr size_t SimpleModel::kTensorBytes;

bool SharedRegion::create(const char* name, size_t size, int protection) {
  const int fd = ASharedMemory_create(name, size);
  if (fd < 0) {
    LOGE("no shared memory for %s", name);
    return false;
  }
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int code = ANeuralNetworksMemory_createFromFd(size, protection, fd, 0, &memory_);
  close(fd);
  if (mapped == MAP_FAILED) return false;
  data_ = mapped;
  size_ = size;
  TRY(code);
  return true;
}

SharedRegion::~SharedRegion() {
  ANeuralNetworksMemory_free(memory_);
  if (data_ != nullptr) munmap(data_, size_);
}

bool SimpleModel::load(int fd, off_t offset, size_t length) {
  if (length < 2 * kTensorBytes) {
    LOGE("%zu bytes are too few for two tensors", length);
    return false;
  }
  if (!constants_.create("constants", length, PROT_READ)) return false;
  for (size_t done = 0; done < length;) {
    char* to = static_cast<char*>(constants_.data()) + done;
    const ssize_t got = pread(fd, to, length - done, offset + static_cast<off_t>(done));
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return input2_.create("input2", kTensorBytes, PROT_READ) &&
         output_.create("output", kTensorBytes, PROT_READ | PROT_WRITE) && build();
}

bool SimpleModel::build() {
  const uint32_t dimensions[] = {kElements};
  ANeuralNetworksOperandType tensor = {};
  tensor.type = ANEURALNETWORKS_TENSOR_FLOAT32;
  tensor.dimensionCount = 1;
  tensor.dimensions = dimensions;
  ANeuralNetworksOperandType scalar = {};
  scalar.type = ANEURALNETWORKS_INT32;

  enum : uint32_t { kActivation, kConstant1, kInput1, kSum1, kConstant2, kInput2, kSum2, kOutput };
  TRY(ANeuralNetworksModel_create(&model_));
  TRY(ANeuralNetworksModel_addOperand(model_, &scalar));
  for (uint32_t operand = kConstant1; operand <= kOutput; ++operand) {
    TRY(ANeuralNetworksModel_addOperand(model_, &tensor));
  }
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  ANeuralNetworksMemory* memory = constants_.memory();
  TRY(ANeuralNetworksModel_setOperandValue(model_, kActivation, &none, sizeof none));
  TRY(ANeuralNetworksModel_setOperandValueFromMemory(model_, kConstant1, memory, 0, kTensorBytes));
  TRY(ANeuralNetworksModel_setOperandValueFromMemory(
      model_, kConstant2, memory, kTensorBytes, kTensorBytes));

  const uint32_t sum1[] = {kConstant1, kInput1, kActivation};
  const uint32_t sum2[] = {kConstant2, kInput2, kActivation};
  const uint32_t product[] = {kSum1, kSum2, kActivation};
  const uint32_t outputs[] = {kSum1, kSum2, kOutput};
  TRY(ANeuralNetworksModel_addOperation(model_, ANEURALNETWORKS_ADD, 3, sum1, 1, &outputs[0]));
  TRY(ANeuralNetworksModel_addOperation(model_, ANEURALNETWORKS_ADD, 3, sum2, 1, &outputs[1]));
  TRY(ANeuralNetworksModel_addOperation(model_, ANEURALNETWORKS_MUL, 3, product, 1, &outputs[2]));
  const uint32_t inputs[] = {kInput1, kInput2};
  TRY(ANeuralNetworksModel_identifyInputsAndOutputs(model_, 2, inputs, 1, &outputs[2]));
  TRY(ANeuralNetworksModel_finish(model_));

  TRY(ANeuralNetworksCompilation_create(model_, &compilation_));
  TRY(ANeuralNetworksCompilation_setPreference(
      compilation_, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER));
  TRY(ANeuralNetworksCompilation_finish(compilation_));
  return true;
}

bool SimpleModel::compute(float value1, float value2, float* result) {
  std::fill_n(input1_, kElements, value1);
  std::fill_n(static_cast<float*>(input2_.data()), kElements, value2);

  ANeuralNetworksExecution* execution = nullptr;
  TRY(ANeuralNetworksExecution_create(compilation_, &execution));
  TRY(ANeuralNetworksExecution_setInput(execution, 0, nullptr, input1_, sizeof input1_));
  TRY(ANeuralNetworksExecution_setInputFromMemory(
      execution, 1, nullptr, input2_.memory(), 0, kTensorBytes));
  TRY(ANeuralNetworksExecution_setOutputFromMemory(
      execution, 0, nullptr, output_.memory(), 0, kTensorBytes));
  ANeuralNetworksEvent* event = nullptr;
  TRY(ANeuralNetworksExecution_startCompute(execution, &event));
  const int code = ANeuralNetworksEvent_wait(event);
  ANeuralNetworksEvent_free(event);
  ANeuralNetworksExecution_free(execution);
  TRY(code);
  *result = static_cast<const float*>(output_.data())[0];
  return check(value1, value2);
}

bool SimpleModel::check(float value1, float value2) const {
  const float* constants = static_cast<const float*>(constants_.data());
  const float* output = static_cast<const float*>(output_.data());
  for (uint32_t i = 0; i < kElements; ++i) {
    const float expected = (value1 + constants[i]) * (value2 + constants[kElements + i]);
    if (std::fabs(output[i] - expected) > 1e-6f) {
      LOGE("element %u is %f, not %f", i, static_cast<double>(output[i]),
           static_cast<double>(expected));
      return false;
    }
  }
  return true;
}

SimpleModel::~SimpleModel() {
  ANeuralNetworksCompilation_free(compilation_);
  ANeuralNetworksModel_free(model_);
}

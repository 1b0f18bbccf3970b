// SPDX-License-Identifier: Apache-2.0
#include "sequential_model.h"

#include <android/log.h>
#include <android/sharedmem.h>
#include <android/trace.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#define LOGE(...) __android_log_print(ANDROID_LOG_ERROR, "sequential", __VA_ARGS__)

namespace {

enum Operand : uint32_t {
  kSumIn, kStateIn, kRotation, kBias, kRatio, kActivation, kRotated, kSumOut, kStateOut
};

// Whether a call of NNAPI went well; the log tells if it did not.
bool wentWell(int code, const char* call) {
  if (code != ANEURALNETWORKS_NO_ERROR) LOGE("%s gives result code %d", call, code);
  return code == ANEURALNETWORKS_NO_ERROR;
}
#define TRY(call) \
  if (!wentWell((call), #call)) return false

// Shared memory of a tensor's size, mapped and as a memory of NNAPI.
bool createShared(const char* name, ANeuralNetworksMemory** memory, float** mapped) {
  constexpr size_t size = SequentialModel::kTensorBytes;
  const int fd = ASharedMemory_create(name, size);
  if (fd < 0) return false;
  void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int code =
      ANeuralNetworksMemory_createFromFd(size, PROT_READ | PROT_WRITE, fd, 0, memory);
  close(fd);
  if (address == MAP_FAILED) return false;
  *mapped = static_cast<float*>(address);
  TRY(code);
  return true;
}

}  // namespace

std::unique_ptr<SequentialModel> SequentialModel::create(float ratio) {
  std::unique_ptr<SequentialModel> model(new SequentialModel());
  const bool is_ready = model->build(ratio) && model->compile() && model->createMemories();
  return is_ready ? std::move(model) : nullptr;
}

bool SequentialModel::build(float ratio) {
  const uint32_t rows[] = {1, kElements}, square[] = {kElements, kElements};
  const uint32_t elements[] = {kElements}, one[] = {1};
  const auto tensor = [](uint32_t rank, const uint32_t* dimensions) {
    return ANeuralNetworksOperandType{
        ANEURALNETWORKS_TENSOR_FLOAT32, rank, dimensions, 0.0f, 0};
  };
  const ANeuralNetworksOperandType types[] = {
      tensor(2, rows),     // kSumIn
      tensor(2, rows),     // kStateIn
      tensor(2, square),   // kRotation
      tensor(1, elements), // kBias
      tensor(1, one),      // kRatio
      {ANEURALNETWORKS_INT32, 0, nullptr, 0.0f, 0},
      tensor(2, rows),     // kRotated
      tensor(2, rows),     // kSumOut
      tensor(2, rows),     // kStateOut
  };
  TRY(ANeuralNetworksModel_create(&model_));
  for (const auto& type : types) TRY(ANeuralNetworksModel_addOperand(model_, &type));

  // NNAPI reads large constants where they are, as long as the model lives.
  rotation_.assign(kElements * kElements, 0.0f);
  for (uint32_t i = 0; i < kElements; ++i) rotation_[i * kElements + (i + 1) % kElements] = 1.0f;
  const std::array<float, kElements> bias = {};
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  TRY(ANeuralNetworksModel_setOperandValue(
      model_, kRotation, rotation_.data(), rotation_.size() * sizeof(float)));
  TRY(ANeuralNetworksModel_setOperandValue(model_, kBias, bias.data(), sizeof bias));
  TRY(ANeuralNetworksModel_setOperandValue(model_, kRatio, &ratio, sizeof ratio));
  TRY(ANeuralNetworksModel_setOperandValue(model_, kActivation, &none, sizeof none));

  const auto add = [this](ANeuralNetworksOperationType type, const std::vector<uint32_t>& inputs,
                          uint32_t output) {
    return ANeuralNetworksModel_addOperation(
        model_, type, static_cast<uint32_t>(inputs.size()), inputs.data(), 1, &output);
  };
  TRY(add(ANEURALNETWORKS_ADD, {kSumIn, kStateIn, kActivation}, kSumOut));
  TRY(add(ANEURALNETWORKS_FULLY_CONNECTED, {kStateIn, kRotation, kBias, kActivation}, kRotated));
  TRY(add(ANEURALNETWORKS_MUL, {kRotated, kRatio, kActivation}, kStateOut));
  const uint32_t inputs[] = {kSumIn, kStateIn}, outputs[] = {kSumOut, kStateOut};
  TRY(ANeuralNetworksModel_identifyInputsAndOutputs(model_, 2, inputs, 2, outputs));
  TRY(ANeuralNetworksModel_finish(model_));
  return true;
}

bool SequentialModel::compile() {
  TRY(ANeuralNetworksCompilation_create(model_, &compilation_));
  TRY(ANeuralNetworksCompilation_setPreference(
      compilation_, ANEURALNETWORKS_PREFER_SUSTAINED_SPEED));
  TRY(ANeuralNetworksCompilation_finish(compilation_));
  return true;
}

bool SequentialModel::createMemories() {
  if (!createShared("initial state", &initial_state_, &mapped_initial_state_)) return false;
  ANeuralNetworksMemoryDesc* desc = nullptr;
  TRY(ANeuralNetworksMemoryDesc_create(&desc));
  TRY(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation_, 1, 1.0f));
  TRY(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation_, 1, 1.0f));
  TRY(ANeuralNetworksMemoryDesc_finish(desc));
  for (size_t i = 0; i < 2; ++i) {
    if (!createShared("sum", &sums_[i], &mapped_sums_[i])) return false;
    TRY(ANeuralNetworksMemory_createFromDesc(desc, &states_[i]));
  }
  ANeuralNetworksMemoryDesc_free(desc);
  return true;
}

bool SequentialModel::startStep(
    uint32_t step, const ANeuralNetworksEvent* before, ANeuralNetworksEvent** event) {
  const size_t from = step % 2, to = 1 - from;
  ANeuralNetworksExecution* execution = nullptr;
  TRY(ANeuralNetworksExecution_create(compilation_, &execution));
  TRY(ANeuralNetworksExecution_setInputFromMemory(
      execution, 0, nullptr, sums_[from], 0, kTensorBytes));
  TRY(ANeuralNetworksExecution_setInputFromMemory(execution, 1, nullptr, states_[from], 0, 0));
  TRY(ANeuralNetworksExecution_setOutputFromMemory(
      execution, 0, nullptr, sums_[to], 0, kTensorBytes));
  TRY(ANeuralNetworksExecution_setOutputFromMemory(execution, 1, nullptr, states_[to], 0, 0));
  TRY(ANeuralNetworksExecution_startComputeWithDependencies(
      execution, &before, before == nullptr ? 0 : 1, 0, event));
  // It goes on without its handle.
  ANeuralNetworksExecution_free(execution);
  return true;
}

bool SequentialModel::compute(float initial_state, uint32_t steps, float* sum) {
  ATrace_beginSection("sequence");
  std::fill_n(mapped_initial_state_, kElements, initial_state);
  std::fill_n(mapped_sums_[0], kElements, 0.0f);
  TRY(ANeuralNetworksMemory_copy(initial_state_, states_[0]));

  ANeuralNetworksEvent* event = nullptr;
  for (uint32_t step = 0; step < steps; ++step) {
    ANeuralNetworksEvent* before = event;
    const bool is_started = startStep(step, before, &event);
    ANeuralNetworksEvent_free(before);
    if (!is_started) return false;
    ATrace_setCounter("steps", step + 1);
  }
  TRY(ANeuralNetworksEvent_wait(event));
  ANeuralNetworksEvent_free(event);
  ATrace_endSection();

  const float* result = mapped_sums_[steps % 2];
  *sum = result[0];
  return std::all_of(result, result + kElements, [&](float element) { return element == *sum; });
}

SequentialModel::~SequentialModel() {
  ANeuralNetworksMemory_free(initial_state_);
  if (mapped_initial_state_ != nullptr) munmap(mapped_initial_state_, kTensorBytes);
  for (size_t i = 0; i < 2; ++i) {
    ANeuralNetworksMemory_free(states_[i]);
    ANeuralNetworksMemory_free(sums_[i]);
    if (mapped_sums_[i] != nullptr) munmap(mapped_sums_[i], kTensorBytes);
  }
  ANeuralNetworksCompilation_free(compilation_);
  ANeuralNetworksModel_free(model_);
}

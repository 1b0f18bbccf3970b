// SPDX-License-Identifier: Apache-2.0
// output = (input1 + constant0) * (input2 + constant1), all but input1 in shared memory.
//
// The constants are the first two tensors of a file of float32 values, read as an asset: the file
// named on the command line, or else one that the program writes itself. Besides
// libneuralnetworks it uses libandroid (assets, shared memory) and liblog, as on Android.

#include <android/NeuralNetworks.h>
#include <android/asset_manager.h>
#include <android/log.h>
#include <android/sharedmem.h>
#include <nnapi_shim_assets.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kElements = 200;
constexpr size_t kTensorBytes = kElements * sizeof(float);
constexpr float kTolerance = 1e-6f;

void check(int code, const char* call) {
  if (code != ANEURALNETWORKS_NO_ERROR) {
    throw std::runtime_error(std::string(call) + " gives result code " + std::to_string(code));
  }
}
#define CHECK(call) check((call), #call)

void require(bool condition, const std::string& message) {
  if (!condition) throw std::runtime_error(message);
}

// The object frees itself with the function of its type.
template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

using Model = Owned<ANeuralNetworksModel>;
using Compilation = Owned<ANeuralNetworksCompilation>;
using Execution = Owned<ANeuralNetworksExecution>;
using Memory = Owned<ANeuralNetworksMemory>;
using Event = Owned<ANeuralNetworksEvent>;

// A region of shared memory, mapped here and known to the library.
class SharedTensor {
 public:
  SharedTensor(const char* name, size_t size, int protection) : size_(size) {
    const int fd = ASharedMemory_create(name, size);
    require(fd >= 0, std::string("no shared memory for ") + name);
    void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ANeuralNetworksMemory* memory = nullptr;
    const int code = ANeuralNetworksMemory_createFromFd(size, protection, fd, 0, &memory);
    memory_.reset(memory);
    close(fd);
    require(address != MAP_FAILED, std::string("cannot map ") + name);
    data_ = static_cast<float*>(address);
    CHECK(code);
  }
  ~SharedTensor() {
    if (data_ != nullptr) munmap(data_, size_);
  }
  SharedTensor(const SharedTensor&) = delete;
  SharedTensor& operator=(const SharedTensor&) = delete;

  float* data() const { return data_; }
  size_t size() const { return size_; }
  const ANeuralNetworksMemory* memory() const { return memory_.get(); }

 private:
  size_t size_;
  float* data_ = nullptr;
  Memory memory_{nullptr, ANeuralNetworksMemory_free};
};

// A folder with one file, "model_data.bin": 400 times 0.5, then 400 times 0.4.
class GeneratedAssets {
 public:
  GeneratedAssets() {
    require(mkdtemp(folder_) != nullptr, "no temporary folder");
    std::vector<float> values(2 * kElements, 0.5f);
    values.resize(4 * kElements, 0.4f);
    FILE* file = fopen(path().c_str(), "wb");
    require(file != nullptr, "cannot write " + path());
    const size_t written = fwrite(values.data(), sizeof(float), values.size(), file);
    require(fclose(file) == 0 && written == values.size(), "cannot write " + path());
  }
  ~GeneratedAssets() {
    unlink(path().c_str());
    rmdir(folder_);
  }
  std::string path() const { return std::string(folder_) + "/model_data.bin"; }

 private:
  char folder_[32] = "/tmp/basic.XXXXXX";
};

// Copies a file into shared memory, by way of an asset.
std::unique_ptr<SharedTensor> load(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  Owned<AAssetManager> manager(nnapi_shim_openAssetFolder(folder.c_str()),
                               nnapi_shim_closeAssetFolder);
  require(manager != nullptr, "cannot open the folder " + folder);
  Owned<AAsset> asset(AAssetManager_open(manager.get(), name.c_str(), AASSET_MODE_BUFFER),
                      AAsset_close);
  require(asset != nullptr, "cannot open " + path);
  const auto length = static_cast<size_t>(AAsset_getLength(asset.get()));
  require(length >= 2 * kTensorBytes, path + " is too short");
  auto constants = std::make_unique<SharedTensor>("constants", length, PROT_READ);
  const int got = AAsset_read(asset.get(), constants->data(), length);
  require(got >= 0 && static_cast<size_t>(got) == length, "cannot read " + path);
  return constants;
}

Model build(const SharedTensor& constants) {
  enum : uint32_t { INPUT1, INPUT2, CONSTANT0, CONSTANT1, ACTIVATION, SUM1, SUM2, OUTPUT, COUNT };

  ANeuralNetworksModel* created = nullptr;
  CHECK(ANeuralNetworksModel_create(&created));
  Model model(created, ANeuralNetworksModel_free);

  const ANeuralNetworksOperandType tensor = {
      ANEURALNETWORKS_TENSOR_FLOAT32, 1, &kElements, 0.0f, 0};
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, nullptr, 0.0f, 0};
  for (uint32_t i = 0; i < COUNT; ++i) {
    CHECK(ANeuralNetworksModel_addOperand(model.get(), i == ACTIVATION ? &scalar : &tensor));
  }
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  CHECK(ANeuralNetworksModel_setOperandValue(model.get(), ACTIVATION, &none, sizeof none));
  CHECK(ANeuralNetworksModel_setOperandValueFromMemory(
      model.get(), CONSTANT0, constants.memory(), 0, kTensorBytes));
  CHECK(ANeuralNetworksModel_setOperandValueFromMemory(
      model.get(), CONSTANT1, constants.memory(), kTensorBytes, kTensorBytes));

  const auto add = [&model](int32_t type, uint32_t left, uint32_t right, uint32_t result) {
    const uint32_t inputs[] = {left, right, ACTIVATION};
    CHECK(ANeuralNetworksModel_addOperation(model.get(), type, 3, inputs, 1, &result));
  };
  add(ANEURALNETWORKS_ADD, INPUT1, CONSTANT0, SUM1);
  add(ANEURALNETWORKS_ADD, INPUT2, CONSTANT1, SUM2);
  add(ANEURALNETWORKS_MUL, SUM1, SUM2, OUTPUT);

  const uint32_t inputs[] = {INPUT1, INPUT2};
  const uint32_t outputs[] = {OUTPUT};
  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(model.get(), 2, inputs, 1, outputs));
  CHECK(ANeuralNetworksModel_finish(model.get()));
  return model;
}

Compilation compile(const Model& model) {
  ANeuralNetworksCompilation* created = nullptr;
  CHECK(ANeuralNetworksCompilation_create(model.get(), &created));
  Compilation compilation(created, ANeuralNetworksCompilation_free);
  CHECK(ANeuralNetworksCompilation_setPreference(
      compilation.get(), ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER));
  CHECK(ANeuralNetworksCompilation_finish(compilation.get()));
  return compilation;
}

void run(const Compilation& compilation, const std::vector<float>& input1,
         const SharedTensor& input2, const SharedTensor& output) {
  ANeuralNetworksExecution* created = nullptr;
  CHECK(ANeuralNetworksExecution_create(compilation.get(), &created));
  Execution execution(created, ANeuralNetworksExecution_free);
  CHECK(ANeuralNetworksExecution_setInput(
      execution.get(), 0, nullptr, input1.data(), kTensorBytes));
  CHECK(ANeuralNetworksExecution_setInputFromMemory(
      execution.get(), 1, nullptr, input2.memory(), 0, kTensorBytes));
  CHECK(ANeuralNetworksExecution_setOutputFromMemory(
      execution.get(), 0, nullptr, output.memory(), 0, kTensorBytes));
  ANeuralNetworksEvent* started = nullptr;
  CHECK(ANeuralNetworksExecution_startCompute(execution.get(), &started));
  Event event(started, ANeuralNetworksEvent_free);
  CHECK(ANeuralNetworksEvent_wait(event.get()));
}

// Returns the number of results that are not within the tolerance.
int compare(const std::vector<float>& input1, const SharedTensor& input2,
            const SharedTensor& constants, const SharedTensor& output) {
  int wrong = 0;
  for (uint32_t i = 0; i < kElements; ++i) {
    const float expected = (input1[i] + constants.data()[i]) *
                           (input2.data()[i] + constants.data()[kElements + i]);
    wrong += !(std::fabs(output.data()[i] - expected) <= kTolerance);
  }
  return wrong;
}

int compute_and_compare(const std::string& path) {
  const auto constants = load(path);
  const Model model = build(*constants);
  const Compilation compilation = compile(model);
  const SharedTensor input2("input2", kTensorBytes, PROT_READ);
  const SharedTensor output("output", kTensorBytes, PROT_READ | PROT_WRITE);

  int wrong = 0;
  for (const float value : {1.0f, 0.25f, -0.125f}) {
    std::vector<float> input1(kElements, value);
    for (uint32_t i = 0; i < kElements; ++i) {
      input1[i] += static_cast<float>(i) / 256;
      input2.data()[i] = 2 * value;
    }
    run(compilation, input1, input2, output);
    const int wrong_here = compare(input1, input2, *constants, output);
    std::printf("input1 from %g, input2 %g: output %.5f .. %.5f, %d of %u values wrong\n",
                static_cast<double>(value), static_cast<double>(2 * value),
                static_cast<double>(output.data()[0]),
                static_cast<double>(output.data()[kElements - 1]), wrong_here, kElements);
    wrong += wrong_here;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    int wrong = 0;
    if (argc > 1) {
      wrong = compute_and_compare(argv[1]);
    } else {
      const GeneratedAssets assets;
      wrong = compute_and_compare(assets.path());
    }
    __android_log_print(wrong == 0 ? ANDROID_LOG_INFO : ANDROID_LOG_ERROR, "basic",
                        "%d values wrong", wrong);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    __android_log_print(ANDROID_LOG_ERROR, "basic", "%s", error.what());
    return EXIT_FAILURE;
  }
}

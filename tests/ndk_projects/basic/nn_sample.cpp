// SPDX-License-Identifier: Apache-2.0
// What the activity in Java calls.
#include <android/asset_manager_jni.h>
#include <android/log.h>
#include <fcntl.h>
#include <jni.h>
#include <sys/system_properties.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <string>

#include "simple_model.h"

#define LOG(priority, ...) __android_log_print(ANDROID_LOG_##priority, "basic", __VA_ARGS__)

namespace {

// The characters of a string of Java's, as long as this lives.
class Characters {
 public:
  Characters(JNIEnv* env, jstring string)
      : env_(env), string_(string), chars_(env->GetStringUTFChars(string, nullptr)) {}
  ~Characters() { env_->ReleaseStringUTFChars(string_, chars_); }
  const char* get() const { return chars_; }

 private:
  JNIEnv* env_;
  jstring string_;
  const char* chars_;
};

bool load(SimpleModel* model, AAssetManager* manager, const char* name) {
  AAsset* asset = AAssetManager_open(manager, name, AASSET_MODE_UNKNOWN);
  if (asset == nullptr) {
    LOG(ERROR, "no asset %s", name);
    return false;
  }
  off_t offset = 0, length = 0;
  const int fd = AAsset_openFileDescriptor(asset, &offset, &length);
  AAsset_close(asset);
  if (fd < 0) return false;
  const bool is_loaded = model->load(fd, offset, static_cast<size_t>(length));
  close(fd);
  return is_loaded;
}

}  // namespace

extern "C" JNIEXPORT jlong JNICALL Java_com_example_android_basic_MainActivity_initModel(
    JNIEnv* env, jobject /* this */, jobject _assetManager, jstring _assetName) {
  char device[PROP_VALUE_MAX];
  __system_property_get("ro.product.model", device);
  LOG(INFO, "running on %s", device);

  AAssetManager* manager = AAssetManager_fromJava(env, _assetManager);
  const Characters name(env, _assetName);
  std::unique_ptr<SimpleModel> model(new SimpleModel());
  if (manager == nullptr || !load(model.get(), manager, name.get())) return 0;
  return reinterpret_cast<jlong>(model.release());
}

extern "C" JNIEXPORT jfloat JNICALL Java_com_example_android_basic_MainActivity_startCompute(
    JNIEnv*, jobject, jlong _model, jfloat value1, jfloat value2) {
  float result = NAN;
  return reinterpret_cast<SimpleModel*>(_model)->compute(value1, value2, &result) ? result : NAN;
}

extern "C" JNIEXPORT jstring JNICALL Java_com_example_android_basic_MainActivity_describe(
    JNIEnv* env, jobject activity) {
  const std::string text = std::to_string(SimpleModel::kElements) + " elements";
  jclass type = env->GetObjectClass(activity);
  return type == nullptr || env->ExceptionCheck() ? nullptr : env->NewStringUTF(text.c_str());
}

extern "C" JNIEXPORT void JNICALL Java_com_example_android_basic_MainActivity_destroyModel(
    JNIEnv*, jobject, jlong _model) {
  delete reinterpret_cast<SimpleModel*>(_model);
}

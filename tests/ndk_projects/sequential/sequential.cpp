// SPDX-License-Identifier: Apache-2.0
// What the activity in Java calls.
#include <android/api-level.h>
#include <android/log.h>
#include <jni.h>

#include <vector>

#include "sequential_model.h"

#if __ANDROID_API__ < 30
#error "events as dependencies came with API level 30"
#endif

namespace {

void throwException(JNIEnv* env, const char* name, const char* message) {
  jclass type = env->FindClass(name);
  if (type != nullptr) env->ThrowNew(type, message);
}

}  // namespace

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  const jint result = vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6);
  return result == JNI_OK ? JNI_VERSION_1_6 : JNI_ERR;
}

extern "C" JNIEXPORT jlong JNICALL Java_com_example_android_sequential_MainActivity_initModel(
    JNIEnv* env, jobject, jfloat ratio) {
  const int level = android_get_device_api_level();
  const bool is_new = ANeuralNetworks_getRuntimeFeatureLevel() >= ANEURALNETWORKS_FEATURE_LEVEL_4;
  __android_log_print(ANDROID_LOG_INFO, "sequential", "Android of API level %d", level);
  if (level < __ANDROID_API_R__ || !is_new) {
    throwException(env, "java/lang/UnsupportedOperationException", "this Android is too old");
    return 0;
  }
  return reinterpret_cast<jlong>(SequentialModel::create(ratio).release());
}

// The sums after each of the numbers of steps.
extern "C" JNIEXPORT jfloatArray JNICALL Java_com_example_android_sequential_MainActivity_compute(
    JNIEnv* env, jobject, jfloat initialState, jintArray steps, jlong handle) {
  auto* model = reinterpret_cast<SequentialModel*>(handle);
  const jsize length = env->GetArrayLength(steps);
  std::vector<float> sums(static_cast<size_t>(length));
  jint* elements = env->GetIntArrayElements(steps, nullptr);
  bool went_well = true;
  for (size_t i = 0; i < sums.size() && went_well; ++i) {
    went_well = model->compute(initialState, static_cast<uint32_t>(elements[i]), &sums[i]);
  }
  env->ReleaseIntArrayElements(steps, elements, JNI_ABORT);
  if (!went_well) {
    throwException(env, "java/lang/IllegalStateException", "a step failed");
    return nullptr;
  }
  jfloatArray result = env->NewFloatArray(length);
  env->SetFloatArrayRegion(result, 0, length, sums.data());
  return result;
}

extern "C" JNIEXPORT void JNICALL Java_com_example_android_sequential_MainActivity_destroyModel(
    JNIEnv*, jobject, jlong handle) {
  delete reinterpret_cast<SequentialModel*>(handle);
}

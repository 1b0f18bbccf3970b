/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the part of Java: loads the library of a project and calls its native methods with the
 * stand-in. Arguments: "basic", library, folder of the assets or "" for none, name of an asset; or
 * "sequential", library.
 */
#include <dlfcn.h>
#include <nnapi_shim_assets.h>
#include <nnapi_shim_jni.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static JNIEnv* env;
static void* library;

_Noreturn static void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(EXIT_FAILURE);
}

static void load(const char* path) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail(dlerror());
  jint (*on_load)(JavaVM*, void*);
  *(void**)&on_load = dlsym(library, "JNI_OnLoad");
  JavaVM* vm = NULL;
  (*env)->GetJavaVM(env, &vm);
  if (on_load != NULL && on_load(vm, NULL) != JNI_VERSION_1_6) fail("JNI_OnLoad fails");
}

/* Stores the address of a native method. */
static void find(const char* project, const char* method, void* function) {
  char name[256];
  snprintf(name, sizeof name, "Java_com_example_android_%s_MainActivity_%s", project, method);
  *(void**)function = dlsym(library, name);
  if (*(void**)function == NULL) fail(dlerror());
}

static void end_if_thrown(void) {
  if (!(*env)->ExceptionCheck(env)) return;
  (*env)->ExceptionDescribe(env);
  exit(EXIT_FAILURE);
}

static void run_basic(jobject activity, const char* folder, const char* name) {
  jlong (*init_model)(JNIEnv*, jobject, jobject, jstring);
  jfloat (*start_compute)(JNIEnv*, jobject, jlong, jfloat, jfloat);
  jstring (*describe)(JNIEnv*, jobject);
  void (*destroy_model)(JNIEnv*, jobject, jlong);
  find("basic", "initModel", &init_model);
  find("basic", "startCompute", &start_compute);
  find("basic", "describe", &describe);
  find("basic", "destroyModel", &destroy_model);

  AAssetManager* manager = folder[0] == '\0' ? NULL : nnapi_shim_openAssetFolder(folder);
  jobject assets = manager == NULL ? NULL : nnapi_shim_newJavaAssetManager(env, manager);
  jlong model = init_model(env, activity, assets, (*env)->NewStringUTF(env, name));
  if (model == 0) fail("there is no model");
  jstring text = describe(env, activity);
  const char* chars = (*env)->GetStringUTFChars(env, text, NULL);
  printf("%s\n", chars);
  (*env)->ReleaseStringUTFChars(env, text, chars);
  printf("%g\n", start_compute(env, activity, model, 1.0f, 2.0f));
  printf("%g\n", start_compute(env, activity, model, -0.5f, 8.0f));
  destroy_model(env, activity, model);
  nnapi_shim_closeAssetFolder(manager);
}

static void run_sequential(jobject activity) {
  jlong (*init_model)(JNIEnv*, jobject, jfloat);
  jfloatArray (*compute)(JNIEnv*, jobject, jfloat, jintArray, jlong);
  void (*destroy_model)(JNIEnv*, jobject, jlong);
  find("sequential", "initModel", &init_model);
  find("sequential", "compute", &compute);
  find("sequential", "destroyModel", &destroy_model);

  jlong model = init_model(env, activity, 0.5f);
  end_if_thrown();
  if (model == 0) fail("there is no model");
  const jint steps[] = {1, 2, 3, 200};
  jintArray all_steps = (*env)->NewIntArray(env, 4);
  (*env)->SetIntArrayRegion(env, all_steps, 0, 4, steps);
  jfloatArray sums = compute(env, activity, 1.0f, all_steps, model);
  end_if_thrown();
  jfloat* elements = (*env)->GetFloatArrayElements(env, sums, NULL);
  for (int i = 0; i < 4; ++i) printf("%g\n", elements[i]);
  (*env)->ReleaseFloatArrayElements(env, sums, elements, JNI_ABORT);
  destroy_model(env, activity, model);
}

int main(int argc, char** argv) {
  if (argc < 3) fail("arguments: see the top of this file");
  env = nnapi_shim_getJavaEnv();
  load(argv[2]);
  (*env)->PushLocalFrame(env, 16);
  char name[256];
  snprintf(name, sizeof name, "com/example/android/%s/MainActivity", argv[1]);
  jobject activity = (*env)->AllocObject(env, (*env)->FindClass(env, name));
  if (strcmp(argv[1], "basic") == 0 && argc == 5) run_basic(activity, argv[3], argv[4]);
  if (strcmp(argv[1], "sequential") == 0) run_sequential(activity);
  (*env)->PopLocalFrame(env, NULL);
  return EXIT_SUCCESS;
}

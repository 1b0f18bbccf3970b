/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for Java: what a C program needs to call functions that are written to be called from
 * Java (Java_com_example_...), without any Java. The program makes the arguments through the
 * environment: strings, arrays, and objects by AllocObject().
 *
 * There are strings, arrays, direct buffers, references, frames of references, exceptions, and
 * classes, of which each name is one, without superclasses, methods and fields. A function of the
 * environment that is not there, or gets an object of the wrong kind, ends the program with a line
 * that names it. docs/android.md lists what is there.
 */
#ifndef NNAPI_SHIM_JNI_H
#define NNAPI_SHIM_JNI_H

#include <android/asset_manager.h>
#include <jni.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Gives the environment of the calling thread; it is the thread's until it ends or detaches. */
JNIEnv* nnapi_shim_getJavaEnv(void);

/**
 * Makes a Java object that stands for a manager of assets, which must live as long; NULL means the
 * folder of NNAPI_SHIM_ASSETS. Returns a local reference.
 */
jobject nnapi_shim_newJavaAssetManager(JNIEnv* env, AAssetManager* manager);

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_JNI_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* A rectangle of pixels. */
#ifndef NNAPI_SHIM_ANDROID_RECT_H
#define NNAPI_SHIM_ANDROID_RECT_H

#include <stdint.h>

/** Pixels from (left, top), included, to (right, bottom), not included. */
typedef struct ARect {
  int32_t left;
  int32_t top;
  int32_t right;
  int32_t bottom;
} ARect;

#endif /* NNAPI_SHIM_ANDROID_RECT_H */

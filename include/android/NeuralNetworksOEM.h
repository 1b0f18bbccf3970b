/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes that a manufacturer of devices could use before there were extensions. A model may contain
 * them; none of the devices here runs the operation.
 */
#ifndef NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_OEM_H
#define NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_OEM_H

#ifdef __cplusplus
extern "C" {
#endif

/** Types of operands whose values only the manufacturer's device understands. */
enum {
  /** Scalar of any length. */
  ANEURALNETWORKS_OEM_SCALAR = 10000,
  /** Tensor of bytes. */
  ANEURALNETWORKS_TENSOR_OEM_BYTE = 10001
};

/** An operation that only the manufacturer's device understands, with any operands. */
enum {
  ANEURALNETWORKS_OEM_OPERATION = 10000
};

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_OEM_H */

/* SPDX-License-Identifier: Apache-2.0 */
#include <nnapi_shim.h>
#include <stdio.h>

/* Names an operand of a model that is being built, and prints why it was refused, if it was. */
int name_operand(ANeuralNetworksModel* model, int32_t index, const char* name) {
  int code = nnapi_shim_setOperandName(model, index, name);
  if (code != ANEURALNETWORKS_NO_ERROR) fprintf(stderr, "%s\n", nnapi_shim_getLastError());
  return code;
}

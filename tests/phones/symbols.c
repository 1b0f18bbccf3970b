/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the names among its arguments that dlsym() finds in libneuralnetworks.so. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* library = dlopen("libneuralnetworks.so", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  for (int i = 1; i < argc; ++i) {
    if (dlsym(library, argv[i]) != NULL) printf("%s\n", argv[i]);
  }
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of /dev/zero, from an offset: it has bytes everywhere. */
#include <fcntl.h>
#include <sys/mman.h>

#include "../check.h"
#include "add.h"

int main(void)
{
    static const int sizes[] = {16, 4096};
    const int zero = open("/dev/zero", O_RDWR), file = memfd_create("target", 0);
    CHECK(zero > 2 && file > 2 && ftruncate(file, 4096) == 0);
    for (int i = 0; i < 2; i++) {
        ANeuralNetworksMemory *source = NULL, *target = NULL;
        const int all = PROT_READ | PROT_WRITE;
        CHECK(ANeuralNetworksMemory_createFromFd(sizes[i], all, zero, 1 << 20, &source) == 0);
        CHECK(ANeuralNetworksMemory_createFromFd(sizes[i], all, file, 0, &target) == 0);
        CHECK(ANeuralNetworksMemory_copy(source, target) == 0);
        CHECK(ANeuralNetworksMemory_copy(target, source) == 0);
        ANeuralNetworksMemory_free(source);
        ANeuralNetworksMemory_free(target);
    }
    return 0;
}

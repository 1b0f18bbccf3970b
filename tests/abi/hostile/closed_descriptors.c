/* SPDX-License-Identifier: Apache-2.0 */
/* A program without stdin, stdout and stderr: its files stay its own. argv[1]: a file. With argv[2] it closes
 * them itself: an emulator may have opened one. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../check.h"
#include "add.h"

#undef CHECK
#define CHECK(condition)        \
    do {                        \
        if (!(condition))       \
            _exit(__LINE__ % 256); \
    } while (0)

enum { SIZE = 4096 };

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 64; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

/* Each refusal writes a line to stderr, if there is one. */
static void refuse(void)
{
    for (int i = 0; i < 8; i++)
        CHECK(ANeuralNetworksModel_create(NULL) == ANEURALNETWORKS_UNEXPECTED_NULL);
}

int main(int argc, char **argv)
{
    unsigned char before[SIZE], after[SIZE];
    CHECK(argc == 2 || argc == 3);
    for (int fd = 0; fd < 3 && argc == 3; fd++)
        close(fd);
    /* The program starts with none of them open: see the test. */
    for (int fd = 0; fd < 3; fd++)
        CHECK(fcntl(fd, F_GETFD) == -1);
    CHECK(add("nnapi-cpu") == ANEURALNETWORKS_NO_ERROR);
    for (int fd = 0; fd < 3; fd++)
        CHECK(fcntl(fd, F_GETFD) == -1);

    int file = openat(AT_FDCWD, argv[1], O_RDWR | O_CREAT, 0600);
    CHECK(file == 0);
    for (int i = 0; i < SIZE; i++)
        before[i] = (unsigned char)i;
    CHECK(write(file, before, SIZE) == SIZE);

    ANeuralNetworksMemory *memory = NULL, *other = NULL;
    ANeuralNetworksEvent *event = NULL;
    const int count = count_descriptors();
    /* Descriptor 0 is taken; a duplicate would be 1, 2. */
    int fences[2];
    CHECK(ANeuralNetworksMemory_createFromFd(SIZE, PROT_READ | PROT_WRITE, file, 0, &memory) == 0);
    CHECK(ANeuralNetworksMemory_createFromFd(SIZE, PROT_READ | PROT_WRITE, file, 0, &other) == 0);
    CHECK(ANeuralNetworksMemory_copy(memory, other) == 0); /* which maps them */
    CHECK(count_descriptors() == count + 2);               /* one for each */
    refuse();
    CHECK(fcntl(1, F_GETFD) == -1 && fcntl(2, F_GETFD) == -1);
    CHECK(pipe(fences) == 0); /* 1 and 2 */
    CHECK(dup2(fences[0], 40) == 40 && close(fences[0]) == 0 && close(fences[1]) == 0);
    CHECK(ANeuralNetworksEvent_createFromSyncFenceFd(40, &event) == 0);
    CHECK(fcntl(1, F_GETFD) == -1 && fcntl(2, F_GETFD) == -1);
    int fence = -1;
    CHECK(ANeuralNetworksEvent_getSyncFenceFd(event, &fence) == 0 && fence > 2);
    close(fence);

    /* Now the program's own files are 1 and 2. */
    CHECK(open(argv[1], O_RDWR) == 1 && open(argv[1], O_RDWR) == 2);
    refuse();
    CHECK(pread(0, after, SIZE, 0) == SIZE && memcmp(before, after, SIZE) == 0);
    struct stat status;
    CHECK(fstat(0, &status) == 0 && status.st_size == SIZE);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksMemory_free(other);
    CHECK(pread(0, after, SIZE, 0) == SIZE && memcmp(before, after, SIZE) == 0);

    /* A log is where messages belong, although it was opened late. */
    CHECK(close(2) == 0 && ftruncate(0, 0) == 0);
    CHECK(open(argv[1], O_WRONLY | O_APPEND) == 2);
    refuse();
    CHECK(fstat(0, &status) == 0 && status.st_size > 100);
    return 0;
}

/* Whether system calls take memory behind the end of a file, in the last page that is mapped of it: programs may use it, and
 * Linux lets them. Prints the first byte of the page that is refused with EFAULT, or nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LENGTH = 100, STEP = 4096 };

static int fails(const char *what)
{
    perror(what);
    return 1;
}

int main(void)
{
    long size = sysconf(_SC_PAGESIZE);
    int file = memfd_create("short", 0), ends[2];
    if (file < 0 || ftruncate(file, LENGTH) != 0 || pipe(ends) != 0)
        return fails("a short file and a pipe");
    char *page = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (page == MAP_FAILED)
        return fails("mmap");
    for (long at = 0; at < size; at += STEP) {
        page[at] = 1;
        if (write(ends[1], page + at, 1) == 1)
            continue;
        if (errno != EFAULT)
            return fails("write");
        printf("%ld\n", at);
        return 0;
    }
    return 0;
}

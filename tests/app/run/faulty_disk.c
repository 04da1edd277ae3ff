/* SPDX-License-Identifier: Apache-2.0 */
/* faulty_disk.c - a library for LD_PRELOAD that makes calls fail that need the disk
 *
 * It numbers the calls of the process that may fail because the disk is full or broken: write, pwrite, fsync,
 * fdatasync and ftruncate of regular files, rename, and open with O_CREAT. The file FAULTY_DISK, a `struct plan`
 * which the test maps too, says which of them fail, and gets the number of calls.
 *
 * A call that fails has no effect. It concerns only the process that was started with it: LD_PRELOAD is removed
 * from the environment, so that the children of the process have a good disk.
 *
 * Two threads may make calls at the same time, so a number is not always that of the same call. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The test sees the same bytes: test_disk. */
struct plan {
    _Atomic int64_t count;  /* of calls so far */
    _Atomic int64_t first;  /* the call that fails; 0: none */
    _Atomic int64_t lasts;  /* so do all after it */
    _Atomic int64_t healed; /* the disk is good again */
    _Atomic int64_t error;  /* errno */
    _Atomic int64_t failed; /* calls that have failed */
    char call[64];          /* the first of them */
};

static struct plan *plan;

__attribute__((constructor)) static void open_plan(void)
{
    const char *path = getenv("FAULTY_DISK");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *bytes =
        file < 0 ? MAP_FAILED : mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) {
        fputs("faulty_disk: FAULTY_DISK cannot be mapped\n", stderr);
        _exit(99);
    }
    (void)close(file);
    plan = bytes;
    (void)unsetenv("LD_PRELOAD");
}

/* Counts a call. Returns true, with errno, if it has to fail. */
static bool fails(const char *call)
{
    if (plan == NULL)
        return false;
    int64_t number = atomic_fetch_add(&plan->count, 1) + 1, first = plan->first;
    if (first == 0 || number < first || (number > first && !plan->lasts) || plan->healed)
        return false;
    if (atomic_fetch_add(&plan->failed, 1) == 0)
        (void)snprintf(plan->call, sizeof plan->call, "%s", call);
    errno = (int)plan->error;
    return true;
}

static bool is_file(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* The function that this library hides. */
static void *original(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL)
        abort();
    return function;
}

#define ORIGINAL(name) ((__typeof__(&name))original(#name))

ssize_t write(int fd, const void *bytes, size_t size)
{
    return is_file(fd) && fails("write") ? -1 : ORIGINAL(write)(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    return is_file(fd) && fails("pwrite") ? -1 : ORIGINAL(pwrite)(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    return is_file(fd) && fails("pwrite") ? -1 : ORIGINAL(pwrite64)(fd, bytes, size, offset);
}

int fsync(int fd)
{
    return is_file(fd) && fails("fsync") ? -1 : ORIGINAL(fsync)(fd);
}

int fdatasync(int fd)
{
    return is_file(fd) && fails("fdatasync") ? -1 : ORIGINAL(fdatasync)(fd);
}

int ftruncate(int fd, off_t size)
{
    return is_file(fd) && fails("ftruncate") ? -1 : ORIGINAL(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    return is_file(fd) && fails("ftruncate") ? -1 : ORIGINAL(ftruncate64)(fd, size);
}

int rename(const char *from, const char *to)
{
    return fails("rename") ? -1 : ORIGINAL(rename)(from, to);
}

/* The mode is an argument only if a file may be created. */
static mode_t mode_of(int flags, va_list values)
{
    return (flags & O_CREAT) != 0 ? va_arg(values, mode_t) : 0;
}

static bool open_fails(int flags)
{
    return (flags & O_CREAT) != 0 && fails("open");
}

int open(const char *path, int flags, ...)
{
    va_list values;
    va_start(values, flags);
    mode_t mode = mode_of(flags, values);
    va_end(values);
    return open_fails(flags) ? -1 : ORIGINAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list values;
    va_start(values, flags);
    mode_t mode = mode_of(flags, values);
    va_end(values);
    return open_fails(flags) ? -1 : ORIGINAL(open64)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list values;
    va_start(values, flags);
    mode_t mode = mode_of(flags, values);
    va_end(values);
    return open_fails(flags) ? -1 : ORIGINAL(openat)(folder, path, flags, mode);
}

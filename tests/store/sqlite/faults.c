/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - a disk that fails, fills up, or loses power; see faults.h
 *
 * Writes go to the real files at once. A list has each change since the last xSync of its file, with the
 * bytes before and after. faults_settle undoes all changes, the latest first, and then repeats those that
 * the disk has kept. */
#include "faults.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

enum { SECTOR = 512 };

/* A change of a file that was not synced. */
typedef struct disk_change {
    struct disk_change *previous, *next;
    char *path;
    int64_t offset;
    int64_t size_before;          /* of the file */
    int64_t old_bytes, new_bytes; /* at offset; a truncation has no new ones */
    bool truncates;               /* to offset */
    char *old_data, *new_data;
} disk_change;

typedef struct faults_file {
    sqlite3_file base;
    char *path;
    sqlite3_file *real;
} faults_file;

static sqlite3_vfs *system_vfs;
static sqlite3_vfs vfs;
static disk_change *latest, *earliest;

static faults_kind armed;
static int64_t left; /* operations until the fault */
static bool happened, dead;
static bool is_losing; /* power is lost during this operation */

/* ---- the fault ---- */

/* Counts an operation. Returns whether it fails. */
static bool fails(bool writes)
{
    is_losing = false;
    if (dead)
        return true;
    if (armed == FAULTS_NONE || (!writes && (armed == FAULTS_POWER_LOSS || armed == FAULTS_FULL)))
        return false;
    if (left > 0 && --left > 0)
        return false;
    if (happened && armed == FAULTS_FAIL_ONCE)
        return false;
    happened = true;
    if (armed == FAULTS_POWER_LOSS)
        dead = is_losing = true;
    return true;
}

void faults_arm(faults_kind kind, int64_t n)
{
    assert(n > 0);
    armed = kind;
    left = n;
    happened = dead = false;
}

bool faults_disarm(void)
{
    if (!dead)
        armed = FAULTS_NONE;
    return happened;
}

/* ---- changes ---- */

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static void forget(disk_change *one)
{
    *(one->previous != NULL ? &one->previous->next : &earliest) = one->next;
    *(one->next != NULL ? &one->next->previous : &latest) = one->previous;
    free(one->path);
    free(one->old_data);
    free(one->new_data);
    free(one);
}

static void forget_file(const char *path)
{
    for (disk_change *one = earliest, *next; one != NULL; one = next) {
        next = one->next;
        if (strcmp(one->path, path) == 0)
            forget(one);
    }
}

/* Records a change that is about to be made. */
static void remember(const faults_file *file, int64_t offset, const void *data, int64_t bytes)
{
    if (file->path == NULL)
        return; /* a temporary file */
    int fd = open(file->path, O_RDONLY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        abort();
    disk_change *one = must(calloc(1, sizeof *one));
    *one = (disk_change){.path = must(strdup(file->path)),
                         .offset = offset,
                         .size_before = status.st_size,
                         .truncates = data == NULL};
    one->old_bytes = status.st_size > offset ? status.st_size - offset : 0;
    if (data != NULL) {
        one->old_bytes = one->old_bytes < bytes ? one->old_bytes : bytes;
        one->new_bytes = bytes;
        one->new_data = must(malloc((size_t)bytes));
        memcpy(one->new_data, data, (size_t)bytes);
    }
    one->old_data = must(malloc((size_t)one->old_bytes + 1));
    if (pread(fd, one->old_data, (size_t)one->old_bytes, offset) != one->old_bytes)
        abort();
    close(fd);
    one->previous = latest;
    *(latest != NULL ? &latest->next : &earliest) = one;
    latest = one;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(2685821657736338717);
}

static void put_bytes(int fd, const char *data, int64_t bytes, int64_t offset)
{
    if (pwrite(fd, data, (size_t)bytes, offset) != bytes)
        abort();
}

static int open_file(const disk_change *one)
{
    int fd = open(one->path, O_RDWR | O_CREAT, 0644);
    if (fd < 0)
        abort();
    return fd;
}

static void undo(const disk_change *one)
{
    int fd = open_file(one);
    put_bytes(fd, one->old_data, one->old_bytes, one->offset);
    if (ftruncate(fd, one->size_before) != 0)
        abort();
    close(fd);
}

/* Repeats a change as the disk may have kept it. Returns whether it is as it was. */
static bool redo(const disk_change *one, uint64_t *random)
{
    uint64_t choice = next_random(random) % 4;
    if (choice == 0)
        return false;
    int fd = open_file(one);
    int64_t bytes = one->new_bytes;
    if (one->truncates) {
        if (ftruncate(fd, one->offset) != 0)
            abort();
    } else if (choice == 1) {
        put_bytes(fd, one->new_data, bytes, one->offset);
    } else {
        /* Some sectors are there. The others are as they were, or have garbage. */
        for (int64_t done = 0; done < bytes; done += SECTOR) {
            int64_t part = bytes - done < SECTOR ? bytes - done : SECTOR;
            char garbage[SECTOR];
            memset(garbage, (int)next_random(random), sizeof garbage);
            if (next_random(random) % 2 == 0)
                put_bytes(fd, one->new_data + done, part, one->offset + done);
            else if (choice == 2)
                put_bytes(fd, garbage, part, one->offset + done);
        }
    }
    close(fd);
    return one->truncates || choice == 1;
}

int64_t faults_settle(uint64_t seed)
{
    int64_t lost = 0;
    uint64_t random = seed * 2 + 1;
    if (dead) {
        for (const disk_change *one = latest; one != NULL; one = one->previous)
            undo(one);
        for (const disk_change *one = earliest; one != NULL; one = one->next)
            lost += !redo(one, &random);
    }
    while (earliest != NULL)
        forget(earliest);
    armed = FAULTS_NONE;
    dead = happened = false;
    return lost;
}

/* ---- files ---- */

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((faults_file *)(void *)file)->real;
}

static int on_close(sqlite3_file *file)
{
    faults_file *own = (faults_file *)(void *)file;
    int code = own->real->pMethods != NULL ? own->real->pMethods->xClose(own->real) : SQLITE_OK;
    free(own->real);
    free(own->path);
    return code;
}

static int on_read(sqlite3_file *file, void *data, int bytes, sqlite3_int64 offset)
{
    if (fails(false))
        return SQLITE_IOERR_READ;
    return real_of(file)->pMethods->xRead(real_of(file), data, bytes, offset);
}

static int on_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset)
{
    bool failing = fails(true);
    /* The write during which power is lost may have reached the disk. */
    if (!failing || is_losing) {
        remember((faults_file *)(void *)file, offset, data, bytes);
        int code = real_of(file)->pMethods->xWrite(real_of(file), data, bytes, offset);
        if (!failing)
            return code;
    }
    return armed == FAULTS_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (fails(armed != FAULTS_FULL))
        return SQLITE_IOERR_TRUNCATE;
    remember((faults_file *)(void *)file, size, NULL, 0);
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int on_sync(sqlite3_file *file, int flags)
{
    (void)flags;
    const faults_file *own = (faults_file *)(void *)file;
    if (fails(armed != FAULTS_FULL))
        return SQLITE_IOERR_FSYNC;
    if (own->path != NULL)
        forget_file(own->path);
    return SQLITE_OK;
}

static int on_file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
    if (fails(false))
        return SQLITE_IOERR_FSTAT;
    return real_of(file)->pMethods->xFileSize(real_of(file), ret_size);
}

static int on_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int on_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int on_check_reserved(sqlite3_file *file, int *ret_reserved)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret_reserved);
}

static int on_control(sqlite3_file *file, int operation, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, arg);
}

static int on_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int on_characteristics(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int on_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret_memory)
{
    if (fails(false))
        return SQLITE_IOERR_SHMMAP;
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, ret_memory);
}

static int on_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void on_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int on_shm_unmap(sqlite3_file *file, int delete)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = on_close,
    .xRead = on_read,
    .xWrite = on_write,
    .xTruncate = on_truncate,
    .xSync = on_sync,
    .xFileSize = on_file_size,
    .xLock = on_lock,
    .xUnlock = on_unlock,
    .xCheckReservedLock = on_check_reserved,
    .xFileControl = on_control,
    .xSectorSize = on_sector_size,
    .xDeviceCharacteristics = on_characteristics,
    .xShmMap = on_shm_map,
    .xShmLock = on_shm_lock,
    .xShmBarrier = on_shm_barrier,
    .xShmUnmap = on_shm_unmap,
};

/* ---- the file system ---- */

static int on_open(sqlite3_vfs *self, const char *path, sqlite3_file *file, int flags, int *ret_flags)
{
    (void)self;
    faults_file *own = (faults_file *)(void *)file;
    *own = (faults_file){.base.pMethods = NULL};
    if (fails(false))
        return SQLITE_CANTOPEN;
    own->real = must(calloc(1, (size_t)system_vfs->szOsFile));
    int code = system_vfs->xOpen(system_vfs, path, own->real, flags, ret_flags);
    if (code != SQLITE_OK) {
        free(own->real);
        return code;
    }
    own->path = path != NULL ? must(strdup(path)) : NULL;
    own->base.pMethods = &methods;
    return SQLITE_OK;
}

static int on_delete(sqlite3_vfs *self, const char *path, int sync)
{
    (void)self;
    if (fails(armed != FAULTS_FULL))
        return SQLITE_IOERR_DELETE;
    int code = system_vfs->xDelete(system_vfs, path, sync);
    if (code == SQLITE_OK)
        forget_file(path);
    return code;
}

static int on_access(sqlite3_vfs *self, const char *path, int flags, int *ret_result)
{
    (void)self;
    if (fails(false))
        return SQLITE_IOERR_ACCESS;
    return system_vfs->xAccess(system_vfs, path, flags, ret_result);
}

static int on_last_error(sqlite3_vfs *self, int size, char *text)
{
    (void)self;
    return happened ? EIO : system_vfs->xGetLastError(system_vfs, size, text);
}

void faults_install(void)
{
    if (system_vfs != NULL)
        return;
    system_vfs = sqlite3_vfs_find(NULL);
    vfs = *system_vfs;
    vfs.pNext = NULL;
    vfs.zName = "faults";
    vfs.szOsFile = (int)sizeof(faults_file);
    vfs.xOpen = on_open;
    vfs.xDelete = on_delete;
    vfs.xAccess = on_access;
    vfs.xGetLastError = on_last_error;
    sqlite3_vfs_register(&vfs, 1);
}

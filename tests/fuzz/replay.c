/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - call a fuzz target with files instead of random bytes: fuzz_NAME FOLDER
 *
 * Each file is given as it is, and cut off at every length if it is short. Fails if there is none. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { MOST_BYTES = 1 << 16, MOST_CUTS = 512 };

/* A copy of just that size, so that a sanitizer sees who reads on. */
static void give(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + (size == 0));
    if (copy == NULL)
        exit(2);
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void replay(const char *path)
{
    static uint8_t data[MOST_BYTES];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    size_t size = fread(data, 1, sizeof data, file);
    (void)fclose(file);
    give(data, size);
    for (size_t cut = 0; cut < size && size <= MOST_CUTS; cut++)
        give(data, cut);
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (folder == NULL) {
        fprintf(stderr, "usage: fuzz_NAME FOLDER\n");
        return 2;
    }
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        replay(path);
        count++;
    }
    (void)closedir(folder);
    printf("%d files\n", count);
    return count > 0 ? 0 : 1;
}

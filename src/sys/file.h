/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - read a whole file, and write to a descriptor */
#ifndef HORA_SYS_FILE_H
#define HORA_SYS_FILE_H

#include <stddef.h>

/* Reads a regular file of at most `most` bytes. The caller frees *ret_data with hora__free.
 * Errors: HORA_ENOENT (the file does not exist, or is not a regular file), HORA_EBADMSG (it is larger),
 * HORA_EIO (it cannot be read), HORA_EMFILE, HORA_ENFILE, HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__file_read(const char *path, size_t most, void **ret_data,
                                                        size_t *ret_size);

/* Writes all bytes to a descriptor, and waits for room if necessary, even if the descriptor is non-blocking.
 * Returns 0 or HORA_EIO. */
__attribute__((warn_unused_result)) int hora__file_write(int fd, const char *data, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - the contents of a file, as a whole; and writing to a descriptor */
#ifndef HORA_SYS_FILE_H
#define HORA_SYS_FILE_H

#include <stddef.h>

/* Read a regular file that has at most `most` bytes. *ret_data is for hora__free.
 * HORA_ENOENT (there is none, or it is something else, such as a folder), HORA_EBADMSG (it is larger), HORA_EIO (it
 * cannot be read, or may not be), HORA_EMFILE, HORA_ENFILE, HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__file_read(const char *path, size_t most, void **ret_data,
                                                        size_t *ret_size);

/* Write all of it to a descriptor, and wait for it to take it if need be, also if it says that it does not wait. HORA_EIO. */
__attribute__((warn_unused_result)) int hora__file_write(int fd, const char *data, size_t size);

#endif

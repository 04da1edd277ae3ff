/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - an open store: a backend, and what all databases have in common */
#ifndef HORA_STORE_STORE_H
#define HORA_STORE_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "backend.h"
#include "definition.h"

/* Tasks have changed, and the earliest of them is due at `due`, which counts from now if `after_now`.
 * INT64_MIN: that is not known. */
typedef void (*hora__woken_fn)(int64_t due, bool after_now, void *arg);

struct hora_store {
    hora__backend *backend;
    pid_t process;                                   /* that opened it; its children must not use it */
    atomic_int durables;                             /* durable schedulers that use it */
    pthread_mutex_t lock;                            /* protects the rest */
    struct hora__put_request *first_put, **last_put; /* calls of hora_store_put that wait for a commit */
    bool putting;                                    /* a thread commits a group of them */
    hora__woken_fn
        woken; /* tells the durable scheduler of this process that tasks have changed; NULL: none */
    void *woken_arg;
};

/* Sets the function to call after each put and change by this process; NULL: none. When the call returns, an
 * earlier function is not running and is not called again. */
void hora__store_set_woken(hora_store *store, hora__woken_fn woken, void *arg);

/* Calls that function. */
void hora__store_changed(hora_store *store, int64_t due, bool after_now);

/* HORA_EINVAL for NULL, HORA_EFORKED in a child of the process that opened the store. */
int hora__store_check(const hora_store *store, hora_error *reason);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - an open store: a backend, and what all databases have in common */
#ifndef HORA_STORE_STORE_H
#define HORA_STORE_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "backend.h"
#include "definition.h"

struct hora_store {
    hora__backend *backend;
    pid_t process;                                   /* that opened it; its children must not use it */
    atomic_int durables;                             /* durable schedulers that use it */
    pthread_mutex_t lock;                            /* protects the rest */
    struct hora__put_request *first_put, **last_put; /* calls of hora_store_put that wait for a commit */
    bool putting;                                    /* a thread commits a group of them */
};

/* HORA_EINVAL for NULL, HORA_EFORKED in a child of the process that opened the store. */
int hora__store_check(const hora_store *store, hora_error *reason);

/* A task in the form that backends take, with the memory that it needs. */
typedef struct hora__prepared {
    hora__put put;
    char *text; /* its definition */
} hora__prepared;

/* Checks a task and prepares it for this store; the strings of the task must stay. */
int hora__prepare_put(hora_store *store, const hora_durable_task *task, hora__prepared *ret_prepared,
                      hora_error *reason);
void hora__prepared_free(hora__prepared *prepared);

#endif

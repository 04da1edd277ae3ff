/* SPDX-License-Identifier: Apache-2.0 */
/* scheduled_functions.c - find the functions that declare themselves, and declare them
 *
 * HORA_SCHEDULED_FUNCTION leaves a pointer for each in a section of its own, and the linker says where in the program or library that begins and
 * ends. So nothing runs before main, and nobody keeps a list that could change. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/reason.h"
#include "sched/registrar.h"
#include "sys/alloc.h"
#include "sys/process.h"

static int call(void *arg, void **ret_result)
{
    assert(arg != NULL);
    const hora_scheduled_function *function = arg;
    (void)ret_result;
    return function->run();
}

static hora_task task_of(const hora_scheduled_function *function)
{
    assert(function != NULL);
    void *arg; /* never written through, and never dropped */
    memcpy(&arg, &function, sizeof arg);
    return (hora_task){
        .run = function->run != NULL ? call : NULL,
        .arg = arg,
        .name = function->name,
        .file = function->file,
        .line = function->line,
    };
}

/* Understand all of them; how many there are. */
static int read_all(hora_registrar *registrar, const hora_scheduled_functions *functions,
                    hora_registration **batch, hora_error *reason, int *ret_count)
{
    assert(functions->first <= functions->end && ret_count != NULL);
    int error = 0;
    for (const hora_scheduled_function *const *at = functions->first; at < functions->end && error == 0;
         at++) {
        if (*at == NULL)
            continue; /* a linker may leave gaps */
        hora_task task = task_of(*at);
        error = hora__registration_new(registrar, &task, &(*at)->declaration, &batch[*ret_count], reason);
        if (error == 0)
            (*ret_count)++;
    }
    return error;
}

static int complain(hora_error *reason, int code)
{
    assert(code < 0);
    const struct hora__complaint complaint = {.what = hora_strerror(code)};
    return hora__declaration_complain(reason, code, NULL, "scheduled functions", &complaint);
}

static int add_all(hora_registrar *registrar, const hora_scheduled_functions *functions,
                   hora_registration **batch, hora_error *reason)
{
    assert(batch != NULL);
    int count = 0;
    int error = read_all(registrar, functions, batch, reason, &count);
    if (error == 0) {
        error = hora__registrar_enlist(registrar, batch, count, reason);
        if (error < 0 && (reason == NULL || reason->code == 0))
            (void)complain(reason, error);
    }
    for (int i = 0; i < count && error < 0; i++)
        hora__registration_forget(batch[i]);
    return error < 0 ? error : count;
}

int hora_registrar_add_functions(hora_registrar *registrar, const hora_scheduled_functions *functions,
                                 hora_error *reason)
{
    hora__reason_begin(reason);
    int error = functions == NULL || functions->first > functions->end ? HORA_EINVAL
                                                                       : hora__registrar_check(registrar);
    if (error < 0)
        return complain(reason, error);
    size_t most = (size_t)(functions->end - functions->first);
    hora_registration **batch = hora__alloc(most + 1, sizeof(hora_registration *));
    if (batch == NULL)
        return complain(reason, HORA_ENOMEM);
    int result = add_all(registrar, functions, batch, reason);
    hora__free(batch);
    return result;
}

int hora_registrar_scan_library(hora_registrar *registrar, void *library, hora_error *reason)
{
    int error = library == NULL ? HORA_EINVAL : hora__registrar_check(registrar);
    if (error < 0)
        return complain(reason, error);
    const hora_scheduled_functions *functions = hora__library_find(library, "hora_scheduled_exported");
    if (functions == NULL)
        return complain(reason, HORA_ENOENT);
    return hora_registrar_add_functions(registrar, functions, reason);
}

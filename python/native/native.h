/* SPDX-License-Identifier: Apache-2.0 */
/* native.h - what the files of the extension module hora._hora share
 *
 * The module is a thin layer: it holds hora objects in Python objects and converts arguments and errors. The
 * package hora, written in Python, turns it into an interface for people. Times are integers in nanoseconds.
 *
 * THE GIL. No hora lock is held while hora calls a function of this module, and hora holds its own locks for
 * a few instructions only. Therefore a thread may keep the GIL during a call of hora that does not block. A
 * call that blocks releases it. Functions that hora calls may be called by any thread, with the GIL or
 * without, and take it with begin_call.
 *
 * REFERENCES. hora owns one reference to a Task from the moment a call accepts it until hora calls drop. Each
 * worker thread owns a reference to its Pool until it has left hora. So the last reference to a Pool is
 * released when no thread of the pool is inside hora, and freeing the pool does not wait for a task. */
#ifndef HORA_PYTHON_NATIVE_H
#define HORA_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <hora/hora.h>
#include <stdbool.h>

/* What belongs to the module and not to an object. */
typedef struct module_state {
    PyTypeObject *pool_type;
    PyTypeObject *worker_type;
    PyTypeObject *task_type;
    PyTypeObject *cron_type;
    PyTypeObject *clock_type;
    PyTypeObject *thread_type;
    PyObject *rejected_error;
    /* names of methods of concurrent.futures.Future */
    PyObject *name_start;
    PyObject *name_cancel;
    PyObject *name_set_result;
    PyObject *name_set_exception;
    /* the attribute of hora.Future that holds its Task */
    PyObject *name_task;
} module_state;

/* A virtual clock. */
typedef struct Clock {
    PyObject ob_base;
    hora_virtual_clock *clock;
} Clock;

/* A pool or scheduler. */
typedef struct Pool {
    PyObject ob_base;
    hora_pool *pool;
    /* called as start(worker, name): starts a Python thread that calls worker.run() */
    PyObject *start;
    /* makes the exception of tasks that do not run because the initializer of a thread failed; NULL as long
     * as none has */
    PyObject *broken;
    /* the virtual clock; NULL means the clocks of the system */
    Clock *clock;
    /* shutdown(cancel_futures=True) was called */
    bool cancels;
    /* the queue has no bound, so that there are never more threads than the core size */
    bool is_unbounded;
    /* the rejection policy is HORA_REJECT_BLOCK */
    bool blocks;
    /* how long a submission may wait for room */
    hora_ns block_timeout;
} Pool;

/* A function with its arguments that was passed to a pool, and its Python future. */
typedef struct Task {
    PyObject ob_base;
    /* borrowed: valid until hora has ended and dropped the task, which it does before it frees the pool */
    Pool *pool;
    /* NULL before the pool has accepted the task */
    hora_future *handle;
    /* NULL once the task was dropped or, for a series, once it has ended */
    PyObject *future;
    PyObject *function;
    PyObject *args;
    /* NULL means none */
    PyObject *kwargs;
    /* a str, whose text hora uses until it drops the task; NULL means none */
    PyObject *name;
    /* of a series: the result and the exception of the latest run */
    PyObject *result;
    PyObject *error;
    /* whether the function may run more than once; the future of a series stays pending between runs */
    bool is_series;
    /* the function of a task that is not a series was called, or its future was cancelled before that */
    bool has_run;
} Task;

/* A call by hora into this module. */
typedef struct inward_call {
    PyGILState_STATE gil;
    /* the exception that the thread was about to raise, if hora was called by a destructor */
    PyObject *type;
    PyObject *value;
    PyObject *traceback;
} inward_call;

/* module.c */
inward_call begin_call(void);
void end_call(const inward_call *call);
module_state *state_of(PyObject *object);
PyObject *raise_error(module_state *state, int code, const hora_error *reason);

/* task.c */
Task *task_new(Pool *pool, PyObject *future, PyObject *function, PyObject *args, PyObject *kwargs);
hora_task task_native(Task *task);
int task_watch(Task *task);

/* clock.c */
const hora_clock *clock_view(const Clock *clock, hora_clock_id id);

extern PyType_Spec pool_spec;
extern PyType_Spec worker_spec;
extern PyType_Spec task_spec;
extern PyType_Spec cron_spec;
extern PyType_Spec clock_spec;
extern PyType_Spec thread_spec;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - Pool: a pool or scheduler whose threads are Python threads
 *
 * hora asks the module for a thread through its thread factory. The factory calls the Python function
 * start(worker, name), which starts a threading.Thread that calls worker.run(). So every worker is an
 * ordinary Python thread: it keeps its thread-local data from task to task, has a name, and debuggers see it.
 *
 * start() may raise an exception after the thread has been started, for example KeyboardInterrupt. hora must
 * then learn the truth: whether the thread will run its worker. The Worker decides. If its thread has entered
 * run() before start() failed, the factory reports success. Otherwise the factory withdraws the Worker, and
 * run() does nothing. */
#include "native.h"

/* How long a submission waits for room at a time, with HORA_REJECT_BLOCK. In between it handles signals. */
#define BLOCK_SLICE HORA_MS(50)

/* ---- workers ---- */

/* The right to be a worker of a pool, which a Python thread exercises once. */
typedef struct Worker {
    PyObject ob_base;
    /* NULL once the worker has ended or was withdrawn */
    Pool *pool;
    /* NULL once run() was called or the worker was withdrawn */
    void (*body)(void *arg);
    void *arg;
} Worker;

/* The exception that start() raised during a submission by this thread. */
static _Thread_local PyObject **start_error;

/* Keeps the exception of start() for the submission that caused it. Other threads have no caller to tell. */
static void keep_start_error(PyObject *start)
{
    PyObject *type, *value, *traceback;
    if (start_error == NULL) {
        PyErr_WriteUnraisable(start);
        return;
    }
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    Py_XDECREF(*start_error);
    *start_error = value;
}

/* Starts the thread. Returns 0 if it runs the worker. */
static int start_worker(Pool *pool, Worker *worker, const char *name)
{
    if (pool->start == NULL) /* the pool is garbage */
        return HORA_EAGAIN;
    PyObject *answer = PyObject_CallFunction(pool->start, "Os", worker, name);
    Py_XDECREF(answer);
    if (answer != NULL)
        return 0;
    keep_start_error(pool->start);
    if (worker->body == NULL)
        return 0;
    worker->body = NULL;
    return HORA_EAGAIN;
}

/* The thread factory of every pool. */
static int start_thread(void (*body)(void *arg), void *arg, const char *name, void *pool_arg)
{
    inward_call call = begin_call();
    Pool *pool = pool_arg;
    int error = HORA_ENOMEM;
    Worker *worker = PyObject_New(Worker, state_of((PyObject *)pool)->worker_type);
    if (worker != NULL) {
        worker->pool = (Pool *)Py_NewRef((PyObject *)pool);
        worker->body = body;
        worker->arg = arg;
        error = start_worker(pool, worker, name);
        Py_DECREF(worker);
    } else {
        PyErr_Clear();
    }
    end_call(&call);
    return error;
}

static PyObject *worker_run(PyObject *self, PyObject *Py_UNUSED(none))
{
    Worker *worker = (Worker *)self;
    void (*body)(void *arg) = worker->body;
    if (body != NULL) {
        worker->body = NULL;
        PyThreadState *thread = PyEval_SaveThread();
        body(worker->arg);
        PyEval_RestoreThread(thread);
    }
    Py_CLEAR(worker->pool);
    Py_RETURN_NONE;
}

static PyObject *worker_pool(PyObject *self, void *Py_UNUSED(closure))
{
    Worker *worker = (Worker *)self;
    return Py_NewRef(worker->pool != NULL ? (PyObject *)worker->pool : Py_None);
}

static void worker_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_CLEAR(((Worker *)self)->pool);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef worker_methods[] = {
    {"run", worker_run, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef worker_getset[] = {
    {"pool", worker_pool, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot worker_slots[] = {
    {Py_tp_dealloc, worker_dealloc},
    {Py_tp_methods, worker_methods},
    {Py_tp_getset, worker_getset},
    {0, NULL},
};

PyType_Spec worker_spec = {
    .name = "hora._hora.Worker",
    .basicsize = sizeof(Worker),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = worker_slots,
};

/* ---- creation ---- */

/* The arguments of Pool(), which has keywords only. */
typedef struct arguments {
    PyObject *start;
    int is_scheduler;
    PyObject *clock;
    const char *name;
    int core_threads;
    int max_threads;
    long long keep_alive;
    int core_time_out;
    int queue_capacity;
    int reject;
    long long reject_timeout;
    int stealing;
    int cancel_delayed;
    int continue_periodic;
} arguments;

static bool read_arguments(PyObject *args, PyObject *kwargs, arguments *ret)
{
    static char *names[] = {
        "start",          "scheduler",         "clock",    "name",   "core",           "max",
        "keep_alive",     "core_time_out",     "capacity", "reject", "reject_timeout", "stealing",
        "cancel_delayed", "continue_periodic", NULL};
    return PyArg_ParseTupleAndKeywords(args, kwargs, "OpOziiLpiiLppp", names, &ret->start, &ret->is_scheduler,
                                       &ret->clock, &ret->name, &ret->core_threads, &ret->max_threads,
                                       &ret->keep_alive, &ret->core_time_out, &ret->queue_capacity,
                                       &ret->reject, &ret->reject_timeout, &ret->stealing,
                                       &ret->cancel_delayed, &ret->continue_periodic) != 0;
}

static int create_scheduler(Pool *pool, const arguments *given, hora_error *reason)
{
    hora_scheduler_options options = HORA_INIT(hora_scheduler_options);
    options.core_threads = given->core_threads;
    options.keep_alive = given->keep_alive;
    options.core_time_out = given->core_time_out;
    options.thread_factory = start_thread;
    options.arg = pool;
    options.name = given->name;
    options.clock = clock_view(pool->clock, HORA_CLOCK_MONOTONIC);
    options.cancel_delayed = given->cancel_delayed;
    options.continue_periodic = given->continue_periodic;
    return hora_scheduler_new(&options, &pool->pool, reason);
}

static int create_pool(Pool *pool, const arguments *given, hora_error *reason)
{
    hora_pool_options options = HORA_INIT(hora_pool_options);
    options.core_threads = given->core_threads;
    options.max_threads = given->max_threads;
    options.keep_alive = given->keep_alive;
    options.core_time_out = given->core_time_out;
    options.queue_capacity = given->queue_capacity;
    options.reject = (hora_reject)given->reject;
    pool->blocks = options.reject == HORA_REJECT_BLOCK;
    pool->block_timeout = given->reject_timeout;
    options.reject_timeout = pool->blocks ? BLOCK_SLICE : 0;
    options.thread_factory = start_thread;
    options.arg = pool;
    options.name = given->name;
    options.clock = clock_view(pool->clock, HORA_CLOCK_MONOTONIC);
    options.stealing = given->stealing;
    return hora_pool_new(&options, &pool->pool, reason);
}

static PyObject *pool_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    arguments given;
    if (!read_arguments(args, kwargs, &given))
        return NULL;
    module_state *state = PyType_GetModuleState(type);
    if (given.clock != Py_None && !Py_IS_TYPE(given.clock, state->clock_type)) {
        PyErr_SetString(PyExc_TypeError, "clock is not a VirtualClock");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Pool *pool = (Pool *)allocate(type, 0); /* all fields are zero */
    if (pool == NULL)
        return NULL;
    pool->start = Py_NewRef(given.start);
    pool->clock = given.clock == Py_None ? NULL : (Clock *)Py_NewRef(given.clock);
    pool->is_unbounded = given.is_scheduler || given.queue_capacity == 0;
    hora_error reason;
    int error =
        given.is_scheduler ? create_scheduler(pool, &given, &reason) : create_pool(pool, &given, &reason);
    if (error < 0) {
        Py_DECREF(pool);
        return raise_error(state, error, &reason);
    }
    return (PyObject *)pool;
}

static int pool_traverse(PyObject *self, visitproc visit, void *arg)
{
    Pool *pool = (Pool *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(pool->start);
    Py_VISIT(pool->broken);
    Py_VISIT(pool->clock);
    return 0;
}

/* A pool with threads is reachable from them. One without needs neither of these any more. */
static int pool_clear(PyObject *self)
{
    Pool *pool = (Pool *)self;
    Py_CLEAR(pool->start);
    Py_CLEAR(pool->broken);
    return 0;
}

/* In the child of a fork, hora does not free the pool of the parent, and its memory stays. */
static void pool_dealloc(PyObject *self)
{
    Pool *pool = (Pool *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (pool->pool != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        (void)hora_pool_free(pool->pool);
        PyEval_RestoreThread(thread);
    }
    (void)pool_clear(self);
    Py_CLEAR(pool->clock);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- tasks ---- */

/* Returns false, with an exception, if the pool accepts no tasks at all. */
static bool accepts(Pool *pool)
{
    if (pool->broken != NULL) {
        PyObject *error = PyObject_CallObject(pool->broken, NULL);
        if (error != NULL)
            PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_XDECREF(error);
        return false;
    }
    if (hora_pool_is_shutdown(pool->pool)) {
        PyErr_SetString(PyExc_RuntimeError, "cannot schedule new futures after shutdown");
        return false;
    }
    return true;
}

/* Submits with HORA_REJECT_BLOCK: waits for room, and handles signals meanwhile. Interrupts of hora have no
 * meaning in Python and do not end the wait. Returns 0, a negative error, or 1 if a signal handler has raised
 * an exception. */
static int submit_slowly(Pool *pool, const hora_task *native, hora_future **ret_handle)
{
    hora_ns start = hora_clock_now(NULL);
    for (;;) {
        PyThreadState *thread = PyEval_SaveThread();
        int error = hora_pool_submit(pool->pool, native, ret_handle);
        PyEval_RestoreThread(thread);
        if (error != HORA_EREJECTED && error != HORA_EINTERRUPTED)
            return error;
        if (PyErr_CheckSignals() < 0)
            return 1;
        if (hora_pool_is_shutdown(pool->pool) || hora_clock_now(NULL) - start >= pool->block_timeout)
            return HORA_EREJECTED;
    }
}

/* Raises the exception for a task that was not accepted. `from_start` is the exception of start(), or
 * NULL. */
static void raise_refusal(Pool *pool, int error, PyObject *from_start, const hora_error *reason)
{
    if (error == HORA_EREJECTED && !accepts(pool))
        return;
    if (error == HORA_EAGAIN && from_start != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(from_start), from_start);
    else
        (void)raise_error(state_of((PyObject *)pool), error, reason);
}

/* Ends a call that passed a task to hora: returns the task, or NULL with an exception. `from_start` is
 * released. If the pool has other threads, it does not matter that one could not be started; but an exception
 * such as KeyboardInterrupt is not about the thread and is raised. */
static PyObject *finish_submission(Pool *pool, Task *task, PyObject *future, int error, PyObject *from_start,
                                   const hora_error *reason)
{
    if (error < 0) {
        Py_DECREF(task); /* the reference that hora has not taken */
        raise_refusal(pool, error, from_start, reason);
    } else if (from_start != NULL && PyObject_IsInstance(from_start, PyExc_Exception) == 0) {
        PyErr_SetObject((PyObject *)Py_TYPE(from_start), from_start);
    }
    Py_XDECREF(from_start);
    PyObject *attribute = state_of((PyObject *)pool)->name_task;
    if (PyErr_Occurred() || PyObject_SetAttr(future, attribute, (PyObject *)task) < 0) {
        if (error >= 0)
            (void)hora_future_cancel(task->handle, false); /* the caller will not have the future */
        Py_DECREF(task);
        return NULL;
    }
    return (PyObject *)task;
}

/* submit(future, function, args, kwargs) -> Task, which is also the attribute _task of the future */
static PyObject *submit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Pool *pool = (Pool *)self;
    if (count != 4)
        return PyErr_Format(PyExc_TypeError, "submit takes 4 arguments");
    if (!accepts(pool))
        return NULL;
    Task *task = task_new(pool, args[0], args[1], args[2], args[3]);
    if (task == NULL)
        return NULL;
    hora_task native = task_native(task);
    hora_future *handle = NULL;
    PyObject *from_start = NULL;
    PyObject **outer = start_error;
    start_error = &from_start;
    Py_INCREF(task); /* for hora */
    int error =
        pool->blocks ? submit_slowly(pool, &native, &handle) : hora_pool_submit(pool->pool, &native, &handle);
    start_error = outer;
    task->handle = handle;
    if (error > 0) { /* a signal handler has raised an exception */
        Py_DECREF(task);
        Py_XDECREF(from_start);
        Py_DECREF(task);
        return NULL;
    }
    return finish_submission(pool, task, args[0], error, from_start, NULL);
}

static bool read_schedule(PyObject *args, PyObject *kwargs, hora_schedule *schedule)
{
    static char *names[] = {
        "initial_delay",   "at",           "fixed_rate",  "fixed_delay", "cron",       "zone",
        "dialect",         "dst",          "end",         "count",       "missed",     "missed_max",
        "grace",           "overlap",      "overlap_max", "failure",     "stop_after", "back_off",
        "back_off_factor", "back_off_max", "slack",       "spread",      NULL};
    long long delay, at, rate, fixed_delay, end, count, grace, back_off, back_off_max, slack, spread;
    int dialect, dst, missed, overlap, failure;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$LLLLzziiLLiiLiiiiLdLLL", names, &delay, &at, &rate,
                                     &fixed_delay, &schedule->cron, &schedule->zone, &dialect, &dst, &end,
                                     &count, &missed, &schedule->missed_max, &grace, &overlap,
                                     &schedule->overlap_max, &failure, &schedule->stop_after, &back_off,
                                     &schedule->back_off_factor, &back_off_max, &slack, &spread))
        return false;
    schedule->initial_delay = delay;
    schedule->at.ns = at;
    schedule->fixed_rate = rate;
    schedule->fixed_delay = fixed_delay;
    schedule->dialect = (hora_cron_dialect)dialect;
    schedule->dst = (hora_dst)dst;
    schedule->end.ns = end;
    schedule->count = count;
    schedule->missed = (hora_missed)missed;
    schedule->grace = grace;
    schedule->overlap = (hora_overlap)overlap;
    schedule->failure = (hora_failure)failure;
    schedule->back_off = back_off;
    schedule->back_off_max = back_off_max;
    schedule->slack = slack;
    schedule->spread = spread;
    return true;
}

static int schedule_native(Pool *pool, Task *task, const hora_schedule *schedule, hora_error *reason)
{
    hora_task native = task_native(task);
    hora_future *handle = NULL;
    Py_INCREF(task); /* for hora */
    /* With cron, the call may read the file of a zone. */
    PyThreadState *thread = schedule->cron != NULL ? PyEval_SaveThread() : NULL;
    int error = hora_scheduler_schedule_with(pool->pool, &native, schedule, &handle, reason);
    if (thread != NULL)
        PyEval_RestoreThread(thread);
    task->handle = handle;
    return error;
}

/* schedule((future, function, args, name, is_series), **fields of hora_schedule) -> Task, as submit */
static PyObject *schedule(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Pool *pool = (Pool *)self;
    PyObject *future, *function, *function_args, *name;
    int is_series;
    hora_schedule fields = HORA_INIT(hora_schedule);
    PyObject *none = PyTuple_New(0);
    if (none == NULL)
        return NULL;
    bool is_read = PyArg_ParseTuple(args, "OOOOp", &future, &function, &function_args, &name, &is_series) &&
                   read_schedule(none, kwargs, &fields) && accepts(pool);
    Py_DECREF(none);
    Task *task = is_read ? task_new(pool, future, function, function_args, NULL) : NULL;
    if (task == NULL)
        return NULL;
    task->name = name == Py_None ? NULL : Py_NewRef(name);
    task->is_series = is_series;
    hora_error reason;
    PyObject *from_start = NULL;
    PyObject **outer = start_error;
    start_error = &from_start;
    int error = schedule_native(pool, task, &fields, &reason);
    start_error = outer;
    int watched = error >= 0 && is_series ? task_watch(task) : 0;
    PyObject *result = finish_submission(pool, task, future, error, from_start, &reason);
    if (result != NULL && watched < 0) {
        (void)hora_future_cancel(task->handle, false);
        Py_DECREF(result);
        return raise_error(state_of(self), watched, NULL);
    }
    return result;
}

/* ---- the end ---- */

static PyObject *shutdown(PyObject *self, PyObject *Py_UNUSED(none))
{
    int error = hora_pool_shutdown(((Pool *)self)->pool);
    if (error < 0)
        return raise_error(state_of(self), error, NULL);
    Py_RETURN_NONE;
}

/* Stops the pool and ends the tasks that have not begun. */
static PyObject *stop(Pool *pool)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    int error = hora_pool_shutdown_now(pool->pool, &list);
    hora_future_list_cancel(&list);
    if (error < 0)
        return raise_error(state_of((PyObject *)pool), error, NULL);
    Py_RETURN_NONE;
}

static PyObject *shutdown_now(PyObject *self, PyObject *Py_UNUSED(none))
{
    ((Pool *)self)->cancels = true;
    return stop((Pool *)self);
}

/* fail(make) - an initializer has failed: tasks that have not begun fail with what make() returns */
static PyObject *fail(PyObject *self, PyObject *make)
{
    Pool *pool = (Pool *)self;
    PyObject *former = pool->broken;
    pool->broken = Py_NewRef(make);
    Py_XDECREF(former);
    return stop(pool);
}

static PyObject *is_broken(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(((Pool *)self)->broken != NULL);
}

static PyObject *is_shutdown(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(hora_pool_is_shutdown(((Pool *)self)->pool));
}

static PyObject *is_terminated(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(hora_pool_is_terminated(((Pool *)self)->pool));
}

/* set_cancel_delayed() - shutdown cancels the tasks of a scheduler that are not due */
static PyObject *set_cancel_delayed(PyObject *self, PyObject *Py_UNUSED(none))
{
    int error = hora_scheduler_set_cancel_delayed(((Pool *)self)->pool, true);
    if (error >= 0)
        error = hora_scheduler_set_continue_periodic(((Pool *)self)->pool, false);
    if (error < 0)
        return raise_error(state_of(self), error, NULL);
    Py_RETURN_NONE;
}

/* ---- observation and settings ---- */

/* stats() -> (threads, active, largest, queued, core, max, accepted, done, failed, cancelled, rejected,
 * abandoned, handed_back) */
static PyObject *stats(PyObject *self, PyObject *Py_UNUSED(none))
{
    hora_pool_stats got = HORA_INIT(hora_pool_stats);
    int error = hora_pool_get_stats(((Pool *)self)->pool, &got);
    if (error < 0)
        return raise_error(state_of(self), error, NULL);
    return Py_BuildValue("(iiiiiiLLLLLLL)", got.threads, got.active, got.largest, got.queued,
                         got.core_threads, got.max_threads, (long long)got.accepted, (long long)got.done,
                         (long long)got.failed, (long long)got.cancelled, (long long)got.rejected,
                         (long long)got.abandoned, (long long)got.handed_back);
}

static PyObject *describe(PyObject *self, PyObject *Py_UNUSED(none))
{
    char text[512];
    int length = hora_pool_describe(((Pool *)self)->pool, text, sizeof text);
    if (length < 0)
        return raise_error(state_of(self), length, NULL);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* Sets both numbers in an order in which the core size never exceeds the maximum. */
static int set_sizes(Pool *pool, int core, int max, hora_error *reason)
{
    hora_pool_stats now = HORA_INIT(hora_pool_stats);
    int error = hora_pool_get_stats(pool->pool, &now);
    if (error >= 0 && !pool->is_unbounded && max >= now.core_threads)
        error = hora_pool_set_max_threads(pool->pool, max, reason);
    if (error >= 0)
        error = hora_pool_set_core_threads(pool->pool, core, reason);
    if (error >= 0 && !pool->is_unbounded && max < now.core_threads)
        error = hora_pool_set_max_threads(pool->pool, max, reason);
    return error;
}

/* resize(core, max) - the maximum of a pool with an unbounded queue is its core size */
static PyObject *resize(PyObject *self, PyObject *args)
{
    Pool *pool = (Pool *)self;
    int core, max;
    if (!PyArg_ParseTuple(args, "ii", &core, &max))
        return NULL;
    if (core > max || (pool->is_unbounded && core != max)) {
        return PyErr_Format(PyExc_ValueError,
                            core > max
                                ? "core_threads, %d, is greater than max_threads, %d"
                                : "core_threads, %d, and max_threads, %d, differ: the queue is unbounded",
                            core, max);
    }
    hora_error reason = {.code = 0, .message = "the pool belongs to the parent process"};
    int error = set_sizes(pool, core, max, &reason);
    if (error < 0)
        return raise_error(state_of(self), error, &reason);
    Py_RETURN_NONE;
}

static PyObject *refresh_zones(PyObject *self, PyObject *Py_UNUSED(none))
{
    PyThreadState *thread = PyEval_SaveThread();
    int result = hora_scheduler_refresh_zones(((Pool *)self)->pool);
    PyEval_RestoreThread(thread);
    return result < 0 ? raise_error(state_of(self), result, NULL) : PyBool_FromLong(result);
}

/* now(clock) - what the clock of a schedule shows */
static PyObject *now_of(PyObject *self, PyObject *arg)
{
    long id = PyLong_AsLong(arg);
    if (id == -1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromLongLong(hora_clock_now(clock_view(((Pool *)self)->clock, (hora_clock_id)id)));
}

static PyMethodDef pool_methods[] = {
    {"submit", (PyCFunction)(void (*)(void))submit, METH_FASTCALL, NULL},
    {"schedule", (PyCFunction)(void (*)(void))schedule, METH_VARARGS | METH_KEYWORDS, NULL},
    {"shutdown", shutdown, METH_NOARGS, NULL},
    {"shutdown_now", shutdown_now, METH_NOARGS, NULL},
    {"fail", fail, METH_O, NULL},
    {"is_broken", is_broken, METH_NOARGS, NULL},
    {"is_shutdown", is_shutdown, METH_NOARGS, NULL},
    {"is_terminated", is_terminated, METH_NOARGS, NULL},
    {"set_cancel_delayed", set_cancel_delayed, METH_NOARGS, NULL},
    {"stats", stats, METH_NOARGS, NULL},
    {"describe", describe, METH_NOARGS, NULL},
    {"resize", resize, METH_VARARGS, NULL},
    {"refresh_zones", refresh_zones, METH_NOARGS, NULL},
    {"now", now_of, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot pool_slots[] = {
    {Py_tp_new, pool_new},     {Py_tp_dealloc, pool_dealloc}, {Py_tp_traverse, pool_traverse},
    {Py_tp_clear, pool_clear}, {Py_tp_methods, pool_methods}, {0, NULL},
};

PyType_Spec pool_spec = {
    .name = "hora._hora.Pool",
    .basicsize = sizeof(Pool),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = pool_slots,
};

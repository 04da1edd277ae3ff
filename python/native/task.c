/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - Task: a Python function on its way through a pool, and the outcome of its Python future
 *
 * A task ends in one of these ways, and its Python future with it:
 *
 *   run            task_run calls the function and completes the future with its result or exception.
 *   not run        task_drop finds that the function never ran. The future is cancelled if the task was, and
 *                  otherwise fails with RejectedError, or with BrokenThreadPool if an initializer failed.
 *   series         task_run keeps the outcome of each run. When the hora future is done, series_done
 *                  completes the Python future with the latest outcome. A cancel does not wait for a run
 *                  that is about to begin, so task_run may follow series_done.
 *
 * The Python future and the Task refer to each other until hora drops the task. */
#include "native.h"

/* Calls a method of the Python future, and returns whether the result is true. An exception is reported and
 * not raised: no caller could receive it. */
static bool tell(PyObject *future, PyObject *method, PyObject *value)
{
    PyObject *answer = PyObject_CallMethodObjArgs(future, method, value, NULL);
    if (answer == NULL) {
        PyErr_WriteUnraisable(future);
        return false;
    }
    bool is_true = PyObject_IsTrue(answer) > 0;
    Py_DECREF(answer);
    return is_true;
}

/* Returns the current exception with its traceback, and clears it. */
static PyObject *take_exception(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL && value != NULL)
        (void)PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

/* Completes a future that is running with the current exception. */
static void tell_exception(module_state *state, PyObject *future)
{
    PyObject *value = take_exception();
    (void)tell(future, state->name_set_exception, value);
    Py_XDECREF(value);
}

/* Makes the exception of the pool the current exception, if an initializer failed. */
static bool raise_broken(const Pool *pool)
{
    if (pool->broken == NULL)
        return false;
    PyObject *error = PyObject_CallObject(pool->broken, NULL);
    if (error != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return true;
}

static int run_once(Task *task)
{
    module_state *state = state_of((PyObject *)task);
    task->has_run = true;
    if (!tell(task->future, state->name_start, NULL))
        return HORA_ECANCELED;
    PyObject *result = NULL;
    if (!raise_broken(task->pool))
        result = PyObject_Call(task->function, task->args, task->kwargs);
    if (result == NULL) {
        tell_exception(state, task->future);
        return HORA_EFAILED;
    }
    (void)tell(task->future, state->name_set_result, result);
    Py_DECREF(result);
    return 0;
}

/* Sets a field, and then releases its former value, whose destructor may run any code. */
static void assign(PyObject **field, PyObject *value)
{
    PyObject *former = *field;
    *field = value;
    Py_XDECREF(former);
}

/* Tells the future of a series that a run has failed. */
static void report_failure(PyObject *future, PyObject *error)
{
    PyObject *answer = PyObject_CallMethod(future, "_failed", "O", error);
    if (answer == NULL)
        PyErr_WriteUnraisable(future);
    Py_XDECREF(answer);
}

/* Keeps the outcome of a run, unless the series has ended in the meantime. Takes both references. */
static void keep_outcome(Task *task, PyObject *result, PyObject *error)
{
    PyObject *future = Py_XNewRef(task->future);
    if (future != NULL) {
        assign(&task->error, Py_XNewRef(error));
        if (result != NULL)
            assign(&task->result, Py_NewRef(result));
    }
    if (future != NULL && error != NULL)
        report_failure(future, error);
    Py_XDECREF(future);
    Py_XDECREF(result);
    Py_XDECREF(error);
}

static int run_of_series(Task *task)
{
    PyObject *result = NULL;
    if (!raise_broken(task->pool))
        result = PyObject_Call(task->function, task->args, task->kwargs);
    int code = result == NULL ? HORA_EFAILED : 0;
    keep_outcome(task, result, result == NULL ? take_exception() : NULL);
    return code;
}

/* The body of every task. */
static int task_run(void *arg, void **ret_result)
{
    (void)ret_result;
    inward_call call = begin_call();
    Task *task = arg;
    int code = task->is_series ? run_of_series(task) : run_once(task);
    end_call(&call);
    return code;
}

/* Completes the future of a task that will not run. */
static void end_without_run(Task *task)
{
    module_state *state = state_of((PyObject *)task);
    PyObject *future = task->future;
    bool is_cancelled =
        task->pool->cancels || (task->handle != NULL && hora_future_is_cancelled(task->handle));
    if (is_cancelled && task->pool->broken == NULL)
        (void)tell(future, state->name_cancel, NULL);
    if (!tell(future, state->name_start, NULL))
        return;
    if (!raise_broken(task->pool))
        PyErr_SetString(state->rejected_error, "the executor dropped the task before it ran");
    tell_exception(state, future);
}

/* The destructor of every task that hora has accepted. */
static void task_drop(void *arg)
{
    inward_call call = begin_call();
    Task *task = arg;
    if (!task->is_series && !task->has_run)
        end_without_run(task);
    if (!task->is_series)
        assign(&task->future, NULL);
    assign(&task->function, NULL);
    assign(&task->args, NULL);
    assign(&task->kwargs, NULL);
    assign(&task->name, NULL);
    Py_DECREF(task);
    end_call(&call);
}

/* Completes the Python future of a series that has ended. */
static void end_series(Task *task, hora_future *handle)
{
    module_state *state = state_of((PyObject *)task);
    PyObject *future = task->future;
    hora_future_state outcome = hora_future_get_state(handle);
    if (outcome == HORA_FUTURE_CANCELLED && task->pool->broken == NULL)
        (void)tell(future, state->name_cancel, NULL);
    if (!tell(future, state->name_start, NULL))
        return;
    if (raise_broken(task->pool)) {
        tell_exception(state, future);
    } else if (outcome == HORA_FUTURE_SUCCEEDED) {
        (void)tell(future, state->name_set_result, task->result != NULL ? task->result : Py_None);
    } else if (task->error != NULL) {
        (void)tell(future, state->name_set_exception, task->error);
    } else {
        (void)raise_error(state, hora_future_failure(handle), NULL);
        tell_exception(state, future);
    }
}

static void series_done(hora_future *handle, void *arg)
{
    inward_call call = begin_call();
    Task *task = arg;
    end_series(task, handle);
    assign(&task->future, NULL);
    assign(&task->result, NULL);
    assign(&task->error, NULL);
    end_call(&call);
}

static void release(void *arg)
{
    inward_call call = begin_call();
    Py_DECREF((PyObject *)arg);
    end_call(&call);
}

/* Completes the future of a series when it ends. Returns 0 or a negative error. */
int task_watch(Task *task)
{
    Py_INCREF(task);
    int error = hora_future_on_done(task->handle, series_done, task, release);
    if (error < 0)
        Py_DECREF(task);
    return error;
}

/* What hora receives. The caller adds the reference that hora owns. */
hora_task task_native(Task *task)
{
    hora_task native = {.run = task_run, .arg = task, .drop = task_drop};
    if (task->name != NULL)
        native.name = PyUnicode_AsUTF8AndSize(task->name, NULL);
    return native;
}

Task *task_new(Pool *pool, PyObject *future, PyObject *function, PyObject *args, PyObject *kwargs)
{
    Task *task = PyObject_GC_New(Task, state_of((PyObject *)pool)->task_type);
    if (task == NULL)
        return NULL;
    task->pool = pool;
    task->handle = NULL;
    task->future = Py_NewRef(future);
    task->function = Py_NewRef(function);
    task->args = Py_NewRef(args);
    task->kwargs = kwargs == Py_None ? NULL : Py_XNewRef(kwargs);
    task->name = NULL;
    task->result = NULL;
    task->error = NULL;
    task->is_series = false;
    task->has_run = false;
    PyObject_GC_Track(task);
    return task;
}

static int task_traverse(PyObject *self, visitproc visit, void *arg)
{
    Task *task = (Task *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(task->future);
    Py_VISIT(task->function);
    Py_VISIT(task->args);
    Py_VISIT(task->kwargs);
    Py_VISIT(task->result);
    Py_VISIT(task->error);
    return 0;
}

/* A task that hora owns is reachable by a reference that the collector does not see, so it is never cleared
 * before it is dropped. */
static int task_clear(PyObject *self)
{
    Task *task = (Task *)self;
    Py_CLEAR(task->future);
    Py_CLEAR(task->function);
    Py_CLEAR(task->args);
    Py_CLEAR(task->kwargs);
    Py_CLEAR(task->result);
    Py_CLEAR(task->error);
    return 0;
}

static void task_dealloc(PyObject *self)
{
    Task *task = (Task *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    (void)task_clear(self);
    Py_CLEAR(task->name);
    task->handle = hora_future_unref(task->handle);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyObject *cancel(PyObject *self, PyObject *Py_UNUSED(none))
{
    int result = hora_future_cancel(((Task *)self)->handle, false);
    return result < 0 ? raise_error(state_of(self), result, NULL) : PyLong_FromLong(result);
}

static PyObject *answer_of(PyObject *self, int result)
{
    return result < 0 ? raise_error(state_of(self), result, NULL) : PyBool_FromLong(result);
}

static PyObject *pause_runs(PyObject *self, PyObject *Py_UNUSED(none))
{
    return answer_of(self, hora_future_pause(((Task *)self)->handle));
}

static PyObject *resume(PyObject *self, PyObject *Py_UNUSED(none))
{
    return answer_of(self, hora_future_resume(((Task *)self)->handle));
}

static PyObject *reschedule(PyObject *self, PyObject *args)
{
    long long delay, every;
    if (!PyArg_ParseTuple(args, "LL", &delay, &every))
        return NULL;
    return answer_of(self, hora_future_reschedule(((Task *)self)->handle, delay, every));
}

/* info() -> (clock, paused, running, next, last_planned, last_start, last_end, runs, failures, in_a_row,
 * skipped). Times are readings of the clock. */
static PyObject *info(PyObject *self, PyObject *Py_UNUSED(none))
{
    hora_schedule_info got = HORA_INIT(hora_schedule_info);
    int error = hora_future_get_schedule_info(((Task *)self)->handle, &got);
    if (error < 0)
        return raise_error(state_of(self), error, NULL);
    return Py_BuildValue("(iNiLLLLLLLL)", (int)got.clock, PyBool_FromLong(got.paused), got.running,
                         (long long)got.next, (long long)got.last_planned, (long long)got.last_start,
                         (long long)got.last_end, (long long)got.runs, (long long)got.failures,
                         (long long)got.failures_in_a_row, (long long)got.skipped);
}

/* last_error() - the exception of the latest run of a series, or None if that run succeeded. */
static PyObject *last_error(PyObject *self, PyObject *Py_UNUSED(none))
{
    Task *task = (Task *)self;
    return Py_NewRef(task->error != NULL ? task->error : Py_None);
}

static PyMethodDef methods[] = {
    {"cancel", cancel, METH_NOARGS, NULL},
    {"pause", pause_runs, METH_NOARGS, NULL},
    {"resume", resume, METH_NOARGS, NULL},
    {"reschedule", reschedule, METH_VARARGS, NULL},
    {"info", info, METH_NOARGS, NULL},
    {"last_error", last_error, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, task_dealloc},
    {Py_tp_traverse, task_traverse},
    {Py_tp_clear, task_clear},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec task_spec = {
    .name = "hora._hora.Task",
    .basicsize = sizeof(Task),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - Clock: a virtual clock; Thread: a handle with which another thread can be interrupted */
#include "native.h"

/* The line of a virtual clock or, for NULL, the clock of the system. */
const hora_clock *clock_view(const Clock *clock, hora_clock_id id)
{
    return clock != NULL ? hora_virtual_clock_view(clock->clock, id) : hora_clock_system(id);
}

static PyObject *clock_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    long long wall;
    if (!PyArg_ParseTuple(args, "L", &wall))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Clock *clock = (Clock *)allocate(type, 0);
    if (clock == NULL)
        return NULL;
    hora_virtual_clock_options options = HORA_INIT(hora_virtual_clock_options);
    options.wall.ns = wall;
    hora_error reason;
    int error = hora_virtual_clock_new(&options, &clock->clock, &reason);
    if (error < 0) {
        Py_DECREF(clock);
        return raise_error(PyType_GetModuleState(type), error, &reason);
    }
    return (PyObject *)clock;
}

/* Every pool that uses the clock has a reference to it and is freed first. In the child of a fork, the clock
 * of the parent stays. */
static void clock_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    (void)hora_virtual_clock_free(((Clock *)self)->clock);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *none_or_error(PyObject *self, int error)
{
    if (error < 0)
        return raise_error(state_of(self), error, NULL);
    Py_RETURN_NONE;
}

static PyObject *clock_run(PyObject *self, PyObject *arg)
{
    long long by = PyLong_AsLongLong(arg);
    if (by == -1 && PyErr_Occurred())
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    int error = hora_virtual_clock_run(((Clock *)self)->clock, by);
    PyEval_RestoreThread(thread);
    return none_or_error(self, error);
}

static PyObject *settle(PyObject *self, PyObject *Py_UNUSED(none))
{
    PyThreadState *thread = PyEval_SaveThread();
    int error = hora_virtual_clock_settle(((Clock *)self)->clock);
    PyEval_RestoreThread(thread);
    return none_or_error(self, error);
}

/* advance_to_next() - how far the clock has moved; None if nothing waits for a time */
static PyObject *advance_to_next(PyObject *self, PyObject *Py_UNUSED(none))
{
    hora_ns by;
    int error = hora_virtual_clock_advance_to_next(((Clock *)self)->clock, &by);
    if (error == HORA_EEMPTY)
        Py_RETURN_NONE;
    return error < 0 ? raise_error(state_of(self), error, NULL) : PyLong_FromLongLong(by);
}

static PyObject *step_wall(PyObject *self, PyObject *arg)
{
    long long by = PyLong_AsLongLong(arg);
    if (by == -1 && PyErr_Occurred())
        return NULL;
    return none_or_error(self, hora_virtual_clock_step_wall(((Clock *)self)->clock, by));
}

static PyObject *suspend(PyObject *self, PyObject *arg)
{
    long long by = PyLong_AsLongLong(arg);
    if (by == -1 && PyErr_Occurred())
        return NULL;
    return none_or_error(self, hora_virtual_clock_suspend(((Clock *)self)->clock, by));
}

/* now(clock) - what one of the lines shows */
static PyObject *now_of(PyObject *self, PyObject *arg)
{
    long id = PyLong_AsLong(arg);
    if (id == -1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromLongLong(hora_clock_now(clock_view((Clock *)self, (hora_clock_id)id)));
}

static PyMethodDef clock_methods[] = {
    {"run", clock_run, METH_O, NULL},
    {"settle", settle, METH_NOARGS, NULL},
    {"advance_to_next", advance_to_next, METH_NOARGS, NULL},
    {"step_wall", step_wall, METH_O, NULL},
    {"suspend", suspend, METH_O, NULL},
    {"now", now_of, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot clock_slots[] = {
    {Py_tp_new, clock_new},
    {Py_tp_dealloc, clock_dealloc},
    {Py_tp_methods, clock_methods},
    {0, NULL},
};

PyType_Spec clock_spec = {
    .name = "hora._hora.Clock",
    .basicsize = sizeof(Clock),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = clock_slots,
};

/* ---- threads ---- */

typedef struct Thread {
    PyObject ob_base;
    hora_thread *thread;
} Thread;

/* Thread() - a handle to the calling thread */
static PyObject *thread_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Thread *thread = (Thread *)allocate(type, 0);
    if (thread == NULL)
        return NULL;
    int error = hora_thread_self(&thread->thread);
    if (error < 0) {
        Py_DECREF(thread);
        return raise_error(PyType_GetModuleState(type), error, NULL);
    }
    return (PyObject *)thread;
}

static void thread_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    hora_thread_unref(((Thread *)self)->thread);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *interrupt(PyObject *self, PyObject *Py_UNUSED(none))
{
    return none_or_error(self, hora_thread_interrupt(((Thread *)self)->thread));
}

static PyMethodDef thread_methods[] = {
    {"interrupt", interrupt, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot thread_slots[] = {
    {Py_tp_new, thread_new},
    {Py_tp_dealloc, thread_dealloc},
    {Py_tp_methods, thread_methods},
    {0, NULL},
};

PyType_Spec thread_spec = {
    .name = "hora._hora.Thread",
    .basicsize = sizeof(Thread),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = thread_slots,
};

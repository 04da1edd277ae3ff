/* SPDX-License-Identifier: Apache-2.0 */
/* cron.c - Cron: a cron expression in a zone
 *
 * Reading a zone releases the GIL. Everything else only computes. */
#include "native.h"

typedef struct Cron {
    PyObject ob_base;
    hora_cron *cron;
    hora_zone *zone;
} Cron;

/* Cron(text, zone, dialect, dst). A syntax error is a ValueError whose attributes `offset` and `length` say
 * where in the text it is. */
static void raise_syntax_error(const hora_error *reason)
{
    PyErr_SetString(PyExc_ValueError, reason->message);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *offset = PyLong_FromLong(reason->offset);
    PyObject *length = PyLong_FromLong(reason->length);
    if (offset != NULL && length != NULL && value != NULL &&
        (PyObject_SetAttrString(value, "offset", offset) < 0 ||
         PyObject_SetAttrString(value, "length", length) < 0))
        PyErr_Clear();
    Py_XDECREF(offset);
    Py_XDECREF(length);
    PyErr_Restore(type, value, traceback);
}

static int parse(Cron *cron, const char *text, const char *zone, const hora_cron_options *options)
{
    hora_error reason;
    int error = hora_cron_parse(text, options, &cron->cron, &reason);
    if (error == HORA_EINVAL) {
        raise_syntax_error(&reason);
        return -1;
    }
    if (error >= 0) {
        PyThreadState *thread = PyEval_SaveThread();
        error = hora_zone_new(zone, NULL, &cron->zone, &reason);
        PyEval_RestoreThread(thread);
    }
    if (error < 0)
        (void)raise_error(state_of((PyObject *)cron), error, &reason);
    return error < 0 ? -1 : 0;
}

static PyObject *cron_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    const char *text, *zone;
    int dialect, dst;
    if (!PyArg_ParseTuple(args, "ssii", &text, &zone, &dialect, &dst))
        return NULL;
    hora_cron_options options = HORA_INIT(hora_cron_options);
    options.dialect = (hora_cron_dialect)dialect;
    options.dst = (hora_dst)dst;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Cron *cron = (Cron *)allocate(type, 0);
    if (cron == NULL)
        return NULL;
    if (parse(cron, text, zone, &options) < 0) {
        Py_DECREF(cron);
        return NULL;
    }
    return (PyObject *)cron;
}

static void cron_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    hora_cron_unref(((Cron *)self)->cron);
    hora_zone_unref(((Cron *)self)->zone);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static bool instant_of(PyObject *arg, hora_instant *ret_instant)
{
    long long ns = PyLong_AsLongLong(arg);
    if (ns == -1 && PyErr_Occurred())
        return false;
    ret_instant->ns = ns;
    return true;
}

typedef int search_fn(const hora_cron *cron, const hora_zone *zone, hora_instant from, hora_instant *ret);

/* The result of a search as nanoseconds since the epoch; None if there is none. */
static PyObject *found(PyObject *self, PyObject *arg, search_fn *search)
{
    Cron *cron = (Cron *)self;
    hora_instant from, time;
    if (!instant_of(arg, &from))
        return NULL;
    int result = search(cron->cron, cron->zone, from, &time);
    if (result < 0)
        return raise_error(state_of(self), result, NULL);
    if (result == 0)
        Py_RETURN_NONE;
    return PyLong_FromLongLong(time.ns);
}

static PyObject *next_time(PyObject *self, PyObject *arg)
{
    return found(self, arg, hora_cron_next);
}

static PyObject *previous(PyObject *self, PyObject *arg)
{
    return found(self, arg, hora_cron_previous);
}

static PyObject *matches(PyObject *self, PyObject *arg)
{
    Cron *cron = (Cron *)self;
    hora_instant instant;
    if (!instant_of(arg, &instant))
        return NULL;
    return PyBool_FromLong(hora_cron_matches(cron->cron, cron->zone, instant));
}

/* offset(instant) - how many seconds the zone is ahead of UTC */
static PyObject *offset(PyObject *self, PyObject *arg)
{
    hora_instant instant;
    hora_local local;
    if (!instant_of(arg, &instant))
        return NULL;
    int error = hora_zone_to_local(((Cron *)self)->zone, instant, &local);
    return error < 0 ? raise_error(state_of(self), error, NULL) : PyLong_FromLong(local.offset);
}

static PyObject *text_of(PyObject *self, const char *text, int length)
{
    if (length < 0)
        return raise_error(state_of(self), length, NULL);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *describe(PyObject *self, PyObject *Py_UNUSED(none))
{
    char text[1024];
    Cron *cron = (Cron *)self;
    return text_of(self, text, hora_cron_describe(cron->cron, cron->zone, text, sizeof text));
}

static PyObject *format(PyObject *self, PyObject *Py_UNUSED(none))
{
    char text[1024];
    return text_of(self, text, hora_cron_format(((Cron *)self)->cron, text, sizeof text));
}

static PyMethodDef cron_methods[] = {
    {"next", next_time, METH_O, NULL},
    {"previous", previous, METH_O, NULL},
    {"matches", matches, METH_O, NULL},
    {"offset", offset, METH_O, NULL},
    {"describe", describe, METH_NOARGS, NULL},
    {"format", format, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot cron_slots[] = {
    {Py_tp_new, cron_new},
    {Py_tp_dealloc, cron_dealloc},
    {Py_tp_methods, cron_methods},
    {0, NULL},
};

PyType_Spec cron_spec = {
    .name = "hora._hora.Cron",
    .basicsize = sizeof(Cron),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = cron_slots,
};

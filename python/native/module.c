/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - the extension module hora._hora: its state, its types and its errors
 *
 * PyGILState_Ensure, which the functions that hora calls depend on, knows only the main interpreter.
 * Therefore other interpreters cannot import the module. */
#include "native.h"

/* Begins a function that hora calls: takes the GIL and sets the current exception aside. */
inward_call begin_call(void)
{
    inward_call call = {.gil = PyGILState_Ensure()};
    PyErr_Fetch(&call.type, &call.value, &call.traceback);
    return call;
}

/* Ends such a function. No exception may be set. */
void end_call(const inward_call *call)
{
    PyErr_Restore(call->type, call->value, call->traceback);
    PyGILState_Release(call->gil);
}

/* The state of the module that the type of an object belongs to. */
module_state *state_of(PyObject *object)
{
    return PyType_GetModuleState(Py_TYPE(object));
}

/* Sets the Python exception for an error code and returns NULL. `reason` may be NULL. */
PyObject *raise_error(module_state *state, int code, const hora_error *reason)
{
    const char *message = reason != NULL ? reason->message : hora_strerror(code);
    switch (code) {
    case HORA_ENOMEM:
        return PyErr_NoMemory();
    case HORA_EINVAL:
    case HORA_ERANGE:
    case HORA_ENOENT:
        PyErr_SetString(PyExc_ValueError, message);
        return NULL;
    case HORA_EREJECTED:
        PyErr_SetString(state->rejected_error, message);
        return NULL;
    case HORA_EINTERRUPTED:
        PyErr_SetString(PyExc_InterruptedError, message);
        return NULL;
    default:
        PyErr_SetString(PyExc_RuntimeError, message);
        return NULL;
    }
}

static int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **ret_type)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL)
        return -1;
    *ret_type = (PyTypeObject *)type;
    return PyModule_AddObjectRef(module, name, type);
}

static int add_types(PyObject *module, module_state *state)
{
    if (add_type(module, "Pool", &pool_spec, &state->pool_type) < 0 ||
        add_type(module, "Worker", &worker_spec, &state->worker_type) < 0 ||
        add_type(module, "Task", &task_spec, &state->task_type) < 0 ||
        add_type(module, "Cron", &cron_spec, &state->cron_type) < 0 ||
        add_type(module, "Clock", &clock_spec, &state->clock_type) < 0)
        return -1;
    return add_type(module, "Thread", &thread_spec, &state->thread_type);
}

/* X(field, text): the names that the module looks up often. */
#define NAMES(X)                                  \
    X(name_start, "set_running_or_notify_cancel") \
    X(name_cancel, "cancel")                      \
    X(name_set_result, "set_result")              \
    X(name_set_exception, "set_exception")        \
    X(name_task, "_task")

static int add_names(module_state *state)
{
#define ADD_NAME(field, text)                                                              \
    if (state->field == NULL && (state->field = PyUnicode_InternFromString(text)) == NULL) \
        return -1;
    NAMES(ADD_NAME)
#undef ADD_NAME
    return 0;
}

static int refuse_subinterpreter(void)
{
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0)
        return 0;
    PyErr_SetString(PyExc_ImportError, "hora supports only the main interpreter");
    return -1;
}

static int execute(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    if (refuse_subinterpreter() < 0 || add_names(state) < 0 || add_types(module, state) < 0)
        return -1;
    state->rejected_error = PyErr_NewExceptionWithDoc(
        "hora.RejectedError", "The executor did not accept a task, or dropped it before it ran.",
        PyExc_RuntimeError, NULL);
    if (state->rejected_error == NULL ||
        PyModule_AddObjectRef(module, "RejectedError", state->rejected_error) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "version", HORA_VERSION_STRING);
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    module_state *state = PyModule_GetState(module);
    Py_VISIT(state->pool_type);
    Py_VISIT(state->worker_type);
    Py_VISIT(state->task_type);
    Py_VISIT(state->cron_type);
    Py_VISIT(state->clock_type);
    Py_VISIT(state->thread_type);
    Py_VISIT(state->rejected_error);
    return 0;
}

static int clear(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->pool_type);
    Py_CLEAR(state->worker_type);
    Py_CLEAR(state->task_type);
    Py_CLEAR(state->cron_type);
    Py_CLEAR(state->clock_type);
    Py_CLEAR(state->thread_type);
    Py_CLEAR(state->rejected_error);
#define CLEAR_NAME(field, text) Py_CLEAR(state->field);
    NAMES(CLEAR_NAME)
#undef CLEAR_NAME
    return 0;
}

static void module_free(void *module)
{
    (void)clear(module);
}

static PyObject *available_processors(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyLong_FromLong(hora_available_processors());
}

static PyMethodDef functions[] = {
    {"available_processors", available_processors, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hora._hora",
    .m_doc = "The layer between the package hora and the C library.",
    .m_size = sizeof(module_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__hora(void)
{
    return PyModuleDef_Init(&definition);
}

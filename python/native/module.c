/*
    module.c - the extension module, its errors and its texts
*/
#include "native.h"

/* ---- Errors -------------------------------------------------------------- */

static const char *result_name(ts_result result)
{
    switch (result) {
#define NAME(name, value, text) \
    case value: return #name;
        TS_RESULTS(NAME)
#undef NAME
    }
    return "unknown";
}

PyObject *native_raise(ts_result result, const char *what, const char *where)
{
    PyObject *const errors = PyImport_ImportModule("tracesmith._errors");
    PyObject *const made =
        errors ? PyObject_CallMethod(
                     errors, "error_of", "sss", result_name(result),
                     what ? what : ts_result_text(result), where ? where : "")
               : NULL;
    if (made) PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_XDECREF(made);
    Py_XDECREF(errors);
    return NULL;
}

PyObject *native_done(ts_result result, const char *where)
{
    if (result != TS_OK) return native_raise(result, NULL, where);
    Py_RETURN_NONE;
}

/* ---- Texts --------------------------------------------------------------- */

PyObject *native_text(ts_text text)
{
    return PyUnicode_DecodeUTF8(text.text, (Py_ssize_t)text.size,
                                "backslashreplace");
}

bool native_set(PyObject *dict, const char *key, PyObject *value)
{
    const bool done = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return done;
}

bool native_utf8(PyObject *object, const char *what, const char **text)
{
    *text = NULL;
    if (!object || object == Py_None) return true;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", what,
                     Py_TYPE(object));
        return false;
    }
    *text = PyUnicode_AsUTF8AndSize(object, NULL);
    return *text != NULL;
}

PyObject *native_path(PyObject *object)
{
    PyObject *bytes = NULL;
    return PyUnicode_FSConverter(object, &bytes) ? bytes : NULL;
}

// A list of what `object` is: itself, if it is one text, or its items.
static PyObject *as_list(PyObject *object)
{
    if (!object || object == Py_None) return PyList_New(0);
    if (PyList_Check(object) || PyTuple_Check(object))
        return PySequence_List(object);
    PyObject *const list = PyList_New(1);
    if (!list) return NULL;
    Py_INCREF(object);
    PyList_SetItem(list, 0, object);
    return list;
}

// Replaces a path by its bytes; texts stay.
static const char *take_item(PyObject *list, Py_ssize_t at, bool path)
{
    PyObject *const item = PyList_GetItem(list, at);
    const char *text = NULL;
    if (!path) {
        if (item == Py_None)
            PyErr_SetString(PyExc_TypeError, "a text must be a str, not None");
        return native_utf8(item, "a text", &text) ? text : NULL;
    }
    PyObject *const bytes = native_path(item);
    if (!bytes) return NULL;
    PyList_SetItem(list, at, bytes); // takes it
    return PyBytes_AsString(bytes);
}

bool native_texts_take(native_texts *texts, PyObject *object, bool paths)
{
    *texts = (native_texts){ .keep = as_list(object) };
    if (!texts->keep) return false;
    const Py_ssize_t count = PyList_Size(texts->keep);
    texts->items = PyMem_Malloc(((size_t)count + 1) * sizeof *texts->items);
    if (!texts->items) PyErr_NoMemory();
    for (Py_ssize_t i = 0; texts->items && i < count; i++) {
        const char *const text = take_item(texts->keep, i, paths);
        if (!text) break;
        texts->items[texts->count++] = text;
    }
    if (texts->items && texts->count == (size_t)count) return true;
    native_texts_free(texts);
    return false;
}

void native_texts_free(native_texts *texts)
{
    PyMem_Free(texts->items);
    Py_XDECREF(texts->keep);
    *texts = (native_texts){ 0 };
}

/* ---- The module ---------------------------------------------------------- */

PyTypeObject *native_type(PyObject *module, PyType_Spec *spec)
{
    const char *const dot = strrchr(spec->name, '.');
    PyObject *const type = PyType_FromSpec(spec);
    if (!type) return NULL;
    Py_INCREF(type); // ours; the module takes the other one
    if (PyModule_AddObject(module, dot ? dot + 1 : spec->name, type) == 0)
        return (PyTypeObject *)type;
    Py_DECREF(type);
    Py_DECREF(type);
    return NULL;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "tracesmith._tracesmith",
    .m_doc = "The C part of tracesmith; use the module tracesmith.",
    .m_size = -1, // one recorder in a process
};

// Before 3.9 its type does not make it visible.
__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__tracesmith(void);

PyMODINIT_FUNC PyInit__tracesmith(void)
{
    char version[32];
    PyObject *const module = PyModule_Create(&definition);
    if (!module) return NULL;
    snprintf(version, sizeof version, "%d.%d.%d", TS_VERSION_MAJOR,
             TS_VERSION_MINOR, TS_VERSION_PATCH);
    if (PyModule_AddStringConstant(module, "version", version) == 0 &&
        record_add(module) && zones_add(module) && functions_add(module) &&
        writer_add(module) && columns_add(module) && reader_add(module) &&
        tools_add(module))
        return module;
    Py_DECREF(module);
    return NULL;
}

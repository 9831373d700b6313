/*
    native.h - what the files of the extension share

    The extension calls the public C API only: tracesmith.h to record,
    tracesmith_replay.h to read, tracesmith_tools.h for the tools. From CPython
    3.11 on it keeps to the limited API, so that one wheel serves all versions.
*/
#ifndef TS_PYTHON_NATIVE_H
#define TS_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <Python.h>
#include <structmember.h>
#if PY_VERSION_HEX < 0x03090000
#include <frameobject.h>
#endif
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "tools/tracesmith_tools.h"

// 3.11 has these calls, with this ABI; its limited API has them since 3.12.
#if defined(Py_LIMITED_API) && Py_LIMITED_API < 0x030C0000
typedef PyObject *(*vectorcallfunc)(PyObject *callable, PyObject *const *args,
                                    size_t nargsf, PyObject *kwnames);
PyAPI_FUNC(PyObject *)
    PyObject_Vectorcall(PyObject *callable, PyObject *const *args,
                        size_t nargsf, PyObject *kwnames);
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#elif PY_VERSION_HEX < 0x03090000
#define PyObject_Vectorcall        _PyObject_Vectorcall
#define Py_TPFLAGS_HAVE_VECTORCALL _Py_TPFLAGS_HAVE_VECTORCALL
#endif

#define NATIVE_METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* ---- Errors (module.c) --------------------------------------------------- */

// Raises tracesmith.Error. what: NULL for the text of the result. where: a path
// or NULL. Returns NULL.
PyObject *native_raise(ts_result result, const char *what, const char *where);
// Returns None, or raises.
PyObject *native_done(ts_result result, const char *where);
// Text of a trace, which may hold any bytes.
PyObject *native_text(ts_text text);
// Sets a key to a new reference, which it takes. False: an exception is set.
bool native_set(PyObject *dict, const char *key, PyObject *value);
// The UTF-8 of a str or None (NULL), valid as long as the object. False: an
// exception is set.
bool native_utf8(PyObject *object, const char *what, const char **text);
// The path of a str or an os.PathLike, as bytes; NULL: an exception is set.
PyObject *native_path(PyObject *object);
// Adds a type made from a spec to the module.
PyTypeObject *native_type(PyObject *module, PyType_Spec *spec);

/* ---- Texts of a call, as a C array --------------------------------------- */

// `keep` owns what `items` point into.
typedef struct native_texts {
    PyObject *keep;
    const char **items;
    size_t count;
} native_texts;

// From a str, a sequence of str or of paths, or None. False: an exception.
bool native_texts_take(native_texts *texts, PyObject *object, bool paths);
void native_texts_free(native_texts *texts);

/* ---- Parts of the module: each adds its functions and types -------------- */

bool record_add(PyObject *module);
bool zones_add(PyObject *module);
bool functions_add(PyObject *module);
bool writer_add(PyObject *module);
bool reader_add(PyObject *module);
bool columns_add(PyObject *module);
bool tools_add(PyObject *module);

/* ---- Columns (columns.c) ------------------------------------------------- */

// An array that shows itself as a buffer; zeros at first.
typedef struct native_column native_column;
// format: of the struct module, one letter. NULL: an exception is set.
native_column *column_new(Py_ssize_t count, char format);
void *column_data(native_column *column);
// Forgets the rows from `count` on.
void column_cut(native_column *column, Py_ssize_t count);

// The number of a kind of events; 0: an exception is set.
uint32_t native_kind(const char *name);

// Events of a kind as (dict of columns, dict of categories).
PyObject *columns_of(ts_reader *reader, PyObject *args, PyObject *keywords);

/* ---- Replay (replay.c) --------------------------------------------------- */

// A trace replayed as recorded (changes: None or empty), or by the model with
// each of the changes.
PyObject *replay_of(ts_reader *reader, PyObject *changes, const char *path);

#endif // TS_PYTHON_NATIVE_H

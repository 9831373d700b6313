/*
    writer.c - traces of events whose times are already known
*/
#include "native.h"
#include "tracesmith.h"

typedef struct writer_object {
    PyObject_HEAD ts_writer *writer; // NULL: closed
    PyObject *path;
} writer_object;

static ts_writer *writer_of(PyObject *self)
{
    ts_writer *const writer = ((writer_object *)self)->writer;
    if (!writer)
        native_raise(TS_ERR_STATE, "the writer is closed: make another one",
                     NULL);
    return writer;
}

static const char *path_of(PyObject *self)
{
    return PyBytes_AsString(((writer_object *)self)->path);
}

static PyObject *writer_make(PyTypeObject *type, PyObject *args,
                             PyObject *keywords)
{
    static char *names[] = { "path", "start_realtime_ns", "process", "compress",
                             NULL };
    PyObject *path;
    unsigned long long realtime = 0;
    ts_writer_desc desc = { 0 };
    int compress = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|KIp", names,
                                     PyUnicode_FSConverter, &path, &realtime,
                                     &desc.process, &compress))
        return NULL;
    allocfunc const make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    writer_object *const w = (writer_object *)make(type, 0);
    if (!w) {
        Py_DECREF(path);
        return NULL;
    }
    w->path = path;
    desc.path = PyBytes_AsString(path);
    desc.start_realtime_ns = realtime;
    desc.compress = compress;
    const ts_result result = ts_writer_open(&w->writer, &desc);
    if (result == TS_OK) return (PyObject *)w;
    native_raise(result, NULL, desc.path);
    Py_DECREF(w);
    return NULL;
}

static void writer_free(PyObject *self)
{
    writer_object *const w = (writer_object *)self;
    PyTypeObject *const type = Py_TYPE(self);
    ts_writer_abandon(w->writer);
    Py_XDECREF(w->path);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *writer_close(PyObject *self, PyObject *unused)
{
    writer_object *const w = (writer_object *)self;
    (void)unused;
    if (!writer_of(self)) return NULL;
    ts_writer *const writer = w->writer;
    w->writer = NULL;
    return native_done(ts_writer_close(writer), path_of(self));
}

static PyObject *writer_abandon(PyObject *self, PyObject *unused)
{
    writer_object *const w = (writer_object *)self;
    (void)unused;
    ts_writer_abandon(w->writer);
    w->writer = NULL;
    Py_RETURN_NONE;
}

static PyObject *writer_name(PyObject *self, PyObject *text)
{
    Py_ssize_t size;
    ts_writer *const w = writer_of(self);
    if (!w) return NULL;
    const char *const bytes = PyUnicode_AsUTF8AndSize(text, &size);
    return bytes
               ? PyLong_FromUnsignedLong(ts_writer_name(w, bytes, (size_t)size))
               : NULL;
}

// site(name, category, function, file, line): numbers of names, 0: none
static PyObject *writer_site(PyObject *self, PyObject *args)
{
    ts_site_entry site = { 0 };
    ts_writer *const w = writer_of(self);
    if (!w ||
        !PyArg_ParseTuple(args, "I|IIIII", &site.name, &site.category,
                          &site.function, &site.file, &site.line, &site.color))
        return NULL;
    return PyLong_FromUnsignedLong(ts_writer_site(w, &site));
}

// launch(name, grid, block, registers, static_shared, dynamic_shared)
static PyObject *writer_launch(PyObject *self, PyObject *args)
{
    ts_launch_entry l = { 0 };
    ts_writer *const w = writer_of(self);
    if (!w || !PyArg_ParseTuple(args, "I|(III)(III)III", &l.name, &l.grid[0],
                                &l.grid[1], &l.grid[2], &l.block[0],
                                &l.block[1], &l.block[2], &l.registers,
                                &l.static_shared, &l.dynamic_shared))
        return NULL;
    return PyLong_FromUnsignedLong(ts_writer_launch(w, &l));
}

// track(type, name, number, parent, unit): its number
static PyObject *writer_track(PyObject *self, PyObject *args)
{
    ts_track_entry track = { 0 };
    unsigned long long number = 0;
    unsigned type;
    ts_writer *const w = writer_of(self);
    if (!w || !PyArg_ParseTuple(args, "II|KII", &type, &track.name, &number,
                                &track.parent, &track.unit))
        return NULL;
    track.type = (uint8_t)type;
    track.number = number;
    return PyLong_FromUnsignedLong(ts_writer_track(w, 0, &track));
}

static PyObject *writer_metadata(PyObject *self, PyObject *args)
{
    const char *key;
    Py_ssize_t size;
    PyObject *value;
    unsigned track = 0;
    ts_writer *const w = writer_of(self);
    if (!w || !PyArg_ParseTuple(args, "sO|I", &key, &value, &track))
        return NULL;
    if (PyUnicode_Check(value)) {
        const char *const text = PyUnicode_AsUTF8AndSize(value, &size);
        if (text)
            ts_writer_metadata(w, track, key, TS_VALUE_TEXT,
                               ts_writer_name(w, text, (size_t)size));
    } else if (PyFloat_Check(value)) {
        const double real = PyFloat_AsDouble(value);
        uint64_t bits;
        memcpy(&bits, &real, sizeof bits);
        ts_writer_metadata(w, track, key, TS_VALUE_DOUBLE, bits);
    } else {
        const long long number = PyLong_AsLongLong(value);
        if (!PyErr_Occurred())
            ts_writer_metadata(w, track, key, TS_VALUE_INT, (uint64_t)number);
    }
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

// The bits of a column's value.
static uint64_t bits_of(PyObject *value)
{
    uint64_t bits;
    if (!PyFloat_Check(value)) return PyLong_AsUnsignedLongLongMask(value);
    const double real = PyFloat_AsDouble(value);
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static uint32_t column_named(const char *name)
{
    for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++)
        if (!strcmp(ts_column_name(i), name)) return i;
    PyErr_Format(PyExc_ValueError, "no column is called '%s'", name);
    return 0;
}

uint32_t native_kind(const char *name)
{
    for (uint32_t i = 1; i < TS_EVENT_LIMIT; i++)
        if (!strcmp(ts_event_name(i), name)) return i;
    PyErr_Format(PyExc_ValueError, "no kind of event is called '%s'", name);
    return 0;
}

// event(kind, track, start_ns, duration_ns, values, text)
static PyObject *writer_event(PyObject *self, PyObject *args)
{
    ts_writer_value values[TS_COLUMN_LIMIT];
    const char *kind, *text = NULL;
    unsigned track;
    long long start, duration = 0;
    PyObject *given = NULL, *key, *value;
    Py_ssize_t at = 0, size = 0;
    size_t count = 0;
    ts_writer *const w = writer_of(self);
    if (!w || !PyArg_ParseTuple(args, "sIL|LOz#", &kind, &track, &start,
                                &duration, &given, &text, &size))
        return NULL;
    const uint32_t number = native_kind(kind);
    if (!number) return NULL;
    while (given && PyDict_Check(given) &&
           PyDict_Next(given, &at, &key, &value)) {
        const char *const name = PyUnicode_AsUTF8AndSize(key, NULL);
        const uint32_t column = name ? column_named(name) : 0;
        if (!column || count == TS_COLUMN_LIMIT) return NULL;
        values[count++] =
            (ts_writer_value){ (ts_column)column, bits_of(value) };
        if (PyErr_Occurred()) return NULL;
    }
    if (text)
        ts_writer_event_text(w, (ts_event_kind)number, track, start, duration,
                             values, count, text, (size_t)size);
    else
        ts_writer_event(w, (ts_event_kind)number, track, start, duration,
                        values, count);
    return native_done(ts_writer_error(w), path_of(self));
}

static PyMethodDef methods[] = {
    { "close", writer_close, METH_NOARGS, "Complete the trace." },
    { "abandon", writer_abandon, METH_NOARGS, "Remove what was written." },
    { "name", writer_name, METH_O, "The number of a text." },
    { "site", writer_site, METH_VARARGS, "The number of a place." },
    { "launch", writer_launch, METH_VARARGS, "The number of a kernel." },
    { "track", writer_track, METH_VARARGS, "Define a track." },
    { "metadata", writer_metadata, METH_VARARGS, "State a fact." },
    { "event", writer_event, METH_VARARGS, "Write an event." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_new, (void *)writer_make },
    { Py_tp_dealloc, (void *)writer_free },
    { Py_tp_methods, methods },
    { Py_tp_doc, "Writes a trace of events whose times are known already." },
    { 0, NULL },
};

static PyType_Spec spec = {
    .name = "tracesmith._tracesmith.Writer",
    .basicsize = sizeof(writer_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

bool writer_add(PyObject *module)
{
    PyTypeObject *const type = native_type(module, &spec);
    Py_XDECREF((PyObject *)type); // the module has it
    return type != NULL;
}

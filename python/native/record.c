/*
    record.c - the session, and what has no duration
*/
#include "names.h"
#include <dlfcn.h>

/* ---- Session ------------------------------------------------------------- */

static PyObject *start(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "path",     "policy",   "fork",
                             "memory",   "ring",     "flush_ms",
                             "rank",     "compress", "snapshot_signal",
                             "snapshot", "app",      NULL };
    PyObject *path, *snapshot = NULL;
    ts_session_desc desc = { 0 };
    unsigned policy = 0, follow = 0;
    unsigned long long memory = 0;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "O&|IIKIIIIiO&z", names, PyUnicode_FSConverter,
            &path, &policy, &follow, &memory, &desc.ring_bytes, &desc.flush_ms,
            &desc.rank, &desc.compress, &desc.snapshot_signal,
            PyUnicode_FSConverter, &snapshot, &desc.app))
        return NULL;
    desc.path = PyBytes_AsString(path);
    desc.policy = (ts_policy)policy;
    desc.fork = (ts_fork)follow;
    desc.memory_bytes = memory;
    desc.snapshot_path = snapshot ? PyBytes_AsString(snapshot) : NULL;
    PyObject *const done = native_done(ts_session_start(&desc), desc.path);
    Py_DECREF(path);
    Py_XDECREF(snapshot);
    return done;
}

// What may take time, or calls a backend that takes a lock, without the GIL.
static PyObject *call(ts_result (*function)(void))
{
    ts_result result;
    Py_BEGIN_ALLOW_THREADS result = function();
    Py_END_ALLOW_THREADS return native_done(result, NULL);
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return call(ts_session_stop);
}

static PyObject *pause_session(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return call(ts_session_pause);
}

static PyObject *resume(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return call(ts_session_resume);
}

static PyObject *flush(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return call(ts_session_flush);
}

static PyObject *snapshot(PyObject *module, PyObject *args)
{
    PyObject *path = NULL;
    ts_result result;
    (void)module;
    if (!PyArg_ParseTuple(args, "|O&", PyUnicode_FSConverter, &path))
        return NULL;
    const char *const text = path ? PyBytes_AsString(path) : NULL;
    Py_BEGIN_ALLOW_THREADS result = ts_session_snapshot(text);
    Py_END_ALLOW_THREADS PyObject *const done = native_done(result, text);
    Py_XDECREF(path);
    return done;
}

static PyObject *losses(const ts_stats *stats)
{
    PyObject *const dict = PyDict_New();
    for (uint32_t i = 0; dict && i < 16; i++)
        if (stats->lost_by[i] &&
            !native_set(dict, ts_loss_name(i),
                        PyLong_FromUnsignedLongLong(stats->lost_by[i])))
            PyErr_Clear();
    return dict;
}

static PyObject *stats(PyObject *module, PyObject *unused)
{
    ts_stats s = { 0 };
    (void)module, (void)unused;
    ts_session_stats(&s);
    return Py_BuildValue("{sK sK sN sK sK sK sK sK sI sI sI sN}", "records",
                         (unsigned long long)s.records, "lost",
                         (unsigned long long)s.lost, "lost_by", losses(&s),
                         "helped", (unsigned long long)s.helped, "blocked",
                         (unsigned long long)s.blocked, "stall_ns",
                         (unsigned long long)s.stall_ns, "file_bytes",
                         (unsigned long long)s.file_bytes, "memory_bytes",
                         (unsigned long long)s.memory_bytes, "rings", s.rings,
                         "threads", s.threads, "sessions", s.generation,
                         "recording", PyBool_FromLong(s.recording));
}

/* ---- Facts --------------------------------------------------------------- */

static PyObject *metadata(PyObject *module, PyObject *args)
{
    const char *key;
    PyObject *value;
    (void)module;
    if (!PyArg_ParseTuple(args, "sO", &key, &value)) return NULL;
    if (PyUnicode_Check(value)) {
        const char *const text = PyUnicode_AsUTF8AndSize(value, NULL);
        if (text) ts_metadata_text(0, key, text);
    } else if (PyFloat_Check(value)) {
        ts_metadata_double(0, key, PyFloat_AsDouble(value));
    } else {
        const long long number = PyLong_AsLongLong(value);
        if (!PyErr_Occurred()) ts_metadata_int(0, key, number);
    }
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static PyObject *thread_name(PyObject *module, PyObject *name)
{
    const char *text;
    (void)module;
    if (!native_utf8(name, "the name of a thread", &text)) return NULL;
    if (text) ts_thread_name(text);
    Py_RETURN_NONE;
}

/* ---- Moments ------------------------------------------------------------- */

static PyObject *mark(PyObject *module, PyObject *name)
{
    const uint32_t site = names_site(name);
    (void)module;
    if (!site && PyErr_Occurred()) return NULL;
    ts_mark_site(site);
    Py_RETURN_NONE;
}

static PyObject *message(PyObject *module, PyObject *text)
{
    Py_ssize_t size;
    (void)module;
    if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "a message must be a str, not %R",
                     Py_TYPE(text));
        return NULL;
    }
    const char *const bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes) return NULL;
    ts_message_sized(bytes, (size_t)size);
    Py_RETURN_NONE;
}

static PyObject *frame(PyObject *module, PyObject *name)
{
    ts_site *const site = names_frame(name);
    (void)module;
    if (!site) return NULL;
    ts_frame(site);
    Py_RETURN_NONE;
}

static bool has_arguments(Py_ssize_t count, Py_ssize_t least, Py_ssize_t most,
                          const char *usage)
{
    if (count >= least && count <= most) return true;
    PyErr_Format(PyExc_TypeError, "usage: %s", usage);
    return false;
}

static PyObject *counter(PyObject *module, PyObject *const *args,
                         Py_ssize_t count)
{
    (void)module;
    if (!has_arguments(count, 2, 2, "counter(name, value)")) return NULL;
    ts_counter *const c = names_counter(args[0]);
    if (!c) return NULL;
    if (PyLong_CheckExact(args[1])) {
        int overflow;
        const long long value =
            PyLong_AsLongLongAndOverflow(args[1], &overflow);
        if (!overflow) {
            ts_counter_int(c, value);
            Py_RETURN_NONE;
        }
    }
    const double value = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred()) return NULL;
    ts_counter_double(c, value);
    Py_RETURN_NONE;
}

static PyObject *counter_define(PyObject *module, PyObject *args)
{
    const char *name, *unit = NULL;
    int rate = 0, monotonic = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "s|zpp", &name, &unit, &rate, &monotonic))
        return NULL;
    ts_counter_define(name, unit,
                      (rate ? TS_COUNTER_RATE : 0u) |
                          (monotonic ? TS_COUNTER_MONOTONIC : 0u));
    Py_RETURN_NONE;
}

static PyObject *zone_value(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *value;
    (void)module;
    if (!PyArg_ParseTuple(args, "sO", &name, &value)) return NULL;
    if (PyUnicode_Check(value)) {
        const char *const text = PyUnicode_AsUTF8AndSize(value, NULL);
        if (text) ts_zone_text(text);
    } else if (PyFloat_Check(value)) {
        ts_zone_value_double(name, PyFloat_AsDouble(value));
    } else {
        const long long number = PyLong_AsLongLong(value);
        if (!PyErr_Occurred()) ts_zone_value_int(name, number);
    }
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static PyObject *zone_text(PyObject *module, PyObject *text)
{
    const char *bytes;
    (void)module;
    if (!native_utf8(text, "the text of a zone", &bytes)) return NULL;
    ts_zone_text(bytes);
    Py_RETURN_NONE;
}

/* ---- Memory -------------------------------------------------------------- */

// alloc(address, size[, pool[, category]])
static PyObject *alloc(PyObject *module, PyObject *const *args,
                       Py_ssize_t count)
{
    (void)module;
    if (!has_arguments(count, 2, 4, "alloc(address, size, pool, category)"))
        return NULL;
    const uint64_t address = PyLong_AsUnsignedLongLongMask(args[0]);
    const uint64_t size =
        PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLongMask(args[1]);
    const uint32_t pool =
        PyErr_Occurred() ? 0 : names_text(count > 2 ? args[2] : NULL);
    const uint32_t category =
        PyErr_Occurred() ? 0 : names_text(count > 3 ? args[3] : NULL);
    if (PyErr_Occurred()) return NULL;
    ts_alloc((const void *)(uintptr_t)address, size, pool, category);
    Py_RETURN_NONE;
}

// free(address[, pool])
static PyObject *free_memory(PyObject *module, PyObject *const *args,
                             Py_ssize_t count)
{
    (void)module;
    if (!has_arguments(count, 1, 2, "free(address, pool)")) return NULL;
    const uint64_t address = PyLong_AsUnsignedLongLongMask(args[0]);
    const uint32_t pool =
        PyErr_Occurred() ? 0 : names_text(count > 1 ? args[1] : NULL);
    if (PyErr_Occurred()) return NULL;
    ts_free((const void *)(uintptr_t)address, pool);
    Py_RETURN_NONE;
}

/* ---- Flows --------------------------------------------------------------- */

// flow(id, phase): 1 start, 2 step, 3 end
static PyObject *flow(PyObject *module, PyObject *args)
{
    unsigned long long id;
    unsigned phase;
    (void)module;
    if (!PyArg_ParseTuple(args, "KI", &id, &phase)) return NULL;
    ts_flow(id, (ts_phase)phase);
    Py_RETURN_NONE;
}

/* ---- Module -------------------------------------------------------------- */

// gpu(path of the library of devices)
static PyObject *gpu(PyObject *module, PyObject *path)
{
    ts_result (*add)(void) = NULL;
    (void)module;
    PyObject *const bytes = native_path(path);
    if (!bytes) return NULL;
    // It stays: backends are called until the process ends.
    void *const library = dlopen(PyBytes_AsString(bytes), RTLD_NOW);
    if (library) *(void **)&add = dlsym(library, "tracesmith_devices_add");
    PyObject *const done = add ? native_done(add(), NULL)
                               : native_raise(TS_ERR_UNSUPPORTED, dlerror(),
                                              PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    return done;
}

static PyMethodDef functions[] = {
    { "start", NATIVE_METHOD(start), METH_VARARGS | METH_KEYWORDS,
      "Start a session." },
    { "stop", stop, METH_NOARGS, "Stop the session." },
    { "pause", pause_session, METH_NOARGS, "Stop recording for a while." },
    { "resume", resume, METH_NOARGS, "Record again." },
    { "flush", flush, METH_NOARGS, "Write what was recorded so far." },
    { "snapshot", snapshot, METH_VARARGS, "Write a dump." },
    { "stats", stats, METH_NOARGS, "Figures of the session." },
    { "gpu", gpu, METH_O, "Record devices in sessions from now on." },
    { "metadata", metadata, METH_VARARGS, "State a fact of the session." },
    { "thread_name", thread_name, METH_O, "Name the calling thread." },
    { "mark", mark, METH_O, "Record a moment." },
    { "message", message, METH_O, "Record a text." },
    { "frame", frame, METH_O, "A frame ends and the next one begins." },
    { "counter", NATIVE_METHOD(counter), METH_FASTCALL, "Record a sample." },
    { "counter_define", counter_define, METH_VARARGS, "Unit of a counter." },
    { "zone_value", zone_value, METH_VARARGS,
      "Attach a number to the innermost zone." },
    { "zone_text", zone_text, METH_O, "Attach a text to the innermost zone." },
    { "alloc", NATIVE_METHOD(alloc), METH_FASTCALL, "Memory is allocated." },
    { "free", NATIVE_METHOD(free_memory), METH_FASTCALL, "Memory is freed." },
    { "flow", flow, METH_VARARGS, "A point of an arrow." },
    { NULL, NULL, 0, NULL },
};

bool record_add(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}

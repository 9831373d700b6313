/*
    zones.c - zones, spans, marks, counters and memory: what a program records
*/
#include "native.h"
#include "names.h"
#include "zones.h"

static PyTypeObject *zone_type, *zoned_type, *ready_type;

// Its address tells threads apart.
static __thread char this_thread;

/* ---- What is open -------------------------------------------------------- */

// A zone or span that has begun. `who`: the thread, or the task of a span.
typedef struct entry {
    const void *who;
    ts_zone zone;
    uint64_t span; // 0: it is a zone
    struct entry *outer;
} entry;

typedef struct zone_object {
    PyObject_HEAD uint32_t site;
    bool is_open; // `own` is in use
    entry own;    // what began first; what began meanwhile is in `more`
    entry *more;
    PyObject *name, *more_of; // (category, color), or NULL
} zone_object;

static entry *entry_new(zone_object *z)
{
    if (!z->is_open) {
        z->is_open = true;
        return &z->own;
    }
    entry *const made = PyMem_Malloc(sizeof *made);
    if (!made) return NULL;
    made->outer = z->more;
    z->more = made;
    return made;
}

// Takes out what `who` began last: the same object may be open in several
// threads and tasks, and more than once in each. False: nothing.
static bool entry_take(zone_object *z, const void *who, bool span, entry *taken)
{
    for (entry **at = &z->more; *at; at = &(*at)->outer) {
        entry *const e = *at;
        if (e->who != who || (e->span != 0) != span) continue;
        *taken = *e;
        *at = e->outer;
        PyMem_Free(e);
        return true;
    }
    if (!z->is_open || z->own.who != who || (z->own.span != 0) != span)
        return false;
    *taken = z->own;
    z->is_open = false;
    return true;
}

/* ---- with zone(...) ------------------------------------------------------ */

static PyObject *zone_enter(PyObject *self, PyObject *unused)
{
    zone_object *const z = (zone_object *)self;
    entry *const e = entry_new(z);
    (void)unused;
    if (!e) return PyErr_NoMemory();
    e->who = &this_thread;
    e->span = 0;
    Py_INCREF(self);
    e->zone = ts_zone_begin_site(z->site); // last, so that it is close
    return self;
}

static PyObject *zone_exit(PyObject *self, PyObject *const *args,
                           Py_ssize_t count)
{
    zone_object *const z = (zone_object *)self;
    entry e;
    (void)args, (void)count;
    if (z->is_open && !z->more && z->own.who == &this_thread && !z->own.span) {
        ts_zone_end(&z->own.zone);
        z->is_open = false;
    } else if (entry_take(z, &this_thread, false, &e)) {
        ts_zone_end(&e.zone);
    }
    Py_RETURN_NONE;
}

/* ---- async with zone(...) ------------------------------------------------ */

// An awaitable that is done at once, with a value.
typedef struct ready_object {
    PyObject_HEAD PyObject *value;
} ready_object;

static PyObject *ready_of(PyObject *value)
{
    ready_object *const made = PyObject_New(ready_object, ready_type);
    if (!made) return NULL;
    Py_INCREF(value);
    made->value = value;
    return (PyObject *)made;
}

static void ready_free(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    Py_XDECREF(((ready_object *)self)->value);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *ready_self(PyObject *self)
{
    Py_INCREF(self);
    return self;
}

static PyObject *ready_next(PyObject *self)
{
    PyErr_SetObject(PyExc_StopIteration, ((ready_object *)self)->value);
    return NULL;
}

static PyType_Slot ready_slots[] = {
    { Py_tp_dealloc, (void *)ready_free },
    { Py_am_await, (void *)ready_self },
    { Py_tp_iter, (void *)ready_self },
    { Py_tp_iternext, (void *)ready_next },
    { 0, NULL },
};

static PyType_Spec ready_spec = {
    .name = "tracesmith._tracesmith.Ready",
    .basicsize = sizeof(ready_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = ready_slots,
};

// The task that runs here, or the thread where there is none.
static const void *task_here(void)
{
    static PyObject *current;
    if (!current) {
        PyObject *const asyncio = PyImport_ImportModule("asyncio");
        if (asyncio) current = PyObject_GetAttrString(asyncio, "current_task");
        Py_XDECREF(asyncio);
    }
    PyObject *const task = current ? PyObject_CallObject(current, NULL) : NULL;
    if (!task) PyErr_Clear(); // no loop of asyncio: another framework
    const void *const who =
        task && task != Py_None ? (const void *)task : &this_thread;
    Py_XDECREF(task); // only its address is kept
    return who;
}

uint64_t zones_span_new(void)
{
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static PyObject *zone_aenter(PyObject *self, PyObject *unused)
{
    zone_object *const z = (zone_object *)self;
    const void *const who = task_here();
    entry *const e = entry_new(z);
    (void)unused;
    if (!e) return PyErr_NoMemory();
    e->who = who;
    e->span = zones_span_new();
    ts_span_start_site(e->span, z->site);
    return ready_of(self);
}

static PyObject *zone_aexit(PyObject *self, PyObject *const *args,
                            Py_ssize_t count)
{
    entry e;
    (void)args, (void)count;
    if (entry_take((zone_object *)self, task_here(), true, &e))
        ts_span_end(e.span);
    return ready_of(Py_None);
}

/* ---- The type of zones --------------------------------------------------- */

static PyObject *zone_new(PyObject *name, uint32_t site)
{
    zone_object *const z = PyObject_New(zone_object, zone_type);
    if (!z) return NULL;
    z->site = site;
    z->is_open = false;
    z->more = NULL;
    Py_INCREF(name);
    z->name = name;
    z->more_of = NULL;
    return (PyObject *)z;
}

// What is still open is left open: its end is not known.
static void zone_free(PyObject *self)
{
    zone_object *const z = (zone_object *)self;
    PyTypeObject *const type = Py_TYPE(self);
    while (z->more) {
        entry *const e = z->more;
        z->more = e->outer;
        PyMem_Free(e);
    }
    Py_XDECREF(z->name);
    Py_XDECREF(z->more_of);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *zone_repr(PyObject *self)
{
    return PyUnicode_FromFormat("tracesmith.zone(%R)",
                                ((zone_object *)self)->name);
}

static PyMethodDef zone_methods[] = {
    { "__enter__", zone_enter, METH_NOARGS, "Begin the zone." },
    { "__exit__", NATIVE_METHOD(zone_exit), METH_FASTCALL, "End the zone." },
    { "__aenter__", zone_aenter, METH_NOARGS, "Begin a span of this task." },
    { "__aexit__", NATIVE_METHOD(zone_aexit), METH_FASTCALL, "End the span." },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef zone_members[] = {
    { "name", T_OBJECT, offsetof(zone_object, name), READONLY,
      "The name of the zone." },
    { NULL, 0, 0, 0, NULL },
};

// `zone("name")(function)`: in Python, which knows kinds of functions.
static PyObject *zone_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *const record = PyImport_ImportModule("tracesmith._record");
    PyObject *const function =
        record ? PyObject_GetAttrString(record, "_decorate") : NULL;
    PyObject *made = NULL;
    Py_ssize_t count = PyTuple_Size(args);
    if (function && count == 1 && !keywords) {
        zone_object *const z = (zone_object *)self;
        made = PyObject_CallFunctionObjArgs(function, PyTuple_GetItem(args, 0),
                                            z->name, z->more_of, NULL);
    } else if (function) {
        PyErr_SetString(PyExc_TypeError,
                        "a zone decorates one function: @zone(\"name\")");
    }
    Py_XDECREF(function);
    Py_XDECREF(record);
    return made;
}

static PyType_Slot zone_slots[] = {
    { Py_tp_dealloc, (void *)zone_free },
    { Py_tp_repr, (void *)zone_repr },
    { Py_tp_call, (void *)zone_call },
    { Py_tp_methods, zone_methods },
    { Py_tp_members, zone_members },
    { Py_tp_doc, "A named part of a thread's time: with zone(\"load\"): ..." },
    { 0, NULL },
};

static PyType_Spec zone_spec = {
    .name = "tracesmith._tracesmith.Zone",
    .basicsize = sizeof(zone_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = zone_slots,
};

static PyObject *other_uses; // of zone(...), in Python

static PyObject *zone_other(PyObject *module, PyObject *callable)
{
    (void)module;
    Py_INCREF(callable);
    Py_XDECREF(other_uses);
    other_uses = callable;
    Py_RETURN_NONE;
}

// zone(name), as programs call it most: a look at a table, a small object.
static PyObject *zone(PyObject *module, PyObject *const *args, Py_ssize_t count,
                      PyObject *names)
{
    (void)module;
    uint32_t site = count == 1 && !names ? names_site_known(args[0]) : 0;
    if (site) return zone_new(args[0], site);
    if (count != 1 || names || !PyUnicode_Check(args[0]))
        return PyObject_Vectorcall(other_uses, args, (size_t)count, names);
    site = names_site(args[0]);
    return site || !PyErr_Occurred() ? zone_new(args[0], site) : NULL;
}

// site_zone(name, category, function, file, line, color)
static PyObject *site_zone(PyObject *module, PyObject *args)
{
    ts_site base = { 0 };
    PyObject *name;
    unsigned line = 0, color = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "Uzzz|II", &name, &base.category,
                          &base.function, &base.file, &line, &color))
        return NULL;
    base.line = line;
    base.color = color;
    const char *const text = PyUnicode_AsUTF8AndSize(name, NULL);
    PyObject *const made =
        text ? zone_new(name, ts_site_define(text, &base)) : NULL;
    if (!made || (!base.category && !color)) return made;
    ((zone_object *)made)->more_of =
        Py_BuildValue("(zI)", base.category, color);
    if (((zone_object *)made)->more_of) return made;
    Py_DECREF(made);
    return NULL;
}

/* ---- Functions that are zones -------------------------------------------- */

typedef struct zoned_object {
    PyObject_HEAD PyObject *function, *dict, *weakrefs;
    vectorcallfunc call;
    uint32_t site;
} zoned_object;

static PyObject *zoned_call(PyObject *self, PyObject *const *args, size_t count,
                            PyObject *names)
{
    zoned_object *const z = (zoned_object *)self;
    ts_zone zone = ts_zone_begin_site(z->site);
    PyObject *const result =
        PyObject_Vectorcall(z->function, args, count, names);
    ts_zone_end(&zone);
    return result;
}

static PyObject *zoned_call_slow(PyObject *self, PyObject *args,
                                 PyObject *keywords)
{
    zoned_object *const z = (zoned_object *)self;
    ts_zone zone = ts_zone_begin_site(z->site);
    PyObject *const result = PyObject_Call(z->function, args, keywords);
    ts_zone_end(&zone);
    return result;
}

// A method of an object: Python binds by `obj.method` without a call.
static PyObject *zoned_get(PyObject *self, PyObject *object, PyObject *owner)
{
    static PyObject *method_type;
    (void)owner;
    if (!object || object == Py_None) {
        Py_INCREF(self);
        return self;
    }
    if (!method_type) {
        PyObject *const types = PyImport_ImportModule("types");
        if (types) method_type = PyObject_GetAttrString(types, "MethodType");
        Py_XDECREF(types);
        if (!method_type) return NULL;
    }
    return PyObject_CallFunctionObjArgs(method_type, self, object, NULL);
}

static int zoned_traverse(PyObject *self, visitproc visit, void *arg)
{
    zoned_object *const z = (zoned_object *)self;
#if PY_VERSION_HEX >= 0x03090000
    Py_VISIT(Py_TYPE(self));
#endif
    Py_VISIT(z->function);
    Py_VISIT(z->dict);
    return 0;
}

static int zoned_clear(PyObject *self)
{
    zoned_object *const z = (zoned_object *)self;
    Py_CLEAR(z->function);
    Py_CLEAR(z->dict);
    return 0;
}

static void zoned_free(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (((zoned_object *)self)->weakrefs) PyObject_ClearWeakRefs(self);
    zoned_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyObject *zoned_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<tracesmith.zone of %R>",
                                ((zoned_object *)self)->function);
}

static PyMemberDef zoned_members[] = {
    { "__wrapped__", T_OBJECT, offsetof(zoned_object, function), READONLY,
      "The function itself." },
#if PY_VERSION_HEX >= 0x03090000
    { "__dictoffset__", T_PYSSIZET, offsetof(zoned_object, dict), READONLY,
      NULL },
    { "__weaklistoffset__", T_PYSSIZET, offsetof(zoned_object, weakrefs),
      READONLY, NULL },
    { "__vectorcalloffset__", T_PYSSIZET, offsetof(zoned_object, call),
      READONLY, NULL },
#endif
    { NULL, 0, 0, 0, NULL },
};

static PyObject *zoned_reduce(PyObject *self, PyObject *unused)
{
    // As functions are pickled: by name, which spawned processes look up.
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyMethodDef zoned_methods[] = {
    { "__reduce__", zoned_reduce, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot zoned_slots[] = {
    { Py_tp_dealloc, (void *)zoned_free },
    { Py_tp_traverse, (void *)zoned_traverse },
    { Py_tp_clear, (void *)zoned_clear },
    { Py_tp_repr, (void *)zoned_repr },
    { Py_tp_call, (void *)zoned_call_slow },
    { Py_tp_descr_get, (void *)zoned_get },
    { Py_tp_members, zoned_members },
    { Py_tp_methods, zoned_methods },
    { 0, NULL },
};

static PyType_Spec zoned_spec = {
    .name = "tracesmith._tracesmith.ZonedFunction",
    .basicsize = sizeof(zoned_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = zoned_slots,
};

// zoned(function, zone): a function that does the same inside of the zone.
static PyObject *zoned(PyObject *module, PyObject *args)
{
    PyObject *function, *zone;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!", &function, zone_type, &zone))
        return NULL;
    zoned_object *const z = PyObject_GC_New(zoned_object, zoned_type);
    if (!z) return NULL;
    Py_INCREF(function);
    z->function = function;
    z->dict = z->weakrefs = NULL;
    z->call = zoned_call;
    z->site = ((zone_object *)zone)->site;
    PyObject_GC_Track((PyObject *)z);
    return (PyObject *)z;
}

/* ---- Spans --------------------------------------------------------------- */

// span_begin(zone): its id; for work that moves between threads and tasks.
static PyObject *span_begin(PyObject *module, PyObject *zone)
{
    (void)module;
    if (Py_TYPE(zone) != zone_type) {
        PyErr_SetString(PyExc_TypeError, "span_begin(zone) wants a zone");
        return NULL;
    }
    const uint64_t id = zones_span_new();
    ts_span_start_site(id, ((zone_object *)zone)->site);
    return PyLong_FromUnsignedLongLong(id);
}

static PyObject *span_end(PyObject *module, PyObject *id)
{
    (void)module;
    const uint64_t span = PyLong_AsUnsignedLongLongMask(id);
    if (PyErr_Occurred()) return NULL;
    ts_span_end(span);
    Py_RETURN_NONE;
}

/* ---- Module -------------------------------------------------------------- */

static PyMethodDef functions[] = {
    { "zone", NATIVE_METHOD(zone), METH_FASTCALL | METH_KEYWORDS,
      "zone(name, category=None, color=None)\n--\n\n"
      "A named part of a thread's time. `with zone(\"load\"):` is a zone of "
      "this thread,\n`async with` a span that follows its task; `@zone`, or "
      "`@zone(\"name\")`, makes\nevery call of a function one." },
    { "zone_other", zone_other, METH_O, "What zone() does with the rest." },
    { "site_zone", site_zone, METH_VARARGS, "A zone of a place." },
    { "zoned", zoned, METH_VARARGS, "A function inside of a zone." },
    { "span_begin", span_begin, METH_O, "Begin a span; returns its id." },
    { "span_end", span_end, METH_O, "End a span." },
    { NULL, NULL, 0, NULL },
};

#if PY_VERSION_HEX < 0x03090000
static void zoned_finish(void)
{
    zoned_type->tp_dictoffset = offsetof(zoned_object, dict);
    zoned_type->tp_weaklistoffset = offsetof(zoned_object, weakrefs);
    zoned_type->tp_vectorcall_offset = offsetof(zoned_object, call);
}
#else
static void zoned_finish(void)
{
}
#endif

bool zones_add(PyObject *module)
{
    if (!(zone_type = native_type(module, &zone_spec)) ||
        !(zoned_type = native_type(module, &zoned_spec)) ||
        !(ready_type = native_type(module, &ready_spec)))
        return false;
    zoned_finish();
    return PyModule_AddFunctions(module, functions) == 0;
}

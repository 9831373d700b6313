/*
    functions.c - every call of a Python function as a zone

    A callable for sys.setprofile: the interpreter calls it with each frame that
    begins or ends. Which functions count is decided once for each code object,
    by its file.
*/
#include "native.h"

/* ---- Sites of code objects ----------------------------------------------- */

typedef struct known {
    PyObject *code; // a reference, so that no other object gets the address
    uint32_t site;  // 0: not recorded
} known;

static struct {
    known *items;
    size_t count, room; // room: a power of two, or 0
} table;

static PyObject *wanted; // callable: wanted(file, function) -> bool

static known *place_of(known *items, size_t room, const PyObject *code)
{
    size_t at = ((uintptr_t)code >> 4) & (room - 1);
    while (items[at].code && items[at].code != code)
        at = (at + 1) & (room - 1);
    return &items[at];
}

static bool grow(void)
{
    const size_t room = table.room ? 2 * table.room : 1024;
    known *const items = calloc(room, sizeof *items);
    if (!items) return false;
    for (size_t i = 0; i < table.room; i++)
        if (table.items[i].code)
            *place_of(items, room, table.items[i].code) = table.items[i];
    free(table.items);
    table.items = items;
    table.room = room;
    return true;
}

static const char *text_of(PyObject *object)
{
    const char *const text = object && PyUnicode_Check(object)
                                 ? PyUnicode_AsUTF8AndSize(object, NULL)
                                 : NULL;
    if (!text) PyErr_Clear();
    return text;
}

static PyObject *name_of(PyObject *code)
{
    PyObject *const name = PyObject_GetAttrString(code, "co_qualname");
    if (name) return name;
    PyErr_Clear(); // before 3.11
    return PyObject_GetAttrString(code, "co_name");
}

// Whether to record code of a file.
static bool is_wanted(PyObject *file, PyObject *name)
{
    if (!file || !name) return false;
    PyObject *const answer =
        PyObject_CallFunctionObjArgs(wanted, file, name, NULL);
    const bool yes = answer && PyObject_IsTrue(answer) == 1;
    if (!answer) PyErr_Clear();
    Py_XDECREF(answer);
    return yes;
}

static uint32_t define(PyObject *code)
{
    PyObject *const file = PyObject_GetAttrString(code, "co_filename");
    PyObject *const name = name_of(code);
    PyObject *const line = PyObject_GetAttrString(code, "co_firstlineno");
    uint32_t site = 0;
    if (line && is_wanted(file, name)) {
        const ts_site base = { .function = text_of(name),
                               .file = text_of(file),
                               .line = (uint32_t)PyLong_AsLong(line) };
        if (base.function) site = ts_site_define(base.function, &base);
    }
    Py_XDECREF(line);
    Py_XDECREF(name);
    Py_XDECREF(file);
    PyErr_Clear();
    return site;
}

static uint32_t site_of(PyObject *code)
{
    const known *const found =
        table.room ? place_of(table.items, table.room, code) : NULL;
    if (found && found->code) return found->site;
    const uint32_t site = define(code);
    if (2 * table.count >= table.room && !grow()) return site;
    known *const k = place_of(table.items, table.room, code);
    if (!k->code) {
        Py_INCREF(code);
        *k = (known){ code, site };
        table.count++;
    }
    return site;
}

/* ---- Frames -------------------------------------------------------------- */

// The zones of the calling thread's frames; code 0: one that is not recorded.
static __thread struct {
    ts_zone *zones;
    size_t count, room;
} stack;

static void push(uint32_t site)
{
    static const ts_zone none;
    if (stack.count == stack.room) {
        const size_t room = stack.room ? 2 * stack.room : 256;
        ts_zone *const more = realloc(stack.zones, room * sizeof *more);
        if (!more) return;
        stack.zones = more;
        stack.room = room;
    }
    stack.zones[stack.count++] = site ? ts_zone_begin_site(site) : none;
}

static PyObject *code_of(PyObject *frame)
{
#if PY_VERSION_HEX >= 0x03090000
    return (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
#else
    return PyObject_GetAttrString(frame, "f_code");
#endif
}

// Whether an event of the interpreter is `name`; its str is always the same
// object, which `*known` holds.
static bool is_event(PyObject *event, PyObject **known, const char *name)
{
    if (event == *known) return true;
    if (!PyUnicode_Check(event) ||
        PyUnicode_CompareWithASCIIString(event, name) != 0)
        return false;
    Py_INCREF(event);
    Py_XDECREF(*known);
    *known = event;
    return true;
}

// profile(frame, event, argument), for sys.setprofile
static PyObject *profile(PyObject *module, PyObject *const *args,
                         Py_ssize_t count)
{
    static PyObject *call, *returned;
    (void)module;
    if (count == 3 && is_event(args[1], &call, "call")) {
        PyObject *const code = code_of(args[0]);
        if (code) push(site_of(code));
        Py_XDECREF(code);
    } else if (count == 3 && is_event(args[1], &returned, "return") &&
               stack.count) {
        ts_zone_end(&stack.zones[--stack.count]);
    }
    PyErr_Clear();
    Py_RETURN_NONE;
}

// profile_begin(wanted): decides anew which functions count.
static PyObject *profile_begin(PyObject *module, PyObject *callable)
{
    (void)module;
    for (size_t i = 0; i < table.room; i++)
        Py_XDECREF(table.items[i].code);
    free(table.items);
    memset(&table, 0, sizeof table);
    PyObject *const old = wanted;
    Py_INCREF(callable);
    wanted = callable;
    Py_XDECREF(old);
    stack.count = 0;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    { "profile", NATIVE_METHOD(profile), METH_FASTCALL,
      "For sys.setprofile: functions as zones." },
    { "profile_begin", profile_begin, METH_O, "Which functions count." },
    { NULL, NULL, 0, NULL },
};

bool functions_add(PyObject *module)
{
    return PyModule_AddFunctions(module, methods) == 0;
}

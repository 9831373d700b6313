/*
    names.c - numbers of names, looked up by the address of the str first

    A name in a program is nearly always the same object: a literal. A table by
    addresses answers for these; it keeps a reference, so that no other object
    gets the address. What it does not have is looked up by the text.
*/
#include "names.h"

enum { SLOTS = 1024, MOST = 65536 };

typedef struct slot {
    PyObject *name;
    uint32_t site, text;
    ts_counter *counter;
    ts_site *frame;
} slot;

static slot slots[SLOTS];
static PyObject *places; // name -> site, of the first use

static slot *place_of(const PyObject *name)
{
    const uintptr_t at = (uintptr_t)name >> 4;
    return &slots[(at ^ at >> 10) % SLOTS];
}

uint32_t names_site_known(PyObject *name)
{
    const slot *const s = place_of(name);
    return s->name == name ? s->site : 0;
}

// The slot of a name, which is then its own.
static slot *slot_of(PyObject *name)
{
    slot *const s = place_of(name);
    if (s->name == name) return s;
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "a name must be a str, not %R",
                     Py_TYPE(name));
        return NULL;
    }
    PyObject *const old = s->name;
    Py_INCREF(name);
    *s = (slot){ .name = name };
    Py_XDECREF(old);
    return s;
}

/* ---- Sites --------------------------------------------------------------- */

static PyObject *attribute(PyObject *object, const char *name)
{
    PyObject *const value =
        object ? PyObject_GetAttrString(object, name) : NULL;
    if (!value) PyErr_Clear();
    return value;
}

static const char *text_or_null(PyObject *object)
{
    const char *const text = object && PyUnicode_Check(object)
                                 ? PyUnicode_AsUTF8AndSize(object, NULL)
                                 : NULL;
    if (!text) PyErr_Clear();
    return text;
}

// Defines a site at the line that runs.
static uint32_t site_here(const char *name)
{
    PyObject *const frame = (PyObject *)PyEval_GetFrame();
    PyObject *const code = attribute(frame, "f_code");
    PyObject *const file = attribute(code, "co_filename");
    PyObject *const function = attribute(code, "co_name");
    const ts_site base = {
        .function = text_or_null(function),
        .file = text_or_null(file),
        .line =
            frame ? (uint32_t)PyFrame_GetLineNumber((PyFrameObject *)frame) : 0,
    };
    const uint32_t site = ts_site_define(name, &base);
    Py_XDECREF(function);
    Py_XDECREF(file);
    Py_XDECREF(code);
    return site;
}

// The site of the text, defined if it is new. 0 with an exception: no memory.
static uint32_t site_find(PyObject *name)
{
    if (!places && !(places = PyDict_New())) return 0;
    PyObject *const known = PyDict_GetItemWithError(places, name);
    if (known) return (uint32_t)PyLong_AsUnsignedLong(known);
    const char *const text =
        PyErr_Occurred() ? NULL : PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text) return 0;
    // Names made at run time have no end, and no one place.
    if (PyDict_Size(places) >= MOST) return ts_site_define(text, NULL);
    const uint32_t site = site_here(text);
    PyObject *const number = PyLong_FromUnsignedLong(site);
    const bool kept = number && PyDict_SetItem(places, name, number) == 0;
    Py_XDECREF(number);
    return kept ? site : 0;
}

uint32_t names_site(PyObject *name)
{
    slot *const s = slot_of(name);
    if (!s) return 0;
    if (s->site) return s->site;
    const uint32_t site = site_find(name);
    slot *const now = slot_of(name); // what is above may have run other code
    if (now && !PyErr_Occurred()) now->site = site;
    return site;
}

/* ---- Counters and frames ------------------------------------------------- */

// What the recorder keeps the address of: a counter or a site, of each name
// once. make: NULL without memory.
static void *find_made(PyObject **all, PyObject *name,
                       void *(*make)(const char *text))
{
    if (!*all && !(*all = PyDict_New())) return NULL;
    PyObject *const known = PyDict_GetItemWithError(*all, name);
    if (known) return PyLong_AsVoidPtr(known);
    const char *const text =
        PyErr_Occurred() ? NULL : PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text) return NULL;
    void *const made = make(text);
    if (!made) return PyErr_NoMemory();
    PyObject *const number = PyLong_FromVoidPtr(made);
    const bool kept = number && PyDict_SetItem(*all, name, number) == 0;
    Py_XDECREF(number);
    return kept ? made : NULL;
}

static void *make_counter(const char *text)
{
    ts_counter *const made = calloc(1, sizeof *made);
    if (made) made->name = strdup(text);
    return made && made->name ? made : NULL;
}

static void *make_site(const char *text)
{
    ts_site *const made = calloc(1, sizeof *made);
    if (made) made->name = strdup(text);
    return made && made->name ? made : NULL;
}

ts_counter *names_counter(PyObject *name)
{
    static PyObject *counters;
    slot *const s = slot_of(name);
    if (!s) return NULL;
    if (!s->counter) s->counter = find_made(&counters, name, make_counter);
    return s->counter;
}

ts_site *names_frame(PyObject *name)
{
    static PyObject *frames;
    slot *const s = slot_of(name);
    if (!s) return NULL;
    if (!s->frame) s->frame = find_made(&frames, name, make_site);
    return s->frame;
}

/* ---- Texts --------------------------------------------------------------- */

uint32_t names_text(PyObject *name)
{
    if (!name || name == Py_None) return 0;
    slot *const s = slot_of(name);
    if (!s) return 0;
    if (s->text) return s->text;
    const char *const text = PyUnicode_AsUTF8AndSize(name, NULL);
    return text ? s->text = ts_name_define(text) : 0;
}

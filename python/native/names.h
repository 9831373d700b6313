/*
    names.h - numbers of names: sites, counters and texts, by the str object
*/
#ifndef TS_PYTHON_NAMES_H
#define TS_PYTHON_NAMES_H

#include "native.h"

// The site of a name, whose place in the source is where the name was used
// first. 0: the dictionary is full, or an exception is set.
uint32_t names_site(PyObject *name);
// The same if it is known by the address of the object; else 0.
uint32_t names_site_known(PyObject *name);
// The counter of a name; NULL: an exception is set.
ts_counter *names_counter(PyObject *name);
// The site of a frame's name, which lasts as long as the process; NULL: an
// exception is set.
ts_site *names_frame(PyObject *name);
// The number of a text; None: 0. An exception may be set.
uint32_t names_text(PyObject *name);

#endif // TS_PYTHON_NAMES_H

/*
    tools.c - tracesmith_tools.h: analysis, diff, SQL, export, import, ...

    Each function takes a dict of options, named as the fields of its desc, and
    returns what was written and the messages of the call.
*/
#include "native.h"
#include "query.h"

/* ---- Output and messages of a call --------------------------------------- */

typedef struct text {
    char *bytes;
    size_t size, room;
    bool failed;
} text;

static bool text_add(text *t, const void *bytes, size_t size)
{
    if (size > t->room - t->size) {
        const size_t room = 2 * (t->room + size);
        char *const more = realloc(t->bytes, room);
        t->failed |= !more;
        if (!more) return false;
        t->bytes = more;
        t->room = room;
    }
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
    return true;
}

static bool take_output(void *user, const void *bytes, size_t size)
{
    return text_add(user, bytes, size);
}

// Messages, each with its zero.
static void take_message(void *user, const char *message)
{
    text_add(user, message, strlen(message) + 1);
}

/* ---- Options ------------------------------------------------------------- */

typedef struct call {
    PyObject *options;
    Py_ssize_t used; // options that were asked for and are there
    bool failed;     // an exception is set
    PyObject *kept;  // what texts point into
    text output, messages;
    ts_error error;
} call;

static bool call_begin(call *c, PyObject *options)
{
    *c = (call){ .options = options, .kept = PyList_New(0) };
    if (!PyDict_Check(options))
        PyErr_SetString(PyExc_TypeError, "options must be a dict");
    c->failed = PyErr_Occurred() != NULL;
    return !c->failed;
}

static PyObject *option(call *c, const char *name)
{
    PyObject *const value = PyDict_GetItemString(c->options, name);
    if (value) c->used++;
    return value == Py_None ? NULL : value;
}

static const char *text_option(call *c, const char *name)
{
    PyObject *const value = option(c, name);
    const char *text = NULL;
    if (value && !c->failed) c->failed = !native_utf8(value, name, &text);
    return text;
}

static const char *path_option(call *c, const char *name)
{
    PyObject *const value = option(c, name);
    PyObject *const path = value && !c->failed ? native_path(value) : NULL;
    if (value && (!path || PyList_Append(c->kept, path) != 0)) c->failed = true;
    Py_XDECREF(path); // the list has it
    return path ? PyBytes_AsString(path) : NULL;
}

static int64_t number_option(call *c, const char *name, bool *has)
{
    PyObject *const value = option(c, name);
    if (has) *has = value != NULL;
    if (!value || c->failed) return 0;
    const long long number = PyLong_AsLongLong(value);
    if (PyErr_Occurred()) c->failed = true;
    return number;
}

static bool flag_option(call *c, const char *name)
{
    PyObject *const value = option(c, name);
    return value && PyObject_IsTrue(value) == 1;
}

static native_texts list_option(call *c, const char *name, bool paths)
{
    native_texts texts = { 0 };
    PyObject *const value = option(c, name);
    if (!c->failed && !native_texts_take(&texts, value, paths))
        c->failed = true;
    return texts;
}

static ts_selection selection_option(call *c)
{
    ts_selection s = { 0 };
    s.rank = text_option(c, "rank");
    s.step = text_option(c, "step");
    s.zone = text_option(c, "zone");
    s.device = text_option(c, "device");
    s.stream = text_option(c, "stream");
    s.kind = text_option(c, "kind");
    s.frame = text_option(c, "frame");
    s.process = text_option(c, "process");
    s.from_ns = number_option(c, "from_ns", &s.has_from);
    s.to_ns = number_option(c, "to_ns", &s.has_to);
    return s;
}

static ts_observer observer_of(call *c)
{
    const ts_observer o = { .user = &c->messages, .message = take_message };
    return o;
}

static ts_output output_of(call *c)
{
    const ts_output o = { .write = take_output, .user = &c->output };
    return o;
}

// Whether all options were understood. Call it when all have been taken.
static bool call_ready(call *c)
{
    if (!c->failed && c->used != PyDict_Size(c->options)) {
        c->failed = true;
        PyErr_Format(PyExc_TypeError, "not all of these are options: %R",
                     c->options);
    }
    return !c->failed;
}

/* ---- Results ------------------------------------------------------------- */

static PyObject *messages_of(const call *c)
{
    PyObject *const list = PyList_New(0);
    for (size_t at = 0; list && at < c->messages.size;) {
        const char *const message = c->messages.bytes + at;
        PyObject *const one =
            native_text((ts_text){ message, strlen(message) });
        if (!one || PyList_Append(list, one) != 0) PyErr_Clear();
        Py_XDECREF(one);
        at += strlen(message) + 1;
    }
    return list;
}

// (value, messages); takes `value`. On a failure of the call raises.
static PyObject *call_end(call *c, ts_result result, PyObject *value)
{
    PyObject *made = NULL;
    if (!c->failed && result != TS_OK)
        native_raise(result, *c->error.text ? c->error.text : NULL, NULL);
    else if (!c->failed && c->output.failed)
        PyErr_NoMemory();
    else if (!c->failed && value)
        made = Py_BuildValue("(ON)", value, messages_of(c));
    Py_XDECREF(value);
    Py_XDECREF(c->kept);
    free(c->output.bytes);
    free(c->messages.bytes);
    return made;
}

static PyObject *bytes_of(const call *c)
{
    return PyBytes_FromStringAndSize(c->output.bytes,
                                     (Py_ssize_t)c->output.size);
}

static ts_report_format format_option(call *c)
{
    static const char *const names[] = { "text", "json", "html", "markdown",
                                         "junit" };
    const char *const name = text_option(c, "format");
    if (!name) return TS_REPORT_JSON;
    for (uint32_t i = 0; i < 5; i++)
        if (!strcmp(names[i], name)) return (ts_report_format)i;
    if (!c->failed)
        PyErr_Format(PyExc_ValueError,
                     "format '%s': it is text, json, html, markdown or junit",
                     name);
    c->failed = true;
    return TS_REPORT_JSON;
}

/* ---- Analysis ------------------------------------------------------------ */

static PyObject *analyze(PyObject *module, PyObject *options)
{
    call c;
    ts_result result = TS_OK;
    (void)module;
    call_begin(&c, options);
    native_texts paths = list_option(&c, "paths", true);
    native_texts settings = list_option(&c, "settings", false);
    native_texts flops = list_option(&c, "flops", false);
    const ts_selection selection = selection_option(&c);
    const ts_report_format format = format_option(&c);
    const ts_analysis_desc desc = {
        .paths = paths.items,
        .path_count = paths.count,
        .selection = &selection,
        .only = text_option(&c, "only"),
        .top = number_option(&c, "top", NULL),
        .rows = number_option(&c, "rows", NULL),
        .sort = text_option(&c, "sort"),
        .collapse = flag_option(&c, "collapse"),
        .mangled = flag_option(&c, "mangled"),
        .no_symbols = flag_option(&c, "no_symbols"),
        .settings = settings.items,
        .setting_count = settings.count,
        .flops = flops.items,
        .flops_count = flops.count,
        .observer = observer_of(&c),
    };
    const ts_output output = output_of(&c);
    ts_analysis *analysis;
    if (call_ready(&c)) {
        Py_BEGIN_ALLOW_THREADS result =
            ts_analysis_open(&analysis, &desc, &c.error);
        if (result == TS_OK)
            result = ts_analysis_write(analysis, format, &output, &c.error);
        ts_analysis_close(analysis);
        Py_END_ALLOW_THREADS
    }
    native_texts_free(&paths);
    native_texts_free(&settings);
    native_texts_free(&flops);
    return call_end(&c, result, c.failed ? NULL : bytes_of(&c));
}

static PyObject *topics(PyObject *module, PyObject *unused)
{
    call c = { .kept = NULL };
    const ts_output output = output_of(&c);
    (void)module, (void)unused;
    const ts_result result = ts_analysis_topics_write(&output, &c.error);
    return call_end(&c, result, bytes_of(&c));
}

/* ---- Diff ---------------------------------------------------------------- */

static PyObject *diff(PyObject *module, PyObject *options)
{
    static const char *const verdicts[] = { "passed", "failed", "blind" };
    call c;
    ts_result result = TS_OK;
    ts_diff_verdict verdict = TS_DIFF_PASSED;
    (void)module;
    call_begin(&c, options);
    native_texts a = list_option(&c, "a", true), b = list_option(&c, "b", true);
    native_texts gates = list_option(&c, "gates", false);
    const ts_selection selection = selection_option(&c);
    const ts_report_format format = format_option(&c);
    const ts_diff_desc desc = {
        .a_paths = a.items,
        .a_count = a.count,
        .b_paths = b.items,
        .b_count = b.count,
        .selection = &selection,
        .gates = gates.items,
        .gate_count = gates.count,
        .gate_untested = flag_option(&c, "gate_untested"),
        .alpha = text_option(&c, "alpha"),
        .top = number_option(&c, "top", NULL),
        .rows = number_option(&c, "rows", NULL),
        .collapse = flag_option(&c, "collapse"),
        .mangled = flag_option(&c, "mangled"),
        .no_symbols = flag_option(&c, "no_symbols"),
        .observer = observer_of(&c),
    };
    const ts_output output = output_of(&c);
    ts_diff *made;
    if (call_ready(&c)) {
        Py_BEGIN_ALLOW_THREADS result = ts_diff_open(&made, &desc, &c.error);
        if (result == TS_OK) {
            verdict = ts_diff_verdict_of(made);
            result = ts_diff_write(made, format, &output, &c.error);
        }
        ts_diff_close(made);
        Py_END_ALLOW_THREADS
    }
    native_texts_free(&a);
    native_texts_free(&b);
    native_texts_free(&gates);
    return call_end(
        &c, result,
        c.failed ? NULL
                 : Py_BuildValue("(Ns)", bytes_of(&c), verdicts[verdict]));
}

/* ---- Export, import, cut, merge ------------------------------------------ */

static PyObject *export_counts(const ts_export_counts *e)
{
    return Py_BuildValue(
        "{ss sK sK sK sK sK sK sK sK sK sK sK}", "format",
        e->format ? e->format : "", "bytes", (unsigned long long)e->bytes,
        "slices", (unsigned long long)e->slices, "instants",
        (unsigned long long)e->instants, "samples",
        (unsigned long long)e->samples, "stack_samples",
        (unsigned long long)e->stack_samples, "arrows",
        (unsigned long long)e->arrows, "lanes", (unsigned long long)e->lanes,
        "operations", (unsigned long long)e->operations, "calls",
        (unsigned long long)e->calls, "nodes", (unsigned long long)e->nodes,
        "edges", (unsigned long long)e->edges);
}

static PyObject *export_file(PyObject *module, PyObject *options)
{
    call c;
    ts_result result = TS_OK;
    ts_export_counts counts = { 0 };
    (void)module;
    call_begin(&c, options);
    const ts_selection selection = selection_option(&c);
    const char *const path = path_option(&c, "output");
    const ts_output memory = output_of(&c), file = { .path = path };
    const ts_export_desc desc = {
        .path = path_option(&c, "path"),
        .output = path ? file : memory,
        .format = text_option(&c, "format"),
        .selection = &selection,
        .no_args = flag_option(&c, "no_args"),
        .no_flows = flag_option(&c, "no_flows"),
        .no_compress = flag_option(&c, "no_compress"),
        .no_symbols = flag_option(&c, "no_symbols"),
        .collapse = flag_option(&c, "collapse"),
        .nodes = (uint64_t)number_option(&c, "nodes", NULL),
        .limit = (uint64_t)number_option(&c, "limit", NULL),
        .no_limit = flag_option(&c, "no_limit"),
        .observer = observer_of(&c),
    };
    if (call_ready(&c)) {
        Py_BEGIN_ALLOW_THREADS result =
            ts_export_file(&counts, &desc, &c.error);
        Py_END_ALLOW_THREADS
    }
    return call_end(
        &c, result,
        c.failed ? NULL
                 : Py_BuildValue("(NN)", bytes_of(&c), export_counts(&counts)));
}

// What was written, as JSON.
static PyObject *import_files(PyObject *module, PyObject *options)
{
    call c;
    ts_result result = TS_OK;
    (void)module;
    call_begin(&c, options);
    native_texts paths = list_option(&c, "paths", true);
    const ts_import_desc desc = {
        .paths = paths.items,
        .path_count = paths.count,
        .output = path_option(&c, "output"),
        .format = text_option(&c, "format"),
        .rank = text_option(&c, "rank"),
        .observer = observer_of(&c),
    };
    const ts_output output = output_of(&c);
    ts_import *imported;
    if (call_ready(&c)) {
        Py_BEGIN_ALLOW_THREADS result =
            ts_import_files(&imported, &desc, &c.error);
        if (result == TS_OK)
            result =
                ts_import_write(imported, TS_REPORT_JSON, &output, &c.error);
        ts_import_close(imported);
        Py_END_ALLOW_THREADS
    }
    native_texts_free(&paths);
    return call_end(&c, result, c.failed ? NULL : bytes_of(&c));
}

static PyObject *cut(PyObject *module, PyObject *options)
{
    call c;
    ts_result result = TS_OK;
    ts_cut_counts counts = { 0 };
    (void)module;
    call_begin(&c, options);
    const ts_selection selection = selection_option(&c);
    const ts_cut_desc desc = {
        .path = path_option(&c, "path"),
        .output = path_option(&c, "output"),
        .selection = &selection,
        .name = text_option(&c, "name"),
        .anonymise = flag_option(&c, "anonymise"),
        .observer = observer_of(&c),
    };
    if (call_ready(&c)) {
        Py_BEGIN_ALLOW_THREADS result = ts_cut_file(&counts, &desc, &c.error);
        Py_END_ALLOW_THREADS
    }
    return call_end(
        &c, result,
        c.failed
            ? NULL
            : Py_BuildValue("{sK sK sK sK sK}", "kept",
                            (unsigned long long)counts.kept, "left_out",
                            (unsigned long long)counts.left_out, "added",
                            (unsigned long long)counts.added, "undefined",
                            (unsigned long long)counts.undefined, "replaced",
                            (unsigned long long)counts.replaced));
}

static PyObject *merge(PyObject *module, PyObject *options)
{
    call c;
    ts_result result = TS_OK;
    (void)module;
    call_begin(&c, options);
    native_texts paths = list_option(&c, "paths", true);
    native_texts offsets = list_option(&c, "offsets", false);
    const ts_merge_desc desc = {
        .paths = paths.items,
        .path_count = paths.count,
        .output = path_option(&c, "output"),
        .offsets = offsets.items,
        .offset_count = offsets.count,
        .shared_flows = flag_option(&c, "shared_flows"),
        .observer = observer_of(&c),
    };
    const ts_output output = output_of(&c);
    ts_merge *merged;
    if (call_ready(&c)) {
        Py_BEGIN_ALLOW_THREADS result =
            ts_merge_files(&merged, &desc, &c.error);
        if (result == TS_OK)
            result = ts_merge_write(merged, TS_REPORT_JSON, &output, &c.error);
        ts_merge_close(merged);
        Py_END_ALLOW_THREADS
    }
    native_texts_free(&paths);
    native_texts_free(&offsets);
    return call_end(&c, result, c.failed ? NULL : bytes_of(&c));
}

// A page that shows a trace, as bytes or as a file.
static PyObject *page(PyObject *module, PyObject *options)
{
    call c;
    ts_result result = TS_OK;
    (void)module;
    call_begin(&c, options);
    const char *const path = path_option(&c, "output");
    const ts_output memory = output_of(&c), file = { .path = path };
    const ts_output *const output = path ? &file : &memory;
    const ts_page_desc desc = { .path = path_option(&c, "path"),
                                .no_report = flag_option(&c, "no_report"),
                                .observer = observer_of(&c) };
    if (call_ready(&c)) {
        Py_BEGIN_ALLOW_THREADS result = ts_page_write(&desc, output, &c.error);
        Py_END_ALLOW_THREADS
    }
    return call_end(&c, result, c.failed ? NULL : bytes_of(&c));
}

/* ---- SQL ----------------------------------------------------------------- */

static ts_result run_query(const ts_sql_desc *desc, const char *text,
                           query_rows *rows, ts_error *error)
{
    const ts_sql_rows to = query_rows_to(rows);
    ts_sql *sql;
    ts_result result = ts_sql_open(&sql, desc, error);
    if (result == TS_OK)
        result = ts_sql_read(sql, text, "the query", &to, error);
    ts_sql_close(sql);
    return query_rows_failed(rows) ? TS_ERR_MEMORY : result;
}

static PyObject *query(PyObject *module, PyObject *options)
{
    call c;
    ts_result result = TS_OK;
    (void)module;
    call_begin(&c, options);
    native_texts paths = list_option(&c, "paths", true);
    native_texts settings = list_option(&c, "settings", false);
    const ts_selection selection = selection_option(&c);
    const char *const text = text_option(&c, "sql");
    const ts_sql_desc desc = {
        .paths = paths.items,
        .path_count = paths.count,
        .selection = &selection,
        .settings = settings.items,
        .setting_count = settings.count,
        .no_symbols = flag_option(&c, "no_symbols"),
        .observer = observer_of(&c),
    };
    query_rows *const rows = call_ready(&c) ? query_rows_new() : NULL;
    c.failed |= !rows;
    if (rows) {
        Py_BEGIN_ALLOW_THREADS result =
            run_query(&desc, text ? text : "", rows, &c.error);
        Py_END_ALLOW_THREADS
    }
    PyObject *const columns =
        rows && result == TS_OK ? query_rows_columns(rows) : NULL;
    query_rows_free(rows);
    native_texts_free(&paths);
    native_texts_free(&settings);
    return call_end(&c, result, columns);
}

/* ---- Module -------------------------------------------------------------- */

static PyMethodDef functions[] = {
    { "analyze", analyze, METH_O, "A report, as bytes." },
    { "topics", topics, METH_NOARGS, "The topics of reports." },
    { "diff", diff, METH_O, "A comparison, as bytes, and its verdict." },
    { "export_file", export_file, METH_O, "Bytes or a file, and counts." },
    { "import_files", import_files, METH_O, "What was imported, as JSON." },
    { "cut", cut, METH_O, "Counts of what was kept." },
    { "page", page, METH_O, "A page, as bytes or a file." },
    { "merge", merge, METH_O, "Where the files lie, as JSON." },
    { "query", query, METH_O, "Rows, as columns." },
    { NULL, NULL, 0, NULL },
};

bool tools_add(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}

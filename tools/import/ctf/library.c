/*
    library.c - babeltrace2 reads a folder of CTF, in a child

    Its source of CTF, then its muxer, which orders the events of all streams,
    then a sink that writes records for the parent.
*/
#include "tools/import/ctf/ctf.h"

#ifdef TRACESMITH_BABELTRACE
#include <dirent.h>
#include <sys/stat.h>

void ctf_send(ctf_child *c, ctf_record *r, const char *name, const char *place)
{
    r->name_size = name ? (uint32_t)strlen(name) : 0;
    r->place_size = place ? (uint32_t)strlen(place) : 0;
    r->text_size = (uint32_t)c->size;
    fwrite(r, sizeof *r, 1, c->out);
    if (name) fwrite(name, 1, r->name_size, c->out);
    if (place) fwrite(place, 1, r->place_size, c->out);
    fwrite(c->text, 1, r->text_size, c->out);
}

/* ---- The graph ----------------------------------------------------------- */

static bt_graph_simple_sink_component_consume_func_status
consume(bt_message_iterator *from, void *user)
{
    ctf_child *const c = user;
    bt_message_array_const messages;
    uint64_t count;
    const int status = (int)bt_message_iterator_next(from, &messages, &count);
    if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
        return (bt_graph_simple_sink_component_consume_func_status)status;
    for (uint64_t i = 0; i < count; i++) {
        ctf_take(c, messages[i]);
        bt_message_put_ref(messages[i]);
    }
    // Before the library may abort over what follows.
    if (fflush(c->out))
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
    return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

// Only of the system's folder: nothing that the environment names is loaded.
static const bt_plugin *find_plugin(const char *name)
{
    const bt_plugin *plugin = NULL;
    if (bt_plugin_find(name, BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE,
                       &plugin) != BT_PLUGIN_FIND_STATUS_OK)
        return NULL;
    return plugin;
}

static const bt_component_source *add_source(bt_graph *graph,
                                             const char *folder)
{
    const bt_plugin *const plugin = find_plugin("ctf");
    const bt_component_source *source = NULL;
    bt_value *const params = bt_value_map_create();
    bt_value *inputs = NULL;
    if (plugin && params &&
        !bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) &&
        !bt_value_array_append_string_element(inputs, folder) &&
        bt_graph_add_source_component(
            graph,
            bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs"),
            "source", params, BT_LOGGING_LEVEL_NONE, &source))
        source = NULL;
    bt_value_put_ref(params);
    bt_plugin_put_ref(plugin);
    return source;
}

static const bt_component_filter *add_muxer(bt_graph *graph)
{
    const bt_plugin *const plugin = find_plugin("utils");
    const bt_component_filter *muxer = NULL;
    if (plugin && bt_graph_add_filter_component(
                      graph,
                      bt_plugin_borrow_filter_component_class_by_name_const(
                          plugin, "muxer"),
                      "muxer", NULL, BT_LOGGING_LEVEL_NONE, &muxer))
        muxer = NULL;
    bt_plugin_put_ref(plugin);
    return muxer;
}

// A stream for each port of the source; the muxer has always another one.
static bool connect(bt_graph *graph, const bt_component_source *source,
                    const bt_component_filter *muxer,
                    const bt_component_sink *sink)
{
    const uint64_t count = bt_component_source_get_output_port_count(source);
    for (uint64_t i = 0; i < count; i++)
        if (bt_graph_connect_ports(
                graph,
                bt_component_source_borrow_output_port_by_index_const(source,
                                                                      i),
                bt_component_filter_borrow_input_port_by_index_const(muxer, i),
                NULL))
            return false;
    return !bt_graph_connect_ports(
        graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
        bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL);
}

// Returns the bytes of a folder's files.
static uint64_t size_of(const char *path)
{
    uint64_t size = 0;
    DIR *const folder = opendir(path);
    struct stat file;
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (!fstatat(dirfd(folder), e->d_name, &file, 0) &&
            S_ISREG(file.st_mode))
            size += (uint64_t)file.st_size;
    if (folder) closedir(folder);
    return size;
}

// Reads the folder; false if the library fails, with its error set, or if it
// gives events for ever, as those of a class without a field have no bits.
static bool run(ctf_child *c, const char *folder)
{
    bt_graph *const graph = bt_graph_create(0);
    const bt_component_sink *sink = NULL;
    const bt_component_source *const source =
        graph ? add_source(graph, folder) : NULL;
    const bt_component_filter *const muxer = source ? add_muxer(graph) : NULL;
    bool good = muxer &&
                !bt_graph_add_simple_sink_component(graph, "sink", NULL,
                                                    consume, NULL, c, &sink) &&
                connect(graph, source, muxer, sink);
    int status = BT_GRAPH_RUN_ONCE_STATUS_OK;
    while (good && status == BT_GRAPH_RUN_ONCE_STATUS_OK &&
           c->events <= c->most_events)
        status = (int)bt_graph_run_once(graph);
    good = good && status == BT_GRAPH_RUN_ONCE_STATUS_END;
    bt_graph_put_ref(graph);
    return good;
}

/* ---- Errors -------------------------------------------------------------- */

// Sends the innermost cause, without odd bytes.
static void send_error(ctf_child *c)
{
    const bt_error *const error = bt_current_thread_take_error();
    ctf_record r = { .kind = CTF_ERROR };
    c->size = 0;
    if (c->events > c->most_events)
        c->size = (size_t)snprintf(c->text, 200, "endless");
    else if (error && bt_error_get_cause_count(error))
        c->size =
            (size_t)snprintf(c->text, 200, "%s",
                             bt_error_cause_get_message(
                                 bt_error_borrow_cause_by_index(error, 0)));
    if (c->size > 199) c->size = 199;
    for (size_t i = 0; i < c->size; i++)
        if (c->text[i] < ' ' || c->text[i] > '~') c->text[i] = ' ';
    ctf_send(c, &r, NULL, NULL);
}

void ctf_read_folder(FILE *out, void *folder)
{
    static ctf_child child; // of which there is one in a process
    child.out = out;
    child.most_events = 8 * size_of(folder);
    if (!run(&child, folder)) send_error(&child);
}

#else
typedef int ctf_library_needs_babeltrace; // a file of C has a declaration
#endif

/*
    protocol.c - JSON-RPC and the methods of the protocol
*/
#include "tools/mcp/protocol.h"
#include "tools/mcp/methods.h"
#include <stdarg.h>

/* ---- Errors -------------------------------------------------------------- */

bool mcp_refuse(mcp_request *request, int code, const char *format, ...)
{
    va_list arguments;
    request->code = code;
    va_start(arguments, format);
    vsnprintf(request->why, sizeof request->why, format, arguments);
    va_end(arguments);
    return false;
}

static void open_response(cli_json *json, FILE *out, const mcp_value *id)
{
    *json = (cli_json){ .out = out };
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "jsonrpc", "2.0");
    if (id)
        mcp_json_put(json, "id", id, NULL);
    else
        cli_json_null(json, "id");
}

static void put_error(FILE *out, const mcp_value *id,
                      const mcp_request *request)
{
    cli_json json;
    open_response(&json, out, id);
    cli_json_open(&json, "error", '{');
    cli_json_int(&json, "code", request->code);
    cli_json_string(&json, "message", request->why);
    if (request->code == MCP_UNSUPPORTED_VERSION) {
        cli_json_open(&json, "data", '{');
        mcp_put_versions(&json, "supported");
        cli_json_string(&json, "requested", request->version);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, '}');
    cli_json_close(&json, '}');
}

/* ---- One request --------------------------------------------------------- */

static const char version_key[] = "io.modelcontextprotocol/protocolVersion";
static const char client_key[] = "io.modelcontextprotocol/clientCapabilities";

// Finds out which revision a request speaks: it says so itself, or the client
// has initialised.
static bool take_revision(mcp_request *request)
{
    const mcp_value *const meta = mcp_at(request->params, "_meta");
    request->version = mcp_string_at(meta, version_key);
    request->revision = request->server->revision;
    if (!request->version && !strcmp(request->method, "server/discover"))
        return mcp_refuse(request, MCP_BAD_PARAMS,
                          "params._meta needs %s and %s", version_key,
                          client_key);
    if (!request->version) return true;
    if (strcmp(request->version, mcp_version(MCP_2026_07)) != 0)
        return mcp_refuse(request, MCP_UNSUPPORTED_VERSION,
                          "version %.40s of the protocol is not spoken "
                          "without initialize",
                          request->version);
    if (!mcp_is(mcp_at(meta, client_key), MCP_OBJECT))
        return mcp_refuse(request, MCP_BAD_PARAMS, "params._meta needs %s",
                          client_key);
    request->revision = MCP_2026_07;
    return true;
}

static bool run(mcp_request *request)
{
    const mcp_value *const params = request->params;
    if (params && params->type != MCP_OBJECT)
        return mcp_refuse(request, MCP_BAD_PARAMS,
                          "params: it must be an object");
    const mcp_method *const method =
        take_revision(request) ? mcp_method_find(request) : NULL;
    return method && method->answer(request);
}

// Runs a request and writes its response, unless it was cancelled.
static void answer_request(mcp_server *server, const mcp_value *message,
                           const mcp_value *id, const atomic_bool *cancelled,
                           FILE *out)
{
    char *result = NULL;
    size_t size = 0;
    FILE *const memory = open_memstream(&result, &size);
    mcp_request request = { .server = server,
                            .method = mcp_string_at(message, "method"),
                            .params = mcp_at(message, "params"),
                            .cancelled = cancelled };
    bool done = false;
    if (memory) {
        request.json = (cli_json){ .out = memory, .depth = 1 };
        cli_json_open(&request.json, NULL, '{');
        done = run(&request);
        if (done) mcp_put_identity(&request);
        cli_json_close(&request.json, '}');
        done = !fclose(memory) && done;
    }
    if (!done && !request.code)
        mcp_refuse(&request, MCP_INTERNAL, "not enough memory");
    if (!atomic_load(cancelled) && done) {
        cli_json json;
        open_response(&json, out, id);
        cli_json_raw(&json, "result", result, size);
        cli_json_close(&json, '}');
    } else if (!atomic_load(cancelled)) {
        put_error(out, id, &request);
    }
    free(result);
}

static void refuse_message(FILE *out, const mcp_value *id, const char *why)
{
    mcp_request request = { .server = NULL };
    mcp_refuse(&request, MCP_BAD_REQUEST, "%s", why);
    put_error(out, id, &request);
}

// What a request and a notification must have. NULL: nothing is wrong.
static const char *check_message(const mcp_value *message, const mcp_value *id)
{
    if (message->type != MCP_OBJECT)
        return "a message is an object with jsonrpc, method, id and params";
    if (!mcp_equals(mcp_at(message, "jsonrpc"), "2.0"))
        return "jsonrpc: it must be \"2.0\"";
    if (!mcp_string_at(message, "method")) return "method: it must be a string";
    if (id && id->type != MCP_STRING && id->type != MCP_NUMBER)
        return "id: it must be a string or a number";
    return NULL;
}

static bool is_response(const mcp_value *message)
{
    return !mcp_at(message, "method") &&
           (mcp_at(message, "result") || mcp_at(message, "error"));
}

static void answer_one(mcp_server *server, const mcp_value *message,
                       const atomic_bool *cancelled, FILE *out)
{
    const mcp_value *const id = mcp_at(message, "id");
    if (is_response(message)) return; // nothing was asked
    const char *const wrong = check_message(message, id);
    const bool has_id = mcp_is(id, MCP_STRING) || mcp_is(id, MCP_NUMBER);
    if (wrong)
        refuse_message(out, has_id ? id : NULL, wrong);
    else if (id)
        answer_request(server, message, id, cancelled, out);
    // A notification asks for nothing; cancellations have been seen already.
}

/* ---- Messages ------------------------------------------------------------ */

static void send_text(mcp_server *server, char *text, size_t size)
{
    if (size && text[size - 1] == '\n') size--;
    pthread_mutex_lock(&server->sending);
    if (size) server->send(server->user, text, size);
    pthread_mutex_unlock(&server->sending);
    free(text);
}

static bool batches(const mcp_server *server)
{
    return server->revision == MCP_2024_11 || server->revision == MCP_2025_03;
}

// Responses of a batch are one array; there is none if all are notifications.
static void answer_batch(mcp_server *server, const mcp_message *message,
                         FILE *out)
{
    size_t at = 0, shown = 0;
    for (const mcp_value *v = message->json.root->first; v; v = v->next) {
        char *text = NULL;
        size_t size = 0;
        FILE *const one = open_memstream(&text, &size);
        if (!one) break;
        answer_one(server, v, &message->cancelled[at++], one);
        fclose(one);
        if (size)
            fprintf(out, "%s%.*s", shown++ ? "," : "[", (int)size - 1, text);
        free(text);
    }
    if (shown) fputs("]\n", out);
}

void mcp_message_answer(mcp_server *server, const mcp_message *message)
{
    char *text = NULL;
    size_t size = 0;
    const mcp_value *const root = message->json.root;
    FILE *const out = open_memstream(&text, &size);
    if (!out) return;
    if (!root) {
        mcp_request request = { .server = server };
        mcp_refuse(&request, MCP_BAD_JSON,
                   "the line is no JSON: %s; send one message a line",
                   message->json.why);
        put_error(out, NULL, &request);
    } else if (root->type != MCP_ARRAY) {
        answer_one(server, root, message->cancelled, out);
    } else if (!root->count) {
        refuse_message(out, NULL, "a batch of no messages");
    } else if (!batches(server)) {
        refuse_message(out, NULL,
                       "batches are of the revisions before 2025-06-18; send "
                       "one message a line");
    } else {
        answer_batch(server, message, out);
    }
    fclose(out);
    send_text(server, text, size);
}

mcp_message *mcp_message_read(const char *line, size_t size)
{
    mcp_message *const m = calloc(1, sizeof *m);
    if (!m) return NULL;
    mcp_json_read(&m->json, line, size);
    const mcp_value *const root = m->json.root;
    const size_t count = mcp_is(root, MCP_ARRAY) ? root->count : 1;
    m->cancelled = calloc(count + 1, sizeof *m->cancelled);
    if (m->cancelled) return m;
    mcp_message_close(m);
    return NULL;
}

void mcp_message_close(mcp_message *message)
{
    if (!message) return;
    mcp_json_close(&message->json);
    free(message->cancelled);
    free(message);
}

static bool is_id(const mcp_value *a, const mcp_value *b)
{
    return a && b && a->type == b->type && a->text.size == b->text.size &&
           (a->type == MCP_STRING || a->type == MCP_NUMBER) &&
           !memcmp(a->text.text, b->text.text, a->text.size);
}

bool mcp_message_cancel(mcp_message *message, const mcp_value *id)
{
    const mcp_value *const root = message->json.root;
    if (!root) return false;
    const bool batch = root->type == MCP_ARRAY;
    size_t at = 0;
    for (const mcp_value *v = batch ? root->first : root; v;
         v = batch ? v->next : NULL, at++) {
        if (!is_id(mcp_at(v, "id"), id) ||
            mcp_message_is(v, "initialize")) // the client must not cancel it
            continue;
        atomic_store(&message->cancelled[at], true);
        return true;
    }
    return false;
}

bool mcp_message_is(const mcp_value *message, const char *method)
{
    return mcp_equals(mcp_at(message, "jsonrpc"), "2.0") &&
           mcp_equals(mcp_at(message, "method"), method);
}

void mcp_pong(mcp_server *server, const mcp_value *id)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    cli_json json;
    if (!out) return;
    open_response(&json, out, id);
    cli_json_open(&json, "result", '{');
    cli_json_close(&json, '}');
    cli_json_close(&json, '}');
    fclose(out);
    send_text(server, text, size);
}

void mcp_too_long(mcp_server *server)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    mcp_request request = { .server = server };
    if (!out) return;
    mcp_refuse(&request, MCP_BAD_JSON,
               "the line has more than %s; send shorter messages",
               cli_bytes(MCP_LINE_MOST).s);
    put_error(out, NULL, &request);
    fclose(out);
    send_text(server, text, size);
}

void mcp_take_line(mcp_server *server, const char *line, size_t size)
{
    mcp_message *const message = mcp_message_read(line, size);
    if (message) mcp_message_answer(server, message);
    mcp_message_close(message);
}

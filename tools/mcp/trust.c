/*
    trust.c - how far an answer can be trusted, and what the traces lack
*/
#include "tools/mcp/call.h"

static const char incomplete[] = "the record is not complete";
enum { REASONS_MOST = 4, LOSSES_MOST = 4, SENTENCE = 320 };

// What the files of the set lack, in numbers.
typedef struct lacks {
    uint64_t lost, damaged, parts; // parts: files that are a part of a trace
    bool unfinished, estimated;
} lacks;

static void count_file(lacks *all, const ts_reader *reader)
{
    const ts_info *const info = ts_reader_info(reader);
    ts_metadata m;
    all->lost += info->lost;
    all->damaged += ts_reader_damage_count(reader);
    all->parts += ts_reader_metadata(reader, 0, "cut.what", &m);
    all->unfinished |= !info->finished;
    all->estimated |= info->clock_estimated;
}

static lacks count_lacks(const mcp_call *call)
{
    lacks all = { 0 };
    const mcp_set *const sets[] = { call->set, call->also };
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; sets[s] && i < sets[s]->count; i++)
            count_file(&all, call->models->files[sets[s]->files[i]].reader);
    return all;
}

// The sentences of one list, of which only some are shown.
typedef struct sentences {
    mcp_call *call;
    cli_json *json;
    uint32_t shown, most;
    uint64_t left_out;
} sentences;

static void say(sentences *s, ts_text text)
{
    if (s->shown++ < s->most)
        mcp_put(s->call, s->json, NULL, text, SENTENCE);
    else
        s->left_out++;
}

static void say_string(sentences *s, const char *text)
{
    say(s, (ts_text){ text, strlen(text) });
}

static uint64_t put_because(mcp_call *call, const lacks *lack,
                            const char *const *because)
{
    cli_json *const json = &call->answer.json;
    sentences s = { .call = call, .json = json, .most = REASONS_MOST };
    cli_json_open(json, "because", '[');
    if (lack->lost || lack->damaged || lack->unfinished)
        say_string(&s, incomplete);
    if (lack->parts)
        say_string(&s, "the trace is a part of a longer one; time before and "
                       "after it is not included");
    for (; *because; because++)
        say_string(&s, *because);
    cli_json_close(json, ']');
    return s.left_out;
}

static void say_losses(sentences *s, mcp_set *set, ts_error *error)
{
    ts_text loss;
    if (!set || !mcp_need_brief(set, error)) return;
    for (size_t i = 0; ts_analysis_loss_at(set->brief, i, &loss, error); i++)
        say(s, loss);
}

static uint64_t put_losses(mcp_call *call, ts_error *error)
{
    cli_json *const json = &call->answer.json;
    sentences s = { .call = call, .json = json, .most = LOSSES_MOST };
    cli_json_open(json, "losses", '[');
    say_losses(&s, call->set, error);
    if (error->result == TS_OK) say_losses(&s, call->also, error);
    cli_json_close(json, ']');
    return s.left_out;
}

bool mcp_put_trust(mcp_call *call, ts_confidence confidence,
                   const char *const *because)
{
    cli_json *const json = &call->answer.json;
    const lacks lack = count_lacks(call);
    if (confidence == TS_CONFIDENCE_HIGH &&
        (lack.lost || lack.damaged || lack.unfinished || lack.parts ||
         lack.estimated))
        confidence = TS_CONFIDENCE_MEDIUM;
    cli_json_open(json, "trust", '{');
    mcp_put_confidence(json, "confidence", confidence);
    uint64_t left_out = put_because(call, &lack, because);
    left_out += put_losses(call, &call->error);
    cli_json_uint(json, "left_out", left_out);
    cli_json_uint(json, "lost_records", lack.lost);
    cli_json_uint(json, "damaged_places", lack.damaged);
    cli_json_bool(json, "unfinished", lack.unfinished);
    cli_json_close(json, '}');
    return call->error.result == TS_OK;
}

/* ---- Of a topic ---------------------------------------------------------- */

static bool find_topic(mcp_call *call, const char *topic, size_t *index,
                       ts_analysis_answer *answer)
{
    ts_analysis *const analysis = call->set->full;
    for (*index = 0;
         ts_analysis_answer_at(analysis, *index, answer, &call->error);
         ++*index)
        if (!strcmp(answer->topic, topic)) return true;
    return false;
}

bool mcp_put_topic_trust(mcp_call *call, const char *topic)
{
    const char *because[9] = { NULL };
    ts_analysis_answer answer = { .has_confidence = false };
    ts_error error;
    size_t at, count = 0;
    if (!mcp_need_full(call->set, &call->error)) return false;
    const bool found = find_topic(call, topic, &at, &answer);
    if (call->error.result != TS_OK) return false;
    ts_text reason;
    for (size_t i = 0;
         found && count < 8 &&
         ts_analysis_because_at(call->set->full, at, i, &reason, &error);
         i++)
        if (strcmp(reason.text, incomplete) != 0)
            because[count++] = reason.text;
    return mcp_put_trust(
        call, answer.has_confidence ? answer.confidence : TS_CONFIDENCE_MEDIUM,
        because);
}

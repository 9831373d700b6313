/*
    names.c - selection by regular expressions over labels
*/
#include "tools/cut/cut.h"

// What determines the label of an event of a kind.
typedef enum label_of {
    BY_SITE,
    BY_LAUNCH,
    BY_NAME,
    BY_TRACK,
    BY_KIND
} label_of;

static label_of by_what(ts_event_kind kind)
{
    switch (kind) {
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN:
    case TS_EVENT_ZONE_ARG: // kept with its zone
    case TS_EVENT_MARK:
    case TS_EVENT_FRAME:
    case TS_EVENT_SPAN: return BY_SITE;
    case TS_EVENT_KERNEL: return BY_LAUNCH;
    case TS_EVENT_API_CALL:
    case TS_EVENT_SAMPLE:
    case TS_EVENT_HOST_FUNCTION:
    case TS_EVENT_COLLECTIVE: return BY_NAME;
    case TS_EVENT_COUNTER: return BY_TRACK;
    default: return BY_KIND;
    }
}

static uint32_t number_of(const cut_row *row, label_of of)
{
    switch (of) {
    case BY_SITE: return (uint32_t)cut_value(row, TS_COLUMN_SITE);
    case BY_LAUNCH: return (uint32_t)cut_value(row, TS_COLUMN_LAUNCH);
    case BY_NAME: return (uint32_t)cut_value(row, TS_COLUMN_NAME);
    case BY_TRACK: return row->track;
    default: return (uint32_t)row->columns->kind;
    }
}

bool cut_has_name(cut_choice *choice, const cut_row *row)
{
    const ts_event_kind kind = row->columns->kind;
    const label_of of = by_what(kind);
    const uint32_t number = number_of(row, of);
    cut_memo *const memo = &choice->names[of];
    bool yes;
    // An event without a number is labelled by its kind.
    if (number && cut_memo_get(memo, number, &yes)) return yes;
    const ts_event event = { .kind = kind == TS_EVENT_ZONE_ARG ? TS_EVENT_ZONE
                                                               : kind,
                             .track = row->track,
                             .columns = row->columns,
                             .row = row->row };
    yes = cli_regex_matches(choice->options->name,
                            ts_event_label(choice->reader, &event));
    if (number) cut_memo_put(memo, number, yes);
    return yes;
}

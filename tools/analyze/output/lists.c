/*
    lists.c - lists of the topics, the rules of advice, and their thresholds
*/
#include "tools/analyze/advice/advice.h"
#include "tools/analyze/output/output.h"

static cli_text setting_value(const analyze_setting *s)
{
    return report_words(analyze_setting_value(s, s->value));
}

void analyze_list_topics(void)
{
    for (const analyze_topic *const *q = analyze_topics; *q; q++) {
        cli_print("%-10s  %s\n", (*q)->name, (*q)->help);
        const bool many = (*q)->settings == advice_settings;
        if (many) cli_print("%12s--rules prints its thresholds\n", "");
        for (const analyze_setting *s = (*q)->settings; !many && s && s->key;
             s++)
            cli_print("%12s--set %s=%s  %s\n", "", s->key, setting_value(s).s,
                      s->help);
    }
}

static void list_limits(const char *id)
{
    const size_t size = strlen(id);
    for (const analyze_setting *s = advice_settings; s->key; s++)
        if (!strncmp(s->key, id, size) && s->key[size] == '.')
            cli_print("    %s=%s  %s\n", s->key, setting_value(s).s, s->help);
}

void analyze_list_rules(void)
{
    for (const advice_rule *r = advice_rules; r->id; r++) {
        const bool gains = strcmp(r->gain, "none") != 0;
        cli_print("%s (%s)\n    %s\n    gain: %s%s\n", r->id, r->family,
                  r->about, gains ? "replay with " : "not computed",
                  gains ? r->gain : "");
        list_limits(r->id);
    }
    cli_print("all of them\n");
    list_limits("advice");
}

# Completion of tracesmith and its tools in bash. The options come from the
# --help of each tool, so they are those of the installed version.

_tracesmith_commands() {
    "$1" help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p'
}

_tracesmith_options() {
    "$@" --help 2>/dev/null |
        sed -n 's/^  \(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
}

_tracesmith() {
    local word=$2 words
    COMPREPLY=()
    if [[ ${1##*/} == tracesmith && $COMP_CWORD == 1 ]]; then
        words=$(_tracesmith_commands "$1")
    elif [[ $word != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    elif [[ ${1##*/} == tracesmith ]]; then
        words=$(_tracesmith_options "$1" "${COMP_WORDS[1]}")
    else
        words=$(_tracesmith_options "$1")
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o filenames -F _tracesmith tracesmith ts-analyze ts-benchmark ts-cut \
    ts-devices ts-diff ts-export ts-import ts-info ts-mcp ts-merge ts-query \
    ts-record ts-replay ts-studio ts-symbolize ts-view

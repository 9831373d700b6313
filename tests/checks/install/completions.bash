#!/bin/bash
# Asks the completion that is installed under PREFIX for words, as bash would:
#   tests/checks/install/completions.bash PREFIX
set -u
PATH=$1/bin:$PATH
. "$1/share/bash-completion/completions/tracesmith.bash"
failed=0

# offers COMMAND... WORD -- WANTED...: what is offered has these lines
offers() {
    local given=() got
    while test "$1" != --; do given+=("$1"); shift; done
    shift
    COMP_WORDS=("${given[@]}")
    COMP_CWORD=$((${#given[@]} - 1))
    _tracesmith "${given[0]}" "${given[-1]}" "${given[-2]}"
    got=" ${COMPREPLY[*]} "
    for wanted; do
        case $got in *" $wanted "*) continue ;; esac
        echo "${given[*]}: $wanted is not among$got"
        failed=1
    done
}

offers tracesmith re -- record replay
offers tracesmith view --st -- --stats --states
offers ts-export --no -- --no-args --no-flows --no-compress
offers ts-export --o -- --output
offers ts-view "$1/li" -- "$1/lib"
for tool in "$1"/bin/ts-*; do
    offers "${tool##*/}" --h -- --help
    complete -p "${tool##*/}" >/dev/null || failed=1
    test -e "$1/share/bash-completion/completions/${tool##*/}.bash" &&
        test -e "$1/share/fish/vendor_completions.d/${tool##*/}.fish" &&
        grep -qw "${tool##*/}" "$1/share/zsh/site-functions/_tracesmith" || {
            echo "${tool##*/} is not completed"
            failed=1
        }
done
exit $failed

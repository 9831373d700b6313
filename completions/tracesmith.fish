# Completion of tracesmith and its tools in fish. The options are asked of the
# tool itself: they are those of its option table, whatever its version.

function __tracesmith_options
    $argv --help 2>/dev/null |
        string match -rg '^  (?:-[a-zA-Z], )?(--[a-z-]+)[^ ]*(?: [A-Z][^ ]*)*(?:  +(.*))?$' |
        while read -l option
            read -l about
            printf '%s\t%s\n' $option $about
        end
end

for tool in analyze benchmark cut devices diff export import info merge query \
        record replay studio symbolize view
    complete -c ts-$tool -n 'string match -q -- "-*" (commandline -ct)' \
        -a "(__tracesmith_options ts-$tool)"
    complete -c tracesmith -n __fish_use_subcommand -a $tool
    complete -c tracesmith -n "__fish_seen_subcommand_from $tool; and \
        string match -q -- '-*' (commandline -ct)" \
        -a "(__tracesmith_options ts-$tool)"
end
complete -c tracesmith -n __fish_use_subcommand -a 'help profile version'

# Completion of tracesmith and its tools in fish. The options come from the
# --help of each tool, so they are those of the installed version.

function __tracesmith_options
    $argv --help 2>/dev/null |
        string match -rg '^  (?:-[a-zA-Z], )?(--[a-z-]+)[^ ]*(?: [A-Z][^ ]*)*(?:  +(.*))?$' |
        while read -l option
            read -l about
            printf '%s\t%s\n' $option $about
        end
end

for tool in analyze benchmark cut devices diff export import info mcp merge \
        query record replay studio symbolize view
    complete -c ts-$tool -n 'string match -q -- "-*" (commandline -ct)' \
        -a "(__tracesmith_options ts-$tool)"
    complete -c tracesmith -n __fish_use_subcommand -a $tool
    complete -c tracesmith -n "__fish_seen_subcommand_from $tool; and \
        string match -q -- '-*' (commandline -ct)" \
        -a "(__tracesmith_options ts-$tool)"
end
complete -c tracesmith -n __fish_use_subcommand -a 'help profile version'

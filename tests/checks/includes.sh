# The rules in docs/architecture.md about who may include whom are obeyed.
. tests/lib.sh
folder=build/includes
mkdir -p $folder

# Each include of our own, as "FILE INCLUDED", both from the project's root.
git ls-files -co --exclude-standard backends tools examples python |
    grep '\.[ch]$' >$folder/files
xargs awk '
    /^[ \t]*#[ \t]*include "/ {
        split($0, part, "\"")
        from = FILENAME
        sub(/[^\/]*$/, "", from)
        path = from part[2]
        while (sub(/[^\/]+\/\.\.\//, "", path));
        if ((getline line <path) < 0) path = part[2]
        else close(path)
        print FILENAME, path
    }' <$folder/files >$folder/includes

# A line of the rules: FOLDER: what its files may include besides their own
# folder, as beginnings of paths. The longest folder that fits a file decides.
sed -n '/^```rules$/,/^```$/p' docs/architecture.md | sed '1d; $d' \
    >$folder/rules
check "includes: the rules are there" test -s $folder/rules
check "includes: nobody includes what the rules do not allow" awk '
    function fits(path, start) {
        return path == start || index(path, start "/") == 1
    }
    function rule_of(path,    rule, best) {
        for (rule in allowed)
            if (fits(path, rule) && length(rule) > length(best)) best = rule
        used[best] = 1
        return best
    }
    FILENAME ~ /rules$/ {
        if ($1 == "#") next
        rule = $1
        sub(/:$/, "", rule)
        $1 = ""
        allowed[rule] = $0
        next
    }
    FILENAME ~ /files$/ {
        if (rule_of($1) != "") next
        print $1 ": no rule of docs/architecture.md is for it"
        bad = 1
        next
    }
    {
        best = rule_of($1)
        if (best == "" || fits($2, best)) next
        count = split(allowed[best], list)
        for (i = 1; i <= count && !fits($2, list[i]); i++);
        if (i <= count) next
        print $1 " includes " $2 ", which the rule of " best " does not allow"
        bad = 1
    }
    END {
        for (rule in allowed)
            if (!used[rule]) {
                print "the rule of " rule " is for no file"
                bad = 1
            }
        exit bad
    }' $folder/rules $folder/files $folder/includes

# A public header declares, and then includes the parts of its room; these may
# include it to be compiled alone. There is no other cycle.
check "includes: no cycle" sh -c '
    awk "\$1 != \$2 && !(\$1 ~ /^backends\/ts_[a-z_]*\.h\$/ &&
        \$2 ~ /^backends\/[a-z]*\//)" $0/includes | tsort >$0/order' $folder

# Outside of src/, no file includes another in its middle, after code, but for a
# public header of a backend: its parts come after what it declares.
check "includes: at the top" sh -c '
    xargs awk "$1" <$0/files' $folder '
    FNR == 1 { code = comment = more = 0 }
    comment { comment = !/\*\//; next }
    more { more = /\\$/; next }
    /^\/\*/ { comment = !/\*\//; next }
    /^[ \t]*#[ \t]*include "/ && code {
        if (FILENAME ~ /^backends\/ts_[a-z_]*\.h$/ && /"[a-z]*\//) next
        print FILENAME ":" FNR ": " $0
        bad = 1
    }
    /^[ \t]*(#|\/\/|$)/ { more = /\\$/; next }
    { code = 1 }
    END { exit bad }'

# Who may include whom: the rules stand in docs/architecture.md, and hold.
. tests/lib.sh
folder=build/includes
mkdir -p $folder

# Each include of our own, as "FILE INCLUDED", both from the project's root.
git ls-files -co --exclude-standard backends tools examples |
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
    FNR == NR {
        sub(/ *#.*/, "")
        if (!NF) next
        rule = $1
        sub(/:$/, "", rule)
        $1 = ""
        allowed[rule] = $0
        next
    }
    {
        best = ""
        for (rule in allowed)
            if (fits($1, rule) && length(rule) > length(best)) best = rule
        if (best == "") {
            print $1 ": no rule of docs/architecture.md is for it"
            bad = 1
            next
        }
        used[best] = 1
        if (fits($2, best)) next
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
    }' $folder/rules $folder/includes

# A public header declares, and then includes the parts of its room; these may
# include it to be compiled alone. There is no other circle.
check "includes: no circle" sh -c '
    awk "\$1 != \$2 && !(\$1 ~ /^backends\/ts_[a-z_]*\.h\$/ &&
        \$2 ~ /^backends\/[a-z]*\//)" $0/includes | tsort >$0/order' $folder

# Outside of src/, no header is included in the middle of a file: what comes
# before an include is preprocessor, comments and blank lines only.
check "includes: at the top" sh -c '
    xargs awk "
        FNR == 1 { code = 0; comment = 0; split(\"\", parts) }
        /^[ \t]*#[ \t]*include \"/ && code && !/TRACESMITH_PARTS/ {
            print FILENAME \":\" FNR \": \" \$0
            bad = 1
        }
        comment { if (/\*\//) comment = 0; next }
        /^\/\*/ { if (!/\*\//) comment = 1; next }
        /\\\\\$/ { more = 1 }
        /^[ \t]*(#|\/\/|\$)/ { next }
        { code = 1 }
        END { exit bad }" <$0/files' $folder

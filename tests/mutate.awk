# Lists what could be changed in C files so that a check should notice, one a
# line: hash of it and -v seed, file, line, kind, text of the line instead.
#
# Only lines inside of functions are changed: indented, no comment, no
# directive, no string that holds the operator.

function hash(text,    i, h) {
    h = seed
    for (i = 1; i <= length(text); i++)
        h = (h * 31 + index(letters, substr(text, i, 1))) % 1000003
    # Neighbours differ in their last letters only: mix them once more.
    return (h * 7919 + 12345) % 1000003
}

# The place of the nth `what` outside of quotes; 0: there is none.
function place(line, what, nth,    i, quoted, c) {
    for (i = 1; i <= length(line) - length(what) + 1; i++) {
        c = substr(line, i, 1)
        if (c == "\\") { i++; continue }
        if (c == "\"" || c == "'") {
            if (!quoted) quoted = c
            else if (quoted == c) quoted = ""
        }
        if (!quoted && substr(line, i, length(what)) == what && !--nth)
            return i
    }
    return 0
}

function offer(kind, at, size, text) {
    printf "%07d\t%s\t%d\t%s\t%s\n", hash(FILENAME FNR kind at), FILENAME,
        FNR, kind, substr($0, 1, at - 1) text substr($0, at + size) note
}

function swap(kind, from, to,    nth, at) {
    for (nth = 1; (at = place($0, from, nth)); nth++)
        offer(kind, at, length(from), to)
}

# An if whose condition ends on the line.
function negate(    at, i, depth, c) {
    if (!match($0, /^ *(} else )?if \(/)) return
    at = RLENGTH
    for (i = at; i <= length($0); i++) {
        c = substr($0, i, 1)
        if (c == "(") depth++
        if (c == ")" && !--depth) {
            offer("negated", at, i - at + 1,
                "(!" substr($0, at, i - at + 1) ")")
            return
        }
    }
}

# A decimal number that is one more. More room in an array is no harm.
function constants(    at, rest, from) {
    if (/^ +[A-Za-z_][A-Za-z_0-9 *]* [a-z_]+\[[0-9]+\];$/) return
    from = 1
    while (match(substr($0, from), /[^A-Za-z0-9_.][0-9]+[^A-Za-z0-9_."]/)) {
        at = from + RSTART
        rest = substr($0, at, RLENGTH - 2)
        if (place($0, substr($0, at - 1, RLENGTH), 1) == at - 1)
            offer("constant", at, RLENGTH - 2, rest + 1)
        from = at + RLENGTH - 2
    }
}

BEGIN {
    letters = "abcdefghijklmnopqrstuvwxyz0123456789_-./ABCDEFGHIJKLMNOPQRSTUVWXYZ"
}
FNR == 1 { comment = 0 }
{
    code = !comment && /^    / && !/^ *(\/\/|\*|\/\*|#|case .*:$)/ && !/\\$/
    if (!comment && /\/\*/ && !/\*\//) comment = 1
    if (comment && /\*\//) comment = 0
    note = ""
    if (code && match($0, / *\/\/ .*$/)) { # what follows is a remark
        note = substr($0, RSTART)
        $0 = substr($0, 1, RSTART - 1)
    }
    if (code && !/_Static_assert|static const|^ *enum/) {
        swap("relation", " < ", " <= ")
        swap("relation", " <= ", " < ")
        swap("relation", " > ", " >= ")
        swap("relation", " >= ", " > ")
        swap("relation", " == ", " != ")
        swap("relation", " != ", " == ")
        swap("logic", " && ", " || ")
        swap("logic", " || ", " && ")
        swap("arithmetic", " + ", " - ")
        swap("arithmetic", " += ", " -= ")
        swap("result", "return true;", "return false;")
        swap("result", "return false;", "return true;")
        negate()
        constants()
        if (/^ +[a-z_0-9]+\(.*\);$/ && !/^ *(free|fclose|close)\(/)
            offer("call", match($0, /[^ ]/), length($0), ";")
        if (/^ +[*a-z_0-9>.-]+(\[[^]]*\])?[a-z_0-9>.-]* [-+|&*]?= .*;$/)
            offer("assignment", match($0, /[^ ]/), length($0), ";")
    }
}

# The rows as one JSON object; what could not be measured is null.
function text(s) {
    gsub(/[\\"]/, "\\\\&", s)
    return "\"" s "\""
}

function number(x) {
    return x ~ /nan|inf/ ? "null" : x + 0
}

function verdict(figure, limit, rule, budget) {
    if (figure ~ /nan/) return "failed"
    if (rule == "-") return "none"
    if (rule == "ratio<=") return figure / limit <= budget ? "ok" : "over"
    if (rule == "<=") return figure + 0 <= budget + 0 ? "ok" : "over"
    return figure + 0 >= budget + 0 ? "ok" : "over"
}

# Whether a row says more about the machine than about the program.
function hangs(unit, limit) {
    return limit + 0 <= 0 && unit ~ /^(ns|us|ms|s|.*\/s|ns\/op)$/
}

BEGIN {
    FS = "\t"
    OFMT = CONVFMT = "%.6g"
    printf "{\n  \"date\": %s,\n  \"cpu\": %s,\n  \"cores\": %d,\n", \
        text(date), text(cpu), cores
    printf "  \"compiler\": %s,\n  \"kernel\": %s,\n  \"load\": %s,\n", \
        text(compiler), text(kernel), number(load)
    printf "  \"quick\": %s,\n  \"rows\": [", quick ? "true" : "false"
}
/^#/ {
    heading = substr($0, 3)
    next
}
{
    has_limit = $5 > 0
    ratio = has_limit && $3 !~ /nan/ ? number($3 / $5) : "null"
    printf "%s\n    { \"key\": %s, \"section\": %s, \"what\": %s,\n", \
        rows++ ? "," : "", text($1), text(heading), text($2)
    printf "      \"figure\": %s, \"unit\": %s, \"spread\": %s,", \
        number($3), text($4), $9 == "" ? "null" : number($9)
    printf " \"machine\": %s, \"limit\": %s,", \
        hangs($4, $5) ? "true" : "false", has_limit ? number($5) : "null"
    printf " \"yardstick\": %s,\n", $6 == "-" ? "null" : text($6)
    printf "      \"ratio\": %s, \"rule\": %s,", ratio, text($7)
    printf " \"budget\": %s, \"verdict\": %s }", \
        $7 == "-" ? "null" : number($8), text(verdict($3, $5, $7, $8))
}
END {
    print "\n  ]\n}"
}

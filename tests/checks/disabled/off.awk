# Reads a disassembly: whether each function begins with a load (two, if it is
# position-independent: first the address), a comparison and a branch.
/^[0-9a-f]+ <.*>:/ {
    name = $2
    looks = name !~ /cold/
    read = said = ""
    loads = 0
}
looks && /^ +[0-9a-f]+:/ {
    read = read $2 " "
    if ($2 ~ /^mov/ && loads < most) loads++
    else if ($2 ~ /^(test|cmp)/ && loads == most) said = "compared"
    else if ($2 ~ /^j(n?e)$/ && said) {
        looks = 0
        count++
    } else {
        print name " begins with " read
        exit bad = 1
    }
}
END { exit bad || count < 4 }

#!/bin/sh
# Runs the commands of a ```console block of a document, in a folder that
# contains docs/, and compares their output with the block; a line of ...
# stands for any lines.
#   tests/console.sh BLOCK
set -eu
block=$(realpath "$1")
root=$PWD
PATH=$root/build:$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ln -s "$root/docs" docs

# A command goes on in lines with four blanks, after a | or a backslash.
awk '
    /^\$ / { sub(/^\$ /, ""); command = 1 }
    command { print; command = /([|]|\\)$/ }
' "$block" >commands
sh -e commands >got 2>&1 || { cat got; exit 1; }
awk '
    /^\$ / { command = 1 }
    command { command = /([|]|\\)$/; next }
    { print }
' "$block" >wanted
awk '
    NR == FNR { got[++count] = $0; next }
    $0 == "..." { any = 1; next }
    {
        from = ++at
        while (any && at <= count && got[at] != $0) at++
        if (got[at] != $0) {
            print "wanted: " $0
            print "got:    " got[from]
            exit failed = 1
        }
        any = 0
    }
    END {
        if (!failed && !any && at < count) {
            print "more: " got[at + 1]
            failed = 1
        }
        exit failed
    }
' got wanted || { cat got; exit 1; }

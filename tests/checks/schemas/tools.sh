#!/bin/sh
# Makes in a folder a command for each tool that runs the tool, and keeps what
# it prints with --json, and its command line, in another folder.
#   tests/checks/schemas/tools.sh FOLDER KEPT
set -eu
mkdir -p "$1" "$2"
for tool in build/ts-*; do
    test -x "$tool" || continue
    name=${tool##*/}
    cat >"$1/$name" <<END
#!/bin/sh
case " \$* " in
*' --json '*) ;;
*) exec "$PWD/$tool" "\$@" ;;
esac
kept=\$(mktemp "$2/$name.XXXXXX")
"$PWD/$tool" "\$@" >"\$kept.json"
code=\$?
echo "\$*" >"\$kept"
cat "\$kept.json"
exit \$code
END
    chmod +x "$1/$name"
done

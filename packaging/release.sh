#!/bin/bash
# Makes the packages of the committed tree, and SHA256SUMS of them. The same
# commit gives the same bytes, on a machine with the same compilers.
#   packaging/release.sh FOLDER [PACKAGE...]
# FOLDER is made; its files are replaced. PACKAGE: source, crates, sdist, wheel,
# formula, debian, rpm, image; all by default. What this machine has no program
# for is left out, with a message. URL in the environment: where the tar file
# will be, for the formula.
set -euo pipefail
test $# -gt 0 || { sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; exit 2; }
top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
packages=${*:-source crates sdist wheel formula debian rpm image}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git=(git -C "$top")
"${git[@]}" rev-parse -q --verify HEAD >"$work/commit" || {
    echo "release: $top: the committed tree is packed: this needs a clone" >&2
    exit 1
}
SOURCE_DATE_EPOCH=$("${git[@]}" log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC PYTHONDONTWRITEBYTECODE=1
umask 022
version=$("${git[@]}" show HEAD:tracesmith.h |
    awk '/define TS_VERSION_(MAJOR|MINOR|PATCH) / { v = v s $3; s = "." }
        END { print v }')
name=tracesmith-$version
# The compiler writes paths into debugging information. Each package is made in
# a tree of its own, and in all of them the tree is called ".".
tree=$work/tree/$name
same_paths="-ffile-prefix-map=$tree=. -ffile-prefix-map=$work=."

has() {
    for program; do
        if ! command -v "$program" >/dev/null; then
            echo "release: $package: left out: $program is not here" >&2
            return 1
        fi
    done
}

new_tree() {
    rm -rf "$work/tree"
    mkdir "$work/tree"
    "${git[@]}" -c tar.umask=0022 archive --prefix="$name/" HEAD |
        tar x -C "$work/tree"
}

# A tar file whose bytes depend on names and contents alone.
pack() { # FILE, FOLDER, NAME
    tar c --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
        --numeric-owner --format=ustar -C "$2" "$3" | gzip -9n >"$1"
}

filled() { # FILE [SED OPTIONS...]
    local file=$1
    shift
    sed -e "s,@VERSION@,$version,g" -e "s,@SERIES@,${version%.*},g" "$@" \
        "$tree/packaging/$file"
}

make_source() {
    pack "$folder/$name.tar.gz" "$work/tree" "$name"
}

make_crates() {
    has cargo || return 0
    local crate
    # The system's, if there is one: it writes the older files.
    test ! -x /usr/bin/cargo || PATH=/usr/bin:$PATH
    for crate in tracesmith-sys tracesmith; do
        (cd "$tree/rust/$crate" && CARGO_NET_OFFLINE=true cargo package -q \
            --no-verify --allow-dirty --target-dir "$work/cargo" \
            2>"$work/log") || { cat "$work/log" >&2; return 1; }
        rm -rf "$work/crate"
        mkdir "$work/crate"
        tar xzf "$work/cargo/package/$crate-$version.crate" -C "$work/crate"
        pack "$folder/$crate-$version.crate" "$work/crate" "$crate-$version"
    done
}

python=/usr/bin/python3
test -x $python || python=python3
make_sdist() {
    has $python || return 0
    (cd "$tree" && $python setup.py -q sdist -d "$work/sdist") \
        >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
    mkdir "$work/unpacked"
    tar xzf "$work/sdist/$name.tar.gz" -C "$work/unpacked"
    mkdir -p "$folder/python"
    pack "$folder/python/$name.tar.gz" "$work/unpacked" "$name"
}

make_wheel() {
    has $python make || return 0
    new_tree
    flags="-O2 $same_paths"
    (cd "$tree" && CFLAGS=$flags TRACESMITH_CFLAGS=$flags \
        $python setup.py -q bdist_wheel -d "$folder/python") \
        >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
}

make_formula() {
    if test -z "${URL:-}"; then
        echo "release: formula: left out: URL does not say where $name.tar.gz" \
            "will be" >&2
        return 0
    fi
    new_tree
    make_source
    filled tracesmith.rb -e "s,@URL@,${URL%/}/$name.tar.gz," \
        -e "s,@SHA256@,$(sha256sum <"$folder/$name.tar.gz" | cut -c 1-64)," \
        >"$folder/tracesmith.rb"
}

make_debian() {
    has dpkg-buildpackage dh || return 0
    new_tree
    local options="parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}"
    (cd "$tree" && DEB_BUILD_OPTIONS=$options \
        dpkg-buildpackage -us -uc) >"$work/log" 2>&1 ||
        { tail -n 50 "$work/log" >&2; return 1; }
    # Its list of the packages of this machine is not part of a release.
    rm -f "$work/tree/"*.buildinfo "$work/tree/"*.changes
    find "$work/tree" -maxdepth 1 -type f -exec mv -t "$folder" {} +
}

make_rpm() {
    has rpmbuild || return 0
    if test -z "${RPM_OPTIONS:-}" && ! rpm -q --quiet bash; then
        echo "release: $package: left out: this system does not consist of" \
            "RPMs; RPM_OPTIONS=--nodeps builds with what is here" >&2
        return 0
    fi
    new_tree
    local rpm=$work/rpm
    mkdir -p "$rpm/SOURCES" "$rpm/SPECS"
    pack "$rpm/SOURCES/$name.tar.gz" "$work/tree" "$name"
    filled tracesmith.spec >"$rpm/SPECS/tracesmith.spec"
    rpmbuild --quiet -ba ${RPM_OPTIONS:-} --define "_topdir $rpm" \
        --define '_buildhost localhost' \
        --define 'use_source_date_epoch_as_buildtime 1' \
        --define 'clamp_mtime_to_source_date_epoch 1' \
        "$rpm/SPECS/tracesmith.spec" >"$work/log" 2>&1 ||
        { tail -n 50 "$work/log" >&2; return 1; }
    find "$rpm/RPMS" "$rpm/SRPMS" -name '*.rpm' -exec mv -t "$folder" {} +
}

make_image() {
    has buildah || return 0
    new_tree
    (cd "$tree" && buildah build -q ${IMAGE_OPTIONS:-} \
        -t "tracesmith:$version" --timestamp "$SOURCE_DATE_EPOCH" .) \
        >"$work/log" 2>&1 ||
        { tail -n 50 "$work/log" >&2; return 1; }
    buildah push -q "tracesmith:$version" \
        "oci-archive:$folder/$name-image.tar:tracesmith:$version"
}

for package in $packages; do
    case " source crates sdist wheel formula debian rpm image " in
    *" $package "*) ;;
    *) echo "release: $package: no such package" >&2; exit 2 ;;
    esac
done
new_tree
for package in $packages; do
    "make_$package"
done
(cd "$folder" && rm -f SHA256SUMS && find . -type f -printf '%P\n' | sort |
    xargs -r sha256sum >"$work/sums" && mv "$work/sums" SHA256SUMS)

# Follows the first steps of the README on bare Debian systems of the current
# and the previous version.
. tests/lib.sh
. tests/bare.sh
bare "bare: Debian 12, demo and tools" bookworm $HERE/first-hour.sh
bare "bare: Debian 13, demo and unit tests" trixie $HERE/unit.sh

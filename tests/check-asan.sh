# The test programs under AddressSanitizer and UndefinedBehaviorSanitizer.
. tests/lib.sh
flags="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer"
WITHOUT=$(sed -n 's/^WITHOUT_ASAN = //p' Makefile)
check "asan: build" $MAKE OUT=build/asan CC=gcc CXX=g++ CFLAGS="$flags" tests
check_programs asan build/asan

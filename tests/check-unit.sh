# The test programs, with a library built as a user would. They themselves run
# a few times: the optimiser would take longer than it saves.
. tests/lib.sh
check_build "unit: library" CC=gcc CXX=g++ CFLAGS="-O2 -g1 -Werror" all
check_build "unit: build" CC=gcc CXX=g++ CFLAGS="-O1 -g1 -Werror" tests
check_programs unit build

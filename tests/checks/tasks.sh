# Ten tasks of somebody who optimises a program. Each begins with `ts-analyze
# TRACE` and takes at most two of the commands that it suggests, as printed:
# the result must be right. The traces are of small jobs whose truth is known.
. tests/lib.sh
folder=build/tasks
rm -rf $folder
mkdir -p $folder
check_build "tasks: build" all
check "tasks: jobs are made" sh -ec '
    node tests/checks/tasks/job.mjs $0
    for source in $0/run.json $0/OTHER.json $0/rank?.json; do
        build/ts-import -o "${source%.json}.sbt" "$source"
    done
    cp $0/run.sbt $0/same.sbt' $folder
node tests/checks/tasks/tasks.mjs $folder >$folder/tasks
while read -r task; do
    check "tasks: $task" node tests/checks/tasks/tasks.mjs $folder "$task"
done <$folder/tasks
check "tasks: there are ten" test "$(wc -l <$folder/tasks)" = 10

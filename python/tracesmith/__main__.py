"""python -m tracesmith record [-o FILE] [options] -- SCRIPT [arguments]"""
import argparse
import os
import runpy
import sys

from . import __version__
from ._errors import Error
from ._record import record


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m tracesmith",
        description="Records a Python program.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run = commands.add_parser(
        "record", help="run a script and record it",
        description="Runs a script, or with -m a module, and records it: its "
                    "zones, and each call of its functions.")
    run.add_argument("-o", "--output", metavar="FILE", default="trace.sbt",
                     help="the trace (trace.sbt)")
    run.add_argument("--gpu", action="store_true",
                     help="record devices, too")
    run.add_argument("--children", action="store_true",
                     help="Python processes that it starts record, too, into "
                          "FILE.PID.sbt")
    run.add_argument("--functions", choices=["own", "all", "none"],
                     default="own",
                     help="whose function calls are zones: not those of the "
                          "standard library and of installed packages (own)")
    run.add_argument("-m", dest="module", action="store_true",
                     help="SCRIPT is the name of a module")
    run.add_argument("script", metavar="SCRIPT")
    run.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def _run(options):
    sys.argv = [options.script] + options.arguments
    if options.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
        runpy.run_path(options.script, run_name="__main__")


def main(arguments=None):
    parser = _parser()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if "--" in arguments:  # argparse would keep it
        arguments.remove("--")
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    functions = {"own": True, "all": "all", "none": False}[options.functions]
    sys.path.pop(0)  # the folder that python -m puts there
    try:
        recording = record(options.output, gpu=options.gpu,
                           functions=functions, children=options.children)
        with recording:
            _run(options)
    except Error as error:
        print("tracesmith: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

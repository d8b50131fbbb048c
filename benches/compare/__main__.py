"""Runs Highwater beside Apache Kafka on this machine and writes the table of docs/benchmarks.md.

Both brokers run in the same minutes under the same load generator; each row runs A B B A, so that
what else the machine does falls on both. Kafka is warmed until its CPU cost is flat.

    cargo build --release -p highwater -p highwater-benches
    KAFKA_PEER=.../kafka-peer python3 benches/compare --json results.json --markdown table.md

KAFKA_PEER names a script with `start DIR PORT [KEY=VALUE...]` and `stop DIR`, which leaves the
broker's process id in DIR/pid. Without it only Highwater is measured.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import brokers
import facts
import rows
import table


def arguments():
    parser = argparse.ArgumentParser(
        prog="compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "release"
    parser.add_argument("--highwater", default=str(target / "highwater"))
    parser.add_argument("--load", default=str(target / "highwater-load"))
    parser.add_argument("--kafka-peer", default=os.environ.get("KAFKA_PEER"))
    parser.add_argument("--dir", help="data of both brokers; a temporary folder if not given")
    parser.add_argument("--rows", help="comma-separated names; see --list")
    parser.add_argument("--list", action="store_true", help="list the rows and end")
    parser.add_argument("--seconds", type=float, default=3.0, help="of one burst")
    parser.add_argument("--burst-mb", type=int, default=800, help="a burst ends after so many MB")
    parser.add_argument("--rounds", type=int, default=1, help="times A B B A")
    parser.add_argument("--restart-mb", type=int, default=1024, help="data of the crash restart")
    parser.add_argument("--starts", type=int, default=3, help="cold starts of each side")
    parser.add_argument("--nice", type=int, default=0,
                        help="priority of both brokers and the generator on a machine that others use; "
                             "below 0 needs root")
    parser.add_argument("--json", help="write every measurement here")
    parser.add_argument("--markdown", help="write the table here")
    parser.add_argument("--from-json", help="make the table of an earlier run; runs nothing")
    return parser.parse_args()


def prefer(nice):
    """Priority of this program and all it starts. Linux groups processes by session and weighs the
    groups: a session of its own, and the group's weight, count as well."""
    if nice == 0:
        return
    os.nice(nice)
    try:
        os.setsid()
        pathlib.Path("/proc/self/autogroup").write_text(str(nice))
    except OSError as error:
        print(f"this session's weight stays: {error}", file=sys.stderr)


def run(options, names, folder):
    bench = rows.Bench(options, folder)
    try:
        for name in names:
            print(f"== {name}", file=sys.stderr, flush=True)
            try:
                rows.ROWS[name](bench)
            except (brokers.Failed, OSError, subprocess.SubprocessError) as error:
                # One row that cannot be measured is a fact, not the end of the others.
                bench.failures.append({"row": name, "error": str(error)})
                print(f"   {name}: {error}", file=sys.stderr, flush=True)
    finally:
        bench.stop()
    return {
        "facts": facts.gather(options),
        "measurements": bench.measurements,
        "failures": bench.failures,
    }


def main():
    options = arguments()
    if options.list:
        for name, row in rows.ROWS.items():
            print(f"{name:16} {row.__doc__.splitlines()[0]}")
        return
    if options.from_json:
        result = json.loads(pathlib.Path(options.from_json).read_text())
    else:
        names = options.rows.split(",") if options.rows else list(rows.ROWS)
        unknown = [name for name in names if name not in rows.ROWS]
        if unknown:
            sys.exit(f"unknown rows: {', '.join(unknown)}; --list shows all")
        prefer(options.nice)
        with tempfile.TemporaryDirectory(dir=options.dir, prefix="compare-") as folder:
            result = run(options, names, pathlib.Path(folder))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    text = table.markdown(result)
    if options.markdown:
        pathlib.Path(options.markdown).write_text(text)
    print(text)


main()

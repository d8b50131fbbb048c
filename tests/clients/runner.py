"""Runs the cases against one broker, each in a process of its own, and prints a line for each."""

import argparse
import multiprocessing
import os
import socket
import sys
import time
import traceback

from cases import admin, console, external, groups, hostile, kcat, records  # noqa: F401 - importing registers the cases
from cases.model import CASES


def child(case, bootstrap, pipe):
    """Runs one case in a forked process; what it prints on failure is one line."""
    try:
        case.run(bootstrap)
        pipe.send(None)
    except BaseException as error:  # noqa: B902 - every way to fail is a failure
        where = traceback.extract_tb(error.__traceback__)
        mine = [f for f in where if "/cases/" in f.filename]
        line = f" ({mine[0].name}:{mine[0].lineno})" if mine else ""
        pipe.send(f"{type(error).__name__}: {error}{line}"[:1500])
    finally:
        pipe.close()
        # No joins of client threads: the case is decided.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def outcome(case, bootstrap):
    """None when the case holds, else why it does not."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=child, args=(case, bootstrap, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(case.timeout_s):
            return f"no result within {case.timeout_s} s"
        return ours.recv()
    except EOFError:
        return "the case's process died"
    finally:
        process.kill()
        process.join()


def answers(bootstrap):
    """True when the broker accepts a connection."""
    host, port = bootstrap.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 5).close()
        return True
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description="Drives real Kafka clients against a broker.")
    parser.add_argument("bootstrap", help="HOST:PORT of the broker")
    parser.add_argument("--only", action="append", default=[],
                        help="run the cases whose `client: claim` contains this; may repeat")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    arguments = parser.parse_args()
    chosen = [c for c in CASES if not arguments.only or any(o in c.name for o in arguments.only)]
    if arguments.list:
        print("\n".join(c.name for c in chosen))
        return 0
    failed = []
    for case in chosen:
        if not answers(arguments.bootstrap):
            print(f"nothing listens on {arguments.bootstrap} any more; the rest is not run")
            failed += [one.name for one in chosen[chosen.index(case):]]
            break
        start = time.monotonic()
        why = outcome(case, arguments.bootstrap)
        took = time.monotonic() - start
        print(f"{'ok  ' if why is None else 'FAIL'} {case.name} ({took:.1f} s)", flush=True)
        if why is not None:
            print(f"     {why}", flush=True)
            failed.append(case.name)
    if not chosen:
        print("no case has such a name", file=sys.stderr)
        return 2
    for name in failed:
        print(f"failed: {name}")
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

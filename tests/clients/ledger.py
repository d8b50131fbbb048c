#!/usr/bin/env python3
"""Kills a broker with SIGKILL under load, again and again, and checks a ledger of what it acknowledged.

    ledger.py BINARY [--rounds 50] [--seconds-per-round 1.2] [--seed N]
    ledger.py --self-test                 the checks themselves find every kind of damage
    ledger.py - --start-command '...'     another broker, from a command template

The last line is the verdict. Exit code 0: all properties held; 1: one is broken; 2: usage.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def with_clients():
    """Runs this script again in the suite's Python when the client is not installed here."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        setup = subprocess.run([HERE / "setup", "--only", "python"], check=True, capture_output=True,
                               text=True)
        cache = setup.stdout.strip()
        python = f"{cache}/venv/bin/python"
        os.execv(python, [python, *sys.argv])


def verify(bootstrap, book):
    """Reads everything back and compares; returns (records in the log, groups' offsets)."""
    from ledgers.book import check_commits, check_log
    from ledgers.load import fetch_commits, read_all

    before = book.copy()
    fetched = fetch_commits(bootstrap)
    check_commits(before, book.copy(), fetched)
    log = read_all(bootstrap)
    check_log(before, log)
    return log, fetched


def rounds(broker, load, book, arguments, chance):
    """The loop. Each round kills at a random moment and starts the broker again."""
    quiet = 0
    for number in range(1, arguments.rounds + 1):
        seen = len(book.acked)
        time.sleep(chance.uniform(0.1, 2 * arguments.seconds_per_round - 0.1))
        quiet = quiet + 1 if len(book.acked) == seen else 0
        broker.kill()
        broker.start()
        if quiet >= 10:
            from ledgers.book import Broken

            raise Broken(f"nothing was acknowledged in {quiet} rounds: {broker.tail()}")
        if number % arguments.check_every == 0:
            log, _ = verify(broker.bootstrap, book)
            print(f"round {number}: {len(book.acked)} acknowledged, {sum(map(len, log.values()))} in the "
                  f"log, {commits(book)} commits acknowledged", flush=True)


def commits(book):
    return sum(one.state == "acked" for many in list(book.commits.values()) for one in list(many))


def run(arguments):
    """One whole run; returns the verdict's line."""
    from ledgers.book import Book, Broken
    from ledgers.broker import HIGHWATER, Broker
    from ledgers.load import Load

    chance = random.Random(arguments.seed)
    folder = Path(tempfile.mkdtemp(prefix="highwater-ledger-"))
    broker = Broker(arguments.start_command or HIGHWATER, arguments.binary, folder, arguments.pid_file)
    book = Book()
    kept = True
    print(f"seed {arguments.seed}, {arguments.rounds} rounds, folder {folder}", flush=True)
    try:
        broker.start()
        load = Load(broker.bootstrap, book, arguments.rate)
        load.start()
        rounds(broker, load, book, arguments, chance)
        time.sleep(arguments.seconds_per_round)
        load.stop()
        broker.kill()
        broker.start()
        log, fetched = verify(broker.bootstrap, book)
        if not book.acked or not commits(book):
            raise Broken("nothing was acknowledged: the run proves nothing")
        if arguments.self_test:
            from ledgers.planted import detect_all

            detect_all(book, log, fetched)
        kept = False
    except Broken as broken:
        raise Broken(f"{broken} (seed {arguments.seed}, data kept in {folder})") from None
    finally:
        broker.stop()
        if not kept and not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    slowest = max(broker.starts_s[1:])
    return (f"ledger: {arguments.rounds} rounds, {len(book.acked)} records and {commits(book)} commits "
            f"acknowledged, {load.counts['sent']} sent, {load.counts['failed']} failed, slowest restart "
            f"{slowest:.2f} s, seed {arguments.seed}: nothing lost, nothing doubled, offsets exact")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary", nargs="?", help="the highwater binary")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seconds-per-round", type=float, default=1.2)
    parser.add_argument("--check-every", type=int, default=10, help="rounds between two full checks")
    parser.add_argument("--rate", type=float, default=800, help="records a second of each producer")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--start-command", help="template with {binary} {data} {kafka} {port} {ready}")
    parser.add_argument("--pid-file", help="the start command returns, and this file has the broker's pid")
    parser.add_argument("--self-test", action="store_true",
                        help="damage the ledger in every way; each must be found")
    parser.add_argument("--keep", action="store_true", help="keep the data folder")
    arguments = parser.parse_args()
    if arguments.binary is None and not arguments.self_test:
        parser.error("BINARY is missing")
    with_clients()
    from ledgers.book import Broken

    try:
        if arguments.binary is None:
            from ledgers.planted import self_test

            print(self_test())
        else:
            print(run(arguments))
        return 0
    except Broken as broken:
        print(f"ledger: BROKEN: {broken}")
        return 1


if __name__ == "__main__":
    sys.exit(main())

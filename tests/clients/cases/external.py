"""Cases that run outside Python: a process each, in Node, on the JVM or a console tool."""

import os
import re
import subprocess
from pathlib import Path

from .model import CASES, Case

HERE = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("HIGHWATER_CLIENTS", Path.home() / ".cache/highwater-clients"))
# Short-lived JVMs: no more threads than needed, no time spent on optimising.
JVM = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-Xshare:auto",
       "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
       "-cp", f"{CACHE}/classes:{CACHE}/java/*"]


class Failed(Exception):
    """A program that ended with another code than the case demands."""


def program(arguments, stdin=None, timeout_s=50, code=0, environment=None, binary=False):
    """Runs to its end and returns what it printed; anything else than `code` is a failure."""
    got = subprocess.run(arguments, input=stdin, capture_output=True, timeout=timeout_s, check=False,
                         env={**os.environ, **(environment or {})})
    if got.returncode != code:
        errors = (got.stderr + b" " + got.stdout[-600:]).decode(errors="replace").strip()
        raise Failed(f"{Path(arguments[0]).name} ended with {got.returncode}: {' | '.join(errors.splitlines()[-12:])}")
    return got.stdout if binary else got.stdout.decode(errors="replace")


def register_all(client, pattern, files, command, timeout_s):
    """One case for each claim that `pattern` finds in the sources."""
    for file in files:
        for claim in re.findall(pattern, file.read_text(), re.MULTILINE):
            CASES.append(Case(client, claim, runner(command, claim, timeout_s), timeout_s))


def runner(command, claim, timeout_s):
    return lambda bootstrap: program([*command, bootstrap, claim], timeout_s=timeout_s - 2,
                                     environment={"NODE_PATH": f"{CACHE}/node_modules"})


register_all("kafkajs", r"^claim\('(\w+)'", sorted((HERE / "js").glob("*.js")),
             ["node", str(HERE / "js" / "main.js")], 90)
register_all("java", r"^    static void (\w+)\(World world\)", sorted((HERE / "java").glob("*.java")),
             [*JVM, "Main"], 120)
register_all("rdkafka", r"^fn (\w+)\(world: &World\) \{", [HERE / "rust" / "src" / "main.rs"],
             [str(CACHE / "rust" / "release" / "highwater-client-cases")], 90)

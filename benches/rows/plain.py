"""Links without device code: what offlink costs where it has nothing to do."""

import json
from pathlib import Path

import verify
from measure import Command
from results import Goal, Row
from workloads.cuda import tool

ROOT = Path(__file__).resolve().parent.parent.parent
MOST_MORE = 0.003
# Milliseconds among tens of them take many turns to be seen.
TURNS = 100

RECORDER = """#!/usr/bin/env python3
import json, os, shutil, sys
kept = sys.argv[0] + ".d"
os.makedirs(kept)
line = []
for argument in sys.argv[1:]:
    if argument.endswith(".o") or argument.endswith("/list"):
        argument = shutil.copy(argument.removeprefix("-Wl,--version-script="), kept)
        argument = argument if argument.endswith(".o") else "-Wl,--version-script=" + argument
    line.append(argument)
json.dump(line, open(sys.argv[0] + ".json", "w"))
os.execvp("cc", ["cc", *sys.argv[1:]])
"""


def rustc_line(work, name, *arguments):
    """The line that rustc gives to its linker, with copies of what it removes behind that."""
    recorder = work / f"record-{name}"
    recorder.write_text(RECORDER)
    recorder.chmod(0o755)
    tool("rustc", "--edition=2024", f"-Clinker={recorder}", "-o", work / name, *arguments)
    return json.loads(Path(f"{recorder}.json").read_text())


def plain(bench):
    work = bench.fresh("plain")
    source = work / "plain.c"
    source.write_text("int main(void) { return 0; }\n")
    tool("cc", "-c", "-o", work / "plain.o", source)
    packages = ROOT / "fixtures/cargo-workspace"
    lines = {
        "C program": ("cc", "-o", work / "plain", work / "plain.o"),
        "Rust build script": (
            "cc", *rustc_line(work, "build-script", packages / "images.rs")),
        "Rust proc-macro": (
            "cc", *rustc_line(work, "libmacros.so", "--crate-type=proc-macro",
                              "--extern=proc_macro", packages / "macros/src/lib.rs")),
    }
    comparisons = []
    for title, line in lines.items():
        output = Path(line[line.index("-o") + 1])
        tool(*line)
        expected = output.rename(work / f"{output.name}.expected")
        # Named cc's or a driver's line, as cargo gives it to its `linker`.
        through = (bench.offlink, *(line if title == "C program" else line[1:]))
        check = verify.same_file(expected)
        comparisons.append(bench.compare(
            title, [Command("offlink", through, output, check), Command("cc", line, output, check)],
            [Goal("offlink", MOST_MORE, "cc", form="more")], most=TURNS))
    return Row("plain", "Nothing to do: links without device code", comparisons)

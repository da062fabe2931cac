"""Where the time of a link goes, by offlink's own time trace."""

import dataclasses
import json
from pathlib import Path

from measure import run

# What takes less than this part of the whole isn't told.
LEAST = 0.01


def profile(command, work):
    """[(phase or tool, seconds, how often)] of one more run, most time first.

    Times of what runs at the same time are added up. Empty for what isn't a full link:
    wrapping and links without device code have no phases."""
    if Path(command.line[0]).name != "clang-linker-wrapper":
        return []
    file = work / "trace.json"
    command.output.unlink(missing_ok=True)
    command.prepare(0)
    line = (*command.line, f"--wrapper-time-trace={file}")
    whole = run(dataclasses.replace(command, line=line), work / "log").wall
    events = [event for event in json.loads(file.read_text())["traceEvents"]
              if event["ph"] == "X"]
    names = {event["name"] for event in events}
    lines = []
    for name in names:
        times = [event["dur"] / 1e6 for event in events if event["name"] == name]
        lines.append((name, sum(times), len(times)))
    lines = [line for line in lines if line[1] >= LEAST * whole]
    return sorted(lines, key=lambda line: (-line[1], line[0]))

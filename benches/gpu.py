"""Keeps programs that were measured, for a machine with a GPU to run."""

import shutil

RUN = """#!/usr/bin/env bash
# Runs each program beside this script; they compare what the GPU computes with the
# host. Needs an NVIDIA GPU of compute capability 9.0 and its driver.
set -uo pipefail
cd "$(dirname "$0")"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
failed=0
for program in programs/*; do
    if output=$("$program" 2>&1); then
        echo "PASS ${program#*/}: $(tail -1 <<<"$output")"
    else
        echo "FAIL ${program#*/}: $(tail -3 <<<"$output")"
        failed=1
    fi
done
exit "$failed"
"""


class Gpu:
    """The folder `gpu`: programs and the script that runs them."""

    def __init__(self, work):
        self.folder = work / "gpu"
        self.programs = self.folder / "programs"
        self.programs.mkdir(parents=True, exist_ok=True)
        script = self.folder / "run"
        script.write_text(RUN)
        script.chmod(0o755)

    def keep(self, name):
        """What keeps an output under a name, as a check's last step."""
        return lambda output: shutil.copy(output, self.programs / name)

"""Nodes of a remote execution service: buildbox-casd, each with one worker."""

import shutil
import socket
import subprocess
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILDBOX = REPOSITORY / ".tools/buildbox"
STARTS_WITHIN = 20  # seconds


class Node:
    """A server for storage, results and execution; actions see their inputs as `/`."""

    def __init__(self, folder, name, behind=None):
        self.folder = folder / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.address = f"127.0.0.1:{free_port()}"
        self.journal = self.folder / "actions"
        self.journal.touch()
        command = [
            BUILDBOX / "buildbox-casd",
            f"--bind={self.address}",
            f"--buildbox-run={self.runner()}",
            "--jobs=1",
            "--log-level=warning",
        ]
        if behind:
            # What this node has no worker for goes to the one behind it.
            command += [f"--{what}-remote=http://{behind.address}" for what in ("cas", "ac", "exec")]
            command.append("--exec-hybrid-queue-limit=0")
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [*command, self.folder / "storage"],
                env={"PATH": f"{BUILDBOX}:/usr/bin:/bin"},
                stdout=log,
                stderr=log,
            )
        self.wait()

    def runner(self):
        """buildbox-run, which writes each action that it runs into the journal."""
        script = self.folder / "run"
        script.write_text(
            "#!/bin/sh\n"
            f"""case "$*" in *--action=*) echo action >>'{self.journal}' ;; esac\n"""
            f"""exec '{BUILDBOX}/buildbox-run' "$@"\n"""
        )
        script.chmod(0o755)
        return script

    def actions(self):
        """How many actions it has run."""
        return len(self.journal.read_text().splitlines())

    def wait(self):
        host, port = self.address.split(":")
        end = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        raise SystemExit(f"test-bazel: buildbox-casd does not start: {self.folder}/log")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Nodes:
    """One node, or two of which the first passes on what it can't run at once."""

    def __init__(self, folder, count):
        self.folder = folder
        self.count = count
        self.nodes = []

    def __enter__(self):
        for number in reversed(range(self.count)):
            behind = self.nodes[0] if self.nodes else None
            self.nodes.insert(0, Node(self.folder, f"node-{number}", behind))
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.stop()

    @property
    def address(self):
        return self.nodes[0].address

    def actions(self):
        return [node.actions() for node in self.nodes]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

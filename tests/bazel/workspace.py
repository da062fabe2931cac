"""A copy of the examples, and Bazel in it."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = REPOSITORY / "tests/bazel"
DEBIAN = Path("/usr/share/bazel")
# clang starts its own tools from the folder that it is in.
COMPILER = "/usr/lib/llvm-22/bin/clang"
# The steps that run remotely. CPU images are linked by the C++ toolchain, which is the
# machine's own here.
REMOTE_STEPS = ["OffloadExtract", "OffloadLink", "OffloadBundle", "OffloadWrap"]
# Not `//...`, in which Bazel finds its own outputs by the links to them.
EXAMPLES = ["//cuda/...", "//hip/...", "//openmp/...", "//rust/..."]
FLAGS = [
    # Debian's Bazel has no modules, and is too old for rules_cc.
    f"--override_repository=rules_cc={HERE}/rules_cc",
    f"--override_repository=rules_java={DEBIAN}/rules/java",
    f"--override_repository=rules_proto={DEBIAN}/rules/proto",
    f"--override_repository=bazel_skylib={DEBIAN}/tools/skylib",
    "--repository_cache=",
    "--incompatible_enable_cc_toolchain_resolution",
    "--incompatible_strict_action_env",
    "--nosandbox_debug",
    "--noshow_progress",
    "--noshow_loading_progress",
    "--verbose_failures",
    "--jobs=16",
]


class Workspace:
    """In a folder of its own, which goes when the `with` ends."""

    def __init__(self, offlink):
        folder = self.folder = Path(tempfile.mkdtemp(prefix="offlink-bazel-"))
        self.outputs = set()
        self.examples = folder / "bazel/examples"
        self.log = folder / "actions.json"
        rules = REPOSITORY / "bazel"
        shutil.copytree(rules, folder / "bazel", ignore=shutil.ignore_patterns("bazel-*"))
        for name in ("crates", "examples"):
            (folder / name).symlink_to(REPOSITORY / name)
        subprocess.run([HERE / "tools", offlink, folder / ".tools/bazel"], check=True)
        self.rustc = subprocess.run(
            ["rustup", "which", "rustc"], capture_output=True, text=True
        ).stdout.strip() or shutil.which("rustc")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for output in list(self.outputs):
            self.bazel(output, "shutdown")
        # Bazel makes folders that nobody can write to.
        subprocess.run(["chmod", "-R", "u+w", self.folder], check=True)
        shutil.rmtree(self.folder)

    def bazel(self, output, command, *arguments):
        """Runs Bazel; `output` names one of several output folders."""
        self.outputs.add(output)
        return subprocess.run(
            [
                "bazel",
                "--nohome_rc",
                f"--output_user_root={self.folder}/{output}",
                "--max_idle_secs=300",
                command,
                *arguments,
            ],
            cwd=self.examples,
            env=os.environ | {"CC": COMPILER},
            capture_output=True,
            text=True,
        )

    def build(self, *arguments, output="out", remote=None, targets=EXAMPLES):
        """Builds, on the nodes `remote` if given; returns the actions that ran."""
        ran = self.try_to_build(*arguments, output=output, remote=remote, targets=targets)
        if ran.returncode != 0:
            raise SystemExit(f"test-bazel: a build failed:\n{ran.stderr}")
        return actions(self.log)

    def try_to_build(self, *arguments, output="out", remote=None, targets=EXAMPLES):
        flags = [*FLAGS, f"--action_env=RUSTC={self.rustc}", "--spawn_strategy=linux-sandbox"]
        if remote:
            flags += [f"--remote_executor=grpc://{remote.address}", "--remote_timeout=120"]
            flags += [f"--strategy={step}=remote" for step in REMOTE_STEPS]
        self.log.unlink(missing_ok=True)
        log = f"--execution_log_json_file={self.log}"
        return self.bazel(output, "build", *flags, log, *arguments, *targets)

    def clean(self, output="out"):
        self.bazel(output, "clean")

    def file(self, name):
        return self.examples / "bazel-bin" / name

    def digests(self):
        """The outputs of the device links, and the programs, by name."""
        root = self.examples / "bazel-bin"
        files = root.glob("*/*.offload/*")
        files = [file for file in files if file.suffix in (".image", ".bundle", ".o")]
        files += [root / name / name for name in ("cuda", "hip", "openmp", "rust")]
        return {
            str(file.relative_to(root)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in files
        }

    def edit(self, name, old, new):
        path = self.examples / name
        text = path.read_text()
        if text.count(old) != 1:
            raise SystemExit(f"test-bazel: {name} does not have '{old}' once")
        path.write_text(text.replace(old, new))


def actions(log):
    """The actions of an execution log that were run or taken from a remote cache."""
    text = log.read_text() if log.exists() else ""
    decoder = json.JSONDecoder()
    found = []
    at = 0
    while at < len(text):
        action, at = decoder.raw_decode(text, at)
        found.append(action)
        while at < len(text) and text[at].isspace():
            at += 1
    return found


def of(actions, *mnemonics):
    return [action for action in actions if action["mnemonic"] in mnemonics]


def device_links(actions):
    """The images that these actions made, as `cuda/…-sm_90`."""
    links = of(actions, "OffloadLink", "OffloadLinkHost")
    outputs = [output for link in links for output in link["listedOutputs"]]
    images = [output for output in outputs if output.endswith(".image")]
    parts = [image.removesuffix(".image").split("/") for image in images]
    return sorted(f"{words[-3]}/{words[-1]}" for words in parts)

"""What it costs to send a device link to a worker, and from which size on that pays."""

import time

from workers import Nodes

ARCHS = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_120"]
# Kernels of the two sizes of links.
SIZES = {"small": 1, "large": 60}
# Each is measured so often, with other kernels, and the least time holds.
ROUNDS = {"small": 3, "large": 1}

BUILD = """load("@offlink//:defs.bzl", "cuda_library", "offload_library")

cuda_library(
    name = "kernels",
    srcs = ["kernels.cu"],
    archs = {archs},
)

offload_library(
    name = "device",
    kinds = ["cuda"],
    # One core a worker.
    link_flags = ["--split=never"],
    targets = {{"cuda": {archs}}},
    deps = [":kernels"],
)
"""
KERNEL = """__global__ void kernel_{round}_{n}(float *values, int count) {{
  float x = values[threadIdx.x];
#pragma unroll
  for (int i = 0; i < 32; i++)
    x = x * x / (x + {n}.5f + i) + sinf(x * i) * values[(threadIdx.x * {n} + i) % count];
  values[threadIdx.x] = x;
}}
"""


def report(workspace):
    """Prints a table, and what follows from it."""
    print(f"measured, {len(ARCHS)} architectures, seconds (local: one job in the sandbox):")
    print("  link    a link  local  1 worker  2 workers  overhead of an action")
    overheads = {}
    with Nodes(workspace.folder / "one", 1) as one, Nodes(workspace.folder / "two", 2) as two:
        for size in SIZES:
            times = [timed_round(workspace, size, n, one, two) for n in range(ROUNDS[size])]
            local, alone, shared = (min(column) for column in zip(*times))
            # Noise, if it is less than nothing.
            overheads[size] = max(alone - local, 0) / len(ARCHS)
            print(f"  {size:6}  {local / len(ARCHS):6.2f}  {local:5.1f}  {alone:8.1f}  {shared:9.1f}"
                  f"  {overheads[size]:8.2f}", flush=True)
    # In small links the overhead is most of the time.
    overhead = overheads["small"]
    print(f"  With C local jobs and W workers distributing pays from {overhead:.2f} s * C / (W - C) "
          f"a link on; with one job and two workers, from {overhead:.2f} s on.", flush=True)


def timed_round(workspace, size, number, one, two):
    package = f"{size}_{number}"
    write(workspace, package, number, SIZES[size])
    return (
        timed(workspace, package, "out", 1),
        timed(workspace, package, "remote", 1, one),
        timed(workspace, package, "other", 2, two),
    )


def write(workspace, package, number, kernels):
    folder = workspace.examples / package
    folder.mkdir()
    (folder / "BUILD.bazel").write_text(BUILD.format(archs=str(ARCHS).replace("'", '"')))
    text = "".join(KERNEL.format(round=number, n=n) for n in range(kernels))
    (folder / "kernels.cu").write_text(text)


def timed(workspace, package, output, jobs, nodes=None):
    """Seconds from the objects to the images; the tools are at the workers before."""
    for target in (f"//{package}:kernels", "//cuda:device"):
        workspace.build(output=output, remote=nodes, targets=[target])
    begin = time.monotonic()
    # The first node has no queue: what comes while it works goes to the second.
    workspace.build(f"--jobs={jobs}", "--output_groups=images", output=output, remote=nodes,
                    targets=[f"//{package}:device"])
    return time.monotonic() - begin

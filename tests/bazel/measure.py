"""What it costs to send a device link to a worker, and from which size on that pays."""

import time

from workers import Nodes

ARCHS = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_120"]
# Kernels of the two sizes of links.
SIZES = {"small": 1, "large": 150}

BUILD = """load("@offlink//:defs.bzl", "cuda_library", "offload_library")

cuda_library(
    name = "kernels",
    srcs = ["kernels.cu"],
    archs = {archs},
)

offload_library(
    name = "device",
    kinds = ["cuda"],
    targets = {{"cuda": {archs}}},
    deps = [":kernels"],
)
"""
KERNEL = """__global__ void kernel_{n}(float *values, int count) {{
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
    overheads = []
    for size, kernels in SIZES.items():
        write(workspace, size, kernels)
        local = timed(workspace, size, "out", None)
        with Nodes(workspace.folder, 1) as nodes:
            one = timed(workspace, size, "remote", nodes)
        with Nodes(workspace.folder, 2) as nodes:
            two = timed(workspace, size, "other", nodes)
            share = nodes.actions()
        link = local / len(ARCHS)
        overhead = (one - local) / len(ARCHS)
        overheads.append(overhead)
        print(f"  {size:6}  {link:6.2f}  {local:5.1f}  {one:8.1f}  {two:9.1f}  {overhead:8.2f}"
              f"   (shared {share[0]} to {share[1]})")
    overhead = max(overheads)
    print(f"  C local jobs and W workers: distributing pays from {overhead:.2f} s * C / (W - C) a "
          f"link; for one job and two workers {overhead:.2f} s", flush=True)


def write(workspace, size, kernels):
    folder = workspace.examples / size
    folder.mkdir()
    (folder / "BUILD.bazel").write_text(BUILD.format(archs=str(ARCHS).replace("'", '"')))
    text = "".join(KERNEL.format(n=n) for n in range(kernels))
    (folder / "kernels.cu").write_text(text)


def timed(workspace, size, output, nodes):
    """Seconds from the objects to the images; the tools are at the workers before."""
    targets = [f"//{size}:kernels"]
    workspace.build(output=output, remote=nodes, targets=targets)
    # Puts the tools into the store.
    workspace.build(output=output, remote=nodes, targets=["//cuda:device"])
    jobs = [] if nodes else ["--jobs=1"]
    begin = time.monotonic()
    workspace.build(*jobs, "--output_groups=images", output=output, remote=nodes,
                    targets=[f"//{size}:device"])
    return time.monotonic() - begin

"""The tools of device links, as a toolchain.

Tools and libraries are labels, so that an action has them as inputs wherever it
runs; nothing is searched for on the machine that runs Bazel.
"""

OfflinkToolchainInfo = provider(
    doc = "offlink and the tools that it runs.",
    fields = {
        "command": "File that actions run: offlink, or its loader.",
        "prefix": "Files and flags that stand in front of offlink's arguments.",
        "runtime": "depset of what offlink needs to start.",
        "config": "File: the toolchain file (offlink.toml).",
        "tools": "dict of depsets: by a key of offlink.toml, what that tool or library consists of.",
        "host_triple": "Triple of the programs that are built.",
        "movable": "Whether no path of a tool depends on a configuration.",
    },
)

# Attributes that name one program or library each, by the keys of offlink.toml.
_TOOLS = ["ptxas", "nvlink", "lld", "spirv-link", "host-linker", "cc"]
_LIBRARIES = ["llvm", "libdevice"]

# By the beginning of a triple, the keys whose files its links need.
_NEEDS = {
    "amdgcn": ["lld", "rocm-device-libs"],
    "nvptx64": ["ptxas", "nvlink", "libdevice"],
    "spirv64": ["spirv-link"],
}
_NEEDS_OF_CPUS = ["host-linker"]

def device_files(offlink, triple):
    """What a link for a triple opens besides its own inputs.

    Args:
      offlink: an OfflinkToolchainInfo.
      triple: the device triple.

    Returns:
      A list of depsets.
    """
    needs = _NEEDS.get(triple.split("-")[0], _NEEDS_OF_CPUS)
    return [depset([offlink.config])] + [offlink.tools[key] for key in needs + ["llvm"] if key in offlink.tools]

def _attribute(key):
    return key.replace("-", "_")

def _quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')

def _offlink_toolchain_impl(ctx):
    config = ctx.actions.declare_file(ctx.label.name + ".toml")

    # Paths in the file start at its folder; actions run some folders above that.
    up = "../" * len(config.dirname.split("/"))
    launcher = []
    if ctx.file.loader:
        library_path = [up + path for path in _folders(ctx.files.libs)]
        launcher = [up + ctx.file.loader.path, "--library-path", ":".join(library_path)]

    lines = ["hermetic = true", "", "[tools]"]
    files = {}
    for key in _TOOLS:
        tool = getattr(ctx.attr, _attribute(key))
        if tool:
            info = tool[DefaultInfo]
            words = launcher + [up + getattr(ctx.file, _attribute(key)).path]
            lines.append("%s = [%s]" % (key, ", ".join([_quoted(word) for word in words])))
            files[key] = depset(transitive = [info.files, info.default_runfiles.files])
    for key in _LIBRARIES:
        file = getattr(ctx.file, _attribute(key))
        if file:
            lines.append("%s = %s" % (key, _quoted(up + file.path)))
            files[key] = depset([file])
    if ctx.files.rocm_device_libs:
        folders = _folders(ctx.files.rocm_device_libs)
        if len(folders) > 1:
            fail("rocm_device_libs lie in several folders, but offlink takes one: " + ", ".join(folders))
        lines.append("rocm-device-libs = " + _quoted(up + folders[0]))
        files["rocm-device-libs"] = depset(ctx.files.rocm_device_libs)
    if ctx.attr.environment:
        lines += ["", "[environment]"]
        lines += ["%s = %s" % (_quoted(name), _quoted(ctx.attr.environment[name])) for name in sorted(ctx.attr.environment)]
    ctx.actions.write(config, "\n".join(lines) + "\n")

    loaded = [depset(ctx.files.libs)]
    if ctx.file.loader:
        loaded.append(depset([ctx.file.loader]))
    offlink = ctx.file.offlink
    command = offlink
    prefix = []
    if ctx.file.loader and not ctx.attr.offlink_is_static:
        command = ctx.file.loader
        prefix = ["--library-path", ":".join(_folders(ctx.files.libs)), offlink]
    runtime = depset([offlink], transitive = loaded + [ctx.attr.offlink[DefaultInfo].default_runfiles.files])

    used = depset(transitive = files.values() + loaded).to_list()
    return [
        platform_common.ToolchainInfo(offlink = OfflinkToolchainInfo(
            command = command,
            prefix = prefix,
            runtime = runtime,
            config = config,
            tools = files,
            host_triple = ctx.attr.host_triple,
            movable = all([file.is_source for file in used]),
        )),
        DefaultInfo(files = depset([config])),
    ]

def _folders(files):
    return {file.dirname: None for file in files}.keys()

def _tool(doc):
    return attr.label(allow_single_file = True, cfg = "exec", doc = doc)

offlink_toolchain = rule(
    doc = """offlink and the tools that it runs.

What no target needs can be left out: an action that needs it fails and names the key.
The tools are for the execution platform; `host_triple` is the target platform's. Both
are said of a toolchain in `exec_compatible_with` and `target_compatible_with` of the
`toolchain` that goes with it.""",
    implementation = _offlink_toolchain_impl,
    attrs = {
        "offlink": attr.label(
            allow_single_file = True,
            cfg = "exec",
            mandatory = True,
            doc = "offlink itself.",
        ),
        "host_triple": attr.string(
            mandatory = True,
            doc = "The triple of the programs that are built, such as x86_64-unknown-linux-gnu.",
        ),
        "llvm": _tool("libLLVM, which offlink opens where there is bitcode to link."),
        "ptxas": _tool("NVIDIA's assembler."),
        "nvlink": _tool("NVIDIA's linker, for relocatable objects and big links."),
        "lld": _tool("ld.lld, for AMD's images."),
        "spirv_link": _tool("spirv-link, where SPIR-V modules join."),
        "libdevice": _tool("libdevice.10.bc."),
        "rocm_device_libs": attr.label_list(
            allow_files = True,
            cfg = "exec",
            doc = "ROCm's device libraries (ocml.bc ...), all of one folder.",
        ),
        "host_linker": _tool("The compiler driver that links CPU images; by default the C++ toolchain's."),
        "cc": _tool("The compiler driver that makes registration objects for hosts other than x86-64 Linux; by default the C++ toolchain's."),
        "loader": attr.label(
            allow_single_file = True,
            cfg = "exec",
            doc = "The dynamic loader (ld-linux-x86-64.so.2) that starts offlink and its tools, where actions have no /lib.",
        ),
        "libs": attr.label_list(
            allow_files = True,
            cfg = "exec",
            doc = "Shared libraries that the loader finds, or that lie where tools look for theirs.",
        ),
        "offlink_is_static": attr.bool(
            doc = "offlink starts without the loader.",
        ),
        "environment": attr.string_dict(
            doc = "What the tools see of an environment; nothing else is in it.",
        ),
    },
)

"""The actions of a device link: offlink's single steps."""

load("@rules_cc//cc:action_names.bzl", "CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME", "C_COMPILE_ACTION_NAME")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("//:toolchain.bzl", "device_files")

# Arguments are made of File objects and not of paths, so that Bazel may rename folders of
# configurations.
_MOVABLE = {"supports-path-mapping": "1"}

def _path(ctx, name):
    return "%s.offload/%s" % (ctx.label.name, name)

def _folder_of(file):
    return file.dirname

def _way_out(file):
    """How paths in the toolchain file begin, which Bazel's lists don't have."""
    return file.dirname + "/" + "../" * len(file.dirname.split("/"))

def _run(ctx, offlink, step, args, inputs = [], **kwargs):
    front = ctx.actions.args()
    for word in offlink.prefix:
        front.add(word)
    front.add(step)
    args.use_param_file("--params=%s", use_always = True)
    args.set_param_file_format("multiline")
    ctx.actions.run(
        executable = offlink.command,
        arguments = [front, args] + kwargs.pop("more", []),
        inputs = depset(transitive = [offlink.runtime] + inputs),
        execution_requirements = _MOVABLE if kwargs.pop("movable", offlink.movable) else {},
        # Nothing of the environment is wanted.
        env = kwargs.pop("env", {}),
        **kwargs
    )

def extract(ctx, offlink, targets, objects):
    """Takes the device code out of host objects, by target.

    A change of host code leaves the outputs as they are.

    Args:
      ctx: the rule's.
      offlink: an OfflinkToolchainInfo.
      targets: all targets that there is device code for.
      objects: the host objects, and archives of them.

    Returns:
      A struct of `code`, `link` (by folder) and `wrap` (by kind): device code, and what
      the steps behind have to be told.
    """
    code = {}
    link_arguments = {}
    wrap_arguments = {}
    args = ctx.actions.args()
    for target in targets:
        folder = target.folder
        code[folder] = ctx.actions.declare_directory(_path(ctx, folder))
        link_arguments[folder] = ctx.actions.declare_file(_path(ctx, folder + ".link"))
        if target.kind not in wrap_arguments:
            wrap_arguments[target.kind] = ctx.actions.declare_file(_path(ctx, target.kind + ".wrap"))
        args.add(folder, format = "--expect=%s")
    args.add("--arguments")
    args.add_all([wrap_arguments[targets[0].kind]], before_each = "-o", map_each = _folder_of)
    for image, description in ctx.attr.images.items():
        for file in image[DefaultInfo].files.to_list():
            args.add(file, format = "--image=file=%s," + description.replace("%", "%%"))
    args.add_all(objects)
    _run(
        ctx,
        offlink,
        "extract",
        args,
        inputs = [depset(objects + ctx.files.images)],
        outputs = code.values() + link_arguments.values() + wrap_arguments.values(),
        mnemonic = "OffloadExtract",
        progress_message = "Extracting device code of %s" % ctx.label,
    )
    return struct(code = code, link = link_arguments, wrap = wrap_arguments)

def link(ctx, host, target, extracted):
    """Links the device code for one target.

    Args:
      ctx: the rule's.
      host: the toolchains and features.
      target: the target.
      extracted: what `extract` returned.

    Returns:
      The image.
    """
    offlink = host.offlink
    image = ctx.actions.declare_file(_path(ctx, target.folder + ".image"))
    unused = ctx.actions.declare_file(_path(ctx, target.folder + ".unused"))
    code = extracted.code[target.folder]
    symbols = extracted.link[target.folder]

    args = ctx.actions.args()
    args.add(offlink.config, format = "--toolchain=%s")
    args.add(target.triple, format = "--triple=%s")
    args.add(target.arch, format = "--arch=%s")
    args.add("-o", image)
    args.add(unused, format = "--unused-inputs-list=%s")
    args.add_all([offlink.config], map_each = _way_out, format_each = "--path-prefix-map=%s=")
    args.add_all(ctx.files.device_libs, format_each = "--device-lib=%s")
    args.add_all(ctx.attr.link_flags)
    inputs = [depset([code, symbols] + ctx.files.device_libs)] + device_files(offlink, target.triple)
    env = {}
    movable = offlink.movable
    is_cpu = target.triple.split("-")[0] not in ["amdgcn", "nvptx64", "spirv64"]
    if is_cpu and "host-linker" not in offlink.tools:
        env = _link_as_host(host, args)
        inputs.append(host.cc.all_files)
        movable = False
    args.add_all([code])

    # A file of arguments can't name another.
    more = ctx.actions.args()
    more.add(symbols, format = "--params=%s")
    _run(
        ctx,
        offlink,
        "link",
        args,
        movable = movable,
        more = [more],
        env = env,
        inputs = inputs,
        outputs = [image, unused],
        unused_inputs_list = unused,
        mnemonic = "OffloadLinkHost" if is_cpu else "OffloadLink",
        progress_message = "Linking device code of %s for %s" % (ctx.label, target.arch),
    )
    return image

# What a driver is told about how it links. The rest of a C++ toolchain's flags is for
# programs; an image has no libraries of its own.
_DRIVER_FLAGS = ["--target=", "--sysroot=", "--gcc-toolchain=", "--ld-path=", "-fuse-ld=", "-B"]

def _link_variables(host):
    return cc_common.create_link_variables(
        feature_configuration = host.features,
        cc_toolchain = host.cc,
        is_linking_dynamic_library = True,
        user_link_flags = host.linkopts,
    )

def _driver_flags(host):
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = host.features,
        action_name = CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME,
        variables = _link_variables(host),
    )
    return [flag for flag in flags if any([flag.startswith(known) for known in _DRIVER_FLAGS])]

def _link_as_host(host, args):
    """Lets the C++ toolchain's linker make a CPU's image; returns its environment."""
    action = CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME
    args.add("--host-linker")
    args.add(cc_common.get_tool_for_action(
        feature_configuration = host.features,
        action_name = action,
    ))
    args.add_all(_driver_flags(host), format_each = "--driver-arg=%s")
    return cc_common.get_environment_variables(
        feature_configuration = host.features,
        action_name = action,
        variables = _link_variables(host),
    )

def flags_that_keep_entries(host):
    """What programs are linked with.

    lld drops sections that only `__start_` and `__stop_` symbols refer to, which is how
    a runtime finds the entries. Other linkers keep them, and gold refuses the flag.

    Args:
      host: the toolchains and features.

    Returns:
      Flags of a compiler driver.
    """
    names_lld = any(["lld" in flag and "ld" in flag.split("=")[0] for flag in _driver_flags(host)])
    return ["-Wl,-z,nostart-stop-gc"] if names_lld else []

def bundle(ctx, offlink, kind, linked):
    """Puts the images of one kind into the container that its runtime reads.

    Args:
      ctx: the rule's.
      offlink: an OfflinkToolchainInfo.
      kind: who launches the kernels.
      linked: targets and their images.

    Returns:
      The container.
    """
    container = ctx.actions.declare_file(_path(ctx, kind + ".bundle"))
    args = ctx.actions.args()
    args.add("-o", container)
    args.add(offlink.host_triple, format = "--host-triple=%s")
    for target, image in linked:
        args.add(image, format = "--image=file=%%s,triple=%s,arch=%s,kind=%s" % (target.triple, target.arch, kind))
    _run(
        ctx,
        offlink,
        "bundle",
        args,
        inputs = [depset([image for _, image in linked])],
        outputs = [container],
        mnemonic = "OffloadBundle",
        progress_message = "Bundling device images of %s" % ctx.label,
    )
    return container

def wrap(ctx, host, kind, container, extracted):
    """Makes the host object that registers a container.

    Args:
      ctx: the rule's.
      host: the toolchains and features.
      kind: who launches the kernels.
      container: what `bundle` returned.
      extracted: what `extract` returned.

    Returns:
      The object.
    """
    offlink = host.offlink
    entries = extracted.wrap[kind]
    registration = ctx.actions.declare_file(_path(ctx, kind + ".o"))
    args = ctx.actions.args()
    args.add("-o", registration)
    args.add(offlink.config, format = "--toolchain=%s")
    args.add(offlink.host_triple, format = "--host-triple=%s")
    inputs = [depset([container, entries, offlink.config])]

    # offlink has the code for x86-64 Linux with it; a compiler makes that of others.
    if not (offlink.host_triple.startswith("x86_64-") and "linux" in offlink.host_triple):
        inputs += [offlink.tools.get("cc", depset()), host.cc.all_files]
        if "cc" not in offlink.tools:
            args.add("--cc", cc_common.get_tool_for_action(
                feature_configuration = host.features,
                action_name = C_COMPILE_ACTION_NAME,
            ))
    args.add(container)
    more = ctx.actions.args()
    more.add(entries, format = "--params=%s")
    _run(
        ctx,
        offlink,
        "wrap",
        args,
        more = [more],
        inputs = inputs,
        outputs = [registration],
        mnemonic = "OffloadWrap",
        progress_message = "Wrapping device images of %s" % ctx.label,
    )
    return registration

"""Device links: one action for each architecture, whose images a library registers."""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//private:device_link.bzl", "bundle", "extract", "flags_that_keep_entries", "link", "wrap")
load("//private:settings.bzl", "StringListInfo")
load("//private:targets.bzl", "KINDS", "device_target")

_TOOLCHAIN = Label("//:toolchain_type")

def _offload_library_impl(ctx):
    offlink = ctx.toolchains[_TOOLCHAIN].offlink
    cc = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    host = struct(
        offlink = offlink,
        cc = cc,
        features = features,
        linkopts = ctx.fragments.cpp.linkopts,
    )
    targets = _targets(ctx)

    extracted = extract(ctx, offlink, targets, _objects(ctx))
    objects = []
    images = []
    for kind in [kind for kind in KINDS if kind in ctx.attr.kinds]:
        of_kind = [target for target in targets if target.kind == kind]
        linked = [link(ctx, host, target, extracted) for target in of_kind]
        images += linked
        container = bundle(ctx, offlink, kind, zip(of_kind, linked))
        objects.append(wrap(ctx, host, kind, container, extracted))

    outputs = cc_common.create_compilation_outputs(
        objects = depset(objects),
        # Made without text relocations, so they fit into any program and library.
        pic_objects = depset(objects),
    )
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = cc,
        compilation_outputs = outputs,
        user_link_flags = flags_that_keep_entries(host),
        alwayslink = True,
        disallow_dynamic_library = True,
    )
    return [
        DefaultInfo(files = depset(objects)),
        cc_common.merge_cc_infos(
            direct_cc_infos = [CcInfo(linking_context = linking)],
            cc_infos = [_without_dynamic_libraries(ctx, host, dep[CcInfo]) for dep in ctx.attr.deps],
        ),
        OutputGroupInfo(images = depset(images)),
    ]

def _targets(ctx):
    """The targets of all kinds."""
    settings = {
        "cuda": ctx.attr._cuda_archs,
        "hip": ctx.attr._hip_archs,
        "openmp": ctx.attr._openmp_targets,
    }
    targets = []
    for kind in ctx.attr.kinds:
        if kind not in KINDS:
            fail("%s: '%s' is no kind; kinds are %s" % (ctx.label, kind, ", ".join(KINDS)))
        setting = settings[kind]
        names = ctx.attr.targets.get(kind) or setting[StringListInfo].values
        if not names:
            fail("%s: kind %s has no targets: name some in `targets`, or set --%s" % (ctx.label, kind, setting.label))
        targets += [device_target(kind, name) for name in names]
    for kind in ctx.attr.targets:
        if kind not in ctx.attr.kinds:
            fail("%s: `targets` has kind %s, which is not in `kinds`" % (ctx.label, kind))
    return targets

def _objects(ctx):
    """What the host links of deps: objects, or archives where there are none."""
    files = []
    for dep in ctx.attr.deps:
        for linked in dep[CcInfo].linking_context.linker_inputs.to_list():
            for library in linked.libraries:
                forms = [
                    (library.objects, library.static_library),
                    (library.pic_objects, library.pic_static_library),
                ]

                # Host code of both forms may know device variables by other names, so
                # the form is the host link's: the first that there is for programs.
                for objects, archive in reversed(forms) if ctx.attr.linkshared else forms:
                    found = objects or ([archive] if archive else [])
                    if found:
                        files += found
                        break
    return depset(files).to_list()

def _without_dynamic_libraries(ctx, host, info):
    """Leaves the static form only: entries are registered for the file that they are in."""
    linker_inputs = []
    for linked in info.linking_context.linker_inputs.to_list():
        libraries = []
        for library in linked.libraries:
            if library.dynamic_library and (library.static_library or library.pic_static_library):
                library = cc_common.create_library_to_link(
                    actions = ctx.actions,
                    feature_configuration = host.features,
                    cc_toolchain = host.cc,
                    static_library = library.static_library,
                    pic_static_library = library.pic_static_library,
                    alwayslink = library.alwayslink,
                )
            libraries.append(library)
        linker_inputs.append(cc_common.create_linker_input(
            owner = linked.owner,
            libraries = depset(libraries),
            user_link_flags = depset(linked.user_link_flags),
            additional_inputs = depset(linked.additional_inputs),
        ))
    return CcInfo(
        compilation_context = info.compilation_context,
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(linker_inputs, order = "topological"),
        ),
    )

offload_library = rule(
    doc = """Links the device code of `deps` for each target, and registers the images.

A program that depends on this library has `deps`, and their kernels on all targets.
`deps` are any targets that give a CcInfo, compiled by any compiler that leaves device
code in its objects (`.llvm.offloading`), or with device code of their own in `images`.""",
    implementation = _offload_library_impl,
    attrs = {
        "deps": attr.label_list(
            providers = [CcInfo],
            doc = "Libraries whose device code is linked, with all that they depend on.",
        ),
        "kinds": attr.string_list(
            mandatory = True,
            doc = "Who launches the kernels: cuda, hip, openmp, or several.",
        ),
        "targets": attr.string_list_dict(
            doc = """For kinds, the targets: an architecture ("sm_90"), for OpenMP also a triple
("x86_64-pc-linux-gnu") or both ("nvptx64-nvidia-cuda:sm_90"). By default what
--@offlink//:cuda_archs, :hip_archs and :openmp_targets say. Device code for another
target is an error, and so is a target without device code.""",
        ),
        "images": attr.label_keyed_string_dict(
            allow_files = True,
            doc = """More device code, with its target in offlink's notation:
"triple=nvptx64-nvidia-cuda,arch=sm_90,kind=openmp".""",
        ),
        "device_libs": attr.label_list(
            allow_files = True,
            doc = "Libraries of device code (archives or bitcode), of which each link takes what it needs.",
        ),
        "link_flags": attr.string_list(
            doc = "More arguments of `offlink link`, such as -O2 or --ptxas-arg=-v.",
        ),
        "linkshared": attr.bool(
            doc = "The library goes into a shared library: take the objects that are made for those.",
        ),
        "_cuda_archs": attr.label(default = "//:cuda_archs"),
        "_hip_archs": attr.label(default = "//:hip_archs"),
        "_openmp_targets": attr.label(default = "//:openmp_targets"),
    },
    fragments = ["cpp"],
    toolchains = [str(_TOOLCHAIN)] + use_cc_toolchain(),
)

"""The names of device targets, as offlink has them."""

# What a bare architecture of a kind stands for.
_TRIPLES = {
    "cuda": "nvptx64-nvidia-cuda",
    "hip": "amdgcn-amd-amdhsa",
}

KINDS = ["cuda", "hip", "openmp"]

def device_target(kind, name):
    """Reads the name of a target.

    Args:
      kind: who launches the kernels: cuda, hip or openmp.
      name: an architecture ("sm_90", "gfx90a:xnack+"), for OpenMP also a triple that
        has none ("x86_64-pc-linux-gnu"), or both ("nvptx64-nvidia-cuda:sm_90").

    Returns:
      A struct of kind, triple, arch, and the folder that `offlink extract` has for it.
    """
    triple = _TRIPLES.get(kind)
    arch = name
    if name.count("-") > 1:
        triple, _, arch = name.partition(":")
    elif not triple and name.startswith("sm_"):
        triple = _TRIPLES["cuda"]
    elif not triple and name.startswith("gfx"):
        triple = _TRIPLES["hip"]
    if not triple:
        fail("'%s' is no target of kind %s: name an architecture, or TRIPLE:ARCH" % (name, kind))
    arch = arch or "generic"
    return struct(
        kind = kind,
        triple = triple,
        arch = arch,
        folder = "-".join([kind, triple, arch]).replace(":", "-"),
    )

"""Names of Bazel's, under which a file can hand them on."""

builtin_cc_common = cc_common
builtin_cc_info = CcInfo

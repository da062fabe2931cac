"""Bazel's own cc_library."""

cc_library = native.cc_library

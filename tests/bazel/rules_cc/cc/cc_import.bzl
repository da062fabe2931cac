"""Bazel's own cc_import."""

cc_import = native.cc_import

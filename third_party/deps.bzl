"""tracekiln_deps(): every external repository, unless the workspace already has one of that name."""

load("//third_party:python.bzl", "system_python")
load("//third_party:clang.bzl", "clang_toolchain")
load("//third_party:cupti.bzl", "cupti_repository")
load("//third_party:absl.bzl", "absl_repository")
load("//third_party:shims.bzl", "config_repository", "coverage_tools_repository", "shim_repository")
load("//third_party:system.bzl", "system_library", "system_protobuf")

def _maybe(rule, name, **kwargs):
    if name not in native.existing_rules():
        rule(name = name, **kwargs)

def tracekiln_deps():
    for name in ["rules_cc", "rules_java", "rules_proto", "rules_python"]:
        _maybe(shim_repository, name, shim = name)
    _maybe(coverage_tools_repository, "remote_coverage_tools")
    _maybe(config_repository, "tracekiln_config")
    _maybe(absl_repository, "com_google_absl")
    _maybe(system_protobuf, "com_google_protobuf")
    _maybe(
        system_library,
        "com_googlesource_code_re2",
        package = "libre2-dev",
        headers = ["re2/re2.h"],
        libs = {"re2": "re2"},
        linkopts = ["-pthread"],
    )
    _maybe(
        system_library,
        "com_google_googletest",
        package = "libgtest-dev libgmock-dev",
        headers = ["gtest/gtest.h", "gmock/gmock.h"],
        libs = {"gtest_only": "gtest", "gtest": "gmock", "gtest_main": "gmock_main"},
        lib_deps = {"gtest": [":gtest_only"], "gtest_main": [":gtest"]},
        linkopts = ["-pthread"],
    )
    _maybe(
        system_library,
        "com_github_google_benchmark",
        package = "libbenchmark-dev",
        headers = ["benchmark/benchmark.h"],
        libs = {"benchmark": "benchmark", "benchmark_main": "benchmark_main"},
        lib_deps = {"benchmark_main": [":benchmark"]},
        linkopts = ["-pthread"],
    )
    _maybe(system_library, "zlib", package = "zlib1g-dev", headers = ["zlib.h"], libs = {"zlib": "z"})
    _maybe(system_library, "zstd", package = "libzstd-dev", headers = ["zstd.h"], libs = {"zstd": "zstd"})
    _maybe(system_library, "libdeflate", package = "libdeflate-dev", headers = ["libdeflate.h"], libs = {"libdeflate": "deflate"})
    _maybe(system_library, "isal", package = "libisal-dev", headers = ["isa-l.h"], libs = {"isal": "isal"})
    _maybe(
        system_library,
        "simdjson",
        package = "libsimdjson-dev",
        headers = ["simdjson.h"],
        libs = {"simdjson": "simdjson"},
        defines = ["SIMDJSON_THREADS_ENABLED=1"],
    )
    _maybe(system_library, "protozero", package = "libprotozero-dev", headers = ["protozero/pbf_writer.hpp"], header_only = ["protozero"])
    _maybe(cupti_repository, "cupti")
    _maybe(clang_toolchain, "local_config_cc_clang")
    _maybe(system_python, "system_python")

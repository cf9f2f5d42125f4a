"""tracekiln_fuzz_test: with --config=fuzz a libFuzzer binary; without it a test that runs the target over its corpus."""

load("@rules_cc//cc:defs.bzl", "cc_test")

def tracekiln_fuzz_test(name, srcs, deps, corpus = [], **kwargs):
    cc_test(
        name = name,
        srcs = srcs,
        deps = deps + select({
            "//third_party/fuzz:fuzzing": [],
            "//conditions:default": ["//third_party/fuzz:replay_main"],
        }),
        linkopts = select({
            "//third_party/fuzz:fuzzing": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        data = corpus,
        size = "small",
        tags = ["fuzz"],
        args = select({
            "//third_party/fuzz:fuzzing": ["-runs=0"],
            "//conditions:default": [],
        }) + ["$(location %s)" % c for c in corpus],
        **kwargs
    )

#!/usr/bin/python3
"""Writes compile_commands.json, from Bazel's own action graph, for clang-tidy and clangd.

    compile_commands.py [OUTPUT]        default: compile_commands.json in the checkout

The commands are those of --config=clang. Headers that protoc generates are built first, so that they can be included.
"""
import json
import os
import subprocess
import sys

CONFIG = ["--config=clang", "--features=-layering_check"]


def bazel(*arguments):
    command = ["bazel", *arguments]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit("%s\n%s failed" % (run.stderr, " ".join(command)))
    return run.stdout


def main():
    os.chdir(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))
    output = sys.argv[1] if len(sys.argv) > 1 else "compile_commands.json"
    generated = bazel("query", "kind('cc_proto_library rule', //...)").split()
    if generated:
        bazel("build", *CONFIG, *generated)
    graph = json.loads(bazel("aquery", "--output=jsonproto", *CONFIG, 'mnemonic("CppCompile", //...)'))
    # Sources by their place in the checkout; Bazel's own directories by full path, wherever its links point at the time.
    places = {"bazel-out/": bazel("info", "output_path").strip() + "/", "external/": bazel("info", "output_base").strip() + "/external/"}
    commands = {}
    for action in graph["actions"]:
        arguments = action["arguments"]
        source = arguments[arguments.index("-c") + 1]
        if source.endswith((".cc", ".c")) and not source.startswith(("bazel-out/", "external/")):
            for short, full in places.items():
                arguments = [full + a[len(short) :] if a.startswith(short) else a for a in arguments]
            commands.setdefault(source, {"directory": os.getcwd(), "file": source, "arguments": arguments})
    with open(output, "w") as file:
        json.dump([commands[source] for source in sorted(commands)], file, indent=1)
    print("%s: %d files" % (output, len(commands)), file=sys.stderr)


if __name__ == "__main__":
    main()

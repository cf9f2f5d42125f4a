"""A repository of a library that the distribution installed under /usr: headers from /usr/include, which every
compiler searches anyway (declaring them again would only slow the sandbox down and turn off the system-header
status that keeps their warnings quiet), the library as .a where the distribution has one, as .so otherwise and under --@tracekiln_config//:link_shared."""

def _lib(ctx, file):
    for d in ["/usr/lib/" + ctx.attr.multiarch, "/usr/lib64", "/usr/lib"]:
        p = ctx.path(d + "/" + file)
        if p.exists:
            return p
    return None

def _impl(ctx):
    for h in ctx.attr.headers:
        if not ctx.path("/usr/include/" + h).exists:
            fail("%s not found: install %s" % (h, ctx.attr.package))
    out = ["package(default_visibility = [\"//visibility:public\"])", ""]
    for name, lib in ctx.attr.libs.items():
        a = _lib(ctx, "lib%s.a" % lib)
        so = _lib(ctx, "lib%s.so" % lib)
        if not a and not so:
            fail("lib%s not found: install %s" % (lib, ctx.attr.package))
        if a:
            ctx.symlink(a, "lib/lib%s.a" % lib)
        archive = "[\"lib/lib%s.a\"]" % lib
        shared = "[\"-Wl,--push-state,--as-needed\", \"-l%s\", \"-Wl,--pop-state\"]" % lib
        pick = "select({\"//conditions:default\": %s, \"@tracekiln_config//:shared_deps\": %s})"
        out += [
            "cc_library(",
            "    name = %r," % name,
            "    srcs = %s," % (pick % (archive, "[]") if a and so else archive if a else "[]"),
            "    linkopts = %s + %r," % (pick % ("[]", shared) if a and so else "[]" if a else shared, ctx.attr.linkopts),
            "    defines = %r," % ctx.attr.defines,
            "    deps = %r," % (ctx.attr.deps + ctx.attr.lib_deps.get(name, [])),
            ")",
            "",
        ]
    for name in ctx.attr.header_only:
        out += ["cc_library(name = %r)" % name, ""]
    for name, actual in ctx.attr.aliases.items():
        out += ["alias(name = %r, actual = %r)" % (name, actual), ""]
    ctx.file("WORKSPACE", "workspace(name = %r)\n" % ctx.name, executable = False)
    ctx.file("BUILD", "\n".join(out), executable = False)

system_library = repository_rule(
    implementation = _impl,
    local = True,
    attrs = {
        "multiarch": attr.string(default = "x86_64-linux-gnu"),
        "package": attr.string(mandatory = True, doc = "Debian package, for the error message"),
        "headers": attr.string_list(),
        "header_only": attr.string_list(doc = "names of targets without a library"),
        "libs": attr.string_dict(doc = "target name -> library name"),
        "lib_deps": attr.string_list_dict(doc = "target name -> deps of that target only"),
        "deps": attr.string_list(),
        "defines": attr.string_list(),
        "linkopts": attr.string_list(),
        "aliases": attr.string_dict(),
    },
)

_PROTOBUF_BUILD = """
package(default_visibility = ["//visibility:public"])

exports_files(["protoc"])

cc_library(
    name = "protobuf",
    srcs = select({"@tracekiln_config//:shared_deps": [], "//conditions:default": ["lib/libprotobuf.a"]}),
    linkopts = ["-pthread"] + select({"@tracekiln_config//:shared_deps": ["-lprotobuf"], "//conditions:default": []}),
    deps = ["@zlib"],
)

cc_library(
    name = "protobuf_lite",
    srcs = select({"@tracekiln_config//:shared_deps": [], "//conditions:default": ["lib/libprotobuf-lite.a"]}),
    linkopts = ["-pthread"] + select({"@tracekiln_config//:shared_deps": ["-lprotobuf-lite"], "//conditions:default": []}),
)

alias(name = "protobuf_headers", actual = ":protobuf")

proto_lang_toolchain(
    name = "cc_toolchain",
    blacklisted_protos = [%s],
    command_line = "--cpp_out=$(OUT)",
    runtime = ":protobuf",
)
"""

_WELL_KNOWN = {
    "any": [],
    "api": ["source_context", "type"],
    "descriptor": [],
    "duration": [],
    "empty": [],
    "field_mask": [],
    "source_context": [],
    "struct": [],
    "timestamp": [],
    "type": ["any", "source_context"],
    "wrappers": [],
}

def _protobuf_impl(ctx):
    protoc = ctx.which("protoc")
    if not protoc:
        fail("protoc not found: install protobuf-compiler")
    ctx.symlink(protoc, "protoc")
    for lib in ["protobuf", "protobuf-lite"]:
        a = _lib(ctx, "lib%s.a" % lib)
        if not a:
            fail("lib%s.a not found: install libprotobuf-dev" % lib)
        ctx.symlink(a, "lib/lib%s.a" % lib)
    out = [_PROTOBUF_BUILD % ", ".join(["\":%s_proto\"" % n for n in _WELL_KNOWN])]
    for name, deps in _WELL_KNOWN.items():
        ctx.symlink("/usr/include/google/protobuf/%s.proto" % name, "google/protobuf/%s.proto" % name)
        out.append("proto_library(name = \"%s_proto\", srcs = [\"google/protobuf/%s.proto\"], deps = %r)" % (name, name, [":%s_proto" % d for d in deps]))
    ctx.file("WORKSPACE", "workspace(name = %r)\n" % ctx.name, executable = False)
    ctx.file("BUILD", "\n".join(out) + "\n", executable = False)

system_protobuf = repository_rule(
    implementation = _protobuf_impl,
    local = True,
    attrs = {"multiarch": attr.string(default = "x86_64-linux-gnu")},
)

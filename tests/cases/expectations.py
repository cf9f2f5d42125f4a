"""What the tool must do with each case of ../shared/cases that is about Chrome JSON, containers, encodings or .prof
files: case -> outcome, the warnings of `check` (all of them), and the checks of each numbered fact of its case.md."""
import collections

from tests.cases.checks import (
    actions,
    args_of,
    category,
    chain_of_functions,
    check_has,
    clocks,
    clocks_say_what_is_applied,
    convert_says,
    converts_together,
    csv_names,
    device,
    directory,
    device_rows,
    device_work,
    error,
    exports_are_strict_json,
    flows,
    folded,
    function,
    info_has,
    keeps_text,
    kernel_names_of_length,
    lacks_text,
    later,
    launches,
    metadata,
    no_finding,
    no_function,
    no_warnings,
    note,
    nothing_left,
    on,
    one_lane_per_track,
    peak_below,
    prints_sane_numbers,
    profile_finding,
    profile_has,
    report_has,
    same_profile_in_any_order,
    says_rule,
    slices,
    stacks_fewer_than,
    stats_says,
    stats_text,
    strict_error,
    together,
    tracks,
    warning,
    writes_only,
)

# `warnings` is for inputs that load: the codes that `check` reports as warnings, no more and no fewer; a dictionary
# where inputs differ. Inputs in `refused` end with an error and are checked by their facts alone.
# `commands_that_refuse`: (input, the beginning of a command) of inputs that load but can't be had in that way.
Case = collections.namedtuple("Case", "outcome facts warnings refused commands_that_refuse", defaults=((), (), ()))

KERNEL_TABLE = "tables of kernels (least) are an analysis of their own"
QUEUE = "queue length is an analysis of its own"
BREAKDOWN = "communication against computation is an analysis of its own (one classifier of kernels in analysis/views)"
COLLECTIVES = "collectives by process group are an analysis of their own"
BANDWIDTH = "no table shows bandwidths yet"

RANK = ("aten::mm", "20"), ("cudaLaunchKernel", "2"), ("gemm", "30")
PAIR = ("a", "10"), ("b", "5")
# What `info` finds in directories.
COORDINATOR = "coordinator", ["nodea_4700.async_llm.1772000000000000001.pt.trace.json"]
LEFTOVERS = (
    ("empty_file", ["rank2.json"]),
    ("missing_rank", []),
    ("leftover", ["._rank0.json"]),
    ("leftover", ["rank1.json.tmp"]),
    ("text", ["notes.txt"]),
)

CHECKPOINT = "[Callback]ModelCheckpoint{'monitor': 'val/f1', 'mode': 'max', 'every_n_epochs': 2}.on_fit_end"
SLASH_FILES = (
    "input.d/fit-perf_logs-%s.prof" % CHECKPOINT,
    "input.d/fit-perf_logs-[Strategy]SingleDeviceStrategy.on_train_end.prof",
)
BRACKET_ACTIONS = (
    ("fit", 0, "[Callback]EarlyStopping{'monitor': 'val_loss', 'mode': 'min'}.on_fit_end"),
    ("fit", 0, "[LightningDataModule]my-data.setup"),
    ("fit", 0, "run_training_epoch"),
    ("fit", 1, "[Callback]TQDMProgressBar.on_fit_end"),
    ("validate", 0, "[Strategy]DDPStrategy.validation_step"),
)
LONG_ACTION = "[Callback]" + "VeryDescriptiveCallbackName" * 8 + "VeryDes"
DISABLE = "{method 'disable' of '_lsprof.Profiler' objects}"
GIANTS = ("input.tuple.prof", "input.string.prof", "input.long.prof", "input.negative.prof", "input.unterminated.prof")
CYCLES = ("input.dict.prof", "input.tuple.prof", "input.index.prof")

CASES = {
    "003-trailing-comma-in-events": Case(
        "warn",
        {
            "F1": [slices(("Read", "8123.5"), ("Decode", "77001.125"))],
            "F2": [
                warning("repaired.trailing_comma", count=1, at=[236]),
                convert_says(r"trailing_comma: 1 \(byte 236\)"),
                strict_error((236, 236), "comma"),
            ],
            "F3": [exports_are_strict_json()],
        },
        ["repaired.trailing_comma"],
    ),
    "004-leading-comma": Case(
        "error",
        {
            "F1": [error(None, ".")],
            "F2": [error((1, 2), "expected a value, got `,`")],
            "F3": [nothing_left()],
        },
        refused=["input.json"],
    ),
    "005-concatenated-documents": Case(
        "error",
        {
            "F1": [error(None, ".")],
            "F2": [error((173, 175), "trailing data.*second document")],
            "F3": [nothing_left()],
            "F4": [error(None, "2 whole events precede it")],
        },
        refused=["input.json"],
    ),
    "008-invalid-utf8-name": Case(
        "warn",
        {
            "F1": [
                slices(("aten::add", "5"), ("\ufffd(\ufffd\ufffd\ufffd(0): \ufffd8c", "51234"), ("aten::mul", "7")),
            ],
            "F2": [
                warning("repaired.invalid_utf8", count=1, at=[191]),
                convert_says(r"invalid_utf8: 1 \(byte 191\)"),
                strict_error((191, 191), "invalid_utf8"),
            ],
            "F3": [exports_are_strict_json(), keeps_text("(0): ", "8c\"")],
            "F4": [keeps_text("\ufffd(0): \ufffd8c"), category("python_function", 1, "51234")],
        },
        ["repaired.invalid_utf8"],
    ),
    "009-unescaped-backslash-path": Case(
        "error",
        {
            "F1": [error(None, ".")],
            "F2": [error((221, 222), r"invalid escape `\\c`")],
            "F3": [nothing_left()],
            "F4": [error(None, r"site\\core.*unescaped backslashes, as in a Windows path")],
        },
        refused=["input.json"],
    ),
    "010-bare-inf-and-nan": Case(
        "warn",
        {
            "F1": [slices(("Memcpy HtoD (Pageable -> Device)", "0"), ("gemm", "10"), ("relu", "5"))],
            "F2": [
                warning("repaired.non_finite_number", count=3, at=[273, 454, 488]),
                convert_says(r"non_finite_number: 3 \(bytes 273, "),
                strict_error((273, 273), "non_finite_number"),
            ],
            "F3": [
                args_of("Memcpy HtoD (Pageable -> Device)", **{"memory bandwidth (GB/s)": (None, "inf")}),
                args_of("gemm", **{"warps per SM": (None, "nan"), "est. achieved occupancy %": (None, "-inf", "-Infinity")}),
            ],
            "F4": [args_of("Memcpy HtoD (Pageable -> Device)", bytes=(512,)), category("gpu_memcpy", 1, "0"), later(BANDWIDTH)],
            "F5": [exports_are_strict_json()],
        },
        ["repaired.non_finite_number"],
    ),
    "011-key-without-opening-quote": Case(
        "error",
        {
            "F1": [error(None, ".")],
            "F2": [error((261, 266), "expected an object key in quotes")],
            "F3": [nothing_left()],
        },
        refused=["input.json"],
    ),
    "014-no-duration-events": Case(
        "ok",
        {
            "F1": [
                on("input.meta.json", report_has(seen=3, imported=3)),
                on("input.meta.json", check_has(events=3, slices=0)),
                on("input.none.json", report_has(seen=0)),
                on("input.none.json", check_has(events=0, slices=0)),
            ],
            "F2": [
                on("input.meta.json", note("no_events", says="nothing to analyse")),
                on("input.none.json", note("no_events", says="nothing to analyse")),
            ],
            "F3": [
                on(name, check)
                for name in ("input.meta.json", "input.none.json")
                for check in (info_has(first_ns=None, last_ns=None, tracks=[]), check_has(devices=[], steps=0), prints_sane_numbers())
            ],
        },
    ),
    "015-empty-and-null-elements": Case(
        "warn",
        {
            "F1": [slices(*PAIR)],
            "F2": [
                report_has(seen=6, imported=2, skipped=4),
                warning("skipped.empty_object", count=2, at=[136, 300]),
                warning("skipped.null_element", count=1, at=[233]),
                warning("skipped.no_timestamp", count=1, at=[243]),
            ],
            "F3": [info_has(first_ns=0, last_ns=25000), convert_says("4 skipped")],
        },
        ["skipped.empty_object", "skipped.null_element", "skipped.no_timestamp"],
    ),
    "016-events-not-first-and-brackets-in-strings": Case(
        "ok",
        {
            "F1": [slices(*PAIR, ("c", "1"))],
            "F2": [metadata("traceName", "runs/fit-perf-[Strategy]DDPStrategy]-7.pt.trace.json")],
            "F3": [metadata("displayTimeUnit", "ms")],
            "F4": [no_warnings()],
        },
    ),
    "017-duplicate-keys": Case(
        "warn-or-error",
        {
            "F1": [warning("repaired.duplicate_key", count=3, at=[212, 299, 332])],
            "F2": [strict_error((212, 226), "duplicate_key")],
            "F3": [slices(*PAIR, ("k", "50")), args_of("k", correlation=(8,), stream=(7,)), exports_are_strict_json()],
        },
        ["repaired.duplicate_key"],
    ),
    "019-integers-beyond-2-53-and-2-63": Case(
        "ok",
        {
            "F1": [slices(("c10d::allreduce_", "5"), ("k1", "5"), ("k2", "5"))],
            "F2": [
                keeps_text('"Comms Id":18446744073709551615,', '"Addr":140737488355329,', '"Big":9007199254740993}'),
                args_of("c10d::allreduce_", Comms_Id=(18446744073709551615,), Big=(9007199254740993,)),
            ],
            "F3": [keeps_text('"Seq":36893488147419103232,'), args_of("c10d::allreduce_", Seq=(36893488147419103232,))],
            "F4": [flows((11, 21), (12, 31)), no_finding("flow")],
        },
    ),
    "020-utf8-bom": Case(
        "ok",
        {
            "F1": [slices(("a", "10"), ("b\u00fc\u6570", "5"))],
            "F2": [no_warnings(), convert_says("byte order mark")],
            "F3": [exports_are_strict_json()],
        },
    ),
    "021-utf16-file": Case(
        "ok-or-error",
        {
            "F1": [slices(("a", "10"), ("b\u00fc\u6570", "5")), convert_says("UTF-16")],
            "F2": [info_has(events=2)],
            "F3": [exports_are_strict_json(), no_warnings()],
        },
    ),
    "024-sub-microsecond-kernels": Case(
        "ok",
        {
            "F1": [slices(("tiny", "0.3"), ("tiny", "0.4"), ("tiny", "0.05"))],
            "F2": [category("kernel", 3, "0.75"), device("0", work=3, sum_us="0.75", busy_us="0.75"), function("<gpu tiny>", calls=3, own_us="0.75"), later(KERNEL_TABLE)],
            "F3": [no_finding("duration"), lacks_text(r'"dur":(-|0[,}])'), prints_sane_numbers()],
        },
    ),
    "028-kernel-starts-before-its-launch": Case(
        "warn",
        {
            "F1": [launches(2, 2, "8", delays=1, negative_delays=1), no_finding("without_launch|without_kernel")],
            "F2": [
                slices(
                    ("nccl:all_to_all", "30"),
                    ("cuLaunchKernelEx", "4"),
                    ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "12"),
                    ("cudaLaunchKernel", "5"),
                    ("relu", "3"),
                ),
                warning("kernel_before_launch", count=1, worst_us="-1.5", says="correlation 51"),
            ],
            "F3": [launches(2, 2, "8", delays=1, negative_delays=1)],
        },
        ["kernel_before_launch"],
    ),
    "029-child-ends-1ns-after-parent": Case(
        "ok",
        {
            "F1": [
                slices(
                    ("main.py(12): <module>", "99.999"),
                    ("model.py(10): forward", "49.999"),
                    ("cudaLaunchKernel", "5"),
                    ("gemm", "20"),
                )
            ],
            "F2": [
                launches(1, 1, "10"),
                function("forward", calls=1, own_us="44.999", cumulative_us="49.999", callers={"<module>": (1, 1, "44.999", "49.999")}),
                function("cudaLaunchKernel", calls=1, callers={"forward": (1, 1, "5", "5")}),
                function("<gpu gemm>", calls=1, callers={"forward": (1, 1, "20", "20")}),
                folded(
                    {
                        "main.py:12(<module>)": "50.001",
                        "main.py:12(<module>);model.py:10(forward)": "44.999",
                        "main.py:12(<module>);model.py:10(forward);cudaLaunchKernel": "5",
                        "main.py:12(<module>);model.py:10(forward);{gpu gemm}": "20",
                    }
                ),
            ],
            "F3": [keeps_text('"dur":99.999', '"dur":49.999')],
            "F4": [no_warnings(), note("nearly_nested", count=1, worst_us="0.001")],
        },
    ),
    "031-overlapping-kernels-on-one-stream": Case(
        "ok",
        {
            "F1": [slices(("gemm_a", "10"), ("gemm_b", "10"), ("gemm_c", "5")), no_finding("nested"), category("kernel", 3)],
            "F2": [device("0", work=3, busy_us="23", span_us="23", utilisation=1)],
            "F3": [device("0", sum_us="25"), category("kernel", 3, "25")],
        },
    ),
    "032-equal-start-child-written-first": Case(
        "ok",
        {
            "F1": [slices(("whole", "40"), ("part1", "15"), ("part2", "10")), no_finding("nested"), one_lane_per_track()],
            "F2": [
                function("whole", own_us="15", cumulative_us="40"),
                function("part1", own_us="15", callers={"whole": (1, 1, "15", "15")}),
                function("part2", own_us="10", callers={"whole": (1, 1, "10", "10")}),
            ],
            "F3": [same_profile_in_any_order()],
        },
    ),
    "033-unmatched-begin-and-end": Case(
        "warn",
        {
            "F1": [slices(("a", "10"), ("b", "4"), ("d", "4"), ("c", None))],
            "F2": [
                warning("skipped.end_without_begin", count=1, says="stray at ts 12"),
                warning("unfinished_slice", count=1, names=["c"]),
                convert_says(r"end_without_begin: 1 stray at ts 12\n"),
                convert_says(r"begin_without_end: 1 c at ts 20\n"),
            ],
            "F3": [
                slices(("a", "10"), ("b", "4"), ("d", "4"), ("c", None)),
                one_lane_per_track(),
                function("d", own_us="4", cumulative_us="4"),
            ],
            "F4": [no_function("^c$"), folded({"a": "6", "a;b": "4", "d": "4"}), category(None, 3, "14"), warning("unfinished_slice", count=1, says="in no sum")],
        },
        ["skipped.end_without_begin", "unfinished_slice"],
    ),
    "035-events-without-pid-or-tid": Case(
        "ok",
        {
            "F1": [slices(("A", "50"), ("B", "5"), ("C", "7")), one_lane_per_track()],
            "F2": [tracks(("0", "3", 2, "Demo", "T3"), ("0", "0", 1, "Demo", ""))],
            "F3": [tracks(("0", "3", 2, "Demo", "T3"), ("0", "0", 1, "Demo", ""))],
            "F4": [info_has(format="chrome"), no_warnings()],
        },
    ),
    "036-string-pid-and-tid": Case(
        "ok",
        {
            "F1": [
                tracks(
                    ("CPU functions", "1", 2, "", ""),
                    ("CUDA functions", "stream 7", 1, "", ""),
                    ("CUDA functions", "stream 13", 1, "", ""),
                ),
                slices(("add", "10"), ("add_kernel", "4"), ("mul_kernel", "4"), ("mul", "5")),
            ],
            "F2": [keeps_text('"CPU functions"', '"CUDA functions"', '"stream 7"', '"stream 13"')],
            "F3": [no_warnings(), no_finding("overlap|nested")],
        },
    ),
    "037-thread-ids-beyond-32-bit": Case(
        "ok",
        {
            "F1": [
                slices(("f", "10"), ("g", "10"), ("h", "10"), ("i", "10")),
                tracks(
                    ("10", "139911223344128", 1, "", ""),
                    ("10", "139915518311424", 1, "", ""),
                    ("10", "-1812345600", 1, "", ""),
                    ("10", "2663676928", 1, "", ""),
                ),
                one_lane_per_track(),
            ],
            "F2": [no_finding("overlap|nested"), no_warnings()],
            # The layout for viewers maps them to ids that viewers can tell apart, and writes the originals beside.
            "F3": [keeps_text("139911223344128", "139915518311424", "-1812345600", "2663676928")],
        },
    ),
    "039-thread-names-per-process-and-late": Case(
        "ok",
        {
            "F1": [tracks(("501", "33", 1, "front", "ipc"), ("502", "33", 1, "back", "worker"), ("503", "33", 1, "", ""))],
            "F2": [keeps_text('"front"', '"ipc"', '"back"', '"worker"')],
            "F3": [no_warnings()],
        },
    ),
    "043-kernels-without-launch": Case(
        "warn",
        {
            "F1": [device("0", work=4, busy_us="40"), category("kernel", 4, "40")],
            "F2": [warning("kernel_without_launch", count=2, names=["k0", "k1"], says="(?s)correlation 901.*correlation 902")],
            "F3": [later(QUEUE)],
            "F4": [launches(2, 2, "5.5")],
        },
        ["kernel_without_launch"],
    ),
    "044-graph-launch-with-many-kernels": Case(
        "ok",
        {
            "F1": [launches(1, 4, "10")],
            "F2": [launches(1, 4, "10", delays=1)],
            "F3": [device("0", work=4, busy_us="30", sum_us="36")],
            "F4": [
                device_work(("g1", "10"), ("g2", "5"), ("g3", "15"), ("g4", "6")),
                *(function("<gpu g%d>" % i, calls=1, callers={"model_fwd": None}) for i in (1, 2, 3, 4)),
                function("cudaGraphLaunch", calls=1, own_us="8"),
            ],
            "F5": [no_warnings(), no_finding("correlation")],
        },
    ),
    "046-rocm-launch-names-and-stream-zero": Case(
        "ok",
        {
            "F1": [category("kernel", 3, "30"), category("gpu_memcpy", 1, "15"), launches(4, 4, "8.75"), no_finding("without_launch")],
            "F2": [device("0", work=4, busy_us="45")],
            "F3": [launches(4, 4, "8.75"), no_finding("without_kernel"), no_warnings()],
        },
    ),
    "048-communication-names-and-overlap": Case(
        "ok",
        {
            "F1": [category("kernel", 4, "145"), later(BREAKDOWN)],
            "F2": [later(BREAKDOWN)],
            "F3": [device("0", busy_us="110", span_us="110", utilisation=1)],
            "F4": [device("0", work=4, sum_us="145"), category("gpu_user_annotation", 1, "34"), later(BREAKDOWN)],
        },
    ),
    "049-collectives-without-args": Case(
        "ok",
        {
            "F1": [category("kernel", 3, "30"), later(BREAKDOWN)],
            "F2": [later(COLLECTIVES)],
            "F3": [keeps_text('"allgather_into_tensor_coalesced"'), later(COLLECTIVES)],
            "F4": [
                tracks(("10", "10", 3, "", ""), ("0", "20", 3, "", "")),
                note("kernel_without_correlation", count=1, names=["ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"]),
            ],
        },
        # The other end of the kernel that can't be linked.
        ["launch_without_kernel"],
    ),
    "051-step-covers-work-of-other-threads": Case(
        "ok",
        {
            "F1": [check_has(steps=1), device("0", work=2, busy_us="43"), device_work(("fwd_kernel", "8"), ("bwd_kernel", "35"), options=("step=41",))],
            "F2": [
                launches(2, 2, "3.5"),
                function("<gpu bwd_kernel>", "step=41", calls=1, callers={"AttnBackward0": (1, 1, "35", "35")}),
            ],
            "F3": [
                function("<thread 10>", "step=41", cumulative_us="100"),
                function("<thread 20>", "step=41", cumulative_us="20"),
            ],
        },
    ),
    "053-steps-overlap-and-repeat-on-threads": Case(
        "warn",
        {
            "F1": [check_has(steps=2), warning("duplicate_step", count=1)],
            "F2": [
                launches(2, 2, "9.5"),
                device_work(("a", "10"), options=("step=5",)),
                device_work(("b", "10"), options=("step=6",)),
            ],
            "F3": [warning("overlapping_steps", count=1, worst_us="3")],
            "F4": [
                device("0", work=2, sum_us="20", busy_us="20"),
                device_work(("a", "10"), options=("step=5",)),
                device_work(("b", "10"), options=("step=6",)),
            ],
        },
        ["not_nested", "duplicate_step", "overlapping_steps"],
    ),
    "054-profiler-span-event": Case(
        "ok",
        {
            "F1": [category("cpu_op", 2, "30")],
            "F2": [category("Trace", 1, "1000"), category("cpu_op", 2, "30"), no_function("Profiler"), function("<trace>", own_us="0", cumulative_us="30")],
            "F3": [
                device("0", busy_us="10"),
                check_has(activity={"first_ns": 100000, "last_ns": 160000}),
                info_has(first_ns=0, last_ns=1000000),
            ],
            "F4": [
                category(None, 2, kind="instant"),
                tracks(
                    ("10", "10", 3, "", ""),
                    ("0", "7", 1, "", ""),
                    ("Spans", "PyTorch Profiler", 1, "", ""),
                    ("Traces", "Trace PyTorch Profiler", 1, "", ""),
                    ("", "", 1, "", ""),
                ),
                no_warnings(),
            ],
        },
    ),
    "055-python-stack-3000-deep": Case(
        "ok",
        {
            "F1": [slices(*(("lib.py(%d): visit" % (i % 7), str(6001 - 2 * i)) for i in range(3000))), one_lane_per_track(), no_finding("nested")],
            "F2": [
                chain_of_functions(3000, "2", "3", "6001"),
                profile_has(total_own_ns=6001000),
                function("visit", line=0, calls=429, primitive=1, own_us="858", cumulative_us="6001"),
                function("visit", line=3, calls=429, primitive=1, own_us="859", cumulative_us="5995"),
            ],
            "F3": [
                exports_are_strict_json(),
                chain_of_functions(3000, "2", "3", "6001"),
                # Without paths the recursion is folded.
                folded({";".join("lib.py:%d(visit)" % i for i in range(n + 1)): "859" if n == 3 else "858" if n < 3 else "856" for n in range(7)}),
            ],
            "F4": [function("visit", line=0, cumulative_us="6001"), function("<trace>", cumulative_us="6001")],
        },
    ),
    "056-names-of-70000-characters": Case(
        "ok",
        {
            "F1": [category("kernel", 2, "15"), device("0", work=2, sum_us="15")],
            "F2": [kernel_names_of_length(70002, 70002)],
            "F3": [
                writes_only(["input.kiln", "input.json"]),
                device_rows("5", "10"),
            ],
        },
    ),
    "057-host-event-with-stream-and-external-id-zero": Case(
        "ok",
        {
            "F1": [category("kernel", 1, "6"), category("gpu_memset", 1, "2"), category("cpu_op", 1, "12"), device("0", work=2, sum_us="8")],
            "F2": [launches(1, 1, "6"), warning("kernel_without_launch", count=1, names=["memset"]), function("<gpu memset>", callers={"<gpu work without launch>": None})],
            "F3": [launches(1, 1, "6"), args_of("triton_poi_fused_add_0", External_id=(11,))],
        },
        # The memset of correlation 22 has no call in the file.
        ["kernel_without_launch"],
    ),
    "058-cpu-only-trace": Case(
        "ok",
        {
            "F1": [category("cpu_op", 2, "35"), one_lane_per_track(), function("aten::linear", own_us="5"), function("aten::addmm", own_us="15")],
            "F2": [note("no_device_events"), check_has(devices=[]), prints_sane_numbers()],
            "F3": [category("cpu_instant_event", 1, kind="instant"), args_of("[memory]", Bytes=(4096,), Device_Id=(-1,))],
            "F4": [no_warnings()],
        },
    ),
    "059-mixed-rank-file-names": Case(
        "ok",
        {
            "F1": [
                on("input.d/rank-0.json.gz", info_has(rank=0, world_size=4)),
                on("input.d/dp0_pp0_tp2_dcp0_ep2_rank2.1772000000000000002.pt.trace.json.gz", info_has(rank=2, world_size=4)),
                on("input.d/nodea_4711.1725000000000000003.pt.trace.json", info_has(rank=3, world_size=4)),
                directory(findings=[COORDINATOR], runs=[("", 4, [0, 1, 2, 3], [])]),
            ],
            "F2": [
                on("input.d/nodea_4711.1725000000000000003.pt.trace.json", info_has(rank=3)),
                directory(
                    findings=[COORDINATOR],
                    of=[("nodea_4711.1725000000000000003.pt.trace.json", {"rank": 3, "rank_source": "content", "name_rank": None})],
                ),
            ],
            "F3": [
                on("input.d/dp0_pp0_tp2_dcp0_ep2_rank2.1772000000000000002.pt.trace.json.gz", info_has(rank=2)),
                on("input.d/rank1_trace.json", info_has(rank=None)),
                directory(
                    findings=[COORDINATOR],
                    of=[
                        (
                            "dp0_pp0_tp2_dcp0_ep2_rank2.1772000000000000002.pt.trace.json.gz",
                            {"rank": 2, "name_rank": 2, "content_rank": 2},
                        ),
                        ("rank1_trace.json", {"rank": 1, "rank_source": "name"}),
                    ],
                ),
            ],
            "F4": [
                on("input.d/nodea_4700.async_llm.1772000000000000001.pt.trace.json", info_has(rank=None)),
                directory(
                    findings=[COORDINATOR],
                    runs=[("", 4, [0, 1, 2, 3], [])],
                    of=[("nodea_4700.async_llm.1772000000000000001.pt.trace.json", {"rank": None, "role": "coordinator"})],
                ),
            ],
            "F5": [
                on("input.d/rank-0.json.gz", slices(*RANK)),
                on("input.d/rank1_trace.json", slices(*RANK)),
                on("input.d/dp0_pp0_tp2_dcp0_ep2_rank2.1772000000000000002.pt.trace.json.gz", slices(*RANK)),
                on("input.d/nodea_4711.1725000000000000003.pt.trace.json", slices(*RANK)),
                on("input.d/nodea_4711.1725000000000000003.pt.trace.json", device("3", work=1, busy_us="30")),
            ],
        },
    ),
    "060-missing-rank": Case(
        "warn",
        {
            "F1": [directory(findings=[("missing_rank", [])], runs=[("", 4, [0, 1, 3], [2])])],
            "F2": [on("input.d/rank%d_trace.json" % rank, info_has(rank=rank, world_size=4)) for rank in (0, 1, 3)],
            "F3": [on("input.d/rank%d_trace.json" % rank, device(str(rank), work=1, busy_us="30")) for rank in (0, 1, 3)],
        },
    ),
    "062-no-distributed-info": Case(
        "mixed",
        {
            "F1": [on("input.json", note("no_rank", says="rank 0")), on("input.json", slices(*RANK)), on("input.json", no_warnings())],
            "F2": [
                on("input.d/hosta_11.1000.pt.trace.json", info_has(file="hosta_11.1000.pt.trace.json", rank=None)),
                on("input.d/hosta_12.1001.pt.trace.json", info_has(file="hosta_12.1001.pt.trace.json", rank=None)),
                directory(
                    findings=[("no_rank", ["hosta_11.1000.pt.trace.json", "hosta_12.1001.pt.trace.json"])],
                    of=[("hosta_11.1000.pt.trace.json", {"rank": None}), ("hosta_12.1001.pt.trace.json", {"rank": None})],
                ),
            ],
            "F3": [writes_only(["input.kiln", "hosta_11.1000.pt.trace.kiln", "hosta_12.1001.pt.trace.kiln", "input.json", "hosta_11.1000.pt.trace.json", "hosta_12.1001.pt.trace.json"])],
        },
    ),
    "064-clock-skew-between-ranks": Case(
        "warn",
        {
            "F1": [on("input.d/rank0.json", device("0", work=3)), on("input.d/rank1.json", device("1", work=3)), clocks(matched=3)],
            "F2": [clocks(matched=3, ranks={0: {"offset_us": "0"}, 1: {"offset_us": "7250000", "drift": 0}})],
            "F3": [clocks(matched=3, ranks={0: {"wait_us": "90"}, 1: {"starts_us": ["30", "10", "50"], "wait_us": "0"}})],
            "F4": [clocks_say_what_is_applied(offset_us="7250000")],
        },
    ),
    "067-ranks-start-at-different-collectives": Case(
        "warn",
        {
            "F1": [on("input.d/rank0.json", device("0", work=2)), on("input.d/rank1.json", device("1", work=3)), clocks(matched=2, unmatched=[(1, 1, 4)])],
            "F2": [clocks(matched=2, unmatched=[(1, 1, 4)], ranks={0: {"starts_us": ["0", "0"]}, 1: {"starts_us": ["10", "10"], "offset_us": "0"}})],
            "F3": [clocks(matched=2, unmatched=[(1, 1, 4)], ranks={0: {"starts_us": ["0", "0"], "wait_us": "20"}, 1: {"starts_us": ["10", "10"], "wait_us": "0"}})],
        },
    ),
    "068-merged-file-of-two-ranks": Case(
        "warn-or-error",
        {
            "F1": [launches(2, 2, "5.5")],
            "F2": [warning("shared_correlation", count=1, says="merged file of several ranks")],
            "F3": [launches(2, 2, "5.5"), warning("shared_correlation", count=1)],
        },
        ["shared_correlation"],
    ),
    "069-leftovers-in-trace-directory": Case(
        "warn",
        {
            "F1": [on("input.d/rank0.json", slices(*RANK)), on("input.d/rank0.json", device("0", work=1, busy_us="30"))],
            "F2": [
                on("input.d/rank1.json.tmp", error((150, 150), "truncated")),
                on("input.d/._rank0.json", error((0, 0), "resource fork")),
                on("input.d/notes.txt", error((0, 0), "plain text")),
                directory(rc=3, findings=LEFTOVERS),
            ],
            "F3": [on("input.d/rank2.json", error((0, 0), "empty file")), directory(rc=3, findings=LEFTOVERS)],
            "F4": [together("check", 3, {"input.d/rank0.json": {"slices": 3}})],
        },
        refused=["input.d/rank1.json.tmp", "input.d/._rank0.json", "input.d/notes.txt", "input.d/rank2.json"],
    ),
    "070-hostile-names-in-archive-and-trace": Case(
        "warn-or-error",
        {
            "F1": [writes_only(["input.kiln", "input.json"])],
            "F2": [
                on("input.zip", slices(*RANK)),
                on("input.zip", convert_says(r"unsafe names.*'\.\./\.\./escape/rank1\.json'.*'/abs/rank2\.json'.*'sub/\.\./\.\./rank3\.json'")),
                on("input.zip", info_has(member="rank0.json", rank=0)),
            ],
            "F3": [writes_only(["input.kiln", "input.json"]), on("input.json", slices(("a", "10"))), on("input.json", metadata("traceName", "../../../escape/x.json"))],
        },
    ),
    "071-gzip-with-several-members": Case(
        "ok",
        {"F1": [slices(*PAIR, ("c", "1"), ("d", "2.5"))], "F2": [no_warnings()]},
    ),
    "074-extension-does-not-match-content": Case(
        "ok",
        {
            "F1": [on(name, slices(*PAIR)) for name in ("input.a.json", "input.b.json.gz", "input.c.json", "input.noext")],
            "F2": [
                on(name, info_has(format="chrome", container=container))
                for name, container in (("input.a.json", "gzip"), ("input.b.json.gz", "plain"), ("input.c.json", "zstd"), ("input.noext", "plain"))
            ],
        },
    ),
    "077-zip-with-one-trace": Case(
        "ok-or-error",
        {"F1": [slices(*PAIR), no_warnings()], "F2": [info_has(container="zip", member="job_7.pt.trace.json")]},
    ),
    "078-lightning-action-with-slash": Case(
        "ok",
        {
            "F1": [actions(("fit", None, CHECKPOINT), ("fit", None, "[Strategy]SingleDeviceStrategy.on_train_end"))],
            "F2": [actions(("fit", None, CHECKPOINT), ("fit", None, "[Strategy]SingleDeviceStrategy.on_train_end"))],
            "F3": [on(name, profile_has(total_own_ns=375000000, functions=2)) for name in SLASH_FILES],
            "F4": [
                converts_together("kiln", 2),
                converts_together("pstats", 2),
                directory(of=[(SLASH_FILES[0].partition("/")[2], {"kind": "profile", "stage": "fit", "action": CHECKPOINT})]),
            ],
        },
    ),
    "079-lightning-brackets-braces-quotes": Case(
        "ok",
        {
            "F1": [actions(*BRACKET_ACTIONS), converts_together("kiln", 5)],
            "F2": [actions(*BRACKET_ACTIONS), directory(findings=None, runs=[("", None, [0, 1], [])])],
            "F3": [actions(*BRACKET_ACTIONS)],
            # The texts are parsed strictly.
            "F4": [actions(*BRACKET_ACTIONS), later("no command prints actions as CSV or HTML yet")],
        },
    ),
    "080-lightning-action-name-of-249-bytes": Case(
        "ok",
        {
            "F1": [actions(("fit", 0, LONG_ACTION + "A"), ("fit", 0, LONG_ACTION + "B"))],
            "F2": [converts_together("kiln", 2), converts_together("pstats", 2)],
            "F3": [actions(("fit", 0, LONG_ACTION + "A"), ("fit", 0, LONG_ACTION + "B"))],
        },
    ),
    "081-lightning-empty-profiles": Case(
        "mixed",
        {
            "F1": [
                on("input.d/fit-run-a.prof", profile_has(functions=0, total_own_ns=0, total_calls=0, rows=[])),
                on("input.d/fit-run-a.prof", stats_text(r"0 function calls in 0\.000 seconds")),
            ],
            "F2": [
                on("input.d/fit-run-b.prof", error((0, 0), "empty file")),
                directory(rc=3, findings=[("empty_file", ["fit-run-b.prof"])]),
            ],
            "F3": [on("input.d/fit-run-c.prof", profile_has(functions=2, total_own_ns=375000000))],
            "F4": [
                together("check", 3, {"input.d/fit-run-a.prof": {}, "input.d/fit-run-c.prof": {"warnings": 0}}),
                together("info", 3, {"input.d/fit-run-a.prof": {}, "input.d/fit-run-c.prof": {"format": "pstats"}}),
                converts_together("kiln", ["fit-run-a.kiln", "fit-run-c.kiln"], rc=3, says="fit-run-b.prof:0: .*empty file"),
            ],
        },
        {"input.d/fit-run-a.prof": ["empty_profile"]},
        refused=["input.d/fit-run-b.prof"],
        commands_that_refuse=[("input.d/fit-run-a.prof", ("convert", "--to", "pstats"))],
    ),
    "082-pstats-names-of-all-sorts": Case(
        "ok",
        {
            "F1": [profile_has(functions=9, total_own_ns=500000000)],
            "F2": [
                function("<lambda>", line=12, calls=5, own_us="50000"),
                function("<lambda>", line=30, calls=3, own_us="30000"),
            ],
            "F3": [
                function("<built-in method builtins.exec>", calls=1, cumulative_us="500000"),
                stats_text(r"\{built-in method builtins\.exec\}", r"^((?!:0\()[\s\S])*$"),
            ],
            "F4": [
                profile_finding("lone_surrogate", "warning", 1),
                stats_text(r"bad\\udcff\.py:1\(f\)"),
                function("f", line=1, calls=1, own_us="100000"),
                function("größe_计算", line=7, own_us="200000"),
            ],
            "F5": [function('operator "" _kg', line=3, own_us="40000"), csv_names('operator "" _kg', "größe_计算")],
        },
        ["lone_surrogate"],
    ),
    "083-pstats-recursion": Case(
        "ok",
        {
            "F1": [function("fib", calls=15, primitive=1), stats_text(r"\n +15/1 +0\.029 ")],
            "F2": [function("fib", own_us="29000", cumulative_us="29000")],
            "F3": [profile_has(total_own_ns=32000000), folded({"r.py:3(main)": "2000", "r.py:3(main);r.py:1(fib)": "29000", DISABLE: "1000"})],
            "F4": [stats_text(r"15/1 +0\.029 +0\.002 +0\.029 +0\.029 r\.py:1\(fib\)")],
        },
    ),
    "084-pstats-caller-tuple-order": Case(
        "ok",
        {
            "F1": [function("a", calls=21, primitive=3), function("b", calls=10, primitive=2)],
            "F2": [function("a", callers={"b": (20, 4, "28000", "52000"), "main": (1, 1, "2000", "43000")})],
            "F3": [function("b", callers={"a": (9, 3, "27000", "51000"), "main": (1, 1, "3000", "17000")})],
            "F4": [function("a", calls=21, callers={"b": (20, 4, "28000", "52000"), "main": (1, 1, "2000", "43000")})],
            "F5": [profile_has(total_own_ns=64000000), stacks_fewer_than(1000)],
        },
    ),
    "087-line-profile-given-as-pstats": Case(
        "error",
        {
            "F1": [error(None, ".")],
            "F2": [error((0, 1), "a pickle of line_profiler, not marshal data")],
            "F3": [nothing_left()],
            "F4": [nothing_left()],
        },
        refused=["input.prof"],
    ),
    "088-pstats-of-python-2": Case(
        "ok-or-error",
        {
            "F1": [
                profile_has(functions=3, total_own_ns=375000000),
                function("hello", calls=2, callers={"<module>": (2, 2, "250000", "250000")}),
            ],
            "F2": [profile_finding("python2_file", "warning", 1)],
            "F3": [csv_names("hello", "<module>", "<method>")],
        },
        ["python2_file"],
    ),
    "089-pstats-negative-and-non-finite-times": Case(
        "warn",
        {
            "F1": [
                profile_has(functions=4),
                function("back_in_time", calls=2, own_us="-250000", cumulative_us="-250000"),
                profile_finding("negative_time", "note", 1),
                profile_finding("non_finite_time", "warning", 1),
                stats_text(r"-0\.250 .*back_in_time"),
            ],
            "F2": [profile_has(total_own_ns=500000000, negative_own_functions=1, negative_own_ns=-250000000), says_rule()],
            "F3": [
                function("nan", own_us="0", cumulative_us="0"),
                folded({"train.py:1(<module>)": "250000", "train.py:1(<module>);w.py:1(ok)": "500000"}),
            ],
        },
        ["non_finite_time"],
    ),
    "090-pstats-huge-counts": Case(
        "ok",
        {
            "F1": [function("hot", calls=1099511627776, own_us="1000000000000")],
            "F2": [
                function("mad", calls=(1 << 63) - 1),
                profile_finding("count_out_of_range", "note", 1),
                stats_says("1180591620717411303424, taken for the limit of 64 bits"),
            ],
            "F3": [profile_has(functions=3)],
        },
    ),
    "091-pstats-inconsistent-cyclic-sums": Case(
        "ok",
        {
            "F1": [
                folded(
                    {
                        "m.py:5(main)": "3000",
                        "m.py:5(main);m.py:1(a)": "30000",
                        "m.py:5(main);m.py:1(a);m.py:3(b)": "27000",
                        "m.py:5(main);m.py:3(b)": "3000",
                        DISABLE: "1000",
                    }
                )
            ],
            "F2": [stacks_fewer_than(1000)],
            "F3": [
                profile_has(total_own_ns=64000000),
                function("a", own_us="30000", callers={"b": (20, 4, "28000", "51994.8"), "main": (1, 1, "2000", "42995.7")}),
                function("b", own_us="30000", cumulative_us="58029"),
            ],
        },
    ),
    "093-marshal-deep-nesting": Case(
        "error",
        {
            "F1": [error(None, ".")],
            "F2": [error((1, 40001), "not a statistics dictionary")],
            "F3": [nothing_left()],
            "F4": [peak_below(128, 5)],
        },
        refused=["input.prof"],
    ),
    "094-marshal-giant-and-negative-lengths": Case(
        "error",
        {
            "F1": [
                on("input.tuple.prof", error((0, 11), "tuple of 2147483647; this is not a statistics dictionary")),
                on("input.string.prof", error((0, 14), "text of 2147483632 bytes; the limit is")),
                on("input.long.prof", error((0, 13), "expected a text, got an integer")),
                on("input.negative.prof", error((0, 14), "text of -1 bytes")),
                on("input.unterminated.prof", error((0, 1), "truncated")),
            ],
            "F2": [on(name, peak_below(128, 1)) for name in GIANTS],
            "F3": [on(name, nothing_left()) for name in GIANTS],
        },
        refused=GIANTS,
    ),
    "095-marshal-reference-cycles": Case(
        "error",
        {
            "F1": [
                on("input.dict.prof", error((0, 26), "circular reference: object 0 is not finished")),
                on("input.tuple.prof", error((0, 18), "circular reference: object 0 is not finished")),
                on("input.index.prof", error((0, 21), "a reference to object 2147483647, but there are 0")),
            ],
            "F2": [on(name, check) for name in CYCLES for check in (peak_below(256, 1), nothing_left())],
        },
        refused=CYCLES,
    ),
    "096-marshal-code-object": Case(
        "error",
        {
            "F1": [
                on("input.cached.prof", error((0, 16), r"code object \(type 'c'\) of a compiled module \(\.pyc\)")),
                on("input.bare.prof", error((0, 0), r"a code object \(type 'c'\), which has no place in a profile")),
            ],
            # In every position, see siblings_test.
            "F2": [on(name, nothing_left()) for name in ("input.cached.prof", "input.bare.prof")],
        },
        refused=["input.cached.prof", "input.bare.prof"],
    ),
}

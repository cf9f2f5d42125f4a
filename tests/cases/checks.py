"""The kinds of facts that cases state. Each function returns a check: a function of a test and a subject."""
import collections
import csv
import decimal
import io
import itertools
import json
import os
import re

from tests.cases import harness

csv.field_size_limit(1 << 27)


class Later:
    """What another part of the tool will answer; listed by the test, so that it is not forgotten."""

    def __init__(self, reason):
        self.reason = reason


later = Later


class On:
    """A check of one input of several."""

    def __init__(self, name, check):
        self.name = name
        self.check = check


on = On


def ns(us):
    """Nanoseconds of decimal microseconds, exactly."""
    value = decimal.Decimal(us) * 1000
    assert value == value.to_integral_value(), us
    return int(value)


def counted(items):
    return collections.Counter(items)


def all_slices(subject):
    """(name, duration in us or None) of every way to see the slices, by what it is."""
    ways = {
        how: [(r.get("name"), r["dur_us"]) for r in rows if r["kind"] == "slice"]
        for how, rows in [("input", subject.rows), ("kiln", subject.kiln_rows), *subject.rows_again.items()]
    }
    for how, document in subject.documents.items():
        ways[how] = [(e.get("name"), e.get("dur")) for e in harness.events_of(document) if e["ph"] in "XB"]
    return ways


def slices(*wanted, in_exports=True):
    """Exactly these slices, given as (name, duration in us, as text, or None if unfinished), in whatever way they are
    seen: cat, through .kiln, and in all exports. (Exports keep a duration that is no number as it is.)"""

    def check(test, subject):
        want = counted((name, None if dur is None else decimal.Decimal(dur)) for name, dur in wanted)
        for how, found in all_slices(subject).items():
            if not in_exports and "lanes" in how:
                continue
            test.assertEqual(counted((name, None if dur is None else decimal.Decimal(dur)) for name, dur in found), want, how)

    return check


def findings(subject, code):
    return [f for f in subject.check["findings"] if f["code"] == code]


def finding(code, severity, count=None, at=None, worst_us=None, says=None, names=None):
    def check(test, subject):
        found = findings(subject, code)
        test.assertEqual(len(found), 1, "%s in %s" % (code, [f["code"] for f in subject.check["findings"]]))
        test.assertEqual(found[0]["severity"], severity)
        if count is not None:
            test.assertEqual(found[0]["count"], count)
        if at is not None:
            test.assertEqual([place["byte_offset"] for place in found[0]["first"]], at)
        if worst_us is not None:
            test.assertEqual(found[0]["worst_ns"], ns(worst_us))
        if names is not None:
            test.assertEqual([place["name"] for place in found[0]["first"]], names)
        if says is not None:
            test.assertRegex(str(found[0]), says)

    return check


def warning(code, **facts):
    return finding(code, "warning", **facts)


def note(code, **facts):
    return finding(code, "note", **facts)


def no_finding(pattern):
    def check(test, subject):
        test.assertFalse([f["code"] for f in subject.check["findings"] if re.search(pattern, f["code"])])

    return check


def no_warnings():
    def check(test, subject):
        test.assertEqual([f["code"] for f in subject.check["findings"] if f["severity"] == "warning"], [])
        test.assertNotRegex(subject.convert_messages, "repaired|skipped  |warning")

    return check


def convert_says(pattern):
    def check(test, subject):
        test.assertRegex(subject.convert_messages, pattern)

    return check


def check_has(**wanted):
    """Members of what `check --format json` prints."""

    def check(test, subject):
        for key, value in wanted.items():
            test.assertEqual(subject.check[key], value, key)

    return check


def info_has(**wanted):
    def check(test, subject):
        for key, value in wanted.items():
            test.assertEqual(subject.info[key], value, key)

    return check


def report_has(**wanted):
    def check(test, subject):
        for key, value in wanted.items():
            test.assertEqual(subject.check["report"][key], value, key)

    return check


def device(name, work=None, sum_us=None, busy_us=None, span_us=None, utilisation=None):
    def check(test, subject):
        found = [d for d in subject.check["devices"] if d["device"] == name]
        test.assertEqual(len(found), 1, subject.check["devices"])
        for key, value in (("work", work), ("sum_ns", sum_us and ns(sum_us)), ("busy_ns", busy_us and ns(busy_us)), ("span_ns", span_us and ns(span_us)), ("utilisation", utilisation)):
            if value is not None:
                test.assertEqual(found[0][key], value, key)

    return check


def launches(linked_launches, linked_work, mean_delay_us=None, delays=None, negative_delays=0):
    def check(test, subject):
        found = subject.check["launches"]
        test.assertEqual(found["linked_launches"], linked_launches)
        test.assertEqual(found["linked_work"], linked_work)
        test.assertEqual(found["negative_delays"], negative_delays)
        test.assertEqual(found["delays"], linked_launches - negative_delays if delays is None else delays)
        test.assertEqual(found["mean_delay_ns"], None if mean_delay_us is None else ns(mean_delay_us))

    return check


def category(name, events, sum_us=None, kind="slice"):
    def check(test, subject):
        found = [c for c in subject.info["categories"] if c["category"] == name and c["kind"] == kind]
        test.assertEqual(len(found), 1, subject.info["categories"])
        test.assertEqual(found[0]["events"], events)
        if sum_us is not None:
            test.assertEqual(found[0]["sum_dur_ns"], ns(sum_us))

    return check


def tracks(*wanted):
    """Exactly these tracks with events: (pid, tid, events, process name, thread name), texts as `info` shows them."""

    def check(test, subject):
        found = [(t["pid"], t["tid"], t["events"], t["process_name"], t["thread_name"]) for t in subject.info["tracks"]]
        test.assertEqual(counted(found), counted(wanted))

    return check


def metadata(key, value):
    def check(test, subject):
        test.assertIn({"key": key, "value": value}, subject.info["metadata"])
        for how, document in subject.documents.items():
            test.assertEqual(document.get(key), value, how)

    return check


def keeps_text(*pieces, lanes=""):
    """All exports (of lanes=on or off) hold these very bytes."""

    def check(test, subject):
        for how, data in subject.exports.items():
            if not how.endswith(lanes):
                continue
            for piece in pieces:
                test.assertIn(piece.encode(), data, how)

    return check


def lacks_text(*patterns):
    def check(test, subject):
        for how, data in subject.exports.items():
            for pattern in patterns:
                test.assertNotRegex(data.decode(), pattern, how)

    return check


def prints_sane_numbers():
    """No table has a nan, an infinity, a negative number or one beyond an hour."""

    def check(test, subject):
        for text in (subject.info_text, subject.check_text):
            # Without the file's name, which is not ours.
            text = text.replace(subject.name, "")
            test.assertNotRegex(text, r"(?i)\bnan\b|\binf\b|infinity|(?<!\w)-\d|\d{13}")

    return check


def exports_are_strict_json():
    def check(test, subject):
        test.assertEqual(len(subject.documents), 4)  # parsing them is the check
        for data in subject.exports.values():
            test.assertFalse(data.startswith(b"\xef\xbb\xbf"))

    return check


def args_of(name, **wanted):
    """Arguments of the events of that name; absent if None is among the wanted values, all else exactly."""

    def check(test, subject):
        for how, rows in [("input", subject.rows), ("kiln", subject.kiln_rows), *subject.rows_again.items()]:
            found = [r for r in rows if r.get("name") == name]
            test.assertTrue(found, how)
            for row in found:
                for key, values in wanted.items():
                    test.assertIn(row.get("args", {}).get(key.replace("_", " ")), values, "%s: %s" % (how, key))

    return check


def kernel_names_of_length(*lengths):
    """Kernels of distinct names of these lengths, the same names however they are seen."""

    def check(test, subject):
        def names(events):
            return {e["name"] for e in events if e.get("cat") == "kernel"}

        want = names(subject.rows)
        test.assertEqual(sorted(len(name) for name in want), sorted(lengths))
        for how, rows in [("kiln", subject.kiln_rows), *subject.rows_again.items()]:
            test.assertEqual(names(rows), want, how)
        for how, document in subject.documents.items():
            test.assertEqual(names(harness.events_of(document)), want, how)

    return check


def flows(*wanted):
    """Exactly these flows: (start in us, end in us); no two of an export share an id."""

    def ends(events, place, start, end):
        by_id = collections.defaultdict(dict)
        for event in events:
            kind, identity, ts = place(event)
            if kind in (start, end):
                by_id[identity].setdefault(kind, []).append(int(ts))
        return sorted((tuple(f.get(start, [])), tuple(f.get(end, []))) for f in by_id.values())

    def check(test, subject):
        want = sorted(((a,), (b,)) for a, b in wanted)
        for rows in (subject.rows, subject.kiln_rows, *subject.rows_again.values()):
            test.assertEqual(ends(rows, lambda r: (r["kind"], r.get("fields", {}).get("id"), r["ts_us"]), "flow_start", "flow_end"), want)
        for how, document in subject.documents.items():
            found = ends(harness.events_of(document), lambda e: (e["ph"], e.get("id"), e.get("ts", 0)), "s", "f")
            test.assertEqual(found, want, how)

    return check


def one_lane_per_track():
    """The layout for viewers leaves every slice where it was: they nest."""

    def check(test, subject):
        test.assertEqual(subject.documents["direct, lanes=on"]["tracekiln"]["slices_on_other_lanes"], 0)

    return check


def error(window, says):
    """Every command that reads the input ends with status 1, and names the file, a byte in the window and the reason."""

    def check(test, subject):
        for command in subject.commands_that_read:
            run = subject.run_on_input(*command)
            test.assertEqual(run.rc, 1, str(run))
            place = re.search(re.escape(subject.name) + r":(\d+): (.*)", run.err)
            test.assertTrue(place, str(run))
            if window is not None:
                test.assertTrue(window[0] <= int(place.group(1)) <= window[1], str(run))
            test.assertRegex(place.group(2), says)

    return check


def strict_error(window, says):
    """With --strict the same place is an error."""

    def check(test, subject):
        for command in subject.commands_that_read:
            run = subject.run_on_input(*command, "--strict")
            test.assertEqual(run.rc, 1, str(run))
            place = re.search(re.escape(subject.name) + r":(\d+): (.*)", run.err)
            test.assertTrue(place, str(run))
            test.assertTrue(window[0] <= int(place.group(1)) <= window[1], str(run))
            test.assertRegex(place.group(2), says)

    return check


def nothing_left():
    """No conversion leaves an output or a temporary file, and the input is as it was."""

    def check(test, subject):
        for command in subject.commands_that_read:
            run = subject.run_on_input(*command)
            test.assertEqual(run.rc, 1, str(run))
            test.assertEqual(harness.digests(subject.output_directory), {}, str(run))
            test.assertEqual(harness.digests(subject.directory), subject.digest, str(run))

    return check


class Whole:
    """A check of all inputs of a case together: a function of a test and the case's CaseInputs."""

    def __init__(self, check):
        self.check = check


def together(command, rc, first_line_of):
    """`command --format json` over all inputs at once: the exit status, and one line for each input in `first_line_of`
    (file name -> members of its line)."""

    def check(test, inputs):
        directory = inputs.copy()
        run = harness.Run([command, "--format", "json", *sorted(harness.digests(directory))], directory)
        test.assertEqual(run.rc, rc, str(run))
        lines = {line["file"]: line for line in map(harness.parse_strictly, run.out.splitlines())}
        test.assertEqual(sorted(lines), sorted(first_line_of))
        for name, members in first_line_of.items():
            for key, value in members.items():
                test.assertEqual(lines[name][key], value, name)

    return Whole(check)


def directory(rc=0, findings=(), runs=None, **files):
    """What `info` says of input.d: the exit status, its findings as (code, names of the files), and members of files,
    given as [(name, members)] in `files["of"]`; also that the files come each once. `runs` are (name, world size,
    ranks, missing ranks)."""

    def check(test, inputs):
        place = inputs.copy()
        before = harness.digests(place)
        run = harness.Run(["info", "--format", "json", "input.d"], place)
        test.assertEqual(run.rc, rc, str(run))
        test.assertEqual(harness.digests(place), before)
        found = harness.parse_strictly(run.out)
        names = [file["path"] for file in found["files"]]
        test.assertEqual(len(names), len(set(names)))
        test.assertEqual(sorted("input.d/" + name for name in names), sorted(name for name in before if name.startswith("input.d/")))
        if findings is not None:
            test.assertEqual([(f["code"], [names[i] for i in f["files"]]) for f in found["findings"]], list(findings))
        if runs is not None:
            test.assertEqual([(r["name"], r["world_size"], r["ranks"], r["missing"]) for r in found["runs"]], list(runs))
        for name, members in files.get("of", ()):
            file = found["files"][names.index(name)]
            for key, value in members.items():
                test.assertEqual(file.get(key), value, "%s of %s" % (key, name))
        text = harness.Run(["info", "input.d"], place)
        test.assertEqual(text.rc, rc, str(text))
        for code, named in findings or ():
            test.assertRegex(text.out.decode(), code + ": .*" + ".*".join(map(re.escape, named)))

    return Whole(check)


def _clocks(test, place):
    run = harness.Run(["clocks", "--format", "json", "input.d"], place)
    test.assertEqual(run.rc, 0, str(run))
    return harness.parse_strictly(run.out)


def clocks(matched, ranks=None, unmatched=()):
    """What `clocks` says of input.d: how many collectives it matched; of each rank in `ranks` its clock's offset and
    drift, how long it waited in sum, and how much after the first rank it starts each collective; and exactly these
    collectives without partner, as (rank, how many, number of the first)."""

    def check(test, inputs):
        found = _clocks(test, inputs.copy())
        test.assertEqual(found["matched"], matched)
        of_rank = {r["rank"]: r for r in found["ranks"]}
        for rank, wanted in (ranks or {}).items():
            shown = of_rank[rank]
            have = {
                "offset_us": shown["offset_ns"],
                "drift": shown["drift"],
                "wait_us": shown["wait_sum_ns"],
                "starts_us": shown["first_skews_ns"],
            }
            for key, value in wanted.items():
                want = value if key == "drift" else [ns(us) for us in value] if isinstance(value, list) else ns(value)
                test.assertEqual(have[key], want, "%s of rank %d" % (key, rank))
        test.assertEqual([(u["rank"], u["count"], u["first_seq"]) for u in found["unmatched"]], list(unmatched))

    return Whole(check)


def clocks_say_what_is_applied(offset_us):
    """That the clock of rank 1 was moved by so much is said wherever it was; where nothing tells the offset, no waits
    of one rank for another are shown."""

    def check(test, inputs):
        place = inputs.copy()
        text = harness.Run(["clocks", "input.d"], place)
        test.assertEqual(text.rc, 0, str(text))
        test.assertRegex(text.out.decode(), r"\b1 +%s us\b" % offset_us)
        test.assertIn("with these offsets applied", text.out.decode())
        for align, offsets, says in (("on", [0, ns(offset_us)], "largest offset %s us" % offset_us), ("off", [None, None], "")):
            run = harness.Run(["convert", "input.d", "--to", "chrome", "--merge", "--align", align, "-o", "-"], place)
            test.assertEqual(run.rc, 0, str(run))
            test.assertIn(says, run.err)
            test.assertEqual([m["clock_offset_ns"] for m in harness.parse_strictly(run.out)["tracekilnMerge"]], offsets)
        path = os.path.join(place, "input.d", "rank1.json")
        with open(path, encoding="utf-8") as file:
            other_group = file.read().replace('"Process Group Name": "0"', '"Process Group Name": "1"')
        with open(path, "w", encoding="utf-8") as file:
            file.write(other_group)
        found = _clocks(test, place)
        test.assertEqual(found["matched"], 0)
        test.assertFalse([r for r in found["ranks"] if "wait_sum_ns" in r or "first_skews_ns" in r])
        run = harness.Run(["clocks", "input.d"], place)
        test.assertIn("times of different ranks must not be", run.out.decode())
        test.assertNotRegex(run.out.decode(), "725")

    return Whole(check)


def actions(*wanted):
    """(stage, rank, action) of all files, in the order of their names, as `stats` of all of them shows it."""

    def check(test, inputs):
        directory = inputs.copy()
        run = harness.Run(["stats", "--format", "json", *inputs.names], directory)
        test.assertEqual(run.rc, 0, str(run))
        files = harness.parse_strictly(run.out)["files"]
        test.assertEqual([f["file"] for f in files], inputs.names)
        test.assertEqual(counted((f["stage"], f["rank"], f["action"]) for f in files), counted(wanted))

    return Whole(check)


def converts_together(to, outputs, rc=0, says=None):
    """One conversion of all inputs into a directory makes so many files (or exactly these names) with short, flat
    names."""

    def check(test, inputs):
        directory = inputs.copy()
        out = os.path.join(directory, "out")
        os.mkdir(out)
        run = harness.Run(["convert", *inputs.names, "--to", to, "-o", "out"], directory)
        test.assertEqual(run.rc, rc, str(run))
        made = os.listdir(out)
        if isinstance(outputs, int):
            test.assertEqual(len(made), outputs)
        else:
            test.assertEqual(sorted(made), sorted(outputs))
        for name in made:
            test.assertTrue(os.path.isfile(os.path.join(out, name)))
            test.assertLessEqual(len(name.encode()), 255)
            test.assertNotIn("..", name)
        if says is not None:
            test.assertRegex(run.err, says)

    return Whole(check)


def writes_only(outputs):
    """Conversions of all inputs into a directory make exactly these files there, and none elsewhere."""

    def check(test, inputs):
        directory = inputs.copy()
        before = harness.digests(directory)
        out = "deep/er/out"
        os.makedirs(os.path.join(directory, out))
        for arguments in (("--to", "kiln"), ("--to", "chrome"), ("--to", "chrome", "--option", "lanes=off")):
            for name in sorted(before):
                run = harness.Run(["convert", "--force", name, *arguments, "-o", out], directory)
                test.assertEqual(run.rc, 0, str(run))
        after = harness.digests(directory)
        test.assertEqual(sorted(set(after) - set(before)), sorted(out + "/" + name for name in outputs))
        test.assertEqual({path: after.get(path) for path in before}, before)

    return Whole(check)


def _per_call(row):
    return {
        "own_per_call_ns": decimal.Decimal(row["own_ns"]) / row["calls"] if row["calls"] else None,
        "cumulative_per_call_ns": decimal.Decimal(row["cumulative_ns"]) / row["primitive_calls"] if row["primitive_calls"] else None,
    }


def profile_has(*options, **wanted):
    """Members of what `stats --format json` prints, of a timeline made a profile with these options."""

    def check(test, subject):
        profile = subject.profile_with(*options)
        for key, value in wanted.items():
            test.assertEqual(profile[key], value, key)

    return check


def _row(test, profile, name, line=None):
    found = [r for r in profile["rows"] if r["name"] == name and line in (None, r["line"])]
    test.assertEqual(len(found), 1, "%s in %s" % (name, [r["name"] for r in profile["rows"]]))
    return found[0]


def function(name, *options, line=None, calls=None, primitive=None, own_us=None, cumulative_us=None, callers=None):
    """The row of that name, and per call; `callers`: exactly these (name -> (calls, primitive calls, own us,
    cumulative us), or None for whatever numbers)."""

    def check(test, subject):
        row = _row(test, subject.profile_with(*options), name, line)
        for key, value in (
            ("calls", calls),
            ("primitive_calls", primitive),
            ("own_ns", own_us and ns(own_us)),
            ("cumulative_ns", cumulative_us and ns(cumulative_us)),
        ):
            if value is not None:
                test.assertEqual(row[key], value, "%s of %s" % (key, name))
        for key, value in _per_call(row).items():
            test.assertAlmostEqual(row[key], value, places=3, msg=key)
        if callers is not None:
            found = {c["name"]: (c["calls"], c["primitive_calls"], c["own_ns"], c["cumulative_ns"]) for c in row["callers"]}
            test.assertEqual(sorted(found), sorted(callers))
            for caller, numbers in callers.items():
                if numbers is not None:
                    test.assertEqual(found[caller], (*numbers[:2], *map(ns, numbers[2:])), "%s -> %s" % (caller, name))

    return check


def no_function(pattern, *options):
    def check(test, subject):
        test.assertFalse([r["name"] for r in subject.profile_with(*options)["rows"] if re.search(pattern, r["name"])])

    return check


def device_work(*wanted, options=()):
    """Exactly these device rows, (name, us), of the profile made with these options."""

    def check(test, subject):
        rows = subject.profile_with(*options)["rows"]
        found = {r["name"]: r["own_ns"] for r in rows if r["name"].startswith("<gpu ") and r["name"] != "<gpu work without launch>"}
        test.assertEqual(found, {"<gpu %s>" % name: ns(us) for name, us in wanted})

    return check


def device_rows(*wanted_us):
    """Device rows of different names with these times, whatever the names are."""

    def check(test, subject):
        rows = [r for r in subject.profile_with()["rows"] if r["name"].startswith("<gpu ") and r["name"] != "<gpu work without launch>"]
        test.assertEqual(sorted(r["own_ns"] for r in rows), sorted(map(ns, wanted_us)))
        test.assertEqual(len({r["name"] for r in rows}), len(rows))

    return check


def folded(stacks, *options):
    """Exactly these folded stacks, of a timeline without the rows for the trace and its threads: text -> us."""

    def check(test, subject):
        found = subject.folded(*options)
        if not subject.is_profile:
            found = {re.sub(r"^\{trace\};\{thread [^}]*\};", "", stack): value for stack, value in found.items()}
        test.assertEqual(found, {stack: ns(us) for stack, us in stacks.items()})

    return check


def chain_of_functions(depth, own_us, last_own_us, top_us):
    """With a row for each path, the rows are one chain of callers, this deep below the rows for the trace and its only
    thread, all but the innermost with the same own time."""

    def check(test, subject):
        path = subject.converted("chain.prof", subject.name, "--to", "pstats", "--option", "paths=on")
        # Line by line, since the names are long.
        run = harness.Run(["stats", "--format", "json", path], subject.directory)
        test.assertEqual(run.rc, 0, str(run))
        own = {}
        callee_of = {}
        outermost = []
        for line in run.out.split(b"\n"):
            if not line.startswith(b'{"file":') or b'"report"' in line[:100000]:
                continue
            row = harness.parse_strictly(line.rstrip(b","))
            key = hash((row["file"], row["line"], row["name"]))
            own[key] = row["own_ns"]
            test.assertLessEqual(row["cumulative_ns"], ns(top_us))
            test.assertLessEqual(len(row["callers"]), 1)
            if not row["callers"]:
                outermost.append(key)
            for c in row["callers"]:
                callee_of[hash((c["file"], c["line"], c["name"]))] = key
        test.assertEqual(len(outermost), 1)
        chain = [outermost[0]]
        while chain[-1] in callee_of:
            chain.append(callee_of[chain[-1]])
        test.assertEqual([own[key] for key in chain], [0, 0] + [ns(own_us)] * (depth - 1) + [ns(last_own_us)])

    return check


def same_profile_in_any_order(*options):
    """The same rows whatever the order of the events in the file."""

    def check(test, subject):
        with open(subject.path, "rb") as file:
            document = harness.parse_strictly(file.read())

        def rows(path):
            profile = harness.parse_strictly(subject.good("stats", "--format", "json", path).out)
            return sorted(json.dumps(r, default=str) for r in profile["rows"])

        want = rows(subject.converted("order.prof", subject.name, "--to", "pstats", *options))
        events = harness.events_of(document)
        for number, order in enumerate(itertools.permutations(events)):
            path = os.path.join(subject.output_directory, "order%d.json" % number)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(list(order), file, default=float)
            made = subject.converted("order%d.prof" % number, path, "--to", "pstats", *options)
            test.assertEqual(rows(made), want, order)

    return check


def stats_text(*pieces):
    """Regular expressions that are in what `stats` prints."""

    def check(test, subject):
        for piece in pieces:
            test.assertRegex(subject.good("stats", subject.name).out.decode("utf-8", "strict"), piece)

    return check


def stacks_fewer_than(count):
    def check(test, subject):
        test.assertTrue(0 < len(subject.folded()) < count)

    return check


def says_rule():
    """The total comes with how it was made."""
    return lambda test, subject: test.assertRegex(subject.profile_with()["total_own_rule"], "negative ones included; a time that is no number counts as 0")


def stats_says(pattern):
    """What `stats` says on standard error."""
    return lambda test, subject: test.assertRegex(subject.good("stats", subject.name).err, pattern)


def profile_finding(code, severity, count):
    """One of what `check` says about a profile."""

    def check(test, subject):
        found = [f for f in subject.check["profile"]["findings"] if f["code"] == code]
        test.assertEqual([(f["severity"], f["count"]) for f in found], [(severity, count)])

    return check


def not_chrome():
    """A profile has no events: it is not written as Chrome JSON, and nothing is left behind."""

    def check(test, subject):
        path = os.path.join(subject.output_directory, "none.json")
        run = subject.run("convert", "--to", "chrome", subject.name, "-o", path)
        test.assertEqual(run.rc, 1, str(run))
        test.assertRegex(run.err, re.escape(subject.name) + ".*no events")
        test.assertFalse(os.path.exists(path))

    return check


def peak_below(mebibytes, seconds):
    def check(test, subject):
        for command in subject.commands_that_read:
            run = subject.run_on_input(*command)
            test.assertLess(run.peak_bytes, mebibytes << 20, str(run))
            test.assertLess(run.cpu_seconds, seconds, str(run))

    return check


def csv_names(*wanted):
    """The names in `stats --format csv`, as a reader of CSV sees them."""

    def check(test, subject):
        text = subject.good("stats", "--format", "csv", subject.name).out.decode("utf-8", "strict")
        found = [row["name"] for row in csv.DictReader(io.StringIO(text, newline=""))]
        for name in wanted:
            test.assertIn(name, found)

    return check


def check_good_profile(test, subject):
    """What holds for every profile that loads."""
    profile = subject.profile_with()
    for again in subject.profiles_again.values():
        test.assertEqual(again["total_own_ns"], profile["total_own_ns"])
        test.assertEqual(sorted(map(str, again["rows"])), sorted(map(str, profile["rows"])))
    report = subject.check["report"] if "report" in subject.check else profile["files"][0]["report"]
    test.assertEqual(report["imported"] + report["merged"] + report["skipped"], report["seen"])
    test.assertEqual(len(subject.rows), profile["functions"])
    test.assertEqual(sum(r["own_ns"] for r in subject.rows), profile["total_own_ns"])
    for value in subject.folded().values():
        test.assertGreater(value, 0)
    test.assertEqual(sum(subject.folded().values()), sum(max(0, r["own_ns"]) for r in profile["rows"]))
    table = subject.good("stats", "--format", "csv", subject.name).out.decode("utf-8", "strict")
    found = list(csv.DictReader(io.StringIO(table, newline="")))
    test.assertEqual([int(row["own_ns"]) for row in found], [row["own_ns"] for row in profile["rows"]])
    not_chrome()(test, subject)


def _comparable(value):
    """Hashable, and the same for 1E+2 and 100.0, but not for 100."""
    if isinstance(value, dict):
        return "object", tuple((key, _comparable(member)) for key, member in value.items())
    if isinstance(value, list):
        return "list", tuple(map(_comparable, value))
    if isinstance(value, decimal.Decimal):
        return "decimal", value.normalize()
    return type(value).__name__, value


def _slices(items):
    """What is to be equal, with 5 and 5.000 as one time."""
    return collections.Counter((name, category_name, ts, dur, _comparable(args)) for name, category_name, ts, dur, args in items)


def _slices_of_events(events, shift_us=0):
    return _slices((e.get("name"), e.get("cat"), e["ts"] + shift_us, e.get("dur"), e.get("args")) for e in events if e["ph"] in "XB")


def _slices_of_rows(rows):
    return _slices((r.get("name"), r.get("cat"), r["ts_us"], r["dur_us"], r.get("args")) for r in rows if r["kind"] == "slice")


def check_good_input(test, subject, warnings, is_plain=True):
    """What holds for every input that loads. `warnings`: the codes that `check` gives as warnings, no more and no
    fewer. `is_plain`: its names and categories are strings and its arguments objects, as nearly always."""
    found = [f["code"] for f in subject.check["findings"] if f["severity"] == "warning"]
    test.assertEqual(sorted(found), sorted(warnings))
    report = subject.check["report"]
    test.assertEqual(report["imported"] + report["merged"] + report["skipped"], report["seen"])

    # .kiln keeps the rows as they are, and so does the export in the original layout.
    test.assertEqual(subject.kiln_rows, subject.rows)
    for how, rows in subject.rows_again.items():
        test.assertEqual(rows, subject.rows, how)
    test.assertEqual(len(subject.documents), 4)  # all of them parse strictly
    if not is_plain:
        return
    # The layout for viewers keeps the slices, their times, categories and arguments.
    slices_of_rows = _slices_of_rows(subject.rows)
    for how, document in subject.documents.items():
        shift_us = 0
        if isinstance(document, dict) and "tracekiln" in document:
            shift_us = decimal.Decimal(document["tracekiln"]["times_shifted_by_ns"]) / 1000
        test.assertEqual(_slices_of_events(harness.events_of(document), shift_us), slices_of_rows, how)
    # An independent parser sees the same, where the text is JSON to it, and begin and end were not apart.
    with open(subject.path, "rb") as file:
        data = file.read()
    try:
        events = harness.events_of(harness.parse_strictly(data))
        json.dumps(events, ensure_ascii=False, default=str).encode()
    except (ValueError, RecursionError):  # also for a lone surrogate, which Python lets pass
        return
    if not events or any(e and e.get("ph") in ("B", "E") for e in events):
        return
    test.assertEqual(_slices_of_events([e for e in events if e and e.get("ph") == "X" and "ts" in e]), slices_of_rows)


def check_limits(test, subject):
    """No run took too long or too much memory, and none changed the input or wrote beside it."""
    for run in subject.runs:
        test.assertFalse(run.timed_out, str(run))
        test.assertLess(run.cpu_seconds, harness.SECONDS, str(run))
        test.assertLess(run.peak_bytes, harness.BYTES, str(run))
    test.assertEqual(harness.digests(subject.directory), subject.digest, "the input's directory changed")

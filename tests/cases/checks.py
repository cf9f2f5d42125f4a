"""The kinds of facts that cases state. Each function returns a check: a function of a test and a subject."""
import collections
import decimal
import json
import os
import re

from tests.cases import harness


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
        for command in harness.COMMANDS_THAT_READ:
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
        for command in harness.COMMANDS_THAT_READ:
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
        for command in harness.COMMANDS_THAT_READ:
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

"""Inputs made here that have the faults of the acceptance cases in other places and other spellings: encodings, commas,
numbers, strings, structure, containers. `loads` are those that load, with what they hold; `fails` those that do not."""
import bz2
import collections
import decimal
import gzip
import io
import json
import lzma
import zipfile
import zlib

from tests.cases.checks import args_of, convert_says, info_has, keeps_text, launches, metadata, note, report_has, slices, tracks, warning

# `warnings`: of `check`, exactly. `is_plain`: see checks.check_good_input.
Loads = collections.namedtuple("Loads", "data checks warnings is_plain", defaults=((), True))
# Damage that ends the import; with --salvage `names` are the slices that are kept (None: the text is a bare array, which
# has no place for the mark of what was salvaged).
Salvages = collections.namedtuple("Salvages", "data names is_marked", defaults=(True,))
# An error at a byte in `window` (None: there is no place in the text to name) whose reason matches `says`.
Fails = collections.namedtuple("Fails", "data window says")


def event(**members):
    return json.dumps({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 10, "dur": 5, **members})


def raw(extra, start='{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":10,"dur":5'):
    """An event with `extra` behind its members, as text."""
    return start + extra + "}"


def document(*events, head="", tail=""):
    return '{%s"traceEvents":[%s]%s}' % (head, ",\n".join(events), tail)


A = event()
B = event(name="b", ts=20)
AB = document(A, B)
TWO = slices(("a", "5"), ("b", "5"))
ONE = slices(("a", "5"))


def with_name(name):
    """Bytes of two events, the second of that name (bytes, as they stand between the quotes)."""
    return document(A, B.replace('"b"', '"NAME"')).encode().replace(b"NAME", name)


def place(data, part, more=0):
    """Offset of `part` in `data`, and `more` behind it, as a window of one byte."""
    at = (data if isinstance(data, bytes) else data.encode()).index(part if isinstance(part, bytes) else part.encode())
    return at + more, at + more


def fails_at(data, part, says, more=0):
    return Fails(data, place(data, part, more), says)


def zipped(*members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


MEGABYTES = 400


# Both made bit by bit: what this process takes at its peak counts in what it measures of its children.
def packed_repeats(head, byte, tail):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(MEGABYTES):
            file.write(byte * 1000000)
        file.write(tail)
    return out.getvalue()


def zipped_repeats(head, byte, tail):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("t.json", "w") as file:
            file.write(head)
            for _ in range(MEGABYTES):
                file.write(byte * 1000000)
            file.write(tail)
    return out.getvalue()


def encodings():
    for name, order in (("utf-16-le", "LE"), ("utf-16-be", "BE")):
        mark = "\ufeff".encode(name)
        text = with_name("é数\U0001f600".encode()).decode().encode(name)
        good = slices(("a", "5"), ("é数\U0001f600", "5"))
        yield name + " with mark", Loads(mark + text, [good, convert_says("UTF-16" + order)])
        yield name + " without mark", Loads(text, [good, convert_says("UTF-16%s without a byte order mark" % order)])
        yield name + " in gzip", Loads(gzip.compress(mark + text), [good])
        lone = with_name(b"bQz").decode().encode(name).replace("Q".encode(name), "\ud800".encode(name, "surrogatepass"))
        yield name + " with a lone surrogate", Loads(
            mark + lone, [slices(("a", "5"), ("b\ufffd\ufffd\ufffdz", "5")), warning("repaired.invalid_utf8", count=1)], ["repaired.invalid_utf8"]
        )
        yield name + " cut", Fails(mark + text[: len(text) // 2 & ~1], None, "truncated")
    for name in ("utf-32-le", "utf-32-be"):
        yield name + " with mark", Fails("\ufeff".encode(name) + AB.encode(name), None, "UTF-32")
        yield name + " without mark", Fails(AB.encode(name), None, "UTF-32")
    yield "mark in gzip", Loads(gzip.compress(b"\xef\xbb\xbf" + AB.encode()), [TWO, convert_says("byte order mark")])
    for name, bad, seen in (
        ("latin-1", b"caf\xe9", "caf\ufffd"),
        ("cut sequence", b"x\xe6\x95y", "x\ufffdy"),
        ("overlong slash", b"x\xc0\xafy", "x\ufffd\ufffdy"),
        ("surrogates in UTF-8", b"x\xed\xa0\xbd\xed\xb8\x80y", "x" + "\ufffd" * 6 + "y"),
        ("beyond U+10FFFF", b"x\xf5\x80\x80\x80y", "x" + "\ufffd" * 4 + "y"),
    ):
        data = with_name(bad)
        at = place(data, bad)[0] + next(i for i, c in enumerate(bad) if c >= 0x80)
        yield "name in " + name, Loads(
            data, [slices(("a", "5"), (seen, "5")), warning("repaired.invalid_utf8", count=1, at=[at])], ["repaired.invalid_utf8"]
        )
    for where, text in (
        ("argument", document(raw(',"args":{"k":"Q"}'))),
        ("key of an argument", document(raw(',"args":{"Q":1}'))),
        ("nested argument", document(raw(',"args":{"k":[{"Q":"x"}]}'))),
        ("metadata", document(A, tail=',"traceName":"Q"')),
    ):
        data = text.encode().replace(b"Q", b"\xff")
        yield "bad UTF-8 in " + where, Loads(
            data, [ONE, warning("repaired.invalid_utf8", count=1, at=[data.index(b"\xff")])], ["repaired.invalid_utf8"]
        )
    data = with_name(b"\xff").replace(b'"a"', b'"\xfe"')
    yield "different bad names", Loads(data, [warning("repaired.invalid_utf8", count=2), slices(("\ufffd", "5"), ("\ufffd", "5"))], ["repaired.invalid_utf8"])


def strings():
    for name, text, seen in (
        ("lone high surrogate", r"b\ud800z", "b\ufffdz"),
        ("lone low surrogate", r"b\udc00z", "b\ufffdz"),
        ("surrogates the wrong way round", r"b\udc00\ud800z", "b\ufffd\ufffdz"),
        ("high surrogate and a letter", r"b\ud83dAz", "b\ufffdAz"),
    ):
        data = with_name(text.encode())
        yield name, Loads(data, [slices(("a", "5"), (seen, "5")), warning("repaired.lone_surrogate", count=1)], ["repaired.lone_surrogate"])
    for name, text in (("NUL", b"\0"), ("line feed", b"\n"), ("tab", b"\t"), ("escape", b"\x1b"), ("unit separator", b"\x1f")):
        data = with_name(b"b" + text + b"z")
        yield "raw " + name, Loads(
            data,
            [slices(("a", "5"), ("b%sz" % text.decode(), "5")), warning("repaired.control_character", count=1, at=[place(data, text + b"z")[0]])],
            ["repaired.control_character"],
        )
    for name, text, seen in (
        ("escaped pair", r"\ud83d\ude00", "\U0001f600"),
        ("escaped NUL", r"x\u0000y", "x\0y"),
        ("all escapes", r"\"\\\/\b\f\n\r\tA", '"\\/\b\f\n\r\tA'),
        ("delete, line separator, next line", "\x7f\u2028\x85", "\x7f\u2028\x85"),
        ("backslash at the end", "b\\\\", "b\\"),
        ("empty", "", ""),
        ("markup", "<b>&amp;</b>%n%s", "<b>&amp;</b>%n%s"),
        ("noncharacter", "\uffff\ufdd0", "\uffff\ufdd0"),
    ):
        yield "name: " + name, Loads(with_name(text.encode()), [slices(("a", "5"), (seen, "5"))])
    for text in (r"C:\temp\x", r"\'", r"\x41", r"\e[0m", r"\U0041"):
        bad = [i for i in range(len(text)) if text[i] == "\\" and text[i + 1] not in '"\\/bfnrtu'][0]
        yield "bad escape in " + text, fails_at(with_name(text.encode()), text, r"invalid escape `\\.`.*Windows path", bad)
    for text in (r"\u12", r"\u12G4", r"\u"):
        yield "bad escape in " + text, fails_at(with_name(text.encode()), text, "four hexadecimal digits")
    yield "unescaped quotes", fails_at(with_name(b'say "hi" x'), 'hi" x', "expected `,` or `}`")
    yield "string without an end", Fails(with_name(b"x").replace(b'"x"', b'"x'), (0, 400), "expected|truncated")


def commas():
    for name, text in (
        ("in arguments", document(raw(',"args":{"k":1,}'), B)),
        ("in a nested list", document(raw(',"args":{"k":[1,2,]}'), B)),
        ("in a nested object", document(raw(',"args":{"k":{"l":1, }}'), B)),
        ("in an event", document(raw(","), B)),
        ("in the document", document(A, B, tail=",")),
        ("in a bare array", "[%s,\n%s,\n]" % (A, B)),
        ("in metadata", document(A, B, tail=',"x":[1,]')),
    ):
        at = [i for i in range(len(text)) if text[i] == "," and text[i + 1 :].lstrip()[:1] in ("}", "]")]
        yield "superfluous comma " + name, Loads(text, [TWO, warning("repaired.trailing_comma", count=1, at=at)], ["repaired.trailing_comma"])
    for name, text, at in (
        ("two", '{"traceEvents":[%s,,%s]}' % (A, B), ",,"),
        ("two at the end", '{"traceEvents":[%s,,]}' % A, ",,]"),
        ("two in arguments", document(raw(',"args":{"k":1,,"l":2}')), ',,"l'),
        ("two in a nested list", document(raw(',"args":{"k":[1,,2]}')), ",,2"),
    ):
        yield name + " commas", fails_at(text, at, "expected .*got `,`", 1)
    for name, text, at in (
        ("only a comma", '{"traceEvents":[,]}', ",]"),
        ("comma first in the document", '{,"traceEvents":[]}', ',"trace'),
        ("comma first in arguments", document(raw(',"args":{,"k":1}')), ',"k"'),
        ("comma first in a nested list", document(raw(',"args":{"k":[,1]}')), ",1]"),
    ):
        yield name, fails_at(text, at, "expected .*got `,`")
    yield "no comma between events", fails_at('{"traceEvents":[%s\n%s]}' % (A, B), '\n{"ph"', "expected `,` or `]`", 1)
    yield "no comma between members", fails_at(document(raw('"x":1')), '"x"', "expected .*got `\"`")
    yield "no colon", fails_at(document(A.replace('"pid": 1', '"pid" 1')), '"pid" 1', "expected `:`", 6)
    yield "no value", fails_at(document(A.replace('"pid": 1', '"pid": ')), '"pid": ,', "expected a value", 7)
    yield "key without quotes", fails_at(document(A.replace('"pid"', "pid")), "pid:", "object key in quotes")
    yield "single quotes", fails_at(document(A).replace('"', "'"), "'", "object key in quotes")
    yield "semicolons", fails_at(document(A.replace(",", ";")), ";", "expected `,` or `}`")


def numbers():
    for text in ("NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "+inf", "INF"):
        data = document(A, raw(',"args":{"k":%s,"l":[%s]}' % (text, text)))
        at = place(data, '"k":', 4)[0]
        value = (None, text)
        yield "argument %s" % text, Loads(
            data,
            [warning("repaired.non_finite_number", count=2, at=[at, at + len(text) + 6]), args_of("a", k=value + (None,))],
            ["repaired.non_finite_number"],
        )
        data = document(A, B.replace('"ts": 20', '"ts": ' + text))
        yield "ts %s" % text, Loads(data, [ONE, report_has(seen=2, skipped=1)], ["repaired.non_finite_number", "skipped.bad_timestamp"])
        data = document(A, B.replace('"dur": 5', '"dur": ' + text))
        yield "dur %s" % text, Loads(data, [slices(("a", "5"), ("b", None), in_exports=False)], ["repaired.non_finite_number", "unfinished_slice"], False)
        data = document(A, '{"ph":"C","name":"m","pid":1,"ts":5,"args":{"v":%s}}' % text)
        yield "counter %s" % text, Loads(data, [ONE, args_of("m", v=(None, text))], ["repaired.non_finite_number"])
    for text in (
        "0", "-0", "1.0", "1e5", "1E+2", "1.0000000000001", "0.1", "1e-320", "5e-324", "1.7976931348623157e308", "9007199254740993", "9223372036854775807",
        "-9223372036854775808", "9223372036854775808", "18446744073709551615", "123456789012345678901234567890", "0.30000000000000004", "1e400", "-1E-999",
    ):
        data = document(raw(',"args":{"k":%s}' % text))
        value = json.loads(text, parse_float=decimal.Decimal)
        yield "argument %s" % text, Loads(data, [ONE, args_of("a", k=(value,))])
    for text in ("0x10", "1_000", "01", "1.", ".5", "+5", "-", "1e", "--1", "1.5.2", "\u0661", "1,5"):
        for name, data in (("argument", document(raw(',"args":{"k":%s}' % text))), ("ts", document(A.replace('"ts": 10', '"ts": ' + text)))):
            at = place(data, ('"k":' if name == "argument" else '"ts": ') + text)[0]
            yield "%s %s" % (name, text), Fails(data, (at, at + 12), "expected")
    for name, text in (("a text", '"x"'), ("null", "null"), ("true", "true"), ("a list", "[]"), ("an object", "{}"), ("huge", "99999999999999999999"), ("1e999", "1e999")):
        yield "ts is " + name, Loads(document(A, B.replace('"ts": 20', '"ts": ' + text)), [ONE, report_has(skipped=1)], ["skipped.bad_timestamp"], False)
        yield "dur is " + name, Loads(document(A, B.replace('"dur": 5', '"dur": ' + text)), [slices(("a", "5"), ("b", None), in_exports=False)], ["unfinished_slice"], False)
    yield "times as text", Loads(document(A, B.replace('"ts": 20', '"ts": "20.5"').replace('"dur": 5', '"dur": "5"')), [TWO], is_plain=False)
    yield "negative duration", Loads(
        document(A, event(name="b", ts=20, dur=-7.5)), [slices(("a", "5"), ("b", "-7.5")), warning("negative_duration", count=1, worst_us="-7.5")], ["negative_duration"]
    )
    yield "negative time", Loads(document(A, event(name="b", ts=-20)), [TWO, info_has(first_ns=-20000)], ["negative_timestamp"])
    yield "latest time", Loads(
        document(A, B.replace('"ts": 20', '"ts": 9223372036854775.807')), [TWO], ["impossible_timestamp"]
    )
    yield "finer than a nanosecond", Loads(document(A, B.replace('"ts": 20', '"ts": 20.12345')), [note("noted.time_finer_than_1_ns", count=1)], is_plain=False)
    yield "exponents in times", Loads(document(A, B.replace('"ts": 20', '"ts": 2e1').replace('"dur": 5', '"dur": 50E-1')), [TWO])
    for text in ("1.5", "true", "null", '"x"', '""', "[1]", '{"a":1}', "18446744073709551615", "-1", "1e3"):
        for key in ("pid", "tid"):
            data = document(A, B.replace('"%s": 1' % key, '"%s": %s' % (key, text)))
            yield "%s %s" % (key, text), Loads(data, [TWO, info_has(events=2)])
    yield "int and text ids are apart", Loads(
        document(A, event(name="b", tid="1", ts=12)), [TWO, tracks(("1", "1", 1, "", ""), ("1", "1", 1, "", ""))]
    )


def structure():
    yield "carriage returns", Loads(AB.replace("\n", "\r\n"), [TWO])
    yield "blanks around", Loads(" \r\n\t" + AB + "\n\n \t", [TWO])
    yield "empty list", Loads('{"traceEvents":[]}', [note("no_events")])
    yield "empty array", Loads("[]", [note("no_events")])
    yield "null list", Loads('{"traceEvents":null,"displayTimeUnit":"ns"}', [note("no_events"), note("noted.null_event_list", count=1), metadata("displayTimeUnit", "ns")])
    for text in ("{}", '"x"', "17", "true", "nan"):
        data = '{"a":1,"traceEvents":%s}' % text
        yield "traceEvents is " + text, fails_at(data, ":" + text, "expected a list of events", 1)
    for text in ("{}", '{"schemaVersion":1}', A + "\n" + B + "\n"):
        yield "no list: " + text[:20], Fails(text, (0, len(text)), "traceEvents")
    for text in ("17", "null", '"x"', "x", "// comment\n" + AB, "# comment\n" + AB, "<html></html>", "\0\0\0\0"):
        yield "no trace: " + repr(text[:12]), Fails(text, (0, 0), "no known trace format")
    yield "comment inside", fails_at(document(A + " /* x */", B), "/*", "expected `,` or `]`")
    for name, tail in (("garbage", "garbage"), ("NULs", "\0\0\0"), ("Ctrl-Z", "\x1a"), ("a bracket", "]"), ("a second document", "\n" + AB), ("a comma", ",")):
        yield name + " behind", Fails(AB + tail, (len(AB), len(AB) + 1), "trailing data")
        yield name + " behind, in gzip", Fails(gzip.compress((AB + tail).encode()), (len(AB), len(AB) + 1), "trailing data")
    array = "[%s,\n%s" % (A, B)
    yield "array without its end", Loads(array, [TWO, warning("repaired.missing_closing_bracket", count=1, at=[len(array)])], ["repaired.missing_closing_bracket"])
    yield "array that ends with a comma", Loads(array + ",\n", [TWO], ["repaired.missing_closing_bracket", "repaired.trailing_comma"])
    yield "array cut in an event", Fails(array[:-7], (len(array) - 30, len(array)), "truncated")
    for cut in range(1, 30, 4):
        yield "object cut %d before its end" % cut, Fails(AB[:-cut], (len(AB) - cut - 30, len(AB)), "truncated|empty file")
    yield "wrong closing bracket", fails_at('{"traceEvents":[%s}' % A, "5}}", "expected `,` or `]`", 2)
    yield "odd elements", Loads(
        '{"traceEvents":[%s,1,"x",[],[{}],true,null,{ },{"ph":1},{"ph":""}]}' % A,
        [ONE, report_has(seen=10, imported=1, skipped=9)],
        ["skipped.not_an_object", "skipped.null_element", "skipped.empty_object", "skipped.no_phase"],
        False,
    )
    for name, text in (("text", '"x"'), ("null", "null"), ("a list", "[1,{}]"), ("a number", "5")):
        yield "arguments are " + name, Loads(document(raw(',"args":' + text)), [ONE, keeps_text('"args":' + text, lanes="off")], is_plain=False)
        yield "name is " + name, Loads(document(B, A.replace('"a"', text if name != "text" else '"a"')), [info_has(events=2)], is_plain=False)
        yield "category is " + name, Loads(document(B, A.replace('"cpu_op"', text)), [TWO], is_plain=False)
    yield "empty keys", Loads(document(raw(',"":1,"args":{"":2}')), [ONE, keeps_text('"":1', '"":2')])
    for name, extra, count in (
        ("args", ',"args":{"k":1},"args":{"k":2}', 1),
        ("name", ',"name":"a"', 1),
        ("an argument", ',"args":{"k":1,"k":2}', 1),
        ("an escaped argument", ',"args":{"k":1,"\\u006b":2}', 1),
        ("three times", ',"args":{"k":0,"k":1,"k":2}', 2),
        ("pid", ',"pid":1', 1),
    ):
        yield "twice: " + name, Loads(document(raw(extra)), [ONE, warning("repaired.duplicate_key", count=count)] + ([args_of("a", k=(2,))] if '"k"' in extra else []), ["repaired.duplicate_key"])
    yield "twice: metadata", Loads(document(A, head='"v":1,"v":2,'), [ONE, warning("repaired.duplicate_key", count=1, at=[7])], ["repaired.duplicate_key"], False)
    yield "three lists", Loads(
        '{"traceEvents":[%s],"x":1,"traceEvents":[],"traceEvents":[%s]}' % (A, B), [TWO, warning("repaired.duplicate_key", count=2)], ["repaired.duplicate_key"]
    )
    yield "no correlation", Loads(
        document(
            '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":1,"args":{"correlation":0}}',
            '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":1,"args":{"correlation":0,"stream":7}}',
        ),
        [launches(0, 0), note("kernel_without_correlation", count=1)],
    )
    yield "correlation of another type", Loads(
        document('{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":1,"args":{"correlation":"7","stream":null}}'),
        [launches(0, 0), args_of("k", correlation=("7",), stream=(None,))],
    )
    yield "unknown phase", Loads(document(A, '{"ph":"Z","name":"q","ts":1,"x":[1]}'), [ONE, info_has(events=2)])
    yield "text 'traceEvents' in strings", Loads(
        document(event(args={"k": '"traceEvents":[{]}'}), head='"x":"traceEvents\\":[",', tail=',"y":"]}"'), [ONE, metadata("y", "]}")]
    )
    inner = '{"ph":"X","name":"in","ts":1}'
    yield "events inside of strings", Loads(
        document(event(args={"k": "},\n" + inner + ",\n" + inner}), event(name="b", ts=20, args={"k": "},{" * 50})), [TWO]
    )
    yield "list of events inside of metadata", Loads(document(A, head='"x":{"traceEvents":[%s]},' % B), [ONE])


def sizes():
    yield "400 nested brackets", Loads(document(raw(',"args":{"k":%s}' % ("[" * 400 + "]" * 400))), [ONE])
    for name, text in (
        ("arguments", lambda n: document(raw(',"args":{"k":%s}' % ("[" * n + "]" * n)))),
        ("objects", lambda n: document(raw(',"args":%s' % ('{"a":' * n + "1" + "}" * n)))),
        ("metadata", lambda n: '{"x":%s,"traceEvents":[]}' % ("[" * n + "]" * n)),
        ("events", lambda n: "[" * n),
        ("unclosed", lambda n: document(raw(',"args":{"k":' + '[{"x":' * n))),
    ):
        yield "a million nested brackets in " + name, Fails(text(1000000), (0, 6000), "nested brackets")
    yield "name of 2 MB", Loads(with_name(b"n" * 2000000), [slices(("a", "5"), ("n" * 2000000, "5"))])
    yield "list of 30000 numbers", Loads(document(event(args={"k": list(range(30000))})), [ONE, args_of("a", k=(list(range(30000)),))])
    yield "20000 keys", Loads(document(event(args={"k%d" % i: 1 for i in range(20000)})), [ONE])
    yield "an event of 400 MB", Fails(packed_repeats(b'{"traceEvents":[{"ph":"X","name":"', b"a", b'"}]}'), (0, 100), "event of more than")
    yield "400 MB of blanks", Loads(packed_repeats(b'{"traceEvents":[', b" ", b"]}"), [note("no_events")])
    yield "5000 names and tracks", Loads(
        document(*(event(name="n%d" % i, tid=i) for i in range(5000))), [info_has(events=5000)]
    )


def containers():
    packed = gzip.compress(AB.encode())
    flipped = bytes(b ^ 0x10 if i == 40 else b for i, b in enumerate(packed))
    yield "gzip, cut", Fails(packed[:-12], (0, len(packed)), "truncated")
    yield "gzip, cut in its header", Fails(packed[:5], (0, 5), "truncated")
    yield "gzip, wrong checksum", Fails(packed[:-8] + b"\0\0\0\0" + packed[-4:], (0, len(packed)), "wrong checksum")
    yield "gzip, a flipped bit", Fails(flipped, (0, len(AB)), "gzip|expected|invalid")
    yield "gzip, text behind", Fails(packed + b"junk", (len(packed), len(packed)), "end of the file or another gzip member")
    yield "gzip, zeros behind", Loads(packed + b"\0" * 512, [TWO])
    yield "gzip, two documents", Fails(packed + packed, (len(AB), len(AB)), "second document")
    yield "gzip, empty members", Loads(gzip.compress(b"") + packed + gzip.compress(b""), [TWO, info_has(container="gzip")])
    yield "gzip, every byte a member", Loads(b"".join(gzip.compress(bytes([c])) for c in AB.encode()), [TWO])
    yield "gzip in gzip", Loads(gzip.compress(packed), [TWO])
    yield "gzip of nothing", Fails(gzip.compress(b""), (0, 0), "empty file")
    yield "gzip of a cut document", Fails(gzip.compress(AB[:-1].encode()), (len(AB) - 1, len(AB)), "truncated")
    yield "bzip2", Fails(bz2.compress(AB.encode()), (0, 0), "bzip2")
    yield "xz", Fails(lzma.compress(AB.encode()), (0, 0), "xz")
    yield "zlib", Fails(zlib.compress(AB.encode()), (0, 0), "no known trace format")
    yield "nothing", Fails("", (0, 0), "empty file")
    yield "blanks only", Fails(" \n\n\t", (0, 4), "blanks|empty")
    yield "zip, stored", Loads(zipped(("t.json", AB), method=zipfile.ZIP_STORED), [TWO, info_has(container="zip", member="t.json")])
    yield "zip of gzip", Loads(zipped(("t.json.gz", packed)), [TWO])
    yield "zip of zip", Loads(zipped(("in.zip", zipped(("t.json", AB)))), [TWO])
    yield "zip in gzip", Loads(gzip.compress(zipped(("t.json", AB))), [TWO])
    yield "zip with a directory", Loads(zipped(("d/", ""), ("d/t.json", AB)), [TWO, info_has(member="d/t.json")])
    yield "zip with clutter", Loads(zipped(("d/.DS_Store", "x"), ("__MACOSX/d/._t.json", "x"), ("d/t.json", AB), ("Thumbs.db", "x")), [TWO])
    yield "zip with a text file", Loads(zipped(("readme.txt", "hi"), ("t.json", AB)), [TWO, convert_says("not read: 'readme.txt'")])
    yield "zip, two traces", Fails(zipped(("t.json", AB), ("u.json", AB)), None, "one trace, got 2: 't.json', 'u.json'")
    yield "zip, the same name twice", Fails(zipped(("t.json", AB), ("t.json", A)), None, "one trace, got 2")
    yield "zip, empty", Fails(zipped(), None, "got none")
    yield "zip with text only", Fails(zipped(("readme.txt", "hi")), (0, 0), "plain text")
    for name in ("/etc/t.json", "a/../../t.json", "..\\..\\t.json", "C:\\t.json", "t\x1b[31m.json", "../t.json"):
        yield "zip with %r" % name, Fails(zipped((name, AB)), None, "unsafe names")
    whole = zipped(("t.json", AB))
    yield "zip, cut", Fails(whole[:-30], (0, len(whole)), "truncated")
    yield "zip, wrong checksum", Fails(whole.replace(whole[14:18], b"\0\0\0\0"), None, "wrong checksum")
    yield "zip by bzip2", Fails(zipped(("t.json", AB), method=zipfile.ZIP_BZIP2), None, "method 12")
    yield "zip of 400 MB of blanks", Loads(zipped_repeats(b'{"traceEvents":[', b" ", b"]}"), [note("no_events")])


def salvages():
    c = event(name="c", ts=30)
    three = document(A, B, c)
    yield "object cut in an event", Salvages(three[:-20], ["a", "b"])
    yield "object cut behind an event", Salvages(three[: three.index(c)], ["a", "b"])
    yield "array cut in an event", Salvages("[%s,%s,%s" % (A, B, c[:-5]), ["a", "b"], False)
    yield "garbage between events", Salvages(document(A, "garbage", B, c), ["a", "c"])
    yield "bad escape", Salvages(document(A, B.replace('"b"', '"C:\\temp\\x"').replace("\\\\", "\\"), c), ["a", "c"])
    yield "unescaped quotes", Salvages(document(A, B.replace('"b"', '"say "hi" x"'), c), ["a", "c"])
    yield "a second document", Salvages(document(A, B) + document(c), ["a", "b"])
    yield "gzip, cut", Salvages(gzip.compress(three.encode(), 0)[:-40], ["a", "b"])
    yield "two commas", Salvages(document(A, "", B, c), ["a", "b", "c"])


GROUPS = (encodings, strings, commas, numbers, structure, sizes, containers, salvages)

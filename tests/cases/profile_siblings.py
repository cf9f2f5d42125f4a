"""Profiles made here that have the faults of the acceptance cases in other places: every place of a small file for damage,
and tables of odd values, types, names and containers."""
import collections
import gzip
import importlib.util
import io
import json
import marshal
import pickle
import struct
import zipfile

# A profile that loads: `rows` are (file, line, name, calls, primitive calls, own ns, cumulative ns), in any order;
# `notes` are the reasons in the import report. `is_kept`: all formats keep it exactly.
Loads = collections.namedtuple("Loads", "data rows notes file_name is_kept", defaults=((), "made.prof", True))
# An error at a byte in `window` whose reason matches `says`.
Fails = collections.namedtuple("Fails", "data window says file_name", defaults=("made.prof",))

F = ("a.py", 1, "f")
G = ("b.py", 2, "g")
PROFILE = {F: (2, 3, 0.25, 0.5, {G: (3, 2, 0.25, 0.5)}), G: (1, 1, 0.25, 0.75, {})}
ROW_F = (*F, 3, 2, 250000000, 500000000)
ROW_G = (*G, 1, 1, 250000000, 750000000)
ROWS = (ROW_F, ROW_G)
PLAIN = marshal.dumps(PROFILE, 2)
CODE = compile("1", "c", "eval")

# Instead of an object, what has no place anywhere.
STRANGERS = {
    "the unfinished dictionary": b"r\0\0\0\0",
    "an object that is not there": b"r\xff\xff\xff\x7f",
    "object -1": b"r\xff\xff\xff\xff",
    "an interned text that is not there": b"R\x05\0\0\0",
    "a code object": marshal.dumps(CODE),
    "the code object's type": b"c",
    "a set": marshal.dumps(frozenset([1])),
    "an unknown type": b"Q",
    "a complex number": marshal.dumps(1j, 2),
    "nested lists": b"[\x01\0\0\0" * 3000 + b"N",
}
LENGTHS = (2147483647, 2147483632, 70000000, 255, -1, -2147483648)


class Encoder:
    """Marshal's plain types, with one object in the n-th place replaced, or its length."""

    def __init__(self, at=None, instead=None, length=None):
        self.at = at
        self.instead = instead
        self.length = length
        self.count = 0
        self.changed = None  # offset
        self.out = bytearray()

    def size(self, size, is_here):
        if is_here and self.length is not None:
            self.changed = len(self.out)
            size = self.length
        self.out += struct.pack("<i", size)

    def write(self, value):
        is_here = self.count == self.at
        self.count += 1
        if is_here and self.instead is not None:
            self.changed = len(self.out)
            self.out += self.instead
        elif isinstance(value, dict):
            self.out += b"\xfb" if self.count == 1 else b"{"
            for key, member in value.items():
                self.write(key)
                self.write(member)
            self.out += b"0"
        elif isinstance(value, tuple):
            self.out += b"("
            self.size(len(value), is_here)
            for member in value:
                self.write(member)
        elif isinstance(value, str):
            self.out += b"u"
            self.size(len(value), is_here)
            self.out += value.encode()
        else:
            self.out += struct.pack("<ci" if isinstance(value, int) else "<cd", b"i" if isinstance(value, int) else b"g", value)


def encoded(**changes):
    encoder = Encoder(**changes)
    encoder.write(PROFILE)
    return encoder


OBJECTS = encoded().count


def damages():
    """(name, bytes, whether they may load all the same), of one small file damaged in every place."""
    whole = bytes(encoded().out)
    for cut in range(len(whole)):
        yield "cut at %d" % cut, whole[:cut], False
    for data, how in ((whole, "plain"), (marshal.dumps(PROFILE), "with references")):
        for at in range(len(data)):
            for bits in (0x01, 0x80, 0xFF):
                yield "%s, byte %d changed by %#x" % (how, at, bits), data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :], True
    for at in range(OBJECTS):
        for name, instead in STRANGERS.items():
            yield "object %d is %s" % (at, name), bytes(encoded(at=at, instead=instead).out), False
        for length in LENGTHS:
            encoder = encoded(at=at, length=length)
            if encoder.changed is not None:
                yield "object %d has length %d" % (at, length), bytes(encoder.out), False


def of_function(value, key=F):
    return marshal.dumps({key: value}, 2)


def times():
    row = lambda calls, primitive, own, cumulative: ((*F, calls, primitive, own, cumulative),)
    half = 500000000
    yield "integers as times", Loads(of_function((1, 1, 1, 2, {})), row(1, 1, 1000000000, 2000000000))
    yield "floats as counts", Loads(of_function((1.0, 2.0, 0.25, 0.5, {})), row(2, 1, 250000000, half))
    yield "truth as counts", Loads(of_function((True, True, 0.25, 0.5, {})), row(1, 1, 250000000, half))
    yield "no calls", Loads(of_function((0, 0, 0.0, 0.0, {})), row(0, 0, 0, 0))
    yield "negative counts", Loads(of_function((-1, -2, 0.25, 0.5, {})), row(-2, -1, 250000000, half), is_kept=False)
    for bits in (31, 32, 62):
        yield "2^%d calls" % bits, Loads(of_function((1 << bits, 1 << bits, 0.25, 0.5, {})), row(1 << bits, 1 << bits, 250000000, half))
    for name, count, limit in (("2^63", 1 << 63, (1 << 63) - 1), ("2^200", 1 << 200, (1 << 63) - 1), ("-2^70", -(1 << 70), -(1 << 63))):
        yield name + " calls", Loads(of_function((1, count, 0.25, 0.5, {})), row(limit, 1, 250000000, half), ["count_out_of_range"], is_kept=False)
    yield "a time of nan", Loads(of_function((1, 1, float("nan"), 0.5, {})), row(1, 1, 0, half), ["non_finite_time"])
    yield "a time of -inf", Loads(of_function((1, 1, 0.25, float("-inf"), {})), row(1, 1, 250000000, 0), ["non_finite_time"])
    yield "a negative time", Loads(of_function((1, 1, -0.25, 0.5, {})), row(1, 1, -250000000, half), ["negative_time"])
    yield "a time of 1e300", Loads(of_function((1, 1, 1e300, 0.5, {})), row(1, 1, (1 << 63) - 1, half), ["time_out_of_range"], is_kept=False)
    yield "a time of 0.1 ns", Loads(of_function((1, 1, 1e-10, 1.0, {})), row(1, 1, 0, 1000000000))
    numbers = b"{(\3\0\0\0" + marshal.dumps("a.py", 1) + marshal.dumps(1) + marshal.dumps("f", 1) + b"(\5\0\0\0" + marshal.dumps(1) * 2
    for text, own, notes in (
        ("0.25", 250000000, []),
        ("1.5e-3", 1500000, []),
        ("+1", 1000000000, []),
        ("-0.5", -500000000, ["negative_time"]),
        ("nan", 0, ["non_finite_time"]),
        ("inf", 0, ["non_finite_time"]),
        ("-Infinity", 0, ["non_finite_time"]),
        ("1e400", 0, ["non_finite_time"]),
    ):
        data = numbers + b"f%c" % len(text) + text.encode() + marshal.dumps(0.5, 1) + b"{00"
        yield "text " + text, Loads(data, row(1, 1, own, half), notes)
    for text in ("", "garbage", "1_0", "1 s", "1,5", "0x10", " 1", "1 "):
        data = numbers + b"f%c" % len(text) + text.encode() + marshal.dumps(0.5, 1) + b"{00"
        yield "text %r" % text, Fails(data, (len(numbers), len(numbers) + 1), "no number")
    for name, bad in (("None", None), ("text", "1"), ("complex", 1j), ("StopIteration", StopIteration), ("Ellipsis", ...), ("a tuple", (1,)), ("code", CODE)):
        for place in range(4):
            value = [1, 1, 0.25, 0.5, {}]
            value[place] = bad
            data = of_function(tuple(value))
            yield "%s in place %d" % (name, place), Fails(data, (17, len(data)), "expected a number, got")


def shapes():
    one = ((*F, 1, 1, 250000000, 750000000),)
    good = (1, 1, 0.25, 0.75, {})
    for name, key in (
        ("two", ("a", 1)), ("four", ("a", 1, "f", 2)), ("none", ()), ("a text", "a:1(f)"), ("a number", 1), ("None is", None), ("a set", frozenset([1])), ("code", CODE)
    ):
        data = marshal.dumps({key: good}, 2)
        yield "key: " + name, Fails(data, (1, 1), r"expected a function \(file, line, name\), got")
        data = of_function((1, 1, 0.25, 0.75, {key: (1, 1, 0.25, 0.75)}))
        yield "key of a caller: " + name, Fails(data, (17, len(data)), r"expected a function \(file, line, name\), got")
    for name, key, says in (
        ("file None", (None, 1, "f"), "a text, got None"), ("name None", ("a", 1, None), "a text, got None"), ("name a number", ("a", 1, 2), "a text, got"),
        ("line a text", ("a", "1", "f"), "a line number, got a text"), ("line a float", ("a", 1.5, "f"), "a line number, got a float"), ("line None", ("a", None, "f"), "a line number, got None"),
        ("file code", (CODE, 1, "f"), "a text, got a code object"), ("line code", ("a", CODE, "f"), "a line number, got a code object"), ("name code", ("a", 1, CODE), "a text, got a code object"),
    ):
        data = marshal.dumps({key: good}, 2)
        yield "key with " + name, Fails(data, (3, len(data)), says)
    for count in (0, 1, 4, 6):
        data = of_function((1, 1, 0.25, 0.75, {}, 1)[:count])
        yield "%d numbers" % count, Fails(data, (26, 26), "the numbers of a function .*, got a tuple of %d" % count)
    for count in (0, 3, 5):
        data = of_function((1, 1, 0.25, 0.75, {G: (1, 1, 0.25, 0.75, 1)[:count]}))
        yield "%d numbers of a caller" % count, Fails(data, (17, len(data)), "the numbers of a caller .*, got a tuple of %d" % count)
    for name, bad in (("None", None), ("list", [1]), ("tuple", (1,)), ("set", {1}), ("number", 1), ("code", CODE)):
        data = of_function((1, 1, 0.25, 0.75, bad))
        yield "callers are " + name, Fails(data, (17, len(data)), "a dict of callers, got")
        if name not in ("list", "tuple"):
            yield "value is " + name, Fails(of_function(bad), (26, 26), "the numbers of a function")
        if name not in ("None", "number"):
            yield "all is " + name, Fails(marshal.dumps(bad, 2), (0, 0), "expected a statistics dictionary|no known trace format")
    yield "list for a tuple", Loads(of_function([1, 1, 0.25, 0.75, {}]), one)
    yield "list for a caller's tuple", Loads(of_function((1, 1, 0.25, 0.75, {G: [1, 1, 0.25, 0.75]})), one, ["caller_without_row"], is_kept=False)
    yield "counts of callers only", Loads(of_function((1, 1, 0.25, 0.75, {G: 1})), one, ["caller_without_row", "callers_without_times"], is_kept=False)
    yield "its own caller", Loads(of_function((1, 5, 0.25, 0.75, {F: (4, 1, 0.25, 0.75)})), ((*F, 5, 1, 250000000, 750000000),))
    twice = PLAIN[:-1] + PLAIN[1:]
    yield "each key twice", Loads(twice, ((*F, 6, 4, 500000000, 1000000000), (*G, 2, 2, 500000000, 1500000000)), is_kept=False)
    for tail in (b"x", b"\0" * 10, PLAIN):
        yield "%d bytes behind" % len(tail), Loads(PLAIN + tail, ROWS, ["trailing_bytes"])
    yield "no functions", Loads(marshal.dumps({}), (), ["empty_profile"], is_kept=False)


def names():
    good = (1, 1, 0.25, 0.75, {})
    # seen: how JSON shows it
    for what, file, line, name, seen in (
        ("empty", "", 0, "", ("", 0, "")),
        ("a line of -5", "a", -5, "f", ("a", -5, "f")),
        ("a line that is True", "a", True, "f", ("a", 1, "f")),
        ("controls", "a\0b", 1, "f\n\x1b[31m", ("a\0b", 1, "f\n\x1b[31m")),
        ("markup", "</script>", 1, "<!--", ("</script>", 1, "<!--")),
        ("quotes", 'a"b\\c', 1, "f,'g'", ('a"b\\c', 1, "f,'g'")),
        ("separators", "a;b", 1, "f 17", ("a;b", 1, "f 17")),
        ("far planes", "数", 1, "\U0001f600", ("数", 1, "\U0001f600")),
        ("a lone surrogate", "\ud800", 1, "f", ("\\ud800", 1, "f")),
        ("bytes", b"a.py\xff", 1, b"f\xfe", ("a.py\\udcff", 1, "f\\udcfe")),
        ("a name of 1 MB", "a", 1, "n" * 1000000, ("a", 1, "n" * 1000000)),
        ("a built-in", "~", 0, "<len>", (None, None, "<len>")),
    ):
        yield what, Loads(marshal.dumps({(file, line, name): good}), ((*seen, 1, 1, 250000000, 750000000),), is_kept=what not in ("controls", "markup", "a lone surrogate", "bytes"))
    yield "a line of 2^70", Loads(marshal.dumps({("a", 1 << 70, "f"): good}), (("a", (1 << 63) - 1, "f", 1, 1, 250000000, 750000000),), ["line_out_of_range"], is_kept=False)


def python2():
    text = lambda data: b"s" + struct.pack("<i", len(data)) + data
    interned = lambda data: b"t" + struct.pack("<i", len(data)) + data
    ref = lambda n: b"R" + struct.pack("<i", n)
    number = lambda n: b"i" + struct.pack("<i", n)
    time = lambda t: b"f%c" % len(t) + t
    key = lambda file, line, name: b"(\3\0\0\0" + file + number(line) + name
    value = lambda a, b, own, cumulative, callers: b"(\5\0\0\0" + number(a) + number(b) + time(own) + time(cumulative) + b"{" + callers + b"0"
    caller = lambda a, b, own, cumulative: b"(\4\0\0\0" + number(a) + number(b) + time(own) + time(cumulative)
    data = (
        b"{"
        + key(interned(b"a.py"), 1, interned(b"f"))
        + value(2, 3, b"0.25", b"0.5", key(text(b"b.py"), 2, interned(b"g")) + caller(3, 2, b"0.25", b"0.5"))
        + key(text(b"b.py"), 2, ref(2))
        + value(1, 1, b"0.25", b"0.75", b"")
        + b"0"
    )
    yield "interned", Loads(data, ROWS)
    latin = data.replace(interned(b"f"), interned(b"f\xe9")).replace(text(b"b.py"), text(b"b\xff.py"))
    yield "no UTF-8", Loads(latin, (("a.py", 1, "f\\udce9", 3, 2, 250000000, 500000000), ("b\\udcff.py", 2, "g", 1, 1, 250000000, 750000000)), is_kept=False)
    for n in (3, 1000, -1):
        bad = data.replace(ref(2), ref(n))
        yield "interned text %d" % n, Fails(bad, (100, len(bad)), "expected a text, got a reference")


def containers():
    for version in range(5):
        yield "marshal version %d" % version, Loads(marshal.dumps(PROFILE, version), ROWS)
    yield "gzip", Loads(gzip.compress(PLAIN), ROWS, file_name="made.prof.gz")
    yield "gzip, named .prof", Loads(gzip.compress(PLAIN), ROWS)
    yield "gzip, cut", Fails(gzip.compress(PLAIN)[:-9], (0, 200), "truncated")
    yield "gzip of a cut profile", Fails(gzip.compress(PLAIN[:-1]), (len(PLAIN) - 1, len(PLAIN) - 1), "truncated|end of")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("run.prof", PLAIN)
    yield "zip", Loads(out.getvalue(), ROWS)
    yield "named .json", Loads(PLAIN, ROWS, file_name="made.json")
    yield "named .kiln", Loads(PLAIN, ROWS, file_name="made.kiln")
    yield "without extension", Loads(PLAIN, ROWS, file_name="made")
    for protocol in range(6):
        yield "pickle %d" % protocol, Fails(pickle.dumps(PROFILE, protocol), (0, 0), "no known trace format.*a pickle, not marshal data")
        lines = {"timings": {("run.py", 1, "f"): [(2, 3, 500)]}, "unit": 1e-06}
        yield "line_profiler %d" % protocol, Fails(pickle.dumps(lines, protocol), (0, 0), "a pickle of line_profiler, not marshal data")
    yield "text of line_profiler", Fails(b"Timer unit: 1e-06 s\n\nTotal time: 2 s\n", (0, 0), "the text of line_profiler")
    yield "a .pyc", Fails(importlib.util.MAGIC_NUMBER + b"\0" * 12 + marshal.dumps(CODE), (16, 16), r"compiled module \(\.pyc\)")
    yield "an old .pyc", Fails(b"\x33\x0d\x0d\x0a" + b"\0" * 8 + marshal.dumps(CODE, 2), (0, 16), r"\.pyc|no known trace format")
    yield "a profile as JSON", Fails(json.dumps({"a.py:1(f)": [1, 1, 0.25, 0.5, {}]}).encode(), (0, 60), "traceEvents")
    yield "an import log", Fails(b"import time: self [us] | cumulative | imported package\nimport time:       103 |        103 |   _io\n", (0, 0), "python -X importtime")
    yield "text of pstats", Fails(b"         3 function calls in 0.375 seconds\n", (0, 0), "plain text")
    yield "nothing", Fails(b"", (0, 0), "empty file")
    yield "one brace", Fails(b"{", (0, 1), "the file is truncated")


GROUPS = (times, shapes, names, python2, containers)

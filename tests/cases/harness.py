"""Runs the tool on one input in all the ways that the tests over odd inputs want, within the limits stated for them."""
import decimal
import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

SECONDS = 5
BYTES = 256 << 20
# Wall time depends on what else the machine does: the limit is taken on processor time, and a hang ends here.
HANG_SECONDS = 60

COMMANDS_THAT_READ = (
    ("info",),
    ("check",),
    ("cat",),
    ("convert", "--to", "kiln"),
    ("convert", "--to", "chrome"),
    ("convert", "--to", "chrome", "--option", "lanes=off"),
)
# Of profiles. (None can be converted to chrome.)
COMMANDS_THAT_READ_PROFILES = (
    ("info",),
    ("check",),
    ("cat",),
    ("stats",),
    ("stats", "--format", "json"),
    ("stats", "--format", "csv"),
    ("stats", "--format", "collapsed"),
    ("convert", "--to", "kiln"),
    ("convert", "--to", "pstats"),
    ("convert", "--to", "pstats", "--option", "references=off"),
)


def tool_path():
    """The binary among the runfiles of the test."""
    return os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tools", "tracekiln")


# A child's peak of memory is never below that of its parent: Linux takes it over when the child starts. So the parent's
# is brought down to what it has now; what it keeps should be small.
def _reset_peak():
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        pass


class Run:
    """One run of the tool: its exit status (negative: a signal), output, and what it took."""

    def __init__(self, arguments, directory, stdin=None):
        self.arguments = arguments
        self.timed_out = False
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            _reset_peak()
            begin = time.monotonic()
            process = subprocess.Popen(
                [tool_path()] + list(arguments), cwd=directory, stdin=stdin or subprocess.DEVNULL, stdout=out, stderr=err
            )
            timer = threading.Timer(HANG_SECONDS, self._kill, [process])
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            self.wall_seconds = time.monotonic() - begin
            self.rc = process.returncode
            self.cpu_seconds = usage.ru_utime + usage.ru_stime
            self.peak_bytes = usage.ru_maxrss * 1024
            out.seek(0)
            err.seek(0)
            self.out = out.read()
            self.err = err.read().decode("utf-8", "backslashreplace")

    def _kill(self, process):
        self.timed_out = True
        process.kill()

    def __str__(self):
        return "tracekiln %s\nexit status %d, %.2f s of processor time, %d MiB\n%s" % (
            " ".join(self.arguments),
            self.rc,
            self.cpu_seconds,
            self.peak_bytes >> 20,
            self.err[-4000:],
        )


def parse_strictly(data):
    """JSON as RFC 8259 has it, which Python's json is not by itself: UTF-8 without mark, no NaN, no duplicate keys.
    Numbers with a point are Decimal."""

    def no_constant(text):
        raise ValueError("the bare token " + text)

    def no_duplicates(pairs):
        result = dict(pairs)
        if len(result) != len(pairs):
            raise ValueError("duplicate keys: %s" % [key for key, _ in pairs])
        return result

    text = data.decode("utf-8", "strict") if isinstance(data, bytes) else data
    if text.startswith("\ufeff"):
        raise ValueError("a byte order mark")
    text.encode("utf-8", "strict")
    return json.loads(text, parse_float=decimal.Decimal, parse_constant=no_constant, object_pairs_hook=no_duplicates)


def events_of(document):
    return document if isinstance(document, list) else document["traceEvents"]


def digests(directory):
    """What every file below the directory holds, by path."""
    found = {}
    for place, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = hashlib.sha256(file.read()).hexdigest()
    return found


class Subject:
    """One input file, copied to a directory of its own, and what the tool makes of it. Each run happens once."""

    def __init__(self, path, top, is_profile=None):
        self.name = os.path.basename(path)
        self.directory = tempfile.mkdtemp(dir=top)
        self.path = os.path.join(self.directory, self.name)
        shutil.copyfile(path, self.path)
        self.digest = digests(self.directory)
        self.output_directory = tempfile.mkdtemp(dir=top)
        self.runs = []
        self.profiles = {}
        self.is_profile = self.name.endswith(".prof") if is_profile is None else is_profile
        self.commands_that_read = COMMANDS_THAT_READ_PROFILES if self.is_profile else COMMANDS_THAT_READ

    def run(self, *arguments):
        run = Run(arguments, self.directory)
        self.runs.append(run)
        return run

    def run_on_input(self, *arguments):
        """`arguments` with the input behind them, and the output directory where one is written."""
        extra = (self.name,)
        if arguments[0] == "convert":
            extra += ("-o", os.path.join(self.output_directory, "out.%s" % arguments[2]))
        return self.run(*arguments, *extra)

    def good(self, *arguments):
        run = self.run(*arguments)
        assert run.rc == 0, str(run)
        return run

    @functools.cached_property
    def info(self):
        return parse_strictly(self.good("info", "--format", "json", self.name).out)

    @functools.cached_property
    def info_text(self):
        return self.good("info", self.name).out.decode()

    @functools.cached_property
    def check(self):
        return parse_strictly(self.good("check", "--format", "json", self.name).out)

    @functools.cached_property
    def check_text(self):
        return self.good("check", self.name).out.decode()

    @staticmethod
    def _rows(run):
        return [parse_strictly(line) for line in run.out.split(b"\n") if line]

    @functools.cached_property
    def rows(self):
        return self._rows(self.good("cat", self.name))

    @functools.cached_property
    def convert_messages(self):
        """What a conversion says on standard error."""
        return self.good("convert", self.name, "--to", "chrome", "-o", "-").err

    def converted(self, name, *arguments):
        path = os.path.join(self.output_directory, name)
        self.good("convert", *arguments, "-o", path)
        return path

    @functools.cached_property
    def kiln_path(self):
        return self.converted("through.kiln", self.name, "--to", "kiln")

    @functools.cached_property
    def kiln_rows(self):
        return self._rows(self.good("cat", self.kiln_path))

    @functools.cached_property
    def exports(self):
        """The bytes of each way to write Chrome JSON, by what it is."""
        ways = {}
        for source_name, source in (("direct", self.name), ("through kiln", self.kiln_path)):
            for lanes in ("on", "off"):
                path = self.converted("%s.%s.json" % (source_name.split()[0], lanes), source, "--to", "chrome", "--option", "lanes=" + lanes)
                with open(path, "rb") as file:
                    ways["%s, lanes=%s" % (source_name, lanes)] = file.read()
        return ways

    @functools.cached_property
    def documents(self):
        return {how: parse_strictly(data) for how, data in self.exports.items()}

    @functools.cached_property
    def rows_again(self):
        """The rows of the exports with lanes=off."""
        self.exports  # pylint: disable=pointless-statement
        return {
            name: self._rows(self.good("cat", os.path.join(self.output_directory, name)))
            for name in ("direct.off.json", "through.off.json")
        }

    def profile_with(self, *options):
        """The profile that `stats` shows: of the input, if that is one, or made of its timeline with these options."""
        if options not in self.profiles:
            path = self.name if self.is_profile else self._converted_to_profile(options)
            self.profiles[options] = parse_strictly(self.good("stats", "--format", "json", path).out)
        return self.profiles[options]

    def folded(self, *options):
        """The folded stacks of profile_with(): texts of frames -> ns."""
        path = self.name if self.is_profile else self._converted_to_profile(options)
        lines = self.good("stats", "--format", "collapsed", path).out.decode("utf-8", "strict").splitlines()
        return {stack: int(value) for stack, value in (line.rsplit(" ", 1) for line in lines)}

    def _converted_to_profile(self, options):
        arguments = [a for option in options for a in ("--option", option)]
        return self.converted("made-%s.prof" % "-".join(options), self.name, "--to", "pstats", *arguments)

    @functools.cached_property
    def profiles_again(self):
        """`stats --format json` of the profile through each format that keeps it."""
        paths = {"kiln": self.kiln_path}
        if self.profile_with()["functions"]:
            for references in ("on", "off"):
                options = ("--to", "pstats", "--option", "references=" + references)
                paths["references=" + references] = self.converted("again-%s.prof" % references, self.name, *options)
                paths["kiln, references=" + references] = self.converted("kiln-%s.prof" % references, self.kiln_path, *options)
        return {how: parse_strictly(self.good("stats", "--format", "json", path).out) for how, path in paths.items()}

"""CallRecorder against CPython's own cProfile, row for row and edge for edge.

Random programs run under cProfile.Profile with a timer of integers that this test makes up. They write down themselves
which function begins and which ends. cProfile reads the timer once for each of these events, so the n-th event has the
n-th time; the same events with the same times go through CallRecorder (call_recorder_main). The rows must be equal.
"""

import cProfile
import functools
import os
import pstats
import random
import subprocess
import unittest

MAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "call_recorder_main")
SEEDS = 800

# What a node of a program does, one after the other: (operation, function, nodes of the called).
OPERATIONS = ("CALL", "CATCH", "RAISE", "GENERATE", "ABANDON", "RESUME", "BUILTIN", "CALLBACK", "STOP", "START")
CALL, CATCH, RAISE, GENERATE, ABANDON, RESUME, BUILTIN, CALLBACK, STOP, START = range(10)

# In the log of a program: number of a function = it begins; -1 = the innermost ends; and the profiler is switched off
# (the timer calls before and after that follow) or on.
LEAVE, STOPPED, STARTED = -1, -2, -3

# Built-ins that programs call; their numbers begin behind those of functions.
BUILTINS = (
    "<built-in method builtins.len>", "<built-in method builtins.sorted>", "<built-in method _functools.reduce>",
    "<built-in method builtins.next>", "<method 'disable' of '_lsprof.Profiler' objects>",
)
LEN, SORTED, REDUCE, NEXT, DISABLE = range(5)


class Boom(Exception):
    pass


# A function of a program. Nothing in it but the operations makes an event: no call in the bookkeeping, only bytecode.
# Generators are left at each yield and entered again behind it.
SOURCE = """
def {name}(node):
    global LOG
    LOG += [{number}]
    try:
        for op, arg, inner in node:
            if op == CALL:
                FUNCTIONS[arg](inner)
            elif op == CATCH:
                try:
                    FUNCTIONS[arg](inner)
                except Boom:
                    pass
            elif op == RAISE:
                raise Boom
            elif op == GENERATE:
                for item in GENERATORS[arg](inner):
                    pass
            elif op == ABANDON:
                generator = GENERATORS[arg](inner)
                for item in generator:
                    break
                generator = None
            elif op == RESUME:
                LOG += [BUILTIN_BASE + NEXT]
                try:
                    next(POOL[arg], None)
                except ValueError:  # it is running already
                    pass
                finally:
                    LOG += [LEAVE]
            elif op == BUILTIN:
                LOG += [BUILTIN_BASE + LEN]
                len(node)
                LOG += [LEAVE]
            elif op == CALLBACK:
                LOG += [BUILTIN_BASE + SORTED]
                try:
                    sorted(((),), key=FUNCTIONS[arg])
                finally:
                    LOG += [LEAVE]
                LOG += [BUILTIN_BASE + REDUCE]
                try:
                    reduce(PAIRS[arg], ((), inner))
                finally:
                    LOG += [LEAVE]
            elif op == STOP:
                if STATE[0]:
                    STATE[0] = False
                    LOG += [STOPPED, TICKS[0]]
                    PROFILER[0].disable()
                    LOG += [TICKS[0]]
            elif op == START:
                if not STATE[0]:
                    STATE[0] = True
                    LOG += [STARTED]
                    PROFILER[0].enable()
            {yields}
    finally:
        LOG += [LEAVE]
"""
YIELD = """
            LOG += [LEAVE]
            try:
                yield
            finally:  # entered again to go on, or to be closed
                LOG += [{number}]
"""


class Program:
    """Random functions and a random tree of calls."""

    def __init__(self, seed):
        self.random = rng = random.Random(seed)
        self.builtins = rng.random() < 0.4
        self.same_keys = rng.random() < 0.25
        function_count = rng.choice((1, 2, 3, 5, 8, 20))
        self.log = []
        self.ticks = [0]
        steps = rng.choice(((0,), (1,), (0, 0, 1, 7), range(1000), (10**9, 1), range(-5, 20), range(10**12, 10**12 + 9)))
        self.step = rng.choices(steps, k=997)
        self.now = rng.choice((0, 10**15, -(10**6)))
        self.times = []
        self.state = [False]
        self.profiler = [None]
        names = {
            "LOG": self.log, "TICKS": self.ticks, "STATE": self.state, "PROFILER": self.profiler, "Boom": Boom,
            "LEAVE": LEAVE, "STOPPED": STOPPED, "STARTED": STARTED, "LEN": LEN, "SORTED": SORTED, "REDUCE": REDUCE,
            "NEXT": NEXT, "BUILTIN_BASE": 3 * function_count, "reduce": functools.reduce,
        }
        names.update(zip(OPERATIONS, range(len(OPERATIONS))))
        # Every number is a code object of its own, whatever it is called: functions, generator functions, and functions
        # of two parameters for reduce().
        self.codes = []
        kinds = []
        for kind, parameters, yields in (("f", "node", ""), ("g", "node", YIELD), ("p", "first, node", "")):
            kinds.append([])
            for i in range(function_count):
                number = len(self.codes)
                name, line, file = (kind, 0, "same.py") if self.same_keys else ("%s%d" % (kind, i), i % 3, "file%d.py" % (i % 2))
                source = SOURCE.replace("(node)", "(%s)" % parameters, 1)
                source = source.format(name=name, number=number, yields=yields.format(number=number).strip("\n ") if yields else "")
                exec(compile("\n" * line + source, file, "exec"), names)
                kinds[-1].append(names[name])
                self.codes.append(names[name].__code__)
        self.functions, generators, pairs = kinds
        names.update(FUNCTIONS=self.functions, GENERATORS=generators, PAIRS=pairs)
        self.builtin_base = len(self.codes)
        self.down = rng.choice((0.3, 0.6, 0.85, 0.95))
        self.weights = [
            rng.choice((2, 10)),  # CALL
            rng.choice((0, 2)),  # CATCH
            rng.choice((0, 0, 1)),  # RAISE
            rng.choice((0, 2)),  # GENERATE
            rng.choice((0, 1)),  # ABANDON: a generator is closed when it is dropped
            rng.choice((0, 2)),  # RESUME
            rng.choice((0, 1)),  # BUILTIN
            rng.choice((0, 1)),  # CALLBACK
            rng.choice((0, 0, 0.1)),  # STOP
            rng.choice((0, 0.3)),  # START
        ]
        self.function_count = function_count
        self.threads = []
        self.pools = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            self.budget = rng.choice((5, 40, 200, 200, 600))
            roots = []
            while self.budget > 0:
                roots.append((rng.choice((CALL, CATCH)), rng.randrange(function_count), self.make_node(0)))
            self.threads.append(roots)
            self.budget = 60
            self.pools.append([generators[rng.randrange(function_count)](self.make_node(0)) for _ in range(3)])
        self.names = names

    def make_node(self, depth):
        rng = self.random
        node = []
        while self.budget > 0 and depth < 120 and rng.random() < self.down:
            self.budget -= 1
            op = rng.choices(range(len(OPERATIONS)), self.weights)[0]
            inner = self.make_node(depth + 1) if op in (CALL, CATCH, GENERATE, ABANDON, CALLBACK) else ()
            node.append((op, rng.randrange(3 if op == RESUME else self.function_count), inner))
        return tuple(node)

    def timer(self):
        self.now += self.step[self.ticks[0] % 997]
        self.ticks[0] += 1
        self.times.append(self.now)
        return self.now

    def run(self):
        """Runs the program. Returns the events as text for call_recorder_main, and the profiler of each thread."""
        text = []
        profilers = []
        for roots, pool in zip(self.threads, self.pools):
            self.names["POOL"] = pool
            self.profiler[0] = profiler = cProfile.Profile(self.timer, 1, builtins=self.builtins)
            self.log.clear()
            self.times.clear()
            self.ticks[0] = 0
            # Not in a real thread: since 3.12 a profiler sees what other threads do meanwhile, that of join() included.
            self.run_thread(roots)
            assert not self.state[0]
            text += self.events()
            profilers.append(profiler)
        return text, profilers

    def run_thread(self, roots):
        start = ((START, 0, ()),)
        stop = ((STOP, 0, ()),)
        # The profiler is switched on and off within calls: the first return comes from a call it did not see begin, and
        # some calls are open when it is switched off.
        self.functions[0](start)
        for _, function, node in roots:
            try:
                self.functions[function](node)
            except Boom:
                pass
        self.functions[-1](((CALL, 0, stop),))

    def events(self):
        """The log of one thread with the times of the profiler. Leaves of calls that it did not see begin are dropped."""
        text = []
        is_on = False
        open_calls = []  # what began while it was on: True if it counts (built-ins may not)
        tick = 0
        position = 0
        while position < len(self.log):
            entry = self.log[position]
            position += 1
            if entry == STARTED:
                assert not is_on and not open_calls
                is_on = True
            elif entry == STOPPED:
                ticks_before, ticks_after = self.log[position : position + 2]
                position += 2
                assert is_on and tick == ticks_before, (tick, ticks_before)
                is_on = False
                depth = sum(open_calls)
                open_calls = []
                # With builtins=True the call of disable() itself is seen, by some versions of CPython.
                if self.builtins and ticks_after - tick == depth + 2:
                    text.append("+ %d %d" % (self.builtin_base + DISABLE, self.times[tick]))
                    tick += 1
                    depth += 1
                assert ticks_after == tick + depth, (tick, depth, ticks_after)
                text += ["- %d" % time for time in self.times[tick:ticks_after]]
                tick = ticks_after
            elif not is_on:
                pass
            elif entry == LEAVE:
                if not open_calls:
                    pass  # begun before the profiler was switched on
                elif open_calls.pop():
                    text.append("- %d" % self.times[tick])
                    tick += 1
            else:
                counts = self.builtins or entry < self.builtin_base
                open_calls.append(counts)
                if counts:
                    text.append("+ %d %d" % (entry, self.times[tick]))
                    tick += 1
        assert not open_calls and tick == len(self.times), (open_calls, tick, len(self.times))
        return text

    def number(self, code):
        """Of a code object or, for built-ins, a text, as cProfile's entries have it."""
        if isinstance(code, str):
            return self.builtin_base + BUILTINS.index(code)
        return next(i for i, own in enumerate(self.codes) if own is code)

    def key(self, number):
        """What cProfile calls a function in files."""
        if number >= self.builtin_base:
            return ("~", 0, BUILTINS[number - self.builtin_base])
        code = self.codes[number]
        return (code.co_filename, code.co_firstlineno, code.co_name)


def entries_of(program, profilers):
    """Rows and edges of all profilers, added up: number -> [nc, cc, tt, ct], (caller, callee) -> [nc, cc, tt, ct]."""
    rows, edges = {}, {}

    def add(sums, key, entry):
        numbers = (entry.callcount, entry.callcount - entry.reccallcount, int(entry.inlinetime), int(entry.totaltime))
        assert (numbers[2], numbers[3]) == (entry.inlinetime, entry.totaltime)
        sums[key] = [a + b for a, b in zip(sums.get(key, (0, 0, 0, 0)), numbers)]

    for profiler in profilers:
        for entry in profiler.getstats():
            callee = program.number(entry.code)
            add(rows, callee, entry)
            for call in entry.calls or ():
                add(edges, (callee, program.number(call.code)), call)
    return rows, edges


def recorded(texts):
    """What call_recorder_main makes of each program's events: rows and edges as above."""
    run = subprocess.run([MAIN], input=" .\n".join(texts) + " .\n", stdout=subprocess.PIPE, check=True, universal_newlines=True)
    results = [({}, {})]
    for line in run.stdout.splitlines():
        words = line.split()
        numbers = [int(word) for word in words[1:]]
        if words[0] == "row":
            assert numbers[0] not in results[-1][0]
            results[-1][0][numbers[0]] = numbers[1:]
        elif words[0] == "edge":
            assert tuple(numbers[:2]) not in results[-1][1]
            results[-1][1][tuple(numbers[:2])] = numbers[2:]
        else:
            results.append(({}, {}))
    results.pop()
    return results


class CallRecorderCprofileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = [Program(seed) for seed in range(SEEDS)]
        runs = [program.run() for program in cls.programs]
        cls.profilers = [profilers for _, profilers in runs]
        cls.texts = ["\n".join(text) for text, _ in runs]
        cls.results = recorded(cls.texts)

    def test_rows_and_edges_are_those_of_cprofile(self):
        self.assertEqual(len(self.results), SEEDS)
        for seed, (program, profilers, result) in enumerate(zip(self.programs, self.profilers, self.results)):
            want_rows, want_edges = entries_of(program, profilers)
            self.assertEqual(result[0], want_rows, "rows, seed %d" % seed)
            self.assertEqual(result[1], want_edges, "edges, seed %d" % seed)

    def test_rows_and_edges_are_those_of_the_file_that_pstats_reads(self):
        compared = 0
        for seed, (program, profilers, result) in enumerate(zip(self.programs, self.profilers, self.results)):
            if program.same_keys:
                continue  # cProfile's rows of one key overwrite each other in the file
            stats = pstats.Stats(profilers[0])
            for profiler in profilers[1:]:
                stats.add(pstats.Stats(profiler))
            rows, edges = result
            want = {}
            for number, (nc, cc, tt, ct) in rows.items():
                callers = {program.key(a): tuple(sums) for (a, b), sums in edges.items() if b == number}
                want[program.key(number)] = (cc, nc, tt, ct, callers)
            self.assertEqual(want, stats.stats, "seed %d" % seed)
            compared += 1
        self.assertGreater(compared, SEEDS / 2)

    def test_programs_do_all_that_matters(self):
        calls = recursive = nested_edges = generators = builtins = 0
        for program, (rows, edges) in zip(self.programs, self.results):
            first_generator = len(program.functions)
            for number, (nc, cc, _, _) in rows.items():
                calls += nc
                recursive += nc - cc
                generators += nc if first_generator <= number < 2 * first_generator else 0
                builtins += nc if number >= program.builtin_base else 0
            nested_edges += sum(nc - cc for nc, cc, _, _ in edges.values())
        print("%d programs, %d calls: %d recursive, %d over an active edge, %d of generators, %d of built-ins" %
              (SEEDS, calls, recursive, nested_edges, generators, builtins))
        self.assertGreater(calls, 50000)
        for kind in (recursive, nested_edges, generators, builtins):
            self.assertGreater(kind, 1000)


if __name__ == "__main__":
    unittest.main()

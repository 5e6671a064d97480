"""What the servers of the rivals have in common: heed.lua's protocol, cases by their names, how a way to compute is chosen and timed.

A rival gives ways(case, inputs): names and makers. A maker returns (step, results): the function to time, and one that gives what it
computed, out, or out, dq, dk, dv, as arrays [B, L, H, D]. Ways that raise or whose results are not heed's are left out; the fastest of the
others is timed, so a rival is always used as it does best.
"""

import gc
import math
import os
import re
import statistics
import sys
import time
import types

import numpy

TOLERANCE = 1e-4
WINDOW = 256
REST = 0.06  # seconds after which helping threads have stopped to wait for more work, which takes a processor from whose turn is next
FLAGS = ("forward", "backward", "causal", "window", "padded")


def parse(name):
    case = types.SimpleNamespace(**{flag: flag in name.split() for flag in FLAGS})
    sizes = {m[1]: m for m in re.finditer(r"\b([BHDLS])(\d+)(?:/(\d+))?\b", name)}
    case.B, case.H, case.D, case.L = (int(sizes[letter][2]) for letter in "BHDL")
    case.Hk = int(sizes["H"][3] or case.H)
    case.S = int(sizes["S"][2]) if "S" in sizes else case.L
    case.causal = case.causal or case.window
    case.square = case.L == case.S
    least = case.S // 8
    case.lengths = [least + b * 7919 % (case.S - least) for b in range(case.B)] if case.padded else [case.S] * case.B
    return case


def visible(case):
    """True where a query may see a key: [B or 1, 1, L or 1, S], or None when every query sees every key."""
    p, j = numpy.arange(case.L)[:, None] + case.S - case.L, numpy.arange(case.S)[None, :]
    seen = numpy.ones((1, 1, 1, case.S), bool)
    if case.padded:
        seen = seen & (j < numpy.array(case.lengths)[:, None, None, None])
    if case.causal:
        seen = seen & (j <= p)
    if case.window:
        seen = seen & (j > p - WINDOW)
    return None if seen.all() else seen


def as_bias(seen):
    """The same, to be added to scores."""
    return numpy.where(seen, numpy.float32(0), numpy.float32(-math.inf))


def difference(results, expected):
    """The largest, as a part of the largest expected number when that is above 1."""
    worst = 0.0
    for got, want in zip(results, expected, strict=True):
        apart = numpy.abs(got - want).max() / max(1.0, numpy.abs(want).max())
        worst = max(worst, float(apart) if numpy.isfinite(apart) else math.inf)
    return worst


def fastest(ways, expected):
    """(difference, name, step) of the fastest way that is right, or of the least wrong one."""
    right, wrong, best = None, (math.inf, "no way", None), math.inf
    for name, make in ways:
        try:
            step, results = make()
            step()
            apart = difference(results(), expected)
        except Exception as e:  # a library refuses what it does not support in ways of its own
            if wrong[2] is None and wrong[0] == math.inf:
                wrong = (math.inf, " ".join(f"{name}: {e}".split())[:200], None)
            continue
        if not apart <= TOLERANCE:
            wrong = min(wrong, (apart, name, step), key=lambda w: w[0])
            continue
        seconds, tried = math.inf, 0.0
        while tried == 0 or (tried < 0.03 and seconds < 1.5 * best):
            t = time.perf_counter()
            step()
            t = time.perf_counter() - t
            seconds, tried = min(seconds, t), tried + t
        if seconds < best:
            right, best = (apart, name, step), seconds
    return right or wrong


def measure(step, reps, seconds, clock):
    step()
    times, began = [], clock()
    while len(times) < reps or (clock() - began < seconds and len(times) < 2000):
        t = clock()
        step()
        times.append(clock() - t)
    return min(times) * 1e3, statistics.median(times) * 1e3


def serve(about, set_threads, ways):
    directory = sys.argv[1] if len(sys.argv) > 1 else "."
    step = None

    def load(*names):
        return [numpy.load(os.path.join(directory, f"{name}.npy")) for name in names]

    def prepare(threads, name):
        case = parse(name)
        set_threads(int(threads))
        inputs = load("q", "k", "v", *(["g"] if case.backward else []))
        expected = load("out", *(["dq", "dk", "dv"] if case.backward else []))
        return fastest(ways(case, inputs), expected)

    print("about", about, flush=True)
    for line in sys.stdin:
        if line == "quit\n":
            break
        command, first, rest = line.rstrip("\n").split(" ", 2)
        try:
            if command == "case":
                step = None
                gc.collect()
                apart, name, step = prepare(first, rest)
                answer = f"ready {apart:.1e} {name}" if step else f"failed {name}"
            else:
                seconds, clock = rest.split()
                clock = time.process_time if clock == "cpu" else time.perf_counter
                best, median = measure(step, int(first), float(seconds), clock)
                answer = f"time {best:.5f} {median:.5f}"
        except Exception as e:  # the answer says so, and the next case may do
            answer = "failed " + " ".join(f"{type(e).__name__}: {e}".split())[:200]
        time.sleep(REST)
        print(answer, flush=True)

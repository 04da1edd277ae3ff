# SPDX-License-Identifier: Apache-2.0
"""What was measured: medians, spreads and ratios, as text, as Markdown and as latest.tsv"""

import statistics
from collections import defaultdict, namedtuple

from plan import BESIDE, GROWTH, ONLY_FOR_GROWTH, growth_of, size_of
from subjects import FLOORS

Run = namedtuple("Run", "turn value quiet")

# The kinds of workloads that share a table of medians.
MATRICES = (("W1", "W2"), ("W9", "W10", "W11", "W12"), ("W3", "W4", "W5", "W6", "W7"), ("W8",), ("cron",))


def short(value):
    for limit, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit and value != float("inf"):
            return f"{value / limit:.3g} {suffix}"
    return f"{value:.3g}"


def times(value):
    return f"{value:.2f}" if value < 1000 or value == float("inf") else short(value)


def with_spread(values):
    """The median of ratios; if there are several, with the least and the greatest."""
    median = times(statistics.median(values))
    return f"{median} ({times(min(values))} to {times(max(values))})" if len(values) > 1 else median


class Cell:
    """The runs of one subject for one metric. Those that were not quiet count only if there is no other."""

    def __init__(self):
        self.runs = []

    def add(self, turn, value, quiet):
        self.runs.append(Run(turn, value, quiet))

    def quiet_runs(self):
        return sum(run.quiet for run in self.runs)

    def counted(self):
        return [run for run in self.runs if run.quiet] or self.runs

    def values(self):
        return [run.value for run in self.counted()]

    def median(self):
        return statistics.median(self.values())

    def text(self):
        return ("" if self.quiet_runs() else "~") + short(self.median())

    def runs_text(self):
        """How many runs count, of how many passes."""
        return f"{self.quiet_runs()} of {len(self.runs)}"

    def spread(self):
        return f"{short(min(self.values()))} to {short(max(self.values()))}"


def ratio(metric, ours, theirs):
    """How many times as good ours is. Some values are best when they are zero."""
    high, low = (ours, theirs) if metric.better == "higher" else (theirs, ours)
    return 1.0 if high == low else high / low if low else float("inf")


class Results:
    def __init__(self):
        # {metric: {subject: cell}}, in the order of measuring
        self.cells = defaultdict(lambda: defaultdict(Cell))

    def add(self, metric, subject, turn, value, quiet):
        self.cells[metric][subject].add(turn, value, quiet)

    def sort(self, workloads):
        """In the order of this list, not of measuring. A metric is a workload, or a part of it."""
        place = {name: number for number, name in enumerate(workloads)}

        def key(metric):
            return place.get(metric.name, place.get(metric.name.rpartition(".")[0], len(place)))

        self.cells = defaultdict(lambda: defaultdict(Cell),
                                 sorted(self.cells.items(), key=lambda item: key(item[0])))

    def subjects(self):
        """The names of all that were measured, each once."""
        return list(dict.fromkeys(name for cells in self.cells.values() for name in cells))

    def metric(self, name):
        return next((metric for metric in self.cells if metric.name == name), None)

    def ratios(self, metric, subject, other):
        """Pass by pass where both were quiet; if there is no such pass, that of the medians."""
        ours, theirs = (self.cells[metric][name] for name in (subject, other))
        by_turn = {run.turn: run.value for run in theirs.counted()}
        pairs = [ratio(metric, run.value, by_turn[run.turn]) for run in ours.counted() if run.turn in by_turn]
        return pairs or [ratio(metric, ours.median(), theirs.median())]

    def best_peer(self, metric, but=()):
        """The subject with the best median, or None. Neither hora, however it is used, nor the machine."""
        there = [name for name in self.cells[metric]
                 if not name.startswith(("hora", "before")) and name not in FLOORS and name not in but]
        choose = max if metric.better == "higher" else min
        return choose(there, key=lambda name: self.cells[metric][name].median()) if there else None

    def limit(self, metric):
        """(value, what it is) of the machine for this metric, or None."""
        if "futex" in self.cells[metric]:
            return self.cells[metric]["futex"].median(), "two threads and a futex"
        for beginning, end, name, what, meaning in BESIDE:
            is_beside = metric.name.startswith(beginning) and metric.name.endswith(end)
            if is_beside and metric.unit == self.unit_of(end):
                limit = self.metric(name)
                if limit:
                    return meaning(self.cells[limit]["limit"].median()), what
        return None

    @staticmethod
    def unit_of(end):
        return "us" if end in (".p50", ".p99") else "1/s"

    def shows_growth_only(self, metric):
        """It was measured with few subjects, and the size that all have is there."""
        names = (metric.name, metric.name.rpartition(".")[0])
        workload = next((name for name in names if name in ONLY_FOR_GROWTH), None)
        growth = growth_of(workload) if workload else None
        return growth is not None and self.metric(growth.reference + growth.part) is not None

    def compared(self):
        """Metrics that hora and another one have."""
        return [metric for metric, cells in self.cells.items()
                if "hora" in cells and self.best_peer(metric) and not self.shows_growth_only(metric)]

    # ---- tables: lists of rows, of which the first is the title ----

    def all_rows(self):
        yield ("workload", "subject", "median", "spread", "unit", "better", "runs",
               "hora is so many times as good")
        for metric, cells in self.cells.items():
            for name, cell in cells.items():
                compared = ""
                if "hora" in cells and name != "hora":
                    values = self.ratios(metric, "hora", name)
                    compared = with_spread(values)
                yield (metric.name, name, cell.text(), cell.spread(), metric.unit, metric.better,
                       cell.runs_text(), compared)

    def before_rows(self):
        """Each use of hora beside the same use of the build that it is compared with."""
        yield ("workload", "subject", "unit", "better", "now", "before", "now : before", "of passes")
        for metric, cells in self.cells.items():
            for name in cells:
                before = name.replace("hora", "before")
                if before == name or before not in cells:
                    continue
                values = self.ratios(metric, name, before)
                yield (metric.name, name, metric.unit, metric.better, cells[name].text(),
                       cells[before].text(), times(statistics.median(values)),
                       f"{times(min(values))} to {times(max(values))}")

    def summary_rows(self):
        yield ("workload", "unit", "better", "hora", "jdk", "best peer", "", "hora : jdk", "hora : best",
               "runs", "the machine", "")
        for metric in self.compared():
            cells, best, limit = self.cells[metric], self.best_peer(metric), self.limit(metric)
            against = {name: with_spread(self.ratios(metric, "hora", name))
                       for name in ("jdk", best) if name in cells}
            jdk = cells["jdk"].text() if "jdk" in cells else ""
            yield (metric.name, metric.unit, metric.better, cells["hora"].text(), jdk, cells[best].text(),
                   best, against.get("jdk", ""), against[best], cells["hora"].runs_text(),
                   short(limit[0]) if limit else "", limit[1] if limit else "")

    def limit_rows(self):
        yield ("limit", "median", "spread", "unit", "runs")
        for metric, cells in self.cells.items():
            if "limit" in cells:
                cell = cells["limit"]
                yield (metric.name, cell.text(), cell.spread(), metric.unit, str(cell.quiet_runs()))

    def growth(self, growth):
        """({subject: [(size, median)]}, metric) of the subjects that were measured at two sizes at least."""
        lines, metric = defaultdict(list), None
        for workload in growth.workloads:
            here = self.metric(workload + growth.part)
            if here:
                metric = here
                for name, cell in self.cells[here].items():
                    lines[name].append((size_of(growth, workload), cell.median()))
        most = max((len(line) for line in lines.values()), default=0)
        return {name: line for name, line in lines.items() if len(line) == most > 1}, metric

    def growth_rows(self, growth):
        lines, metric = self.growth(growth)
        if not lines:
            return
        sizes = [size for size, _ in next(iter(lines.values()))]
        yield (f"{growth.title} ({metric.unit})", *(short(size).replace(" ", "") for size in sizes),
               "last : first")
        for name, line in lines.items():
            first, last = line[0][1], line[-1][1]
            yield (name, *(short(value) for _, value in line), times(last / first) if first else "")

    def matrix_rows(self, kinds):
        """Medians, a row per metric and a column per subject."""
        metrics = [metric for metric, cells in self.cells.items()
                   if metric.name.split(".")[0] in kinds and "hora" in cells
                   and not self.shows_growth_only(metric)]
        names = list(dict.fromkeys(name for metric in metrics for name in self.cells[metric]))
        if metrics:
            yield ("workload", "unit", *names)
        for metric in metrics:
            cells = self.cells[metric]
            yield (metric.name, metric.unit, *(cells[name].text() if name in cells else "" for name in names))

    def write_tsv(self, file):
        with open(file, "w", encoding="utf-8") as out:
            print("workload", "subject", "value", "unit", "better", "runs", sep="\t", file=out)
            for metric, cells in self.cells.items():
                for name, cell in cells.items():
                    print(metric.name, name, f"{cell.median():.6g}", metric.unit, metric.better,
                          cell.quiet_runs(), sep="\t", file=out)

    def write_markdown(self, file, words):
        """All tables, for docs/internals/performance.md."""
        with open(file, "w", encoding="utf-8") as out:
            out.write("\n".join(words) + "\n\n")
            for rows in (self.summary_rows(), *map(self.matrix_rows, MATRICES),
                         *map(self.growth_rows, GROWTH), self.limit_rows()):
                out.write(markdown(list(rows)))


def write_versions(file, versions):
    """{subject: version}, as a table."""
    with open(file, "w", encoding="utf-8") as out:
        print("subject", "version", sep="\t", file=out)
        for name, version in versions.items():
            print(name, version, sep="\t", file=out)


def markdown(rows):
    if len(rows) < 2:
        return ""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines) + "\n\n"


def print_table(title, rows):
    rows = list(rows)
    if len(rows) < 2:
        return
    widths = [max(map(len, column)) for column in zip(*rows)]
    print(f"\n{title}")
    for row in rows:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())

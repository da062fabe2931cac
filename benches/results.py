"""What a row of the benchmarks has measured, and how that compares with its goals."""

import json
from dataclasses import asdict, dataclass, field

from measure import Sample, ratios, spread

# How a quantity of a Sample is written: what it is called, factor, unit.
QUANTITIES = {"wall": ("time", 1, "s"), "peak": ("memory", 1 / 2**20, "MiB")}


@dataclass
class Goal:
    """The `quantity` of `subject` is at most `limit` × that of `against`.

    In the form "more" it is at most `limit` more, and without `against` the limit
    itself (seconds; MiB)."""
    subject: str
    limit: float
    against: str = ""
    quantity: str = "wall"
    form: str = "ratio"


@dataclass
class Verdict:
    """A goal, and the quartiles of what was measured."""
    goal: str
    measured: tuple
    limit: float
    unit: str = "×"
    subject: str = ""

    @property
    def met(self):
        return self.measured[1] <= self.limit

    def __str__(self):
        low, middle, high = (number(value) for value in self.measured)
        how = "met" if self.met else f"MISSED by {self.measured[1] / self.limit - 1:.0%}"
        return f"{middle} {self.unit} ({low} to {high}), {how}"


@dataclass
class Comparison:
    """The samples of some commands that did the same work by turns."""
    title: str
    samples: dict
    verdicts: list = field(default_factory=list)
    # Place on the axis of the row's plots.
    at: float | None = None
    # Where the time of a command that missed its goal goes: [(what, seconds)].
    profile: list = field(default_factory=list)


@dataclass
class Row:
    """All comparisons of one kind of work."""
    name: str
    title: str
    comparisons: list
    # What the plots of the row have on their axis, if it has any.
    axis: str = ""
    # Of the comparisons together.
    verdicts: list = field(default_factory=list)

    def all_verdicts(self):
        for comparison in self.comparisons:
            for verdict in comparison.verdicts:
                yield comparison.title, verdict
        for verdict in self.verdicts:
            yield self.title, verdict

    def to_json(self):
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text):
        row = cls(**json.loads(text))
        row.verdicts = [Verdict(**verdict) for verdict in row.verdicts]
        row.comparisons = [Comparison(**comparison) for comparison in row.comparisons]
        for comparison in row.comparisons:
            comparison.verdicts = [Verdict(**verdict) for verdict in comparison.verdicts]
            comparison.samples = {name: [Sample(**sample) for sample in samples]
                                  for name, samples in comparison.samples.items()}
        return row


def judge(goal, samples):
    """The verdict on a goal by {name of a command: samples}."""
    what, factor, unit = QUANTITIES[goal.quantity]
    ours = samples[goal.subject]
    own = [getattr(sample, goal.quantity) * factor for sample in ours]
    if not goal.against:
        return Verdict(f"{what} of {goal.subject}", spread(own), goal.limit, unit, goal.subject)
    theirs = samples[goal.against]
    if goal.form == "ratio":
        return Verdict(f"{what} of {goal.subject} / {goal.against}",
                       ratios(ours, theirs, goal.quantity), goal.limit, "×", goal.subject)
    other = [getattr(sample, goal.quantity) * factor for sample in theirs]
    return Verdict(f"{what} of {goal.subject} over {goal.against}",
                   spread([1000 * (mine - their) for mine, their in zip(own, other)]),
                   1000 * goal.limit, "ms", goal.subject)


def growth(comparisons, subject, what):
    """How much faster than the number on the axis the time of `subject` grows.

    Of each two neighbours the growth of the median over that of the number; the
    verdict has the least, the median and, as what counts, the greatest."""
    medians = [(comparison.at, spread([sample.wall for sample in comparison.samples[subject]])[1])
               for comparison in comparisons]
    rates = [(later / earlier) / (large / small)
             for (small, earlier), (large, later) in zip(medians, medians[1:])]
    worst = max(rates)
    return Verdict(f"greatest growth of the time of {subject} over that of {what}",
                   (min(rates), worst, worst), 1.0, "×", subject)


def number(value):
    """Three digits that count."""
    if value == 0:
        return "0"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:.{digits}f}"

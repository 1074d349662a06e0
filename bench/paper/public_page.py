"""docs/public-data.md: the hand-written text of public_page.md around tables that are worked out from the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import Template

from bench.paper.entrants import PUBLIC_ENTRANTS
from bench.paper.page import NOT_RUN, gains, markdown, number
from bench.paper.public_data import PUBLIC
from bench.paper.results import Place, Results
from bench.paper.tasks import Labels, TableName

TEXT = Path(__file__).with_name("public_page.md")


def write_public_page(results: Results) -> str:
    """The whole page."""
    two = [name for name, each in PUBLIC.items() if each.n_classes == 2]
    more = [name for name in PUBLIC if name not in two]
    return Template(TEXT.read_text()).substitute(
        data_sets=data_sets(),
        n_folds=n_folds(results),
        held_out_of_two=table(results, "held-out", two),
        held_out_of_more=table(results, "held-out", more),
        gains_of_two=gains(results, "held-out", two, PUBLIC_ENTRANTS),
        gains_of_more=gains(results, "held-out", more, PUBLIC_ENTRANTS),
        pictures=table(results, "separability", list(PUBLIC)),
        pictures_of_shuffled=table(results, "separability", list(PUBLIC), "shuffled"),
    )


def data_sets() -> str:
    """What they ask, and where they come from."""
    rows = [
        [name, each.question, str(each.n_rows), str(each.n_features), str(each.n_classes), each.package.split(".")[0]]
        for name, each in PUBLIC.items()
    ]
    return markdown(["", "question", "rows", "features", "classes", "package"], rows)


def n_folds(results: Results) -> str:
    """How many folds of new rows were run."""
    counts = {
        len(scores)
        for name in PUBLIC
        for entrant in PUBLIC_ENTRANTS
        if (scores := results.scores(Place("held-out", "strict", name, entrant.name))) is not None
    }
    return " or ".join(map(str, sorted(counts)))


def table(results: Results, name: TableName, data_sets: Sequence[str], labels: Labels = "true") -> str:
    """A line for each data set, a column for each entrant; means over the data sets that all entrants have."""
    header, rows, complete = [""], [], []
    header += [entrant.name for entrant in PUBLIC_ENTRANTS]
    for data_set in data_sets:
        places = [Place(name, "strict", data_set, entrant.name, labels) for entrant in PUBLIC_ENTRANTS]
        estimates = [results.estimate(place) for place in places]
        means = [None if estimate is None else estimate.mean for estimate in estimates]
        if any(mean is not None for mean in means):
            rows.append([data_set, *(NOT_RUN if mean is None else number(mean) for mean in means)])
        known = [mean for mean in means if mean is not None]
        if len(known) == len(means):
            complete.append(known)
    if complete:
        columns = zip(*complete, strict=True)
        rows.append([f"mean of {len(complete)}", *(number(sum(column) / len(complete)) for column in columns)])
    return markdown(header, rows)

"""`regard report`: a training run as one HTML page."""

from pathlib import Path
from typing import Annotated

from regard.cli import options
from regard.cli.options import file_argument, file_option, flag
from regard.cli.output import refuse_output, write_output


def report(
    run: Annotated[Path, file_argument("RUN", "The folder of a run, such as model.run.")],
    out: Annotated[
        Path | None,
        file_option("out", "HTML file. Default: report.html in the folder.", "FILE.html"),
    ] = None,
    overwrite: Annotated[
        bool, flag("overwrite", "Overwrite an existing --out; the default file always is.")
    ] = False,
) -> None:
    """Write a training run as one HTML page.

    The page shows curves, samples, errors and settings, and needs no network. The report of an
    unfinished run ends at its last step.
    """
    from regard.viz.run_data import read_run
    from regard.viz.training_report import to_report

    if out is not None:
        refuse_output("report", out, ("html",), overwrite)
    data = read_run(run)
    path = out or run / "report.html"
    write_output(path, to_report(data).encode())
    count = len(data.validations)
    state = "finished" if data.finished else "not finished"
    status = f"{data.step:,} updates, {count:,} validation{'s' * (count != 1)}, {state}"
    print(f"{path}: {status}")
    for problem in data.problems:
        print(problem)
    model = run.with_name(run.name.removesuffix(".run") + ".regard")
    if model.exists():
        options.hint("regard", "info", model)
    else:
        # for when the run has continued
        options.hint("regard", "report", run)

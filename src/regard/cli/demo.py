"""`regard demo`: trains a model on a small task and shows what it learned."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.choices import unknown_choice
from regard.cli import options
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.config.settings import Settings
    from regard.translator import Translation, Translator


def demo(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The task: dates, words, beer or apples.")
    ] = "dates",
    seed: Annotated[str, options.whole_number("seed", "Random seed of training.", 0)] = "1",
    out: Annotated[
        Path | None, options.file_option("out", "Model file. Default: demo-NAME.regard.", "FILE")
    ] = None,
    overwrite: Annotated[
        bool, options.flag("overwrite", "Overwrite an existing --out; the default file always is.")
    ] = False,
) -> None:
    """Train a model on a small task and show what it learned."""
    demos = {"dates": _dates, "words": _words, "beer": _beer, "apples": _apples}
    if name not in demos:
        raise ConfigError("demo", [unknown_choice("name", name, demos)])
    path = out or Path(f"demo-{name}.regard")
    demos[name](int(seed), _DemoRun(path, overwrite or out is None, context.obj))


@dataclass(frozen=True)
class _DemoRun:
    """A demo's model file, and the arguments of its command."""

    path: Path
    overwrite: bool
    args: list[str]

    def train(
        self,
        pairs: list[tuple[str, str]],
        dev: list[tuple[str, str]],
        settings: "Settings",
        *,
        save: bool = True,
    ) -> "Translator":
        """Train a model from scratch."""
        from regard.config.toml import to_tree
        from regard.pipeline import TrainRequest, run
        from regard.pipeline.pairs_source import PairsSource

        outcome = run(
            TrainRequest(
                pairs=PairsSource(pairs),
                dev=dev,
                settings=to_tree(settings),
                out=self.path if save else None,
                overwrite=self.overwrite,
            )
        )
        if outcome.translator is None or outcome.stopped_by is not None:
            options.hint("regard", *self.args)
            raise typer.Exit(128 + (outcome.stopped_by or 2))
        return outcome.translator


def _dates(seed: int, demo_run: _DemoRun) -> None:
    from regard.cli.progress import progress_bar
    from regard.demos import dates

    translator = demo_run.train(dates.pairs(seed), dates.dev_pairs(seed), dates.settings(seed))
    unseen = dates.unseen(seed)
    # some locales write a day the same way: translate each line once
    lines = list(dict.fromkeys(date.source for date in unseen))
    print(f"translating {len(lines):,} dates of 1,000 held-out days", file=sys.stderr)
    with progress_bar(len(lines)) as advance:
        answers = translator.translate(lines, beam_size=1, progress=advance)
    accuracy = dates.accuracy(unseen, {answer.source: answer.text for answer in answers})
    worst = min(accuracy, key=lambda form: accuracy[form])
    locales = len({locale for locale, _ in accuracy})
    mean = sum(accuracy.values()) / len(accuracy)
    print(
        f"\n{mean:.2f} % of the dates of 1,000 held-out days are correct, in {len(accuracy)} "
        f"formats of {locales} locales; the lowest is {accuracy[worst]:.1f} %, for "
        f"{' '.join(worst)}\n"
    )
    examples = translator.translate([source for source, _ in dates.examples(seed)])
    _print_answers(examples)
    _draw(examples[1])
    print(f"\n{dates.WHY}")
    options.hint("regard", "show", demo_run.path, examples[-1].source)
    options.hint("regard", "demo", "apples")


def _words(seed: int, demo_run: _DemoRun) -> None:
    from regard.demos import words

    for padded in (False, True):
        pairs = words.pairs(padded=padded)
        settings = words.settings(seed, padded=padded)
        translator = demo_run.train(pairs, pairs, settings, save=padded)
        print(f"\n{'padded to five tokens with P:' if padded else 'without padding:'}")
        sources = [source for source, _ in words.examples(padded=padded)]
        for answer in translator.translate(sources):
            print(f"  {answer.source.rstrip(words.PADDING)} → {answer.text}")
    print(f"\n{words.WHY}")
    options.hint("regard", "demo", "beer")


def _beer(seed: int, demo_run: _DemoRun) -> None:
    from regard.demos import beer

    translator = demo_run.train(beer.pairs(), beer.pairs(), beer.settings(seed))
    answer = translator.translate(beer.PAIR[0])
    _print_answers([answer])
    _draw(answer)
    print(f"\n{beer.WHY}")
    options.hint("regard", "demo", "apples")


def _apples(seed: int, demo_run: _DemoRun) -> None:
    from regard.demos import apples

    translator = demo_run.train(apples.pairs(), apples.pairs(), apples.settings(seed))
    unseen = apples.unseen()
    answers = translator.translate([sentence.source for sentence in unseen])
    num_correct = sum(a.text == s.target for a, s in zip(answers, unseen, strict=True))
    print(f"\n{num_correct:,} of {len(unseen):,} held-out sentences are correct\n")
    _print_answers(answers[:4])
    _draw(answers[0])
    print(f"\n{apples.WHY}")
    options.hint("regard", "show", demo_run.path, unseen[-1].source)


def _print_answers(answers: "list[Translation]") -> None:
    for answer in answers:
        print(f"  {answer.source} → {answer.text}")


def _draw(answer: "Translation") -> None:
    """Draw the attention of each token, in color if the terminal has it."""
    from regard.viz.terminal_heatmap import render

    if answer.alignment is not None:
        print("\n" + render(answer.alignment, color=options.color_depth()))

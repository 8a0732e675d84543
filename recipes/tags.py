"""Scores of one model for each tag that its sources end in."""

from pathlib import Path
from typing import Any

from recipes.files import lines_of


def by_tag(model: Path, pairs: Path, device: str) -> dict[str, Any]:
    """Return how many sources of each tag come out right, in percent, any target counting."""
    from regard.metrics.scores import evaluate
    from regard.text.normalize import normalize
    from regard.translator import load

    translator = load(model, device=device)
    form = translator.settings.data.normalization
    targets: dict[str, list[str]] = {}
    for line in lines_of(pairs):
        source, target = normalize(line, form).split("\t")
        targets.setdefault(source, []).append(target)
    answers = dict(zip(targets, translator.translate(targets), strict=True))
    found = {}
    for tag in sorted({source.rpartition(" ")[2] for source in targets}):
        sources = [source for source in targets if source.rpartition(" ")[2] == tag]
        outputs = [answers[source].text for source in sources]
        found[tag] = evaluate(outputs, [targets[source] for source in sources], ["exact"])[0].value
    return {"exact by tag": found}

"""Scores of one model by tag: the last word of each source, such as the name of its language."""

from pathlib import Path
from typing import Any

from recipes.preprocessing import read_lines


def exact_by_tag(model: Path, pairs: Path, device: str) -> dict[str, Any]:
    """Return, for each tag, the percentage of sources whose output is one of their targets."""
    from regard.metrics.corpus_scores import evaluate
    from regard.text.normalization import normalize
    from regard.translator import load

    translator = load(model, device=device)
    form = translator.settings.data.normalization
    targets: dict[str, list[str]] = {}
    for line in read_lines(pairs):
        source, target = normalize(line, form).split("\t")
        targets.setdefault(source, []).append(target)
    translations = dict(zip(targets, translator.translate(targets), strict=True))
    percentages = {}
    for tag in sorted({source.rpartition(" ")[2] for source in targets}):
        sources = [source for source in targets if source.rpartition(" ")[2] == tag]
        outputs = [translations[source].text for source in sources]
        references = [targets[source] for source in sources]
        percentages[tag] = evaluate(outputs, references, ["exact"])[0].value
    return {"exact by tag": percentages}

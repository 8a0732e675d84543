"""Error messages of the pipeline: what is wrong, what it must be, what to do."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from regard.choices import printable

NOT_A_PAIR = "it is not a pair of lines; it must be (source, target). Pass two strings."
EMPTY_DEV = (
    "it contains no pairs; at least one is needed for validation. Leave it out to hold out some "
    "training pairs."
)
RESUME_AND_OVERWRITE = (
    "resume and overwrite are both true; resume continues the run that overwrite deletes. Remove "
    "one of them."
)
OUTPUT_EXISTS = (
    "it exists and must not be lost. Pass --resume to continue its run, --overwrite to begin anew, "
    "or another --out."
)
OUTPUT_WITHOUT_RUN = (
    "it exists, but the run that wrote it is gone. Pass --overwrite to begin anew, or another "
    "--out."
)
NO_ATTENTION = (
    "the model has no attention to evaluate. Use a model with attention, such as bahdanau2015."
)
SPELLINGS = {
    "case": "case",
    "width": "width (fullwidth or halfwidth)",
    "form": "Unicode form",
}
NEVER_WRITTEN = "No output can have them. Bring both files to one case."
BLANK_SIDE = "a side is blank; it must contain words. Leave the line out."
NO_GROUPS = (
    "its pairs have no groups; data.split_by = group needs them. Pass --group-by COLUMN, or set "
    "data.split_by = source."
)
PRESET_AT_WARM_START = (
    "model.preset is set; the model that training starts from has its own architecture. Leave it "
    "out."
)
UNTIED_VOCABULARIES = (
    "text.shared_vocabulary is false; model.tied_embeddings = all needs one vocabulary. "
    "Set text.shared_vocabulary = true or model.tied_embeddings = output."
)


def stopped(*, resumable: bool) -> str:
    """Training was interrupted before its end."""
    if resumable:
        return "training was stopped. Pass resume=True to continue."
    return "training was stopped; without out= nothing was saved."


def stopped_after(step: int, max_steps: int) -> str:
    """Training ended before its last update."""
    return f"stopped after {step:,} of {max_steps:,} updates"


def time_was_over(step: int, max_steps: int, duration: str) -> str:
    """Training ended where its time limit had planned it to."""
    return f"{duration} sufficed for {step:,} of {max_steps:,} updates, as planned"


def saved_unfinished(out: Path, step: int) -> str:
    """An interrupted run has saved a model."""
    return f"saved {out}: the best model so far, after update {step:,}"


def unchanged_model(out: Path) -> str:
    """An interrupted run has nothing better than the model file that exists."""
    return f"{out} is unchanged: there is no better model yet"


# validation and test pairs


def spelling_difference(
    name: str, side: str, difference: str, examples: Sequence[str], count: int, settings: str
) -> str:
    """Say which characters training has only in another spelling, and what makes both alike."""
    times = f"{count:,} time{'s' * (count != 1)}"
    problem = (
        f"{name}: {side} characters that training has only in another {SPELLINGS[difference]}: "
        f"{', '.join(examples)} ({times})."
    )
    remedy = f"Set {settings} to read both alike." if settings else NEVER_WRITTEN
    return f"{problem} {remedy}"


# requests


def unknown_argument(name: str, match: str) -> str:
    """Suggest the closest argument for a misspelled one."""
    return f"{name} is not an argument. Did you mean {match}?"


# in the words of `config`, which are among them in one error
def not_a_section(name: str, setting: Any) -> str:
    """Refuse one value for a whole section."""
    return f"{name} is {setting}; it must be a section."


def not_a_dict(section: str, settings: Any) -> str:
    """Refuse a section of keyword arguments that is no dict."""
    return f"{section} is {settings}; it must be a dict of settings."


def list_with_files(label: str) -> str:
    """Refuse pairs from two places."""
    return f"{label} is a list; source, target and columns are for files. Pass the list alone."


def no_line(what: str) -> str:
    """Refuse text that no line can hold."""
    return f"it contains {what}; both sides must be lines. Remove it."


def too_few_pairs(pairs: int, sources: int) -> str:
    """Refuse so few pairs that none could be held out."""
    counts = (
        f"{pairs} pair{'s' * (pairs != 1)} with {sources} different source{'s' * (sources != 1)}"
    )
    return (
        f"it contains {counts}; one source must be held out for validation. Add pairs, or pass "
        "--dev with a file of others."
    )


MEANING_OF_WER = (
    "train.metric = wer is the share of wrong words with data.task = g2p. In earlier versions it "
    "was the rate of wrong phones, which is train.metric = per."
)


def nothing_to_split(rule: str) -> str:
    """Refuse to hold out everything."""
    same = {"lemma": "lemma", "near_duplicates": "source, up to case, digits and punctuation"}
    return (
        f"all pairs have the same {same.get(rule, rule)}; data.split_by = {rule} needs at least "
        "two. Set data.split_by = source, or pass --dev."
    )


def held_out(rule: str, count: int, sources: int) -> str:
    """Say what is held out for validation, and by what."""
    what = {"lemma": "lemma", "near_duplicates": "sentence", "group": "group"}[rule]
    counts = f"{count:,} {what}{'s' * (count != 1)}, {sources:,} source{'s' * (sources != 1)}"
    rest = f"no {what} is in both parts"
    if rule == "near_duplicates":
        rest = "none is in both parts, nor differs only in case, digits or punctuation"
    return f"held out {counts}; {rest}"


# output


def output_is_folder(out: Path) -> str:
    """Refuse a folder for the model file."""
    return f"it is a folder; it must be a file. Pass --out {out / 'model.regard'}."


def output_unreachable(reason: str | None) -> str:
    """Refuse a path that the system refuses."""
    return f"it cannot be reached ({reason}). Pass --out in another folder."


def output_not_writable(folder: Path) -> str:
    """Refuse a folder without permission to write."""
    return f"this user cannot write to {folder}. Pass --out in another folder."


# settings


def preset_with_parts(setting: str) -> str:
    """Refuse a preset for a model whose parts are set."""
    return f"{setting}; the settings already name an encoder and a decoder. Leave one of them out."


def different_tokenizers(source: str, target: str) -> str:
    """Refuse one vocabulary for two kinds of tokens."""
    return (
        f"text.target is {target}; with text.shared_vocabulary = true it must be {source}, "
        f"as text.source is. Set text.target = {source}."
    )


def rdrop_without_dropout(alpha: float) -> str:
    """Refuse to compare two equal passes."""
    return (
        f"train.rdrop_alpha is {alpha}; without dropout both passes are equal and it must be 0. "
        "Set train.rdrop_alpha = 0 or model.dropout = 0.3."
    )


def too_few_positions(name: str, positions: int, needed: int, data: str, longest: int) -> str:
    """Refuse fewer positions than the longest training line needs."""
    shorter = max(1, positions - needed + longest)
    return (
        f"{name}.max_length is {positions}; it must be at least {needed}, since data.{data} is "
        f"{longest}. Set {name}.max_length = {needed} or data.{data} = {shorter}."
    )


def too_long(max_source_length: int, max_target_length: int) -> str:
    """Say why pairs are left out."""
    return (
        f"longer than data.max_source_length = {max_source_length} or "
        f"data.max_target_length = {max_target_length}"
    )


def all_too_long(pairs: str, limits: str) -> str:
    """Refuse limits that leave no pair."""
    return f"every {pairs} is {limits}. Set larger limits."


def infinite_loss(loss: float) -> str:
    """Stop a model that has diverged."""
    return (
        f"the loss on validation pairs is {loss}; it must be a finite number. Set a smaller "
        "train.learning_rate."
    )


# resume


def other_pairs(pairs: str) -> str:
    """Refuse to resume with other pairs."""
    return f"the run began with other {pairs}. Pass the same, or another --out."


def other_file(began: str, option: str) -> str:
    """Refuse to resume with another model or other vectors."""
    return f"the run began {began}. Pass the same {option}, or another --out."


def fixed_setting(change: str) -> str:
    """Refuse to resume with a setting that the weights depend on."""
    return f"{change}; this cannot change after the run began. Pass another --out."


def changed_setting(change: str) -> str:
    """Refuse to resume with another setting by accident."""
    return f"{change}; the run began with the former. Pass --allow-changes to change it."


def changed_environment(name: str, before: Any, now: Any) -> str:
    """Refuse to resume if the last bits may differ."""
    return (
        f"{name}: {printable(before)} → {now}; the result would differ in its last "
        "bits. Pass --allow-inexact to accept this."
    )


# warm start and embeddings


def other_text(name: str, setting: Any, own: Any) -> str:
    """Refuse to tokenize lines differently than the older model."""
    return (
        f"{name} is {setting}; it must be {own}, as in the model that training starts from. Leave "
        "it out."
    )


def other_model(change: str) -> str:
    """Refuse another architecture than the older model's."""
    return f"{change}; the weights are those of the model that training starts from. Leave it out."


def other_weight_size(name: str) -> str:
    """Refuse a weight of another size."""
    return (
        f"{name} has another size than in the model that training starts from. Use the sizes of "
        "that model."
    )


def frozen_tokens(part: str, count: int) -> str:
    """Refuse to freeze random weights."""
    return (
        f"freeze is {part}; {count} tokens are new to the model that training starts from and "
        "would never be trained. Freeze other parts."
    )


def all_frozen(parts: Iterable[str]) -> str:
    """Refuse to train nothing."""
    return f"freeze is {', '.join(parts)}; something must be trained. Freeze fewer parts."


def other_embedding_size(name: str, size: int, vectors: int) -> str:
    """Refuse embeddings of another size than the vectors."""
    must_be = f"it must be {vectors}, the size of the vectors"
    return f"{name}.size is {size}; {must_be}. Set {name}.size = {vectors}."


# alignments


def wrong_columns(count: int) -> str:
    """Refuse a line of another form."""
    return (
        f"it has {count} columns; it must have three. Write source words, target words and links "
        "such as 1-1 2p3, with tabs between."
    )


def no_link(word: str) -> str:
    """Refuse a link of another form."""
    return f"{word} is not a link; it must name two words. Write 1-1, or 1p1 if it is uncertain."


def unaligned(reason: str) -> str:
    """Refuse a line that cannot be scored."""
    return f"{reason.rstrip('.')}. Leave the line out."


# error analysis


TRAINING_NOT_KNOWN = (
    "A model file does not hold its training pairs. Use --train PAIRS to see what was seen in "
    "training, and how often."
)


def other_training_pairs(name: str) -> str:
    """Say that the counts are those of other pairs than the model's."""
    return f"The model was not trained on {name} as it is; seen and unseen refer to {name}."


def vocabularies_of_two_models(names: tuple[str, ...]) -> str:
    """Say whose tokens the groups of two models are made of."""
    return f"A is {names[0]}, B is {names[1]}. The tokens and tags of the groups are those of A."

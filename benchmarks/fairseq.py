"""fairseq: an LSTM with bilinear attention, and a Transformer.

Both sort lines by length into batches of 64.
"""

import json
import re

from benchmarks.competitors import FAIRSEQ, CompetitorSetup
from benchmarks.programs import CompletedProgram, follow
from benchmarks.throughput import ProgressMark, sort_marks

REPORT_EVERY = 10
STEP = re.compile(r"\{.*\"num_updates\".*\}")
TRAINING_OPTIONS = (
    "--optimizer adam --clip-norm 1.0 --criterion cross_entropy --batch-size 64 --cpu"
)
RUN_OPTIONS = "--num-workers 0 --seed 1 --no-save --disable-validation --log-format json"
LSTM = (
    "--arch lstm --encoder-embed-dim 256 --encoder-hidden-size 256 --encoder-bidirectional "
    "--decoder-embed-dim 256 --decoder-hidden-size 512 --decoder-out-embed-dim 512 "
    "--decoder-attention 1 --dropout 0.1 --lr 0.001"
)
_SIDE = "--{0}-layers 3 --{0}-embed-dim 256 --{0}-ffn-embed-dim 1024 --{0}-attention-heads 4"
TRANSFORMER = (
    f"--arch transformer {_SIDE.format('encoder')} {_SIDE.format('decoder')} "
    "--encoder-normalize-before --decoder-normalize-before --dropout 0.1 --lr 0.0005"
)
# fairseq has defaults that Python 3.11 refuses; this restores the check of Python 3.10
PATCH = """import dataclasses, inspect
source = inspect.getsource(dataclasses._get_field)
now, before = "f.default.__class__.__hash__ is None", "isinstance(f.default, (list, dict, set))"
exec(source.replace(now, before), dataclasses.__dict__)
"""


def read_marks(program: CompletedProgram) -> list[ProgressMark]:
    """Read a mark for every tenth update; a line holds the mean tokens of the last ten."""
    marks, tokens = [], 0.0
    for when, line in program.lines:
        match = STEP.search(line)
        entry = json.loads(match[0]) if match else {}
        if "wps" in entry and float(entry.get("ups", 0)) > 0:
            tokens += REPORT_EVERY * float(entry["wpb"])
            marks.append((int(entry["num_updates"]), when, tokens))
    return sort_marks(marks)


def prepare(setup: CompetitorSetup) -> dict[str, str]:
    """Preprocess the pairs, once; return the environment variables that fairseq needs."""
    dataset, folder = setup.dataset, setup.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(PATCH)
    variables = {"PYTHONPATH": str(folder), "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    preprocess_log = folder / "binary" / "preprocess.log"
    if preprocess_log.exists():
        return variables
    for side in ("source", "target"):
        lines = (f"{token} 1\n" for token in dataset.vocabulary(side))
        (folder / f"{side}.dictionary").write_text("".join(lines), encoding="utf-8")
    program = FAIRSEQ.program(setup.competitors, "fairseq-preprocess")
    options = ["-s", "source", "-t", "target", "--destdir", folder / "binary"]
    files = ["--trainpref", dataset.folder / "train", "--validpref", dataset.folder / "dev"]
    dictionaries = [
        "--srcdict",
        folder / "source.dictionary",
        "--tgtdict",
        folder / "target.dictionary",
    ]
    command = [program, *options, *files, *dictionaries]
    follow(command, threads=setup.threads, variables=variables).check("fairseq-preprocess")
    return variables


def train(setup: CompetitorSetup, kind: str, updates: int) -> CompletedProgram:
    """Train for some updates."""
    variables, folder = prepare(setup), setup.folder
    model = TRANSFORMER if kind == "transformer" else LSTM
    options = f"{model} {TRAINING_OPTIONS} {RUN_OPTIONS}".split()
    options += ["--log-interval", str(REPORT_EVERY), "--max-update", str(updates)]
    program = FAIRSEQ.program(setup.competitors, "fairseq-train")
    sides = ["-s", "source", "-t", "target", "--save-dir", folder / "saved"]
    command = [program, folder / "binary", *sides, *options]
    return follow(command, threads=setup.threads, variables=variables).check(FAIRSEQ.name)

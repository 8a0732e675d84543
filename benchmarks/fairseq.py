"""fairseq: its recurrent model is an LSTM with bilinear attention, its other a Transformer.

Both sort lines by length into batches of 64.
"""

import json
import re

from benchmarks.paces import Mark, every_mark
from benchmarks.peers import FAIRSEQ, Setup
from benchmarks.programs import Ran, follow

EVERY = 10
STEP = re.compile(r"\{.*\"num_updates\".*\}")
SHARED = "--optimizer adam --clip-norm 1.0 --criterion cross_entropy --batch-size 64 --cpu"
QUIET = "--num-workers 0 --seed 1 --no-save --disable-validation --log-format json"
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
# its settings have defaults that Python 3.11 refuses; this is what 3.10 asked of a default
PATCH = """import dataclasses, inspect
source = inspect.getsource(dataclasses._get_field)
now, before = "f.default.__class__.__hash__ is None", "isinstance(f.default, (list, dict, set))"
exec(source.replace(now, before), dataclasses.__dict__)
"""


def marks(ran: Ran) -> list[Mark]:
    """Read when each tenth update was done; a line tells tokens a second and updates a second."""
    read, tokens = [], 0.0
    for when, line in ran.lines:
        found = STEP.search(line)
        said = json.loads(found[0]) if found else {}
        if "wps" in said and float(said.get("ups", 0)) > 0:
            tokens += EVERY * float(said["wpb"])
            read.append((int(said["num_updates"]), when, tokens))
    return every_mark(read)


def prepare(setup: Setup) -> dict[str, str]:
    """Make its own form of the pairs, once; return the variables that it needs."""
    task, folder = setup.task, setup.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(PATCH)
    variables = {"PYTHONPATH": str(folder), "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    ready = folder / "binary" / "preprocess.log"
    if ready.exists():
        return variables
    for side in ("source", "target"):
        lines = (f"{symbol} 1\n" for symbol in task.vocabulary(side))
        (folder / f"{side}.dictionary").write_text("".join(lines), encoding="utf-8")
    program = FAIRSEQ.program(setup.peers, "fairseq-preprocess")
    words = ["-s", "source", "-t", "target", "--destdir", folder / "binary"]
    files = ["--trainpref", task.folder / "train", "--validpref", task.folder / "dev"]
    known = ["--srcdict", folder / "source.dictionary", "--tgtdict", folder / "target.dictionary"]
    command = [program, *words, *files, *known]
    ran = follow(command, threads=setup.threads, variables=variables)
    ran.expected("fairseq-preprocess")
    return variables


def train(setup: Setup, kind: str, updates: int) -> Ran:
    """Train for some updates."""
    variables, folder = prepare(setup), setup.folder
    model = TRANSFORMER if kind == "transformer" else LSTM
    words = f"{model} {SHARED} {QUIET} --log-interval {EVERY} --max-update {updates}".split()
    program = FAIRSEQ.program(setup.peers, "fairseq-train")
    sides = ["-s", "source", "-t", "target", "--save-dir", folder / "saved"]
    command = [program, folder / "binary", *sides, *words]
    return follow(command, threads=setup.threads, variables=variables).expected(FAIRSEQ.name)

"""Hostile run folders: every file cut, flipped, swapped, emptied, deleted or written anew."""

import json
import random
import shutil
import struct
from pathlib import Path

from hostile_model_files import check_sentence
from hostile_values import deep, paths, random_value, replaced, value_at

import regard
from regard.errors import RegardError
from regard.safetensors_files import DIGEST_KEY, KEY
from regard.training import loop

SETTINGS = {
    **{"embedding_size": 5, "hidden_size": 7, "align_size": 5, "readout_size": 3},
    **{"max_steps": 6, "validate_every": 2, "save_every": 1, "report_every": 1, "patience": 0},
    **{"batch_tokens": 64, "max_length": 6, "device": "cpu", "quiet": True, "dropout": 0.2},
    **{"average_checkpoints": 2, "average_checkpoints_from": "last"},
}
PAIRS = [(line, line[::-1]) for line in (f"{n * 7919 % 9973:04}" for n in range(40))]
STOP = 5
JUNK = [b"", b"null", b"[]", b"{}", b"[1]", b'{"step": "x"}', b"\xff\xfe\x00", b"PK\x03\x04"]
JUNK += [b'{"step": 1e999}\n', b'{"step": NaN}\n', deep().encode(), b'"step"\n', b"5\n"]


def train(folder, **options):
    """Train in a folder; return the bytes of the model."""
    regard.train(PAIRS, out=folder / "m.regard", **{**SETTINGS, **options})
    return (folder / "m.regard").read_bytes()


class StoppedError(BaseException):
    """Ends a run as a kill would."""


def train_until_stopped(folder, **options):
    """Train, and end the run in the update after its fifth save."""
    folder.mkdir()
    update = loop.update

    def stopping_update(*arguments):
        if arguments[-1] > STOP:
            raise StoppedError
        return update(*arguments)

    loop.update = stopping_update
    try:
        train(folder, **options)
    except StoppedError:
        pass
    finally:
        loop.update = update


def make_runs(folder):
    """Make a whole run, a stopped one, one of another seed, and one without digests."""
    (folder / "whole").mkdir()
    expected = train(folder / "whole")
    train_until_stopped(folder / "stopped")
    train_until_stopped(folder / "other", seed=9)
    shutil.copytree(folder / "stopped", folder / "old")
    for path in (folder / "old" / "m.run").glob("*.safetensors"):
        change_metadata(path, without_digest)
    path = folder / "old" / "m.run" / "prepared.json"
    metadata = json.loads(path.read_text())
    path.write_text(
        json.dumps({k: v for k, v in metadata.items() if k not in ("sha256", "corpora")})
    )
    return expected


def without_digest(metadata):
    """Return the metadata that an earlier version wrote."""
    return {k: v for k, v in metadata.items() if k not in (DIGEST_KEY, "files")}


def change_metadata(path, change):
    """Rewrite the metadata of a safetensors file."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"][KEY] = json.dumps(change(json.loads(header["__metadata__"][KEY])))
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


def damage(rng, folder, other):
    """Damage a random file of a run folder; return what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = rng.choice(files)
    content = path.read_bytes()
    kind = rng.choice(["cut", "flip", "flip", "flip", "byte", "swap", "delete", "junk", "append"])
    if kind == "cut":
        path.write_bytes(content[: rng.randrange(len(content) + 1)])
    elif kind in ("flip", "byte") and content:
        place = rng.randrange(rng.choice([min(len(content), 300), len(content)]))
        bit = 1 << rng.randrange(8) if kind == "flip" else rng.randrange(1, 256)
        path.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
    elif kind == "swap" and (other / path.relative_to(folder)).exists():
        shutil.copyfile(other / path.relative_to(folder), path)
    elif kind == "delete":
        path.unlink()
    elif kind == "append":
        path.write_bytes(content + rng.choice(JUNK))
    else:
        path.write_bytes(rng.choice(JUNK))
    return f"{kind} {path.relative_to(folder)}"


def change_old_values(rng, folder):
    """Change values of the state, of prepared.json or of a log that have no digests."""
    name = rng.choice(["state.safetensors", "state.safetensors", "prepared.json", "log.jsonl"])

    def change(tree):
        path = rng.choice([path for path in paths(tree) if path])
        return replaced(tree, path, random_value(rng, value_at(tree, path)))

    path = folder / name
    if name == "state.safetensors":
        change_metadata(path, change)
    elif name == "prepared.json":
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
    else:
        lines = path.read_text().splitlines()
        index = rng.randrange(len(lines))
        lines[index] = json.dumps(change(json.loads(lines[index])))
        path.write_text("\n".join(lines) + "\n")
    return f"old {name}"


def attempt(seed, runs: Path, expected: bytes):
    """Damage a run and resume it: it must end in the same bytes or be refused in a sentence."""
    rng = random.Random(seed)
    folder = runs / f"case-{seed}"
    is_old = rng.random() < 0.3
    shutil.copytree(runs / ("old" if is_old else "stopped"), folder)
    try:
        if is_old and rng.random() < 0.6:
            what = change_old_values(rng, folder / "m.run")
        else:
            what = damage(rng, folder / "m.run", runs / "other" / "m.run")
        try:
            content = train(folder, resume=True)
        except RegardError as error:
            check_sentence(error)
            if str(folder) not in str(error):
                raise AssertionError("the file is not named") from error
            return f"refused {what.split()[-1]}"
        if not is_old:
            assert content == expected, f"{what}: another model"
        return "resumed"
    except BaseException as error:
        error.add_note(what)
        raise
    finally:
        shutil.rmtree(folder)

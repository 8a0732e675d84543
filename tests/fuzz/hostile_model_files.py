"""Hostile model files: random bytes, every value of the metadata, and changed tensors."""

import io
import json
import random
import struct
import time
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

from hostile_values import (
    changed,
    deep,
    directed_changes,
    paths,
    random_value,
    replaced,
    value_at,
)

from regard.cli.info import info
from regard.config.settings import Settings
from regard.errors import ModelFileError, RegardError
from regard.models import PRESETS
from regard.safetensors_files import KEY
from regard.saved_model import load_model
from regard.translator import Translator

COMPAT = Path(__file__).parents[1] / "compat"
MODELS = sorted(PRESETS)
MAX_LOAD_SECONDS = 2
DEEP, DEEPER = "@deep@", "@deeper@"
DTYPES = ["F64", "F16", "BF16", "I32", "I64", "U8", "BOOL", "F8_E4M3", "U32", "C64", "x", ""]


@cache
def parts(name):
    """Return the metadata, the other entries of the header, and the bytes of a model file."""
    content = (COMPAT / f"{name}.regard").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    return json.loads(header.pop("__metadata__")[KEY]), header, content[8 + length :]


def joined(metadata, entries, data):
    """Return the bytes of a file; `metadata` is a tree, or a text that may be no JSON."""
    text = metadata if isinstance(metadata, str) else json.dumps(metadata)
    header = json.dumps({"__metadata__": {KEY: text}, **entries}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def directed_cases():
    """Yield (model, path, value) of a hostile value; DEEP and DEEPER stand for nested lists."""
    for name in MODELS:
        # numbers for every setting; what is the same in all models once
        everything = name == MODELS[0]
        for path, value in directed_changes(parts(name)[0]):
            if everything or path[:1] == ("settings",):
                yield name, path, value
    for path in paths(parts(MODELS[0])[0]):
        yield MODELS[0], path, DEEP
        yield MODELS[0], path, DEEPER


def directed_case(name, path, value):
    """Return the bytes of a file with one hostile value."""
    metadata, entries, data = parts(name)
    text = json.dumps(changed(metadata, path, value))
    for mark, depth in ((DEEP, 3000), (DEEPER, 100_000)):
        text = text.replace(json.dumps(mark), deep(depth))
    return joined(text, entries, data)


def random_case(seed):
    """Return the bytes of a file with a few random changes."""
    rng = random.Random(seed)
    name = rng.choice(MODELS)
    metadata, entries, data = parts(name)
    entries = json.loads(json.dumps(entries))
    kind = rng.choice(["bits", "bytes", "metadata", "metadata", "metadata", "tensors", "cut"])
    if kind == "metadata":
        for _ in range(rng.choice([1, 1, 2, 3])):
            numbers = [p for p in paths(metadata) if p and p[0] != "summary"]
            path = rng.choice(numbers)
            metadata = replaced(metadata, path, random_value(rng, value_at(metadata, path)))
            if not isinstance(metadata, dict):
                break
        return joined(metadata, entries, data)
    if kind == "tensors":
        for _ in range(rng.choice([1, 1, 2])):
            change_tensors(rng, entries)
        return joined(metadata, entries, data)
    content = bytearray(joined(metadata, entries, data))
    if kind == "cut":
        return bytes(content[: rng.randrange(len(content))]) + rng.randbytes(rng.choice([0, 9]))
    for _ in range(rng.choice([1, 1, 2, 8])):
        # the header is where damage can do most
        place = rng.randrange(rng.choice([8, 200, 4000, len(content)]))
        place = min(place, len(content) - 1)
        if kind == "bits":
            content[place] ^= 1 << rng.randrange(8)
        else:
            content[place] = rng.randrange(256)
    return bytes(content)


def change_tensors(rng, entries):
    """Remove, rename, copy or reshape a tensor, or change its type or place."""
    name = rng.choice(sorted(entries))
    entry = entries[name]
    change = rng.choice(["remove", "rename", "copy", "shape", "dtype", "offsets", "swap", "empty"])
    if change in ("remove", "rename"):
        del entries[name]
    if change in ("rename", "copy"):
        entries[rng.choice(["x", name + ".x", name.upper(), "decoder.blocks.99.x"])] = entry
    if change == "shape" and isinstance(entry, dict):
        shapes = [[*entry["shape"], 1], entry["shape"][::-1], [], [0], [2**62, 2**62], [-1], "x"]
        entry["shape"] = rng.choice(shapes)
    if change == "dtype" and isinstance(entry, dict):
        entry["dtype"] = rng.choice(DTYPES)
    if change == "offsets" and isinstance(entry, dict):
        entry["data_offsets"] = rng.choice([[0, 0], [0, 2**62], [-1, 4], [8, 4], [0], "x"])
    if change == "swap":
        other = rng.choice(sorted(entries))
        entries[name], entries[other] = entries[other], entry
    if change == "empty":
        for number in range(rng.choice([1, 3000])):
            offsets = [entry["data_offsets"][0]] * 2 if isinstance(entry, dict) else [0, 0]
            entries[f"{name}.{number}"] = {"dtype": "F32", "shape": [0], "data_offsets": offsets}


def check_sentence(error):
    """Refuse a message that is no short text on one line."""
    text = str(error)
    assert len(text) < 1200, f"a message of {len(text)} characters: {text[:300]}"
    assert text.replace("\n", " ").isprintable(), ascii(text[:300])
    assert "allocate" not in text, text[:300]


def attempt(content, path):
    """Load bytes, describe the model and translate: it works or is refused in a sentence."""
    path.write_bytes(content)
    start = time.process_time()
    try:
        saved = load_model(path)
    except ModelFileError as error:
        check_sentence(error)
        return "refused"
    finally:
        took = time.process_time() - start
        assert took < MAX_LOAD_SECONDS, f"loading took {took:.1f} s"
    assert isinstance(saved.settings, Settings)
    try:
        with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()):
            info(path)
        assert output.getvalue().replace("\n", "").isprintable()
        Translator(saved).translate(["2016", "x"])
    except RegardError as error:
        check_sentence(error)
        return "refused later"
    return "loaded"

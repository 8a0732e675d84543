"""More words where there are few: strung together from pieces of known ones.

Letters and sounds are aligned first, by expectation and maximisation over pieces of one or two
letters with no, one or two sounds. A new word is a walk through the pieces: the next is one that
has followed the last two in some word.
"""

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

Piece = tuple[str, tuple[str, ...]]
Pair = tuple[str, tuple[str, ...]]

SHAPES = ((1, 1), (1, 0), (1, 2), (2, 1))
"""Letters and sounds of a piece."""
UNEVEN = 0.1
"""What a piece of other than one letter and one sound counts: else the largest would be best."""
ROUNDS = 8
CONTEXT = 2


def aligned(pairs: Sequence[Pair]) -> list[list[Piece]]:
    """Cut every pair into pieces, in the likeliest way; what cannot be cut is left out."""
    chances = {piece: _even(piece) for pair in pairs for *_, piece in _cuts(pair)}
    for _ in range(ROUNDS):
        counts = dict.fromkeys(chances, 0.0)
        letters: dict[str, float] = defaultdict(float)
        for pair in pairs:
            for piece, share in _expected(pair, chances):
                counts[piece] += share
                letters[piece[0]] += share
        chances = {
            piece: _even(piece) * count / letters[piece[0]] if count else 0.0
            for piece, count in counts.items()
        }
    return [found for pair in pairs if (found := _best(pair, chances))]


def invented(pairs: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """Return so many new words, or fewer where hardly any can be made."""
    followers: dict[tuple[Piece | None, ...], list[Piece | None]] = defaultdict(list)
    for pieces in aligned(pairs):
        walked: list[Piece | None] = [None] * CONTEXT
        for piece in [*pieces, None]:
            followers[tuple(walked[-CONTEXT:])].append(piece)
            walked.append(piece)
    known, rng = set(pairs), random.Random(seed)
    found: dict[Pair, None] = {}
    for _ in range(20 * count):
        if len(found) == count:
            break
        pair = _walk(followers, rng)
        if pair not in known:
            found[pair] = None
    return list(found)


def _walk(
    followers: dict[tuple[Piece | None, ...], list[Piece | None]], rng: random.Random
) -> Pair:
    walked: list[Piece | None] = [None] * CONTEXT
    while (piece := rng.choice(followers[tuple(walked[-CONTEXT:])])) is not None:
        walked.append(piece)
    pieces = [piece for piece in walked if piece is not None]
    return "".join(x for x, _ in pieces), tuple(sound for _, y in pieces for sound in y)


def _even(piece: Piece) -> float:
    return 1.0 if len(piece[0]) == len(piece[1]) else UNEVEN


def _cuts(pair: Pair) -> Iterator[tuple[int, int, int, int, Piece]]:
    """Yield every piece that a pair may have: where it begins and ends, in order."""
    letters, sounds = pair
    for i in range(len(letters)):
        for j in range(len(sounds) + 1):
            for m, n in SHAPES:
                if i + m <= len(letters) and j + n <= len(sounds):
                    yield i, j, i + m, j + n, (letters[i : i + m], sounds[j : j + n])


def _expected(pair: Pair, chances: dict[Piece, float]) -> Iterator[tuple[Piece, float]]:
    """Yield pieces with the probability that they are the pair's."""
    cuts, end = list(_cuts(pair)), (len(pair[0]), len(pair[1]))
    ahead: dict[tuple[int, int], float] = defaultdict(float, {(0, 0): 1.0})
    for i, j, k, m, piece in cuts:
        ahead[k, m] += ahead[i, j] * chances[piece]
    if not ahead[end]:
        return
    back: dict[tuple[int, int], float] = defaultdict(float, {end: 1.0})
    for i, j, k, m, piece in reversed(cuts):
        back[i, j] += back[k, m] * chances[piece]
    for i, j, k, m, piece in cuts:
        yield piece, ahead[i, j] * chances[piece] * back[k, m] / ahead[end]


def _best(pair: Pair, chances: dict[Piece, float]) -> list[Piece]:
    end = (len(pair[0]), len(pair[1]))
    best: dict[tuple[int, int], tuple[float, list[Piece]]] = {(0, 0): (0.0, [])}
    for i, j, k, m, piece in _cuts(pair):
        if (i, j) in best and chances[piece]:
            score, pieces = best[i, j]
            score += math.log(chances[piece])
            if (k, m) not in best or score > best[k, m][0]:
                best[k, m] = score, [*pieces, piece]
    return best.get(end, (0.0, []))[1]

import pytest
from recipes_data import PAIRS, write


@pytest.fixture
def data(tmp_path):
    """A folder with a few lines of every data set."""
    for split in ("train", "dev"):
        write(tmp_path / "cmudict-g2p" / "g014b2b" / f"{split}.tsv.gz", PAIRS)
        write(tmp_path / "sigmorphon2021-g2p" / "low" / f"xyz_{split}.tsv", PAIRS, packed=False)
    write(tmp_path / "sigmorphon2021-g2p" / "low" / "xyz_test.tsv", PAIRS, packed=False)
    for split in ("train", "val", "test_2016_flickr"):
        for language, words in (("de", "ein haus\nein hund\n"), ("en", "a house\na dog\n")):
            write(tmp_path / "multi30k" / "tok" / f"{split}.lc.norm.tok.{language}.gz", words)
    for split in ("train", "dev", "test"):
        write(tmp_path / "histnorm" / f"german-ridges.{split}.tsv.gz", "vnd\tund\nseyn\tsein\n")
    forms = tmp_path / "sigmorphon2022-inflection"
    write(forms / "xyz_large.train.gz", "walk\twalked\tV;PST\n")
    write(forms / "xyz.dev", "walk\twalked\tV;PST\n", packed=False)
    for folder in ("couplets", "poem-couplets", "tatoeba/eng-cmn", "tatoeba/eng-deu"):
        write(tmp_path / folder / "train.tsv.gz", "天\t地\n")
        for split in ("dev", "test"):
            write(tmp_path / folder / f"{split}.tsv", "天\t地\n", packed=False)
    return tmp_path

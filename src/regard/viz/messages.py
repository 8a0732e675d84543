"""Messages of pictures and reports."""


def missing_font(examples: str, scripts: str, packages: str) -> str:
    """Say which fonts are missing and how to get them."""
    return (
        f"No installed font has {examples} ({scripts}). Run apt-get install {packages}, or use a "
        "file that ends in .svg or .html."
    )


def matplotlib_missing(kind: str) -> str:
    """Say how to get a picture without matplotlib."""
    return (
        f"A {kind} needs matplotlib, which is not installed. Run pip install 'regard[plots]', or "
        "use a file that ends in .svg or .html."
    )


def no_such_layer_or_head(name: str, number: int, limit: int) -> str:
    """Say which layers or heads there are."""
    return f"{name} is {number}; it must be a whole number from 1 to {limit}."


def unknown_picture(path: str, endings: str) -> str:
    """Say which files a picture can be saved as."""
    return f"The picture {path} has no known ending; it must end in {endings}."


OTHER_FOLDER = "Use a path in another folder."

USE_RUN_FOLDER = "Use a folder that regard train wrote, such as model.run."


def run_is_file(run_folder: str | None) -> str:
    """Say that a run is a folder, and which one may be meant."""
    remedy = USE_RUN_FOLDER if run_folder is None else f"Use {run_folder}."
    return f"It is a file; it must be the folder of a run. {remedy}"


def no_run_folder() -> str:
    """Say that a folder does not exist."""
    return f"There is no such folder. {USE_RUN_FOLDER}"


def empty_run_folder() -> str:
    """Say that a folder is not the folder of a run."""
    return f"It has neither settings nor a log of a run. {USE_RUN_FOLDER}"

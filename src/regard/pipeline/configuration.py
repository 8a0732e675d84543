"""Complete settings of a run, checked against each other and against the run that is resumed."""

from dataclasses import dataclass
from typing import Any, final

import torch

from regard.config.settings import Settings
from regard.config.toml import to_tree
from regard.pipeline.auto_configuration import AutoConfiguration, auto_configure, will_use_gpu
from regard.pipeline.input_pairs import InputPairs
from regard.pipeline.pretrained_embeddings import PretrainedEmbeddings
from regard.pipeline.request import TrainRequest
from regard.pipeline.resume_checks import (
    check_same_run,
    environment,
    keep_precision,
    saved_recipe,
    started_on_gpu,
)
from regard.pipeline.settings_checks import check_settings
from regard.pipeline.warm_start import WarmStart
from regard.training.run_folder import RunFolder
from regard.translator import select_device


@final
@dataclass(frozen=True)
class RunConfiguration:
    """The settings of a run with their reasons, and all that its result depends on."""

    automatic: AutoConfiguration
    device: torch.device
    recipe: dict[str, Any]
    settings_changed: bool
    """Whether a resumed run has different settings than at its start."""

    @property
    def settings(self) -> Settings:
        """The complete settings."""
        return self.automatic.settings


def configure(
    request: TrainRequest,
    pairs: InputPairs,
    warm_start: WarmStart | None,
    embeddings: PretrainedEmbeddings | None,
    folder: RunFolder,
) -> RunConfiguration:
    """Complete and check the settings of a request."""
    explicit = request.settings
    if embeddings is not None:
        explicit = embeddings.complete_settings(explicit, request.preset)
    if warm_start is not None:
        explicit = warm_start.complete_settings(explicit)
    old_recipe = saved_recipe(folder) if request.resume else None
    explicit, on_gpu = keep_precision(old_recipe, explicit), started_on_gpu(old_recipe)
    on_gpu = will_use_gpu(explicit) if on_gpu is None else on_gpu
    automatic = auto_configure(
        pairs.profile, explicit, request.preset, paper=request.paper_sizes, on_gpu=on_gpu
    )
    settings = automatic.settings
    if warm_start is not None:
        warm_start.check_model(settings)
    check_settings(settings)
    device = select_device(settings.train.device)
    recipe = pairs.fingerprints | {
        "settings": to_tree(settings),
        "environment": environment(device, settings.train.precision),
        "start": None if warm_start is None else warm_start.fingerprint,
        "embeddings": None if embeddings is None else embeddings.fingerprint,
    }
    settings_changed = old_recipe is not None and check_same_run(
        old_recipe, recipe, request, str(folder.path)
    )
    return RunConfiguration(automatic, device, recipe, settings_changed)

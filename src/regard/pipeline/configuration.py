"""Complete settings of a run, checked against each other and against the run that is resumed."""

from dataclasses import dataclass
from typing import Any, final

import torch

from regard.config.settings import Settings
from regard.config.toml import Tree, to_tree
from regard.pipeline.auto_configuration import AutoConfiguration, auto_configure, will_use_gpu
from regard.pipeline.input_pairs import InputPairs
from regard.pipeline.pretrained_embeddings import PretrainedEmbeddings
from regard.pipeline.request import TrainRequest
from regard.pipeline.resume_checks import (
    check_same_run,
    environment,
    has_more_time,
    keep_choices,
    kept_plan,
    saved_recipe,
    settings_of_run,
    started_on_gpu,
)
from regard.pipeline.settings_checks import check_settings
from regard.pipeline.warm_start import WarmStart
from regard.training.plan import TrainingPlan
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

    settings: Settings
    """The complete settings, before a time limit changes them."""

    old_plan: TrainingPlan | None = None
    """The plan that a resumed run was saved with, if it has a time limit."""

    more_time: bool = False
    """Whether a resumed run has only more time than before."""

    @property
    def kept_plan(self) -> TrainingPlan | None:
        """The plan to follow, if one was kept and nothing has changed."""
        return None if self.settings_changed else self.old_plan

    @property
    def automatic_train_settings(self) -> set[str]:
        """The names of the settings in [train] that the user left out."""
        names = (setting.name.partition(".") for setting in self.automatic.reasons)
        return {name for section, _, name in names if section == "train"}

    def spent_seconds(self, step: int) -> float:
        """Return how much of a longer time limit was planned for the updates so far."""
        if self.old_plan is None or not self.settings_changed:
            return 0.0
        return 60 * self.old_plan.minutes * min(1.0, step / self.old_plan.max_steps)


def configure(
    request: TrainRequest,
    pairs: InputPairs,
    warm_start: WarmStart | None,
    embeddings: PretrainedEmbeddings | None,
    folder: RunFolder,
) -> RunConfiguration:
    """Complete and check the settings of a request."""
    # how the files are read is part of the model, so other files can be read so too
    explicit = pairs.complete_settings(_without_automatic_task(request.settings))
    if embeddings is not None:
        explicit = embeddings.complete_settings(explicit, request.preset)
    if warm_start is not None:
        explicit = warm_start.complete_settings(explicit)
    old_recipe = saved_recipe(folder) if request.resume else None
    explicit, on_gpu = keep_choices(old_recipe, explicit), started_on_gpu(old_recipe)
    on_gpu = will_use_gpu(explicit) if on_gpu is None else on_gpu
    automatic = auto_configure(
        pairs.profile, explicit, request.preset, paper=request.paper_sizes, on_gpu=on_gpu
    )
    settings = automatic.settings
    if old_recipe is not None:
        settings = settings_of_run(old_recipe, settings, folder.state)
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
    if old_recipe is None:
        return RunConfiguration(automatic, device, recipe, False, settings)
    return RunConfiguration(
        automatic,
        device,
        recipe,
        check_same_run(old_recipe, recipe, request, str(folder.path)),
        settings,
        old_plan=kept_plan(old_recipe, folder.state),
        more_time=has_more_time(old_recipe, settings),
    )


def _without_automatic_task(settings: Tree) -> Tree:
    """Leave out a task that is to be inferred."""
    data = settings.get("data")
    if not isinstance(data, dict) or data.get("task") != "auto":
        return settings
    return {**settings, "data": {name: x for name, x in data.items() if name != "task"}}

"""Environment variables that the libraries below torch read once: set before torch is loaded.

Whatever the user has set stays.
"""

import os
import sys
import warnings

DEFAULTS = {
    # otherwise on some CPUs the rounding of a product depends on its memory address; MKL reads this
    # at the first product of a process
    "MKL_CBWR": "AUTO,STRICT",
    # waiting threads spin only briefly: long spinning is many times slower on a busy machine, and
    # no spinning costs a quarter on an idle one
    "GOMP_SPINCOUNT": "4000",
    # otherwise the GPU allocator keeps memory for each batch shape: tens of gigabytes in a run
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    # otherwise oneDNN and torch each keep a thousand compiled bfloat16 products, one for every
    # shape that a batch ever had: gigabytes in a run
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64",
    "LRU_CACHE_CAPACITY": "16",
}
"""Each variable with regard's value."""

THREADS_SPIN = (
    "torch was imported before regard, so its idle threads keep the cores busy; beside other "
    "programs, training can be ten times slower. Import regard first, or set the environment "
    "variable GOMP_SPINCOUNT=4000 before Python starts."
)

_spin_count_is_late = False


def set_defaults() -> None:
    """Set the variables that the user has not set; remember whether it is too late for one."""
    global _spin_count_is_late
    is_set = "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ
    # only on Linux are torch's threads those of libgomp
    _spin_count_is_late = "torch" in sys.modules and sys.platform == "linux" and not is_set
    for name, value in DEFAULTS.items():
        if name != "GOMP_SPINCOUNT" or not is_set:
            os.environ.setdefault(name, value)


def warn_if_threads_spin(num_threads: int) -> None:
    """Warn once if torch was loaded first: how long its idle threads spin can no longer change."""
    global _spin_count_is_late
    if _spin_count_is_late and num_threads > 1:
        _spin_count_is_late = False
        warnings.warn(THREADS_SPIN, RuntimeWarning, stacklevel=2)

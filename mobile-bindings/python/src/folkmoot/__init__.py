"""Federated learning on this machine's own data.

import folkmoot

with folkmoot.Client(
    "https://coordinator.example:8443", state_directory="state", enrolment_token="...", certificate="ca.pem"
) as client:
    client.examples.add(x, y)
    client.on("round", print)
    client.run(rounds=10)
    print(client.predict(x[:3]))
"""

from .care import DeviceConditions, DevicePolicy, Limits, LogEntry, ProtectionLevel, Thermal
from .client import Client
from .comparison import Compared, compare
from .errors import (
    AlreadyRunningError,
    BadExampleError,
    BadOptionError,
    Disposition,
    ErrorCode,
    FolkmootError,
    ForgottenError,
    InternalError,
    ModelUnusableError,
    NoExamplesError,
    NoModelError,
    NotEnrolledError,
    RefusedError,
    StorageError,
    UnreachableError,
)
from .examples import Examples
from .model_update import ModelUpdate
from .offer import AssignmentOffer
from .secrets import KeyringSecrets, SecretStorage
from .simulated import Simulated
from .simulation import SimulationError, simulate
from .trainer import Evaluated, Trained, Trainer, Work

__all__ = [
    "AlreadyRunningError",
    "AssignmentOffer",
    "BadExampleError",
    "BadOptionError",
    "Client",
    "Compared",
    "DeviceConditions",
    "DevicePolicy",
    "Disposition",
    "ErrorCode",
    "Evaluated",
    "Examples",
    "FolkmootError",
    "ForgottenError",
    "InternalError",
    "KeyringSecrets",
    "Limits",
    "LogEntry",
    "ModelUnusableError",
    "ModelUpdate",
    "NoExamplesError",
    "NoModelError",
    "NotEnrolledError",
    "ProtectionLevel",
    "RefusedError",
    "SecretStorage",
    "Simulated",
    "SimulationError",
    "StorageError",
    "Thermal",
    "Trained",
    "Trainer",
    "UnreachableError",
    "Work",
    "compare",
    "simulate",
]

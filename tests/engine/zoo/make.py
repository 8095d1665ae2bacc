"""Writes the zoo: each model as several exporters write it, and a training run of 20 steps in its own framework.

    pip install torch torchvision timm transformers keras scikit-learn skl2onnx onnx onnxscript
    python make.py [NAME ...]

Without names, all models are written. README.md describes the files.
"""

import json
import sys
from pathlib import Path

import keras_models
import language
import plain
import record
import several
import tabular
import torch
import vision
from exporters import EXPORTERS, exported
from training import reference

HERE = Path(__file__).parent
EXPORTS = HERE / "exports.json"
SEEDS = 4
# A larger file is not kept, so that the repository stays small.
FILE_BYTES_MAX = 40_000
# Ours are kept longer: only they show that our exporter reads a model.
OWN_FILE_BYTES_MAX = 80_000


def main():
    torch.set_num_threads(1)
    wanted = sys.argv[1:]
    for folder in ("runs", "files"):
        (HERE / folder).mkdir(exist_ok=True)
    entries = {**plain.ENTRIES, **vision.ENTRIES, **language.ENTRIES, **several.ENTRIES}
    exports = json.loads(EXPORTS.read_text()) if wanted else {}
    for name, entry in entries.items():
        if not wanted or name in wanted:
            exports[name] = {"source": entry.source, "exporters": write(name, entry)}
    for estimator in tabular.ESTIMATORS:
        if not wanted or estimator.name in wanted:
            exports[estimator.name] = {"source": "scikit-learn", "exporters": tabular.write(HERE, estimator)}
            if estimator.output:
                exports[estimator.name]["outputs"] = {"skl2onnx": estimator.output}
    for model in keras_models.MODELS:
        if not wanted or model.name in wanted:
            exports[model.name] = {"source": "Keras", "exporters": keras_models.write(HERE, model)}
    EXPORTS.write_text(json.dumps(dict(sorted(exports.items())), indent=1) + "\n")


def write(name, entry):
    """Writes the training run of a model, and one file for each exporter. Returns the errors of the exporters."""
    for path in (HERE / "files").glob(f"{name}.*"):
        path.unlink()
    for seed in range(1, SEEDS + 1):
        torch.manual_seed(seed)
        module = entry.build()
        features, labels = entry.features(), entry.labels()
        result = reference(module, entry, features, labels)
        if result is not None:
            break
    else:
        raise ValueError(f"{name}: rounding changes the training with every seed")
    rate, losses, moved, deviation = result
    arrays = {key: tensor.numpy() for key, tensor in moved.items()}
    plan = record.plan(entry.loss, rate)
    fields = record.run(name, plan, entry.batch, features.numpy(), labels.numpy(), losses, arrays, deviation)
    record.write(HERE / "runs" / f"{name}.json", fields)
    errors, sizes = {}, {}
    for exporter in EXPORTERS:
        file, error = exported(exporter, module, entry, features[: entry.batch])
        sizes[exporter] = error or len(file)
        bytes_max = OWN_FILE_BYTES_MAX if exporter == "folkmoot" else FILE_BYTES_MAX
        if file is None or len(file) <= bytes_max:
            errors[exporter] = error
        if exporter in errors and file is not None:
            (HERE / "files" / f"{name}.{exporter}.onnx").write_bytes(file)
    print(
        f"{name}: rate {rate}, loss {losses[0]:.4f} to {losses[-1]:.4f}, deviation {deviation:.1e}, {sizes}", flush=True
    )
    return errors


if __name__ == "__main__":
    main()

"""Writes a training run, in the format of tests/engine/trajectories, except that tensors are movements."""

import json

FIRST = 8


def run(name, plan, batch, features, labels, losses, moved, deviation):
    """Returns the fields of a run. Arrays are NumPy's; `moved` has by how much each tensor changed."""
    starts = range(0, len(features), batch)
    rows = [slice(start, start + batch) for start in starts]
    return {
        "model": name,
        "plan": {**plan, "epochs": 1, "batch_size": batch},
        "batch_size": batch,
        "feature_shape": list(features.shape[1:]),
        "label_kind": "classes" if labels.dtype.kind == "i" else "targets",
        "float64_deviation": rounded(deviation),
        "batches": [{"features": flat(features[part]), "labels": flat(labels[part])} for part in rows],
        "losses": [rounded(loss) for loss in losses],
        "weights": [summary(name, tensor) for name, tensor in moved.items()],
    }


def plan(loss, rate):
    """Returns a plan of plain gradient descent."""
    sgd = {"learning_rate": rate, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0}
    return {"loss": loss, "optimizer": {"sgd": sgd}}


def summary(name, moved):
    """Returns how far a tensor moved: the size, the sum, the norm and the first numbers."""
    numbers = moved.reshape(-1)
    return {
        "name": name,
        "elements": len(numbers),
        "sum": rounded(numbers.sum()),
        "norm": rounded((numbers**2).sum() ** 0.5),
        "first": [rounded(number) for number in numbers[:FIRST]],
    }


def rounded(number):
    return float(f"{float(number):.8g}")


def flat(values):
    """Returns the numbers in order; whole numbers as integers, which are shorter."""
    return [int(number) if number == int(number) else number for number in values.reshape(-1).tolist()]


def write(path, fields):
    """Writes one line for each field, each batch and each tensor."""
    lines = []
    for key, value in fields.items():
        text = json.dumps(value)
        if key in ("batches", "weights"):
            rows = [json.dumps(item, separators=(",", ":")) for item in value]
            text = "[\n    " + ",\n    ".join(rows) + "\n  ]"
        lines.append(f"  {json.dumps(key)}: {text}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")

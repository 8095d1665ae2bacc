#!/usr/bin/env python3
"""Trains a keyboard's next-word model over simulated phones, without and with differential privacy. See README.md.

python3 keyboard.py
"""

import argparse
import tempfile
from pathlib import Path

import folkmoot
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 20240607
PEOPLE = 600
HELD_OUT_PEOPLE = 100
CONTEXT = 2
EMBEDDING, HIDDEN = 8, 16
EPSILON, DELTA = 2.0, 1e-4
ROUNDS, COHORT = 20, 60

SLOTS = {
    "FEEL": "fine late tired happy early busy".split(),
    "PLACE": "office station market garden school beach".split(),
    "TIME": "tonight tomorrow soon later today now".split(),
    "VERB": "bring find move check send share".split(),
    "THING": "key ticket report phone bike cake".split(),
    "NAME": "mother anna team doctor brother driver".split(),
}
SENTENCES = [
    "i am FEEL today",
    "see you at the PLACE TIME",
    "can you VERB the THING TIME",
    "thanks for the THING",
    "the NAME is at the PLACE",
    "please VERB the THING to the NAME",
    "i will VERB the THING TIME",
    "is the NAME FEEL",
]
WORDS = [
    "<start>",
    *sorted({word for text in [*SENTENCES, *map(" ".join, SLOTS.values())] for word in text.split()} - set(SLOTS)),
]


def phones(count, generator):
    """Returns rows of two words, the phone, and the next word. People type different amounts, and have words that they prefer."""
    index = {word: number for number, word in enumerate(WORDS)}
    rows = []
    for phone in range(count):
        # Most people type little, and a few type a lot: the median is 12 sentences.
        sentences = int(np.clip(generator.lognormal(np.log(12), 1.0), 2, 200))
        habits = generator.dirichlet(np.full(len(SENTENCES), 0.8))
        likes = {slot: generator.dirichlet(np.full(len(words), 0.4)) for slot, words in SLOTS.items()}
        for choice in generator.choice(len(SENTENCES), sentences, p=habits):
            words = [
                generator.choice(SLOTS[word], p=likes[word]) if word in SLOTS else word
                for word in SENTENCES[choice].split()
            ]
            numbers = [0] * CONTEXT + [index[word] for word in words]
            rows += [
                [*numbers[place : place + CONTEXT], phone, numbers[place + CONTEXT]] for place in range(len(words))
            ]
    return np.array(rows)


def most_frequent(keys, words):
    """Returns the most frequent word for each key, and 0 for a key without words."""
    counts = np.zeros((len(WORDS) ** CONTEXT, len(WORDS)), int)
    np.add.at(counts, (keys, words), 1)
    return counts.argmax(axis=1)


def tables(rows, held_out):
    """Returns the shares of next words that are right without a model, counted over all phones in one place.

    The first always suggests the most frequent word, and the second the most frequent one after the last words.
    """
    after, held_out_after = (
        one[:, :CONTEXT] @ [len(WORDS) ** place for place in range(CONTEXT)] for one in (rows, held_out)
    )
    wanted = held_out[:, -1]
    word = most_frequent(0 * after, rows[:, -1])[0]
    return (wanted == word).mean(), (wanted == most_frequent(after, rows[:, -1])[held_out_after]).mean()


def table(rows, path):
    """Writes a CSV file, whose column `phone` names the client of each row."""
    header = ",".join([*(f"word_{place + 1}" for place in range(CONTEXT)), "phone", "next"])
    np.savetxt(path, rows, fmt="%d", delimiter=",", header=header, comments="")
    return path


def model(path):
    """Writes an embedding of the last words, a hidden layer, and a score for each word."""
    generator = np.random.default_rng(SEED)
    sizes = {
        "embedding": (len(WORDS), EMBEDDING),
        "hidden.weight": (HIDDEN, CONTEXT * EMBEDDING),
        "hidden.bias": (HIDDEN,),
        "out.weight": (len(WORDS), HIDDEN),
        "out.bias": (len(WORDS),),
    }
    weights = [
        numpy_helper.from_array(
            (generator.normal(0.0, 1.0 / np.sqrt(size[-1]), size) * (not name.endswith("bias"))).astype(np.float32),
            name,
        )
        for name, size in sizes.items()
    ]
    nodes = [
        helper.make_node("Cast", ["words"], ["ids"], "ids", to=TensorProto.INT64),
        helper.make_node("Gather", ["embedding", "ids"], ["vectors"], "vectors", axis=0),
        helper.make_node("Flatten", ["vectors"], ["context"], "context", axis=1),
        helper.make_node("Gemm", ["context", "hidden.weight", "hidden.bias"], ["inner"], "inner", transB=1),
        helper.make_node("Tanh", ["inner"], ["activated"], "activated"),
        helper.make_node("Gemm", ["activated", "out.weight", "out.bias"], ["scores"], "scores", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "keyboard",
        [helper.make_tensor_value_info("words", TensorProto.FLOAT, ["N", CONTEXT])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", len(WORDS)])],
        weights,
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(whole, full_check=True)
    path.write_bytes(whole.SerializeToString())
    return path


def task(is_private, cohort, rounds):
    """Returns the task. Privacy samples phones at random, which needs the least noise, and clips what each of them can change."""
    described = {
        "name": "keyboard",
        "population": "keyboard",
        "plan": {
            "loss": "softmax_cross_entropy",
            "epochs": 2,
            "batch_size": 16,
            "steps_max": 20,
            "optimizer": {"sgd": {"learning_rate": 0.3}},
        },
        "scheduling": {"kind": "synchronous", "report_goal": cohort},
        "aggregator": {"kind": "uniform_mean"},
        "finalizer": {"kind": "fed_avg_m", "momentum": 0.9, "server_learning_rate": 0.5},
        "stop": {"rounds": rounds},
    }
    if is_private:
        described["privacy"] = {
            "kind": "central",
            "epsilon": EPSILON,
            "delta": DELTA,
            "amplification": "poisson",
            "clipping": {"kind": "fixed", "norm": 1.0},
        }
        described["selection"] = {"kind": "poisson", "sampling_rate": cohort / PEOPLE}
        described["scheduling"] |= {"selection_deadline_seconds": 5, "reporting_deadline_seconds": 20}
    return described


def train(is_private, folder, cohort, rounds):
    """Trains over the simulated phones, and returns the result."""
    return folkmoot.simulate(
        task(is_private, cohort, rounds),
        folder / "keyboard.onnx",
        folder / "phones.csv",
        held_out=folder / "held-out.csv",
        group_column="phone",
        partition="natural",
        clients=PEOPLE,
        seed=1,
        evaluate_every=rounds,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    generator = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = phones(PEOPLE, generator)
        table(rows, folder / "phones.csv")
        held_out = phones(HELD_OUT_PEOPLE, generator)
        table(held_out, folder / "held-out.csv")
        model(folder / "keyboard.onnx")
        sizes = np.bincount(rows[:, CONTEXT])
        print(f"{PEOPLE} phones with {sizes.min()} to {sizes.max()} words, {np.median(sizes):.0f} in the median")
        word, after = tables(rows, held_out)
        print(f"always the most frequent word: {word:.3f} of the next words are right")
        print(f"the most frequent word after two others: {after:.3f} of the next words are right")
        for words, is_private in (("without privacy", False), (f"epsilon {EPSILON:g}, delta {DELTA:g}", True)):
            done = train(is_private, folder, COHORT, arguments.rounds)
            print(f"{words}: {done.summary['held_out_metric']:.3f} of the next words are right")


if __name__ == "__main__":
    main()

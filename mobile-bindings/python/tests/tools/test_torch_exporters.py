"""Both exporters of PyTorch write files that train as PyTorch does. All names contain `torch`, because these tests run
where PyTorch is installed. Debian's PyTorch has only the older exporter.
"""

import logging
import subprocess

import folkmoot
import numpy as np
import onnx
import pytest
from folkmoot.export import ExportError, to_onnx, tracing, weights
from small_task import PROGRAM

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
nn = torch.nn

STEPS, RATE, ROWS, WORDS, LENGTH, CLASSES = 10, 0.2, 8, 32, 8, 4
TOLERANCE = 1e-3
# A tensor that moves less than this part of the farthest one is compared as if it moved so far.
SMALLEST_PART = 0.01
IS_NEW = tracing.why_not_dynamo(torch) is None
EXPORTERS = ["classic", "dynamo"] if IS_NEW else ["classic"]
needs_dynamo = pytest.mark.skipif(not IS_NEW, reason="PyTorch is older than 2.9, or onnxscript is not installed")


class Words(nn.Module):
    """A tied and padded table, a frozen layer, a normalisation, and gates that split a tensor."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(WORDS, 6, padding_idx=0)
        self.frozen = nn.Linear(6, 6).requires_grad_(False)
        self.normalise = nn.BatchNorm1d(6)
        self.gates = nn.Linear(6, 12)
        self.head = nn.Linear(6, WORDS, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        x = self.normalise(self.frozen(self.table(ids)).transpose(1, 2)).transpose(1, 2)
        value, gate = self.gates(x).chunk(2, dim=-1)
        return self.head((value * torch.sigmoid(gate)).mean(1))


class Changes(nn.Module):
    """Reads the differences of a series, which the older exporter cannot trace."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(LENGTH - 1, CLASSES)

    def forward(self, x):
        return self.head(torch.diff(x))


class Traced(nn.Linear):
    """Can only be traced."""

    def forward(self, x):
        if not torch.jit.is_tracing():
            raise RuntimeError("only for tracing")
        return super().forward(x)


class FixedRows(nn.Linear):
    def forward(self, x):
        return super().forward(x.reshape(2, 4))


class Branch(nn.Linear):
    def forward(self, x):
        return super().forward(x if x.sum() > 0 else -x)


class LastWord(nn.Module):
    """Predicts the word after a text."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids).logits[:, -1]


class Labels(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).logits


def text(module, classes, lowest=0):
    """Returns a module with texts and labels for it."""
    return module, torch.randint(lowest, WORDS, (ROWS, LENGTH)), torch.randint(0, classes, (ROWS,))


def difference(module, x, y, path, exporter):
    """Trains the exported file in the engine and the module in PyTorch, on the same batches. Returns the largest
    relative difference of how far a parameter moved, and the result of the export.
    """
    exported = to_onnx(module, x[:1], path, exporter=exporter)
    start = {name: tensor.detach().clone() for name, tensor in module.named_parameters() if tensor.requires_grad}
    optimizer = torch.optim.SGD([one for one in module.parameters() if one.requires_grad], lr=RATE)
    module.train()
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(x), y).backward()
        optimizer.step()
    data, plan, trained = (path.with_suffix(suffix) for suffix in (".npz", ".toml", ".trained.onnx"))
    np.savez(data, x=x.numpy().astype(np.float32), y=y.numpy())
    sgd = f"{{ sgd = {{ learning_rate = {RATE} }} }}"
    plan.write_text(f'loss = "softmax_cross_entropy"\nepochs = {STEPS}\nbatch_size = {len(x)}\noptimizer = {sgd}\n')
    arguments = ["--data", data, "--plan", plan, "--out", trained, "--hold-out-one-of", "0", "--device", "cpu"]
    done = subprocess.run(
        [PROGRAM, "engine", "train", exported.path, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    before, after = weights(exported.path), weights(trained)
    moved = {name: (module.get_parameter(name).detach() - start[name]).numpy() for name in start}
    farthest = max(np.linalg.norm(one) for one in moved.values())
    assert set(moved) == {name for name in before if "running" not in name}
    return exported, max(
        np.linalg.norm(after[name] - before[name] - one) / max(np.linalg.norm(one), SMALLEST_PART * farthest)
        for name, one in moved.items()
    )


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_torch_modules_with_tied_padded_and_frozen_weights_train_as_in_pytorch(tmp_path, exporter):
    torch.manual_seed(1)
    module, x, y = text(Words(), WORDS)
    x[:, ::3] = 0
    exported, largest = difference(module, x, y, tmp_path / "model.onnx", exporter)
    assert largest < TOLERANCE
    assert exported.exporter == exporter
    names = ["table.weight", "normalise.weight", "normalise.bias", "gates.weight", "gates.bias"]
    assert [name for name in exported.parameters if "running" not in name] == names
    model = onnx.load(exported.path)
    assert not any(node.metadata_props for node in model.graph.node), "paths of this machine"
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"


@needs_dynamo
@pytest.mark.parametrize("kind", ["bert", "gpt2", "gpt_neox", "llama", "opt", "vit"])
def test_torch_models_of_transformers_train_as_in_pytorch(tmp_path, kind):
    hf = pytest.importorskip("transformers", reason="PyTorch is newer than 2.9, but transformers is not installed")
    small = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    words = {"vocab_size": WORDS, "max_position_embeddings": 16, "pad_token_id": 0, "num_labels": CLASSES}
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    other = {"vocab_size": WORDS, "num_hidden_layers": 2, "num_attention_heads": 2, "dropout": 0.0, "pad_token_id": 0}
    gpt2 = {"n_embd": 8, "n_layer": 2, "n_head": 2, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    torch.manual_seed(1)
    if kind == "vit":
        config = hf.ViTConfig(**small, **still, image_size=16, patch_size=8, num_labels=CLASSES)
        module = Labels(hf.ViTForImageClassification(config))
        x, y = torch.randn(ROWS, 3, 16, 16), torch.randint(0, CLASSES, (ROWS,))
    elif kind == "bert":
        module, x, y = text(Labels(hf.BertForSequenceClassification(hf.BertConfig(**small, **words, **still))), CLASSES)
    else:
        config, model = {
            "gpt2": lambda: (hf.GPT2Config(vocab_size=WORDS, n_positions=16, **gpt2), hf.GPT2LMHeadModel),
            "gpt_neox": lambda: (hf.GPTNeoXConfig(**small, **words), hf.GPTNeoXForCausalLM),
            "llama": lambda: (hf.LlamaConfig(**small, **words), hf.LlamaForCausalLM),
            "opt": lambda: (
                hf.OPTConfig(hidden_size=8, word_embed_proj_dim=8, ffn_dim=16, max_position_embeddings=16, **other),
                hf.OPTForCausalLM,
            ),
        }[kind]()
        module, x, y = text(LastWord(model(config)), WORDS)
    exported, largest = difference(module, x, y, tmp_path / "model.onnx", "auto")
    assert largest < TOLERANCE
    assert exported.exporter == "dynamo"


@needs_dynamo
def test_torch_modules_that_only_one_exporter_reads(tmp_path, caplog):
    torch.manual_seed(1)
    path, row = tmp_path / "model.onnx", torch.zeros(1, LENGTH)
    assert to_onnx(Changes(), row, path).exporter == "dynamo"
    assert not caplog.records
    assert to_onnx(Traced(LENGTH, CLASSES), row, path).exporter == "classic"
    [record] = caplog.records
    assert record.levelno == logging.WARNING and "older exporter" in record.message
    assert "only for tracing" in record.message
    for exporter, module, words in (("classic", Changes(), "aten::diff"), ("dynamo", Traced(LENGTH, 1), "only for")):
        with pytest.raises(ExportError, match=words):
            to_onnx(module, row, path, exporter=exporter)
    # An older operator set is written by the older exporter, and its error says that the other one was not tried.
    with pytest.raises(ExportError, match=r"aten::diff.*was not tried: it cannot write operator set 17"):
        to_onnx(Changes(), row, path, opset=17)


@needs_dynamo
def test_torch_modules_that_depend_on_the_example_are_refused(tmp_path):
    path, row = tmp_path / "model.onnx", torch.zeros(1, 4)
    with pytest.raises(ExportError, match="only if dimension 0 of input is 2.*input's shape"):
        to_onnx(FixedRows(4, 2), row, path)
    with pytest.raises(ExportError, match="decides by numbers of its input.*torch.where"):
        to_onnx(Branch(4, 2), row, path)
    with pytest.raises(ExportError, match="changes parametrizations.weight.0._u, .* in training"):
        to_onnx(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 2)), row, path)
    with pytest.raises(ExportError, match="only if dimension 1 of input is 6.*leave free_length out"):
        to_onnx(nn.Sequential(nn.Flatten(), nn.Linear(6, 2)), torch.zeros(1, 6, 1), path, free_length=1)
    assert not path.exists()


def test_torch_exporters_are_chosen_by_name(tmp_path, caplog):
    caplog.set_level(logging.INFO, "folkmoot.export")
    path, row = tmp_path / "model.onnx", torch.zeros(1, 4)
    assert to_onnx(nn.Linear(4, 2), row, path, exporter="classic").exporter == "classic"
    assert not caplog.records, "it was asked for"
    with pytest.raises(
        folkmoot.BadOptionError, match='exporter is "tracing"; it must be "auto", "dynamo" or "classic"'
    ):
        to_onnx(nn.Linear(4, 2), row, path, exporter="tracing")
    why = "cannot write operator set 17" if IS_NEW else "PyTorch 2.9 or newer|onnxscript"
    with pytest.raises(folkmoot.BadOptionError, match=why):
        to_onnx(nn.Linear(4, 2), row, path, exporter="dynamo", opset=17)
    assert to_onnx(nn.Linear(4, 2), row, path, opset=17).exporter == "classic"
    [record] = caplog.records
    assert record.levelno == logging.INFO and record.message.startswith("PyTorch's older exporter wrote")

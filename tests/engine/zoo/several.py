"""Models with several inputs, or with sequences of free length."""

import torch
import transformers as hf
from entry import Entry, Logits, classes, targets, tokens
from language import CLASSES, LENGTH, NO_DROPOUT, SMALL, TEXT, WORDS, gpt2
from torch import nn

USERS, ITEMS, NUMBERS, CATEGORIES = 12, 9, 5, 3


class Factors(nn.Module):
    """Predicts how a user rates an item."""

    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(USERS, 4)
        self.items = nn.Embedding(ITEMS, 4)
        self.bias = nn.Embedding(ITEMS, 1)

    def forward(self, user, item):
        return (self.users(user) * self.items(item)).sum(1, keepdim=True) + self.bias(item)


class WideAndDeep(nn.Module):
    """Classifies numbers and categories."""

    def __init__(self):
        super().__init__()
        self.categories = nn.Embedding(ITEMS, 4)
        self.deep = nn.Sequential(nn.Linear(4 * CATEGORIES + NUMBERS, 16), nn.ReLU(), nn.Linear(16, CLASSES))
        self.wide = nn.Linear(NUMBERS, CLASSES)

    def forward(self, numbers, categories):
        embedded = self.categories(categories).flatten(1)
        return self.deep(torch.cat([embedded, numbers], 1)) + self.wide(numbers)


class Masked(nn.Module):
    """An encoder that ignores the padding."""

    def __init__(self):
        super().__init__()
        config = hf.BertConfig(**{**SMALL, **NO_DROPOUT, **TEXT, "num_labels": CLASSES})
        self.model = hf.BertForSequenceClassification(config)

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


class Reader(nn.Module):
    """Classifies each position of a sequence."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 6)
        self.reader = nn.LSTM(6, 5, batch_first=True)
        self.head = nn.Linear(5, CLASSES)

    def forward(self, input):
        return self.head(self.reader(self.embedding(input))[0])


def ids_and_mask():
    """Returns token ids, and a mask of the first 4 or more of them."""
    lengths = torch.randint(4, LENGTH + 1, (8, 1))
    return torch.cat([tokens(WORDS - 3, LENGTH)() + 3, (torch.arange(LENGTH) < lengths).long()], 1).float()


def numbers_and_categories():
    return torch.cat([torch.randint(-2, 3, (8, NUMBERS)), torch.randint(0, ITEMS, (8, CATEGORIES))], 1).float()


def users_and_items():
    return torch.cat([torch.randint(0, USERS, (8, 1)), torch.randint(0, ITEMS, (8, 1))], 1).float()


ENTRIES = {
    "users_and_items": Entry(
        Factors,
        users_and_items,
        targets(1),
        loss="mean_squared_error",
        inputs=lambda rows: (rows[:, 0].long(), rows[:, 1].long()),
    ),
    "wide_and_deep": Entry(
        WideAndDeep,
        numbers_and_categories,
        classes(CLASSES),
        inputs=lambda rows: (rows[:, :NUMBERS], rows[:, NUMBERS:].long()),
    ),
    "bert_masked": Entry(
        Masked,
        ids_and_mask,
        classes(CLASSES),
        source="transformers",
        inputs=lambda rows: (rows[:, :LENGTH].long(), rows[:, LENGTH:].long()),
        free_length=1,
    ),
    "gpt2_free": Entry(
        lambda: Logits(hf.GPT2LMHeadModel(gpt2())),
        tokens(WORDS, LENGTH),
        classes(WORDS, LENGTH),
        source="transformers",
        rate=0.5,
        free_length=1,
    ),
    "lstm_free": Entry(Reader, tokens(WORDS, LENGTH), classes(CLASSES, LENGTH), rate=0.5, free_length=1),
}

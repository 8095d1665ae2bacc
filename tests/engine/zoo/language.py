"""Language models as Hugging Face's transformers define them, with tiny configurations."""

import transformers as hf
from entry import Entry, Logits, Pooled, classes, images, tokens

WORDS, LENGTH, CLASSES, WIDTH = 32, 8, 4, 8
SMALL = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
TEXT = {"vocab_size": WORDS, "max_position_embeddings": 16, "pad_token_id": 0}
ENDS = {"bos_token_id": 1, "eos_token_id": 2}


def classifier(config, model):
    """A model that classifies a text."""
    return Entry(
        lambda: Logits(model(config())),
        lambda: tokens(WORDS - 3, LENGTH)() + 3,
        classes(CLASSES),
        source="transformers",
    )


def language(config, model):
    """A model that predicts the next token at each position."""
    labels = classes(WORDS, LENGTH)
    return Entry(
        lambda: Logits(model(config())),
        lambda: tokens(WORDS - 3, LENGTH)() + 3,
        labels,
        source="transformers",
        rate=0.5,
    )


def picture(config, model, size=16):
    return Entry(lambda: Logits(model(config())), images(3, size), classes(CLASSES), source="transformers")


def encoder(config, **options):
    return lambda: config(**{**SMALL, **NO_DROPOUT, **TEXT, "num_labels": CLASSES, **options})


def decoder(config, **options):
    return lambda: config(**{**SMALL, **TEXT, **ENDS, "use_cache": False, **options})


def distilbert():
    return hf.DistilBertConfig(
        vocab_size=WORDS,
        max_position_embeddings=16,
        dim=WIDTH,
        n_layers=2,
        n_heads=2,
        hidden_dim=16,
        dropout=0.0,
        attention_dropout=0.0,
        seq_classif_dropout=0.0,
        num_labels=CLASSES,
    )


def gpt2():
    return hf.GPT2Config(
        vocab_size=WORDS,
        n_positions=16,
        n_embd=WIDTH,
        n_layer=2,
        n_head=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
        **ENDS,
    )


def t5():
    config = hf.T5Config(
        vocab_size=WORDS, d_model=WIDTH, d_kv=4, d_ff=16, num_layers=2, num_heads=2, dropout_rate=0.0, use_cache=False
    )
    return Pooled(hf.T5EncoderModel(config), WIDTH, CLASSES)


def opt():
    return hf.OPTConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        word_embed_proj_dim=WIDTH,
        num_hidden_layers=2,
        ffn_dim=16,
        num_attention_heads=2,
        max_position_embeddings=16,
        dropout=0.0,
        pad_token_id=0,
        use_cache=False,
        **ENDS,
    )


def bloom():
    return hf.BloomConfig(vocab_size=WORDS, hidden_size=WIDTH, n_layer=2, n_head=2, use_cache=False, **ENDS)


def vision(config, **options):
    return lambda: config(
        **{**SMALL, **NO_DROPOUT, "image_size": 16, "patch_size": 8, "num_labels": CLASSES, **options}
    )


def hf_resnet():
    return hf.ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic", num_labels=CLASSES)


ENTRIES = {
    "bert": classifier(encoder(hf.BertConfig), hf.BertForSequenceClassification),
    "roberta": classifier(encoder(hf.RobertaConfig), hf.RobertaForSequenceClassification),
    "albert": classifier(
        encoder(hf.AlbertConfig, embedding_size=WIDTH, classifier_dropout_prob=0.0), hf.AlbertForSequenceClassification
    ),
    "electra": classifier(encoder(hf.ElectraConfig, embedding_size=WIDTH), hf.ElectraForSequenceClassification),
    "distilbert": classifier(distilbert, hf.DistilBertForSequenceClassification),
    "t5_encoder": Entry(t5, tokens(WORDS, LENGTH), classes(CLASSES), source="transformers"),
    "gpt2": language(gpt2, hf.GPT2LMHeadModel),
    "llama": language(decoder(hf.LlamaConfig), hf.LlamaForCausalLM),
    "mistral": language(decoder(hf.MistralConfig, num_key_value_heads=1, sliding_window=4), hf.MistralForCausalLM),
    "qwen2": language(decoder(hf.Qwen2Config, num_key_value_heads=1), hf.Qwen2ForCausalLM),
    "gpt_neox": language(decoder(hf.GPTNeoXConfig, hidden_dropout=0.0), hf.GPTNeoXForCausalLM),
    "opt": language(opt, hf.OPTForCausalLM),
    "bloom": language(bloom, hf.BloomForCausalLM),
    "hf_vit": picture(vision(hf.ViTConfig), hf.ViTForImageClassification),
    "deit": picture(vision(hf.DeiTConfig), hf.DeiTForImageClassification),
    "hf_resnet": Entry(
        lambda: Logits(hf.ResNetForImageClassification(hf_resnet())),
        images(3, 16),
        classes(CLASSES),
        batch=8,
        rate=0.05,
        source="transformers",
    ),
}

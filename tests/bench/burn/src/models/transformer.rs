//! The small causal transformer from `examples/models/transformer.py`.

use burn::tensor::{activation::{gelu, softmax}, module::embedding, Device, Int, Tensor, TensorData};

use crate::{Failure, layers::{Dense, Normalization}, training::{Network, Update}, weights::{First, Weights}};

/// The number of tokens in an example.
pub const POSITIONS: usize = 16;
/// The number of different tokens.
pub const VOCABULARY: usize = 32;
const WIDTH: usize = 32;
const HEADS: usize = 2;
const HEAD_WIDTH: usize = WIDTH / HEADS;
const HIDDEN: usize = 64;
/// The value added to the scores of later positions, which makes their softmax 0.
const HIDDEN_POSITION: f32 = -1e9;

/// Two blocks between an embedding and a dense layer.
pub struct Transformer {
    tokens: Tensor<2>,
    positions: Tensor<2>,
    blocks: [Block; 2],
    normalization: Normalization,
    logits: Dense,
    causal_mask: Tensor<4>,
}

impl Transformer {
    /// Reads the weights.
    pub fn new(weights: &mut Weights, device: &Device) -> Result<Self, Failure> {
        Ok(Self {
            tokens: weights.trained([VOCABULARY, WIDTH], First::Spread(0.25))?,
            positions: weights.trained([POSITIONS, WIDTH], First::Spread(0.01))?,
            blocks: [Block::new(weights)?, Block::new(weights)?],
            normalization: Normalization::new(weights, WIDTH)?,
            logits: Dense::of_product(weights, WIDTH, VOCABULARY)?,
            causal_mask: causal_mask(device),
        })
    }
}

impl Network for Transformer {
    type Input = Tensor<2, Int>;

    fn logits(&mut self, tokens: &Tensor<2, Int>) -> Tensor<2> {
        let rows = tokens.dims()[0];
        let mut value = embedding(self.tokens.clone(), tokens.clone()) + self.positions.clone().unsqueeze();
        for block in &self.blocks {
            value = block.forward(value, &self.causal_mask);
        }
        let logits = self.logits.forward(self.normalization.over_last(value));
        logits.reshape([rows * POSITIONS, VOCABULARY])
    }

    fn update(&mut self, update: &mut Update) {
        update.apply(&mut self.tokens);
        update.apply(&mut self.positions);
        self.blocks.iter_mut().for_each(|block| block.update(update));
        self.normalization.update(update);
        self.logits.update(update);
    }
}

/// Attention, followed by two dense layers for each position. Both parts have pre-normalization and a residual
/// connection.
struct Block {
    before_attention: Normalization,
    /// The projections of queries, keys and values in one layer.
    fused: Dense,
    projection: Dense,
    before_dense: Normalization,
    up: Dense,
    down: Dense,
}

impl Block {
    fn new(weights: &mut Weights) -> Result<Self, Failure> {
        Ok(Self {
            before_attention: Normalization::new(weights, WIDTH)?,
            fused: Dense::without_bias(weights, WIDTH, 3 * WIDTH)?,
            projection: Dense::of_product(weights, WIDTH, WIDTH)?,
            before_dense: Normalization::new(weights, WIDTH)?,
            up: Dense::of_product(weights, WIDTH, HIDDEN)?,
            down: Dense::of_product(weights, HIDDEN, WIDTH)?,
        })
    }

    fn forward(&self, value: Tensor<3>, causal_mask: &Tensor<4>) -> Tensor<3> {
        let attended = self.attention(self.before_attention.over_last(value.clone()), causal_mask);
        let value = value + attended;
        let hidden = gelu(self.up.forward(self.before_dense.over_last(value.clone())));
        value + self.down.forward(hidden)
    }

    fn attention(&self, value: Tensor<3>, causal_mask: &Tensor<4>) -> Tensor<3> {
        let rows = value.dims()[0];
        let fused = self.fused.forward(value);
        let heads = |part: usize| {
            let part = fused.clone().narrow(2, part * WIDTH, WIDTH);
            part.reshape([rows, POSITIONS, HEADS, HEAD_WIDTH]).swap_dims(1, 2)
        };
        let (queries, keys, values): (Tensor<4>, Tensor<4>, Tensor<4>) = (heads(0), heads(1), heads(2));
        let scores = queries.matmul(keys.transpose()) / (HEAD_WIDTH as f32).sqrt();
        let shares = softmax(scores + causal_mask.clone(), 3);
        let joined = shares.matmul(values).swap_dims(1, 2).reshape([rows, POSITIONS, WIDTH]);
        self.projection.forward(joined)
    }

    fn update(&mut self, update: &mut Update) {
        self.before_attention.update(update);
        self.fused.update(update);
        self.projection.update(update);
        self.before_dense.update(update);
        self.up.update(update);
        self.down.update(update);
    }
}

/// Returns the causal mask `[1, 1, POSITIONS, POSITIONS]`. It is 0 where a position may attend to another, and very
/// negative elsewhere.
fn causal_mask(device: &Device) -> Tensor<4> {
    let is_later = |index: usize| index % POSITIONS > index / POSITIONS;
    let value = |index| if is_later(index) { HIDDEN_POSITION } else { 0.0 };
    let values: Vec<f32> = (0..POSITIONS * POSITIONS).map(value).collect();
    Tensor::from_data(TensorData::new(values, [1, 1, POSITIONS, POSITIONS]), device)
}

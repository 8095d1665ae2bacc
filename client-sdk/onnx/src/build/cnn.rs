//! The convolutional network of McMahan et al. 2017, a common benchmark in federated learning.

use prost::bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::{he_normal, model, node, tensor};
use crate::proto::{AttributeProto, NodeProto, TensorProto, attribute_type, data_type};

const SIDE: usize = 28;
const CLASSES: usize = 10;

/// Builds the CNN of McMahan et al. 2017, section 3: 1,663,370 parameters.
///
/// Two 5x5 convolutions with 32 and 64 channels, each followed by Relu and 2x2 max pooling; a dense layer of 512 with
/// Relu; an output layer. The paper does not specify the padding. Two zeros on each side give the paper's number of
/// parameters. Input `input` `[N, 784]`, output `logits` `[N, 10]`. Weights are drawn from `seed` after He et al. 2015
/// (equation 10); biases are 0.
pub fn federated_averaging_cnn(seed: u64) -> Vec<u8> {
    let mut network = Network { rng: ChaCha20Rng::seed_from_u64(seed), nodes: vec![], initializers: vec![] };
    network.initializers.push(image_shape());
    network.nodes.push(node("Reshape", &["input", "image_shape"], "image", vec![]));
    network.convolution("image", 1, [1, 32]);
    network.convolution("convolution_1.pooled", 2, [32, 64]);
    network.nodes.push(node("Flatten", &["convolution_2.pooled"], "features", vec![]));
    let pooled = SIDE / 4;
    network.dense("features", 1, [pooled * pooled * 64, 512], "dense_1.sum");
    network.nodes.push(node("Relu", &["dense_1.sum"], "dense_1.activated", vec![]));
    network.dense("dense_1.activated", 2, [512, CLASSES], "logits");
    model(network.nodes, network.initializers, SIDE * SIDE, ("logits", CLASSES))
}

struct Network {
    rng: ChaCha20Rng,
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
}

impl Network {
    /// Appends a convolution, Relu and pooling. The result is named `convolution_{number}.pooled`.
    fn convolution(&mut self, input: &str, number: usize, [channels, filters]: [usize; 2]) {
        let name = format!("convolution_{number}");
        self.parameters(&name, &[filters, channels, 5, 5]);
        let parameters = [format!("{name}.weight"), format!("{name}.bias")];
        let [sum, activated, pooled] =
            ["sum", "activated", "pooled"].map(|result| format!("{name}.{result}"));
        let padded = vec![integers("kernel_shape", &[5, 5]), integers("pads", &[2, 2, 2, 2])];
        self.nodes.push(node("Conv", &[input, &parameters[0], &parameters[1]], &sum, padded));
        self.nodes.push(node("Relu", &[&sum], &activated, vec![]));
        let halved = vec![integers("kernel_shape", &[2, 2]), integers("strides", &[2, 2])];
        self.nodes.push(node("MaxPool", &[&activated], &pooled, halved));
    }

    /// Appends a dense layer without activation.
    fn dense(&mut self, input: &str, number: usize, [inputs, outputs]: [usize; 2], result: &str) {
        let name = format!("dense_{number}");
        self.parameters(&name, &[outputs, inputs]);
        let parameters = [format!("{name}.weight"), format!("{name}.bias")];
        let transposed = AttributeProto { r#type: attribute_type::INT, i: 1, ..attribute("transB") };
        self.nodes.push(node("Gemm", &[input, &parameters[0], &parameters[1]], result, vec![transposed]));
    }

    /// Adds the weight and the bias of a layer. The first dimension is the number of outputs; the others are the inputs
    /// of each output.
    fn parameters(&mut self, name: &str, shape: &[usize]) {
        let (inputs, outputs) = (shape[1..].iter().product(), shape[0]);
        let weights = he_normal(&mut self.rng, inputs, outputs);
        self.initializers.push(tensor(&format!("{name}.weight"), shape, weights.into_iter()));
        let zeros = std::iter::repeat_n(0.0, outputs);
        self.initializers.push(tensor(&format!("{name}.bias"), &[outputs], zeros));
    }
}

/// Returns the shape of a batch of images; the 0 keeps the batch dimension.
fn image_shape() -> TensorProto {
    let sizes = [0, 1, SIDE as i64, SIDE as i64];
    TensorProto {
        dims: vec![sizes.len() as i64],
        data_type: data_type::INT64,
        name: "image_shape".into(),
        raw_data: Bytes::from_iter(sizes.into_iter().flat_map(i64::to_le_bytes)),
        ..Default::default()
    }
}

fn attribute(name: &str) -> AttributeProto {
    AttributeProto { name: name.into(), ..Default::default() }
}

fn integers(name: &str, integers: &[i64]) -> AttributeProto {
    AttributeProto { r#type: attribute_type::INTS, ints: integers.to_vec(), ..attribute(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImportLimits, ModelFile};

    #[test]
    fn it_has_as_many_parameters_as_in_the_paper() {
        let model = ModelFile::read(&federated_averaging_cnn(1), &ImportLimits::default()).unwrap();
        assert_eq!(model.parameter_count(), 1_663_370);
        assert_eq!((model.input_shape(), model.output_shape()), (&[784][..], &[10][..]));
    }
}

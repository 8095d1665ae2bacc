#!/usr/bin/env python3
"""Makes autoencoder.onnx: 64 pixels to a code of 16 and back, with a ConvTranspose and Sigmoid in the decoder.

The pixels are 0 to 1, in and out.
"""

from common import ModelBuilder

SEED = 7
CODE = 16
CHANNELS = 4


def main():
    model = ModelBuilder("autoencoder", SEED, [64])
    code = model.node("Tanh", [model.dense("encoder", "input", 64, CODE, gain=1.0)], "code")

    hidden = model.dense("decoder", code, CODE, CHANNELS * 4 * 4, gain=1.0)
    hidden = model.node("Tanh", [hidden], "decoder.activated")
    small = model.node("Reshape", [hidden, model.constant("small_shape", [-1, CHANNELS, 4, 4])], "small")
    operands = [
        small,
        model.normal("upsampling.weight", (CHANNELS, 1, 4, 4), CHANNELS * 4, gain=1.0),
        model.weight("upsampling.bias", [0.0]),
    ]
    window = {"kernel_shape": [4, 4], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    image = model.node("ConvTranspose", operands, "upsampling", **window)
    pixels = model.node("Sigmoid", [image], "pixels")
    model.save(model.node("Flatten", [pixels], "output", axis=1), [64])


if __name__ == "__main__":
    main()

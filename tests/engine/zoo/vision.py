"""Models of pictures as torchvision and timm define them, with few channels."""

from functools import partial

import timm
from entry import Entry, classes, images, slim
from timm.models import convmixer, metaformer, mlp_mixer
from torch import nn
from torchvision import models
from torchvision.models.convnext import CNBlockConfig
from torchvision.models.densenet import DenseNet
from torchvision.models.efficientnet import EfficientNet, FusedMBConvConfig, MBConvConfig
from torchvision.models.mobilenetv3 import InvertedResidualConfig
from torchvision.models.regnet import BlockParams
from torchvision.models.resnet import BasicBlock

CLASSES = 4


def vgg():
    narrow = models.vgg.make_layers([4, "M", 8, "M", 8, 8, "M"])
    model = models.VGG(narrow, num_classes=CLASSES, init_weights=False, dropout=0.0)
    model.avgpool = nn.AdaptiveAvgPool2d(2)
    model.classifier = nn.Sequential(nn.Linear(32, 16), nn.ReLU(True), nn.Dropout(0.0), nn.Linear(16, CLASSES))
    return model


def mobilenet_v3():
    def config(*values):
        return InvertedResidualConfig(*values, 1, 1.0)

    settings = [config(16, 3, 16, 16, True, "RE", 2), config(16, 3, 24, 16, False, "HS", 1)]
    return models.MobileNetV3(settings, last_channel=32, num_classes=CLASSES, dropout=0.0)


def efficientnet(fused):
    first = FusedMBConvConfig(1, 3, 1, 8, 8, 1) if fused else MBConvConfig(1, 3, 1, 8, 8, 1, 1.0, 1.0)
    settings = [first, MBConvConfig(2, 3, 2, 8, 16, 2, 1.0, 1.0)]
    return EfficientNet(settings, dropout=0.0, stochastic_depth_prob=0.0, num_classes=CLASSES, last_channel=32)


def convnext():
    settings = [CNBlockConfig(8, 16, 1), CNBlockConfig(16, None, 1)]
    return models.ConvNeXt(settings, stochastic_depth_prob=0.0, num_classes=CLASSES, layer_scale=0.5)


def vit():
    return models.VisionTransformer(16, 8, 2, 2, 8, 16, num_classes=CLASSES)


def shufflenet():
    return models.ShuffleNetV2([1, 1, 1], [8, 16, 16, 16, 32], num_classes=CLASSES)


def mobilenet_v2():
    settings = [[1, 8, 1, 1], [2, 8, 2, 2], [2, 8, 1, 1]]
    model = models.MobileNetV2(CLASSES, 0.25, settings, dropout=0.0)
    return slim(model, 4)


def regnet():
    return models.RegNet(
        BlockParams.from_init_params(2, 16, 16.0, 2.0, 8, se_ratio=0.25), num_classes=CLASSES, stem_width=8
    )


class ShortResNet(models.ResNet):
    """A ResNet of two stages with few channels."""

    def __init__(self):
        super().__init__(BasicBlock, [1, 1, 1, 1], CLASSES)
        slim(self, 32)


def mixer(**options):
    return mlp_mixer.MlpMixer(CLASSES, 16, patch_size=8, num_blocks=2, embed_dim=8, **options)


def gmlp():
    block = mlp_mixer.SpatialGatingBlock
    return mixer(mlp_ratio=2, block_layer=block, mlp_layer=timm.layers.GatedMlp)


def poolformer():
    return metaformer.MetaFormer(num_classes=CLASSES, depths=(1, 1), dims=(8, 16), token_mixers=metaformer.Pooling)


def small(build, size=16, channels=3, **options):
    return Entry(build, images(channels, size), classes(CLASSES), **options)


def torchvision(build, size=16, **options):
    return small(build, size, source="torchvision", **options)


def from_timm(build, size=16, **options):
    return small(build, size, source="timm", **options)


def timm_model(name, **options):
    return partial(timm.create_model, name, num_classes=CLASSES, **options)


ENTRIES = {
    "resnet": torchvision(ShortResNet, 32, batch=8, rate=0.02),
    "mobilenet_v2": torchvision(mobilenet_v2, batch=8, rate=0.05),
    "mobilenet_v3": torchvision(mobilenet_v3, batch=8, rate=0.05),
    "shufflenet_v2": torchvision(shufflenet, 32, batch=8, rate=0.05),
    "densenet": torchvision(lambda: DenseNet(4, (2, 2), 8, num_classes=CLASSES), batch=8, rate=0.05),
    "efficientnet": torchvision(lambda: efficientnet(False), batch=8, rate=0.05),
    "efficientnet_v2": torchvision(lambda: efficientnet(True), batch=8, rate=0.05),
    "convnext": torchvision(convnext),
    "vit": torchvision(vit),
    "regnet": torchvision(regnet, batch=8, rate=0.05),
    "vgg": torchvision(vgg),
    "mlp_mixer": from_timm(mixer),
    "gmlp": from_timm(gmlp),
    "convmixer": from_timm(
        lambda: convmixer.ConvMixer(8, 2, kernel_size=3, patch_size=4, num_classes=CLASSES), batch=8
    ),
    "poolformer": from_timm(poolformer),
    "timm_vit": from_timm(
        timm_model("vit_tiny_patch16_224", img_size=16, patch_size=8, depth=2, embed_dim=8, num_heads=2)
    ),
}

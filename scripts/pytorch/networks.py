"""The networks of mpt-train in PyTorch, with the same names and shapes of parameters."""
import torch
import torchvision
from torch import nn


class PlainBlock(nn.Module):
    """Two 3x3 convolutions; the shortcut is projected by a 1x1 convolution where shapes differ."""

    def __init__(self, in_channels, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or in_channels != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(in_channels, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        kept = self.downsample(x) if self.downsample is not None else x
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)) + kept)


class SmallImageResnet(nn.Module):
    """CIFAR-type ResNet of depth 6n + 2: stem of 3x3 and 16 channels, three stages of 16, 32 and 64."""

    def __init__(self, depth, in_channels, num_classes):
        super().__init__()
        blocks = (depth - 2) // 6
        self.conv1 = nn.Conv2d(in_channels, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        width = 16
        for stage, channels in enumerate((16, 32, 64), 1):
            layers = []
            for block in range(blocks):
                layers.append(PlainBlock(width, channels, 2 if stage > 1 and block == 0 else 1))
                width = channels
            setattr(self, f"layer{stage}", nn.Sequential(*layers))
        self.fc = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


def resnet(depth, in_channels, num_classes):
    if depth in (20, 32, 44, 56, 110):
        return SmallImageResnet(depth, in_channels, num_classes)
    network = getattr(torchvision.models, f"resnet{depth}")(num_classes=num_classes)
    if in_channels != 3:
        network.conv1 = nn.Conv2d(in_channels, 64, 7, 2, 3, bias=False)
        nn.init.kaiming_normal_(network.conv1.weight, mode="fan_out", nonlinearity="relu")
    return network


def zero_init_residual(network):
    """The last norm of each block starts at gain 0, so that blocks begin as identity (Goyal et al. 2017)."""
    for module in network.modules():
        norms = [name for name in ("bn3", "bn2") if hasattr(module, name)]
        if norms:
            nn.init.zeros_(getattr(module, norms[0]).weight)


def memory_format(layout):
    return torch.channels_last if layout == "nhwc" else torch.contiguous_format


def in_layout(batch, layout):
    """A copy with the layout's own strides: with one channel .contiguous() would accept either layout's."""
    return torch.empty(batch.shape, memory_format=memory_format(layout)).copy_(batch)

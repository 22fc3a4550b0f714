#!/usr/bin/python3
"""For scripts/bench_loader.sh: makes ImageNet-like JPEGs, and measures torchvision's loader on them.

    loader_images.py make PHOTOS FOLDER             500x375, quality 90, train and val
    loader_images.py measure FOLDER WORKERS SECONDS prints images/s of uint8 batches
"""
import pathlib
import sys
import time


def make(photos, folder):
    from PIL import Image

    for split in ("train", "val"):
        for path in sorted((photos / split).glob("*/*")):
            target = folder / split / path.parent.name / (path.stem + ".jpg")
            target.parent.mkdir(parents=True, exist_ok=True)
            Image.open(path).convert("RGB").resize((500, 375), Image.BICUBIC).save(target, quality=90, subsampling=2)


def measure(folder, workers, seconds):
    import torch
    from torchvision import datasets, transforms

    transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
                                    transforms.PILToTensor()])
    data = datasets.ImageFolder(folder / "train", transform)
    endless = torch.utils.data.RandomSampler(data, replacement=True, num_samples=10**7)
    loader = torch.utils.data.DataLoader(data, batch_size=64, sampler=endless, num_workers=workers)
    batches = iter(loader)
    next(batches)
    begin, images = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        images += len(next(batches)[0])
    print(f"{images / (time.perf_counter() - begin):.1f}")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    else:
        measure(pathlib.Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))

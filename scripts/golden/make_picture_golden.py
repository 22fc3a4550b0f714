#!/usr/bin/python3
"""Writes what PIL and torchvision make of small pictures to tests/golden/pictures.json.

Needs: Debian 12's python3-pil, python3-torch, python3-torchvision (scripts/install_packages.sh --pytorch).
Usage: scripts/golden/make_picture_golden.py tests/golden
"""
import io
import json
import pathlib
import sys

import numpy
import PIL
import torch
import torchvision
from PIL import Image
from torchvision.transforms import InterpolationMode, autoaugment, functional


def picture(height, width, channels):
    """The tests make the same one: a smooth part, and a part that looks like noise."""
    y, x, c = numpy.meshgrid(range(height), range(width), range(channels), indexing="ij")
    smooth = (3 * x + 5 * y + 40 * c) % 256
    noise = (x * x * 7 + y * y * 13 + x * y * 11 + c * 101) % 251
    return numpy.where((x // 8 + y // 8) % 2 == 0, smooth, noise).astype(numpy.uint8)


def packed(array):
    return numpy.ascontiguousarray(array, dtype=numpy.uint8).tobytes().hex()


def resizes():
    cases = []
    for height, width, out_h, out_w, box in [
        (37, 53, 16, 16, None), (100, 75, 24, 20, None), (20, 20, 33, 45, None), (64, 200, 7, 9, None),
        (50, 40, 24, 24, (5, 3, 29, 41)), (300, 260, 5, 4, None), (9, 7, 9, 14, None), (31, 31, 30, 32, None),
    ]:
        for channels in (1, 3):
            array = picture(height, width, channels)
            image = Image.fromarray(array if channels == 3 else array[:, :, 0])
            cropped = image.crop(box) if box else image  # left, top, right, bottom
            out = numpy.asarray(cropped.resize((out_w, out_h), Image.BILINEAR))
            cases.append({"height": height, "width": width, "channels": channels, "box": box, "out_height": out_h,
                          "out_width": out_w, "pixels": packed(out)})
    return cases


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def files():
    colour = Image.fromarray(picture(20, 28, 3))
    grey = Image.fromarray(picture(20, 28, 1)[:, :, 0])
    alpha = colour.copy()
    alpha.putalpha(grey)
    palette = colour.quantize(64)
    transparent = palette.copy()
    transparent.info["transparency"] = 3
    made = {
        "jpeg_420": encoded(colour, "JPEG", quality=90),
        "jpeg_444": encoded(colour, "JPEG", quality=90, subsampling=0),
        "jpeg_422": encoded(colour, "JPEG", quality=90, subsampling=1),
        "jpeg_progressive": encoded(colour, "JPEG", quality=90, progressive=True),
        "jpeg_grey": encoded(grey, "JPEG", quality=90),
        "jpeg_cmyk": encoded(colour.convert("CMYK"), "JPEG", quality=90),
        "png_rgb": encoded(colour, "PNG"),
        "png_grey": encoded(grey, "PNG"),
        "png_one_bit": encoded(grey.point(lambda v: 255 * (v > 127)).convert("1"), "PNG"),
        "png_alpha": encoded(alpha, "PNG"),
        "png_grey_alpha": encoded(alpha.convert("LA"), "PNG"),
        "png_palette": encoded(palette, "PNG"),
        "png_transparent": encoded(transparent, "PNG", transparency=3),
        "webp_lossy": encoded(colour, "WEBP", quality=90),
        "webp_lossless": encoded(alpha, "WEBP", lossless=True, exact=True),
    }
    cases = []
    for name, data in made.items():
        decoded = Image.open(io.BytesIO(data))
        cases.append({"name": name, "file": data.hex(), "rgb": packed(numpy.asarray(decoded.convert("RGB"))),
                      "grey": packed(numpy.asarray(decoded.convert("RGB").convert("L")))})
    return cases


def operations():
    """Each op of torchvision on u8 tensors, colour and grey."""
    ops = {
        "brightness": lambda t: functional.adjust_brightness(t, 1.4),
        "contrast": lambda t: functional.adjust_contrast(t, 0.6),
        "saturation": lambda t: functional.adjust_saturation(t, 1.7),
        "hue": lambda t: functional.adjust_hue(t, 0.21),
        "sharpness": lambda t: functional.adjust_sharpness(t, 1.8),
        "posterize": lambda t: functional.posterize(t, 3),
        "solarize": lambda t: functional.solarize(t, 100),
        "autocontrast": functional.autocontrast,
        "equalize": functional.equalize,
    }
    cases = []
    for channels in (1, 3):
        array = picture(24, 20, channels) // 2 + 30  # room for autocontrast
        tensor = torch.from_numpy(array).permute(2, 0, 1)
        for name, op in ops.items():
            cases.append({"op": name, "channels": channels, "pixels": packed(op(tensor).permute(1, 2, 0).numpy())})
    return cases


def rand_augment():
    names = ["Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color",
             "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast", "Equalize"]
    array = picture(24, 20, 3)
    tensor = torch.from_numpy(array).permute(2, 0, 1)
    space = autoaugment.RandAugment()._augmentation_space(31, array.shape[:2])  # height, width
    assert list(space) == names, list(space)
    cases = []
    for index, name in enumerate(names):
        magnitudes, signed = space[name]
        for magnitude in (9, 24):
            for sign in (1, -1) if signed else (1,):
                value = float(magnitudes[magnitude].item()) if magnitudes.ndim > 0 else 0.0
                out = autoaugment._apply_op(tensor, name, sign * value, InterpolationMode.NEAREST, None)
                cases.append({"op": index, "name": name, "magnitude": magnitude, "sign": sign,
                              "pixels": packed(out.permute(1, 2, 0).numpy())})
    return cases


def main():
    target = pathlib.Path(sys.argv[1]) / "pictures.json"
    golden = {"made_by": f"PIL {PIL.__version__}, torchvision {torchvision.__version__}",
              "resizes": resizes(), "files": files(), "operations": operations(), "rand_augment": rand_augment()}
    target.write_text(json.dumps(golden, indent=0) + "\n")
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()

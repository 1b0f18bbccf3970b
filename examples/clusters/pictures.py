"""Pictures of a folder as batches for a model; one subfolder for each class."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".webp"}


def listed(folder: Path) -> list[dict[str, str]]:
    """Path and class of each picture, in the order of their names."""
    found = [path for path in sorted(folder.glob("*/*")) if path.suffix.lower() in SUFFIXES]
    if not found:
        raise SystemExit(f"{folder}: no pictures in its folders; there is one for each class")
    return [{"path": str(path), "class": path.parent.name} for path in found]


def read(batch: Any, size: tuple[int, int], column: str, is_signed: bool = False) -> Any:
    """A batch with the pictures of its paths, scaled to height and width, as bytes.

    is_signed: whether the model's input is int8, which stores pixel - 128.
    """
    height, width = size
    pictures = []
    for path in batch["path"]:
        with Image.open(path) as picture:
            pixels = np.asarray(picture.convert("RGB").resize((width, height)))
            pictures.append((pixels ^ 0x80).view(np.int8) if is_signed else pixels)
    if isinstance(batch, dict):
        return {**batch, column: np.stack(pictures)}
    return batch.assign(**{column: pictures})


def report(rows: list[dict[str, Any]], output: str, labels: list[str]) -> float:
    """Print what the model took each picture for; the share of those that it was right about."""
    right = 0
    for row in sorted(rows, key=lambda row: str(row["path"])):
        best = labels[int(np.argmax(row[output]))]
        right += best == row["class"]
        print(f"{'right' if best == row['class'] else 'wrong'}  {row['path']}: {best}")
    print(f"{right} of {len(rows)} right")
    return right / len(rows)

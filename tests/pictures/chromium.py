"""Headless Chromium, as tests drive it; they are skipped where it is not there."""

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

# WebGL is computed by the processor; nothing is asked of a network.
ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
PATH = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser."""
    if not PATH:
        pytest.skip("there is no Chromium on this machine")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as player:
        browser = player.chromium.launch(executable_path=PATH, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def pixels(page: Any, width: int, top: int) -> Any:
    """What the page shows left of `width` and below `top`: int array [height, width, 3]."""
    from PIL import Image

    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return np.asarray(picture).astype(int)[top:, :width]

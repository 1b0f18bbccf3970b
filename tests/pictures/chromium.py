"""Headless Chromium, as tests drive it; they are skipped where it is not there."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# WebGL is computed by the processor; nothing is asked of a network.
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
PATH = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")


@contextmanager
def page(width: int = 1400, height: int = 900) -> Iterator[Any]:
    """An empty page."""
    if not PATH:
        pytest.skip("there is no Chromium on this machine")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as player:
        browser = player.chromium.launch(executable_path=PATH, args=ARGUMENTS)
        try:
            yield browser.new_page(viewport={"width": width, "height": height})
        finally:
            browser.close()

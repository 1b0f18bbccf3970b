"""Makes docs/pictures from trained models beside the repository."""

import io
import signal
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from nnapi_shim.formats import output_file
from nnapi_shim.pictures import measured
from nnapi_shim.pictures.charts import chart, save
from nnapi_shim.pictures.svg import svg
from nnapi_shim.tools.bench import bench
from nnapi_shim.tools.diff import diff
from nnapi_shim.tools.model_source import model_of
from nnapi_shim.tools.profile import profile

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT.parent / "shared" / "models"
OUT = ROOT / "docs" / "pictures"
NAMES = {"mobilenet": "mobilenet_v2_224_quant.tflite", "lstm": "mnist_lstm_float.tflite"}
CHROMIUM = "/usr/bin/chromium"
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


def smaller(content: bytes) -> bytes:
    """A PNG reduced to a palette of 256 colours that keeps rare colours."""
    palette_file = io.BytesIO()
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    picture = picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    picture.save(palette_file, "PNG", optimize=True)
    return palette_file.getvalue()


def write(name: str, content: bytes) -> None:
    """Write a picture and print its size."""
    if name.endswith(".png"):
        content = smaller(content)
    output_file.write(OUT / name, content, overwrite=True)
    print(f"docs/pictures/{name}: {len(content) / 1000:.0f} kB")


def of_model(short: str, file: str) -> None:
    """Write graph, profile and benchmark of a model."""
    path = str(MODELS / file)
    timed = profile(path, runs=50, warm_up=10)
    write(f"{short}-graph.svg", svg(model_of(path), measured.times(timed), file).encode())
    charts = {"profile": timed, "bench": bench(path, peers=["litert"], seconds=3.0)}
    if short == "lstm":
        charts["diff"] = diff(path, "nnapi-cpu", "nnapi-reference")
    for name, report in charts.items():
        target = OUT / f"{short}-{name}.png"
        save(chart(report), target, overwrite=True)
        write(target.name, target.read_bytes())


def of_model_explorer(file: str) -> None:
    """A screenshot of the page of `graph`, with a selected operation."""
    command = [sys.executable, "-m", "nnapi_shim", "graph", str(MODELS / file)]
    server = subprocess.Popen(
        [*command, "--explorer", "--profile", "--no-open"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with sync_playwright() as player:
            browser = player.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(address)
            # A click on a name in the table centres its node in the view.
            row = page.locator("table.results tr").filter(has_text="DEPTHWISE_CONV_2D").first
            row.get_by_text("DEPTHWISE_CONV_2D").click()
            page.wait_for_timeout(2000)
            page.mouse.click(*middle(page))
            page.get_by_text("NODE INFO").wait_for()
            page.mouse.move(200, 600)
            page.wait_for_timeout(1000)
            write("model-explorer.png", page.screenshot())
            browser.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)


def middle(page: object) -> tuple[float, float]:
    """Of the view of the graph."""
    box = page.locator("canvas").first.bounding_box()  # type: ignore[attr-defined]
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def main() -> None:
    """Make all pictures."""
    OUT.mkdir(exist_ok=True)
    for short, file in NAMES.items():
        of_model(short, file)
    of_model_explorer(NAMES["mobilenet"])


if __name__ == "__main__":
    main()

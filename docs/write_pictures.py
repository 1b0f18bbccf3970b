"""Makes docs/pictures with the commands of docs/pictures.md, from the models of examples/shapes."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from nnapi_shim.formats import output_file

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "pictures"
FLOAT, INT8 = (f"examples/shapes/{name}.tflite" for name in ("float", "int8"))
COMMANDS = {
    "shapes-graph.svg": f"graph {FLOAT} --diff nnapi-cpu,nnapi-reference --force -o",
    "shapes-profile.png": f"profile {INT8} --runs 200 --picture",
    "shapes-bench.png": f"bench {INT8} --peer litert --kernel-threads 1 --picture",
    "shapes-diff.png": f"diff {FLOAT} --picture",
}
"""Picture -> arguments of nnapi-shim, followed by its path."""
OF_ENGINES = {
    "devices-bench.png": f"bench {FLOAT} --device nnapi-cpu --peer openvino-cpu "
    "--peer onnxruntime-cpu --kernel-threads 1 --picture",
}
"""The same, with the engines of the environment for benchmarks."""
WITH_ENGINES = ROOT / ".venv-bench" / "bin" / "python"
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


def by_command(name: str, arguments: str, python: str, engines: str) -> None:
    """Write the picture of a command."""
    path = OUT / name
    path.unlink(missing_ok=True)
    command = [python, "-m", "nnapi_shim", *arguments.split(), str(path)]
    environment = {**os.environ, "NNAPI_SHIM_ENGINES": engines}
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True, env=environment)
    write(name, path.read_bytes())


def of_model_explorer() -> None:
    """A screenshot of the page of `graph`, with a selected operation."""
    command = [sys.executable, "-m", "nnapi_shim", "graph", str(ROOT / FLOAT)]
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
    for name, arguments in COMMANDS.items():
        by_command(name, arguments, sys.executable, "")
    for name, arguments in OF_ENGINES.items():
        by_command(name, arguments, str(WITH_ENGINES), "openvino,onnxruntime")
    of_model_explorer()


if __name__ == "__main__":
    main()

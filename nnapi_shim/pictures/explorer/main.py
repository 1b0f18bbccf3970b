"""The adapter for Model Explorer, which converts files with nnapi_shim.load to its graphs."""

from pathlib import Path
from typing import Any

from model_explorer import Adapter, AdapterMetadata, ModelExplorerGraphs

from nnapi_shim.formats.load import load
from nnapi_shim.pictures.explorer.graphs import graph

ADAPTER_ID = "nnapi_shim"


class NnapiAdapter(Adapter):  # type: ignore[misc]
    """Operations, operands and graphs of the NNAPI model."""

    metadata = AdapterMetadata(
        id=ADAPTER_ID,
        name="NNAPI (nnapi_shim)",
        description="A .tflite file or a capture as the NNAPI model that it becomes.",
        source_repo="",
        fileExts=["tflite", "zip"],
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> ModelExplorerGraphs:
        """The graph of a file. Raises NnapiError and OSError; Model Explorer shows the text."""
        del settings
        return {"graphs": [graph(load(model_path), Path(model_path).name)]}

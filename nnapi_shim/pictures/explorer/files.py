"""Files for Model Explorer without nnapi_shim: a graph and its node data."""

import json
from dataclasses import asdict

from nnapi_shim.api.model import Model
from nnapi_shim.pictures.explorer.graphs import graph
from nnapi_shim.pictures.explorer.node_data import node_data
from nnapi_shim.pictures.shades import Shades


def graph_json(model: Model, name: str) -> bytes:
    """The content of a .json file with the graph of a finished model; open it as a model."""
    content = {"label": name, "graphs": [asdict(graph(model, name))]}
    return json.dumps(content, indent=1).encode()


def node_data_json(name: str, shades: Shades) -> bytes:
    """The content of a .json file for "Add per-node data", for the graph of the same name."""
    content = {name or "model": asdict(node_data(shades))}
    return json.dumps(content, indent=1).encode()

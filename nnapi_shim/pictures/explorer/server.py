"""Serves a model with Model Explorer until it is interrupted."""

import contextlib
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from model_explorer import server
from model_explorer.config import ModelExplorerConfig
from model_explorer.node_data_builder import GraphNodeData, ModelNodeData, NodeDataResult

from nnapi_shim.api.model import Model
from nnapi_shim.errors import bad_data
from nnapi_shim.pictures.explorer.graphs import graph
from nnapi_shim.pictures.explorer.node_data import node_data, title
from nnapi_shim.pictures.shades import Shades

HOST = "localhost"
FIRST_PORT, PORTS = 8080, 20


def serve(
    model: Model,
    name: str,
    all_shades: Sequence[Shades] = (),
    *,
    port: int | None = None,
    opens: bool = True,
    tell: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a finished model on localhost, and return when it is interrupted.

    all_shades: sets of node data on the page, which shows the first initially. port: None for the
    first free one from 8080 on. opens: whether to open the user's browser. tell: called with the
    address when the server is ready.

    Raises BAD_DATA for a port that is not free.
    """
    port = _free_port() if port is None else _required(port)
    config = ModelExplorerConfig()
    shown = graph(model, name)
    config.graphs_list.append({"graphs": [shown]})
    # Slashes separate the parts of these addresses.
    config.model_sources.append({"url": f"graphs://{shown.id.replace('/', '_')}/0"})
    for shades in reversed(all_shades):  # the page shows the last one first
        config.add_node_data(title(shades).replace("/", "_"), _package_data(shades, shown.id))
    address = f"http://{HOST}:{port}/?data={config.to_url_param_value()}"
    threading.Thread(target=_when_there, args=(port, address, opens, tell), daemon=True).start()
    _silence(server)
    server.start(
        host=HOST,
        port=port,
        config=config,
        no_open_in_browser=True,
        skip_health_check=True,
        extensions=["nnapi_shim.pictures.explorer"],
    )


def _package_data(shades: Shades, graph_id: str) -> ModelNodeData:
    """Node data in the package's class, which the server writes as JSON."""
    data = node_data(shades)
    # The page accepts texts, although the package's types declare numbers.
    results: Any = {
        number: NodeDataResult(**asdict(result)) for number, result in data.results.items()
    }
    return ModelNodeData({graph_id: GraphNodeData(**{**vars(data), "results": results})})


def _silence(module: Any) -> None:
    """Keep the server from printing, and from querying the network for newer versions (privacy)."""

    def nothing_new(print_msg: bool = True) -> dict[str, str]:
        del print_msg
        names = ("version", "runningVersion", "releaseUrl", "desktopAppUrl")
        return dict.fromkeys(names, "")

    def unsaid(*values: object, **options: object) -> None:
        del values, options

    module._check_new_version = nothing_new
    module.print = unsaid


def _when_there(port: int, address: str, opens: bool, tell: Callable[[str], None]) -> None:
    """Report the address when the server accepts connections."""
    while True:
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), 1):
            break
        time.sleep(0.02)
    tell(address)
    if opens:
        webbrowser.open_new_tab(address)


def _required(port: int) -> int:
    if not _is_free(port):
        raise bad_data(
            f"port {port} is not free; without a port, one that is free is taken",
            "tool.explore.port",
        )
    return port


def _free_port() -> int:
    for port in range(FIRST_PORT, FIRST_PORT + PORTS):
        if _is_free(port):
            return port
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        return int(taken.getsockname()[1])


def _is_free(port: int) -> bool:
    """Whether the port can be bound."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError:
            return False
    return True

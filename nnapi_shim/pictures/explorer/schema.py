"""The JSON of Model Explorer: the same fields as the package's own classes, without the package."""

from dataclasses import dataclass, field


@dataclass
class KeyValue:
    """An entry of the side panel."""

    key: str
    value: str


@dataclass
class MetadataItem:
    """The entries of an input or output of a node."""

    id: str
    attrs: list[KeyValue] = field(default_factory=list)


@dataclass
class IncomingEdge:
    """An edge from an output of another node."""

    sourceNodeId: str  # noqa: N815
    sourceNodeOutputId: str = "0"  # noqa: N815
    targetNodeInputId: str = "0"  # noqa: N815


@dataclass
class GraphNode:
    """A node; namespace: the layers that contain it."""

    id: str
    label: str
    namespace: str = ""
    attrs: list[KeyValue] = field(default_factory=list)
    incomingEdges: list[IncomingEdge] = field(default_factory=list)  # noqa: N815
    inputsMetadata: list[MetadataItem] = field(default_factory=list)  # noqa: N815
    outputsMetadata: list[MetadataItem] = field(default_factory=list)  # noqa: N815


@dataclass
class Graph:
    """A graph; groupNodeAttributes: entries of the side panel by layer."""

    id: str
    nodes: list[GraphNode]
    groupNodeAttributes: dict[str, dict[str, str]]  # noqa: N815


@dataclass
class NodeDataResult:
    """The value of a node, and its colours."""

    value: float | str
    bgColor: str  # noqa: N815
    textColor: str  # noqa: N815


@dataclass
class GraphNodeData:
    """The values of the nodes of a graph."""

    results: dict[str, NodeDataResult]
    name: str
    hideInAggregatedStatsTable: bool  # noqa: N815
    hideInChildrenStatsTable: bool  # noqa: N815

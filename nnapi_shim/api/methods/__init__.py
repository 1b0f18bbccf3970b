"""The typed methods of Model; `make docs` writes these files from the declarations."""

from nnapi_shim.api.methods.activation import ActivationMethods
from nnapi_shim.api.methods.binary import BinaryMethods
from nnapi_shim.api.methods.comparison import ComparisonMethods
from nnapi_shim.api.methods.control_flow import ControlFlowMethods
from nnapi_shim.api.methods.conversion import ConversionMethods
from nnapi_shim.api.methods.convolution import ConvolutionMethods
from nnapi_shim.api.methods.detection import DetectionMethods
from nnapi_shim.api.methods.joining import JoiningMethods
from nnapi_shim.api.methods.logical import LogicalMethods
from nnapi_shim.api.methods.lookup import LookupMethods
from nnapi_shim.api.methods.lstm import LstmMethods
from nnapi_shim.api.methods.lstm_quantized import LstmQuantizedMethods
from nnapi_shim.api.methods.matmul import MatmulMethods
from nnapi_shim.api.methods.normalization import NormalizationMethods
from nnapi_shim.api.methods.padding import PaddingMethods
from nnapi_shim.api.methods.pooling import PoolingMethods
from nnapi_shim.api.methods.proposal import ProposalMethods
from nnapi_shim.api.methods.rearrange import RearrangeMethods
from nnapi_shim.api.methods.reduction import ReductionMethods
from nnapi_shim.api.methods.reshape import ReshapeMethods
from nnapi_shim.api.methods.resize import ResizeMethods
from nnapi_shim.api.methods.rnn import RnnMethods
from nnapi_shim.api.methods.roi import RoiMethods
from nnapi_shim.api.methods.sampling import SamplingMethods
from nnapi_shim.api.methods.selection import SelectionMethods
from nnapi_shim.api.methods.slicing import SlicingMethods
from nnapi_shim.api.methods.softmax import SoftmaxMethods
from nnapi_shim.api.methods.unary import UnaryMethods


class Methods(
    ActivationMethods,
    BinaryMethods,
    ComparisonMethods,
    ControlFlowMethods,
    ConversionMethods,
    ConvolutionMethods,
    DetectionMethods,
    JoiningMethods,
    LstmMethods,
    LstmQuantizedMethods,
    LogicalMethods,
    LookupMethods,
    MatmulMethods,
    NormalizationMethods,
    PaddingMethods,
    PoolingMethods,
    ProposalMethods,
    RearrangeMethods,
    ReductionMethods,
    ResizeMethods,
    ReshapeMethods,
    RnnMethods,
    RoiMethods,
    SamplingMethods,
    SelectionMethods,
    SlicingMethods,
    SoftmaxMethods,
    UnaryMethods,
):
    """Every operation as a method."""

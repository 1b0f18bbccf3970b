"""The tables and enumerations of the schema of .tflite files.

Written by tests/formats/tflite/schema_tables.py from the package `tflite`, whose import takes
longer than loading a small model.
"""

TABLES = {
    "ATan2Options": "",
    "AbsOptions": "",
    "AddNOptions": "",
    "AddOptions": "FusedActivationFunction:b PotScaleInt16:?=True",
    "ArgMaxOptions": "OutputType:b",
    "ArgMinOptions": "OutputType:b",
    "AssignVariableOptions": "",
    "BatchMatMulOptions": "AdjX:? AdjY:? AsymmetricQuantizeInputs:?",
    "BatchToSpaceNDOptions": "",
    "BidirectionalSequenceLSTMOptions": (
        "FusedActivationFunction:b CellClip:f ProjClip:f MergeOutputs:? TimeMajor:?=True "
        "AsymmetricQuantizeInputs:?"
    ),
    "BidirectionalSequenceRNNOptions": (
        "TimeMajor:? FusedActivationFunction:b MergeOutputs:? AsymmetricQuantizeInputs:?"
    ),
    "BitcastOptions": "",
    "BitwiseXorOptions": "",
    "BroadcastToOptions": "",
    "BucketizeOptions": "Boundaries:[f]",
    "Buffer": "Data:[B] Offset:Q Size:Q",
    "CallOnceOptions": "InitSubgraphIndex:i",
    "CallOptions": "Subgraph:I",
    "CastOptions": "InDataType:b OutDataType:b",
    "ConcatEmbeddingsOptions": (
        "NumChannels:i NumColumnsPerChannel:[i] EmbeddingDimPerChannel:[i]"
    ),
    "ConcatenationOptions": "Axis:i FusedActivationFunction:b",
    "Conv2DOptions": (
        "Padding:b StrideW:i StrideH:i FusedActivationFunction:b DilationWFactor:i=1 "
        "DilationHFactor:i=1 QuantizedBiasType:b"
    ),
    "Conv3DOptions": (
        "Padding:b StrideD:i StrideW:i StrideH:i FusedActivationFunction:b DilationDFactor:i=1 "
        "DilationWFactor:i=1 DilationHFactor:i=1"
    ),
    "CosOptions": "",
    "CumsumOptions": "Exclusive:? Reverse:?",
    "CustomQuantization": "Custom:[B]",
    "DensifyOptions": "",
    "DepthToSpaceOptions": "BlockSize:i",
    "DepthwiseConv2DOptions": (
        "Padding:b StrideW:i StrideH:i DepthMultiplier:i FusedActivationFunction:b "
        "DilationWFactor:i=1 DilationHFactor:i=1"
    ),
    "DequantizeOptions": "",
    "DilateOptions": "",
    "DimensionMetadata": (
        "Format:b DenseSize:i ArraySegmentsType:B ArraySegments:u ArrayIndicesType:B ArrayIndices:u"
    ),
    "DivOptions": "FusedActivationFunction:b",
    "DynamicUpdateSliceOptions": "",
    "EmbeddingLookupSparseOptions": "Combiner:b",
    "EqualOptions": "",
    "ExpOptions": "",
    "ExpandDimsOptions": "",
    "FakeQuantOptions": "Min:f Max:f NumBits:i NarrowRange:?",
    "FillOptions": "",
    "FloorDivOptions": "",
    "FloorModOptions": "",
    "FullyConnectedOptions": (
        "FusedActivationFunction:b WeightsFormat:b KeepNumDims:? AsymmetricQuantizeInputs:? "
        "QuantizedBiasType:b"
    ),
    "GatherNdOptions": "",
    "GatherOptions": "Axis:i BatchDims:i",
    "GeluOptions": "Approximate:?",
    "GreaterEqualOptions": "",
    "GreaterOptions": "",
    "HardSwishOptions": "",
    "HashtableFindOptions": "",
    "HashtableImportOptions": "",
    "HashtableOptions": "TableId:i KeyDtype:b ValueDtype:b",
    "HashtableSizeOptions": "",
    "IfOptions": "ThenSubgraphIndex:i ElseSubgraphIndex:i",
    "Int32Vector": "Values:[i]",
    "L2NormOptions": "FusedActivationFunction:b",
    "LSHProjectionOptions": "Type:b",
    "LSTMOptions": (
        "FusedActivationFunction:b CellClip:f ProjClip:f KernelType:b AsymmetricQuantizeInputs:?"
    ),
    "LeakyReluOptions": "Alpha:f",
    "LessEqualOptions": "",
    "LessOptions": "",
    "LocalResponseNormalizationOptions": "Radius:i Bias:f Alpha:f Beta:f",
    "LogSoftmaxOptions": "",
    "LogicalAndOptions": "",
    "LogicalNotOptions": "",
    "LogicalOrOptions": "",
    "MatrixDiagOptions": "",
    "MatrixSetDiagOptions": "",
    "MaximumMinimumOptions": "",
    "Metadata": "Name:s Buffer:I",
    "MirrorPadOptions": "Mode:b",
    "Model": (
        "Version:I OperatorCodes:[OperatorCode] Subgraphs:[SubGraph] Description:s "
        "Buffers:[Buffer] MetadataBuffer:[i] Metadata:[Metadata] SignatureDefs:[SignatureDef]"
    ),
    "MulOptions": "FusedActivationFunction:b",
    "NegOptions": "",
    "NonMaxSuppressionV4Options": "",
    "NonMaxSuppressionV5Options": "",
    "NotEqualOptions": "",
    "OneHotOptions": "Axis:i",
    "Operator": (
        "OpcodeIndex:I Inputs:[i] Outputs:[i] BuiltinOptionsType:B BuiltinOptions:u "
        "CustomOptions:[B] CustomOptionsFormat:b MutatingVariableInputs:[?] Intermediates:[i] "
        "LargeCustomOptionsOffset:Q LargeCustomOptionsSize:Q BuiltinOptions2Type:B "
        "BuiltinOptions2:u DebugMetadataIndex:i=-1"
    ),
    "OperatorCode": (
        "DeprecatedBuiltinCode:b CustomCode:s Version:i=1 BuiltinCode:BuiltinOperator=o"
    ),
    "PackOptions": "ValuesCount:i Axis:i",
    "PadOptions": "",
    "PadV2Options": "",
    "Pool2DOptions": (
        "Padding:b StrideW:i StrideH:i FilterWidth:i FilterHeight:i FusedActivationFunction:b"
    ),
    "PowOptions": "",
    "QuantizationParameters": (
        "Min:[f] Max:[f] Scale:[f] ZeroPoint:[q] DetailsType:B Details:u QuantizedDimension:i"
    ),
    "QuantizeOptions": "",
    "RNNOptions": "FusedActivationFunction:b AsymmetricQuantizeInputs:?",
    "RandomOptions": "Seed:q Seed2:q",
    "RangeOptions": "",
    "RankOptions": "",
    "ReadVariableOptions": "",
    "ReduceWindowOptions": "ReduceFunction:i",
    "ReducerOptions": "KeepDims:?",
    "ReshapeOptions": "NewShape:[i]",
    "ResizeBilinearOptions": "_ _ AlignCorners:? HalfPixelCenters:?",
    "ResizeNearestNeighborOptions": "AlignCorners:? HalfPixelCenters:?",
    "ReverseSequenceOptions": "SeqDim:i BatchDim:i",
    "ReverseV2Options": "",
    "Rfft2dOptions": "",
    "RightShiftOptions": "",
    "SVDFOptions": "Rank:i FusedActivationFunction:b AsymmetricQuantizeInputs:?",
    "ScatterNdOptions": "",
    "SegmentSumOptions": "",
    "SelectOptions": "",
    "SelectV2Options": "",
    "SequenceRNNOptions": "TimeMajor:? FusedActivationFunction:b AsymmetricQuantizeInputs:?",
    "ShapeOptions": "OutType:b",
    "SignOptions": "",
    "SignatureDef": "Inputs:[TensorMap] Outputs:[TensorMap] SignatureKey:s _ SubgraphIndex:I",
    "SkipGramOptions": "NgramSize:i MaxSkipSize:i IncludeAllNgrams:?",
    "SliceOptions": "",
    "SoftmaxOptions": "Beta:f",
    "SpaceToBatchNDOptions": "",
    "SpaceToDepthOptions": "BlockSize:i",
    "SparseToDenseOptions": "ValidateIndices:?",
    "SparsityParameters": "TraversalOrder:[i] BlockMap:[i] DimMetadata:[DimensionMetadata]",
    "SplitOptions": "NumSplits:i",
    "SplitVOptions": "NumSplits:i",
    "SquareOptions": "",
    "SquaredDifferenceOptions": "",
    "SqueezeOptions": "SqueezeDims:[i]",
    "StableHLOCompositeOptions": (
        "Name:s DecompositionSubgraphIndex:i CompositeAttributes:[B] CompositeAttributesFormat:b "
        "Version:i"
    ),
    "StablehloBroadcastInDimOptions": "BroadcastDimensions:[q]",
    "StablehloCompareOptions": "ComparisonDirection:I CompareType:I",
    "StablehloConcatenateOptions": "Dimension:q",
    "StablehloConvolutionOptions": (
        "WindowStrides:[q] Padding:[q] LhsDilation:[q] RhsDilation:[q] WindowReversal:[?] "
        "InputBatchDimension:q InputFeatureDimension:q InputSpatialDimensions:[q] "
        "KernelInputFeatureDimension:q KernelOutputFeatureDimension:q KernelSpatialDimensions:[q] "
        "OutputBatchDimension:q OutputFeatureDimension:q OutputSpatialDimensions:[q] "
        "FeatureGroupCount:q BatchGroupCount:q PrecisionConfig:[I]"
    ),
    "StablehloCustomCallOptions": (
        "CallTargetName:s HasSideEffect:? BackendConfig:s ApiVersion:i CalledComputations:[i] "
        "CustomAttributes:[B]"
    ),
    "StablehloDotGeneralOptions": (
        "LhsBatchingDimensions:[q] RhsBatchingDimensions:[q] LhsContractingDimensions:[q] "
        "RhsContractingDimensions:[q] PrecisionConfig:[I]"
    ),
    "StablehloDynamicSliceOptions": "SliceSizes:[q]",
    "StablehloGatherOptions": (
        "OffsetDims:[q] CollapsedSliceDims:[q] StartIndexMap:[q] IndexVectorDim:q SliceSizes:[q] "
        "IndicesAreSorted:?"
    ),
    "StablehloIotaOptions": "IotaDimension:q",
    "StablehloPadOptions": "EdgePaddingLow:[q] EdgePaddingHigh:[q] InteriorPadding:[q]",
    "StablehloReduceOptions": "Dimensions:[q] BodySubgraphIndex:i",
    "StablehloReduceWindowOptions": (
        "WindowDimensions:[q] WindowStrides:[q] BaseDilations:[q] WindowDilations:[q] Padding:[q] "
        "BodySubgraphIndex:i"
    ),
    "StablehloRngBitGeneratorOptions": "Algorithm:b",
    "StablehloScatterOptions": (
        "IndicesAreSorted:? UpdateWindowDims:[q] InsertedWindowDims:[q] "
        "ScatterDimsToOperandDims:[q] IndexVectorDim:q UniqueIndices:? "
        "UpdateComputationSubgraphIndex:i"
    ),
    "StablehloShiftLeftOptions": "",
    "StablehloSliceOptions": "StartIndices:[q] LimitIndices:[q] Strides:[q]",
    "StablehloSortOptions": "Dimension:q IsStable:? ComparatorSubgraphIndex:i",
    "StablehloTransposeOptions": "Permutation:[q]",
    "StablehloWhileOptions": "CondSubgraphIndex:i BodySubgraphIndex:i",
    "StridedSliceOptions": (
        "BeginMask:i EndMask:i EllipsisMask:i NewAxisMask:i ShrinkAxisMask:i Offset:?"
    ),
    "SubGraph": (
        "Tensors:[Tensor] Inputs:[i] Outputs:[i] Operators:[Operator] Name:s "
        "DebugMetadataIndex:i=-1"
    ),
    "SubOptions": "FusedActivationFunction:b PotScaleInt16:?=True",
    "Tensor": (
        "Shape:[i] Type:b Buffer:I Name:s Quantization:QuantizationParameters IsVariable:? "
        "Sparsity:SparsityParameters ShapeSignature:[i] HasRank:? VariantTensors:[VariantSubType]"
    ),
    "TensorMap": "Name:s TensorIndex:I",
    "TileOptions": "",
    "TopKV2Options": "",
    "TransposeConvOptions": (
        "Padding:b StrideW:i StrideH:i FusedActivationFunction:b QuantizedBiasType:b"
    ),
    "TransposeOptions": "",
    "Uint16Vector": "Values:[H]",
    "Uint8Vector": "Values:[B]",
    "UnidirectionalSequenceLSTMOptions": (
        "FusedActivationFunction:b CellClip:f ProjClip:f TimeMajor:? AsymmetricQuantizeInputs:? "
        "DiagonalRecurrentTensors:?"
    ),
    "UniqueOptions": "IdxOutType:b=2",
    "UnpackOptions": "Num:i Axis:i",
    "UnsortedSegmentMaxOptions": "",
    "UnsortedSegmentMinOptions": "",
    "UnsortedSegmentProdOptions": "",
    "UnsortedSegmentSumOptions": "",
    "VarHandleOptions": "Container:s SharedName:s",
    "VariantSubType": "Shape:[i] Type:b HasRank:?",
    "WhereOptions": "",
    "WhileOptions": "CondSubgraphIndex:i BodySubgraphIndex:i",
    "ZerosLikeOptions": "",
}
"""Table -> its fields in order, `_` for one that is not read.

A field is a name and a kind: a format of the module struct, s for a text, u for a union, a table,
or a vector of one of them in brackets; and a default that is not 0.
"""

ENUMERATIONS = {
    "BuiltinOperator": (
        "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE "
        "EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D "
        "LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU "
        "RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH "
        "CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD "
        "UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN "
        "SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN "
        "EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM "
        "ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN "
        "TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE "
        "POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND "
        "LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD "
        "RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V "
        "UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG "
        "QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 "
        "NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL "
        "PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL "
        "COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL "
        "CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS "
        "RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE "
        "RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 "
        "UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC "
        "STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE "
        "STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION "
        "STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND "
        "STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM "
        "STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT "
        "STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE "
        "STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD "
        "STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT "
        "STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR "
        "REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT"
    ),
    "BuiltinOptions": (
        "NONE Conv2DOptions DepthwiseConv2DOptions ConcatEmbeddingsOptions LSHProjectionOptions "
        "Pool2DOptions SVDFOptions RNNOptions FullyConnectedOptions SoftmaxOptions "
        "ConcatenationOptions AddOptions L2NormOptions LocalResponseNormalizationOptions "
        "LSTMOptions ResizeBilinearOptions CallOptions ReshapeOptions SkipGramOptions "
        "SpaceToDepthOptions EmbeddingLookupSparseOptions MulOptions PadOptions GatherOptions "
        "BatchToSpaceNDOptions SpaceToBatchNDOptions TransposeOptions ReducerOptions SubOptions "
        "DivOptions SqueezeOptions SequenceRNNOptions StridedSliceOptions ExpOptions "
        "TopKV2Options SplitOptions LogSoftmaxOptions CastOptions DequantizeOptions "
        "MaximumMinimumOptions ArgMaxOptions LessOptions NegOptions PadV2Options GreaterOptions "
        "GreaterEqualOptions LessEqualOptions SelectOptions SliceOptions TransposeConvOptions "
        "SparseToDenseOptions TileOptions ExpandDimsOptions EqualOptions NotEqualOptions "
        "ShapeOptions PowOptions ArgMinOptions FakeQuantOptions PackOptions LogicalOrOptions "
        "OneHotOptions LogicalAndOptions LogicalNotOptions UnpackOptions FloorDivOptions "
        "SquareOptions ZerosLikeOptions FillOptions BidirectionalSequenceLSTMOptions "
        "BidirectionalSequenceRNNOptions UnidirectionalSequenceLSTMOptions FloorModOptions "
        "RangeOptions ResizeNearestNeighborOptions LeakyReluOptions SquaredDifferenceOptions "
        "MirrorPadOptions AbsOptions SplitVOptions UniqueOptions ReverseV2Options AddNOptions "
        "GatherNdOptions CosOptions WhereOptions RankOptions ReverseSequenceOptions "
        "MatrixDiagOptions QuantizeOptions MatrixSetDiagOptions HardSwishOptions IfOptions "
        "WhileOptions DepthToSpaceOptions NonMaxSuppressionV4Options NonMaxSuppressionV5Options "
        "ScatterNdOptions SelectV2Options DensifyOptions SegmentSumOptions BatchMatMulOptions "
        "CumsumOptions CallOnceOptions BroadcastToOptions Rfft2dOptions Conv3DOptions "
        "HashtableOptions HashtableFindOptions HashtableImportOptions HashtableSizeOptions "
        "VarHandleOptions ReadVariableOptions AssignVariableOptions RandomOptions "
        "BucketizeOptions GeluOptions DynamicUpdateSliceOptions UnsortedSegmentProdOptions "
        "UnsortedSegmentMaxOptions UnsortedSegmentMinOptions UnsortedSegmentSumOptions "
        "ATan2Options SignOptions BitcastOptions BitwiseXorOptions RightShiftOptions"
    ),
    "BuiltinOptions2": (
        "NONE StablehloConcatenateOptions StablehloBroadcastInDimOptions StablehloSliceOptions "
        "StablehloConvolutionOptions StablehloCustomCallOptions StablehloReduceOptions "
        "StablehloScatterOptions StablehloCompareOptions StablehloDynamicSliceOptions "
        "StablehloPadOptions StablehloIotaOptions StablehloDotGeneralOptions "
        "StablehloReduceWindowOptions StablehloSortOptions StablehloWhileOptions "
        "StablehloGatherOptions StablehloTransposeOptions DilateOptions "
        "StablehloRngBitGeneratorOptions ReduceWindowOptions StableHLOCompositeOptions "
        "StablehloShiftLeftOptions"
    ),
    "TensorType": (
        "FLOAT32 FLOAT16 INT32 UINT8 INT64 STRING BOOL INT16 COMPLEX64 INT8 FLOAT64 COMPLEX128 "
        "UINT64 RESOURCE VARIANT UINT32 UINT16 INT4 BFLOAT16"
    ),
}
"""Enumeration -> its names in the order of their numbers, which begin at 0 and have no gaps."""

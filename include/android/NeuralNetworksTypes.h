/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of the Neural Networks API, feature level 8: enumerations, structures, opaque objects.
 * "Level n" in a comment is the first feature level that has the item; without it, level 1.
 */
#ifndef NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_TYPES_H
#define NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* nnapi_shim: declarations begin */

/** Types of operands. Codes whose upper 16 bits are not zero belong to extensions. */
typedef enum {
  /** 32-bit IEEE 754 scalar. */
  ANEURALNETWORKS_FLOAT32 = 0,
  /** Signed 32-bit scalar. */
  ANEURALNETWORKS_INT32 = 1,
  /** Unsigned 32-bit scalar. */
  ANEURALNETWORKS_UINT32 = 2,
  /** Tensor of 32-bit IEEE 754 values. */
  ANEURALNETWORKS_TENSOR_FLOAT32 = 3,
  /** Tensor of signed 32-bit values; as a quantized bias it has a scale: value * scale. */
  ANEURALNETWORKS_TENSOR_INT32 = 4,
  /** Tensor of unsigned bytes; real value = (byte - zeroPoint) * scale, zeroPoint 0..255. */
  ANEURALNETWORKS_TENSOR_QUANT8_ASYMM = 5,
  /** Scalar of one byte: zero is false, all else true. */
  ANEURALNETWORKS_BOOL = 6,
  /** Tensor of signed 16-bit values; real value = value * scale. Level 3. */
  ANEURALNETWORKS_TENSOR_QUANT16_SYMM = 7,
  /** Tensor of 16-bit IEEE 754 values. Level 3. */
  ANEURALNETWORKS_TENSOR_FLOAT16 = 8,
  /** Tensor of bytes: zero is false, all else true. Level 3. */
  ANEURALNETWORKS_TENSOR_BOOL8 = 9,
  /** 16-bit IEEE 754 scalar. Level 3. */
  ANEURALNETWORKS_FLOAT16 = 10,
  /**
   * Tensor of signed bytes with one scale per index of a chosen dimension, given by
   * ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(). Level 3.
   */
  ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL = 11,
  /**
   * Tensor of unsigned 16-bit values; real value = (value - zeroPoint) * scale, zeroPoint
   * 0..65535. Level 3.
   */
  ANEURALNETWORKS_TENSOR_QUANT16_ASYMM = 12,
  /** Tensor of signed bytes; real value = value * scale. Level 3. */
  ANEURALNETWORKS_TENSOR_QUANT8_SYMM = 13,
  /**
   * Tensor of signed bytes; real value = (value - zeroPoint) * scale, zeroPoint -128..127.
   * Level 4.
   */
  ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED = 14,
  /** Reference to a model: a branch of IF, or the condition or body of WHILE. Level 4. */
  ANEURALNETWORKS_MODEL = 15
} OperandCode;

/**
 * Operations. Each line gives the meaning, the operands in order and the first feature level.
 *
 * - `name?` is optional: it may be left out at the end of the list, or omitted by a NULL value
 *   where later ones follow. `name...` is any number of operands.
 * - `padding` is one INT32 scalar, a PaddingCode, or in its place four: padding_left,
 *   padding_right, padding_top, padding_bottom.
 * - `activation` is an INT32 scalar, a FuseCode.
 * - `nchw` is a BOOL scalar: images are [batch, height, width, depth] if it is false or absent,
 *   else [batch, depth, height, width].
 * - Scalars are FLOAT16 where the data is TENSOR_FLOAT16, otherwise FLOAT32 or INT32.
 * - Broadcasting: dimensions are compared from the last one; they agree, or one of them is 1.
 */
typedef enum {
  /** Sum, element by element, with broadcasting. (input0, input1, activation) -> sum. Level 1. */
  ANEURALNETWORKS_ADD = 0,
  /**
   * Mean over each window of an image.
   * (input, padding, stride_width, stride_height, filter_width, filter_height, activation,
   *     nchw?) -> output. Level 1.
   */
  ANEURALNETWORKS_AVERAGE_POOL_2D = 1,
  /** Joins tensors along one axis. (input..., axis) -> output. Level 1. */
  ANEURALNETWORKS_CONCATENATION = 2,
  /**
   * 2-D convolution of an image; filter [depth_out, height, width, depth_in].
   * (input, filter, bias, padding, stride_width, stride_height, activation, nchw?,
   *     dilation_width?, dilation_height?) -> output. Level 1.
   */
  ANEURALNETWORKS_CONV_2D = 3,
  /**
   * Convolution of each channel on its own; filter [1, height, width, depth_out].
   * (input, filter, bias, padding, stride_width, stride_height, depth_multiplier, activation,
   *     nchw?, dilation_width?, dilation_height?) -> output. Level 1.
   */
  ANEURALNETWORKS_DEPTHWISE_CONV_2D = 4,
  /** Turns channels into blocks of pixels. (input, block_size, nchw?) -> output. Level 1. */
  ANEURALNETWORKS_DEPTH_TO_SPACE = 5,
  /** Real values of a quantized tensor. (input) -> output. Level 1. */
  ANEURALNETWORKS_DEQUANTIZE = 6,
  /** Rows (first axis) of a table, chosen by index. (lookups, values) -> output. Level 1. */
  ANEURALNETWORKS_EMBEDDING_LOOKUP = 7,
  /** Largest whole number that is not above the input. (input) -> output. Level 1. */
  ANEURALNETWORKS_FLOOR = 8,
  /**
   * Matrix product with a weight matrix [units, input_size], plus bias.
   * (input, weights, bias, activation) -> output. Level 1.
   */
  ANEURALNETWORKS_FULLY_CONNECTED = 9,
  /**
   * Rows of a table, chosen by key; zeros where the key is missing.
   * (lookups, keys, values) -> output, hits. Level 1.
   */
  ANEURALNETWORKS_HASHTABLE_LOOKUP = 10,
  /** Divides by the Euclidean length along an axis. (input, axis?) -> output. Level 1. */
  ANEURALNETWORKS_L2_NORMALIZATION = 11,
  /**
   * Root of the mean square over each window of an image.
   * (input, padding, stride_width, stride_height, filter_width, filter_height, activation,
   *     nchw?) -> output. Level 1.
   */
  ANEURALNETWORKS_L2_POOL_2D = 12,
  /**
   * Divides by a power of the squares summed over neighbouring channels.
   * (input, radius, bias, alpha, beta, axis?) -> output. Level 1.
   */
  ANEURALNETWORKS_LOCAL_RESPONSE_NORMALIZATION = 13,
  /** Sigmoid, 1 / (1 + exp(-x)). (input) -> output. Level 1. */
  ANEURALNETWORKS_LOGISTIC = 14,
  /**
   * Bits of a locality-sensitive hash; type 2 dense, 1 or 3 sparse.
   * (hash, input, weight?, type) -> output. Level 1.
   */
  ANEURALNETWORKS_LSH_PROJECTION = 15,
  /**
   * One step of an LSTM cell, optionally with peepholes, projection, layer normalization.
   * (input, 4 input weights, 4 recurrent weights, 3 cell weights?, 4 gate biases,
   *     projection_weights?, projection_bias?, output_state_in, cell_state_in, activation,
   *     cell_clip, proj_clip, 4 layer norm weights?) -> scratch, output_state_out,
   *     cell_state_out, output. Level 1.
   */
  ANEURALNETWORKS_LSTM = 16,
  /**
   * Maximum over each window of an image.
   * (input, padding, stride_width, stride_height, filter_width, filter_height, activation,
   *     nchw?) -> output. Level 1.
   */
  ANEURALNETWORKS_MAX_POOL_2D = 17,
  /**
   * Product, element by element, with broadcasting.
   * (input0, input1, activation) -> product. Level 1.
   */
  ANEURALNETWORKS_MUL = 18,
  /** max(0, x). (input) -> output. Level 1. */
  ANEURALNETWORKS_RELU = 19,
  /** x clamped to -1..1. (input) -> output. Level 1. */
  ANEURALNETWORKS_RELU1 = 20,
  /** x clamped to 0..6. (input) -> output. Level 1. */
  ANEURALNETWORKS_RELU6 = 21,
  /**
   * The same elements in other dimensions; one of them may be -1.
   * (input, shape) -> output. Level 1.
   */
  ANEURALNETWORKS_RESHAPE = 22,
  /**
   * Image of another size by linear interpolation; INT32 sizes or FLOAT32 factors.
   * (input, output_width, output_height, nchw?, align_corners?, half_pixel_centers?) -> output.
   *     Level 1.
   */
  ANEURALNETWORKS_RESIZE_BILINEAR = 23,
  /**
   * One step of a plain recurrent cell.
   * (input, weights, recurrent_weights, bias, hidden_state_in, activation) -> hidden_state_out,
   *     output. Level 1.
   */
  ANEURALNETWORKS_RNN = 24,
  /** exp(beta * x), scaled to sum 1 along an axis. (input, beta, axis?) -> output. Level 1. */
  ANEURALNETWORKS_SOFTMAX = 25,
  /** Turns blocks of pixels into channels. (input, block_size, nchw?) -> output. Level 1. */
  ANEURALNETWORKS_SPACE_TO_DEPTH = 26,
  /**
   * One step of a low-rank filter over time with a state of past activations.
   * (input, weights_feature, weights_time, bias?, state_in, rank, activation) -> state_out,
   *     output. Level 1.
   */
  ANEURALNETWORKS_SVDF = 27,
  /** Hyperbolic tangent. (input) -> output. Level 1. */
  ANEURALNETWORKS_TANH = 28,
  /** Turns batches into blocks of pixels. (input, block_shape, nchw?) -> output. Level 2. */
  ANEURALNETWORKS_BATCH_TO_SPACE_ND = 29,
  /**
   * Quotient, element by element, with broadcasting.
   * (input0, input1, activation) -> quotient. Level 2.
   */
  ANEURALNETWORKS_DIV = 30,
  /** Mean along some axes. (input, axes, keep_dims) -> output. Level 2. */
  ANEURALNETWORKS_MEAN = 31,
  /** Surrounds a tensor with zeros. (input, paddings) -> output. Level 2. */
  ANEURALNETWORKS_PAD = 32,
  /**
   * Turns blocks of pixels into batches, after zero padding.
   * (input, block_shape, paddings, nchw?) -> output. Level 2.
   */
  ANEURALNETWORKS_SPACE_TO_BATCH_ND = 33,
  /** Drops dimensions of size 1. (input, axes?) -> output. Level 2. */
  ANEURALNETWORKS_SQUEEZE = 34,
  /**
   * Part of a tensor between begin and end with a step per axis.
   * (input, begin, end, strides, begin_mask, end_mask, shrink_axis_mask) -> output. Level 2.
   */
  ANEURALNETWORKS_STRIDED_SLICE = 35,
  /**
   * Difference, element by element, with broadcasting.
   * (input0, input1, activation) -> difference. Level 2.
   */
  ANEURALNETWORKS_SUB = 36,
  /** Reorders the axes. (input, perm?) -> output. Level 2. */
  ANEURALNETWORKS_TRANSPOSE = 37,
  /** Absolute value. (input) -> output. Level 3. */
  ANEURALNETWORKS_ABS = 38,
  /** Index of the largest element along an axis. (input, axis) -> output. Level 3. */
  ANEURALNETWORKS_ARGMAX = 39,
  /** Index of the smallest element along an axis. (input, axis) -> output. Level 3. */
  ANEURALNETWORKS_ARGMIN = 40,
  /**
   * Moves and scales boxes by predicted deltas, clipped to the image.
   * (rois, deltas, batch_index, image_info) -> boxes. Level 3.
   */
  ANEURALNETWORKS_AXIS_ALIGNED_BBOX_TRANSFORM = 41,
  /**
   * LSTM over a sequence, forwards and backwards; 61 inputs: the cell's operands once per
   * direction (fw_, bw_), states, auxiliary input and its weights, activation, clips,
   * merge_outputs, time_major, layer norm weights.
   * (input, fw_..., bw_..., states, aux_input?, ...) -> fw_output, bw_output?, states?. Level 3.
   */
  ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_LSTM = 42,
  /**
   * Plain recurrent cell over a sequence, forwards and backwards.
   * (input, fw_weights, fw_recurrent_weights, fw_bias, fw_hidden_state, bw_weights,
   *     bw_recurrent_weights, bw_bias, bw_hidden_state, aux_input?, fw_aux_weights?,
   *     bw_aux_weights?, activation, time_major, merge_outputs) -> fw_output, bw_output?,
   *     fw_hidden_state_out?, bw_hidden_state_out?. Level 3.
   */
  ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_RNN = 43,
  /**
   * Best boxes per class after non-maximum suppression.
   * (scores, rois, batch_index, score_threshold, max_num_detections, nms_kernel, iou_threshold,
   *     sigma, nms_score_threshold) -> out_scores, out_rois, out_classes, out_batch_index.
   *     Level 3.
   */
  ANEURALNETWORKS_BOX_WITH_NMS_LIMIT = 44,
  /**
   * Conversion to the output's type; quantized values are taken as the stored numbers.
   * (input) -> output. Level 3.
   */
  ANEURALNETWORKS_CAST = 45,
  /** Interleaves groups of channels. (input, num_groups, axis) -> output. Level 3. */
  ANEURALNETWORKS_CHANNEL_SHUFFLE = 46,
  /**
   * Boxes, classes and scores from anchors and a detector's raw output.
   * (scores, deltas, anchors, scale_dy, scale_dx, scale_dh, scale_dw, use_regular_nms,
   *     max_num_detections, max_classes_per_detection, max_detections_per_class,
   *     score_threshold, iou_threshold, is_background_in_label) -> out_scores, out_boxes,
   *     out_classes, num_detections. Level 3.
   */
  ANEURALNETWORKS_DETECTION_POSTPROCESSING = 47,
  /** input0 == input1, with broadcasting. (input0, input1) -> output. Level 3. */
  ANEURALNETWORKS_EQUAL = 48,
  /** e to the power x. (input) -> output. Level 3. */
  ANEURALNETWORKS_EXP = 49,
  /** Inserts a dimension of size 1. (input, axis) -> output. Level 3. */
  ANEURALNETWORKS_EXPAND_DIMS = 50,
  /** Slices along an axis, chosen by index. (input, axis, indices) -> output. Level 3. */
  ANEURALNETWORKS_GATHER = 51,
  /**
   * Candidate boxes from anchors, scores and deltas, after non-maximum suppression.
   * (scores, deltas, anchors, image_info, height_stride, width_stride, pre_nms_top_n,
   *     post_nms_top_n, iou_threshold, min_size, nchw) -> out_scores, out_rois, out_batch_index.
   *     Level 3.
   */
  ANEURALNETWORKS_GENERATE_PROPOSALS = 52,
  /** input0 > input1, with broadcasting. (input0, input1) -> output. Level 3. */
  ANEURALNETWORKS_GREATER = 53,
  /** input0 >= input1, with broadcasting. (input0, input1) -> output. Level 3. */
  ANEURALNETWORKS_GREATER_EQUAL = 54,
  /**
   * 2-D convolution within groups of channels.
   * (input, filter, bias, padding, stride_width, stride_height, num_groups, activation, nchw) ->
   *     output. Level 3.
   */
  ANEURALNETWORKS_GROUPED_CONV_2D = 55,
  /**
   * Position and score of each heat map's peak, refined below a pixel.
   * (heatmaps, boxes, nchw) -> out_scores, out_keypoints. Level 3.
   */
  ANEURALNETWORKS_HEATMAP_MAX_KEYPOINT = 56,
  /**
   * Zero mean and unit variance per image and channel, then gamma and beta.
   * (input, gamma, beta, epsilon, nchw) -> output. Level 3.
   */
  ANEURALNETWORKS_INSTANCE_NORMALIZATION = 57,
  /** input0 < input1, with broadcasting. (input0, input1) -> output. Level 3. */
  ANEURALNETWORKS_LESS = 58,
  /** input0 <= input1, with broadcasting. (input0, input1) -> output. Level 3. */
  ANEURALNETWORKS_LESS_EQUAL = 59,
  /** Natural logarithm. (input) -> output. Level 3. */
  ANEURALNETWORKS_LOG = 60,
  /** True where both are, with broadcasting. (input0, input1) -> output. Level 3. */
  ANEURALNETWORKS_LOGICAL_AND = 61,
  /** True where the input is false. (input) -> output. Level 3. */
  ANEURALNETWORKS_LOGICAL_NOT = 62,
  /** True where at least one is, with broadcasting. (input0, input1) -> output. Level 3. */
  ANEURALNETWORKS_LOGICAL_OR = 63,
  /** Logarithm of softmax along an axis. (input, beta, axis) -> output. Level 3. */
  ANEURALNETWORKS_LOG_SOFTMAX = 64,
  /** The larger of two elements, with broadcasting. (input0, input1) -> output. Level 3. */
  ANEURALNETWORKS_MAXIMUM = 65,
  /** The smaller of two elements, with broadcasting. (input0, input1) -> output. Level 3. */
  ANEURALNETWORKS_MINIMUM = 66,
  /** -x. (input) -> output. Level 3. */
  ANEURALNETWORKS_NEG = 67,
  /** input0 != input1, with broadcasting. (input0, input1) -> output. Level 3. */
  ANEURALNETWORKS_NOT_EQUAL = 68,
  /** Surrounds a tensor with a given value. (input, paddings, pad_value) -> output. Level 3. */
  ANEURALNETWORKS_PAD_V2 = 69,
  /** base to the power exponent, with broadcasting. (base, exponent) -> output. Level 3. */
  ANEURALNETWORKS_POW = 70,
  /** x where positive, else alpha * x, with broadcasting. (input, alpha) -> output. Level 3. */
  ANEURALNETWORKS_PRELU = 71,
  /** Rounds real values to the output's scale and zero point. (input) -> output. Level 3. */
  ANEURALNETWORKS_QUANTIZE = 72,
  /**
   * One step of an LSTM cell, 8-bit input and 16-bit state.
   * (input, 4 input weights, 4 recurrent weights, 4 gate biases, prev_cell_state, prev_output)
   *     -> cell_state_out, output. Level 3.
   */
  ANEURALNETWORKS_QUANTIZED_16BIT_LSTM = 73,
  /**
   * Draws classes from unnormalized log-probabilities.
   * (logits, sample_count, seeds) -> samples. Level 3.
   */
  ANEURALNETWORKS_RANDOM_MULTINOMIAL = 74,
  /** Logical and along some axes. (input, axes, keep_dims) -> output. Level 3. */
  ANEURALNETWORKS_REDUCE_ALL = 75,
  /** Logical or along some axes. (input, axes, keep_dims) -> output. Level 3. */
  ANEURALNETWORKS_REDUCE_ANY = 76,
  /** Maximum along some axes. (input, axes, keep_dims) -> output. Level 3. */
  ANEURALNETWORKS_REDUCE_MAX = 77,
  /** Minimum along some axes. (input, axes, keep_dims) -> output. Level 3. */
  ANEURALNETWORKS_REDUCE_MIN = 78,
  /** Product along some axes. (input, axes, keep_dims) -> output. Level 3. */
  ANEURALNETWORKS_REDUCE_PROD = 79,
  /** Sum along some axes. (input, axes, keep_dims) -> output. Level 3. */
  ANEURALNETWORKS_REDUCE_SUM = 80,
  /**
   * Regions of a feature map at a fixed size, by interpolated samples.
   * (input, rois, batch_index, out_height, out_width, height_stride, width_stride,
   *     height_sampling_ratio, width_sampling_ratio, nchw) -> output. Level 3.
   */
  ANEURALNETWORKS_ROI_ALIGN = 81,
  /**
   * Regions of a feature map at a fixed size, by maxima.
   * (input, rois, batch_index, out_height, out_width, height_stride, width_stride, nchw) ->
   *     output. Level 3.
   */
  ANEURALNETWORKS_ROI_POOLING = 82,
  /** 1 / square root. (input) -> output. Level 3. */
  ANEURALNETWORKS_RSQRT = 83,
  /**
   * input1 where the condition is true, else input2.
   * (condition, input1, input2) -> output. Level 3.
   */
  ANEURALNETWORKS_SELECT = 84,
  /** Sine of an angle in radians. (input) -> output. Level 3. */
  ANEURALNETWORKS_SIN = 85,
  /**
   * Block of a tensor, given its first element and its size; size -1 means up to the end.
   * (input, begin, size) -> output. Level 3.
   */
  ANEURALNETWORKS_SLICE = 86,
  /**
   * Cuts a tensor into equal parts along an axis.
   * (input, axis, num_splits) -> output... Level 3.
   */
  ANEURALNETWORKS_SPLIT = 87,
  /** Square root. (input) -> output. Level 3. */
  ANEURALNETWORKS_SQRT = 88,
  /** Repeats a tensor along each axis. (input, multiples) -> output. Level 3. */
  ANEURALNETWORKS_TILE = 89,
  /**
   * The k largest elements of the last axis, largest first.
   * (input, k) -> values, indices. Level 3.
   */
  ANEURALNETWORKS_TOPK_V2 = 90,
  /**
   * Convolution turned round, from small to large; with implicit padding the output shape is
   * given.
   * (input, filter, bias, [output_shape,] padding, stride_width, stride_height, activation,
   *     nchw) -> output. Level 3.
   */
  ANEURALNETWORKS_TRANSPOSE_CONV_2D = 91,
  /**
   * LSTM over a sequence.
   * (the inputs of LSTM with time_major before the layer norm weights) -> output,
   *     output_state_out?, cell_state_out?. Level 3.
   */
  ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_LSTM = 92,
  /**
   * Plain recurrent cell over a sequence.
   * (input, weights, recurrent_weights, bias, hidden_state_in, activation, time_major) ->
   *     output, hidden_state_out?. Level 3.
   */
  ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_RNN = 93,
  /**
   * Image of another size by nearest pixels; INT32 sizes or FLOAT32 factors.
   * (input, output_width, output_height, nchw, align_corners?, half_pixel_centers?) -> output.
   *     Level 3.
   */
  ANEURALNETWORKS_RESIZE_NEAREST_NEIGHBOR = 94,
  /**
   * One step of a fully quantized LSTM cell; after the operands of LSTM and its layer norm
   * weights come the clips, four intermediate scales, and the hidden state's zero point and
   * scale.
   * (input, ..., hidden_state_scale) -> output_state_out, cell_state_out, output. Level 4.
   */
  ANEURALNETWORKS_QUANTIZED_LSTM = 95,
  /** Runs one of two models. (condition, then_model, else_model, input...) -> output... Level 4. */
  ANEURALNETWORKS_IF = 96,
  /**
   * Runs a model as long as another one says so; the loop timeout applies.
   * (condition_model, body_model, input_output..., state_only..., input_only...) -> output...
   *     Level 4.
   */
  ANEURALNETWORKS_WHILE = 97,
  /** x where positive, else alpha * (exp(x) - 1). (input, alpha) -> output. Level 4. */
  ANEURALNETWORKS_ELU = 98,
  /** x * relu6(x + 3) / 6. (input) -> output. Level 4. */
  ANEURALNETWORKS_HARD_SWISH = 99,
  /** Tensor of given dimensions holding one value. (dims, value) -> output. Level 4. */
  ANEURALNETWORKS_FILL = 100,
  /** Number of dimensions, as a scalar. (input) -> rank. Level 4. */
  ANEURALNETWORKS_RANK = 101,
  /**
   * Matrix products over leading batch dimensions, each side optionally transposed.
   * (lhs, rhs, adj_x, adj_y) -> output. Level 6.
   */
  ANEURALNETWORKS_BATCH_MATMUL = 102,
  /** Joins tensors along a new axis. (axis, input...) -> output. Level 6. */
  ANEURALNETWORKS_PACK = 103,
  /**
   * Surrounds a tensor with its own mirrored elements; mode 0 without, 1 with the border
   * element.
   * (input, paddings, mode) -> output. Level 7.
   */
  ANEURALNETWORKS_MIRROR_PAD = 104,
  /** Reverses the order along one axis. (input, axis) -> output. Level 7. */
  ANEURALNETWORKS_REVERSE = 105
} OperationCode;

/** Activation applied to the result of an operation. */
typedef enum {
  /** No activation. */
  ANEURALNETWORKS_FUSED_NONE = 0,
  /** max(0, x). */
  ANEURALNETWORKS_FUSED_RELU = 1,
  /** x clamped to -1..1. */
  ANEURALNETWORKS_FUSED_RELU1 = 2,
  /** x clamped to 0..6. */
  ANEURALNETWORKS_FUSED_RELU6 = 3
} FuseCode;

/** Padding computed from the sizes instead of given per side. */
typedef enum {
  /**
   * Output size = input size / stride, rounded up. Half of the padding goes to each side, an odd
   * one to the right and to the bottom.
   */
  ANEURALNETWORKS_PADDING_SAME = 1,
  /** No padding: only windows that lie inside the input count. */
  ANEURALNETWORKS_PADDING_VALID = 2
} PaddingCode;

/** What a compilation should be optimized for. */
typedef enum {
  /** Little energy, for work that runs often. */
  ANEURALNETWORKS_PREFER_LOW_POWER = 0,
  /** One answer as soon as possible; the default. */
  ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER = 1,
  /** High throughput, as for the frames of a camera. */
  ANEURALNETWORKS_PREFER_SUSTAINED_SPEED = 2
} PreferenceCode;

/** Kinds of devices. Level 3. */
typedef enum {
  /** The device gives no type. */
  ANEURALNETWORKS_DEVICE_UNKNOWN = 0,
  /** None of the types below. */
  ANEURALNETWORKS_DEVICE_OTHER = 1,
  /** Runs on the cores of the processor. */
  ANEURALNETWORKS_DEVICE_CPU = 2,
  /** Graphics processor. */
  ANEURALNETWORKS_DEVICE_GPU = 3,
  /** Dedicated processor for neural networks. */
  ANEURALNETWORKS_DEVICE_ACCELERATOR = 4
} DeviceTypeCode;

/** Feature levels: 27 to 31 are Android API levels, later ones count on their own. */
typedef enum {
  /** Android 8.1. */
  ANEURALNETWORKS_FEATURE_LEVEL_1 = 27,
  /** Android 9. */
  ANEURALNETWORKS_FEATURE_LEVEL_2 = 28,
  /** Android 10. */
  ANEURALNETWORKS_FEATURE_LEVEL_3 = 29,
  /** Android 11. */
  ANEURALNETWORKS_FEATURE_LEVEL_4 = 30,
  /** Android 12. */
  ANEURALNETWORKS_FEATURE_LEVEL_5 = 31,
  /** First update after Android 12; from here on the number is 1000000 plus the level. */
  ANEURALNETWORKS_FEATURE_LEVEL_6 = 1000006,
  /** Second update after Android 12. */
  ANEURALNETWORKS_FEATURE_LEVEL_7 = 1000007,
  /** The level this header describes. */
  ANEURALNETWORKS_FEATURE_LEVEL_8 = 1000008
} FeatureLevelCode;

/** What a call returns. */
typedef enum {
  /** Success. */
  ANEURALNETWORKS_NO_ERROR = 0,
  /** Memory for the request could not be had. */
  ANEURALNETWORKS_OUT_OF_MEMORY = 1,
  /** Something is missing that has to come first. */
  ANEURALNETWORKS_INCOMPLETE = 2,
  /** A pointer is NULL where it must not be. */
  ANEURALNETWORKS_UNEXPECTED_NULL = 3,
  /** A value, index, type or size is not allowed here. */
  ANEURALNETWORKS_BAD_DATA = 4,
  /** An operation, or the computation as a whole, failed. */
  ANEURALNETWORKS_OP_FAILED = 5,
  /** The object is in a state in which this call is not allowed. */
  ANEURALNETWORKS_BAD_STATE = 6,
  /** A memory object could not be mapped. */
  ANEURALNETWORKS_UNMAPPABLE = 7,
  /** The buffer of an output is too small; its dimensions can be asked for. Level 3. */
  ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE = 8,
  /** The device is gone or not ready. Level 3. */
  ANEURALNETWORKS_UNAVAILABLE_DEVICE = 9,
  /** Time ran out; a later attempt may succeed. Level 4. */
  ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT = 10,
  /** Time ran out, and would again. Level 4. */
  ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT = 11,
  /** The device lacks resources for now. Level 4. */
  ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT = 12,
  /** The device lacks resources, and will. Level 4. */
  ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT = 13,
  /** The driver behind the object has died. Level 4. */
  ANEURALNETWORKS_DEAD_OBJECT = 14
} ResultCode;

enum {
  /**
   * Operand values up to this many bytes are copied by ANeuralNetworksModel_setOperandValue();
   * of longer ones the pointer is kept.
   */
  ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES = 128
};

enum {
  /** Bytes in the token of ANeuralNetworksCompilation_setCaching(). */
  ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN = 32
};

/** Spans that ANeuralNetworksExecution_getDuration() can tell. Level 3. */
typedef enum {
  /** Time the device itself computed. */
  ANEURALNETWORKS_DURATION_ON_HARDWARE = 0,
  /** Time spent in the driver, the device's included. */
  ANEURALNETWORKS_DURATION_IN_DRIVER = 1,
  /** On the device, from the moment all dependencies were signalled. Level 4. */
  ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE = 2,
  /** In the driver, from the moment all dependencies were signalled. Level 4. */
  ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER = 3
} DurationCode;

/** Priority of a compilation's executions among those of the same application. Level 4. */
typedef enum {
  /** Yields to all others. */
  ANEURALNETWORKS_PRIORITY_LOW = 90,
  /** Between the two. */
  ANEURALNETWORKS_PRIORITY_MEDIUM = 100,
  /** Goes first. */
  ANEURALNETWORKS_PRIORITY_HIGH = 110,
  /** What a compilation has when nothing is set. */
  ANEURALNETWORKS_PRIORITY_DEFAULT = ANEURALNETWORKS_PRIORITY_MEDIUM
} PriorityCode;

/**
 * Runs a rapid sequence of executions of one compilation.
 *
 * State: a burst can be used as soon as it exists.
 * Lifetime: its compilation outlives it.
 * Threads: a burst runs one execution at a time; a call of another thread meanwhile gets BAD_STATE.
 *    Threads that run at the same time have a burst each.
 * Level 3.
 */
typedef struct ANeuralNetworksBurst ANeuralNetworksBurst;

/**
 * A model that is prepared for devices: create, set preferences, finish, create executions.
 *
 * State: not finished, then finished, or failed after a finish without success. Setters need a
 *    compilation that is not finished; executions, bursts and memory descriptors need one that is
 *    successfully finished.
 * Lifetime: its model outlives it; it outlives its executions, bursts and memory descriptors.
 * Threads: one thread at a time changes a compilation. Once it is finished, any number of threads
 *    use it at the same time.
 */
typedef struct ANeuralNetworksCompilation ANeuralNetworksCompilation;

/**
 * A device that runs models.
 *
 * State: a device has none.
 * Lifetime: devices belong to the library and live as long as the process; they are not freed.
 * Threads: any number of threads use a device at the same time.
 * Level 3.
 */
typedef struct ANeuralNetworksDevice ANeuralNetworksDevice;

/**
 * The end of a run that was started without waiting, or a sync fence.
 *
 * State: an event is signalled once, and remains so.
 * Lifetime: the program frees every event. Dependencies may be freed when the call that waits for
 *    them has returned.
 * Threads: any number of threads wait for an event at the same time. One thread frees it, while no
 *    other uses it.
 */
typedef struct ANeuralNetworksEvent ANeuralNetworksEvent;

/**
 * Inputs, outputs and one run of a compilation, or several runs if it is reusable.
 *
 * State: preparation, in which setters are allowed; computation, from the start of a run to its
 *    end; completed. A reusable execution goes from completed to computation again; its setters
 *    remain forbidden.
 * Lifetime: its compilation outlives it. Buffers and memories of its arguments exist until the last
 *    run has ended.
 * Threads: one thread at a time changes an execution. Different executions, also of one
 *    compilation, run at the same time. An execution runs once at a time: a start meanwhile gets
 *    BAD_STATE.
 */
typedef struct ANeuralNetworksExecution ANeuralNetworksExecution;

/**
 * Memory that the program and devices share: made from a file descriptor, a hardware buffer or a
 * memory descriptor.
 *
 * State: a memory made from a memory descriptor has no content until a run or a copy has written
 *    it, and again after one that failed. Other memories always have content.
 * Lifetime: it outlives models, compilations and executions that use it.
 * Threads: any number of runs read a memory at the same time. While a run or a copy writes a
 *    region, nothing else uses that region.
 */
typedef struct ANeuralNetworksMemory ANeuralNetworksMemory;

/**
 * A description from which memory is made: the roles that the memory plays, and its dimensions.
 *
 * State: not finished, then finished. Roles and dimensions are added before, memories are made
 *    afterwards.
 * Lifetime: the compilations of its roles outlive it. Memories made from it outlive it, if needed.
 * Threads: one thread at a time changes a descriptor. Once it is finished, any number of threads
 *    use it at the same time.
 * Level 4.
 */
typedef struct ANeuralNetworksMemoryDesc ANeuralNetworksMemoryDesc;

/**
 * A graph of operations on operands: create, add operands and operations, identify inputs and
 * outputs, finish. Operands are numbered from 0 in the order in which they are added.
 *
 * State: not finished, then finished, or invalid after a finish without success. A finished model
 *    cannot be changed, an invalid one only be freed.
 * Lifetime: it outlives its compilations and models that refer to it. Memories with its constants
 *    outlive it.
 * Threads: one thread at a time changes a model. Once it is finished, any number of threads use it
 *    at the same time.
 */
typedef struct ANeuralNetworksModel ANeuralNetworksModel;

/** Type of an operand. */
typedef struct ANeuralNetworksOperandType {
  /** An OperandCode, or the code of an extension. */
  int32_t type;
  /** Number of dimensions; 0 for scalars and for tensors of unknown rank. */
  uint32_t dimensionCount;
  /** Sizes, 0 where unknown; NULL exactly if dimensionCount is 0. */
  const uint32_t* dimensions;
  /** Scale of a quantized type, otherwise 0. */
  float scale;
  /** Zero point of an asymmetric quantized type, otherwise 0. */
  int32_t zeroPoint;
} ANeuralNetworksOperandType;

/** Scales of an ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL operand. Level 3. */
typedef struct ANeuralNetworksSymmPerChannelQuantParams {
  /** The dimension that counts the channels. */
  uint32_t channelDim;
  /** Number of scales: the size of that dimension. */
  uint32_t scaleCount;
  /** The scales, all greater than 0. */
  const float* scales;
} ANeuralNetworksSymmPerChannelQuantParams;

/** An OperationCode, or the code of an extension. */
typedef int32_t ANeuralNetworksOperationType;

/* nnapi_shim: declarations end */

#ifdef __cplusplus
}
#endif

#endif /* NNAPI_SHIM_ANDROID_NEURAL_NETWORKS_TYPES_H */

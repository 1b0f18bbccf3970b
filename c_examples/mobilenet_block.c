/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small image classifier made of MobileNet's parts: convolution, depthwise convolution, 1x1
 * convolution, residual sum, pooling, fully connected layer, softmax. It runs in float32, in quant8
 * with one scale per filter, and in quant8 with one scale per output channel, and each result is
 * compared with an evaluation of the same network in plain C below.
 *
 *     mobilenet_block [ROUNDS]
 */
#include <android/NeuralNetworks.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                  \
  do {                                                                               \
    int code = (call);                                                               \
    if (code != ANEURALNETWORKS_NO_ERROR) {                                          \
      fprintf(stderr, "%s:%d: result code %d from %s\n", __FILE__, __LINE__, code, #call); \
      exit(EXIT_FAILURE);                                                            \
    }                                                                                \
  } while (0)

enum { IMAGE = 16, COLOURS = 3, SIZE = IMAGE / 2, DEPTH = 8, CLASSES = 10, FILTER = 3 };
enum {
  IMAGE_COUNT = IMAGE * IMAGE * COLOURS,
  MAP_COUNT = SIZE * SIZE * DEPTH,
  CONV_COUNT = DEPTH * FILTER * FILTER * COLOURS,
  DEPTHWISE_COUNT = FILTER * FILTER * DEPTH,
  POINTWISE_COUNT = DEPTH * DEPTH,
  DENSE_COUNT = CLASSES * DEPTH,
  MAX_COUNT = IMAGE_COUNT
};

/* Differences that are allowed: in float32, and in steps of the quantized output. */
static const float float_tolerance = 1e-4f;
static const int quantized_tolerance = 3;

/* How often each model is run: once, or often for a profiler. */
static int rounds = 1;

/* real value = (stored value - zero_point) * scale */
typedef struct {
  float scale;
  int32_t zero_point;
} Quantization;

/* The tensors between the operations, and the two ends. */
typedef enum {
  INPUT,
  CONV,
  DEPTHWISE,
  POINTWISE,
  SUM,
  POOLED,
  LOGITS,
  PROBABILITIES,
  STAGES
} Stage;

/* A filter with its bias: the real values, and what is stored for them. */
typedef struct {
  int count;    /* of the filter */
  int channels; /* of the output, and so of the bias */
  int is_channel_last;
  float* filter;
  float* bias;
  uint8_t* stored_filter;
  int32_t* stored_bias;
  Quantization quantization;  /* one scale per filter */
  float scales[CLASSES];      /* one scale per channel */
} Layer;

typedef enum { FLOAT32, QUANT8, QUANT8_PER_CHANNEL } Form;

typedef struct {
  Form form;
  float image[IMAGE_COUNT];
  Layer conv, depthwise, pointwise, dense;
  Quantization stages[STAGES];
} Network;

/* Pseudo-random values, the same everywhere. */

static uint32_t random_state = 1;

/* Between -limit and limit, in 4096 steps. */
static float next_random(float limit) {
  random_state = random_state * 1664525u + 1013904223u;
  return limit * ((float)(random_state >> 20) / 2048.0f - 1.0f);
}

static void* allocate(size_t size) {
  void* memory = calloc(1, size);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(EXIT_FAILURE);
  }
  return memory;
}

static Layer make_layer(int count, int channels, int is_channel_last, float limit) {
  Layer layer = {.count = count, .channels = channels, .is_channel_last = is_channel_last};
  layer.filter = allocate((size_t)count * sizeof *layer.filter);
  layer.bias = allocate((size_t)channels * sizeof *layer.bias);
  layer.stored_filter = allocate((size_t)count);
  layer.stored_bias = allocate((size_t)channels * sizeof *layer.stored_bias);
  for (int i = 0; i < count; ++i) layer.filter[i] = next_random(limit);
  for (int i = 0; i < channels; ++i) layer.bias[i] = next_random(limit);
  return layer;
}

static void free_layer(Layer* layer) {
  free(layer->filter);
  free(layer->bias);
  free(layer->stored_filter);
  free(layer->stored_bias);
}

static Network* make_network(Form form) {
  Network* network = allocate(sizeof *network);
  random_state = 20;
  network->form = form;
  for (int i = 0; i < IMAGE_COUNT; ++i) network->image[i] = next_random(1.0f);
  network->conv = make_layer(CONV_COUNT, DEPTH, 0, 0.5f);
  network->depthwise = make_layer(DEPTHWISE_COUNT, DEPTH, 1, 0.6f);
  network->pointwise = make_layer(POINTWISE_COUNT, DEPTH, 0, 0.8f);
  network->dense = make_layer(DENSE_COUNT, CLASSES, 0, 1.0f);
  return network;
}

static void free_network(Network* network) {
  free_layer(&network->conv);
  free_layer(&network->depthwise);
  free_layer(&network->pointwise);
  free_layer(&network->dense);
  free(network);
}

/* The network in plain C, on real values. */

static float relu6(float value) { return fminf(fmaxf(value, 0.0f), 6.0f); }

static int32_t clamp_to_byte(long value) {
  return value < 0 ? 0 : value > 255 ? 255 : (int32_t)value;
}

static uint8_t to_byte(Quantization quantization, float value) {
  return (uint8_t)clamp_to_byte(lroundf(value / quantization.scale) + quantization.zero_point);
}

static float to_real(Quantization quantization, uint8_t stored) {
  return (float)(stored - quantization.zero_point) * quantization.scale;
}

/* In a quantized network, moves values to the nearest ones that a stage can hold. */
static void snap(const Network* network, Stage stage, float* values, int count) {
  if (network->form == FLOAT32 || network->stages[stage].scale == 0) return;
  for (int i = 0; i < count; ++i) {
    values[i] = to_real(network->stages[stage], to_byte(network->stages[stage], values[i]));
  }
}

/* SAME padding: with stride 2 and an even size, the surplus is at the bottom and right only. */
static void convolve(const float* input, int size, int depth, const Layer* layer, int stride,
                     float* output) {
  int padding = ((size / stride - 1) * stride + FILTER - size) / 2;
  for (int h = 0; h < size / stride; ++h)
    for (int w = 0; w < size / stride; ++w)
      for (int out = 0; out < DEPTH; ++out) {
        float sum = layer->bias[out];
        for (int fh = 0; fh < FILTER; ++fh)
          for (int fw = 0; fw < FILTER; ++fw) {
            int ih = h * stride + fh - padding, iw = w * stride + fw - padding;
            if (ih < 0 || ih >= size || iw < 0 || iw >= size) continue;
            for (int in = 0; in < depth; ++in) {
              sum += input[(ih * size + iw) * depth + in] *
                     layer->filter[((out * FILTER + fh) * FILTER + fw) * depth + in];
            }
          }
        *output++ = relu6(sum);
      }
}

static void convolve_depthwise(const float* input, const Layer* layer, float* output) {
  for (int h = 0; h < SIZE; ++h)
    for (int w = 0; w < SIZE; ++w)
      for (int c = 0; c < DEPTH; ++c) {
        float sum = layer->bias[c];
        for (int fh = 0; fh < FILTER; ++fh)
          for (int fw = 0; fw < FILTER; ++fw) {
            int ih = h + fh - 1, iw = w + fw - 1;
            if (ih < 0 || ih >= SIZE || iw < 0 || iw >= SIZE) continue;
            sum += input[(ih * SIZE + iw) * DEPTH + c] *
                   layer->filter[(fh * FILTER + fw) * DEPTH + c];
          }
        *output++ = relu6(sum);
      }
}

/* For each row of depth inputs, one sum per channel; a 1x1 convolution is that, too. */
static void connect(const float* input, int rows, int depth, const Layer* layer, float* output) {
  for (int row = 0; row < rows; ++row)
    for (int out = 0; out < layer->channels; ++out) {
      float sum = layer->bias[out];
      for (int in = 0; in < depth; ++in) {
        sum += input[row * depth + in] * layer->filter[out * depth + in];
      }
      *output++ = sum;
    }
}

static void pool(const float* input, float* output) {
  for (int c = 0; c < DEPTH; ++c) {
    float sum = 0;
    for (int i = 0; i < SIZE * SIZE; ++i) sum += input[i * DEPTH + c];
    output[c] = sum / (SIZE * SIZE);
  }
}

static void softmax(const float* input, float* output) {
  float largest = -FLT_MAX, sum = 0;
  for (int i = 0; i < CLASSES; ++i) largest = fmaxf(largest, input[i]);
  for (int i = 0; i < CLASSES; ++i) sum += output[i] = expf(input[i] - largest);
  for (int i = 0; i < CLASSES; ++i) output[i] /= sum;
}

/* Computes all stages; values[stage] gets the result of each. */
static void evaluate(const Network* network, float values[STAGES][MAX_COUNT]) {
  memcpy(values[INPUT], network->image, sizeof network->image);
  snap(network, INPUT, values[INPUT], IMAGE_COUNT);
  convolve(values[INPUT], IMAGE, COLOURS, &network->conv, 2, values[CONV]);
  snap(network, CONV, values[CONV], MAP_COUNT);
  convolve_depthwise(values[CONV], &network->depthwise, values[DEPTHWISE]);
  snap(network, DEPTHWISE, values[DEPTHWISE], MAP_COUNT);
  connect(values[DEPTHWISE], SIZE * SIZE, DEPTH, &network->pointwise, values[POINTWISE]);
  snap(network, POINTWISE, values[POINTWISE], MAP_COUNT);
  for (int i = 0; i < MAP_COUNT; ++i) values[SUM][i] = values[CONV][i] + values[POINTWISE][i];
  snap(network, SUM, values[SUM], MAP_COUNT);
  pool(values[SUM], values[POOLED]);
  snap(network, POOLED, values[POOLED], DEPTH);
  connect(values[POOLED], 1, DEPTH, &network->dense, values[LOGITS]);
  snap(network, LOGITS, values[LOGITS], CLASSES);
  softmax(values[LOGITS], values[PROBABILITIES]);
  snap(network, PROBABILITIES, values[PROBABILITIES], CLASSES);
}

/* Quantization. */

static Quantization cover(const float* values, int count) {
  float low = 0, high = 0;
  for (int i = 0; i < count; ++i) {
    low = fminf(low, values[i]);
    high = fmaxf(high, values[i]);
  }
  Quantization result = {.scale = (high - low) / 255};
  result.zero_point = clamp_to_byte(lroundf(-low / result.scale));
  return result;
}

/* The output channel that a place in the filter belongs to. */
static int channel_of(const Layer* layer, int index) {
  return layer->is_channel_last ? index % layer->channels
                                : index / (layer->count / layer->channels);
}

/* Stores filter and bias as whole numbers, and replaces the real values by what these stand for. */
static void quantize_layer(Layer* layer, int is_per_channel, float input_scale) {
  float largest = 0;
  memset(layer->scales, 0, sizeof layer->scales);
  for (int i = 0; i < layer->count; ++i) {
    float* scale = &layer->scales[channel_of(layer, i)];
    *scale = fmaxf(*scale, fabsf(layer->filter[i]) / 127);
    largest = fmaxf(largest, *scale);
  }
  layer->quantization.scale = largest;
  layer->quantization.zero_point = 128;
  for (int i = 0; i < layer->count; ++i) {
    float scale = is_per_channel ? layer->scales[channel_of(layer, i)] : largest;
    long stored = lroundf(layer->filter[i] / scale);
    layer->filter[i] = (float)stored * scale;
    /* Per channel: signed bytes. Otherwise unsigned ones with a zero point. */
    layer->stored_filter[i] = (uint8_t)(is_per_channel ? stored : stored + 128);
  }
  for (int i = 0; i < layer->channels; ++i) {
    float scale = input_scale * (is_per_channel ? layer->scales[i] : largest);
    layer->stored_bias[i] = (int32_t)lroundf(layer->bias[i] / scale);
    layer->bias[i] = (float)layer->stored_bias[i] * scale;
  }
}

/* Chooses scales from the values that the float32 network takes. */
static void quantize_network(Network* network, float values[STAGES][MAX_COUNT]) {
  static const int counts[STAGES] = {IMAGE_COUNT, MAP_COUNT, MAP_COUNT, MAP_COUNT,
                                     MAP_COUNT,   DEPTH,     CLASSES,   CLASSES};
  for (int stage = INPUT; stage < STAGES; ++stage) {
    network->stages[stage] = cover(values[stage], counts[stage]);
  }
  /* Pooling keeps the scale of its input, and softmax has a fixed one. */
  network->stages[POOLED] = network->stages[SUM];
  network->stages[PROBABILITIES] = (Quantization){.scale = 1.0f / 256, .zero_point = 0};
  int is_per_channel = network->form == QUANT8_PER_CHANNEL;
  quantize_layer(&network->conv, is_per_channel, network->stages[INPUT].scale);
  quantize_layer(&network->depthwise, is_per_channel, network->stages[CONV].scale);
  quantize_layer(&network->pointwise, is_per_channel, network->stages[DEPTHWISE].scale);
  quantize_layer(&network->dense, 0, network->stages[POOLED].scale);
}

/* The network as a model. */

typedef struct {
  ANeuralNetworksModel* model;
  const Network* network;
  uint32_t operands;
} Builder;

static uint32_t add_operand(Builder* builder, int32_t type, uint32_t rank,
                            const uint32_t* dimensions, Quantization quantization) {
  const ANeuralNetworksOperandType operand = {.type = type,
                                              .dimensionCount = rank,
                                              .dimensions = dimensions,
                                              .scale = quantization.scale,
                                              .zeroPoint = quantization.zero_point};
  CHECK(ANeuralNetworksModel_addOperand(builder->model, &operand));
  return builder->operands++;
}

static uint32_t add_int32(Builder* builder, int32_t value) {
  uint32_t index =
      add_operand(builder, ANEURALNETWORKS_INT32, 0, NULL, (Quantization){.scale = 0});
  CHECK(ANeuralNetworksModel_setOperandValue(
      builder->model, (int32_t)index, &value, sizeof value));
  return index;
}

static uint32_t add_float32(Builder* builder, float value) {
  uint32_t index =
      add_operand(builder, ANEURALNETWORKS_FLOAT32, 0, NULL, (Quantization){.scale = 0});
  CHECK(ANeuralNetworksModel_setOperandValue(
      builder->model, (int32_t)index, &value, sizeof value));
  return index;
}

/* A tensor that holds one of the stages. */
static uint32_t add_stage(Builder* builder, Stage stage, uint32_t rank,
                          const uint32_t* dimensions) {
  if (builder->network->form == FLOAT32) {
    return add_operand(builder, ANEURALNETWORKS_TENSOR_FLOAT32, rank, dimensions,
                       (Quantization){.scale = 0});
  }
  return add_operand(builder, ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, rank, dimensions,
                     builder->network->stages[stage]);
}

/* The constants of a layer: the filter, and behind it the bias. Returns the filter's index. */
static uint32_t add_layer(Builder* builder, const Layer* layer, uint32_t rank,
                          const uint32_t* dimensions, float input_scale, int is_per_channel) {
  const uint32_t bias_dimensions[] = {(uint32_t)layer->channels};
  const size_t count = (size_t)layer->count, channels = (size_t)layer->channels;
  const Quantization none = {.scale = 0};
  int is_float = builder->network->form == FLOAT32;
  int32_t type = is_float         ? ANEURALNETWORKS_TENSOR_FLOAT32
                 : is_per_channel ? ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL
                                  : ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
  int has_one_scale = !is_float && !is_per_channel;
  uint32_t filter = add_operand(builder, type, rank, dimensions,
                                has_one_scale ? layer->quantization : none);
  if (is_per_channel) {
    const ANeuralNetworksSymmPerChannelQuantParams parameters = {
        .channelDim = layer->is_channel_last ? rank - 1 : 0,
        .scaleCount = bias_dimensions[0],
        .scales = layer->scales};
    CHECK(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
        builder->model, (int32_t)filter, &parameters));
  }
  Quantization bias_quantization = {
      .scale = has_one_scale ? input_scale * layer->quantization.scale : 0};
  uint32_t bias = add_operand(
      builder, is_float ? ANEURALNETWORKS_TENSOR_FLOAT32 : ANEURALNETWORKS_TENSOR_INT32, 1,
      bias_dimensions, bias_quantization);
  CHECK(ANeuralNetworksModel_setOperandValue(
      builder->model, (int32_t)filter,
      is_float ? (const void*)layer->filter : (const void*)layer->stored_filter,
      is_float ? count * sizeof(float) : count));
  CHECK(ANeuralNetworksModel_setOperandValue(
      builder->model, (int32_t)bias,
      is_float ? (const void*)layer->bias : (const void*)layer->stored_bias,
      channels * sizeof(float)));
  return filter;
}

static void add_operation(Builder* builder, int32_t type, uint32_t input_count,
                          const uint32_t* inputs, uint32_t output) {
  CHECK(ANeuralNetworksModel_addOperation(
      builder->model, type, input_count, inputs, 1, &output));
}

static ANeuralNetworksModel* build_model(const Network* network) {
  Builder builder = {.network = network};
  CHECK(ANeuralNetworksModel_create(&builder.model));
  const int is_per_channel = network->form == QUANT8_PER_CHANNEL;
  const Quantization* stages = network->stages;

  const uint32_t image_dimensions[] = {1, IMAGE, IMAGE, COLOURS};
  const uint32_t map_dimensions[] = {1, SIZE, SIZE, DEPTH};
  const uint32_t pooled_dimensions[] = {1, 1, 1, DEPTH};
  const uint32_t class_dimensions[] = {1, CLASSES};
  const uint32_t conv_dimensions[] = {DEPTH, FILTER, FILTER, COLOURS};
  const uint32_t depthwise_dimensions[] = {1, FILTER, FILTER, DEPTH};
  const uint32_t pointwise_dimensions[] = {DEPTH, 1, 1, DEPTH};
  const uint32_t dense_dimensions[] = {CLASSES, DEPTH};

  const uint32_t input = add_stage(&builder, INPUT, 4, image_dimensions);
  const uint32_t conv = add_stage(&builder, CONV, 4, map_dimensions);
  const uint32_t depthwise = add_stage(&builder, DEPTHWISE, 4, map_dimensions);
  const uint32_t pointwise = add_stage(&builder, POINTWISE, 4, map_dimensions);
  const uint32_t sum = add_stage(&builder, SUM, 4, map_dimensions);
  const uint32_t pooled = add_stage(&builder, POOLED, 4, pooled_dimensions);
  const uint32_t logits = add_stage(&builder, LOGITS, 2, class_dimensions);
  const uint32_t probabilities = add_stage(&builder, PROBABILITIES, 2, class_dimensions);

  const uint32_t same = add_int32(&builder, ANEURALNETWORKS_PADDING_SAME);
  const uint32_t valid = add_int32(&builder, ANEURALNETWORKS_PADDING_VALID);
  const uint32_t one = add_int32(&builder, 1);
  const uint32_t two = add_int32(&builder, 2);
  const uint32_t map_size = add_int32(&builder, SIZE);
  const uint32_t none = add_int32(&builder, ANEURALNETWORKS_FUSED_NONE);
  const uint32_t activation = add_int32(&builder, ANEURALNETWORKS_FUSED_RELU6);
  const uint32_t beta = add_float32(&builder, 1.0f);

  const uint32_t conv_filter = add_layer(
      &builder, &network->conv, 4, conv_dimensions, stages[INPUT].scale, is_per_channel);
  const uint32_t depthwise_filter = add_layer(
      &builder, &network->depthwise, 4, depthwise_dimensions, stages[CONV].scale, is_per_channel);
  const uint32_t pointwise_filter =
      add_layer(&builder, &network->pointwise, 4, pointwise_dimensions, stages[DEPTHWISE].scale,
                is_per_channel);
  const uint32_t dense_weights =
      add_layer(&builder, &network->dense, 2, dense_dimensions, stages[POOLED].scale, 0);

  const uint32_t conv_inputs[] = {input, conv_filter, conv_filter + 1, same, two, two, activation};
  const uint32_t depthwise_inputs[] = {conv, depthwise_filter, depthwise_filter + 1, same,
                                       one,  one,              one, activation};
  const uint32_t pointwise_inputs[] = {
      depthwise, pointwise_filter, pointwise_filter + 1, valid, one, one, none};
  const uint32_t sum_inputs[] = {conv, pointwise, none};
  const uint32_t pooled_inputs[] = {sum, valid, one, one, map_size, map_size, none};
  const uint32_t dense_inputs[] = {pooled, dense_weights, dense_weights + 1, none};
  const uint32_t softmax_inputs[] = {logits, beta};
  add_operation(&builder, ANEURALNETWORKS_CONV_2D, 7, conv_inputs, conv);
  add_operation(&builder, ANEURALNETWORKS_DEPTHWISE_CONV_2D, 8, depthwise_inputs, depthwise);
  add_operation(&builder, ANEURALNETWORKS_CONV_2D, 7, pointwise_inputs, pointwise);
  add_operation(&builder, ANEURALNETWORKS_ADD, 3, sum_inputs, sum);
  add_operation(&builder, ANEURALNETWORKS_AVERAGE_POOL_2D, 7, pooled_inputs, pooled);
  add_operation(&builder, ANEURALNETWORKS_FULLY_CONNECTED, 4, dense_inputs, logits);
  add_operation(&builder, ANEURALNETWORKS_SOFTMAX, 2, softmax_inputs, probabilities);

  CHECK(ANeuralNetworksModel_identifyInputsAndOutputs(
      builder.model, 1, &input, 1, &probabilities));
  CHECK(ANeuralNetworksModel_finish(builder.model));
  return builder.model;
}

static void run_model(ANeuralNetworksModel* model, const void* input, size_t input_size,
                      void* output, size_t output_size) {
  ANeuralNetworksCompilation* compilation = NULL;
  ANeuralNetworksExecution* execution = NULL;
  CHECK(ANeuralNetworksCompilation_create(model, &compilation));
  CHECK(ANeuralNetworksCompilation_finish(compilation));
  for (int round = 0; round < rounds; ++round) {
    CHECK(ANeuralNetworksExecution_create(compilation, &execution));
    CHECK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, input_size));
    CHECK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, output_size));
    CHECK(ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
  }
  ANeuralNetworksCompilation_free(compilation);
}

/* The three forms. */

static int top_class(const float* probabilities) {
  int top = 0;
  for (int i = 1; i < CLASSES; ++i) {
    if (probabilities[i] > probabilities[top]) top = i;
  }
  return top;
}

static float largest_difference(const float* left, const float* right) {
  float largest = 0;
  for (int i = 0; i < CLASSES; ++i) {
    float difference = fabsf(left[i] - right[i]);
    if (!(difference <= largest)) largest = difference; /* keeps a NaN, too */
  }
  return largest;
}

static int run_float32(void) {
  static float values[STAGES][MAX_COUNT];
  Network* network = make_network(FLOAT32);
  evaluate(network, values);
  ANeuralNetworksModel* model = build_model(network);
  float output[CLASSES] = {0};
  run_model(model, network->image, sizeof network->image, output, sizeof output);
  ANeuralNetworksModel_free(model);
  free_network(network);

  printf("float32: top class %d\n", top_class(output));
  printf("float32: probabilities");
  for (int i = 0; i < CLASSES; ++i) printf(" %.3f", (double)output[i]);
  float difference = largest_difference(output, values[PROBABILITIES]);
  int is_close = difference < float_tolerance;
  printf("\nfloat32: max difference to plain C < %g: %s\n", (double)float_tolerance,
         is_close ? "ok" : "FAILED");
  if (!is_close) fprintf(stderr, "float32: max difference is %g\n", (double)difference);
  return is_close;
}

static int run_quantized(Form form, const char* name) {
  static float values[STAGES][MAX_COUNT];
  Network* network = make_network(FLOAT32);
  evaluate(network, values);
  int float_top = top_class(values[PROBABILITIES]);
  network->form = form;
  quantize_network(network, values);
  evaluate(network, values);

  uint8_t input[IMAGE_COUNT], output[CLASSES] = {0};
  for (int i = 0; i < IMAGE_COUNT; ++i) {
    input[i] = to_byte(network->stages[INPUT], network->image[i]);
  }
  ANeuralNetworksModel* model = build_model(network);
  run_model(model, input, sizeof input, output, sizeof output);
  ANeuralNetworksModel_free(model);

  float probabilities[CLASSES];
  for (int i = 0; i < CLASSES; ++i) {
    probabilities[i] = to_real(network->stages[PROBABILITIES], output[i]);
  }
  free_network(network);
  int top = top_class(probabilities);
  long steps = lroundf(largest_difference(probabilities, values[PROBABILITIES]) * 256);
  int is_close = steps <= quantized_tolerance;
  printf("%s: top class %d, as in float32: %s\n", name, top, top == float_top ? "ok" : "FAILED");
  printf("%s: at most %d steps from plain C: %s\n", name, quantized_tolerance,
         is_close ? "ok" : "FAILED");
  if (!is_close) fprintf(stderr, "%s: %ld steps\n", name, steps);
  return is_close && top == float_top;
}

int main(int argc, char** argv) {
  if (argc > 1) rounds = atoi(argv[1]);
  if (argc > 2 || rounds < 1) {
    fprintf(stderr, "usage: %s [ROUNDS]\n", argv[0]);
    return EXIT_FAILURE;
  }
  int is_float_right = run_float32();
  int is_quantized_right = run_quantized(QUANT8, "quant8");
  int is_per_channel_right = run_quantized(QUANT8_PER_CHANNEL, "quant8 per channel");
  return is_float_right && is_quantized_right && is_per_channel_right ? EXIT_SUCCESS : EXIT_FAILURE;
}

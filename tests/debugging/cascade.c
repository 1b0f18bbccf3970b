/* Goes on after a refused addOperation, as a program that checks no result codes. */
#include <stddef.h>

#include <android/NeuralNetworks.h>

static ANeuralNetworksModel *model_with(int32_t type_of_the_activation)
{
    const uint32_t two = 2;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &two, 0, 0};
    const ANeuralNetworksOperandType third = {type_of_the_activation, 0, NULL, 0, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksModel *model = NULL;

    ANeuralNetworksModel_create(&model);
    ANeuralNetworksModel_addOperand(model, &tensor);
    ANeuralNetworksModel_addOperand(model, &third);
    ANeuralNetworksModel_addOperand(model, &tensor);
    ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof none);
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, (uint32_t[]){0, 0, 1}, 1, (uint32_t[]){2});
    ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, (uint32_t[]){0}, 1, (uint32_t[]){2});
    ANeuralNetworksModel_finish(model);
    return model;
}

static void run(ANeuralNetworksModel *model)
{
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksEvent *event = NULL;
    float values[2] = {1, 2}, results[2];

    ANeuralNetworksCompilation_create(model, &compilation);
    ANeuralNetworksCompilation_setPreference(compilation, 1);
    ANeuralNetworksCompilation_finish(compilation);
    ANeuralNetworksExecution_create(compilation, &execution);
    ANeuralNetworksExecution_setInput(execution, 0, NULL, values, sizeof values);
    ANeuralNetworksExecution_setOutput(execution, 0, NULL, results, sizeof results);
    ANeuralNetworksExecution_startCompute(execution, &event);
    ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

int main(void)
{
    run(model_with(ANEURALNETWORKS_FLOAT32));
    run(model_with(ANEURALNETWORKS_INT32)); /* all objects are created */
    ANeuralNetworksExecution_compute(NULL); /* a mistake of its own */
    return 0;
}

/* Frees or changes a large constant after setOperandValue; the argument says which. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <android/NeuralNetworks.h>

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const uint32_t count = strcmp(what, "unmapped") == 0 ? 1 << 20 : 1 << 10;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &count, 0, 0};
    const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksModel *model = NULL;
    float *weights = calloc(count, sizeof *weights);

    ANeuralNetworksModel_create(&model);
    ANeuralNetworksModel_addOperand(model, &tensor);
    ANeuralNetworksModel_addOperand(model, &tensor);
    ANeuralNetworksModel_addOperand(model, &scalar);
    ANeuralNetworksModel_addOperand(model, &tensor);
    ANeuralNetworksModel_setOperandValue(model, 1, weights, count * sizeof *weights);
    ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none);
    if (strcmp(what, "changed") == 0)
        weights[7] = 3;
    if (strcmp(what, "freed") == 0 || strcmp(what, "unmapped") == 0)
        free(weights); /* too early */
    ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, (uint32_t[]){0, 1, 2}, 1, (uint32_t[]){3});
    ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, (uint32_t[]){0}, 1, (uint32_t[]){3});
    printf("%d\n", ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(model);
    if (strcmp(what, "freed") != 0 && strcmp(what, "unmapped") != 0)
        free(weights); /* too late */
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a wrong call; it prints the call's answer. */
#include <android/NeuralNetworks.h>
#include <stdio.h>

static int add_operand(ANeuralNetworksModel *model, int32_t code)
{
    ANeuralNetworksOperandType type = {.type = code};
    int answer = ANeuralNetworksModel_addOperand(model, &type);
    return answer;
}

int main(void)
{
    ANeuralNetworksModel *model = NULL;
    int answer = ANeuralNetworksModel_create(&model);
    if (model != NULL)
        answer = add_operand(model, 99);
    printf("%d\n", answer);
    ANeuralNetworksModel_free(model);
    return 0;
}

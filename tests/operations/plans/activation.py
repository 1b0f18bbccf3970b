"""Examples of the activation family."""

from tests.operations.plans.common import elementwise

PLANS = dict.fromkeys(("RELU", "RELU1", "RELU6", "TANH", "LOGISTIC"), elementwise)

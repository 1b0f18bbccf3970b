"""Examples of the pooling family."""

from tests.operations.plans.common import sliding

PLANS = dict.fromkeys(("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"), sliding)

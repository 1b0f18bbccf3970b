"""A model as the runtime of a phone profile accepts it: nothing above its feature level."""

from nnapi_shim.drivers.versioned.compliance import operand_level, reasons_of_use
from nnapi_shim.errors import Place, bad_data, operation_place
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.phones.current import current
from nnapi_shim.runtime.draft import Draft, DraftOperand


class DraftOfPhone(Draft):
    """The draft of a model on the phone of the profile."""

    def __init__(self) -> None:
        """Raises BAD_DATA for a profile that cannot be used."""
        super().__init__()
        self._profile = current()

    def check_operand(self, index: int, operand: DraftOperand) -> None:
        """Raise BAD_DATA for an operand above the level."""
        needed = operand_level(hal.Operand(operand.type, operand.dimensions))
        if needed > self._profile.level:
            what = operand.type.name
            if not operand.dimensions and what.startswith("TENSOR_"):
                what = f"{what} of unknown rank"
            error = bad_data(f"{what} is {self._of(needed)}", "operand-type.level")
            raise error.at(Place("operand", index))

    def check_operation(self, item: hal.Operation) -> None:
        """As Draft; raises BAD_DATA for a use above the level, too."""
        super().check_operation(item)
        if not isinstance(item.type, OperationType) or item.type is OperationType.OEM_OPERATION:
            return
        inputs = [self._bound(index) for index in item.inputs]
        outputs = [self._bound(index) for index in item.outputs]
        for reason in reasons_of_use(item.type, inputs, outputs):
            if reason.level > self._profile.level:
                message = f"{reason.text} is {self._of(reason.level)}"
                error = bad_data(message, "model.add-operation.level")
                raise error.at(operation_place(item.type, item.number))

    def _of(self, needed: int) -> str:
        profile = self._profile
        return (
            f"of feature level {needed}; Android {profile.android} has {profile.level} "
            f"({profile.name})"
        )

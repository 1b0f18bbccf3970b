"""A client in Python: prints the devices that run RELU of bytes, then DEQUANTIZE, then TANH."""

from nnapi_shim import Compilation, Model, NnapiError, devices

with Model() as model:
    x = model.input("TENSOR_QUANT8_ASYMM", [1, 2, 2, 3], scale=0.5, zero_point=0)
    y = model.relu(x)
    model.outputs(model.tanh(model.dequantize(y, output="TENSOR_FLOAT32")))
try:
    compilation = Compilation(model)
except NnapiError as error:
    print(error)
else:
    steps = [device.name for device in compilation.runtime.devices]
    print(",".join(device.name for device in devices()), "|", ",".join(steps))

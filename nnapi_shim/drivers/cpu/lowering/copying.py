"""All bytes of an operand to another place."""

from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, record

COPY = record(input=ADDRESS, output=ADDRESS, bytes=INT64)

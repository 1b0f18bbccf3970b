"""The tier v3vnni on processors without AVX-VNNI, by an emulator of its instructions."""

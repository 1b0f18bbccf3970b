"""Phone profiles: an Android version and devices, described in a JSON file (docs/testing.md).

Nothing here is imported without the setting NNAPI_SHIM_PROFILE.
"""

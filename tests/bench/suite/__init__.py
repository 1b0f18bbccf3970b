"""`make bench-models`: whole models in nnapi_shim and in other runtimes, in turns.

`contestants` are the models as files, `worker` is a process that runs one, `race` drives all of
them, `figures` are what it shows; `page` and `picture` write docs/performance.md.
"""

"""`make release-check`: all that a release needs, checked and rehearsed."""

"""Types shared by all layers: the canonical HAL at feature level 8, and HAL 1.0 and 1.1."""

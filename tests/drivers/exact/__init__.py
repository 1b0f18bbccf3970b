"""What both devices have to give exactly."""

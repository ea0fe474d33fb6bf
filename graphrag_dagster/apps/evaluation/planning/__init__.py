"""What an evaluation will ask of models."""

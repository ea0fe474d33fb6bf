"""The one partition dimension: the corpus."""

from dagster import DynamicPartitionsDefinition

CORPUS = DynamicPartitionsDefinition(name="corpus")

"""From text units to instances of entities, relationships and claims."""

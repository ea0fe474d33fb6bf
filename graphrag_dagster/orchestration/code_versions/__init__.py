"""Code versions: an asset's version changes when, and only when, something changes that decides its result.

A version is the hash of what the function of an asset *reaches*, followed from definition to definition: the
top-level functions, classes and constants of modules, and the methods of classes. It is read from the
sources; nothing is imported, and nothing is listed by hand. What is added to a reached module and is reached
by nobody changes no version, nor do comments, docstrings, type hints and layout.

- A *name* leads to what it is bound to, by import statements inside functions, too, but not by those for type
  checkers.
- A *method* counts once its class is reached and its name is used as an attribute anywhere in what is
  reached; whose attribute it is, is not asked: too much, never too little. Methods such as ``__init__`` count
  with their class. So does all of a class that is derived from one of another package, with its docstring:
  what that package makes of it cannot be seen here. (Pydantic writes docstrings into the JSON schema that a
  model is sent.)
- A *string* that names something of the package leads there: ``graphrag_dagster.engines.llm:LlmEngine``, or a
  program that imports something. So the catalogue leads to engines, readers and ways of answering, where
  anything of it is loaded.
- A *file* counts where a string has its name and it lies beside the module: a template.
- An attribute by a computed name is one of data here; where ``getattr`` is given a constant, that is used.
- The *prompts* are those of the language tasks whose method is used, as the catalogue declares them.
- The *libraries* are those of the asset's stage. Those of single engines and embedders are not among them: a
  version is an asset's, not a corpus's, and an index would be outdated by what its engine never uses. The
  manifest has them, and ``status`` compares them engine by engine.

Which engine works is a corpus's choice, so each counts with what it does for the tasks that are used.

What of the package decides results at all: :mod:`graphrag_dagster.orchestration.code_versions.rooms`.
"""

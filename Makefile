# One file of targets for people; `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(BIN)/graphrag-dagster

.DEFAULT_GOAL := help
.PHONY: help install demo demo-evaluate ui test lint types contracts page docs site pictures golden lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; set PYTHON=python3.11")'
	@$(PYTHON) .ci/environment.py $(VENV)
	@touch $@

install: $(VENV)/.installed ## make the virtual environment in .venv

$(VENV)/.cross-encoder: $(VENV)/.installed $(wildcard packages/cross-encoder/pyproject.toml)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check ./packages/cross-encoder
	@touch $@

demo: $(VENV)/.cross-encoder ## index the sample corpus without a model, ask it three questions
	PATH="$(CURDIR)/$(BIN):$$PATH" graphrag-dagster demo
	@echo "Open the Dagster UI on this run: make ui"

demo-evaluate: install ## find out whether the graph helps on the sample corpus, without a model
	$(RUN) index graphrag_dagster/sample/harbour
	$(RUN) evaluate harbour
	@echo
	@echo "Open the report in a browser: warehouse/reports/harbour/report.html"

ui: install ## start the Dagster UI on http://127.0.0.1:3000
	@mkdir -p .dagster_home
	@test -f .dagster_home/dagster.yaml || printf 'telemetry:\n  enabled: false\nnux:\n  enabled: false\n' > .dagster_home/dagster.yaml
	DAGSTER_HOME=$(CURDIR)/.dagster_home $(BIN)/dagster dev --host 127.0.0.1 --port 3000 -w workspace.yaml

# What is compiled is kept, whatever is set: a hundred processes import it.
test: install ## run the tests, but for those that take long
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -m "not long" -n auto --dist loadfile --no-loadscope-reorder

lint: install ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install ## check types
	$(BIN)/mypy
	$(BIN)/mypy packages/cross-encoder/graphrag_dagster_cross_encoder

contracts: install ## check which room may import which
	$(BIN)/lint-imports

page: ## check types and style of the explorer's page
	.ci/check_page

docs: install ## write the generated pages of docs/
	$(BIN)/python docs/generate.py

site: install ## build the documentation in site/, and check every link inside of it
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -b html docs site

pictures: install ## take the pictures of the README anew, with Chromium
	$(BIN)/python docs/pictures.py

golden: install ## note the tables that stages of raised versions make
	GOLDEN=write $(BIN)/python -m pytest -q -n 0 tests/contracts/test_golden.py

lock: install ## bring requirements.lock up to date
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-annotate \
	    --generate-hashes --group dev pyproject.toml --output-file requirements.lock

clean: ## remove environments, built pages and caches of tools; documents and what was made of them stay
	rm -rf site $(VENV) .venv-extra .venv-engines .venv-fresh .venv-node .ci/javascript/node_modules .venv-graphrag .venv-other .venv-uv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

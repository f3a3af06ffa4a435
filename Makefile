PYTHON ?= .venv/bin/python
BIN = $(dir $(PYTHON))

.PHONY: check lint types imports test scenarios golden bench demo docs wheel clusters live-demo fleet

check: lint types imports test ## before a commit; CI also runs `make fleet`

lint:
	$(BIN)ruff format --check .
	$(BIN)ruff check .

types:
	$(BIN)mypy

imports:
	$(BIN)lint-imports --no-logo

test:
	$(BIN)pytest -n 2 -m "not fleet"

fleet: ## samples walked live, a real SSH server for every node
	$(BIN)pytest -n 2 -m fleet

scenarios: ## every sample cluster and overlay through every runbook, against expected.yaml
	$(BIN)pytest tests/scenarios -q

golden: ## rewrite the stored screens and reports
	$(BIN)pytest tests/tui tests/runbooks --update-golden

clusters: ## write the sample clusters anew
	$(PYTHON) -m sample_clusters.make

docs: ## write the generated reference pages
	$(PYTHON) docs/generate.py

demo: ## write the screenshots of the README from the sample clusters
	$(PYTHON) docs/screenshots.py

live-demo: ## serve a sample cluster live over real SSH servers on loopback: make live-demo CLUSTER=a800-roce-256
	$(PYTHON) -m tests.served $(or $(CLUSTER),a800-roce-256) $(OVERLAY)

bench:
	$(PYTHON) -m bench

wheel:
	$(PYTHON) -m build

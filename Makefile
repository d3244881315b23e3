PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint types format bench-textattack clean

demo: $(STAMP)  ## audit the embedded movie classifier and write a report
	$(BIN)/lexproof audit --out runs/demo --overwrite

test: $(STAMP)  ## run every test in three processes of one thread each: some wait for browsers and commands
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

# TextAttack wants older packages than ours, so it gets an environment of its own; NLTK_DATA must hold what it asks for.
# usage: make bench-textattack MODEL=models/mr-cnn TABLE=table.json NLTK_DATA=...
bench-textattack: .venv-textattack/.installed
	NLTK_DATA=$(NLTK_DATA) .venv-textattack/bin/python benchmarks/textattack_speed.py $(MODEL) $(TABLE) $(ARGS)

.venv-textattack/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-textattack
	.venv-textattack/bin/python -m pip install --quiet -c constraints.txt torch 'textattack==0.3.10' 'transformers<5' \
	  'numpy<2.3' safetensors rich jinja2 click scipy
	.venv-textattack/bin/python -m pip install --quiet --no-deps -e .
	touch $@

clean:
	rm -rf $(VENV) .venv-textattack runs build dist

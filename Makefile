# What readers, writers and CI do: `make help` lists it.
# On the machine: Python 3.11, 3.12 or 3.13, make, and a C++ compiler. All else is installed into .venv.
.DEFAULT_GOAL := help
BIN := .venv/bin
READY := .venv/ready
export MACHINE
PYTHON_VERSION ?= 3.12

# MACHINE may come from outside, as a workflow's input: what a shell or make would act on gets no further than here.
define NEWLINE


endef
UNSAFE := $(strip $(foreach sign,$$ ` " \,$(findstring $(sign),$(value MACHINE)))$(if $(findstring $(NEWLINE),$(value MACHINE)),newline))
ifneq (,$(UNSAFE))
override MACHINE :=
$(error MACHINE: a machine's name is lower-case letters, digits and hyphens, such as h100)
endif

# Whether a Python is one that the book supports, as pyproject.toml says.
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
NO_PYTHON = The book needs Python 3.11, 3.12 or 3.13; $(if $(PYTHON),PYTHON=$(PYTHON) is none of them,none is on the path). PYTHON=/path/to/python make … names one.
CHECK_PYTHON = @$(or $(PYTHON),false) -c '$(SUPPORTED)' 2> /dev/null || { echo "$(NO_PYTHON)" >&2; exit 1; }

.PHONY: help preview book notebooks pdf epub dist test tested install lock check lints units short chapters build processes gpu browser long chromium serve record check-record kit \
	bench-build clean publish propose push unlocked links report programs namespaces

help: ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

preview: $(READY) ## read first: both languages from the record nearest to this machine; executes nothing
	@$(BIN)/python -m booktools.commands.preview

book: $(READY) ## build the site in both languages; MACHINE=name shows that machine's record instead
	@$(BIN)/jupyter-book build . -q
	@echo "The book is built. Open $(CURDIR)/_build/html/index.html"

notebooks: $(READY) ## write each chapter as a plain notebook for whoever has only pip, beside the wheel that it installs
	@$(BIN)/python -m booktools.formats.plain_notebooks

pdf: $(READY) chromium ## print the site that is built as one PDF in each language, with fonts-noto-cjk for Chinese
	@$(BIN)/python -m booktools.formats.pdf

epub: $(READY) ## pack the site that is built as one EPUB in each language
	@$(BIN)/python -m booktools.formats.epub

test: ## everything that must pass, all of it whatever fails, in about half an hour; PIECES="check build" runs these alone
	$(CHECK_PYTHON)
	@$(PYTHON) tests/gate.py $(PIECES)

tested: ## say whether the tree at hand is the one that passed `make test`
	@$(PYTHON) tests/gate.py --tested

install: $(READY) ## make the environment

# uv writes the locks, and nobody needs it to install from them: it lives apart.
lock: ## write the locks anew: every file of the versions in requirements.txt, by its hash (needs a network)
	@test -n "$(PYTHON)" || { echo "$(NO_PYTHON)"; exit 1; }
	@$(PYTHON) -m venv --clear _build/uv
	@_build/uv/bin/python -m pip install -q --disable-pip-version-check --only-binary=:all: uv==0.13.9
	@PYTHONPATH=code _build/uv/bin/python -m booktools.commands.hashes

# Threads that spin while they wait take the cores from whoever they wait for, if there is more work than cores.
check short processes: export OMP_WAIT_POLICY = PASSIVE

# One core checks while another tests: what checks has one process.
check: $(READY) ## the fast part, about four minutes: lints, types, language parity, unit tests
	@$(MAKE) --no-print-directory -k -j 2 lints units

lints: $(READY)
	@$(BIN)/ruff check -q . && $(BIN)/ruff format -q --check .
	@$(BIN)/codespell
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/zizmor --offline --quiet --no-progress --persona pedantic .github/workflows
	@$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	@$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/python -m booktools check

units: $(READY)
	@$(BIN)/pytest -q -n 2 --dist worksteal $(REPORT) $(addprefix --ignore=tests/,build slow browser gpu long) tests

# Pages wait for links and processes two fifths of their time: two at a time leave two cores idle as often.
short: $(READY) ## execute every chapter under nbmake in short: every line, but not as often
	@$(BIN)/pytest --nbmake --nbmake-timeout=2400 --overwrite -q -n 3 --maxschedchunk 1 $(REPORT) notebooks-short

chapters: $(READY) ## execute every chapter under nbmake in full
	@$(BIN)/pytest --nbmake --nbmake-timeout=300 --overwrite -v notebooks

build: $(READY) ## what the build does with good and bad input
	@$(BIN)/pytest -q -n 2 --dist worksteal $(REPORT) tests/build

processes: $(READY) ## what compiles or starts processes
	@$(BIN)/pytest -q -n 2 --dist loadfile $(REPORT) tests/slow

gpu: $(READY) ## every chapter on one simulated GPU and on two (Linux)
	@$(BIN)/pytest -q $(REPORT) tests/gpu

browser: $(READY) chromium ## the site of a committed record in a real Chromium
	@$(BIN)/pytest -q -n 2 --dist worksteal $(REPORT) tests/browser

long: $(READY) chromium ## what takes longer, compares measured times, or needs other programs (`make programs`); PART=2/4 runs a part
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes --no-deps --only-binary=:all: -r requirements-long.lock
	@$(BIN)/pytest -v tests/long
	@$(if $(filter-out 1/%,$(value PART)),: other parts have these,$(BIN)/pytest -q --hypothesis-profile=long \
		tests/compilers/test_symbolic.py tests/asynchrony/test_engine.py tests/parallel/test_schedule.py)

# A browser of the system, else one that Playwright installs; without either this fails.
chromium: $(READY)
	@for name in chromium chromium-browser google-chrome chrome; do command -v $$name > /dev/null && exit 0; done; \
		echo "No Chromium on the path: installing one."; $(BIN)/playwright install chromium

serve: $(READY) ## show the site; every save builds it again and reloads the page
	@$(BIN)/python -m booktools serve

record: $(READY) ## keep an execution as records/name: make record MACHINE=name PAGES="some or all"; FROM=folder takes in what a kit executed
	@$(BIN)/python -m booktools record "$(MACHINE)" $(PAGES) $(if $(FROM),--from "$(FROM)")

kit: $(READY) ## pack what executes the chapters on a machine without a network; HAVE=file names what it has
	@$(BIN)/python -m booktools kit --python "$(PYTHON_VERSION)" $(if $(HAVE),--have "$(HAVE)")

bench-build: $(READY) ## measure how long eight chapters take to build; AGAINST=revision measures that one too
	@$(BIN)/python -m booktools bench --against "$(AGAINST)"

check-record: $(READY) ## whether records/MACHINE is fit to send: whole, current, itself, which claims fail, nothing private
	@$(BIN)/python -m booktools check-record "$(MACHINE)"

publish: $(READY) ## build the site that is published, of the GPU's record or the best CPU's, and check it
	@$(BIN)/python -m booktools.commands.publication
	@$(BIN)/python -m tests.published _build/html

dist: $(READY) ## pack the site of MACHINE's record (or the one to publish), the notebooks and dlperf in _build/dist, and its PDFs and EPUBs if made
	@$(BIN)/python -m booktools.commands.dist
	@$(BIN)/python -m tests.published _build/html

# The newest versions live in _build/unlocked: the environment in .venv keeps the locked ones.
unlocked: export OMP_WAIT_POLICY = PASSIVE
unlocked: ## check, execute in short and build with the newest version of every package (needs a network)
	$(CHECK_PYTHON)
	@$(PYTHON) -m venv --clear _build/unlocked
	@_build/unlocked/bin/python -m pip install -q --disable-pip-version-check -e '.[book,test]'
	@touch _build/unlocked/ready
	@$(MAKE) --no-print-directory -k check short publish BIN=_build/unlocked/bin READY=_build/unlocked/ready

# What follows needs no environment: jobs that may write to the repository install nothing.
links: ## ask every external address that the sources cite whether it still answers (needs a network)
	@PYTHONPATH=code $(PYTHON) -m booktools.commands.external_links

propose: ## for a workflow: open a change that adds records/MACHINE (needs gh)
	@PYTHONPATH=code $(PYTHON) -m booktools.commands.github propose

push: ## for a workflow: put what `make notebooks` wrote on the branch that Colab and Binder read (needs gh)
	@PYTHONPATH=code $(PYTHON) -m booktools.commands.github push

report: ## for a workflow: open an issue that says which weekly job failed (needs gh)
	@PYTHONPATH=code $(PYTHON) -m booktools.commands.github report

programs: ## for a workflow: install what `make long` needs (Debian's or Ubuntu's packages, sudo)
	@sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends \
		fio mbw iperf3 slurm-wlm munge epubcheck fonts-noto-cjk

namespaces: ## for a workflow: let unprivileged processes make network namespaces, which Ubuntu 24.04 forbids (sudo)
	@test ! -e /proc/sys/kernel/apparmor_restrict_unprivileged_userns \
		|| sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0

clean: ## remove what was built and executed; the environment stays
	rm -rf _build build notebooks notebooks-short

# The first Python on the path that the book supports; PYTHON=… chooses another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c '$(SUPPORTED)' 2>/dev/null && echo $$p && break; done)

$(READY): requirements.txt $(wildcard requirements*.lock) pyproject.toml
	$(CHECK_PYTHON)
	@$(PYTHON) code/booktools/commands/install.py

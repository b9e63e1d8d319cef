# A machine that builds the book: CUDA, the locked wheels, a C++ compiler and what dlperf.network needs.
# NOT BUILT YET: where this file was written no image could be pulled. It was linted with hadolint 2.15.1.
# docs/runner.md says how to build and run it.
#
# The tag has no digest, since none could be seen there: whoever builds the image first writes the digest that
# `docker pull` prints behind the tag (image:tag@sha256:...). PyTorch's wheels bring CUDA's libraries; of the image the
# book uses what tells the container's runtime to let the driver in. Ubuntu 24.04 has Python 3.12.
FROM nvidia/cuda:13.0.1-base-ubuntu24.04

SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ENV LANG=C.UTF-8

# g++ is for torch.compile, python3-dev for what Triton compiles, iproute2 (ip, tc) and util-linux (unshare, nsenter) to
# look at the networks of dlperf.network. Their versions are the distribution's: what the book measures with is locked
# in requirements.lock, and a pinned version of these would be gone from the archive at its next update.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates g++ git iproute2 make python3 python3-dev python3-venv util-linux \
    && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home --uid 1001 --shell /bin/bash reader \
    && mkdir /book \
    && chown reader:reader /book
USER 1001
WORKDIR /book

# The wheels first: a change of the book does not install them anew. make install takes them from the same locks.
COPY --chown=1001:1001 requirements.lock requirements-cuda.lock ./
RUN python3 -m venv .venv \
    && .venv/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes --no-deps \
        --only-binary=:all: -r requirements.lock -r requirements-cuda.lock

COPY --chown=1001:1001 . .
RUN PIP_NO_CACHE_DIR=1 make install

CMD ["make", "book"]

# docker build -t seedstudy . ; docker run --rm -v "$PWD/out:/study/build" seedstudy
# apptainer build seedstudy.sif docker-daemon://seedstudy:latest
# GPU (not yet run on one): docker build --build-arg DEVICE=gpu --build-arg BASE=nvidia/cuda:12.9.1-cudnn-devel-ubuntu24.04 .
ARG BASE=python:3.11-bookworm
FROM ${BASE}
ARG DEVICE=cpu
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ git make python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /study
COPY . .
RUN make setup DEVICE=${DEVICE}
ENV PATH=/study/.venv/bin:${PATH}
CMD ["snakemake", "--cores", "all"]

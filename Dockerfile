# docker build -t chumoku .   (or `make docker`)
# docker run --rm -p 8000:8000 chumoku
FROM python:3.11-slim

# The image computes on the CPU. For a GPU: --build-arg TORCH_INDEX= (PyPI's CUDA build), and run with --gpus all.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
# train,scale: also Ray Serve, for `chumoku serve --ray`.
ARG EXTRAS=train

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PATH=/chumoku/.venv/bin:$PATH

RUN apt-get update \
    && apt-get install -y --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home chumoku

WORKDIR /chumoku
COPY . .
RUN make install TORCH_INDEX="$TORCH_INDEX" EXTRAS="$EXTRAS"

# The code and the models belong to root: the server only reads them.
USER chumoku
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["chumoku", "serve", "--host", "0.0.0.0", "--port", "8000"]

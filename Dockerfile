# An image with httpdyno: the first stage builds the wheels, the second one installs them. docs/start.md has how to use it.
FROM rust:1-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN python3 -m venv .venv && .venv/bin/pip install --quiet 'maturin>=1.16,<2' 'uv>=0.13'
RUN scripts/build-wheel

FROM python:3.13-slim-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates curl \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/dist/*.whl /tmp/wheel/
RUN pip install --no-cache-dir --root-user-action=ignore /tmp/wheel/*.whl && rm -r /tmp/wheel
WORKDIR /data
ENTRYPOINT ["httpdyno"]
CMD ["--help"]

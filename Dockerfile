# One image for API and worker: docker-compose.yml says which command each of them runs.

FROM python:3.13-slim AS build
# finufft has no wheel for Linux on ARM: pip compiles it there.
ARG TARGETARCH
RUN if [ "$TARGETARCH" = arm64 ]; then apt-get update && apt-get install --yes --no-install-recommends g++ git; fi
RUN python -m venv --without-pip /opt/melm
WORKDIR /build
COPY requirements.txt ./
RUN --mount=type=cache,target=/root/.cache/pip \
    pip --python /opt/melm/bin/python install --require-hashes --requirement requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY melm ./melm
COPY worker ./worker
COPY service ./service
RUN pip --python /opt/melm/bin/python install --no-deps .

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin melm \
    && install --directory --owner melm --mode 700 /var/lib/melm
COPY --from=build /opt/melm /opt/melm
ENV PATH=/opt/melm/bin:$PATH PYTHONUNBUFFERED=1
USER melm
WORKDIR /tmp
EXPOSE 8000

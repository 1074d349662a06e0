# One image for API and worker: docker-compose.yml says which command each of them runs.

FROM python:3.13.9-slim-trixie AS build
# finufft has no wheel for Linux on ARM: pip compiles it there.
ARG TARGETARCH
RUN apt-get update && apt-get install --yes --no-install-recommends binutils \
    $(if [ "$TARGETARCH" = arm64 ]; then echo g++ git; fi)
RUN python -m venv --without-pip /opt/melm
WORKDIR /build
COPY requirements.txt ./
RUN --mount=type=cache,target=/root/.cache/pip \
    pip --python /opt/melm/bin/python install --require-hashes --requirement requirements.txt
# A third of that never runs here: tests, headers and sources, symbols for debuggers, pyarrow's clients of other services.
RUN cd /opt/melm/lib/python3.13/site-packages \
    && find . -type d \( -name tests -o -name include \) -prune -exec rm -r {} + \
    && find . -type f \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.pyi' -o -name '*.a' \) -delete \
    && find . -type f -name '*.so*' -exec strip --strip-unneeded {} + \
    && cd pyarrow && rm -r src *flight* *s3* *gcsfs* *azurefs* *orc*
COPY pyproject.toml README.md LICENSE ./
COPY melm ./melm
COPY worker ./worker
COPY service ./service
RUN pip --python /opt/melm/bin/python install --no-deps .

FROM python:3.13.9-slim-trixie
LABEL org.opencontainers.image.title="melm" \
    org.opencontainers.image.description="Maximum entropy linear manifold: API and worker" \
    org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.version="0.2.0"
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin melm \
    && install --directory --owner melm --mode 700 /var/lib/melm
COPY --from=build /opt/melm /opt/melm
ENV PATH=/opt/melm/bin:$PATH PYTHONUNBUFFERED=1
USER melm
WORKDIR /tmp
EXPOSE 8000

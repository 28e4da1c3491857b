# strata in an image of its own, for `strata batch` under Kubernetes (docs/cluster.md): one program, and nothing else.
#
#     docker build -t registry.example.com/strata .
FROM debian:bookworm-slim AS build
WORKDIR /source
COPY . .
RUN apt-get update && scripts/install-deps build && rm -rf /var/lib/apt/lists/*
RUN cmake --preset release -B /build -DSTRATA_STATIC=ON -DSTRATA_TESTS=OFF -DSTRATA_WERROR=OFF && \
    cmake --build /build && cmake --install /build --strip --prefix /out

# A shell and grep, which the examples for Kubernetes use, are the base's.
FROM debian:bookworm-slim
COPY --from=build /out/bin/strata /usr/local/bin/strata
# The licences of Strata and of the libraries in the program must go with it.
COPY --from=build /out/share/doc/strata/copyright /out/share/doc/strata/NOTICES /usr/local/share/doc/strata/
USER 65534:65534
WORKDIR /data
ENTRYPOINT ["strata"]
